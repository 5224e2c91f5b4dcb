// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace sender status`: the sockets that the law paces.
use std::fmt::Write;
use std::net::SocketAddr;

use serde::Serialize;

use super::installed::{self, Installed};
use crate::base::errors::{Context, Result};
use crate::config::Law;
use crate::hosts::radio::By;
use crate::kernel::address::address_of;
use crate::kernel::intf::{self, mp_sender_row, mp_sender_settings, Plain};

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
    /// None: this kernel does not list them
    flows: Option<Vec<Row>>,
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

fn row(row: &mp_sender_row) -> Row {
    let sender = &row.sender;
    let paced = sender.interval_ns > 0;
    let (feedback, wired_us) = (&sender.signalled.feedback, sender.signalled.rtt_wired_us);
    let ms = |us: u32| f64::from(us) / 1e3;
    Row {
        local: SocketAddr::new(address_of(&row.local), row.local_port).to_string(),
        remote: SocketAddr::new(address_of(&row.remote), u16::from_be(row.remote_port)).to_string(),
        rate_kbps: paced.then(|| sender.set_rate as f64 * 8.0 / 1e3),
        limit_kbps: (feedback.bytes_per_s > 0).then(|| feedback.bytes_per_s as f64 * 8.0 / 1e3),
        interval_us: sender.interval_ns as f64 / 1e3,
        rtt_ms: ms(sender.rtt_us),
        rtt_wired_ms: (wired_us > 0).then(|| ms(wired_us)),
        cov: f64::from(sender.estimate.cov_q16) / 65536.0,
        samples: sender.estimate.samples,
        discarded: sender.estimate.discarded,
        signals: sender.signals,
        cwnd: row.cwnd,
        mss: row.mss,
        acked_bytes: row.acked_bytes,
        retransmits: row.retransmits,
        failed: sender.failed,
    }
}

fn read() -> Result<Document> {
    super::permitted()?;
    let Some(installed) = Installed::open()? else {
        return Ok(Document {
            on: false,
            path: None,
            flows: Some(Vec::new()),
        });
    };
    Ok(Document {
        on: true,
        path: Some(path(&installed.settings()?)),
        flows: flows()?,
    })
}

fn flows() -> Result<Option<Vec<Row>>> {
    let list = installed::list();
    if !list.exists() {
        return Ok(None);
    }
    let bytes = std::fs::read(&list).with_context(|| list.display().to_string())?;
    let rows = bytes
        .chunks_exact(size_of::<mp_sender_row>())
        .filter_map(mp_sender_row::from_bytes);
    Ok(Some(rows.map(|r| row(&r)).collect()))
}

fn table(document: &Document) -> String {
    if !document.on {
        return "off; turn it on with: meshpace sender on\n".into();
    }
    let Some(flows) = &document.flows else {
        return "on; flows are paced, but the program that lists them is not there; meshpace doctor says whether this kernel takes it (then meshpace sender off, and on)\n".into();
    };
    let mut out = format!(
        "{:<46} {:>11} {:>8} {:>9} {:>6} {:>8}\n",
        "flow", "rate kbit/s", "RTT ms", "wired ms", "CoV", "MB"
    );
    for flow in flows {
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
