// SPDX-License-Identifier: GPL-2.0-only
//! Trials, and what any kind of fairness has to do.
use std::collections::BTreeMap;

use super::*;
use crate::kernel::flow_state::FlowState;
use crate::kernel::intf::{self, mp_flow_key, mp_host_share, mp_progress};
use crate::kernel::law;
use crate::policy::news::demand;

const S: u64 = 1_000_000_000;
const DOWN: u32 = intf::mp_direction_MP_DOWN;

fn host(n: u8) -> [u8; 16] {
    [n; 16]
}

fn members(shares: &Shares) -> &BTreeMap<Member, mp_host_share> {
    match &shares.by {
        By::Trials(trials) => trials.members(),
        By::Air(_) => panic!("these are trials"),
    }
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

/// Else a host gets more by opening more connections, or keeps a cap that nobody gains by.
#[test]
fn a_host_with_more_gets_a_cap_until_it_is_alone() {
    let mut shares = Shares::new(Fairness::Trials, 0);
    let mut fast = 0;
    for second in 1..=20 {
        let cap = shares.caps().get(&(host(1), DOWN)).copied();
        let rate = cap.unwrap_or(500_000).min(500_000);
        fast += rate;
        // What the fast host leaves of 600 kB/s goes to the slow one.
        let slow = 600_000 * second - fast;
        // Its bytes are of two connections.
        let table = vec![flow(1, 1, fast / 2), flow(1, 2, fast / 2), flow(2, 1, slow)];
        shares.step(Fairness::Trials, &table, &[], second * S);
    }
    let cap = shares.caps()[&(host(1), DOWN)];
    assert!((290_000..340_000).contains(&cap), "{cap}");
    // Each of its two connections is told half of it.
    let parts: Vec<_> = shares.parts().collect();
    assert_eq!(parts, [((host(1), DOWN), cap, cap / 2)]);
    assert!(!shares.caps().contains_key(&(host(2), DOWN)));
    // Alone its cap rises, and ends when it bounds nothing.
    for second in 21..=40 {
        let cap = shares.caps().get(&(host(1), DOWN)).copied();
        fast += cap.unwrap_or(500_000).min(500_000);
        shares.step(Fairness::Trials, &vec![flow(1, 1, fast)], &[], second * S);
        let next = shares.caps().get(&(host(1), DOWN)).copied();
        assert!(
            next.unwrap_or(u64::MAX) >= cap.unwrap_or(0),
            "alone, and lowered"
        );
    }
    assert!(shares.caps().is_empty(), "{:?}", shares.caps());
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

/// Else whoever leaves in mid-download has all others throttled, for as long as its flow is remembered.
#[test]
fn who_leaves_holds_nobody() {
    let mut shares = Shares::new(Fairness::Trials, 0);
    let mut bytes = [0, 0];
    for second in 1..=60 {
        let cap = shares.caps().get(&(host(1), DOWN)).copied();
        let rate = cap.unwrap_or(500_000).min(500_000);
        bytes[0] += rate;
        // The other gets what is left of 600 kB/s, and is gone after half a minute.
        bytes[1] += if second <= 30 { 600_000 - rate } else { 0 };
        let table = vec![flow(1, 1, bytes[0]), flow(2, 1, bytes[1])];
        shares.step(Fairness::Trials, &table, &[], second * S);
        if second == 30 {
            assert!(shares.caps().contains_key(&(host(1), DOWN)));
        }
        assert!(second < 35 || shares.caps().is_empty(), "{second} s");
    }
    assert!(shares.is_active(&(host(1), DOWN)));
    assert!(!shares.is_active(&(host(2), DOWN)));
    // An address that is never answered is none.
    for second in 61..=100 {
        bytes[0] += 500_000;
        let ghost = flow(second as u8, 1, 0);
        shares.step(
            Fairness::Trials,
            &vec![flow(1, 1, bytes[0]), ghost],
            &[],
            second * S,
        );
        assert!(!shares.is_active(&(host(second as u8), DOWN)));
        assert!(shares.caps().is_empty());
    }
}

/// Else who is on another port of this box, and takes none of the air, holds others to a cap.
#[test]
fn who_is_outside_takes_no_part() {
    let mut shares = Shares::new(Fairness::Trials, 0);
    for second in 1..=30 {
        let (key, state) = flow(1, 1, 900_000 * second);
        let outside = FlowState {
            outside: true,
            ..state
        };
        let table = vec![(key, outside), flow(2, 1, 300_000 * second)];
        shares.step(Fairness::Trials, &table, &[], second * S);
        assert!(shares.caps().is_empty());
        assert!(!shares.is_active(&(host(1), DOWN)));
    }
    assert!(shares.is_active(&(host(2), DOWN)));
}

/// Else what waits of each goes on to cost the other its route.
#[test]
fn hosts_share_a_lossy_mesh_once_one_has_lost_its_route() {
    let mut shares = Shares::new(Fairness::Trials, 0);
    let mut bytes = [0, 0];
    for second in 1..=25 {
        bytes[0] += 50_000;
        let route = !(15..20).contains(&second);
        bytes[1] += if route { 50_000 } else { 0 };
        let table = vec![flow(1, 1, bytes[0]), flow(2, 1, bytes[1])];
        shares.step(Fairness::Trials, &table, &[], second * S);
        assert_eq!(shares.active_hosts(), if second < 16 { 0 } else { 2 });
    }
}

/// Else it gets a share for each of its addresses, and what it has by one is not what it has.
#[test]
fn a_host_is_all_its_addresses() {
    let mut shares = Shares::new(Fairness::Trials, 0);
    let udp = |n: u8| mp_host_key {
        address: host(n),
        direction: DOWN,
    };
    shares.step(
        Fairness::Trials,
        &vec![flow(1, 1, 1000), flow(3, 1, 500)],
        &[(udp(3), 100)],
        S,
    );
    assert_eq!(members(&shares).len(), 2);
    // The second address is found to be the first one's, and sums go on.
    shares.set_aliases(Arc::new(Aliases([(host(3), host(1))].into())));
    let table = vec![flow(1, 1, 1000), flow(3, 1, 700), flow(2, 1, 9)];
    shares.step(Fairness::Trials, &table, &[(udp(3), 130)], 2 * S);
    let got = |n| members(&shares)[&(host(n), DOWN)];
    assert_eq!((got(1).delivered_bytes, got(1).flows), (1230, 2));
    assert_eq!((got(2).delivered_bytes, got(2).flows), (9, 1));
    assert_eq!(got(3).flows, 0, "what it got is the first one's");
}

/// Else a host's sum would fall when a connection ends, and rise by all when another begins.
#[test]
fn a_sum_goes_on_when_flows_end_and_udp_is_part_of_it() {
    let mut shares = Shares::new(Fairness::Trials, 0);
    let key = mp_host_key {
        address: host(1),
        direction: DOWN,
    };
    let mut step = |second: u64, table: &Table, ended: u64, udp: u64| {
        shares.step(
            Fairness::Trials,
            table,
            &[(key, ended), (key, udp)],
            second * S,
        );
        members(&shares).get(&(host(1), DOWN)).copied()
    };
    let delivered = |share: Option<mp_host_share>| share.map_or(0, |share| share.delivered_bytes);
    assert_eq!(delivered(step(1, &vec![flow(1, 1, 1000)], 0, 100)), 1100);
    let other = step(2, &vec![flow(1, 2, 50)], 1000, 150);
    assert_eq!(delivered(other), 1200, "another flow, more UDP");
    let anew = step(3, &vec![flow(1, 2, 20)], 1050, 150);
    assert_eq!(delivered(anew), 1220, "the same ports anew");
    assert_eq!(anew.map(|share| share.flows), Some(1));
    let forgotten = step(4, &vec![flow(1, 2, 20)], 0, 150);
    assert_eq!(delivered(forgotten), 1220, "a sum that was forgotten");
    let alone = step(5, &vec![], 20, 160);
    assert_eq!(alone.map(|share| share.flows), Some(0), "UDP alone");
    for second in 6..=9 {
        assert!(step(second, &vec![], 20, 160).is_some() == (second < 9));
    }
}
