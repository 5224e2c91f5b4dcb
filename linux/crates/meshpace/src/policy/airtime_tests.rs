// SPDX-License-Identifier: GPL-2.0-only
//! Shares of the air in a mesh of which one frame is in the air at a time, by virtual time.
use std::sync::Arc;

use crate::config::{Fairness, Rights};
use crate::hosts::identity::Aliases;
use crate::kernel::address::address_of;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{
    self, mp_flow_key, mp_host_key, mp_progress, MP_AIR_STEP_NS, MP_ALONE_DRIFT_Q16,
    MP_ALONE_UNKNOWN_Q16, MP_EXCESS_ACK_BYTES,
};
use crate::policy::shares::{Member, Shares};

const DOWN: u32 = intf::mp_direction_MP_DOWN;
const UP: u32 = intf::mp_direction_MP_UP;
/// What a host one hop away gets alone, bytes/s.
const ALONE: f64 = 600_000.0;
const STEP_NS: u64 = MP_AIR_STEP_NS as u64;
const STEPS_PER_S: u64 = 1_000_000_000 / STEP_NS;
/// The queue in front of the mesh has room for so much.
const ROOM_S: f64 = 0.2;

fn address(n: u8) -> [u8; 16] {
    [n; 16]
}

/// Bulk demand of a host in one direction: what it gets alone, bytes/s, over how many hops, in how many flows.
#[derive(Clone, Copy)]
struct Bulk {
    member: Member,
    alone: f64,
    hops: u32,
    flows: u16,
    delivered: f64,
    rate: f64,
    /// what its application sends at most
    most: f64,
    /// packets that were seen a second time
    again: u64,
    /// acknowledgements of a byte, of which none was owed
    acks_per_byte: f64,
    /// of a host that has died the flows stay in the table
    dead: bool,
}

impl Bulk {
    fn new(host: u8, direction: u32, alone: f64, hops: u32) -> Self {
        Self {
            member: (address(host), direction),
            alone,
            hops,
            flows: 1,
            delivered: 0.0,
            rate: 0.0,
            most: f64::INFINITY,
            again: 0,
            acks_per_byte: 0.0,
            dead: false,
        }
    }

    /// With its acknowledgements.
    fn air_per_byte(&self) -> f64 {
        1.0 + self.acks_per_byte * f64::from(MP_EXCESS_ACK_BYTES)
    }

    fn flow(&self, n: u16, queueing_ns: u64, held: bool, now_ns: u64) -> (mp_flow_key, FlowState) {
        let key = mp_flow_key {
            mesh: self.member.0,
            mesh_port: n,
            direction: self.member.1,
            ..Default::default()
        };
        let progress = mp_progress {
            acked_bytes: (self.delivered / f64::from(self.flows)) as u64,
            seen: 1,
            ..Default::default()
        };
        let lives = !self.dead;
        let flow = FlowState {
            progress,
            max_end: 1,
            hops: self.hops,
            queueing_ns,
            heard_ns: if lives { now_ns } else { 0 },
            data_ns: if lives { now_ns } else { 1 },
            waits: held && lives && self.member.1 == DOWN,
            retransmits: self.again,
            pure_acks: (self.delivered * self.acks_per_byte) as u64,
            ..Default::default()
        };
        (key, flow)
    }
}

/// All of them send what they are held to, or more than there is; what is too much waits, then is lost.
struct Mesh {
    shares: Shares,
    fairness: Fairness,
    bulk: Vec<Bulk>,
    queueing_s: f64,
    now_ns: u64,
}

impl Mesh {
    fn new(fairness: Fairness) -> Self {
        Self {
            shares: Shares::new(fairness, 0),
            fairness,
            bulk: Vec::new(),
            queueing_s: 0.0,
            now_ns: 0,
        }
    }

    fn cap(&self, host: u8, direction: u32) -> Option<u64> {
        self.shares.caps().get(&(address(host), direction)).copied()
    }

    fn rate(&self, host: u8, direction: u32) -> f64 {
        let mut of = self
            .bulk
            .iter()
            .filter(|b| b.member == (address(host), direction));
        of.next().map_or(0.0, |bulk| bulk.rate)
    }

    fn carry(&mut self) {
        let caps = self.shares.caps();
        let wants = |bulk: &Bulk| match caps.get(&bulk.member) {
            _ if bulk.dead => 0.0,
            Some(cap) => bulk.most.min(*cap as f64),
            None => bulk.most.min(2.0 * bulk.alone),
        };
        let takes = |bulk: &Bulk| wants(bulk) * bulk.air_per_byte() / bulk.alone;
        let load: f64 = self.bulk.iter().map(takes).sum();
        let step_s = STEP_NS as f64 / 1e9;
        for bulk in &mut self.bulk {
            bulk.rate = wants(bulk) / load.max(1.0);
            bulk.delivered += bulk.rate * step_s;
        }
        self.queueing_s = (self.queueing_s + (load - 1.0) * step_s).clamp(0.0, ROOM_S);
        self.now_ns += STEP_NS;
    }

    fn table(&self) -> Table {
        let queueing_ns = (self.queueing_s * 1e9) as u64;
        let held = |bulk: &Bulk| self.shares.caps().contains_key(&bulk.member);
        let mut table = Table::new();
        for bulk in &self.bulk {
            let flow = |n| bulk.flow(n, queueing_ns, held(bulk), self.now_ns);
            table.extend((0..bulk.flows).map(flow));
        }
        table
    }

    fn run(&mut self, seconds: u64) {
        self.run_beside(seconds, &[], &[]);
    }

    /// Beside flows and sums that are not bulk demand.
    fn run_beside(
        &mut self,
        seconds: u64,
        flows: &[(mp_flow_key, FlowState)],
        sums: &[(mp_host_key, u64)],
    ) {
        for _ in 0..seconds * STEPS_PER_S {
            self.carry();
            let mut table = self.table();
            table.extend_from_slice(flows);
            self.shares.step(self.fairness, &table, sums, self.now_ns);
        }
    }
}

/// A near host has had the air for itself; now there is a far one as well, which gets a third alone.
fn near_and_far(fairness: Fairness) -> Mesh {
    let mut mesh = Mesh::new(fairness);
    mesh.bulk = vec![Bulk::new(1, DOWN, 600_000.0, 1)];
    mesh.run(5);
    mesh.bulk.push(Bulk::new(2, DOWN, 200_000.0, 3));
    mesh.run(5);
    mesh
}

/// What the law promises; else the far one's packets take three quarters of the air.
#[test]
fn with_two_hosts_each_has_half_of_what_it_has_alone() {
    let mut mesh = near_and_far(Fairness::Air);
    for (host, alone) in [(1, 600_000.0), (2, 200_000.0)] {
        let part = mesh.rate(host, DOWN) / alone;
        assert!((0.45..0.6).contains(&part), "{host}: {part}");
        assert!(mesh.shares.is_active(&(address(host), DOWN)));
    }
    let air = mesh.shares.air();
    assert!(air.is_shared() && (0.8..1.2).contains(&air.air().unwrap()));
    let alone = air.alone_bytes_per_s(&(address(2), DOWN)).unwrap();
    assert!((150_000..250_000).contains(&alone), "{alone}");
    // Who comes third has its part within three seconds, and so have the others.
    mesh.bulk.push(Bulk::new(3, DOWN, 600_000.0, 1));
    mesh.run(3);
    let part = mesh.rate(3, DOWN) / 600_000.0;
    assert!((0.28..0.4).contains(&part), "{part}");
}

/// Else who splits its acknowledgements takes the others' air for them.
#[test]
fn acknowledgements_that_no_data_asked_for_are_of_the_host_s_part() {
    let mut mesh = near_and_far(Fairness::Air);
    let acks_per_byte = 1.0 / f64::from(MP_EXCESS_ACK_BYTES);
    mesh.bulk[1].acks_per_byte = acks_per_byte;
    mesh.run(10);
    let part = |mesh: &Mesh, host, alone: f64| mesh.cap(host, DOWN).unwrap() as f64 / alone;
    let (honest, splits) = (part(&mesh, 1, 600_000.0), part(&mesh, 2, 200_000.0));
    assert!(
        (0.4..0.6).contains(&(splits / honest)),
        "{splits}, {honest}"
    );
    assert!(honest > 0.45, "{honest}");
    // The gateway starts again: what there was before is no news.
    mesh.shares = Shares::new(Fairness::Air, mesh.now_ns);
    mesh.shares
        .step(mesh.fairness, &mesh.table(), &[], mesh.now_ns);
    let way = mesh.shares.air().hosts[&address(2)].way[DOWN as usize];
    assert!(way.excess_bytes > 0 && way.excess_bytes_per_s == 0);
}

/// Else who sends a little holds half of the air, or one that is crowded out is taken for one that has no more to send.
#[test]
fn what_an_upload_s_application_does_not_use_is_the_other_s_unless_it_loses() {
    let mut mesh = Mesh::new(Fairness::Air);
    mesh.bulk.push(Bulk::new(1, DOWN, ALONE, 1));
    mesh.run(10);
    mesh.bulk.push(Bulk {
        most: 0.05 * ALONE / 3.0,
        ..Bulk::new(2, UP, ALONE / 3.0, 3)
    });
    mesh.run(10);
    assert!(mesh.rate(1, DOWN) > 0.8 * ALONE, "{}", mesh.rate(1, DOWN));
    for _ in 0..10 {
        mesh.bulk[1].again += 1;
        mesh.run(1);
    }
    let beside_losses = mesh.rate(1, DOWN);
    assert!(beside_losses < 0.7 * ALONE, "{beside_losses}");
    mesh.run(10);
    assert!(mesh.rate(1, DOWN) > 0.8 * ALONE, "{}", mesh.rate(1, DOWN));
}

/// What is stated of one of its addresses.
fn stated(mesh: &mut Mesh, text: &str) {
    let config = toml::from_str(text).unwrap();
    mesh.shares.set_rights(Rights::of(&config));
}

/// Else who pays for more, or a clinic that has to be able to call, has what everybody has. It counts at once, also of a
/// host that has not come yet, and by whichever of its addresses it is known.
#[test]
fn a_host_has_the_weight_and_the_least_that_are_stated_of_any_of_its_addresses() {
    let own = |n: u8| address_of(&address(n));
    let weight = format!("[[host]]\naddress='{}'\nweight=3", own(9));
    let mut mesh = Mesh::new(Fairness::Air);
    stated(&mut mesh, &weight);
    let aliases = Aliases([(address(9), address(2))].into());
    mesh.shares.set_aliases(Arc::new(aliases));
    mesh.bulk = vec![Bulk::new(1, DOWN, 600_000.0, 1)];
    mesh.run(5);
    mesh.bulk.push(Bulk::new(2, DOWN, 200_000.0, 3));
    mesh.run(8);
    let part = mesh.rate(2, DOWN) / 200_000.0;
    assert!((0.7..0.85).contains(&part), "{part}");
    let right = |mesh: &Mesh, n| mesh.shares.air().right(&address(n));
    assert_eq!(right(&mesh, 2), Some((3.0, 0)));
    // Read again: 5/6 of what it has alone, of which half of the air are half; the other has the rest.
    let least = format!("[[host]]\naddress='{}'\nleast_kbps=960", own(2));
    stated(&mut mesh, &least);
    mesh.run(8);
    assert_eq!(right(&mesh, 2), Some((1.0, 120_000)));
    let (near, far) = (mesh.rate(1, DOWN), mesh.rate(2, DOWN));
    assert!((95_000.0..115_000.0).contains(&far), "{far}");
    assert!((270_000.0..330_000.0).contains(&near), "{near}");
    stated(&mut mesh, "least_kbps = 640");
    assert_eq!(right(&mesh, 1), Some((1.0, 80_000)));
}

/// Else nobody is silent for a page, or a page's host is.
#[test]
fn who_wants_more_is_busy_and_who_uses_little_is_not() {
    let mut mesh = near_and_far(Fairness::Air);
    let busy = |mesh: &Mesh| mesh.shares.busy().hosts.clone();
    assert_eq!(busy(&mesh), [address(1), address(2)].into());
    let earned = |mesh: &Mesh| mesh.shares.busy().silence_ns as f64 / 1e9;
    // For others it is silent for a twentieth of the time.
    for (uses, silent) in [(0.0, 0.05), (0.15, 0.05)] {
        mesh.bulk[1].most = uses * mesh.bulk[1].alone;
        mesh.run(5);
        let before = earned(&mesh);
        mesh.run(10);
        assert_eq!(busy(&mesh), [address(1)].into(), "{uses}");
        let part = (earned(&mesh) - before) / 10.0;
        assert!(
            (silent - 0.03..silent + 0.03).contains(&part),
            "{uses}: {part}"
        );
    }
    mesh.shares.end(mesh.now_ns);
    assert!(busy(&mesh).is_empty());
}

/// Else who has UDP alone counts as a neighbour, and is left a part of what it can use.
#[test]
fn hops_are_known_of_who_has_no_tcp() {
    let mut mesh = Mesh::new(Fairness::Air);
    mesh.bulk = vec![Bulk::new(1, DOWN, ALONE, 1)];
    mesh.run(5);
    let udp = |bytes| {
        let key = mp_host_key {
            address: address(2),
            direction: DOWN,
        };
        [(key, bytes)]
    };
    for second in 1..4 {
        mesh.run_beside(1, &[], &udp(second * 1000));
    }
    let alone = |mesh: &Mesh| {
        let air = mesh.shares.air();
        air.alone_bytes_per_s(&(address(2), DOWN)).unwrap() as f64
    };
    assert!((alone(&mesh) / ALONE - 1.0).abs() < 0.1, "as a neighbour");
    mesh.shares
        .know_hops([(address(2), 4), (address(9), 3)].into_iter());
    mesh.run_beside(1, &[], &udp(5000));
    assert!(
        (alone(&mesh) / ALONE - 0.25).abs() < 0.03,
        "{}",
        alone(&mesh)
    );
}

#[test]
fn by_rate_both_get_the_same() {
    let mesh = near_and_far(Fairness::Rate);
    let (near, far) = (mesh.rate(1, DOWN), mesh.rate(2, DOWN));
    assert!((0.9..1.1).contains(&(near / far)), "{near}, {far}");
    assert!((120_000.0..180_000.0).contains(&far), "{far}");
}

/// Else whoever closed a page or was switched off has the others held for as long as its flow is remembered.
#[test]
fn who_has_ended_or_died_frees_its_part_within_seconds() {
    for dies in [false, true] {
        let mut mesh = near_and_far(Fairness::Air);
        if dies {
            mesh.bulk[1].dead = true;
        } else {
            mesh.bulk.pop();
        }
        mesh.run(4);
        assert!(mesh.shares.caps().is_empty(), "{:?}", mesh.shares.caps());
        assert_eq!(mesh.rate(1, DOWN), 600_000.0);
        assert!(!mesh.shares.is_active(&(address(2), DOWN)));
        let air = mesh.shares.air();
        assert!(air.has_active() && !air.is_shared() && air.air().is_none());
        // What it gets alone is known for a while, and forgotten with its flows.
        assert!(air.alone_bytes_per_s(&(address(2), DOWN)).is_some());
        let forgets = u64::from(MP_ALONE_UNKNOWN_Q16 / MP_ALONE_DRIFT_Q16);
        mesh.run(forgets / STEPS_PER_S + 1);
        assert_eq!(mesh.shares.air().hosts.len(), if dies { 2 } else { 1 });
    }
}

/// Else invented addresses take a part each, or a step with thousands of them takes all of the processor's time.
#[test]
fn who_has_shown_no_progress_is_no_host() {
    let mut mesh = Mesh::new(Fairness::Air);
    mesh.bulk = vec![Bulk::new(1, DOWN, 600_000.0, 1)];
    let ghosts: Vec<_> = (2..200)
        .map(|n| Bulk::new(n, n as u32 % 2, 1.0, 1).flow(1, 0, false, 1))
        .collect();
    mesh.run_beside(5, &ghosts, &[]);
    assert!(mesh.shares.caps().is_empty());
    assert_eq!(mesh.shares.air().hosts.len(), 1);
}

/// Else who is on another port of this box, and takes none of the air, has a part of it.
#[test]
fn who_is_outside_takes_no_part() {
    let mut mesh = Mesh::new(Fairness::Air);
    mesh.bulk = vec![Bulk::new(1, DOWN, 600_000.0, 1)];
    for step in 1..=50 {
        let (key, flow) = Bulk::new(2, DOWN, 1.0, 1).flow(1, 0, false, 1);
        let mut outside = FlowState {
            outside: true,
            ..flow
        };
        outside.progress.acked_bytes = step * 10_000;
        mesh.carry();
        let mut table = mesh.table();
        table.push((key, outside));
        mesh.shares.step(Fairness::Air, &table, &[], mesh.now_ns);
    }
    assert!(mesh.shares.caps().is_empty());
    assert_eq!(mesh.shares.air().hosts.len(), 1);
}

/// Else a host gets more by opening more connections, or each of them is told all of what they have together.
#[test]
fn a_host_with_two_flows_is_one_host() {
    let mut mesh = Mesh::new(Fairness::Air);
    mesh.bulk = vec![
        Bulk {
            flows: 2,
            ..Bulk::new(1, UP, 600_000.0, 1)
        },
        Bulk::new(2, UP, 600_000.0, 1),
    ];
    mesh.run(10);
    let (many, one) = (mesh.rate(1, UP), mesh.rate(2, UP));
    assert!((0.9..1.1).contains(&(many / one)), "{many}, {one}");
    for ((address, _), cap, told) in mesh.shares.parts() {
        let flows = if address == self::address(1) { 2 } else { 1 };
        assert_eq!(told, cap / flows);
    }
    assert_eq!(mesh.shares.parts().count(), 2);
}

/// Else who sends and receives has two parts of the air.
#[test]
fn both_directions_of_a_host_are_one_host() {
    let mut mesh = Mesh::new(Fairness::Air);
    mesh.bulk = vec![
        Bulk::new(1, DOWN, 600_000.0, 1),
        Bulk::new(1, UP, 600_000.0, 1),
        Bulk::new(2, DOWN, 600_000.0, 1),
    ];
    mesh.run(10);
    let both = mesh.rate(1, DOWN) + mesh.rate(1, UP);
    let other = mesh.rate(2, DOWN);
    assert!((0.9..1.1).contains(&(both / other)), "{both}, {other}");
    assert_eq!(mesh.shares.air().state.present, 2);
}

/// Else it has a part for each of its addresses.
#[test]
fn a_host_is_all_its_addresses() {
    let mut mesh = Mesh::new(Fairness::Air);
    mesh.bulk = vec![
        Bulk::new(1, DOWN, 600_000.0, 1),
        Bulk::new(2, DOWN, 600_000.0, 1),
    ];
    mesh.run(3);
    assert_eq!(mesh.shares.air().hosts.len(), 2);
    let aliases = Aliases([(address(2), address(1))].into());
    mesh.shares.set_aliases(Arc::new(aliases));
    mesh.run(1);
    let air = mesh.shares.air();
    assert_eq!((air.hosts.len(), air.state.present), (1, 1));
    assert!(mesh.shares.caps().is_empty(), "nobody else is there");
}

/// UDP and flows that have ended count as delivered; what was before the first step does not count as its.
#[test]
fn sums_are_of_the_step_in_which_they_come() {
    let mut mesh = Mesh::new(Fairness::Air);
    let of = |n| mp_host_key {
        address: address(n),
        direction: DOWN,
    };
    mesh.run_beside(1, &[], &[(of(1), 1 << 40)]);
    assert!(!mesh.shares.is_active(&(address(1), DOWN)));
    mesh.now_ns += STEP_NS;
    let sums = [(of(1), (1 << 40) + 10_000)];
    mesh.shares.step(Fairness::Air, &vec![], &sums, mesh.now_ns);
    let way = mesh.shares.air().hosts[&address(1)].way[DOWN as usize];
    assert!(way.present && way.flows == 0);
    assert_eq!(way.latest_bytes_per_s, 10_000 * STEPS_PER_S);
}

/// Else what was learnt is forgotten for nothing, or caps of a law that is gone go on.
#[test]
fn another_fairness_knows_what_was_learnt_and_the_end_lifts_what_there_was() {
    let mut mesh = near_and_far(Fairness::Air);
    assert!(mesh.cap(1, DOWN).is_some() && mesh.cap(2, DOWN).is_some());
    mesh.fairness = Fairness::Rate;
    mesh.run(1);
    let alone = mesh.shares.air().alone_bytes_per_s(&(address(2), DOWN));
    assert!(alone.is_some());
    let changed = mesh.shares.end(mesh.now_ns);
    assert_eq!((changed.len(), mesh.shares.caps().len()), (2, 0));
    assert!(!mesh.shares.air().has_active());
}
