// SPDX-License-Identifier: GPL-2.0-only
//! What is known of flows between two looks at the kernel's table: their goodput, their names, and when one is to be forgotten.
use std::collections::HashMap;
use std::net::SocketAddr;

use crate::kernel::address::address_of;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{self, mp_flow_key};

/// A flow whose end was seen is kept so long: for its last packets, and for who watches.
const FINISHED_NS: u64 = 10_000_000_000;

pub fn socket_address(address: &[u8; 16], port: u16) -> String {
    SocketAddr::new(address_of(address), u16::from_be(port)).to_string()
}

/// Whether a flow is to be forgotten.
pub fn is_over(flow: &FlowState, now_ns: u64, idle_ns: u64) -> bool {
    let silent = now_ns.saturating_sub(flow.last_ns);
    silent > idle_ns || (flow.progress.fin != 0 && silent > FINISHED_NS)
}

/// Goodput of all flows between two looks at the table. Who has nothing has no entry: of flows that nobody
/// answers there may be many.
#[derive(Default)]
pub struct Meter {
    before: HashMap<mp_flow_key, u64>,
    before_ns: u64,
    kbps: HashMap<mp_flow_key, f64>,
}

impl Meter {
    pub fn update(&mut self, table: &Table, now_ns: u64) {
        let elapsed_ms = (now_ns.saturating_sub(self.before_ns) as f64 / 1e6).max(1.0);
        let since = |key: &mp_flow_key, acked: u64| {
            acked.saturating_sub(self.before.get(key).copied().unwrap_or(0)) as f64
        };
        let acked = || {
            let all = table
                .iter()
                .map(|(key, flow)| (*key, flow.progress.acked_bytes));
            all.filter(|(_, bytes)| *bytes > 0)
        };
        let kbps = |(key, bytes)| (key, since(&key, bytes) * 8.0 / elapsed_ms);
        self.kbps = acked().map(kbps).filter(|(_, kbps)| *kbps > 0.0).collect();
        self.before = acked().collect();
        self.before_ns = now_ns;
    }

    /// Acknowledged payload over the latest second.
    pub fn kbps(&self, key: &mp_flow_key) -> f64 {
        self.kbps.get(key).copied().unwrap_or(0.0)
    }

    /// Bytes/s that all hosts of the mesh have acknowledged, and have had acknowledged.
    pub fn mesh_bytes_per_s(&self, table: &Table) -> u64 {
        let mesh = table.iter().filter(|(_, flow)| !flow.outside);
        let kbps: f64 = mesh.filter_map(|(key, _)| self.kbps.get(key)).sum();
        (kbps * 125.0) as u64
    }
}

/// The TTL seen last of each mesh host; 0: none. An idle flow has that of where its host was.
pub fn hosts_of(table: &Table) -> HashMap<[u8; 16], u8> {
    let mut hosts = HashMap::<[u8; 16], (u64, u8)>::new();
    for (key, flow) in table {
        let latest = hosts.entry(key.mesh).or_default();
        if flow.ttl != 0 {
            *latest = (*latest).max((flow.last_ns, flow.ttl));
        }
    }
    let ttl = |(address, (_, ttl))| (address, ttl);
    hosts.into_iter().map(ttl).collect()
}

/// A flow's name in messages.
pub fn name(key: &mp_flow_key) -> String {
    let arrow = if key.direction == intf::mp_direction_MP_DOWN {
        "<-"
    } else {
        "->"
    };
    let mesh = socket_address(&key.mesh, key.mesh_port);
    format!(
        "{mesh} {arrow} {}",
        socket_address(&key.wired, key.wired_port)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::intf::mp_progress;

    /// Else a flood of flows that nobody answers takes megabytes more, for nothing.
    #[test]
    fn only_who_has_got_something_is_remembered() {
        let flow = |port: u16, acked_bytes| {
            let key = mp_flow_key {
                mesh_port: port,
                ..Default::default()
            };
            let progress = mp_progress {
                acked_bytes,
                ..Default::default()
            };
            let state = FlowState {
                progress,
                ..Default::default()
            };
            (key, state)
        };
        let mut meter = Meter::default();
        let mut table: Table = (1..=1000).map(|port| flow(port, 0)).collect();
        table.push(flow(0, 5000));
        meter.update(&table, 1_000_000_000);
        assert_eq!(meter.before.len(), 1);
        table[0] = flow(1, 1000);
        meter.update(&table, 2_000_000_000);
        assert_eq!(meter.kbps(&table[0].0), 8.0, "the first that it has got");
        assert_eq!(meter.kbps(&flow(0, 0).0), 0.0, "no more than before");
        assert_eq!((meter.before.len(), meter.kbps.len()), (2, 1));
        assert_eq!(meter.mesh_bytes_per_s(&table), 1000);
    }

    /// Else a host that has moved is as far as a connection of an hour ago says, which comes behind in the table.
    #[test]
    fn a_host_s_ttl_is_that_of_its_latest_packet() {
        let flow = |mesh_port, last_ns, ttl| {
            let key = mp_flow_key {
                mesh: [1; 16],
                mesh_port,
                ..Default::default()
            };
            let flow = FlowState {
                last_ns,
                ttl,
                ..Default::default()
            };
            (key, flow)
        };
        let hosts = hosts_of(&vec![flow(1, 9, 61), flow(2, 5, 63), flow(3, 10, 0)]);
        assert_eq!(hosts, [([1; 16], 61)].into());
        assert_eq!(hosts_of(&vec![flow(3, 10, 0)]), [([1; 16], 0)].into());
    }
}
