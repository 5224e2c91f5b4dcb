// SPDX-License-Identifier: GPL-2.0-only
//! Goodput control (GAP section 4.4): core/'s, fed with the flows of the kernel's table.
//!
//! A connection takes part in the direction that carries more, as in the papers, whose flows have
//! one; and only while it is a bulk transfer: an idle login is slow without being starved, and would
//! halve what a download may have.
use std::collections::{BTreeMap, HashMap};

use crate::base::system::now_ns;
use crate::hosts::flows;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{
    self, mp_flow_key, mp_goodput, mp_goodput_bulk, mp_goodput_flow, mp_goodput_law,
};
use crate::kernel::law;

/// A flow below this share of the mean starves.
const STARVED: f64 = 0.05;

/// A connection's key: that of its flows without the direction.
pub type Connection = ([u8; 16], u16, [u8; 16], u16);

pub fn connection_of(key: &mp_flow_key) -> Connection {
    (key.mesh, key.mesh_port, key.wired, key.wired_port)
}

struct Member {
    key: mp_flow_key,
    flow: mp_goodput_flow,
}

pub struct GoodputControl {
    law: mp_goodput_law,
    control: mp_goodput,
    members: BTreeMap<Connection, Member>,
    mean_bytes_per_s: f64,
}

fn is_bulk(flow: &FlowState, now_ns: u64) -> bool {
    let of = mp_goodput_bulk {
        outstanding: flow.max_end != flow.progress.ack,
        finished: flow.progress.fin != 0,
        acked_bytes: flow.progress.acked_bytes,
        bytes: flow.bytes,
        packets: flow.packets,
        data_ns: flow.data_ns,
    };
    law::goodput_takes_part(&of, now_ns)
}

/// The heavier direction of each connection in bulk transfer.
fn bulk_flows(
    flows: &[(mp_flow_key, FlowState)],
    now_ns: u64,
) -> BTreeMap<Connection, (mp_flow_key, FlowState)> {
    let mut heavier = BTreeMap::<Connection, (mp_flow_key, FlowState)>::new();
    for (key, flow) in flows {
        let best = heavier.entry(connection_of(key)).or_insert((*key, *flow));
        let down = key.direction == intf::mp_direction_MP_DOWN;
        if (flow.progress.acked_bytes, down) > (best.1.progress.acked_bytes, !down) {
            *best = (*key, *flow);
        }
    }
    heavier.retain(|_, (_, flow)| is_bulk(flow, now_ns));
    heavier
}

impl GoodputControl {
    pub fn new() -> Self {
        let law = law::goodput_law_gap();
        let control = mp_goodput {
            before_ns: now_ns(),
            ..Default::default()
        };
        Self {
            law,
            control,
            members: BTreeMap::new(),
            mean_bytes_per_s: 0.0,
        }
    }

    /// Once a second, with all flows. Returns floors that changed: (flow, ns; 0: lifted).
    pub fn tick(&mut self, flows: &[(mp_flow_key, FlowState)]) -> Vec<(mp_flow_key, u64)> {
        let now = now_ns();
        let bulk = bulk_flows(flows, now);
        let mut before: HashMap<_, _> = self
            .members
            .values()
            .map(|m| (m.key, m.flow.floor_ns))
            .collect();
        if self.update_members(&bulk) {
            self.run(|control, _, flows| law::goodput_reset(control, flows, now));
        } else if now.saturating_sub(self.control.before_ns) >= self.law.step_ns {
            self.run(|control, law, flows| law::goodput_step(control, law, flows, now));
            let sum: f64 = self
                .members
                .values()
                .map(|m| m.flow.goodput_bytes_per_s as f64)
                .sum();
            self.mean_bytes_per_s = sum / self.members.len().max(1) as f64;
        }
        let floor_of = |key: &mp_flow_key| {
            let member = self
                .members
                .get(&connection_of(key))
                .filter(|m| m.key == *key);
            member.map_or(0, |m| m.flow.floor_ns)
        };
        for member in self.members.values() {
            before.entry(member.key).or_insert(0);
        }
        before
            .into_iter()
            .filter(|(key, was)| floor_of(key) != *was)
            .map(|(key, _)| (key, floor_of(&key)))
            .collect()
    }

    /// Takes what the kernel counted; true when a flow started or ended.
    fn update_members(&mut self, bulk: &BTreeMap<Connection, (mp_flow_key, FlowState)>) -> bool {
        let mut changed = self.members.len();
        self.members
            .retain(|connection, m| bulk.get(connection).is_some_and(|(key, _)| *key == m.key));
        changed -= self.members.len();
        for (connection, (key, flow)) in bulk {
            let member = self.members.entry(*connection).or_insert_with(|| {
                changed += 1;
                Member {
                    key: *key,
                    flow: mp_goodput_flow::default(),
                }
            });
            member.flow.delivered_bytes = flow.progress.acked_bytes;
            member.flow.segment_bytes = flow.segment_bytes;
            member.flow.paced_here = key.direction == intf::mp_direction_MP_DOWN;
        }
        changed > 0
    }

    /// Calls a function of core/ on all members as the array that it expects.
    fn run(&mut self, call: impl FnOnce(&mut mp_goodput, &mp_goodput_law, &mut [mp_goodput_flow])) {
        let mut flows: Vec<_> = self.members.values().map(|m| m.flow).collect();
        call(&mut self.control, &self.law, &mut flows);
        for (member, flow) in self.members.values_mut().zip(flows) {
            member.flow = flow;
        }
    }

    /// Whether a bulk transfer gets next to nothing beside the others.
    pub fn starves(&self, key: &mp_flow_key) -> bool {
        let member = self
            .members
            .get(&connection_of(key))
            .filter(|m| m.key == *key);
        member
            .is_some_and(|m| (m.flow.goodput_bytes_per_s as f64) < STARVED * self.mean_bytes_per_s)
    }
}

/// Says that goodput control slowed a flow down, or no longer does.
pub fn tell(key: &mp_flow_key, floor_ns: u64, table: &Table) {
    let name = flows::name(key);
    let segment = table
        .iter()
        .find(|(k, _)| k == key)
        .map_or(0, |(_, flow)| flow.segment_bytes);
    let rate = law::rate_bytes_per_s(floor_ns, segment);
    match floor_ns {
        0 => log::info!("{name}: no longer throttled"),
        _ => log::info!(
            "{name}: throttled to {} kbit/s, since it had more than its share (GAP 4.4)",
            rate * 8 / 1000
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nix::time::{clock_gettime, ClockId};

    use super::*;
    use crate::kernel::intf::mp_progress;

    fn flow(port: u16, direction: u32, acked_bytes: u64) -> (mp_flow_key, FlowState) {
        let key = mp_flow_key {
            mesh_port: port,
            direction,
            ..Default::default()
        };
        let flow = FlowState {
            progress: mp_progress {
                acked_bytes,
                ..Default::default()
            },
            bytes: acked_bytes,
            packets: acked_bytes / 1000 + 1,
            segment_bytes: 1448,
            data_ns: now_ns(),
            ..Default::default()
        };
        (key, flow)
    }

    #[test]
    fn logins_and_the_lighter_direction_take_no_part() {
        let mut login = flow(3, 0, 100_000);
        login.1.packets = 5000;
        let flows = [
            flow(1, 0, 1_000_000),
            flow(1, 1, 5000),
            flow(2, 1, 900_000),
            login,
        ];
        let bulk = bulk_flows(&flows, now_ns());
        let taking: Vec<_> = bulk
            .values()
            .map(|(key, _)| (key.mesh_port, key.direction))
            .collect();
        assert_eq!(taking, [(1, 0), (2, 1)]);
    }

    /// Of this thread alone: whom else the machine serves does not count.
    fn cpu_s() -> f64 {
        let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
        Duration::from(time).as_secs_f64()
    }

    #[test]
    fn a_full_table_takes_a_fraction_of_a_second() {
        let flows: Vec<_> = (1..=u16::MAX)
            .map(|port| flow(port, 0, 1_000_000))
            .collect();
        let mut control = GoodputControl::new();
        let began = cpu_s();
        for _ in 0..2 {
            assert_eq!(control.tick(&flows), []);
        }
        // With the square of the flows it was 8 s.
        assert!(cpu_s() - began < 2.0, "{}", cpu_s() - began);
    }

    #[test]
    fn a_fast_flow_is_throttled_to_the_mean_and_freed_when_the_other_ends() {
        let mut control = GoodputControl::new();
        let (fast, slow) = (flow(1, 0, 1000), flow(2, 1, 1000));
        assert_eq!(control.tick(&[fast, slow]), [], "a start throttles nobody");
        control.control.before_ns -= 5_000_000_000;
        let (fast, slow) = (flow(1, 0, 4_001_000), flow(2, 1, 101_000));
        let throttled = control.tick(&[fast, slow]);
        assert_eq!(throttled.len(), 1);
        assert_eq!(throttled[0].0, fast.0);
        // 1448 bytes at the mean of 0.8 and 0.02 MB/s, and a little more by aging.
        let interval_us = throttled[0].1 as f64 / 1e3;
        assert!((3300.0..3540.0).contains(&interval_us), "{interval_us}");
        assert!(control.starves(&slow.0));
        assert_eq!(control.tick(&[fast]), [(fast.0, 0)], "the other has ended");
    }
}
