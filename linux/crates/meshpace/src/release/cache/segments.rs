// SPDX-License-Identifier: GPL-2.0-only
//! Segments until they are acknowledged, in a memory that is bounded whatever comes.
//!
//! When room is short the host that holds most gives its oldest, so that a host loses something only if
//! it holds more than its even part. All flows of which nothing was ever acknowledged count as one
//! host together: addresses that do not exist cannot take more from anybody by being many.
//!
//! A copy leaves with the link-layer header that the latest segment to its address had: the way there may be another
//! since the segment itself came.
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::hosts::identity::Address;
use crate::kernel::intf::{mp_flow_key, mp_probe};
use crate::kernel::packet;
use crate::kernel::timestamp::{self, Clock};

/// Sequence numbers without wraps: 2^31 of them lie before a flow's first acknowledgement.
const ORIGIN: u64 = 1 << 32;
/// Of a balanced tree's nodes, which may be half empty, and of the allocator for a frame.
const NODES: u64 = 2;
const ALLOCATOR: u64 = 16;
/// Entries of a tree's least node.
const LEAST_NODE: u64 = 11;

/// Ethernet with two VLAN tags, more than which the programs do not read (linux/bpf/packet.h).
const HEADER_BYTES: u64 = 14 + 2 * 4;

/// What a segment takes besides its frame: its place in its flow, and in the order of its holder.
const SEGMENT_BYTES: u64 =
    NODES * (size_of::<(u64, Segment)>() + size_of::<(u64, Place)>()) as u64 + ALLOCATOR;
/// What a flow takes besides its segments: a hash table may be half empty, too.
const FLOW_BYTES: u64 = NODES
    * (size_of::<(mp_flow_key, Flow)>() + size_of::<(Address, Way)>()) as u64
    + LEAST_NODE * size_of::<(u64, Segment)>() as u64
    + 2 * ALLOCATOR
    + HEADER_BYTES;

/// No flow has more than this part of the budget. Of the default of 32 MiB it is more than the 6 MiB of
/// Linux's largest window (tcp_rmem): beyond what a receiver can have acknowledged nothing is of use.
const FLOWS_LEAST: u64 = 4;

/// A segment as it comes.
pub struct New {
    pub seq: u32,
    pub end: u32,
    /// all before is acknowledged
    pub ack: u32,
    pub l3: u16,
    pub l4: u16,
    pub frame: Box<[u8]>,
}

pub struct Segment {
    end: u64,
    serial: u64,
    holder: Holder,
    l3: u16,
    l4: u16,
    frame: Box<[u8]>,
}

/// One flow's segments, by their first bytes, and what is known of its path.
pub struct Flow {
    /// up to which all is acknowledged, in TCP's numbers and without wraps
    ack: u32,
    ack_at: u64,
    segments: BTreeMap<u64, Segment>,
    bytes: u64,
    /// when its latest segment came
    pub latest_ns: u64,
    clock: Clock,
    pub probe: mp_probe,
}

/// The host, by the address that stands for it; None: the flows that were never acknowledged.
pub type Holder = Option<Address>;
type Place = (mp_flow_key, u64);

/// To an address of which there are flows here.
#[derive(Default)]
struct Way {
    /// of the latest segment
    header: Box<[u8]>,
    flows: usize,
}

#[derive(Default)]
struct Holding {
    bytes: u64,
    oldest: BTreeMap<u64, Place>,
}

pub struct Segments {
    pub flows: HashMap<mp_flow_key, Flow>,
    ways: HashMap<Address, Way>,
    holders: HashMap<Holder, Holding>,
    /// who holds most is last
    by_bytes: BTreeSet<(u64, Holder)>,
    bytes: u64,
    budget: u64,
    serial: u64,
    /// segments that had to make room
    pub evicted: u64,
}

impl Segment {
    /// The frame with its checksum written out, as new as what its sender has sent since, behind such a header.
    fn copy(&mut self, clock: &Clock, header: &[u8]) -> Option<Box<[u8]>> {
        let (l3, l4) = (self.l3.into(), self.l4.into());
        packet::complete_checksum(&mut self.frame, l3, l4).then(|| {
            let mut frame = self.frame.clone();
            clock.renew(&mut frame, l3, l4);
            [header, &frame[l3..]].concat().into()
        })
    }

    /// What it takes in memory.
    fn bytes(&self) -> u64 {
        self.frame.len() as u64 + SEGMENT_BYTES
    }
}

impl Flow {
    fn new(ack: u32) -> Self {
        Self {
            ack,
            ack_at: ORIGIN,
            segments: BTreeMap::new(),
            bytes: 0,
            latest_ns: 0,
            clock: Clock::default(),
            probe: mp_probe::default(),
        }
    }

    /// Where a sequence number is, relative to what is acknowledged.
    fn at(&self, seq: u32) -> u64 {
        self.ack_at
            .wrapping_add_signed(i64::from(seq.wrapping_sub(self.ack) as i32))
    }

    /// The segment that holds a byte.
    fn holding(&self, at: u64) -> Option<u64> {
        let (start, segment) = self.segments.range(..=at).next_back()?;
        (at < segment.end).then_some(*start)
    }

    /// Whether the first segment that is not acknowledged is here.
    pub fn has_first(&self) -> bool {
        self.holding(self.ack_at).is_some()
    }

    /// A copy of the segment that holds a byte, behind such a header.
    fn copy(&mut self, at: u64, header: &[u8]) -> Option<Box<[u8]>> {
        let start = self.holding(at)?;
        self.segments.get_mut(&start)?.copy(&self.clock, header)
    }

    /// Up to where that segment goes, in TCP's numbers.
    fn end_of(&self, at: u64) -> Option<u32> {
        let end = self.segments[&self.holding(at)?].end;
        Some(self.ack.wrapping_add((end - self.ack_at) as u32))
    }

    /// Up to where all is acknowledged, in TCP's numbers.
    pub fn ack(&self) -> u32 {
        self.ack
    }
}

impl Segments {
    pub fn new(budget: u64) -> Self {
        Self {
            flows: HashMap::new(),
            ways: HashMap::new(),
            holders: HashMap::new(),
            by_bytes: BTreeSet::new(),
            bytes: 0,
            budget,
            serial: 0,
            evicted: 0,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps a segment, unless it is acknowledged or, sent again by the wired end, here already.
    pub fn keep(&mut self, key: &mp_flow_key, new: New, holder: Holder, now_ns: u64) {
        self.acknowledge(key, new.ack);
        let fresh = !self.flows.contains_key(key);
        let way = self.ways.entry(key.mesh).or_default();
        way.flows += usize::from(fresh);
        let header = &new.frame[..new.l3.into()];
        if *way.header != *header {
            way.header = header.into();
        }
        let flow = self.flows.entry(*key).or_insert_with(|| Flow::new(new.ack));
        if fresh {
            self.bytes += FLOW_BYTES;
        }
        flow.latest_ns = now_ns;
        let at = flow.at(new.seq);
        let value = timestamp::value(&new.frame, new.l3.into(), new.l4.into());
        if let Some(value) = value.filter(|_| at >= flow.ack_at) {
            flow.clock.note(value, now_ns);
        }
        if at < flow.ack_at || flow.holding(at).is_some() {
            self.remove_if_empty(key);
            return;
        }
        let segment = Segment {
            end: at + u64::from(new.end.wrapping_sub(new.seq)),
            serial: self.serial,
            holder,
            l3: new.l3,
            l4: new.l4,
            frame: new.frame,
        };
        self.serial += 1;
        let (serial, bytes) = (segment.serial, segment.bytes());
        flow.bytes += bytes;
        flow.segments.insert(at, segment);
        self.bytes += bytes;
        self.change(holder, |holding| {
            holding.bytes += bytes;
            holding.oldest.insert(serial, (*key, at));
        });
        self.make_room(key);
    }

    fn make_room(&mut self, key: &mp_flow_key) {
        while let Some(flow) = self.flows.get(key) {
            if flow.bytes <= self.budget / FLOWS_LEAST {
                break;
            }
            let first = *flow.segments.keys().next().expect("it has bytes");
            self.evict(key, first);
        }
        while self.bytes > self.budget {
            let Some((_, most)) = self.by_bytes.last() else {
                return;
            };
            let (_, (key, at)) = self.holders[most]
                .oldest
                .first_key_value()
                .expect("who holds nothing is no holder");
            let (key, at) = (*key, *at);
            self.evict(&key, at);
        }
    }

    fn evict(&mut self, key: &mp_flow_key, at: u64) {
        self.evicted += 1;
        self.remove(key, at);
        self.remove_if_empty(key);
    }

    /// Changes what a holder holds, and its place among the others.
    fn change(&mut self, holder: Holder, change: impl FnOnce(&mut Holding)) {
        let holding = self.holders.entry(holder).or_default();
        self.by_bytes.remove(&(holding.bytes, holder));
        change(holding);
        if holding.oldest.is_empty() {
            self.holders.remove(&holder);
        } else {
            self.by_bytes.insert((holding.bytes, holder));
        }
    }

    fn remove(&mut self, key: &mp_flow_key, at: u64) {
        let Some(flow) = self.flows.get_mut(key) else {
            return;
        };
        let Some(segment) = flow.segments.remove(&at) else {
            return;
        };
        let bytes = segment.bytes();
        flow.bytes -= bytes;
        self.bytes -= bytes;
        self.change(segment.holder, |holding| {
            holding.bytes -= bytes;
            holding.oldest.remove(&segment.serial);
        });
    }

    /// A flow is here as long as something of it is.
    fn remove_if_empty(&mut self, key: &mp_flow_key) {
        if self
            .flows
            .get(key)
            .is_some_and(|flow| flow.segments.is_empty())
        {
            self.flows.remove(key);
            self.bytes -= FLOW_BYTES;
            if let Some(way) = self.ways.get_mut(&key.mesh) {
                way.flows -= 1;
                if way.flows == 0 {
                    self.ways.remove(&key.mesh);
                }
            }
        }
    }

    /// Drops what is acknowledged.
    pub fn acknowledge(&mut self, key: &mp_flow_key, ack: u32) {
        let Some(flow) = self.flows.get_mut(key) else {
            return;
        };
        let at = flow.at(ack);
        if at > flow.ack_at {
            (flow.ack, flow.ack_at) = (ack, at);
        }
        let upto = flow.ack_at;
        while let Some(first) = self.flows.get(key).and_then(|flow| {
            let (start, segment) = flow.segments.first_key_value()?;
            (segment.end <= upto).then_some(*start)
        }) {
            self.remove(key, first);
        }
        self.remove_if_empty(key);
    }

    /// Drops all of a flow.
    pub fn forget(&mut self, key: &mp_flow_key) {
        let starts: Vec<u64> = self
            .flows
            .get(key)
            .map_or_else(Vec::new, |flow| flow.segments.keys().copied().collect());
        for start in starts {
            self.remove(key, start);
        }
        self.remove_if_empty(key);
    }

    /// A copy of the segment that holds a byte and is not acknowledged.
    pub fn copy(&mut self, key: &mp_flow_key, seq: u32) -> Option<Box<[u8]>> {
        let flow = self.flows.get_mut(key)?;
        flow.copy(flow.at(seq), &self.ways.get(&key.mesh)?.header)
    }

    /// A copy of a flow's first segment that is not acknowledged.
    pub fn first(&mut self, key: &mp_flow_key) -> Option<Box<[u8]>> {
        let flow = self.flows.get_mut(key)?;
        flow.copy(flow.ack_at, &self.ways.get(&key.mesh)?.header)
    }

    /// Up to where that segment goes.
    pub fn end_of(&self, key: &mp_flow_key, seq: u32) -> Option<u32> {
        let flow = self.flows.get(key)?;
        flow.end_of(flow.at(seq))
    }
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
