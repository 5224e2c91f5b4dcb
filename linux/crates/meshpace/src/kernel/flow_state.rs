// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's flow table as the daemon reads it.
use crate::kernel::intf::{mp_flow, mp_flow_key, mp_host_key, mp_progress};
use crate::kernel::law;

/// What the daemon looks at of a flow: the kernel's entry without its rings of times, a tenth of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowState {
    pub progress: mp_progress,
    pub max_end: u32,
    pub hops: u32,
    pub kbps: u32,
    pub mean_rtt_ns: u64,
    /// what waited on the path in the latest round, and when that was measured last
    pub queueing_ns: u64,
    pub heard_ns: u64,
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
    pub retransmits: u64,
    pub local_retransmits: u64,
    /// down: acknowledgements that carried nothing else
    pub pure_acks: u64,
    pub ttl: u8,
    /// down: latest data that came when nothing was under way
    pub paused_ns: u64,
    /// something of it waits here
    pub waits: bool,
    /// up: its sender had no more after the latest data
    pub pushed: bool,
    /// not of the mesh
    pub outside: bool,
}

/// What a download's receiver offered with its latest ACK; 0: not known.
fn window_bytes(flow: &mp_flow) -> u32 {
    match flow.at.window_scale.checked_sub(1) {
        Some(shift) if flow.at.dupack.started => flow.at.dupack.window << shift,
        _ => 0,
    }
}

impl From<&mp_flow> for FlowState {
    fn from(flow: &mp_flow) -> Self {
        let at = &flow.at;
        let estimate = &at.estimate;
        Self {
            progress: at.progress,
            max_end: at.sent.max_end,
            hops: at.path.hops,
            kbps: at.path.kbps,
            mean_rtt_ns: law::window_mean_ns(&estimate.window),
            queueing_ns: law::queueing_ns(at),
            heard_ns: law::queueing_heard_ns(at),
            cov_q16: estimate.cov_q16,
            samples: estimate.samples,
            discarded: estimate.discarded,
            segment_bytes: at.segment_bytes,
            window_bytes: window_bytes(flow),
            rtt_wired_us: at.rtt_wired_us,
            interval_ns: at.interval_ns,
            floor_ns: at.floor_ns,
            first_ns: at.first_ns,
            last_ns: at.last_ns,
            data_ns: at.data_ns,
            packets: at.packets,
            bytes: at.bytes,
            retransmits: at.retransmits,
            local_retransmits: at.local_retransmits,
            pure_acks: at.pure_acks,
            ttl: at.ttl,
            paused_ns: at.paused_ns,
            waits: false,
            pushed: at.pushed != 0,
            outside: flow.host.outside != 0,
        }
    }
}

pub type Table = Vec<(mp_flow_key, FlowState)>;

/// Bytes of hosts so far, each direction.
pub type Sums = Vec<(mp_host_key, u64)>;
