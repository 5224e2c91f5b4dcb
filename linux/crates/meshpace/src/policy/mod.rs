// SPDX-License-Identifier: GPL-2.0-only
//! What hosts and flows may have: shares, goodput control, wake-ups of senders and what all of it may cost.
pub mod airtime;
pub mod asks;
pub mod compare;
pub mod goodput;
pub mod news;
pub mod opaque;
pub mod served;
pub mod shares;
pub mod strangers;
pub mod wake_ups;

use std::collections::HashSet;
use std::sync::Arc;

use meshpace_paths::Mac;

use crate::base::errors::{Error, Result};
use crate::config::{Fairness, Rights};
use crate::hosts::flows;
use crate::hosts::identity::{Address, Aliases};
use crate::kernel::flow_state::Table;
use crate::kernel::intf::{mp_flow_key, mp_host_key};
use crate::kernel::port::Port;
use crate::kernel::programs::Maps;
use goodput::GoodputControl;
use served::Served;
use shares::Shares;
use strangers::Strangers;
use wake_ups::WakeUps;

/// Decides once a second, of shares of the air ten times as often, and writes what it decided where the programs
/// read it.
pub struct Policy {
    goodput: GoodputControl,
    shares: Shares,
    strangers: Strangers,
    served: Served,
    /// where packets are held
    wake_ups: Option<WakeUps>,
}

/// How the air is shared out.
#[derive(Clone, Copy)]
pub enum Sharing {
    /// hosts are held to their shares
    Held(Fairness),
    /// nothing is held here: what hosts get is seen, and what the law would hold them to
    Watched(Fairness),
    /// the law shares nothing out
    No,
}

/// What came of sharing out.
pub struct Shared {
    /// caps, or who keeps the air busy, are others than before
    pub changed: bool,
    /// a cap that could not be written
    pub refusal: Option<Error>,
}

impl Policy {
    pub fn new(fairness: Fairness, now_ns: u64) -> Self {
        Self {
            goodput: GoodputControl::new(),
            shares: Shares::new(fairness, now_ns),
            strangers: Strangers::default(),
            served: Served::default(),
            wake_ups: None,
        }
    }

    /// From now on senders can be woken up, by frames that leave there.
    pub fn can_wake(&mut self, port: Arc<Port>) {
        self.wake_ups = Some(WakeUps::new(port));
    }

    /// What nobody answers may be so much of what was acknowledged, bytes/s, and of what else was answered.
    pub fn limit_strangers(&mut self, acknowledged: u64, others: &[(mp_host_key, u64)]) {
        self.strangers.step(acknowledged, others);
    }

    /// Goodput control; `on`: or nobody is throttled any more.
    pub fn throttle(&mut self, maps: &Maps, table: &Table, on: bool) {
        for (key, floor_ns) in self.goodput.tick(if on { table } else { &[] }) {
            // One that cannot be written is tried again when it changes.
            match maps.set_floor(&key, floor_ns) {
                Ok(()) => goodput::tell(&key, floor_ns, table),
                Err(error) => log::warn!("{}: not throttled: {error:#}", flows::name(&key)),
            }
        }
    }

    /// Wakes the senders of stalled uploads up. `way`: whom frames to an address are sent to now.
    pub fn wake(
        &mut self,
        maps: &Maps,
        table: &Table,
        way: impl Fn(&Address) -> Option<Mac>,
        now_ns: u64,
    ) {
        if let Some(wake_ups) = &mut self.wake_ups {
            wake_ups.tick(maps, table, self.shares.aliases(), way, now_ns);
        }
    }

    /// Which addresses are one host has changed.
    pub fn set_aliases(&mut self, aliases: Arc<Aliases>) {
        self.shares.set_aliases(aliases);
    }

    /// What is known of the hops to hosts.
    pub fn know_hops(&mut self, hops: impl Iterator<Item = (Address, u32)>) {
        self.shares.know_hops(hops);
    }

    /// What hosts may have beside each other.
    pub fn set_rights(&mut self, rights: Rights) {
        self.shares.set_rights(rights);
    }

    /// What hosts that get or send many datagrams tell, before they get their shares. `others`: bytes so far of what is
    /// not read as TCP; None: nobody is asked. `nobodys_bytes`: likewise, of addresses that nothing ever answers. `held`:
    /// lines of which something waits here.
    pub fn hear_opaque(
        &mut self,
        others: Option<&[(mp_host_key, u64)]>,
        nobodys_bytes: u64,
        held: &HashSet<mp_flow_key>,
        now_ns: u64,
    ) {
        self.shares.hear_opaque(others, nobodys_bytes, held, now_ns);
    }

    /// Sets what hosts may get; not held: nobody has a cap any more. `sums`: bytes so far of what is not
    /// in the table.
    pub fn share(
        &mut self,
        maps: &Maps,
        table: &Table,
        sums: &[(mp_host_key, u64)],
        sharing: Sharing,
        now_ns: u64,
    ) -> Shared {
        let busy = self.shares.busy().clone();
        let changed = match sharing {
            Sharing::Held(fairness) => self.shares.step(fairness, table, sums, now_ns),
            Sharing::Watched(fairness) => self.shares.watch(fairness, table, sums, now_ns),
            Sharing::No => self.shares.end(now_ns),
        };
        let caps = self.shares.caps();
        for member in changed.iter().filter(|member| !caps.contains_key(*member)) {
            maps.lift_cap(&shares::key_of(member));
        }
        let set = |(member, cap_bytes_per_s, flow_bytes_per_s)| -> Result<()> {
            maps.set_cap(&shares::key_of(&member), cap_bytes_per_s, flow_bytes_per_s)
        };
        let refusals = self.shares.parts().filter_map(|part| set(part).err());
        Shared {
            changed: !changed.is_empty() || !Arc::ptr_eq(&busy, self.shares.busy()),
            refusal: refusals.last(),
        }
    }

    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Once a second, after sharing out: what each host got, and what bounds it.
    pub fn judge(&mut self, table: &Table, sums: &[(mp_host_key, u64)], now_ns: u64) {
        self.served.step(&self.shares, table, sums, now_ns);
    }

    pub fn served(&self) -> &Served {
        &self.served
    }

    pub fn goodput(&self) -> &GoodputControl {
        &self.goodput
    }

    /// What may pass that nobody answers, bytes/s; 0: nobody is active whom it could harm.
    pub fn strangers_bytes_per_s(&self) -> u64 {
        self.strangers.bytes_per_s()
    }

    /// By their names in `status`.
    pub fn counters(&self) -> [(&'static str, u64); 3] {
        let wake_ups = self.wake_ups.as_ref();
        [
            ("hosts_asked", self.shares.hosts_asked()),
            ("wake_ups", wake_ups.map_or(0, |wake_ups| wake_ups.sent)),
            (
                "wake_ups_over_budget",
                wake_ups.map_or(0, |wake_ups| wake_ups.due.waited),
            ),
        ]
    }
}
