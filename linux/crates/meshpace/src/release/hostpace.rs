// SPDX-License-Identifier: GPL-2.0-only
//! The pacers of whole hosts, beside those of their flows: what its flow lets go waits here for its
//! host's turn, if the host has a cap (policy/shares.rs), and the host's flows take turns (core's turn.h).
use std::collections::{BTreeMap, HashMap};

use crate::hosts::identity::Address;
use crate::kernel::intf::{self, mp_flow_key, mp_hold, mp_host_pace, mp_turn, mp_turns, mp_wait};
use crate::kernel::law;
use crate::policy::shares::Member;
use crate::release::held::{Held, Published};

/// The caps in force, which addresses they are of and who keeps the air busy.
/// What waits for its host's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// the head of a flow's queue
    Flow(mp_flow_key),
    /// likewise, of one that nobody has answered
    New(mp_flow_key),
    /// UDP of a flow, by its number in the netfilter queue
    Datagram(mp_flow_key, u32),
}

/// The one queue of all flows that nobody has answered, beside the buckets of UDP: else a flood of such
/// flows would always be first.
const NEW_LINE: mp_flow_key = mp_flow_key {
    mesh: [0; 16],
    wired: [0; 16],
    mesh_port: intf::MP_UDP_BUCKETS as u16,
    wired_port: 0,
    direction: 0,
};

/// The key of a UDP flow's bucket: no TCP flow has a wired address of zeros.
fn udp_bucket(key: &mp_flow_key) -> mp_flow_key {
    let [.., a, b, c, d] = key.wired;
    let wired = u32::from_be_bytes([a, b, c, d]);
    let (wired_port, mesh_port) = (u16::from_be(key.wired_port), u16::from_be(key.mesh_port));
    mp_flow_key {
        mesh_port: law::udp_bucket(wired, wired_port, mesh_port) as u16,
        ..Default::default()
    }
}

impl Who {
    fn line(&self) -> mp_flow_key {
        match self {
            Who::Flow(key) => *key,
            Who::New(_) => NEW_LINE,
            Who::Datagram(key, _) => udp_bucket(key),
        }
    }
}

/// Data of a flow that nobody had answered when it came to wait.
#[derive(Clone, Copy, Debug)]
pub struct New {
    member: Member,
    bytes: u32,
    /// up to its own
    stood_bytes: u32,
    came_ns: u64,
}

struct Ready {
    who: Who,
    bytes: u32,
    since_ns: u64,
}

/// A flow's turns, and how many packets of it are in line.
#[derive(Default)]
struct Line {
    turn: mp_turn,
    wait: mp_wait,
    waiting: u32,
}

/// So many flows that are not in line are remembered, if they had their turn before others.
const REMEMBERED: usize = 64;

/// One host's pacer in one direction, and who waits for it.
#[derive(Default)]
struct HostPace {
    pace: mp_host_pace,
    turns: mp_turns,
    /// by tag, and of equal ones in their order
    ready: BTreeMap<(u64, u64), Ready>,
    number: u64,
    /// bytes of flows that nobody has answered, wherever they wait
    new: mp_hold,
    flows: HashMap<mp_flow_key, Line>,
    /// flows of which something is ready
    in_line: u32,
    /// when the caller was told last that the next may leave
    announced_ns: Option<u64>,
}

impl HostPace {
    fn stand_in_line(&mut self, ready: Ready) {
        let line = self.flows.entry(ready.who.line()).or_default();
        let tag = law::turn_tag(&self.turns, &line.turn);
        law::turn_take(&mut line.turn, tag, ready.bytes);
        self.in_line += u32::from(line.waiting == 0);
        line.waiting += 1;
        self.number += 1;
        self.ready.insert((tag, self.number), ready);
    }

    fn leave_line(&mut self) -> Option<Ready> {
        let ((tag, _), first) = self.ready.pop_first()?;
        law::turns_pass(&mut self.turns, tag);
        if let Some(line) = self.flows.get_mut(&first.who.line()) {
            line.waiting -= 1;
            self.in_line -= u32::from(line.waiting == 0);
        }
        if self.flows.len() > self.in_line as usize + REMEMBERED {
            // Who has nothing in line and is not ahead is a flow like any new one.
            let at = self.turns.at;
            self.flows
                .retain(|_, line| line.waiting > 0 || line.turn.end > at);
        }
        Some(first)
    }

    /// Whether so many bytes of UDP that come now to this flow's bucket may wait. Marks are not made here: what would
    /// be marked is lost.
    fn takes(
        &mut self,
        held_bytes_per_s: u64,
        flow: &mp_flow_key,
        bytes: u32,
        now_ns: u64,
    ) -> bool {
        let bucket = self.flows.entry(udp_bucket(flow)).or_default();
        let flows = self.in_line + u32::from(bucket.waiting == 0);
        let (pace, turns) = (&self.pace, &self.turns);
        let wait_ns =
            law::datagram_waits_ns(pace, turns, &bucket.turn, held_bytes_per_s, flows, now_ns);
        let apart_ns = law::turn_interval_ns(held_bytes_per_s, bytes, flows);
        law::datagram_judge(&mut bucket.wait, wait_ns, apart_ns, false, now_ns)
            != intf::mp_hold_verdict_MP_HOLD_LOSES
    }
}

/// All hosts that have a cap, or of which something still waits.
#[derive(Default)]
pub struct HostPaces {
    hosts: HashMap<Member, HostPace>,
    held: Held,
}

/// What the host's turn is.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// this one's
    Of(Who),
    /// nobody's before this time; told once for each time
    At(u64),
    /// nobody's, or the time has been told
    Nobodys,
}

impl HostPaces {
    /// Takes caps that are new, and returns who waits: for them it may be time.
    pub fn take_caps(&mut self, published: &Published) -> Vec<Member> {
        if !self.held.take(published) {
            return Vec::new();
        }
        let held = &self.held;
        self.hosts
            .retain(|member, host| !host.ready.is_empty() || held.has_cap(member));
        let waiting = self.hosts.iter().filter(|(_, h)| !h.ready.is_empty());
        waiting.map(|(member, _)| *member).collect()
    }

    /// The host that has this address.
    pub fn member(&self, address: Address, direction: intf::mp_direction) -> Member {
        (self.held.standing(address), direction)
    }

    /// Whether the busy ones are silent for longer than before, since a flow of this address's host begins.
    pub fn begins(&mut self, address: Address, hop_wait_ns: u64, now_ns: u64) -> bool {
        self.held.begins(address, hop_wait_ns, now_ns).is_some()
    }

    /// When TCP of a host leaves, or an ACK of its own, that would leave then.
    pub fn in_silence_ns(&self, member: &Member, due_ns: u64) -> u64 {
        self.held.in_silence_ns(member, due_ns)
    }

    /// Whether packets of the host have to wait for their turn.
    pub fn takes_turns(&self, member: &Member) -> bool {
        self.held.has_cap(member)
            || self
                .hosts
                .get(member)
                .is_some_and(|host| !host.ready.is_empty())
    }

    /// The interval between packets of so many bytes of a flow that takes turns with those in line; 0:
    /// no cap.
    pub fn turn_interval_ns(&self, member: &Member, bytes: u32) -> u64 {
        let in_line = self.hosts.get(member).map_or(0, |host| host.in_line);
        law::turn_interval_ns(self.held.bytes_per_s(member), bytes, in_line)
    }

    /// Hosts of which datagrams wait.
    pub fn with_datagrams(&self) -> impl Iterator<Item = Address> + '_ {
        let waits = |host: &HostPace| {
            let mut ready = host.ready.values();
            ready.any(|one| matches!(one.who, Who::Datagram(..)))
        };
        let hosts = self.hosts.iter().filter(move |(_, host)| waits(host));
        hosts.map(|((address, _), _)| *address)
    }

    /// Puts somebody, who is ready since then, in line.
    pub fn wait(&mut self, member: Member, who: Who, bytes: u32, since_ns: u64) {
        let host = self.hosts.entry(member).or_default();
        host.stand_in_line(Ready {
            who,
            bytes,
            since_ns,
        });
    }

    /// Whether data that nobody has answered, and comes now, leaves in time (core's hold.h).
    pub fn has_room_for_new(&self, member: &Member) -> bool {
        let held = self.held.bytes_per_s(member);
        let host = self.hosts.get(member);
        host.is_none_or(|host| law::hold_has_room(&host.new, held))
    }

    /// Such data comes to wait.
    pub fn new_comes(&mut self, member: Member, bytes: u32, now_ns: u64) -> New {
        let host = self.hosts.entry(member).or_default();
        New {
            member,
            bytes,
            stood_bytes: law::hold_comes(&mut host.new, bytes, 0, now_ns),
            came_ns: now_ns,
        }
    }

    pub fn new_leaves(&mut self, new: &New, now_ns: u64) {
        if let Some(host) = self.hosts.get_mut(&new.member) {
            let (bytes, stood) = (new.bytes, new.stood_bytes);
            law::hold_leaves(&mut host.new, bytes, stood, 0, new.came_ns, now_ns);
        }
    }

    /// Whether so many bytes of UDP of this flow that come now may wait.
    pub fn takes(&mut self, member: &Member, flow: &mp_flow_key, bytes: u32, now_ns: u64) -> bool {
        let held = self.held.bytes_per_s(member);
        let host = self.hosts.get_mut(member);
        host.is_none_or(|host| host.takes(held, flow, bytes, now_ns))
    }

    /// Whose turn it is; who leaves is taken off and paced by.
    pub fn next(&mut self, member: &Member, now_ns: u64) -> Turn {
        let held = self.held.bytes_per_s(member);
        let Some(host) = self.hosts.get_mut(member) else {
            return Turn::Nobodys;
        };
        let Some((_, first)) = host.ready.first_key_value() else {
            host.announced_ns = None;
            return Turn::Nobodys;
        };
        let departure = law::host_due_ns(&host.pace, held, first.since_ns);
        if departure > now_ns {
            let told = host
                .announced_ns
                .is_some_and(|at| now_ns < at && at <= departure);
            host.announced_ns = if told {
                host.announced_ns
            } else {
                Some(departure)
            };
            return if told {
                Turn::Nobodys
            } else {
                Turn::At(departure)
            };
        }
        let first = host.leave_line().expect("it was there");
        let (since, late) = (first.since_ns, intf::MP_CLOCK_LATE_NS as u64);
        law::host_leaves(&mut host.pace, held, since, now_ns, first.bytes, late);
        Turn::Of(first.who)
    }

    /// When an ACK of so many new bytes of the host's leaves, that is here now: as they would, but not
    /// too late.
    pub fn ack_departure(&mut self, member: &Member, bytes: u32, now_ns: u64) -> u64 {
        let held = self.held.bytes_per_s(member);
        if held == 0 || bytes == 0 {
            return now_ns;
        }
        let host = self.hosts.entry(*member).or_default();
        let (most, then) = (
            intf::MP_CAP_WAIT_NS as u64,
            intf::mp_too_long_MP_TOO_LONG_LEAVES,
        );
        let departure_ns = law::host_departure_ns(&mut host.pace, held, now_ns, bytes, most, then);
        self.in_silence_ns(member, departure_ns)
    }

    /// At the end: the numbers of all UDP that waits.
    pub fn empty(&mut self) -> Vec<u32> {
        let hosts = std::mem::take(&mut self.hosts);
        let ready = hosts
            .into_values()
            .flat_map(|host| host.ready.into_values());
        ready
            .filter_map(|ready| match ready.who {
                Who::Datagram(_, id) => Some(id),
                Who::Flow(_) | Who::New(_) => None,
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "hostpace_tests.rs"]
mod tests;
