// SPDX-License-Identifier: GPL-2.0-only
//! Which classes there are: what netlink is told, in which order.
use meshpace_netlink::codec::{u32_at, Messages};

use super::*;

const MS: u64 = 1_000_000;
const HOST: Address = [1; 16];
const OTHER: Address = [2; 16];
const MAKE: u16 = libc::RTM_NEWTCLASS;
const QUEUE: u16 = libc::RTM_NEWQDISC;
const REMOVE: u16 = libc::RTM_DELTCLASS;

fn flow(host: Address, port: u16) -> mp_flow_key {
    mp_flow_key {
        mesh: host,
        wired: [9; 16],
        mesh_port: port,
        ..Default::default()
    }
}

fn line(host: Address, line: intf::mp_line) -> mp_flow_key {
    mp_flow_key {
        mesh: host,
        mesh_port: line as u16,
        direction: (line == intf::mp_line_MP_LINE_ACKS).into(),
        ..Default::default()
    }
}

/// Kind of message, number of the class or qdisc, and its parent's.
fn told(out: &mut Vec<Request>) -> Vec<(u16, u32, u32)> {
    std::mem::take(out)
        .into_iter()
        .map(|request| {
            let bytes = request.finish(1);
            let message = Messages(&bytes).next().expect("a message");
            let number = |at| u32_at(message.body, at).expect("struct tcmsg");
            (message.kind, number(8), number(12))
        })
        .collect()
}

/// Else a flow's class would be refused for want of its host's, or a host's taken away below others.
#[test]
fn a_host_s_class_is_made_first_and_goes_last() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    for port in [1, 2] {
        assert!(classes
            .make(&flow(HOST, port), 2 * MS, HOST, 0, &mut out)
            .is_some());
    }
    let expected = [
        (MAKE, HTB | 1, HTB),
        (MAKE, HTB | 2, HTB | 1),
        (QUEUE, 0, HTB | 2),
        (MAKE, HTB | 3, HTB | 1),
        (QUEUE, 0, HTB | 3),
    ];
    assert_eq!(told(&mut out), expected);
    assert_eq!(
        classes.tidy(1, |key| (key.mesh_port != 1).then_some(1), &mut out),
        [flow(HOST, 1)]
    );
    assert!(out.is_empty(), "a packet may be on its way to it");
    assert_eq!(classes.tidy(1, |_| None, &mut out), [flow(HOST, 2)]);
    assert_eq!(told(&mut out), [(REMOVE, HTB | 2, HTB)]);
    classes.tidy(1, |_| None, &mut out);
    assert_eq!(
        told(&mut out),
        [(REMOVE, HTB | 3, HTB), (REMOVE, HTB | 1, HTB)]
    );
    assert_eq!((classes.lines.len(), classes.hosts().len()), (0, 0));
    // Numbers are used again.
    classes.make(&flow(OTHER, 1), MS, OTHER, 0, &mut out);
    assert!(told(&mut out)
        .iter()
        .all(|(_, number, _)| number & 0xffff <= 3));
}

/// Else a flow that comes back within a second would go unpaced until its class has gone and come again.
#[test]
fn a_line_that_was_about_to_go_stays_if_it_is_asked_for() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    let first = classes.make(&flow(HOST, 1), 2 * MS, HOST, 0, &mut out);
    classes.tidy(1, |_| None, &mut out);
    out.clear();
    assert_eq!(
        classes.make(&flow(HOST, 1), 3 * MS, HOST, 0, &mut out),
        first
    );
    assert_eq!(told(&mut out), [(MAKE, HTB | 2, HTB | 1)], "its rate");
    assert!(classes.tidy(1, |_| Some(1), &mut out).is_empty());
    assert!(out.is_empty());
}

/// Else netlink would be told the same again and again, or of what does not exist.
#[test]
fn only_what_is_new_is_told() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    classes.change(&flow(HOST, 1), MS, &mut out);
    classes.hold(&HOST, 1000, &mut out);
    assert!(out.is_empty(), "there are none");
    classes.make(&flow(HOST, 1), MS, HOST, 1000, &mut out);
    assert_eq!(
        classes.make(&flow(HOST, 1), MS, HOST, 1000, &mut out),
        None,
        "it has one"
    );
    out.clear();
    classes.change(&flow(HOST, 1), MS, &mut out);
    classes.hold(&HOST, 1000, &mut out);
    assert!(out.is_empty());
    classes.silence(&HOST, 100 * MS, &mut out);
    classes.hold(&HOST, 1000, &mut out);
    classes.change(&flow(HOST, 1), 2 * MS, &mut out);
    assert_eq!(told(&mut out).len(), 3);
}

/// Else what waits when pacing ends would leave at its old rate, or be lost with what holds it.
#[test]
fn when_nothing_is_held_all_leave_at_once() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    classes.make(&flow(HOST, 1), 100 * MS, HOST, 1000, &mut out);
    out.clear();
    classes.let_pass(true, &mut out);
    classes.let_pass(true, &mut out);
    assert_eq!(told(&mut out).len(), 2, "host and flow, once");
    let rate = |classes: &Classes| {
        let key = flow(HOST, 1);
        classes.of_line(&key, &classes.lines[&key]).bytes_per_s
    };
    assert_eq!(rate(&classes), u64::from(intf::MP_HOLD_FREE_BYTES_PER_S));
    classes.let_pass(false, &mut out);
    assert_eq!(told(&mut out).len(), 2);
    assert_eq!(rate(&classes), 15_220);
}

/// Else a busy host's uploads would go on through another's moment, at the rate that their ACKs allow.
#[test]
fn in_a_silence_acknowledgements_wait_too() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    let acks = line(HOST, intf::mp_line_MP_LINE_ACKS);
    classes.make(&acks, MS, HOST, 1000, &mut out);
    out.clear();
    classes.silence(&HOST, 100 * MS, &mut out);
    assert_eq!(told(&mut out).len(), 2, "host and ACKs");
    let rate = classes.of_line(&acks, &classes.lines[&acks]);
    assert_eq!(rate.bytes_per_s, 15_220);
    classes.change(&acks, 2 * MS, &mut out);
    classes.hold(&HOST, 1000, &mut out);
    let rate = classes.of_line(&acks, &classes.lines[&acks]);
    assert_eq!(rate.bytes_per_s, 761_000);
}

/// Else ACKs of a host's uploads would wait for its downloads' turns.
#[test]
fn acknowledgements_stand_by_themselves() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    let acks = line(HOST, intf::mp_line_MP_LINE_ACKS);
    classes.make(&acks, MS, HOST, 0, &mut out);
    classes.make(
        &line(HOST, intf::mp_line_MP_LINE_BULK),
        0,
        HOST,
        1000,
        &mut out,
    );
    let parents: Vec<_> = told(&mut out)
        .iter()
        .map(|(_, _, parent)| *parent)
        .collect();
    assert_eq!(parents, [HTB, HTB, HTB | 2, HTB | 1, HTB | 3]);
}

/// Else a flood of flows would slow down what sets rates.
#[test]
fn there_are_so_many_classes_at_most() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    let made = (0..3000).filter(|port| {
        let key = flow(HOST, *port);
        classes.make(&key, MS, HOST, 0, &mut Vec::new()).is_some()
    });
    assert_eq!(made.count(), MOST);
    assert!(classes.take_evicted().is_empty(), "nobody else had any");
    // Another host has room, at the cost of the one that has most; the line to which nothing has come for longest.
    let recent = |key: &mp_flow_key| Some(u64::from(key.mesh_port) + 1);
    classes.tidy(5, recent, &mut out);
    assert!(classes
        .make(&flow(OTHER, 1), MS, OTHER, 0, &mut out)
        .is_some());
    assert_eq!(classes.take_evicted(), [flow(HOST, 0)]);
    // Who was refused once is so until it is tidied again: it asks with each packet.
    assert_eq!(classes.make(&flow(HOST, 5000), MS, HOST, 0, &mut out), None);
    assert!(classes.refused.contains(&HOST));
    out.clear();
    classes.tidy(1, |_| None, &mut out);
    assert!(classes.refused.is_empty());
    classes.tidy(1, |_| None, &mut out);
    // Each line's, the one that was evicted, and both hosts'.
    assert_eq!(told(&mut out).len(), MOST + 1 + 2);
    assert!(classes
        .make(&flow(HOST, 1), MS, HOST, 0, &mut out)
        .is_some());
}

/// Else what still waits in the old class leaves as the new one's, whose count falls below none.
#[test]
fn a_line_that_made_room_begins_anew() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    let made = |port| flow(HOST, port);
    for port in 0..MOST as u16 {
        classes.make(&made(port), MS, HOST, 0, &mut out);
    }
    let recent = |key: &mp_flow_key| Some(u64::from(key.mesh_port) + 1);
    classes.tidy(5, recent, &mut out);
    classes.make(&flow(OTHER, 1), MS, OTHER, 0, &mut out);
    assert_eq!(classes.take_evicted(), [made(0)]);
    let before = classes.lines[&made(0)].minor;
    classes.moved(&made(9));
    let again = classes.make(&made(0), MS, HOST, 0, &mut out);
    assert!(again.is_some_and(|again| again != before), "{again:?}");
    out.clear();
    classes.tidy(6, recent, &mut out);
    let removed = told(&mut out);
    assert!(removed.contains(&(REMOVE, HTB | u32::from(before), HTB)));
    assert!(!removed.contains(&(REMOVE, HTB | u32::from(again.unwrap()), HTB)));
    assert_eq!(classes.hosts[&HOST].lines, MOST as u32 - 1);
}

/// Else what comes back within a second of the end of pacing, or of its beginning, goes at the other's rate.
#[test]
fn a_line_that_is_about_to_go_is_let_pass_with_the_others() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    classes.make(&flow(HOST, 1), MS, HOST, 0, &mut out);
    classes.tidy(1, |_| None, &mut out);
    out.clear();
    classes.let_pass(true, &mut out);
    classes.make(&flow(HOST, 1), MS, HOST, 0, &mut out);
    let line = classes.lines[&flow(HOST, 1)].minor;
    assert!(told(&mut out).contains(&(MAKE, HTB | u32::from(line), HTB | 1)));
}

/// Else each address of a host has a part of its own, as long as its flows go on.
#[test]
fn a_flow_follows_its_host() {
    let mut classes = Classes::new(7, 1522);
    let mut out = Vec::new();
    let key = flow(OTHER, 1);
    classes.make(&key, MS, OTHER, 0, &mut out);
    classes.make(
        &line(OTHER, intf::mp_line_MP_LINE_NEW),
        0,
        OTHER,
        0,
        &mut out,
    );
    out.clear();
    let own = |address: &Address| *address;
    classes.follow_hosts(own, &mut out);
    assert!(told(&mut out).is_empty() && classes.moving().is_empty());
    // It is HOST's after all: free until it is empty, and made anew below HOST's. Lines of a host are found by who
    // stands for it.
    classes.follow_hosts(|_| HOST, &mut out);
    assert_eq!(told(&mut out), [(MAKE, HTB | 2, HTB | 1)]);
    assert_eq!(classes.moving(), [key]);
    classes.change(&key, 2 * MS, &mut out);
    out.clear();
    classes.moved(&key);
    assert!(classes.moving().is_empty());
    assert_eq!(classes.make(&key, MS, HOST, 0, &mut out), Some(5));
    let expected = [
        (MAKE, HTB | 4, HTB),
        (MAKE, HTB | 5, HTB | 4),
        (QUEUE, 0, HTB | 5),
    ];
    assert_eq!(told(&mut out), expected);
    classes.tidy(1, |_| Some(1), &mut out);
    assert_eq!(told(&mut out), [(REMOVE, HTB | 2, HTB)]);
    // Who thinks better of it in time stays.
    classes.follow_hosts(|_| OTHER, &mut out);
    classes.follow_hosts(|_| HOST, &mut out);
    assert!(classes.moving().is_empty());
}
