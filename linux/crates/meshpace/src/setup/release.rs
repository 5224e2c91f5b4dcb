// SPDX-License-Identifier: GPL-2.0-only
//! How packets wait for their departure: in the kernel's HTB, in a netfilter queue, or not at all.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::errors::Result;
use crate::config::ReleaseChoice;
use crate::kernel::programs::Programs;
use crate::setup::changes::{Change, Changes};
use crate::setup::clsact;
use crate::setup::ifb::{self, Ifb};
use crate::setup::rules::Rules;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Release {
    Htb,
    Nfqueue,
    Observe,
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Htb => "htb",
            Self::Nfqueue => "nfqueue",
            Self::Observe => "observe",
        })
    }
}

/// What a release is set up with.
pub struct SetUp<'a> {
    pub mesh: &'a str,
    pub programs: &'a mut Programs,
    pub changes: &'a mut Changes,
    /// starts whoever decides on the packets of a netfilter queue, and says which that is
    pub serve_queue: &'a mut dyn FnMut() -> Result<u16>,
    /// starts whoever makes classes behind an ifb
    pub serve_classes: &'a mut dyn FnMut(Arc<Ifb>) -> Result<()>,
}

/// What was set up for a release.
#[derive(Default)]
pub struct Means {
    /// that bring packets before the daemon
    pub rules: Option<Arc<Rules>>,
    /// behind which the kernel holds them
    pub ifb: Option<Arc<Ifb>>,
}

impl Means {
    fn rules(rules: Rules) -> Self {
        Self {
            rules: Some(Arc::new(rules)),
            ifb: None,
        }
    }
}

/// Sets up the release that is asked for, or with "auto" what is right and works.
pub fn set_up(choice: ReleaseChoice, with: &mut SetUp) -> Result<(Release, Means)> {
    match choice {
        ReleaseChoice::Observe => Ok((Release::Observe, Means::default())),
        ReleaseChoice::Htb => set_up_htb(with).map(|means| (Release::Htb, means)),
        ReleaseChoice::Nfqueue => {
            set_up_nfqueue(with).map(|rules| (Release::Nfqueue, Means::rules(rules)))
        }
        ReleaseChoice::Auto => Ok(what_works(with)),
    }
}

fn what_works(with: &mut SetUp) -> (Release, Means) {
    match set_up_htb(with) {
        Ok(means) => return (Release::Htb, means),
        Err(error) => log::info!("release by htb is not possible: {error:#}"),
    }
    match set_up_nfqueue(with) {
        Ok(rules) => return (Release::Nfqueue, Means::rules(rules)),
        Err(error) => log::info!("release by nfqueue is not possible: {error:#}"),
    }
    (Release::Observe, Means::default())
}

/// Makes it, and tries on it whether this kernel has the filters that send packets there.
fn make(ifb: &Ifb, programs: &Programs) -> Result<()> {
    ifb.make()?;
    programs.hooks()?.attach_clsact(ifb.index(), ifb.index())?;
    ifb.make()
}

fn set_up_nfqueue(with: &mut SetUp) -> Result<Rules> {
    let queue = (with.serve_queue)()?;
    Rules::add(with.mesh, queue, with.programs, with.changes)
}

/// The kernel holds packets; the filter that sends them there comes with the programs (setup/watch.rs).
fn set_up_htb(with: &mut SetUp) -> Result<Means> {
    clsact::is_at(with.mesh)?;
    let ifb = Arc::new(Ifb::of(with.mesh)?);
    with.changes.note(Change::Ifb {
        name: ifb.name.clone(),
    })?;
    if let Err(error) = make(&ifb, with.programs) {
        let _ = ifb::remove(&ifb.name);
        with.changes.forget_latest()?;
        return Err(error);
    }
    (with.serve_classes)(ifb.clone())?;
    Ok(Means {
        rules: None,
        ifb: Some(ifb),
    })
}
