// SPDX-License-Identifier: GPL-2.0-only
//! The pacers of whole hosts in virtual time: whose turn it is, and what has room.
use std::sync::Arc;

use super::*;
use crate::hosts::identity::Aliases;
use crate::policy::shares::Caps;

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

/// Else a host whose datagrams wait here seems to want no more than it gets.
#[test]
fn hosts_of_which_datagrams_wait_are_told() {
    let mut paces = capped();
    paces.wait(HOST, flow(1), 1000, 0);
    assert_eq!(paces.with_datagrams().count(), 0);
    paces.wait(HOST, Who::Datagram(key(3), 99), 1000, 0);
    assert_eq!(paces.with_datagrams().collect::<Vec<_>>(), [HOST.0]);
    for step in 0..4 {
        paces.next(&HOST, step * 10 * MS);
    }
    assert_eq!(paces.with_datagrams().count(), 0);
}

/// Else a flood from ever new ports would fill the memory, and be first for ever.
#[test]
fn a_flood_from_ever_new_ports_is_sixteen_flows() {
    let mut paces = capped();
    let mut taken = 0;
    for port in 0..10_000 {
        if paces.takes(&HOST, &key(port), 1000, 0) {
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
        paces.new_comes(HOST, 1000, 0);
        paces.wait(HOST, Who::New(key(100 + taken)), 1000, 0);
        taken += 1;
    }
    assert_eq!(taken, 101, "a second's, and one");
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
    while paces.takes(&HOST, &key(1), 1000, 0) {
        paces.wait(HOST, Who::Datagram(key(1), taken), 1000, 0);
        taken += 1;
        assert!(taken < 100);
    }
    assert_eq!(taken, 21, "200 ms of 10 each, and the first");
    assert!(paces.takes(&HOST, &key(2), 1000, 0), "another flow");
    assert!(paces.takes(&([2; 16], 0), &key(1), 1000, 0), "another host");
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
    let aliases = Arc::new(Aliases([([2; 16], [1; 16])].into()));
    // What was taken before has the number of another's first.
    for _ in 0..2 {
        published.publish(
            Caps::from([(HOST, 100_000)]),
            aliases.clone(),
            Arc::default(),
        );
    }
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
