// SPDX-License-Identifier: GPL-2.0-only
//! The pacers of whole hosts, beside those of their flows: what its flow lets go waits here for its
//! host's turn, if the host has a cap (policy/shares.rs), and the host's flows take turns (core's turn.h).
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::hosts::identity::{Address, Aliases};
use crate::kernel::intf::{self, mp_flow_key, mp_host_pace, mp_silence, mp_turn, mp_turns};
use crate::kernel::law;
use crate::policy::airtime::Busy;
use crate::policy::shares::{Caps, Member};

/// The caps in force, which addresses they are of and who keeps the air busy.
type Latest = (Arc<Caps>, Arc<Aliases>, Arc<Busy>);

/// These, from the daemon to the thread that holds packets.
#[derive(Default)]
pub struct Published {
    number: AtomicU64,
    latest: Mutex<Latest>,
}

impl Published {
    pub fn publish(&self, caps: Caps, aliases: Arc<Aliases>, busy: Arc<Busy>) {
        let latest = (Arc::new(caps), aliases, busy);
        *self.latest.lock().expect("its holder ended the program") = latest;
        self.number.fetch_add(1, Ordering::Release);
    }
}

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

/// So many may be in it: the six connections that a browser opens to a place, to each of ten.
const NEW_FLOWS: u32 = 60;

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

struct Ready {
    who: Who,
    bytes: u32,
    since_ns: u64,
}

/// A flow's turns, and how many packets of it are in line.
#[derive(Default)]
struct Line {
    turn: mp_turn,
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

    /// Whether UDP of this flow that comes now would leave in time.
    fn has_room(&self, held_bytes_per_s: u64, flow: &mp_flow_key, now_ns: u64) -> bool {
        let bucket = self.flows.get(&udp_bucket(flow));
        let turn = bucket.map_or(mp_turn::default(), |bucket| bucket.turn);
        let joins = u32::from(bucket.is_none_or(|bucket| bucket.waiting == 0));
        let flows = self.in_line + joins;
        law::datagram_fits(
            &self.pace,
            &self.turns,
            &turn,
            held_bytes_per_s,
            flows,
            now_ns,
        )
    }
}

/// All hosts that have a cap, or of which something still waits.
#[derive(Default)]
pub struct HostPaces {
    hosts: HashMap<Member, HostPace>,
    caps: Arc<Caps>,
    aliases: Arc<Aliases>,
    busy: Arc<Busy>,
    silence: mp_silence,
    number: u64,
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
        let number = published.number.load(Ordering::Acquire);
        if number == self.number {
            return Vec::new();
        }
        self.number = number;
        (self.caps, self.aliases, self.busy) = published
            .latest
            .lock()
            .expect("its holder ended the program")
            .clone();
        let caps = &self.caps;
        self.hosts
            .retain(|member, host| !host.ready.is_empty() || caps.contains_key(member));
        let waiting = self.hosts.iter().filter(|(_, h)| !h.ready.is_empty());
        waiting.map(|(member, _)| *member).collect()
    }

    /// The host that has this address.
    pub fn member(&self, address: Address, direction: intf::mp_direction) -> Member {
        (self.aliases.standing(address), direction)
    }

    /// A flow of the host begins that has this address: the busy ones are silent for a moment, unless it is one of
    /// them. Whether they are for longer than before.
    pub fn begins(&mut self, address: Address, hop_wait_ns: u64, now_ns: u64) -> bool {
        let (busy, standing) = (&self.busy, self.aliases.standing(address));
        if busy.hosts.is_empty() || busy.hosts.contains(&standing) {
            return false;
        }
        law::silence_ask(&mut self.silence, busy.silence_ns, hop_wait_ns, now_ns)
    }

    /// When TCP of a host leaves, or an ACK of its own, that would leave then.
    pub fn in_silence_ns(&self, member: &Member, due_ns: u64) -> u64 {
        law::silence_due_ns(&self.silence, self.busy.hosts.contains(&member.0), due_ns)
    }

    /// What a host is held to, bytes/s; 0: nothing.
    fn held(&self, member: &Member) -> u64 {
        let cap_bytes_per_s = self.caps.get(member).copied().unwrap_or(0);
        law::held_bytes_per_s(cap_bytes_per_s, member.1 == intf::mp_direction_MP_UP)
    }

    /// Whether packets of the host have to wait for their turn.
    pub fn takes_turns(&self, member: &Member) -> bool {
        self.caps.contains_key(member)
            || self
                .hosts
                .get(member)
                .is_some_and(|host| !host.ready.is_empty())
    }

    /// The interval between packets of so many bytes of a flow that takes turns with those in line; 0:
    /// no cap.
    pub fn turn_interval_ns(&self, member: &Member, bytes: u32) -> u64 {
        let in_line = self.hosts.get(member).map_or(0, |host| host.in_line);
        law::turn_interval_ns(self.held(member), bytes, in_line)
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

    /// Whether data of one flow more that nobody has answered may wait.
    pub fn has_room_for_new(&self, member: &Member) -> bool {
        let line = self
            .hosts
            .get(member)
            .and_then(|host| host.flows.get(&NEW_LINE));
        line.is_none_or(|line| line.waiting < NEW_FLOWS)
    }

    /// Whether UDP of this flow that comes now would leave within its time.
    pub fn has_room(&self, member: &Member, flow: &mp_flow_key, now_ns: u64) -> bool {
        let host = self.hosts.get(member);
        host.is_none_or(|host| host.has_room(self.held(member), flow, now_ns))
    }

    /// Whose turn it is; who leaves is taken off and paced by.
    pub fn next(&mut self, member: &Member, now_ns: u64) -> Turn {
        let held = self.held(member);
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
        let held = self.held(member);
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
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const HOST: Member = ([1; 16], 0);

    /// 1000 bytes each 10 ms.
    fn capped() -> HostPaces {
        let published = Published::default();
        published.publish(
            Caps::from([(HOST, 100_000)]),
            Arc::default(),
            Arc::default(),
        );
        let mut paces = HostPaces::default();
        assert!(paces.take_caps(&published).is_empty());
        paces
    }

    fn key(port: u16) -> mp_flow_key {
        mp_flow_key {
            mesh_port: port,
            ..Default::default()
        }
    }

    fn flow(port: u16) -> Who {
        Who::Flow(key(port))
    }

    /// Else a host would get more than its cap, or one of its flows everything.
    #[test]
    fn flows_take_turns_at_the_host_s_rate() {
        let mut paces = capped();
        for port in 1..=3 {
            paces.wait(HOST, flow(port), 1000, 5 * MS);
        }
        assert_eq!(paces.next(&HOST, 5 * MS), Turn::Of(flow(1)));
        paces.wait(HOST, flow(1), 1000, 5 * MS);
        assert_eq!(paces.next(&HOST, 5 * MS), Turn::At(15 * MS));
        assert_eq!(paces.next(&HOST, 6 * MS), Turn::Nobodys, "told");
        // A wakeup that comes late does not slow the host down.
        assert_eq!(paces.next(&HOST, 17 * MS), Turn::Of(flow(2)));
        assert_eq!(paces.next(&HOST, 25 * MS), Turn::Of(flow(3)));
        assert_eq!(paces.next(&HOST, 35 * MS), Turn::Of(flow(1)));
        assert_eq!(paces.next(&HOST, 99 * MS), Turn::Nobodys);
    }

    /// Else a call would be the victim of its own host's download or flood.
    #[test]
    fn who_takes_little_does_not_wait_for_who_takes_much() {
        let mut paces = capped();
        for number in 0..15 {
            paces.wait(HOST, Who::Datagram(key(1), number), 1000, 0);
        }
        paces.wait(HOST, flow(2), 1000, 0);
        paces.wait(HOST, Who::Datagram(key(3), 99), 100, 0);
        let mut order = Vec::new();
        for step in 0..8 {
            if let Turn::Of(who) = paces.next(&HOST, step * 10 * MS) {
                order.push(match who {
                    Who::Flow(key) | Who::New(key) | Who::Datagram(key, _) => key.mesh_port,
                });
            }
            if step == 4 {
                paces.wait(HOST, Who::Datagram(key(3), 100), 100, 0);
                paces.wait(HOST, flow(2), 1000, 0);
            }
        }
        assert_eq!(order, [1, 2, 3, 1, 1, 3, 2, 1]);
    }

    /// Else a flood from ever new ports would fill the memory, and be first for ever.
    #[test]
    fn a_flood_from_ever_new_ports_is_sixteen_flows() {
        let mut paces = capped();
        let mut taken = 0;
        for port in 0..10_000 {
            if paces.has_room(&HOST, &key(port), 0) {
                paces.wait(HOST, Who::Datagram(key(port), 0), 1000, 0);
                taken += 1;
            }
        }
        assert!(taken <= 20 + intf::MP_UDP_BUCKETS, "{taken}");
        paces.wait(HOST, flow(1), 1000, 0);
        let mut steps = 0;
        while !matches!(paces.next(&HOST, steps * 10 * MS), Turn::Of(Who::Flow(_))) {
            steps += 1;
            paces.wait(
                HOST,
                Who::Datagram(key(steps as u16), 0),
                1000,
                steps * 10 * MS,
            );
        }
        assert!(steps <= 2 * u64::from(intf::MP_UDP_BUCKETS), "{steps}");
    }

    /// Else a flood of flows that nobody answers would be the end of a host's download, or fill the memory.
    #[test]
    fn flows_that_nobody_has_answered_take_turns_as_one() {
        let mut paces = capped();
        let mut taken = 0;
        while paces.has_room_for_new(&HOST) {
            paces.wait(HOST, Who::New(key(100 + taken)), 1000, 0);
            taken += 1;
        }
        assert_eq!(u32::from(taken), NEW_FLOWS);
        let mut left = 0;
        for step in 0..20 {
            paces.wait(HOST, flow(1), 1000, step * 10 * MS);
            let next = paces.next(&HOST, step * 10 * MS);
            left += u32::from(matches!(next, Turn::Of(Who::Flow(_))));
        }
        assert!((9..=11).contains(&left), "{left} of 20");
    }

    /// Else flows that have ended would be remembered for ever.
    #[test]
    fn who_has_ended_is_forgotten() {
        let mut paces = capped();
        for port in 0..1000 {
            paces.wait(HOST, flow(port), 1000, 0);
            paces.wait(HOST, flow(port), 1000, 0);
            let now = u64::from(port) * 20 * MS;
            assert!(matches!(paces.next(&HOST, now), Turn::Of(..)));
            assert!(matches!(paces.next(&HOST, now + 10 * MS), Turn::Of(..)));
        }
        assert!(paces.hosts[&HOST].flows.len() <= REMEMBERED + 1);
    }

    /// Else a flood would fill the memory, and its host's TCP would wait for ever.
    #[test]
    fn udp_that_would_wait_too_long_has_no_room() {
        let mut paces = capped();
        let mut taken = 0;
        while paces.has_room(&HOST, &key(1), 0) {
            paces.wait(HOST, Who::Datagram(key(1), taken), 1000, 0);
            taken += 1;
            assert!(taken < 100);
        }
        assert_eq!(taken, 21, "200 ms of 10 each, and the first");
        assert!(paces.has_room(&HOST, &key(2), 0), "another flow");
        assert!(paces.has_room(&([2; 16], 0), &key(1), 0), "another host");
        assert_eq!(paces.empty().len(), 21);
    }

    /// Else an upload would not slow down, or its sender would time out.
    #[test]
    fn an_ack_waits_as_its_data_would_but_not_too_long() {
        let mut paces = capped();
        assert_eq!(paces.ack_departure(&HOST, 1000, MS), MS);
        assert_eq!(paces.ack_departure(&HOST, 2000, MS), 11 * MS);
        assert_eq!(paces.ack_departure(&HOST, 90_000, 2 * MS), 31 * MS);
        assert_eq!(paces.ack_departure(&HOST, 1000, 3 * MS), 203 * MS);
        assert_eq!(paces.ack_departure(&HOST, 0, 4 * MS), 4 * MS);
        assert_eq!(paces.ack_departure(&([2; 16], 0), 1000, MS), MS);
    }

    /// Else a host would be held to its cap by one of its addresses alone.
    #[test]
    fn a_host_takes_turns_by_any_of_its_addresses() {
        let mut paces = capped();
        assert_eq!(paces.member([2; 16], 0), ([2; 16], 0));
        let published = Published::default();
        paces.number = 0;
        let aliases = Aliases([([2; 16], [1; 16])].into());
        published.publish(
            Caps::from([(HOST, 100_000)]),
            Arc::new(aliases),
            Arc::default(),
        );
        paces.take_caps(&published);
        assert_eq!(paces.member([2; 16], 0), HOST);
        assert!(paces.takes_turns(&HOST));
    }

    /// Else what waited for a cap would wait for ever when there is none any more.
    #[test]
    fn a_cap_that_is_lifted_lets_all_go() {
        let mut paces = capped();
        for port in 1..=3 {
            paces.wait(HOST, flow(port), 1000, 0);
        }
        assert_eq!(paces.next(&HOST, 0), Turn::Of(flow(1)));
        let published = Published::default();
        published.publish(Caps::new(), Arc::default(), Arc::default());
        published.publish(Caps::new(), Arc::default(), Arc::default());
        assert_eq!(paces.take_caps(&published), [HOST]);
        assert_eq!(paces.next(&HOST, MS), Turn::Of(flow(2)));
        assert_eq!(paces.next(&HOST, MS), Turn::Of(flow(3)));
        assert!(!paces.takes_turns(&HOST));
    }
}
