// SPDX-License-Identifier: GPL-2.0-only
//! Of the segments that are kept: their order, and the bound.
use super::*;

const FRAME: usize = 1500;

fn key(host: u8, port: u16) -> mp_flow_key {
    mp_flow_key {
        mesh: [host; 16],
        mesh_port: port,
        ..Default::default()
    }
}

fn new(seq: u32, bytes: u32, ack: u32) -> New {
    New {
        seq,
        end: seq.wrapping_add(bytes),
        ack,
        l3: 0,
        l4: 0,
        frame: vec![0; FRAME].into(),
    }
}

fn keep(segments: &mut Segments, key: &mp_flow_key, new: New, answered: bool) {
    segments.keep(key, new, answered.then_some(key.mesh), 0);
}

fn has(segments: &Segments, key: &mp_flow_key, seq: u32) -> bool {
    let flow = segments.flows.get(key);
    flow.is_some_and(|flow| flow.holding(flow.at(seq)).is_some())
}

/// As recounted from what is there.
fn recounted(segments: &Segments) -> u64 {
    let of = |flow: &Flow| flow.segments.values().map(Segment::bytes).sum::<u64>();
    let flows = segments.flows.values();
    let all: u64 = flows.map(|flow| of(flow) + FLOW_BYTES).sum();
    let held: u64 = segments.holders.values().map(|h| h.bytes).sum();
    assert_eq!(held + segments.flows.len() as u64 * FLOW_BYTES, all);
    assert_eq!(segments.by_bytes.len(), segments.holders.len());
    all
}

#[test]
fn a_hole_is_filled_across_the_wrap_and_a_second_copy_is_not_kept() {
    let (mut segments, flow) = (Segments::new(1 << 20), key(1, 1));
    let begin = u32::MAX - 9;
    for (seq, bytes) in [(begin, 10), (10, 10), (10, 10), (12, 6), (0, 10), (20, 10)] {
        keep(&mut segments, &flow, new(seq, bytes, begin), true);
    }
    let ends: Vec<_> = segments.flows[&flow]
        .segments
        .iter()
        .map(|(start, segment)| (start - ORIGIN, segment.end - ORIGIN))
        .collect();
    assert_eq!(ends, [(0, 10), (10, 20), (20, 30), (30, 40)]);
    assert!(has(&segments, &flow, 15));
    assert!(!has(&segments, &flow, 30));
    assert_eq!(segments.bytes(), recounted(&segments));
}

#[test]
fn what_is_acknowledged_goes_and_a_flow_with_its_last() {
    let (mut segments, flow) = (Segments::new(1 << 20), key(1, 1));
    keep(&mut segments, &flow, new(0, 10, 0), true);
    keep(&mut segments, &flow, new(10, 10, 0), true);
    segments.acknowledge(&flow, 15);
    assert!(!has(&segments, &flow, 5));
    assert!(segments.flows[&flow].has_first());
    keep(&mut segments, &flow, new(5, 5, 15), true);
    assert!(!has(&segments, &flow, 5), "acknowledged before");
    segments.acknowledge(&flow, 20);
    assert_eq!((segments.bytes(), segments.flows.len()), (0, 0));
    keep(&mut segments, &flow, new(20, 10, 20), true);
    segments.forget(&flow);
    assert_eq!((segments.bytes(), recounted(&segments)), (0, 0));
}

/// A number is never taken for one that is 2^32 away, however far a flow goes on.
#[test]
fn numbers_wrap_and_wrap() {
    let (mut segments, flow) = (Segments::new(1 << 30), key(1, 1));
    let (step, mut ack) = (1 << 30, 0u32);
    for _ in 0..40 {
        keep(&mut segments, &flow, new(ack, step, ack), true);
        keep(
            &mut segments,
            &flow,
            new(ack.wrapping_add(step), step, ack),
            true,
        );
        assert!(has(&segments, &flow, ack.wrapping_add(step)));
        assert!(!has(&segments, &flow, ack.wrapping_sub(1)));
        ack = ack.wrapping_add(step);
        segments.acknowledge(&flow, ack);
        assert_eq!(segments.flows[&flow].segments.len(), 1);
    }
}

/// Of one flow, and of very many, of hosts that answer and that do not.
#[test]
fn the_budget_is_never_exceeded() {
    let budget = 1 << 20;
    let mut segments = Segments::new(budget);
    for i in 0..4000u32 {
        keep(&mut segments, &key(1, 1), new(i * 1000, 1000, 0), false);
        assert!(segments.flows[&key(1, 1)].bytes <= budget / FLOWS_LEAST);
    }
    for i in 0..4000u32 {
        let flow = key((i % 7) as u8, (i % 900) as u16);
        keep(&mut segments, &flow, new(!i, 1, !i), i % 3 == 0);
        assert!(segments.bytes() <= budget);
    }
    assert_eq!(segments.bytes(), recounted(&segments));
    assert!(segments.evicted > 6000);
}

/// The flood of one host, and of a thousand that do not exist, does not touch another's window.
#[test]
fn who_holds_little_loses_nothing() {
    let mut segments = Segments::new(1 << 20);
    let honest = key(9, 9);
    for i in 0..100u32 {
        keep(&mut segments, &honest, new(i * 1000, 1000, 0), true);
    }
    for i in 0..5000u32 {
        keep(
            &mut segments,
            &key(1, (i % 50) as u16),
            new(i * 1000, 1000, 0),
            true,
        );
        let ghost = key((i % 200) as u8 + 20, i as u16);
        keep(&mut segments, &ghost, new(0, 1000, 0), false);
    }
    assert!((0..100).all(|i| has(&segments, &honest, i * 1000)));
    let of = |holder: Holder| segments.holders[&holder].bytes as f64;
    assert!(
        of(None) < 1.1 * of(Some([1; 16])),
        "all ghosts are as one host"
    );
}

/// Descending numbers and garbage between good ones took the time of all that is kept, each.
#[test]
fn hostile_orders_take_no_longer_than_good_ones() {
    let time = |order: &dyn Fn(u32) -> u32| {
        let mut segments = Segments::new(256 << 20);
        let begin = std::time::Instant::now();
        for i in 0..20_000 {
            let mut one = new(order(i), 1, 0);
            one.frame = Box::from([0; 60]);
            keep(&mut segments, &key(1, 1), one, false);
        }
        assert_eq!(segments.flows[&key(1, 1)].segments.len(), 20_000);
        begin.elapsed()
    };
    let good = time(&|i| i * 2);
    let descending = time(&|i| 1_000_000 - i * 2);
    let interleaved = time(&|i| if i % 2 == 0 { i } else { i << 16 >> 1 });
    assert!(descending < good * 20, "{descending:?}, {good:?}");
    assert!(interleaved < good * 20, "{interleaved:?}, {good:?}");
}

/// Else the receiver discards it, once its sender has sent something again itself (PAWS).
#[test]
fn a_copy_is_as_new_as_what_its_sender_has_sent_since() {
    const MS: u64 = 1_000_000;
    let (mut segments, flow) = (Segments::new(1 << 20), key(1, 1));
    let stamped = |seq: u32, value: u8| {
        let mut frame = [0; 62];
        (frame[0], frame[3], frame[9], frame[32]) = (0x45, 62, 6, 8 << 4);
        frame[40..50].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, value, 0, 0]);
        let sum = (6 + 42u16).to_be_bytes();
        frame[36..38].copy_from_slice(&sum);
        New {
            l4: 20,
            frame: frame.into(),
            ..new(seq, 10, 0)
        }
    };
    for (seq, value) in [(0, 1), (10, 2), (20, 3), (0, 90)] {
        let now_ns = u64::from(value) * MS;
        segments.keep(&flow, stamped(seq, value), None, now_ns);
    }
    let time = |frame: Box<[u8]>| timestamp::value(&frame, 0, 20);
    assert_eq!(segments.copy(&flow, 10).and_then(time), Some(90));
    assert_eq!(segments.first(&flow).and_then(time), Some(90));
}

/// Else copies and probes go to the neighbour that led to the host when the segment came, which it no longer hears.
#[test]
fn a_copy_takes_the_latest_way_to_its_host() {
    let mut segments = Segments::new(1 << 20);
    let by = |next_hop: u8, seq: u32, l3: u16| {
        let mut frame = vec![next_hop; usize::from(l3)];
        let mut ip = [0; 50];
        (ip[0], ip[3], ip[9], ip[32], ip[40]) = (0x45, 50, 6, 5 << 4, seq as u8);
        let sum = 6 + 30 + 0x5000 + ((seq as u16) << 8);
        ip[36..38].copy_from_slice(&(!sum).to_be_bytes());
        frame.extend(ip);
        New {
            l3,
            l4: l3 + 20,
            frame: frame.into(),
            ..new(seq, 10, 0)
        }
    };
    let mut keep = |host, port, segment| {
        segments.keep(&key(host, port), segment, None, 0);
        let first = segments.first(&key(1, 1)).unwrap();
        assert_eq!(segments.copy(&key(1, 1), 0), Some(first.clone()));
        assert_eq!(first[first.len() - 50..], by(0, 0, 0).frame[..]);
        first[..first.len() - 50].to_vec()
    };
    assert_eq!(keep(1, 1, by(7, 0, 14)), [7; 14]);
    assert_eq!(keep(1, 1, by(8, 10, 14)), [8; 14], "of the same flow");
    assert_eq!(keep(1, 2, by(9, 0, 18)), [9; 18], "of another one's");
    assert_eq!(keep(2, 1, by(6, 0, 14)), [9; 18], "not of another host's");
    assert_eq!(keep(1, 1, by(5, 0, 14)), [5; 14], "of one that is here");
    for (host, port) in [(1, 1), (1, 2), (2, 1)] {
        segments.forget(&key(host, port));
    }
    assert!(segments.ways.is_empty());
}
