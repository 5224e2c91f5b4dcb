// SPDX-License-Identifier: GPL-2.0-only
//! What an ACK has sent again: what is missing, as it tells, as far as it is here and paid for.
use super::*;
use crate::kernel::intf::{MP_COPIES_SAVED, MP_DATA_PER_COPY, MP_SACK_KIND};

const PAYLOAD: u32 = 100;
/// Segments are numbered across the wrap.
const BEGIN: u32 = u32::MAX - 250;

#[derive(Default)]
struct Wire {
    sent: Vec<u8>,
    unsent: Vec<u32>,
    broken: bool,
}

impl Way for Wire {
    fn send(&mut self, frame: &[u8]) -> bool {
        if !self.broken {
            self.sent.push(frame[40]);
        }
        !self.broken
    }

    fn unsent(&mut self, _: &mp_flow_key, seq: u32) {
        self.unsent.push(seq);
    }
}

fn key() -> mp_flow_key {
    mp_flow_key {
        mesh: [1; 16],
        ..Default::default()
    }
}

/// Where segment n begins.
fn at(n: u32) -> u32 {
    BEGIN.wrapping_add(n * PAYLOAD)
}

/// Segment n over IPv4 without a link-layer header; its first byte of payload is n, and its checksum is right.
fn keep(cache: &mut Cache<Wire>, n: u32) {
    let mut frame = vec![0u8; 40 + PAYLOAD as usize];
    (frame[0], frame[3], frame[9], frame[32], frame[40]) = (0x45, 140, 6, 0x50, n as u8);
    let sum = 6 + 120 + 0x5000 + (n << 8);
    frame[36..38].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    let new = New {
        seq: at(n),
        end: at(n + 1),
        ack: at(0),
        l3: 0,
        l4: 20,
        frame: frame.into(),
    };
    cache.keep(&key(), new, Of::Answered, 0);
}

/// A cache of segments, all data that there was.
fn cache_of(segments: std::ops::Range<u32>) -> Cache<Wire> {
    let mut cache = Cache::new(1 << 23, Arc::default(), Wire::default());
    segments.for_each(|n| keep(&mut cache, n));
    cache
}

/// An ACK of all before a segment asks for what is missing in others; blocks: what its receiver has.
fn order(ack: u32, within: (u32, u32), blocks: &[(u32, u32)]) -> mp_order {
    let mut order = mp_order::default();
    (order.event.key, order.event.ack) = (key(), at(ack));
    (order.event.seq, order.event.end) = (at(within.0), at(within.1));
    order.sack.ack = at(ack);
    order.sack.bytes = 2 + 8 * blocks.len() as u32;
    order.sack.option[0] = MP_SACK_KIND as u8;
    for (i, (left, right)) in blocks.iter().enumerate() {
        order.sack.option[2 + 8 * i..6 + 8 * i].copy_from_slice(&at(*left).to_be_bytes());
        order.sack.option[6 + 8 * i..10 + 8 * i].copy_from_slice(&at(*right).to_be_bytes());
    }
    order
}

#[test]
fn all_holes_are_filled_and_nothing_else() {
    let mut cache = cache_of(0..64);
    cache.send_again(&order(0, (0, 9), &[(9, 10), (2, 4), (5, 6)]));
    assert_eq!(cache.way.sent, [0, 1, 4, 6, 7, 8]);
    cache.send_again(&order(4, (6, 6), &[(9, 12)]));
    assert_eq!(cache.way.sent.len(), 6, "nothing is wanted");
    assert!(cache.way.unsent.is_empty());
    assert_eq!(cache.gauge.sent_again.load(Ordering::Relaxed), 6);
}

#[test]
fn without_sack_it_is_the_segment_of_the_acknowledgement_or_of_a_byte_in_it() {
    let mut cache = cache_of(0..64);
    for inside in [0, 1, PAYLOAD - 1] {
        let mut order = order(3, (3, 3), &[]);
        order.event.seq = at(3).wrapping_add(inside);
        order.event.end = order.event.seq.wrapping_add(1);
        cache.send_again(&order);
    }
    assert_eq!(cache.way.sent, [3, 3, 3]);
}

#[test]
fn what_is_not_here_the_sender_has_to_send_and_all_behind_it() {
    let mut cache = cache_of(0..3);
    (5..64).for_each(|n| keep(&mut cache, n));
    cache.send_again(&order(1, (1, 8), &[(8, 9), (2, 3)]));
    assert_eq!(
        (&cache.way.sent[..], &cache.way.unsent[..]),
        (&[1u8][..], &[at(3)][..])
    );
    assert_eq!(cache.gauge.missing.load(Ordering::Relaxed), 1);
}

#[test]
fn no_more_is_sent_than_its_host_has_earned() {
    let data = 2 * MP_COPIES_SAVED * MP_DATA_PER_COPY;
    let mut cache = cache_of(0..data);
    cache.send_again(&order(0, (0, 100), &[(100, 101)]));
    assert_eq!(cache.way.sent.len(), MP_COPIES_SAVED as usize);
    assert_eq!(cache.way.unsent, [at(MP_COPIES_SAVED)]);
    assert_eq!(cache.gauge.over_budget.load(Ordering::Relaxed), 1);
    (data..data + MP_DATA_PER_COPY).for_each(|n| keep(&mut cache, n));
    cache.send_again(&order(90, (90, 92), &[(92, 93)]));
    assert_eq!(cache.way.sent.last(), Some(&90));
    assert_eq!(cache.way.unsent, [at(MP_COPIES_SAVED), at(91)]);
}

#[test]
fn a_device_that_takes_nothing_leaves_it_to_the_sender() {
    let mut cache = cache_of(0..64);
    cache.way.broken = true;
    cache.send_again(&order(0, (0, 3), &[(3, 4)]));
    assert_eq!(cache.way.unsent, [at(0)]);
    assert_eq!(cache.gauge.sent_again.load(Ordering::Relaxed), 0);
}

/// Blocks in any order, that overlap, end before they begin, or lie anywhere: it ends, and sends what is earned at most.
#[test]
fn a_lie_has_nothing_sent_that_is_not_here_or_not_paid_for() {
    let mut cache = cache_of(0..2 * MP_COPIES_SAVED * MP_DATA_PER_COPY);
    let lies = [(7, 3), (0, 1000), (1 << 24, 2), (1000, 0)];
    cache.send_again(&order(0, (0, u32::MAX / 400), &lies));
    cache.send_again(&order(0, (1000, 0), &lies));
    cache.send_again(&order(0, (0, 1001), &lies));
    assert!(cache.way.sent.len() <= MP_COPIES_SAVED as usize);
}
