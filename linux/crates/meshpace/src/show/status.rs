// SPDX-License-Identifier: GPL-2.0-only
//! What a running gateway tells of itself: the document of `status --json`, whose schema is docs/operate/status.schema.json.
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hosts::radio::Surroundings;
use crate::setup::unpaced::VERSIONS;
use crate::show::tries::{Ended, Running};

/// A word out of few, which takes no memory of its own in the gateway: its tables may be full.
pub type Word = Cow<'static, str>;

/// One flow: one direction of the data of a TCP connection, with the mesh side's addresses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flow {
    pub mesh: String,
    pub wired: String,
    /// "down": wired to wireless, paced here; "up": wireless to wired
    pub direction: Word,
    pub hops: u32,
    pub hops_source: Word,
    pub mbps: f64,
    pub mbps_source: Word,
    /// down: smoothed mean of the window; None: no sample yet
    pub rtt_wireless_ms: Option<f64>,
    /// up: as told to the sender last; down: of the handshake
    pub rtt_wired_ms: Option<f64>,
    pub cov: f64,
    /// between packets; 0: unpaced
    pub interval_us: f64,
    /// what the interval allows, payload; None: unpaced
    pub rate_kbps: Option<f64>,
    /// acknowledged payload over the latest second
    pub goodput_kbps: f64,
    pub throttled: bool,
    pub starved: bool,
    pub packets: u64,
    pub bytes: u64,
    pub acked_bytes: u64,
    pub samples: u32,
    pub discarded: u32,
    pub retransmits: u64,
    pub local_retransmits: u64,
    pub age_s: f64,
    pub idle_s: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    /// the one that stands for all of the host's
    pub address: String,
    /// those in use
    #[serde(default)]
    pub addresses: Vec<String>,
    /// of the configuration, that makes them one host
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub hops: u32,
    pub hops_source: Word,
    pub mbps: f64,
    pub mbps_source: Word,
    pub signal_dbm: Option<i32>,
    /// law `even`: new data of it was acknowledged in the latest seconds
    #[serde(default)]
    pub active_down: bool,
    #[serde(default)]
    pub active_up: bool,
    /// law `even`: what the host may get, payload; None: no cap
    pub cap_down_kbps: Option<f64>,
    pub cap_up_kbps: Option<f64>,
    /// fairness `air`, `rate`: as so many hosts it counts; None: as one
    #[serde(default)]
    pub weight: Option<f64>,
    /// fairness `air`, `rate`: what it is to have at least, payload; None: nothing is stated
    #[serde(default)]
    pub least_kbps: Option<f64>,
    /// fairness `air`, `rate`: what the host gets when it is alone, payload, as learnt so far; None: not known
    #[serde(default)]
    pub alone_down_kbps: Option<f64>,
    #[serde(default)]
    pub alone_up_kbps: Option<f64>,
    /// acknowledged payload over the latest second, and what is not TCP with its IP headers
    #[serde(default)]
    pub goodput_down_kbps: f64,
    #[serde(default)]
    pub goodput_up_kbps: f64,
    /// what it is promised: 1/n of what it gets alone, beside what its other direction takes; None: not known
    #[serde(default)]
    pub part_down_kbps: Option<f64>,
    #[serde(default)]
    pub part_up_kbps: Option<f64>,
    /// what it gets, of that: 1 is all of it; None: not known
    #[serde(default)]
    pub part: Option<f64>,
    /// what waits of it in the mesh; None: nothing was heard
    #[serde(default)]
    pub waits_ms: Option<f64>,
    /// medians of its flows'
    #[serde(default)]
    pub rtt_wireless_ms: Option<f64>,
    #[serde(default)]
    pub rtt_wired_ms: Option<f64>,
    /// what bounds what it gets, in a word or two (`words` of why.rs)
    #[serde(default)]
    pub bounded_by: Word,
    /// it wants more and has got less than its part for three seconds
    #[serde(default)]
    pub underserved: bool,
    /// a sentence, where it is underserved or its route is lost
    #[serde(default)]
    pub why: Option<String>,
    /// where nothing is held: what the law would hold it to
    #[serde(default)]
    pub would_cap_down_kbps: Option<f64>,
    #[serde(default)]
    pub would_cap_up_kbps: Option<f64>,
    /// of its first hop, under the law `map`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Box<Surroundings>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    pub pid: u32,
    pub mesh: String,
    pub wired: Vec<String>,
    /// "ready", or why packets pass as without meshpace at the moment
    #[serde(default)]
    pub state: String,
    pub law: String,
    /// of this moment: "observe" as long as something is missing for another
    pub release: String,
    /// "tcx", or "clsact" on kernels before 6.6; "none": something else took the programs off
    pub attached: String,
    pub goodput_control: bool,
    /// law `even`: hosts share evenly
    pub shares: bool,
    /// law `even`: "air" or "rate"
    #[serde(default)]
    pub fairness: String,
    /// law `even`: the air that several hosts share, 1 where one frame is in it at a time; None: nobody
    /// shares it
    #[serde(default)]
    pub air: Option<f64>,
    pub uptime_s: f64,
    pub flows: Vec<Flow>,
    pub hosts: Vec<Host>,
    pub counters: BTreeMap<String, u64>,
    /// a try of pacing that goes on
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub trying: Option<Running>,
    /// the latest one that is over, since the gateway was started
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_try: Option<Ended>,
}

impl Host {
    pub fn is_active(&self) -> bool {
        self.active_down || self.active_up || self.goodput_kbps() > 0.0
    }

    pub fn goodput_kbps(&self) -> f64 {
        self.goodput_down_kbps + self.goodput_up_kbps
    }

    /// What its goodput is shown beside: what it is promised, else what it is held to; down and up.
    pub fn parts_kbps(&self) -> [Option<f64>; 2] {
        [
            self.part_down_kbps.or(self.cap_down_kbps),
            self.part_up_kbps.or(self.cap_up_kbps),
        ]
    }
}

impl Status {
    /// Hosts as they are shown: who lacks something first, then who has most, then who is not there.
    pub fn ordered(&self) -> Vec<&Host> {
        let mut hosts: Vec<_> = self.hosts.iter().collect();
        hosts.sort_by(|a, b| {
            let rank = |host: &Host| (!host.underserved, host.why.is_none(), !host.is_active());
            let most = || b.goodput_kbps().total_cmp(&a.goodput_kbps());
            rank(a).cmp(&rank(b)).then_with(most)
        });
        hosts
    }

    /// Why packets pass as without meshpace, all or those of one IP version; None: they do not.
    pub fn fault(&self) -> Option<&str> {
        Some(self.state.as_str()).filter(|state| !matches!(*state, "" | "ready"))
    }

    /// The same as a clause: which packets pass, and why.
    pub fn passes(&self) -> Option<String> {
        let fault = self.fault()?;
        let of_one = fault
            .split_once(": ")
            .filter(|(version, _)| VERSIONS.contains(version));
        Some(match of_one {
            Some((version, why)) => {
                format!("{version} passes as without meshpace, and the rest does not: {why}")
            }
            None => format!("packets pass as without meshpace: {fault}"),
        })
    }
}
