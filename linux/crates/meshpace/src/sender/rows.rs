// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace sender status`: the sockets that the law paces.
use std::fmt::Write;
use std::os::fd::AsFd;

use meshpace_netlink::diag::{self, Kept};
use meshpace_netlink::socket::{Family, NetlinkSocket};
use serde::Serialize;

use super::installed::Installed;
use crate::base::errors::{anyhow, Context, Result};
use crate::config::Law;
use crate::hosts::radio::By;
use crate::kernel::intf::{self, mp_sender, mp_sender_settings, Plain};

#[derive(Serialize)]
struct Row {
    local: String,
    remote: String,
    /// what the law allows, payload; None: unpaced
    rate_kbps: Option<f64>,
    /// what the gateway leaves it of its host's cap; none: no cap
    limit_kbps: Option<f64>,
    interval_us: f64,
    rtt_ms: f64,
    /// None: not told lately, the whole RTT is used
    rtt_wired_ms: Option<f64>,
    cov: f64,
    samples: u32,
    discarded: u32,
    signals: u32,
    cwnd: u32,
    mss: u32,
    acked_bytes: u64,
    retransmits: u32,
    failed: u32,
}

/// The path to the gateway, of all flows; under the law `map` with what its H_cs comes from.
#[derive(Serialize)]
struct Path {
    law: Law,
    hops: u32,
    mbps: f64,
    /// None: not the law `map`, or nothing tells it and 3 is assumed
    h_cs: Option<u16>,
    signal_dbm: Option<f64>,
    /// config or driver
    signal_by: Option<By>,
    sense_dbm: Option<f64>,
    tx_power_dbm: Option<f64>,
    frequency_mhz: Option<u32>,
    base_mbps: Option<f64>,
    cw: Option<u16>,
    slot_us: Option<u8>,
    rts_cts: Option<bool>,
}

#[derive(Serialize)]
struct Document {
    on: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Path>,
    flows: Vec<Row>,
}

fn path(settings: &mp_sender_settings) -> Path {
    let mp_sender_settings { link, radio, .. } = settings;
    let map = settings.law.reuse == intf::mp_reuse_MP_REUSE_CARRIER_SENSE;
    let db = |q8: i16| (map && q8 != 0).then_some(f64::from(q8) / 256.0);
    Path {
        law: Law::of(&settings.law),
        hops: settings.hops,
        mbps: f64::from(settings.kbps) / 1e3,
        h_cs: (link.h_cs > 0).then_some(link.h_cs),
        signal_dbm: db(radio.signal_dbm_q8),
        signal_by: match intf::mp_signal_source::from(settings.signal_source) {
            intf::mp_signal_source_MP_SIGNAL_SOURCE_CONFIGURATION => Some(By::Config),
            intf::mp_signal_source_MP_SIGNAL_SOURCE_DRIVER => Some(By::Driver),
            _ => None,
        },
        sense_dbm: db(radio.sense_dbm_q8),
        tx_power_dbm: db(radio.tx_power_dbm_q8),
        frequency_mhz: (radio.frequency_mhz > 0).then_some(radio.frequency_mhz),
        base_mbps: (link.base_kbps > 0).then_some(f64::from(link.base_kbps) / 1e3),
        cw: (link.cw > 0).then_some(link.cw),
        slot_us: (link.slot_us > 0).then_some(link.slot_us),
        rts_cts: map.then_some(link.rts_cts != 0),
    }
}

fn row(kept: &Kept) -> Option<Row> {
    let sender = mp_sender::from_bytes(&kept.value)?;
    let paced = sender.interval_ns > 0;
    let (feedback, wired_us) = (&sender.signalled.feedback, sender.signalled.rtt_wired_us);
    let ms = |us: u32| f64::from(us) / 1e3;
    Some(Row {
        local: kept.local.to_string(),
        remote: kept.remote.to_string(),
        rate_kbps: paced.then(|| sender.set_rate as f64 * 8.0 / 1e3),
        limit_kbps: (feedback.bytes_per_s > 0).then(|| feedback.bytes_per_s as f64 * 8.0 / 1e3),
        interval_us: sender.interval_ns as f64 / 1e3,
        rtt_ms: ms(sender.rtt_us),
        rtt_wired_ms: (wired_us > 0).then(|| ms(wired_us)),
        cov: f64::from(sender.estimate.cov_q16) / 65536.0,
        samples: sender.estimate.samples,
        discarded: sender.estimate.discarded,
        signals: sender.signals,
        cwnd: kept.cwnd,
        mss: kept.mss,
        acked_bytes: kept.acked_bytes,
        retransmits: kept.retransmits,
        failed: sender.failed,
    })
}

/// The flows of this network namespace: others' have other interfaces.
fn flows() -> Result<Vec<Row>> {
    let map = Installed::sockets()?;
    let mut socket = NetlinkSocket::open(Family::Sockets).context("netlink")?;
    let mut rows = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let request = diag::ask(family, map.as_fd());
        socket
            .exchange(request, |body| {
                rows.extend(diag::parse(body).as_ref().and_then(row))
            })
            .map_err(unseen)?;
    }
    Ok(rows)
}

fn unseen(error: std::io::Error) -> anyhow::Error {
    match error.raw_os_error() {
        Some(libc::ENOENT) => anyhow!(
            "this kernel tells nobody of its sockets (CONFIG_INET_TCP_DIAG), so that flows are paced and \
             cannot be shown; modprobe tcp_diag, on OpenWrt install kmod-inet-diag"
        ),
        _ => anyhow::Error::new(error).context("sock_diag"),
    }
}

fn read() -> Result<Document> {
    super::permitted()?;
    let Some(installed) = Installed::open()? else {
        return Ok(Document {
            on: false,
            path: None,
            flows: Vec::new(),
        });
    };
    Ok(Document {
        on: true,
        path: Some(path(&installed.settings()?)),
        flows: flows()?,
    })
}

fn table(document: &Document) -> String {
    if !document.on {
        return "off; turn it on with: meshpace sender on\n".into();
    }
    let mut out = format!(
        "{:<46} {:>11} {:>8} {:>9} {:>6} {:>8}\n",
        "flow", "rate kbit/s", "RTT ms", "wired ms", "CoV", "MB"
    );
    for flow in &document.flows {
        let optional = |value: Option<f64>| value.map_or_else(|| "-".into(), |v| format!("{v:.1}"));
        let _ = writeln!(
            out,
            "{:<46} {:>11} {:>8.1} {:>9} {:>6.2} {:>8.1}",
            format!("{} -> {}", flow.local, flow.remote),
            optional(flow.rate_kbps),
            flow.rtt_ms,
            optional(flow.rtt_wired_ms),
            flow.cov,
            flow.acked_bytes as f64 / 1e6
        );
    }
    out
}

pub fn show(json: bool) -> Result<()> {
    let document = read()?;
    crate::base::output::print(&if json {
        serde_json::to_string_pretty(&document)? + "\n"
    } else {
        table(&document)
    })
}
