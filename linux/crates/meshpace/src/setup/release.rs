// SPDX-License-Identifier: GPL-2.0-only
//! How packets wait for their departure: in the kernel's HTB, in a netfilter queue, in sch_fq, or not at all.
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::base::errors::{bail, Context, Result};
use crate::base::system;
use crate::config::ReleaseChoice;
use crate::kernel::intf;
use crate::kernel::offload::{self, Offload};
use crate::kernel::programs::Programs;
use crate::setup::changes::{Change, Changes};
use crate::setup::clsact;
use crate::setup::ifb::{self, Ifb};
use crate::setup::rules::Rules;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Release {
    Htb,
    Fq,
    Nfqueue,
    Observe,
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Htb => "htb",
            Self::Fq => "fq",
            Self::Nfqueue => "nfqueue",
            Self::Observe => "observe",
        })
    }
}

/// Packets that fq holds for one flow, at most: more than any usual window. Its own 100 would drop.
const FQ_FLOW_LIMIT: &str = "8192";
const FQ_LIMIT: &str = "20000";

/// What a release is set up with.
pub struct SetUp<'a> {
    pub mesh: &'a str,
    pub wired: &'a [String],
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
        ReleaseChoice::Fq => {
            log::warn!(
                "release fq fixes departures when packets arrive, up to a window ahead: over several \
                 hops the law reacts too late and goodput falls; prefer nfqueue"
            );
            set_up_fq(with).map(|()| (Release::Fq, Means::default()))
        }
        ReleaseChoice::Nfqueue => {
            set_up_nfqueue(with).map(|rules| (Release::Nfqueue, Means::rules(rules)))
        }
        ReleaseChoice::Auto => Ok(what_works(with)),
    }
}

/// Never fq by itself: unpaced flows do better than flows under a law that hears of them too late.
fn what_works(with: &mut SetUp) -> (Release, Means) {
    match set_up_htb(with) {
        Ok(means) => return (Release::Htb, means),
        Err(error) => log::info!("release by htb is not possible: {error:#}"),
    }
    match set_up_nfqueue(with) {
        Ok(rules) => return (Release::Nfqueue, Means::rules(rules)),
        Err(error) => log::info!("release by nfqueue is not possible: {error:#}"),
    }
    log::warn!("no way to hold packets: flows are measured, not paced (see meshpace doctor)");
    (Release::Observe, Means::default())
}

/// Makes it, and tries on it whether this kernel has the filters that send packets there.
fn make(ifb: &Ifb, programs: &Programs) -> Result<()> {
    ifb.make()?;
    programs.hooks()?.attach_clsact(ifb.index(), ifb.index())?;
    ifb.make()
}

/// The root qdisc of an interface.
pub struct Root {
    pub kind: String,
    /// the kernel's own choice, which comes back when ours is deleted
    pub is_default: bool,
    /// limit and flow_limit of an fq
    fq: Option<Vec<String>>,
}

pub fn root_qdisc(interface: &str) -> Result<Root> {
    let shown = system::run("tc", &["-j", "qdisc", "show", "dev", interface])?;
    let qdiscs: serde_json::Value = serde_json::from_str(&shown).context("output of tc -j")?;
    let root = qdiscs
        .as_array()
        .into_iter()
        .flatten()
        .find(|qdisc| qdisc["root"] == true);
    let Some(root) = root else {
        return Ok(Root {
            kind: "noqueue".into(),
            is_default: true,
            fq: None,
        });
    };
    let kind = root["kind"].as_str().unwrap_or("unknown").to_string();
    let number = |key: &str| root["options"][key].as_u64().map(|n| n.to_string());
    let fq = number("limit")
        .zip(number("flow_limit"))
        .filter(|_| kind == "fq");
    Ok(Root {
        is_default: root["handle"] == "0:",
        fq: fq.map(|(limit, flow)| vec!["limit".into(), limit, "flow_limit".into(), flow]),
        kind,
    })
}

fn set_up_fq(with: &mut SetUp) -> Result<()> {
    let SetUp {
        mesh,
        wired,
        changes,
        ..
    } = with;
    let was = put_fq(mesh, changes)?;
    log::info!("{mesh}: qdisc fq releases paced packets (was {was})");
    for interface in *wired {
        for offload in [Offload::Gro, Offload::Lro] {
            switch_off(interface, offload, changes)?;
        }
    }
    Ok(())
}

/// Makes fq the root qdisc, unless somebody chose another one; returns what was there.
pub fn put_fq(mesh: &str, changes: &mut Changes) -> Result<String> {
    let root = root_qdisc(mesh)?;
    let action = match (&root.fq, root.is_default) {
        (Some(_), false) => "change",
        (_, true) => "replace",
        (None, false) => bail!(
            "{mesh} already has qdisc {}; remove it, or use --release nfqueue",
            root.kind
        ),
    };
    let was = root.fq.filter(|_| action == "change");
    changes.note_anew(Change::Fq {
        interface: mesh.to_string(),
        was,
    })?;
    let arguments = [
        "qdisc",
        action,
        "dev",
        mesh,
        "root",
        "fq",
        "limit",
        FQ_LIMIT,
        "flow_limit",
        FQ_FLOW_LIMIT,
    ];
    if let Err(error) = system::run("tc", &arguments) {
        changes.forget_latest()?;
        return Err(error).context("this kernel has no sch_fq");
    }
    Ok(root.kind)
}

/// Waits until fq holds nothing, since deleting it drops what waits; `meanwhile` is called again and
/// again. Gives up after core/'s horizon, beyond which nothing is stamped.
pub fn drain(interface: &str, mut meanwhile: impl FnMut() -> Result<()>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_nanos(intf::MP_HORIZON_NS as u64);
    loop {
        let shown = system::run(
            "tc",
            &["-s", "-j", "qdisc", "show", "dev", interface, "root"],
        )?;
        let qdiscs: serde_json::Value = serde_json::from_str(&shown).context("output of tc -j")?;
        let waiting = qdiscs[0]["qlen"].as_u64().unwrap_or(0);
        if waiting == 0 || Instant::now() > deadline {
            return Ok(());
        }
        meanwhile()?;
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn switch_off(interface: &str, offload: Offload, changes: &mut Changes) -> Result<()> {
    if !offload::is_on(interface, offload) {
        return Ok(());
    }
    changes.note(Change::Offload {
        interface: interface.into(),
        offload,
    })?;
    offload::set(interface, offload, false)?;
    log::info!("{interface}: {offload:?} off, since joined segments leave in one burst");
    Ok(())
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
