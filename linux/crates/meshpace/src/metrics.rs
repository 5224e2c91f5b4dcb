// SPDX-License-Identifier: GPL-2.0-only
//! The endpoint for Prometheus, off by default: the text format, one series a flow and figure.
use std::fmt::Write;
use std::net::SocketAddr;

use crate::control::Shared;
use crate::errors::{anyhow, Result};
use crate::status::{Flow, Host, Status};

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers GET /metrics in a thread of its own.
pub fn serve(address: SocketAddr, status: Shared) -> Result<()> {
    let server = tiny_http::Server::http(address)
        .map_err(|error| anyhow!("metrics = \"{address}\": {error}; choose another address"))?;
    std::thread::Builder::new()
        .name("metrics".into())
        .spawn(move || {
            for request in server.incoming_requests() {
                let found = request.url() == "/metrics";
                let text = match found {
                    true => render(&status.lock().expect("its holder ended the program")),
                    false => "ask for /metrics\n".into(),
                };
                let header = tiny_http::Header::from_bytes("Content-Type", CONTENT_TYPE);
                let mut response = tiny_http::Response::from_string(text)
                    .with_status_code(if found { 200 } else { 404 });
                if let Ok(header) = header {
                    response.add_header(header);
                }
                if let Err(error) = request.respond(response) {
                    log::debug!("metrics: {error}");
                }
            }
        })?;
    Ok(())
}

/// Name, kind, help and value of what is told of each flow.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Flow) -> Option<f64>,
);

const FIGURES: [Figure; 8] = [
    (
        "acked_bytes_total",
        "counter",
        "Payload acknowledged",
        |f| Some(f.acked_bytes as f64),
    ),
    ("packets_total", "counter", "Data packets", |f| {
        Some(f.packets as f64)
    }),
    (
        "retransmits_total",
        "counter",
        "Data packets seen again",
        |f| Some(f.retransmits as f64),
    ),
    (
        "interval_seconds",
        "gauge",
        "Interval between packets, 0: unpaced",
        |f| Some(f.interval_us / 1e6),
    ),
    (
        "rtt_wireless_seconds",
        "gauge",
        "Mean of RTT_wireless",
        |f| Some(f.rtt_wireless_ms? / 1e3),
    ),
    (
        "rtt_cov",
        "gauge",
        "Coefficient of variation of RTT_wireless",
        |f| Some(f.cov),
    ),
    (
        "throttled",
        "gauge",
        "1: slowed down by goodput control",
        |f| Some(f64::from(u8::from(f.throttled))),
    ),
    ("starved", "gauge", "1: below 5% of the mean", |f| {
        Some(f64::from(u8::from(f.starved)))
    }),
];

fn render(status: &Status) -> String {
    let mut out = String::new();
    for (name, value) in &status.counters {
        let _ = writeln!(
            out,
            "# TYPE meshpace_{name} untyped\nmeshpace_{name} {value}"
        );
    }
    for (name, kind, help, value) in FIGURES {
        let name = format!("meshpace_flow_{name}");
        let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}");
        for flow in &status.flows {
            let Some(value) = value(flow) else { continue };
            let Flow {
                mesh,
                wired,
                direction,
                hops,
                ..
            } = flow;
            let _ = writeln!(
                out,
                "{name}{{mesh=\"{mesh}\",wired=\"{wired}\",direction=\"{direction}\",hops=\"{hops}\"}} {value}"
            );
        }
    }
    render_caps(&mut out, &status.hosts);
    out
}

/// What hosts may get; those without a cap have no series.
fn render_caps(out: &mut String, hosts: &[Host]) {
    let name = "meshpace_host_cap_bits_per_second";
    let _ = writeln!(
        out,
        "# HELP {name} What the host may get (law even).\n# TYPE {name} gauge"
    );
    for host in hosts {
        for (direction, cap) in [("down", host.cap_down_kbps), ("up", host.cap_up_kbps)] {
            let Some(kbps) = cap else { continue };
            let address = &host.address;
            let _ = writeln!(
                out,
                "{name}{{host=\"{address}\",direction=\"{direction}\"}} {}",
                kbps * 1e3
            );
        }
    }
}
