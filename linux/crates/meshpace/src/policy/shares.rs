// SPDX-License-Identifier: GPL-2.0-only
//! What each host of the mesh gets in each direction (law `even`), fed with what the kernel counted of flows and of UDP.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::config::{Fairness, Rights};
use crate::hosts::identity::{Address, Aliases};
use crate::kernel::flow_state::Table;
use crate::kernel::intf::{mp_flow_key, mp_host_key};
use crate::policy::airtime::{Airtime, Busy};
pub use crate::policy::news::Member;
use crate::policy::news::{AllNews, Delivered};
use crate::policy::opaque::Opaque;

/// Bytes/s of those that have a cap.
pub type Caps = HashMap<Member, u64>;
/// What a member gets, and what each of its flows is told.
pub type Part = (Member, u64, u64);

pub struct Shares {
    delivered: Delivered,
    fairness: Fairness,
    rights: Arc<Rights>,
    air: Airtime,
    opaque: Opaque,
    caps: Caps,
    /// what they would be held to, where nothing is held
    would: Caps,
    /// what each flow of those that have a cap is told, bytes/s
    feedback: Caps,
    /// as of the latest step
    busy: Arc<Busy>,
}

pub fn key_of((address, direction): &Member) -> mp_host_key {
    mp_host_key {
        address: *address,
        direction: *direction,
    }
}

fn caps_of(parts: &[Part]) -> Caps {
    parts
        .iter()
        .map(|(member, cap, _)| (*member, *cap))
        .collect()
}

impl Shares {
    pub fn new(fairness: Fairness, now_ns: u64) -> Self {
        let (delivered, rights) = (Delivered::default(), Arc::<Rights>::default());
        Self {
            air: Airtime::new(
                fairness.of_core(),
                rights.clone(),
                delivered.aliases().clone(),
                now_ns,
            ),
            opaque: Opaque::default(),
            delivered,
            fairness,
            rights,
            caps: Caps::new(),
            would: Caps::new(),
            feedback: Caps::new(),
            busy: Arc::default(),
        }
    }

    /// What hosts may have beside each other.
    pub fn set_rights(&mut self, rights: Rights) {
        self.rights = Arc::new(rights);
        self.air.set_rights(self.rights.clone());
    }

    /// What is known of the hops to hosts, of which some may have no flow that tells it.
    pub fn know_hops(&mut self, hops: impl Iterator<Item = (Address, u32)>) {
        hops.for_each(|(address, hops)| self.air.know_hops(address, hops));
    }

    pub fn aliases(&self) -> &Arc<Aliases> {
        self.delivered.aliases()
    }

    pub fn set_aliases(&mut self, aliases: Arc<Aliases>) {
        self.air.join(aliases.clone());
        self.delivered.set_aliases(aliases);
    }

    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// What the law would hold hosts to, bytes/s, where nothing is held.
    pub fn would(&self) -> &Caps {
        &self.would
    }

    /// Those that have a cap.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let feedback = |member: &Member| self.feedback.get(member).copied().unwrap_or(0);
        let part = move |(member, cap): (&Member, &u64)| (*member, *cap, feedback(member));
        self.caps.iter().map(part)
    }

    pub fn busy(&self) -> &Arc<Busy> {
        &self.busy
    }

    /// Whether a host has shown progress lately, in one direction.
    pub fn is_active(&self, member: &Member) -> bool {
        self.air.is_active(member)
    }

    /// What is known of the air.
    pub fn air(&self) -> &Airtime {
        &self.air
    }

    /// What hosts tell that get or send many datagrams; see [`crate::policy::Policy::hear_opaque`].
    pub fn hear_opaque(
        &mut self,
        others: Option<&[(mp_host_key, u64)]>,
        nobodys_bytes: u64,
        held: &HashSet<mp_flow_key>,
        now_ns: u64,
    ) {
        let Some(others) = others else {
            self.opaque.end();
            return;
        };
        let known = |address: &Address| self.air.known(address);
        let aliases = self.delivered.aliases();
        self.opaque.set_waiting(held, aliases);
        self.opaque.step(others, aliases, known, now_ns);
        self.opaque.hear_nobody(nobodys_bytes, now_ns);
    }

    pub fn hosts_asked(&self) -> u64 {
        self.opaque.asked
    }

    /// Some time has passed; returns the members whose caps are others than before. `sums`: bytes so far of what is not in the table, of flows that have
    /// ended and of what is not read as TCP.
    pub fn step(
        &mut self,
        fairness: Fairness,
        table: &Table,
        sums: &[(mp_host_key, u64)],
        now_ns: u64,
    ) -> Vec<Member> {
        self.would.clear();
        let mut news = self.news(fairness, table, sums, now_ns);
        self.opaque.tell(&mut news, now_ns);
        let mut parts = self.air.step(&news, now_ns);
        let shared: HashSet<_> = parts.iter().map(|(member, ..)| *member).collect();
        let held = self.opaque.held().filter(|(m, _)| !shared.contains(m));
        parts.extend(held.map(|(member, cap)| (member, cap, 0)));
        let busy = self.air.busy();
        if busy != *self.busy {
            self.busy = Arc::new(busy);
        }
        self.feedback = parts
            .iter()
            .map(|(member, _, flow)| (*member, *flow))
            .collect();
        self.change(caps_of(&parts))
    }

    /// As a step, where nothing is held: what hosts get is seen and learnt, and nobody has a cap.
    pub fn watch(
        &mut self,
        fairness: Fairness,
        table: &Table,
        sums: &[(mp_host_key, u64)],
        now_ns: u64,
    ) -> Vec<Member> {
        let let_go = self.change(Caps::new());
        let news = self.news(fairness, table, sums, now_ns);
        let parts = self.air.step(&news, now_ns);
        self.air.let_go();
        self.would = caps_of(&parts);
        self.feedback.clear();
        self.busy = Arc::default();
        let_go
    }

    fn news(
        &mut self,
        fairness: Fairness,
        table: &Table,
        sums: &[(mp_host_key, u64)],
        now_ns: u64,
    ) -> AllNews {
        self.fairness = fairness;
        self.air.set_fairness(fairness.of_core());
        let is_held = |member: &Member| self.caps.contains_key(member);
        self.delivered.news(table, sums, is_held, now_ns)
    }

    /// Nobody has a cap any more, and nothing is known of anybody.
    pub fn end(&mut self, now_ns: u64) -> Vec<Member> {
        let caps = std::mem::take(&mut self.caps);
        self.delivered = Delivered::new(self.aliases().clone());
        self.air = Airtime::new(
            self.fairness.of_core(),
            self.rights.clone(),
            self.delivered.aliases().clone(),
            now_ns,
        );
        self.opaque.end();
        self.would.clear();
        self.feedback.clear();
        self.busy = Arc::default();
        caps.into_keys().collect()
    }

    fn change(&mut self, caps: Caps) -> Vec<Member> {
        let before = std::mem::replace(&mut self.caps, caps);
        let all = before.keys().chain(self.caps.keys());
        let mut changed: Vec<_> = all
            .filter(|member| before.get(*member) != self.caps.get(*member))
            .copied()
            .collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
