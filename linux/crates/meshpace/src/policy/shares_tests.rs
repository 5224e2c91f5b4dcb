// SPDX-License-Identifier: GPL-2.0-only
//! What a host wants, and what it has got.
use super::*;
use crate::kernel::flow_state::FlowState;
use crate::kernel::intf::{self, mp_flow_key, mp_progress};
use crate::kernel::law;
use crate::policy::news::demand;

const S: u64 = 1_000_000_000;
const DOWN: u32 = intf::mp_direction_MP_DOWN;

fn host(n: u8) -> [u8; 16] {
    [n; 16]
}

/// A download that has got so many bytes, with more under way.
fn flow(n: u8, port: u16, acked_bytes: u64) -> (mp_flow_key, FlowState) {
    let key = mp_flow_key {
        mesh: host(n),
        mesh_port: port,
        ..Default::default()
    };
    let flow = FlowState {
        progress: mp_progress {
            acked_bytes,
            seen: 1,
            ..Default::default()
        },
        max_end: 1,
        ..Default::default()
    };
    (key, flow)
}

/// Else files, which are over before they could use it, or a server that sends no more, would have the
/// others lowered.
#[test]
fn a_download_wants_more_while_it_is_in_the_mesh_an_upload_for_a_second() {
    let over = FlowState {
        progress: mp_progress {
            seen: 1,
            ..Default::default()
        },
        data_ns: S,
        ..Default::default()
    };
    let under_way = FlowState { max_end: 1, ..over };
    let said_all = FlowState {
        paused_ns: S / 2,
        ..under_way
    };
    let up = intf::mp_direction_MP_UP;
    let wants =
        |direction, flow: &FlowState, now_ns| law::flow_wants(&demand(direction, flow, now_ns));
    assert!(wants(DOWN, &under_way, 9 * S));
    assert!(!wants(DOWN, &over, S));
    assert!(!wants(DOWN, &said_all, S), "its application is the limit");
    assert!(wants(up, &over, 2 * S - 1));
    assert!(!wants(up, &over, 2 * S));
}

/// Else a host's sum would fall when a connection ends, and rise by all when another begins.
#[test]
fn a_sum_goes_on_when_flows_end_and_udp_is_part_of_it() {
    let mut shares = Shares::new(Fairness::Air, 0);
    let key = mp_host_key {
        address: host(1),
        direction: DOWN,
    };
    shares.step(Fairness::Air, &vec![], &[(key, 0)], S / 10);
    let mut step = |second: u64, table: &Table, ended: u64, udp: u64| {
        let sums = [(key, ended), (key, udp)];
        shares.step(Fairness::Air, table, &sums, second * S);
        let way = shares.air().way(&(host(1), DOWN)).unwrap();
        (way.delivered_bytes, way.flows)
    };
    assert_eq!(step(1, &vec![flow(1, 1, 1000)], 0, 100), (1100, 1));
    let other = step(2, &vec![flow(1, 2, 50)], 1000, 150);
    assert_eq!(other, (1200, 1), "another flow, more UDP");
    let anew = step(3, &vec![flow(1, 2, 20)], 1050, 150);
    assert_eq!(anew, (1220, 1), "the same ports anew");
    let forgotten = step(4, &vec![flow(1, 2, 20)], 0, 150);
    assert_eq!(forgotten, (1220, 1), "a sum that was forgotten");
    assert_eq!(step(5, &vec![], 20, 160), (1230, 0), "UDP alone");
}

/// Else a host that comes back from another port of this box has got in one step all that its flows ever got, and is held
/// for it.
#[test]
fn what_a_host_got_on_another_port_is_no_news() {
    let mut delivered = Delivered::default();
    let mut bytes = |acked_bytes: u64, outside: bool| {
        let (key, flow) = flow(1, 1, acked_bytes);
        let table = vec![(key, FlowState { outside, ..flow })];
        let news = delivered.news(&table, &[], |_| false, S);
        news.get(&(host(1), DOWN)).map(|news| news.bytes)
    };
    assert_eq!(bytes(1_000_000, true), None);
    assert_eq!(bytes(1_000_300, false), Some(300));
    assert_eq!(bytes(1_000_400, true), None, "there again");
    assert_eq!(bytes(1_000_450, false), Some(50));
}

/// Else a host that has come nearer counts as far away, for a connection that it holds open from there.
#[test]
fn hops_are_told_by_flows_that_move() {
    let with_hops = |port, hops, max_end| {
        let (key, flow) = flow(1, port, 1000);
        let flow = FlowState {
            hops,
            max_end,
            ..flow
        };
        (key, flow)
    };
    let table = vec![with_hops(1, 5, 0), with_hops(2, 2, 1), with_hops(3, 1, 1)];
    let news = Delivered::default().news(&table, &[], |_| false, S);
    assert_eq!(news[&(host(1), DOWN)].hops, 2);
}

/// Who is not there has no share that is told or shown, but others have theirs beside it.
#[test]
fn beside_what_is_sent_of_nobody_a_host_has_its_share() {
    let mut shares = Shares::new(Fairness::Air, 0);
    let none = HashSet::new();
    let mut step = |n: u64, of_nobody: u64| {
        let now_ns = n * S / 10;
        shares.hear_opaque(Some(&[]), of_nobody, &none, now_ns);
        shares.step(Fairness::Air, &vec![flow(1, 1, n * 100_000)], &[], now_ns);
        (shares.caps().clone(), shares.air().is_shared())
    };
    let (_, shared) = (1..30).map(|n| step(n, 0)).last().unwrap();
    assert!(!shared, "alone");
    let (caps, shared) = (30..90).map(|n| step(n, n * 100_000)).last().unwrap();
    assert!(shared);
    assert_eq!(caps.into_keys().collect::<Vec<_>>(), [(host(1), DOWN)]);
    let over = (90..130).map(|n| step(n, 9_000_000)).last().unwrap();
    assert!(over.0.is_empty() && !over.1, "the flood is over");
}
