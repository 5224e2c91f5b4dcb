// SPDX-License-Identifier: GPL-2.0-only
//! What each host has got since the previous look at the kernel's tables, and what it wants, by the address that stands
//! for it: what those who share out go by.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::hosts::identity::Aliases;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{self, mp_demand, mp_host_key, mp_queueing};
use crate::kernel::law;

/// The address that stands for a host, and a direction (enum mp_direction).
pub type Member = ([u8; 16], u32);

/// Whose is what addresses send that nothing ever answers (core's mp_opaque_nobody_step): no host has this one.
pub const NOBODY: [u8; 16] = [0; 16];

/// Of a member, since the previous look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    pub bytes: u64,
    /// of acknowledgements that no data asked for
    pub excess_bytes: u64,
    /// flows that move
    pub flows: u32,
    /// of those, that want more
    pub wanting_flows: u32,
    /// packets that were seen a second time, so far
    pub again_packets: u64,
    /// the most that one of its flows has that move; 0: none is known
    pub hops: u32,
    /// something of it waits here
    pub held: bool,
    /// what waits in the mesh, by its flows
    pub queueing: mp_queueing,
}

pub type AllNews = HashMap<Member, News>;

/// What is known of a flow's demand.
pub fn demand(direction: u32, flow: &FlowState, now_ns: u64) -> mp_demand {
    let up = direction == intf::mp_direction_MP_UP;
    let seen_ns = if up { flow.data_ns } else { flow.paused_ns };
    let (progress, waits) = (&flow.progress, flow.waits);
    mp_demand {
        window_bytes: flow.window_bytes,
        segment_bytes: flow.segment_bytes,
        again_packets: flow.retransmits,
        ..law::demand_of(progress, flow.max_end, up, waits, seen_ns, now_ns)
    }
}

impl News {
    fn add(&mut self, direction: u32, flow: &FlowState, now_ns: u64) {
        let demand = demand(direction, flow, now_ns);
        if law::flow_moves(&demand) {
            self.flows += 1;
            // An idle one has those of where its host was.
            self.hops = self.hops.max(flow.hops);
        }
        self.wanting_flows += u32::from(law::flow_wants(&demand));
        self.again_packets += demand.again_packets;
        self.held |= flow.waits;
        law::queueing_add(&mut self.queueing, flow.queueing_ns, flow.heard_ns, now_ns);
    }
}

/// Bytes of an address so far.
#[derive(Clone, Copy, Default)]
struct Sums {
    delivered: u64,
    excess: u64,
}

impl Sums {
    fn add(&mut self, flow: &FlowState) {
        self.delivered += flow.progress.acked_bytes;
        self.excess += law::excess_bytes(flow.pure_acks, flow.packets, flow.local_retransmits);
    }

    /// What came since. A sum that shrank was forgotten, and begins anew from what it is.
    fn since(&self, before: Option<&Self>) -> Self {
        let before = before.copied().unwrap_or_default();
        Self {
            delivered: self.delivered.saturating_sub(before.delivered),
            excess: self.excess.saturating_sub(before.excess),
        }
    }
}

/// What was delivered to and from each address, and which addresses are one host.
#[derive(Default)]
pub struct Delivered {
    aliases: Arc<Aliases>,
    /// what each address had got when it was looked at last
    before: HashMap<Member, Sums>,
}

impl Delivered {
    pub fn new(aliases: Arc<Aliases>) -> Self {
        Self {
            aliases,
            ..Self::default()
        }
    }

    pub fn aliases(&self) -> &Arc<Aliases> {
        &self.aliases
    }

    pub fn set_aliases(&mut self, aliases: Arc<Aliases>) {
        self.aliases = aliases;
    }

    /// Of every host that has flows, or of which something else moved, which never wants: it does not tell; and of
    /// those that are held. `sums`: bytes so far of what is not in the table, of flows that have ended and of what is
    /// not read as TCP.
    pub fn news(
        &mut self,
        table: &Table,
        sums: &[(mp_host_key, u64)],
        is_held: impl Fn(&Member) -> bool,
        now_ns: u64,
    ) -> AllNews {
        let mut all = AllNews::new();
        let mut delivered = HashMap::<Member, Sums>::new();
        // Who comes back from another port of this box has got nothing by that.
        let mut outside = HashSet::new();
        for (key, flow) in table {
            if flow.outside {
                outside.insert(key.mesh);
            } else {
                let host = self.aliases.standing(key.mesh);
                let news = all.entry((host, key.direction)).or_default();
                news.add(key.direction, flow, now_ns);
            }
            delivered
                .entry((key.mesh, key.direction))
                .or_default()
                .add(flow);
        }
        for (key, bytes) in sums {
            let sums = delivered.entry((key.address, key.direction)).or_default();
            sums.delivered += bytes;
        }
        let inside = delivered.iter().filter(|((a, _), _)| !outside.contains(a));
        for ((address, direction), sums) in inside {
            let member = (self.aliases.standing(*address), *direction);
            let more = sums.since(self.before.get(&(*address, *direction)));
            if more.delivered > 0 || is_held(&member) {
                let news = all.entry(member).or_default();
                news.bytes += more.delivered;
                news.excess_bytes += more.excess;
            }
        }
        self.before = delivered;
        all
    }
}
