// SPDX-License-Identifier: GPL-2.0-only
//! The pacer in virtual time: what leaves when, with a kernel that is made up.
use super::*;
use crate::hosts::identity::Aliases;
use crate::policy::airtime::Busy;
use crate::policy::shares::Caps;

const MS: u64 = 1_000_000;
const START: u64 = 1000 * MS;

/// A kernel in which one flow is answered, and what was decided.
#[derive(Default)]
struct Fake {
    flows: HashMap<mp_flow_key, mp_flow>,
    decided: Vec<(u32, Verdict)>,
}

impl World for Fake {
    fn flow(&self, key: &mp_flow_key) -> Option<mp_flow> {
        self.flows.get(key).copied()
    }

    fn mark(&self, _: &mp_flow_key) -> bool {
        false
    }

    fn decide(&mut self, id: u32, verdict: Verdict) {
        self.decided.push((id, verdict));
    }
}

/// To 10.1.0.`host`.
fn key(host: u8) -> mp_flow_key {
    let mut key = mp_flow_key::default();
    key.mesh[10..].copy_from_slice(&[0xff, 0xff, 10, 1, 0, host]);
    key
}

fn segment(host: u8, payload_bytes: u32) -> Option<Packet> {
    Some(Packet::Tcp(Segment {
        key: key(host),
        payload_bytes,
        ack: 1,
        pure_ack: payload_bytes == 0,
        ecn: false,
    }))
}

/// Whose flow to host 1 has an interval of 10 ms.
fn pacer() -> Pacer<Fake> {
    let mut flow = mp_flow::default();
    flow.at.interval_ns = 10 * MS;
    flow.at.unanswered.since_ns = START;
    let mut fake = Fake::default();
    fake.flows.insert(key(1), flow);
    let mut pacer = Pacer::new(fake, Arc::default(), 100);
    pacer.control.set_law(crate::kernel::law::even());
    pacer.take_settings(START);
    pacer
}

/// Goes on from wake-up to wake-up; what was let go, and when, in ms.
fn run(pacer: &mut Pacer<Fake>, until: u64) -> Vec<(u32, u64)> {
    let (mut gone, mut now) = (Vec::new(), START);
    loop {
        pacer.release_due(now);
        let decided = std::mem::take(&mut pacer.world.decided);
        for (id, verdict) in decided {
            assert_eq!(verdict, Verdict::Accept);
            gone.push((id, (now - START) / MS));
        }
        match pacer.next_due() {
            Some(due) if due <= until => now = due.max(now),
            _ => return gone,
        }
    }
}

#[test]
fn data_leaves_by_its_interval_and_nothing_overtakes_it() {
    let mut pacer = pacer();
    for id in 0..3 {
        pacer.arrive(id, segment(1, 1000).as_ref(), START);
    }
    pacer.arrive(3, segment(1, 0).as_ref(), START);
    pacer.arrive(4, segment(2, 0).as_ref(), START);
    let gone = run(&mut pacer, START + 1000 * MS);
    assert_eq!(gone, [(0, 0), (4, 0), (1, 10), (2, 20), (3, 20)]);
    assert_eq!(pacer.control.waiting.load(Ordering::Relaxed), 0);
}

/// The law may have slowed down, or hurried up, while a packet waited.
#[test]
fn the_interval_of_the_moment_of_departure_counts() {
    let mut pacer = pacer();
    for id in 0..2 {
        pacer.arrive(id, segment(1, 1000).as_ref(), START);
    }
    let flow = pacer.world.flows.get_mut(&key(1)).unwrap();
    flow.at.interval_ns = 30 * MS;
    assert_eq!(run(&mut pacer, START + 1000 * MS), [(0, 0), (1, 30)]);
}

/// Else what had to wait here waits in the radio's queue, which nobody sees.
#[test]
fn a_flow_that_had_nothing_to_send_is_not_made_up_for_it() {
    let mut pacer = pacer();
    pacer.arrive(0, segment(1, 1000).as_ref(), START);
    run(&mut pacer, START + 500 * MS);
    let later = START + 1000 * MS;
    for id in 1..4 {
        pacer.arrive(id, segment(1, 1000).as_ref(), later);
    }
    let mut gone = Vec::new();
    for ms in 0..=30 {
        pacer.release_due(later + ms * MS);
        let decided = std::mem::take(&mut pacer.world.decided);
        gone.extend(decided.into_iter().map(|(id, _)| (id, ms)));
    }
    assert_eq!(gone, [(1, 0), (2, 10), (3, 20)]);
}

#[test]
fn a_host_with_a_cap_takes_turns() {
    let mut pacer = pacer();
    let host = (key(1).mesh, intf::mp_direction_MP_DOWN);
    // 1000 bytes each 40 ms.
    let caps = Caps::from([(host, 25_000)]);
    pacer
        .control
        .caps
        .publish(caps, Arc::default(), Arc::default());
    pacer.take_settings(START);
    for id in 0..3 {
        pacer.arrive(id, segment(1, 1000).as_ref(), START);
    }
    let gone = run(&mut pacer, START + 1000 * MS);
    assert_eq!(gone, [(0, 0), (1, 40), (2, 80)]);
}

/// Else nothing of its flow leaves again before another packet comes for that host.
#[test]
fn a_host_that_is_found_to_be_another_s_address_goes_on() {
    let mut pacer = capped(intf::mp_direction_MP_DOWN, 25_000);
    let flow = pacer.world.flows.get_mut(&key(1)).unwrap();
    flow.at.interval_ns = 0; // its host's cap alone has it wait
    for id in 0..4 {
        pacer.arrive(id, segment(1, 1000).as_ref(), START);
    }
    let other = (key(9).mesh, intf::mp_direction_MP_DOWN);
    let aliases = Aliases(HashMap::from([(key(1).mesh, other.0)]));
    let caps = Caps::from([(other, 25_000)]);
    pacer
        .control
        .caps
        .publish(caps, Arc::new(aliases), Arc::default());
    pacer.take_settings(START);
    let gone = run(&mut pacer, START + 1000 * MS);
    assert_eq!(gone.len(), 4, "{gone:?}");
}

/// Of another flow of host 1.
fn of_port(port: u16, payload_bytes: u32) -> Option<Packet> {
    let Some(Packet::Tcp(segment)) = segment(1, payload_bytes) else {
        return None;
    };
    let key = mp_flow_key {
        mesh_port: port,
        ..segment.key
    };
    Some(Packet::Tcp(Segment { key, ..segment }))
}

/// Host 1 is held to so many bytes/s.
fn capped(direction: intf::mp_direction, bytes_per_s: u64) -> Pacer<Fake> {
    let mut pacer = pacer();
    let caps = Caps::from([((key(1).mesh, direction), bytes_per_s)]);
    let published = &pacer.control.caps;
    published.publish(caps, Arc::default(), Arc::default());
    pacer.take_settings(START);
    pacer
}

fn is_paced(pacer: &mut Pacer<Fake>, now: u64) -> bool {
    for id in 0..3 {
        pacer.arrive(id, segment(1, 1000).as_ref(), now);
    }
    pacer
        .flows
        .get(&key(1))
        .is_some_and(|f| f.waiting.len() >= 2)
}

/// Else a thousand invented ones leave no room in the table, and nobody is paced.
#[test]
fn acks_of_uploads_that_nobody_knows_take_no_place() {
    let mut pacer = capped(intf::mp_direction_MP_UP, 25_000);
    for port in 1..=1000 {
        pacer.arrive(0, of_port(port, 0).as_ref(), START);
    }
    assert_eq!(pacer.world.decided.len(), 1000, "they pass");
    assert!(pacer.flows.is_empty());
    assert!(is_paced(&mut pacer, START));
}

/// Likewise of downloads that nobody answers, which wait for their host's cap.
#[test]
fn who_is_not_answered_is_forgotten_when_nothing_waits() {
    let mut pacer = capped(intf::mp_direction_MP_DOWN, 1_000_000);
    let mut now = START;
    for port in 1..=1000 {
        pacer.arrive(0, of_port(port, 1000).as_ref(), now);
        now += MS;
        pacer.release_due(now);
    }
    assert!(pacer.flows.len() < 10, "{}", pacer.flows.len());
    assert!(is_paced(&mut pacer, now));
}

/// Else their senders have sent it again long before: a host with a small cap gets nothing but what is old.
#[test]
fn what_nobody_answers_waits_no_longer_than_a_second() {
    let mut pacer = capped(intf::mp_direction_MP_DOWN, 25_000);
    for id in 0..400 {
        let port = 1 + (id % 40) as u16;
        pacer.arrive(id, of_port(port, 1000).as_ref(), START);
    }
    let decided = &mut pacer.world.decided;
    decided.retain(|(_, verdict)| *verdict == Verdict::Accept);
    let gone = run(&mut pacer, START + 20_000 * MS);
    let last = gone.iter().map(|(_, ms)| *ms).max();
    assert!((1000..=1100).contains(&last.unwrap()), "{gone:?}");
    assert_eq!(pacer.control.waiting.load(Ordering::Relaxed), 0);
    assert!(pacer.hosts.has_room_for_new(&(key(1).mesh, 0)));
}

/// Host 1 keeps the air busy, and more silence is earned than can be saved.
fn beside_a_busy_one() -> Pacer<Fake> {
    let mut pacer = pacer();
    let busy = Busy {
        hosts: HashSet::from([key(1).mesh]),
        silence_ns: 1000 * MS,
    };
    let caps = &pacer.control.caps;
    caps.publish(Caps::new(), Arc::default(), Arc::new(busy));
    pacer.take_settings(START);
    pacer
}

/// Twice what the law lets wait over four hops.
fn moment_ms() -> u64 {
    8 * crate::kernel::law::even().hop_wait_ns / MS
}

/// Else each round trip of a page waits behind another's bulk transfer. What carries no data goes on.
#[test]
fn who_is_busy_is_silent_when_another_s_flow_begins() {
    let mut pacer = beside_a_busy_one();
    pacer.arrive(0, segment(1, 1000).as_ref(), START);
    pacer.begins(key(2).mesh, START);
    pacer.arrive(1, segment(1, 1000).as_ref(), START);
    pacer.arrive(2, segment(1, 1000).as_ref(), START);
    pacer.arrive(3, segment(2, 0).as_ref(), START);
    let end = moment_ms();
    let gone = run(&mut pacer, START + 1000 * MS);
    assert_eq!(gone[..3], [(0, 0), (3, 0), (1, end)]);
    // Of the silence the next one makes up as much as of a wake-up that came late.
    let late_ms = intf::MP_CLOCK_LATE_NS as u64 / MS;
    assert!(
        (end + 10 - late_ms..=end + 10).contains(&gone[3].1),
        "{gone:?}"
    );
    assert_eq!(pacer.control.silences.load(Ordering::Relaxed), 1);
}

/// Its own flows gain nothing, and a flood of beginnings no more than what is earned.
#[test]
fn a_flood_of_beginnings_takes_no_more_than_was_earned() {
    let mut pacer = beside_a_busy_one();
    let (mut id, mut gone) = (0, [0, 0]);
    for (round, host) in [1, 2].into_iter().enumerate() {
        for quarter in 0..40_000 {
            let now = START + (round as u64 * 40_000 + quarter) * MS / 4;
            if quarter % 4 == 0 {
                pacer.begins(key(host).mesh, now);
            }
            if pacer.control.waiting.load(Ordering::Relaxed) < 3 {
                pacer.arrive(id, segment(1, 1000).as_ref(), now);
                id += 1;
            }
            pacer.release_due(now);
            gone[round] += std::mem::take(&mut pacer.world.decided).len();
        }
    }
    assert!(gone[0] >= 990, "its own: {gone:?}");
    assert!((940..960).contains(&gone[1]), "{gone:?}");
}

#[test]
fn at_the_end_all_go_in_their_order() {
    let mut pacer = pacer();
    for id in 0..5 {
        pacer.arrive(id, segment(1, 1000).as_ref(), START);
    }
    pacer.release_all(START + MS);
    let gone: Vec<_> = pacer.world.decided.iter().map(|(id, _)| *id).collect();
    assert_eq!(gone, [0, 1, 2, 3, 4]);
    assert_eq!(pacer.control.waiting.load(Ordering::Relaxed), 0);
}
