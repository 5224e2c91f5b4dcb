// SPDX-License-Identifier: GPL-2.0-only
//! Once a second: the kernel's flow table as it is shown, and what is to be forgotten of it.
use std::collections::HashMap;
use std::net::SocketAddr;

use crate::hosts::paths::{address_of, HostPath};
use crate::kernel::intf::{self, mp_flow, mp_flow_key};
use crate::policy::goodput::GoodputControl;
use crate::show::status::Flow;

/// A flow whose end was seen is kept so long: for its last packets, and for who watches.
const FINISHED_NS: u64 = 10_000_000_000;

/// What the daemon looks at of a flow: the kernel's entry without its rings of times, a tenth of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowState {
    pub ack: u32,
    pub max_end: u32,
    pub hops: u32,
    pub kbps: u32,
    pub mean_rtt_ns: u64,
    pub cov_q16: u32,
    pub samples: u32,
    pub discarded: u32,
    pub segment_bytes: u32,
    /// down: that the receiver offers; 0: not known
    pub window_bytes: u32,
    pub rtt_wired_us: u32,
    pub interval_ns: u64,
    pub floor_ns: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub data_ns: u64,
    pub packets: u64,
    pub bytes: u64,
    pub acked_bytes: u64,
    pub retransmits: u64,
    pub local_retransmits: u64,
    pub ttl: u8,
    pub fin: bool,
    /// down: latest data that came when nothing was under way
    pub paused_ns: u64,
    /// something of it waits here
    pub waits: bool,
    /// up: its sender had no more after the latest data
    pub pushed: bool,
    /// data has been seen: ack and max_end are valid
    pub acked: bool,
    /// not of the mesh
    pub outside: bool,
}

/// What a download's receiver offered with its latest ACK; 0: not known.
fn window_bytes(flow: &mp_flow) -> u32 {
    match flow.window_scale.checked_sub(1) {
        Some(shift) if flow.dupack.started => flow.dupack.window << shift,
        _ => 0,
    }
}

impl From<&mp_flow> for FlowState {
    fn from(flow: &mp_flow) -> Self {
        let estimate = &flow.estimate;
        Self {
            ack: flow.ack,
            max_end: flow.sent.max_end,
            hops: flow.path.hops,
            kbps: flow.path.kbps,
            // Safe: a plain function of core/.
            mean_rtt_ns: unsafe { intf::mp_window_mean_ns(&estimate.window) },
            cov_q16: estimate.cov_q16,
            samples: estimate.samples,
            discarded: estimate.discarded,
            segment_bytes: flow.segment_bytes,
            window_bytes: window_bytes(flow),
            rtt_wired_us: flow.rtt_wired_us,
            interval_ns: flow.interval_ns,
            floor_ns: flow.floor_ns,
            first_ns: flow.first_ns,
            last_ns: flow.last_ns,
            data_ns: flow.data_ns,
            packets: flow.packets,
            bytes: flow.bytes,
            acked_bytes: flow.acked_bytes,
            retransmits: flow.retransmits,
            local_retransmits: flow.local_retransmits,
            ttl: flow.ttl,
            fin: flow.fin != 0,
            paused_ns: flow.paused_ns,
            waits: false,
            pushed: flow.pushed != 0,
            acked: flow.acked != 0,
            outside: flow.host.outside != 0,
        }
    }
}

pub type Table = Vec<(mp_flow_key, FlowState)>;

fn socket_address(address: &[u8; 16], port: u16) -> String {
    SocketAddr::new(address_of(address), u16::from_be(port)).to_string()
}

/// Whether a flow is to be forgotten.
pub fn is_over(flow: &FlowState, now_ns: u64, idle_ns: u64) -> bool {
    let silent = now_ns.saturating_sub(flow.last_ns);
    silent > idle_ns || (flow.fin && silent > FINISHED_NS)
}

/// Goodput of all flows between two looks at the table.
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
        self.kbps = table
            .iter()
            .map(|(k, f)| (*k, since(k, f.acked_bytes) * 8.0 / elapsed_ms))
            .collect();
        self.before = table
            .iter()
            .map(|(key, flow)| (*key, flow.acked_bytes))
            .collect();
        self.before_ns = now_ns;
    }

    /// Bytes/s that all hosts of the mesh have acknowledged, and have had acknowledged.
    pub fn mesh_bps(&self, table: &Table) -> u64 {
        let mesh = table.iter().filter(|(_, flow)| !flow.outside);
        let kbps: f64 = mesh.filter_map(|(key, _)| self.kbps.get(key)).sum();
        (kbps * 125.0) as u64
    }
}

/// A flow as it is shown.
pub fn describe(
    (key, flow): &(mp_flow_key, FlowState),
    path: Option<&HostPath>,
    meter: &Meter,
    control: &GoodputControl,
    now_ns: u64,
) -> Flow {
    let down = key.direction == intf::mp_direction_MP_DOWN;
    let mean_ns = flow.mean_rtt_ns;
    // Safe: a plain function of core/.
    let rate = unsafe { intf::mp_rate_bytes_per_s(flow.interval_ns, flow.segment_bytes) };
    let seconds = |at: u64| now_ns.saturating_sub(at) as f64 / 1e9;
    Flow {
        mesh: socket_address(&key.mesh, key.mesh_port),
        wired: socket_address(&key.wired, key.wired_port),
        direction: if down { "down" } else { "up" }.into(),
        hops: path.map_or(flow.hops, |path| path.hops),
        hops_source: path.map_or_else(|| "default".into(), |path| path.hops_source.clone()),
        mbps: path.map_or(f64::from(flow.kbps) / 1e3, |path| path.mbps),
        mbps_source: path.map_or_else(|| "default".into(), |path| path.mbps_source.clone()),
        rtt_wireless_ms: (down && mean_ns > 0).then_some(mean_ns as f64 / 1e6),
        rtt_wired_ms: (flow.rtt_wired_us > 0).then_some(f64::from(flow.rtt_wired_us) / 1e3),
        cov: f64::from(flow.cov_q16) / 65536.0,
        interval_us: flow.interval_ns as f64 / 1e3,
        rate_kbps: (flow.interval_ns > 0).then_some(rate as f64 * 8.0 / 1e3),
        goodput_kbps: meter.kbps.get(key).copied().unwrap_or(0.0),
        throttled: flow.floor_ns > 0,
        starved: control.starves(key),
        packets: flow.packets,
        bytes: flow.bytes,
        acked_bytes: flow.acked_bytes,
        samples: flow.samples,
        discarded: flow.discarded,
        retransmits: flow.retransmits,
        local_retransmits: flow.local_retransmits,
        age_s: seconds(flow.first_ns),
        idle_s: seconds(flow.last_ns),
    }
}

/// The TTL seen last of each mesh host; 0: none.
pub fn hosts_of(table: &Table) -> HashMap<[u8; 16], u8> {
    let mut hosts = HashMap::new();
    for (key, flow) in table {
        let ttl = hosts.entry(key.mesh).or_insert(0);
        if flow.ttl != 0 {
            *ttl = flow.ttl;
        }
    }
    hosts
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
