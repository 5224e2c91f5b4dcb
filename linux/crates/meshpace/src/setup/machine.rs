// SPDX-License-Identifier: GPL-2.0-only
//! All that the gateway has set up on this machine: looked after while it runs, put back at its end.
use std::sync::Arc;
use std::time::Instant;

use crate::base::errors::Result;
use crate::kernel::port::Port;
use crate::setup::bypass::{Bypass, Counts, Look};
use crate::setup::changes::Changes;
use crate::setup::release::{Means, Release};
use crate::setup::rules::Rules;
use crate::setup::unpaced::Unpaced;
use crate::setup::watch::Watch;

pub struct Machine {
    mesh: String,
    /// the mesh interface, and what was set up on it
    watch: Watch,
    changes: Changes,
    /// that bring packets before the daemon
    rules: Option<Arc<Rules>>,
    bypass: Bypass,
    /// why packets do not come before the daemon
    unpaced: Unpaced,
    /// why nothing is to be paced any more
    rests: Option<String>,
    /// as set up; [`Machine::release`] is what is possible at the moment
    set_up: Release,
}

impl Machine {
    /// With the changes that were made so far.
    pub fn new(mesh: &str, watch: Watch, changes: Changes) -> Self {
        Self {
            mesh: mesh.into(),
            watch,
            changes,
            rules: None,
            bypass: Bypass::new(Instant::now()),
            unpaced: Unpaced::default(),
            rests: None,
            set_up: Release::Observe,
        }
    }

    /// How packets are held from now on, and by what means.
    pub fn releases_by(&mut self, release: Release, means: Means) {
        (self.set_up, self.rules) = (release, means.rules);
        self.watch.hold_behind(means.ifb);
    }

    /// The interface behind which the kernel holds packets; 0: there is none.
    pub fn held_at(&self) -> u32 {
        self.watch.held_at() as u32
    }

    /// Attaches the programs for the first time: what does not work is an error.
    pub fn attach(&mut self) -> Result<()> {
        self.watch.attach(&mut self.changes)
    }

    /// How packets are held at the moment: not at all while something is missing for it.
    pub fn release(&self) -> Release {
        match (self.watch.fault(), &self.unpaced.all, &self.rests) {
            (None, None, None) => self.set_up,
            _ => Release::Observe,
        }
    }

    /// How packets are held where nothing is missing for it.
    pub fn set_up(&self) -> Release {
        self.set_up
    }

    /// From now on packets pass, though all is set up.
    pub fn rest(&mut self, why: String) {
        if self.rests.is_none() {
            log::warn!("{}: packets pass as without meshpace: {why}", self.mesh);
        }
        self.rests = Some(why);
    }

    /// Whether packets are held at all; else nothing is touched.
    pub fn holds(&self) -> bool {
        self.release() != Release::Observe
    }

    /// "ready", or why packets pass as without meshpace at the moment, all or those of one IP version.
    pub fn state(&self) -> String {
        match (self.watch.fault(), &self.unpaced.all, &self.rests) {
            (None, Some(why), _) | (None, None, Some(why)) => why.clone(),
            (None, None, None) => self.passes().unwrap_or_else(|| self.watch.state()),
            _ => self.watch.state(),
        }
    }

    /// Which IP version goes unpaced, and why.
    fn passes(&self) -> Option<String> {
        let has = self.rules.as_ref()?.versions();
        let one = self.unpaced.of_one();
        one.or_else(|| Unpaced::never_ruled(has, self.bypass.has_left()))
    }

    /// How the programs are attached: "tcx", "clsact" or "none".
    pub fn attached(&self) -> String {
        self.watch.attached()
    }

    /// Hooks and the ifb, put back so often.
    pub fn times_put_back(&self) -> u64 {
        self.watch.put_back
    }

    /// Where frames are sent to the mesh.
    pub fn port(&self) -> &Arc<Port> {
        &self.watch.port
    }

    pub fn rules(&self) -> Option<&Arc<Rules>> {
        self.rules.as_ref()
    }

    /// Looks after the mesh interface and what is on it. `seen`: packets that the programs saw come and leave. True: the
    /// flows known so far are of another one.
    pub fn watch_mesh(&mut self, seen: impl FnOnce() -> [u64; 2]) -> bool {
        self.watch.check(self.set_up, &mut self.changes, seen)
    }

    /// The notes of what was changed, which something else may remove.
    pub fn note_again(&mut self) {
        self.changes.note_again();
    }

    /// What brings packets before the daemon may have been removed by something else. `gone`: the heartbeat
    /// found it missing; `counts`: packets that left to the mesh, and that were let go there.
    pub fn watch_rules(
        &mut self,
        gone: impl FnOnce() -> bool,
        counts: impl FnOnce() -> (Counts, Counts),
    ) {
        let (Some(rules), None) = (&self.rules, self.watch.fault()) else {
            return;
        };
        let now = Instant::now();
        let has = rules.versions();
        let there = self.unpaced.comes(has);
        let unpaced = self.unpaced.is_any();
        let look = self.bypass.compare(now, there, unpaced, counts);
        let gone = gone();
        if look == Look::Nothing && !(gone && self.bypass.may_look(now)) {
            return;
        }
        let back = rules.put_back();
        if !back.put.is_empty() {
            let put = back.put.join(" and ");
            log::warn!("{put}, removed by something else (a firewall loaded again?), is put back");
            self.bypass.mended();
        }
        let around = self.bypass.goes_on(now).then(|| {
            format!(
                "TCP to {} does not pass netfilter's POSTROUTING (flow offload, or a bridge?)",
                self.mesh
            )
        });
        self.tell(Unpaced::of(back, has, around));
    }

    /// Says what is another than before.
    fn tell(&mut self, now: Unpaced) {
        let before = std::mem::replace(&mut self.unpaced, now);
        let (mesh, now) = (&self.mesh, &self.unpaced);
        match (&before.all, &now.all) {
            (None, Some(why)) => log::error!("{mesh}: nothing is paced: {why}"),
            (Some(_), None) => log::info!("{mesh}: packets are paced again"),
            _ => {}
        }
        match (before.of_one(), now.of_one()) {
            (None, Some(why)) => log::error!("{mesh}: one IP version is not paced: {why}"),
            (Some(_), None) if now.all.is_none() => {
                log::info!("{mesh}: both IP versions are paced")
            }
            _ => {}
        }
    }

    /// Takes everything away again.
    pub fn put_back(&mut self) {
        self.watch.detach();
        if let Err(error) = self.changes.undo_all() {
            log::error!(
                "not everything was put back: {error:#}; meshpace gateway --clean --mesh {}",
                self.mesh
            );
        }
    }
}
