// SPDX-License-Identifier: GPL-2.0-only
//! Which packets of the netfilter queue wait, for what and until when.
//!
//! The BPF program at the interface still measures; the interval is its, the departure core/'s. Where
//! a host has a cap, its packets wait for the host's turn as well (hostpace.rs).
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portable_atomic::AtomicU64;

use crate::hosts::identity::Address;
use crate::kernel::intf::{self, mp_flow, mp_flow_key, mp_law};
use crate::kernel::packet::{Datagram, Packet, Segment};
use crate::policy::shares::Member;
use crate::release::held::Published;
use crate::release::hostpace::{HostPaces, New, Turn, Who};
use crate::release::nfnetlink::Verdict;
use crate::release::paced::{is_answered, Own, Paced, Waiting};

const ENDED: &str = "its holder ended the program";
/// Of a flow that nobody answers: the window that it may have under way (core/'s MP_UNANSWERED_WINDOW).
const NEW_PACKETS: usize = intf::MP_UNANSWERED_WINDOW as usize / 1460 + 1;
/// An empty queue is forgotten after this: no departure is further ahead than core/'s horizon.
const FORGET_NS: u64 = intf::MP_HORIZON_NS as u64;
/// What may be due: the head of a flow's queue, or a host's next turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Flow([u8; 40]),
    Host(Member),
}

/// What came of the head of a flow's queue.
enum Head {
    Departed,
    /// it is not due, or there is none
    Waits,
    /// its host's turn decides
    TakesTurns(Member),
}

/// What the thread has done, and the words to let all packets pass, and to end.
#[derive(Default)]
pub struct Control {
    pub pass: AtomicBool,
    pub stop: AtomicBool,
    pub held: AtomicU64,
    /// TCP packets that were let go, of IPv4 and IPv6
    pub let_go: [AtomicU64; 2],
    pub dropped: AtomicU64,
    /// what the queue's socket had no room for, so often
    pub overruns: AtomicU64,
    pub udp_dropped: AtomicU64,
    law: Mutex<mp_law>,
    pub wait_dropped: AtomicU64,
    pub waiting: AtomicU64,
    /// moments in which the busy ones were silent, or that became longer
    pub silences: AtomicU64,
    pub caps: Published,
    /// flows of which something waits, as of the latest second, or since it was asked for
    held_flows: Mutex<HashSet<mp_flow_key>>,
    pub asks_held: AtomicBool,
    /// some classes are of hosts' lines
    pub host_lines: AtomicBool,
}

impl Control {
    pub fn set_law(&self, law: mp_law) {
        *self.law.lock().expect(ENDED) = law;
    }

    pub fn law(&self) -> mp_law {
        *self.law.lock().expect(ENDED)
    }

    pub fn set_held(&self, flows: HashSet<mp_flow_key>) {
        *self.held_flows.lock().expect(ENDED) = flows;
    }

    pub fn held_flows(&self) -> HashSet<mp_flow_key> {
        self.held_flows.lock().expect(ENDED).clone()
    }

    /// Until nothing waits, after `pass`; a thread that has died is not waited for long.
    pub fn wait_until_empty(&self) {
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(10));
            if self.waiting.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }
}

/// Who asks for the verdicts, and knows the flows.
pub trait World {
    /// The kernel's entry.
    fn flow(&self, key: &mp_flow_key) -> Option<mp_flow>;
    /// Has the flow's next packet marked by ECN; whether that can be.
    fn mark(&self, key: &mp_flow_key) -> bool;
    fn decide(&mut self, id: u32, verdict: Verdict);
}

/// Decides when each packet goes. It has no clock: whoever calls says what time it is.
pub struct Pacer<W> {
    world: W,
    flows: HashMap<mp_flow_key, Paced>,
    hosts: HostPaces,
    /// departures of heads, and of the first of each host
    due: BinaryHeap<Reverse<(u64, Due)>>,
    control: Arc<Control>,
    /// as of this wake-up
    law: mp_law,
    most_flows: usize,
}

impl<W: World> Pacer<W> {
    pub fn new(world: W, control: Arc<Control>, most_flows: usize) -> Self {
        Self {
            world,
            flows: HashMap::new(),
            hosts: HostPaces::default(),
            due: BinaryHeap::new(),
            control,
            law: mp_law::default(),
            most_flows,
        }
    }

    pub fn world(&mut self) -> &mut W {
        &mut self.world
    }

    /// What has been set since the previous wake-up: law and caps.
    pub fn take_settings(&mut self, now: u64) {
        self.law = self.control.law();
        for member in self.hosts.take_caps(&self.control.caps) {
            self.release_host(member, now);
        }
    }

    /// A flow of the host begins that has this address.
    pub fn begins(&mut self, address: Address, now: u64) {
        if self.hosts.begins(address, self.law.hop_wait_ns, now) {
            self.control.silences.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The first departure; None: nothing waits.
    pub fn next_due(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Once a second: flows without packets are forgotten, and it is said of which some wait.
    pub fn tidy(&mut self, now: u64) {
        self.flows
            .retain(|_, f| !f.waiting.is_empty() || now - f.seen_ns < FORGET_NS);
        self.tell_held();
    }

    /// A packet has come; None: one that is not understood.
    pub fn arrive(&mut self, id: u32, packet: Option<&Packet>, now: u64) {
        match packet {
            Some(Packet::Tcp(segment)) => self.arrive_tcp(id, segment, now),
            Some(Packet::Udp(datagram)) => self.arrive_udp(id, datagram, now),
            None => self.world.decide(id, Verdict::Accept),
        }
    }

    /// Where a flow's data is paced as a part of what its host gets.
    fn down_to(&self, key: &mp_flow_key) -> Member {
        self.hosts.member(key.mesh, intf::mp_direction_MP_DOWN)
    }

    /// Of which flows, and of which hosts' datagrams, something waits: their senders have more than they get.
    pub fn tell_held(&self) {
        let held = self.flows.iter().filter(|(_, f)| !f.waiting.is_empty());
        let flows = held.map(|(key, _)| *key);
        let hosts = self.hosts.with_datagrams().map(|mesh| mp_flow_key {
            mesh,
            ..Default::default()
        });
        self.control.set_held(flows.chain(hosts).collect());
    }

    /// UDP waits for its host's turn alone.
    fn arrive_udp(&mut self, id: u32, datagram: &Datagram, now: u64) {
        let member = self.down_to(&datagram.key);
        if self.control.pass.load(Ordering::Relaxed) || !self.hosts.takes_turns(&member) {
            return self.world.decide(id, Verdict::Accept);
        }
        let bytes = datagram.ip_bytes;
        if !self.hosts.takes(&member, &datagram.key, bytes, now) {
            self.control.udp_dropped.fetch_add(1, Ordering::Relaxed);
            return self.world.decide(id, Verdict::Drop);
        }
        self.control.waiting.fetch_add(1, Ordering::Relaxed);
        self.hosts
            .wait(member, Who::Datagram(datagram.key, id), bytes, now);
        self.release_host(member, now);
    }

    /// When an acknowledgement of a host's own data leaves by its cap; without one, now.
    fn ack_departure(&mut self, segment: &Segment, now: u64) -> u64 {
        let member = self
            .hosts
            .member(segment.key.mesh, intf::mp_direction_MP_UP);
        if !segment.pure_ack || !self.hosts.takes_turns(&member) {
            return now;
        }
        let own = mp_flow_key {
            direction: intf::mp_direction_MP_UP,
            ..segment.key
        };
        // Of an upload that nobody knows an ACK counts for nothing; were it remembered, invented ones would fill the table.
        if !self.flows.contains_key(&segment.key) && self.world.flow(&own).is_none() {
            return now;
        }
        let flow = self.flows.entry(segment.key);
        let flow = flow.or_insert_with(|| Paced::new(now));
        flow.seen_ns = now;
        let look = || self.world.flow(&own).map(|flow| Own::from(&flow));
        let bytes = flow.acknowledge(segment.ack, look);
        self.hosts.ack_departure(&member, bytes, now)
    }

    /// Whether a packet that comes now would wait longer than any may, whatever the law.
    fn waits_beyond_all_bounds(&self, segment: &Segment) -> bool {
        let flow = self.flows.get(&segment.key);
        flow.is_some_and(|flow| flow.waits_beyond_all_bounds(self.turn_ns(segment)))
    }

    /// How far apart packets like this leave by the turns of its host; 0: it takes none.
    fn turn_ns(&self, segment: &Segment) -> u64 {
        let member = self.down_to(&segment.key);
        self.hosts.turn_interval_ns(&member, segment.payload_bytes)
    }

    /// Whether data is to be lost, since all of its flow's waits too long; or has it marked, which the
    /// BPF program does to the flow's next one.
    fn is_lost(&mut self, segment: &Segment, now: u64) -> bool {
        let turn_ns = self.turn_ns(segment);
        let Some(flow) = self.flows.get_mut(&segment.key) else {
            return false;
        };
        flow.read(now, || self.world.flow(&segment.key));
        if !flow.waits_too_long(&self.law, turn_ns, now) {
            return false;
        }
        if segment.ecn && self.world.mark(&segment.key) {
            return false;
        }
        self.control.wait_dropped.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Whether data of a flow is somebody's who answers. Else it waits for its host's cap alone, if it has
    /// one; without, it takes no memory here: the program at the interface lets little of it pass.
    fn may_hold(&mut self, key: &mp_flow_key, now: u64) -> bool {
        match self.flows.get_mut(key) {
            Some(flow) => flow.may_hold(now, || self.world.flow(key)),
            None => self.world.flow(key).is_some_and(|f| is_answered(&f, now)),
        }
    }

    /// What becomes at once of data that nobody answers, of a flow of which so many packets wait; None: it waits.
    fn judge_new(&self, key: &mp_flow_key, waiting: usize) -> Option<Verdict> {
        let member = self.down_to(key);
        if waiting == 0 && !self.hosts.takes_turns(&member) {
            return Some(Verdict::Accept);
        }
        let has_room = waiting < NEW_PACKETS && self.hosts.has_room_for_new(&member);
        (!has_room).then_some(Verdict::Drop)
    }

    /// Such data comes to wait; it counts where its host has a cap.
    fn new_comes(&mut self, segment: &Segment, now: u64) -> Option<New> {
        let (member, bytes) = (self.down_to(&segment.key), segment.payload_bytes);
        let capped = self.hosts.takes_turns(&member);
        capped.then(|| self.hosts.new_comes(member, bytes, now))
    }

    fn arrive_tcp(&mut self, id: u32, segment: &Segment, now: u64) {
        let pass = self.control.pass.load(Ordering::Relaxed);
        let has_data = segment.payload_bytes > 0 && !pass;
        let flow = self.flows.get(&segment.key);
        let waiting = flow.map_or(0, |flow| flow.waiting.len());
        let is_new = has_data && !self.may_hold(&segment.key, now);
        let judged = is_new.then(|| self.judge_new(&segment.key, waiting));
        match judged.flatten() {
            None => {}
            Some(Verdict::Accept) => return self.let_go(id, &segment.key),
            Some(Verdict::Drop) => {
                self.control.dropped.fetch_add(1, Ordering::Relaxed);
                return self.world.decide(id, Verdict::Drop);
            }
        }
        let flow = self.flows.get(&segment.key);
        if flow.is_none() && self.flows.len() >= self.most_flows {
            return self.let_go(id, &segment.key); // unpaced, as when the table is full
        }
        let not_before = if pass {
            now
        } else {
            self.ack_departure(segment, now)
        };
        // What carries no data waits by its host's cap, and so as not to overtake what waits.
        if waiting == 0 && !has_data && not_before <= now {
            return self.let_go(id, &segment.key);
        }
        if self.waits_beyond_all_bounds(segment) {
            self.control.dropped.fetch_add(1, Ordering::Relaxed);
            return self.world.decide(id, Verdict::Drop);
        }
        if has_data && self.is_lost(segment, now) {
            return self.world.decide(id, Verdict::Drop);
        }
        let new = is_new.then(|| self.new_comes(segment, now)).flatten();
        let flow = self.flows.entry(segment.key);
        let flow = flow.or_insert_with(|| Paced::new(now));
        flow.seen_ns = now;
        flow.waiting.push_back(Waiting {
            id,
            payload_bytes: if has_data { segment.payload_bytes } else { 0 },
            not_before,
            new,
        });
        self.control.waiting.fetch_add(1, Ordering::Relaxed);
        if waiting == 0 {
            self.release_from(segment.key, now);
        }
    }

    /// Those go whose time has come.
    pub fn release_due(&mut self, now: u64) {
        while let Some(Reverse((departure, due))) = self.due.peek() {
            if *departure > now {
                break;
            }
            let due = *due;
            self.due.pop();
            match due {
                Due::Flow(key) => {
                    let key = intf::Plain::from_bytes(&key).expect("a key has its size");
                    self.release_from(key, now);
                }
                Due::Host(member) => self.release_host(member, now),
            }
        }
    }

    /// Releases packets of a flow as long as they are due; puts the next one on the list.
    fn release_from(&mut self, key: mp_flow_key, now: u64) {
        loop {
            match self.release_head(key, now) {
                Head::Departed => {}
                Head::Waits => return,
                Head::TakesTurns(member) => return self.release_host(member, now),
            }
        }
    }

    /// Lets those go whose turn it is; puts the host's next turn on the list.
    fn release_host(&mut self, member: Member, now: u64) {
        loop {
            match self.hosts.next(&member, now) {
                Turn::Of(Who::Datagram(_, id)) => {
                    self.control.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.world.decide(id, Verdict::Accept);
                }
                Turn::Of(Who::Flow(key) | Who::New(key)) => {
                    self.depart(key, now);
                    self.release_next(key, &member, now);
                }
                Turn::At(departure) => {
                    self.control.held.fetch_add(1, Ordering::Relaxed);
                    self.due.push(Reverse((departure, Due::Host(member))));
                    return;
                }
                Turn::Nobodys => return,
            }
        }
    }

    /// Those of a flow that need no turn go behind one that had its host's. The next one stands at the end of its host's
    /// line, or is not due; if the flow is another host's meanwhile, that one's turn is looked for, too.
    fn release_next(&mut self, key: mp_flow_key, of: &Member, now: u64) {
        loop {
            match self.release_head(key, now) {
                Head::Departed => {}
                Head::TakesTurns(other) if other != *of => {
                    return self.due.push(Reverse((now, Due::Host(other))));
                }
                Head::TakesTurns(_) | Head::Waits => return,
            }
        }
    }

    /// Lets the head of a flow's queue go if it is due by the interval of this moment: the law may have
    /// slowed down while it waited. Else puts it on the list, or into the line of its host.
    fn release_head(&mut self, key: mp_flow_key, now: u64) -> Head {
        let Some(flow) = self.flows.get_mut(&key) else {
            return Head::Waits;
        };
        flow.read(now, || self.world.flow(&key));
        let Some(head) = flow.waiting.front() else {
            return Head::Waits;
        };
        let bytes = head.payload_bytes;
        let member = self.hosts.member(key.mesh, intf::mp_direction_MP_DOWN);
        let departure = match bytes {
            0 => head.not_before,
            _ => self
                .hosts
                .in_silence_ns(&member, flow.due(&self.law, head.not_before)),
        };
        let flow_answered = flow.answered;
        if departure > now {
            self.control.held.fetch_add(1, Ordering::Relaxed);
            self.due
                .push(Reverse((departure, Due::Flow(key_bytes(&key)))));
            return Head::Waits;
        }
        if bytes > 0 && self.hosts.takes_turns(&member) {
            let who = if flow_answered {
                Who::Flow(key)
            } else {
                Who::New(key)
            };
            self.hosts.wait(member, who, bytes, departure);
            return Head::TakesTurns(member);
        }
        self.depart(key, now);
        Head::Departed
    }

    /// Lets the head of a flow's queue go.
    fn depart(&mut self, key: mp_flow_key, now: u64) {
        let Some(flow) = self.flows.get_mut(&key) else {
            return;
        };
        let Some(head) = flow.waiting.pop_front() else {
            return;
        };
        if head.payload_bytes > 0 {
            flow.departed(&self.law, head.not_before, now);
        }
        // Who is not answered has nothing to be remembered, and takes nobody's place.
        if head.payload_bytes > 0 && !flow.answered && flow.waiting.is_empty() {
            self.flows.remove(&key);
        }
        if let Some(new) = &head.new {
            self.hosts.new_leaves(new, now);
        }
        self.control.waiting.fetch_sub(1, Ordering::Relaxed);
        self.let_go(head.id, &key);
    }

    fn let_go(&mut self, id: u32, key: &mp_flow_key) {
        let version = usize::from(!is_v4(&key.mesh));
        self.control.let_go[version].fetch_add(1, Ordering::Relaxed);
        self.world.decide(id, Verdict::Accept);
    }

    /// At the end nothing is lost: all packets go at once, in their order.
    pub fn release_all(&mut self, now: u64) {
        self.due.clear();
        for id in self.hosts.empty() {
            self.control.waiting.fetch_sub(1, Ordering::Relaxed);
            self.world.decide(id, Verdict::Accept);
        }
        let keys: Vec<_> = self.flows.keys().copied().collect();
        for key in keys {
            while self
                .flows
                .get(&key)
                .is_some_and(|flow| !flow.waiting.is_empty())
            {
                self.depart(key, now);
            }
        }
    }
}

/// ::ffff:a.b.c.d
fn is_v4(address: &[u8; 16]) -> bool {
    address[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
}

fn key_bytes(key: &mp_flow_key) -> [u8; 40] {
    intf::Plain::bytes(key)
        .try_into()
        .expect("a key has 40 bytes")
}

#[cfg(test)]
#[path = "pacer_tests.rs"]
mod tests;
