// SPDX-License-Identifier: GPL-2.0-only
//! The mesh interface, and what was set up on it: others delete it and make it anew, rename it, put it
//! into a bridge, or take the programs off it. All of that is looked for a few
//! times a second; what can be put back is, and what cannot [`Watch::fault`] tells.
use std::sync::Arc;
use std::time::{Duration, Instant};

use meshpace_paths::{InterfaceState, Interfaces};

use crate::base::errors::{usage, words, Context, Result};
use crate::base::system;
use crate::kernel::attach::{Attachment, Hooks};
use crate::kernel::intf::mp_limits;
use crate::kernel::port::Port;
use crate::kernel::programs::{Programs, SharedMap};
use crate::setup::changes::{Change, Changes};
use crate::setup::clsact;
use crate::setup::contest::Contest;
use crate::setup::ifb::Ifb;
use crate::setup::release::Release;
use crate::setup::unseen::{Counts, Unseen};

/// What could not be put back is tried again so often; some of it runs other programs.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Why nothing is paced at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Gone,
    Renamed(String),
    /// of this bridge, by which IP packets leave
    PortOf(String),
    /// the programs are not attached, and why they cannot be
    Unhooked(String),
    /// there is nothing behind which packets could wait, and why it cannot be made
    NotHeld(String),
    /// most packets do not come by the programs, and why
    Unseen(String),
}

impl Fault {
    /// As `status` tells it.
    pub fn state(&self, mesh: &str) -> String {
        match self {
            Self::Gone => format!("waiting for {mesh}"),
            Self::Renamed(to) => format!("waiting for {mesh}, which is called {to} now"),
            Self::PortOf(master) => port_of(mesh, master),
            Self::Unhooked(why) => format!("{mesh}: the programs are not attached: {why}"),
            Self::NotHeld(why) => format!("{mesh}: packets have no place to wait: {why}"),
            Self::Unseen(why) => format!("{mesh}: {why}"),
        }
    }
}

/// What is wrong with a port as mesh interface, and the remedy.
pub fn port_of(mesh: &str, master: &str) -> String {
    format!("{mesh} is a port of {master}; packets leave by {master}: use --mesh {master}")
}

/// Refuses a mesh interface by which no IP packet leaves, unless packets are only looked at.
pub fn refuse_port(mesh: &str, observes: bool) -> Result<()> {
    let mut interfaces = Interfaces::open().context("netlink")?;
    let found = interfaces.named(mesh).context("netlink")?;
    match found.and_then(|it| it.port_of) {
        Some(master) if !observes => Err(usage(format!(
            "{} (or --release observe, which paces nothing)",
            port_of(mesh, &master)
        ))),
        _ => Ok(()),
    }
}

pub struct Watch {
    mesh: String,
    interfaces: Interfaces,
    hooks: Hooks,
    limits: mp_limits,
    /// for programs that are loaded again
    maps: Vec<SharedMap>,
    /// 0: there is no such interface
    ifindex: i32,
    /// the latest that there was
    latest: i32,
    attachment: Option<Attachment>,
    pub port: Arc<Port>,
    /// behind which the kernel holds packets, where it does
    ifb: Option<Arc<Ifb>>,
    fault: Option<Fault>,
    try_again: Instant,
    /// over the ifb
    contest: Contest,
    /// over the programs' place
    hooks_contest: Contest,
    unseen: Unseen,
    /// hooks and the ifb, so often
    pub put_back: u64,
}

impl Watch {
    /// Of an interface that is there, for which the programs were loaded.
    pub fn new(mesh: &str, limits: mp_limits, programs: &Programs) -> Result<Self> {
        Ok(Self {
            mesh: mesh.into(),
            interfaces: Interfaces::open().context("netlink")?,
            hooks: programs.hooks()?,
            limits,
            maps: programs.shared_maps()?,
            ifindex: 0,
            latest: 0,
            attachment: None,
            port: Arc::new(Port::open()?),
            ifb: None,
            fault: None,
            try_again: Instant::now(),
            contest: Contest::default(),
            hooks_contest: Contest::default(),
            unseen: Unseen::default(),
            put_back: 0,
        })
    }

    /// Packets wait behind this interface, which is looked after from now on.
    pub fn hold_behind(&mut self, ifb: Option<Arc<Ifb>>) {
        self.ifb = ifb;
    }

    /// The interface behind which packets wait; 0: there is none.
    pub fn held_at(&self) -> i32 {
        self.ifb.as_ref().map_or(0, |ifb| ifb.index())
    }

    /// The first time: what does not work is an error.
    pub fn attach(&mut self, changes: &mut Changes) -> Result<()> {
        self.ifindex = system::interface_index(&self.mesh)?;
        self.put_hooks(changes)
    }

    pub fn detach(&mut self) {
        self.attachment = None;
    }

    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// "ready", or what is wrong.
    pub fn state(&self) -> String {
        let fault = self.fault.as_ref();
        fault.map_or_else(|| "ready".into(), |fault| fault.state(&self.mesh))
    }

    /// How the programs are attached: "tcx", "clsact" or "none".
    pub fn attached(&self) -> String {
        let attachment = self.attachment.as_ref();
        attachment.map_or_else(|| "none".into(), Attachment::to_string)
    }

    /// Looks after all of it. `seen`: packets that the programs saw come and leave. True: the flows known so far are
    /// of another interface.
    pub fn check(
        &mut self,
        release: Release,
        changes: &mut Changes,
        seen: impl FnOnce() -> Counts,
    ) -> bool {
        let found = match self.interfaces.named(&self.mesh) {
            Ok(found) => found,
            Err(error) => {
                log::debug!("{}: {error}", self.mesh);
                return false;
            }
        };
        // Another one may have its name beside its own, and then no rule knows it.
        let found = found.filter(|found| found.name == self.mesh);
        let header = self.limits.l2_bytes;
        let fault = match found {
            Some(found) => {
                let fault = self.look_after(&found, release, changes);
                fault.or_else(|| self.passes_unseen(seen))
            }
            None => Some(self.miss(changes)),
        };
        self.tell(fault);
        header != self.limits.l2_bytes
    }

    /// Says once what is wrong, and that it no longer is.
    fn tell(&mut self, fault: Option<Fault>) {
        if fault == self.fault {
            return;
        }
        match &fault {
            Some(fault) => log::warn!(
                "packets pass as without meshpace: {}",
                fault.state(&self.mesh)
            ),
            None => log::info!(
                "{}: at work again, attached by {}",
                self.mesh,
                self.attached()
            ),
        }
        self.fault = fault;
    }

    /// There is no interface of this name: its place is kept ready.
    fn miss(&mut self, changes: &mut Changes) -> Fault {
        if self.ifindex != 0 {
            self.latest = self.ifindex;
        }
        // What has been renamed may be so once more, or deleted.
        let Ok(now) = self.interfaces.numbered(self.latest) else {
            return self.fault.clone().unwrap_or(Fault::Gone);
        };
        let name = now.map(|it| it.name);
        if self.ifindex != 0 {
            self.let_go(name.as_deref(), changes);
        }
        name.map_or(Fault::Gone, Fault::Renamed)
    }

    /// Takes everything off the interface that was, if it still exists under another name.
    fn let_go(&mut self, called_now: Option<&str>, changes: &mut Changes) {
        self.ifindex = 0;
        self.port.aim(0, false);
        self.attachment = None;
        if let Err(error) = changes.leave(&self.mesh, called_now) {
            log::warn!("{error:#}");
        }
    }

    fn look_after(
        &mut self,
        found: &InterfaceState,
        release: Release,
        changes: &mut Changes,
    ) -> Option<Fault> {
        if found.index != self.ifindex {
            if self.ifindex != 0 {
                let before = self.interfaces.numbered(self.ifindex).ok().flatten();
                self.let_go(before.map(|it| it.name).as_deref(), changes);
            }
            log::info!("{} has been made anew", self.mesh);
            self.ifindex = found.index;
        }
        if let Err(fault) = self.keep_ifb(found.mtu) {
            return Some(fault);
        }
        if let Err(fault) = self.keep_hooks(changes) {
            return Some(fault);
        }
        let master = found.port_of.clone();
        master
            .filter(|_| release != Release::Observe)
            .map(Fault::PortOf)
    }

    fn passes_unseen(&mut self, seen: impl FnOnce() -> Counts) -> Option<Fault> {
        let now = Instant::now();
        let counted = match self.unseen.is_due(now) {
            true => self.interfaces.packets(self.ifindex).ok().flatten(),
            false => None,
        };
        let of = (self.mesh.as_str(), self.ifindex);
        let why = match counted {
            Some(passed) => {
                // Who does not answer may be one.
                let relays = || Interfaces::is_mesh_point(self.ifindex).unwrap_or(true);
                self.unseen.compare(now, of, passed, seen(), relays)
            }
            None => self.unseen.why(),
        };
        why.map(Fault::Unseen)
    }

    /// Whether it is too early to try again what failed a moment ago; if not, the next time it is.
    fn waits(&mut self, failed: fn(&Fault) -> bool) -> Option<Fault> {
        let now = Instant::now();
        let fault = self.fault.clone().filter(failed);
        if fault.is_some() && now < self.try_again {
            return fault;
        }
        self.try_again = now + TRY_AGAIN;
        None
    }

    /// The interface behind which packets wait is made anew where somebody took it away, or changed it. The filter
    /// that sends packets there goes with it.
    fn keep_ifb(&mut self, mtu: u32) -> std::result::Result<(), Fault> {
        let Some(ifb) = self.ifb.clone() else {
            return Ok(());
        };
        ifb.fit(mtu);
        if ifb.is_whole(&mut self.interfaces) {
            return Ok(());
        }
        let has_waited = matches!(self.fault, Some(Fault::NotHeld(_)));
        if let Some(fault) = self.waits(|fault| matches!(fault, Fault::NotHeld(_))) {
            return Err(fault);
        }
        self.attachment = None;
        let now = Instant::now();
        let pause = self.contest.pause(now).filter(|_| !has_waited);
        if let Some(pause) = pause {
            self.try_again = now + pause;
            let why = format!(
                "something else changes {} each time, or netlink fails there; see the log, udev's rules and systemd-networkd",
                ifb.name
            );
            return Err(Fault::NotHeld(why));
        }
        let made = ifb.make();
        made.map_err(|error| Fault::NotHeld(words(error)))?;
        self.contest.made(now);
        self.put_back += 1;
        log::warn!(
            "{}: something else took it away, or changed it, or the MTU of the mesh interface, or netlink failed there; made again",
            ifb.name
        );
        Ok(())
    }

    fn keep_hooks(&mut self, changes: &mut Changes) -> std::result::Result<(), Fault> {
        if self.attachment.as_ref().is_some_and(Attachment::is_whole) {
            return Ok(());
        }
        let has_waited = matches!(self.fault, Some(Fault::Unhooked(_)));
        if let Some(fault) = self.waits(|fault| matches!(fault, Fault::Unhooked(_))) {
            return Err(fault);
        }
        let were_there = self.attachment.take().is_some();
        let now = Instant::now();
        if let Some(pause) = self.hooks_contest.pause(now).filter(|_| were_there) {
            self.try_again = now + pause;
            let why = "something else takes them off each time; tc monitor shows when, see SQM and scripts that change clsact";
            return Err(Fault::Unhooked(why.into()));
        }
        let put = self.put_hooks(changes);
        put.map_err(|error| Fault::Unhooked(words(error)))?;
        if were_there || has_waited {
            self.hooks_contest.made(now);
        }
        if were_there {
            self.put_back += 1;
            log::warn!(
                "{}: something else took the programs off; attached again by {}",
                self.mesh,
                self.attached()
            );
        }
        Ok(())
    }

    /// Attaches the programs to the interface as it is now.
    fn put_hooks(&mut self, changes: &mut Changes) -> Result<()> {
        let l2_bytes = system::link_header_bytes(&self.mesh)?;
        if l2_bytes != self.limits.l2_bytes {
            let limits = mp_limits {
                l2_bytes,
                ..self.limits
            };
            self.hooks = Programs::load_again(limits, &self.maps)?.hooks()?;
            self.limits = limits;
            log::info!("{}: {l2_bytes} bytes before the IP header now", self.mesh);
        }
        self.port.aim(self.ifindex, l2_bytes > 0);
        // What passed before nobody can have seen.
        self.unseen = Unseen::default();
        // A filter that sends packets elsewhere there is under clsact alone, and it comes behind ours.
        if self.ifb.is_none() {
            match self.hooks.attach_tcx(self.ifindex) {
                Ok(attachment) => {
                    self.attachment = Some(attachment);
                    return Ok(());
                }
                Err(error) => log::debug!("{error:#}"),
            }
        }
        let is_there = clsact::is_at(&self.mesh)?;
        // Filters stay when the process is killed.
        changes.note_anew(Change::Filters {
            interface: self.mesh.clone(),
            qdisc: !is_there || changes.has_made_clsact(&self.mesh),
        })?;
        let held_at = self.held_at();
        self.attachment = Some(self.hooks.attach_clsact(self.ifindex, held_at)?);
        Ok(())
    }
}
