// SPDX-License-Identifier: GPL-2.0-only
//! What a running gateway tells of itself: the document of `status --json`, and its table.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::hosts::radio::Surroundings;
use crate::show::tries::{self, Ended, Running};

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

fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.decimals$}"))
}

impl Flow {
    fn mark(&self) -> &'static str {
        match (self.throttled, self.starved) {
            (_, true) => "starved",
            (true, false) => "throttled",
            _ => "",
        }
    }

    fn row(&self) -> [String; 10] {
        let rtt = if self.direction == "down" {
            self.rtt_wireless_ms
        } else {
            self.rtt_wired_ms
        };
        [
            format!(
                "{} {} {}",
                self.mesh,
                if self.direction == "down" { "<-" } else { "->" },
                self.wired
            ),
            self.direction.to_string(),
            self.hops.to_string(),
            self.hops_source.to_string(),
            optional(rtt, 1),
            format!("{:.2}", self.cov),
            optional(self.rate_kbps, 0),
            format!("{:.0}", self.goodput_kbps),
            format!("{:.1}", self.acked_bytes as f64 / 1e6),
            self.mark().into(),
        ]
    }
}

const HEADINGS: [&str; 10] = [
    "flow",
    "",
    "hops",
    "by",
    "RTT ms",
    "CoV",
    "rate kbit/s",
    "goodput",
    "MB",
    "",
];

/// The table of `status` and `top`: the fastest flows first, at most `most` of them.
pub fn table(status: &Status, most: usize) -> String {
    let mut flows: Vec<_> = status.flows.iter().collect();
    flows.sort_by(|a, b| b.goodput_kbps.total_cmp(&a.goodput_kbps));
    let rows: Vec<_> = flows.iter().take(most).map(|flow| flow.row()).collect();
    let width = |i: usize| {
        rows.iter()
            .map(|row| row[i].chars().count())
            .chain([HEADINGS[i].len()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..HEADINGS.len()).map(width).collect();
    let mut out = headline(status);
    let mut line = |cells: &[String; 10]| {
        for (i, cell) in cells.iter().enumerate() {
            let width = widths[i];
            // Names to the left, figures to the right.
            let _ = match i {
                0 | 1 | 3 | 9 => write!(out, "{cell:width$}  "),
                _ => write!(out, "{cell:>width$}  "),
            };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    line(&HEADINGS.map(String::from));
    rows.iter().for_each(&mut line);
    if flows.len() > most {
        let _ = writeln!(out, "... and {} more", flows.len() - most);
    }
    out
}

fn headline(status: &Status) -> String {
    // Rust's sum of nothing is -0.
    let total = status
        .flows
        .iter()
        .fold(0.0, |sum, flow| sum + flow.goodput_kbps);
    let air = status.air.map(|air| format!(" (air {air:.2})"));
    format!(
        "meshpace {} on {}, law {}{}, release {}, up {:.0} s: {} flows, {total:.0} kbit/s\n{}{}\n",
        status.version,
        status.mesh,
        status.law,
        air.unwrap_or_default(),
        status.release,
        status.uptime_s,
        status.flows.len(),
        match status.state.as_str() {
            "" | "ready" => String::new(),
            state => format!("packets pass as without meshpace: {state}\n"),
        },
        tries::headlines(status.trying.as_ref(), status.latest_try.as_ref()),
    )
}
