// SPDX-License-Identifier: GPL-2.0-only
//! The endpoint for Prometheus, off by default: the text format, one series a flow and figure.
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use crate::base::errors::{anyhow, Result};
use crate::show::control::{latest, Rendered, Shared};
use crate::show::http;
use crate::show::serve::{self, Answer};
use crate::show::status::{Flow, Host, Status};

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers GET /metrics.
pub fn serve(address: SocketAddr, status: Shared) -> Result<()> {
    let listener = TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| anyhow!("metrics = \"{address}\": {error}; choose another address"))?;
    let mut text = Rendered::default();
    serve::start("metrics", listener, move |request, full| {
        let status = || text.of(&latest(&status), |status| render(status).into_bytes());
        respond(request, full, status)
    })
}

/// One request, one answer.
fn respond(request: &[u8], full: bool, text: impl FnOnce() -> Arc<Vec<u8>>) -> Option<Answer> {
    let request = match http::read(request, full)? {
        Ok(request) => request,
        Err(status) => return Some(refusal(status)),
    };
    Some(match (request.method, request.path) {
        ("GET", "/metrics") => answer("200 OK", text()),
        ("GET", _) => answer("404 Not Found", Arc::new(b"ask for /metrics\n".to_vec())),
        _ => refusal("405 Method Not Allowed"),
    })
}

fn refusal(status: &str) -> Answer {
    answer(status, Arc::default())
}

fn answer(status: &str, body: Arc<Vec<u8>>) -> Answer {
    http::answer(status, CONTENT_TYPE, "", body)
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
    render_hosts(&mut out, &status.hosts);
    render_states(&mut out, &status.hosts);
    render_ready(&mut out, status);
    render_air(&mut out, status.air);
    out
}

/// A figure of hosts: its name, its help, its value down and up in kbit/s.
type HostFigure = (&'static str, &'static str, fn(&Host) -> [Option<f64>; 2]);

const HOST_FIGURES: [HostFigure; 4] = [
    (
        "goodput",
        "What the host got over the latest second",
        |host| [Some(host.goodput_down_kbps), Some(host.goodput_up_kbps)],
    ),
    (
        "part",
        "What the host is promised, 1/n of what it gets alone",
        |host| [host.part_down_kbps, host.part_up_kbps],
    ),
    ("cap", "What the host may get (law even)", |host| {
        [host.cap_down_kbps, host.cap_up_kbps]
    }),
    (
        "alone",
        "What the host gets when it is alone, as learnt (fairness air, rate)",
        |host| [host.alone_down_kbps, host.alone_up_kbps],
    ),
];

/// A figure of hosts of both directions together: its name, its help, its value.
type HostState = (&'static str, &'static str, fn(&Host) -> Option<f64>);

const HOST_STATES: [HostState; 5] = [
    (
        "active",
        "1: new data of it were acknowledged lately",
        |host| Some(f64::from(u8::from(host.is_active()))),
    ),
    (
        "underserved",
        "1: it wants more and gets less than its part",
        |host| Some(f64::from(u8::from(host.underserved))),
    ),
    ("hops", "Wireless hops to it", |host| Some(host.hops.into())),
    (
        "rtt_wireless_seconds",
        "Median of its flows' RTT_wireless",
        |host| Some(host.rtt_wireless_ms? / 1e3),
    ),
    (
        "rtt_wired_seconds",
        "Median of its flows' RTT_wired",
        |host| Some(host.rtt_wired_ms? / 1e3),
    ),
];

/// What is known of hosts; where nothing is, there is no series.
fn render_hosts(out: &mut String, hosts: &[Host]) {
    for (name, help, values) in HOST_FIGURES {
        let name = format!("meshpace_host_{name}_bits_per_second");
        let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} gauge");
        for host in hosts {
            for (direction, kbps) in ["down", "up"].into_iter().zip(values(host)) {
                let Some(kbps) = kbps else { continue };
                let address = &host.address;
                let _ = writeln!(
                    out,
                    "{name}{{host=\"{address}\",direction=\"{direction}\"}} {}",
                    kbps * 1e3
                );
            }
        }
    }
}

fn render_states(out: &mut String, hosts: &[Host]) {
    for (name, help, value) in HOST_STATES {
        let name = format!("meshpace_host_{name}");
        let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} gauge");
        for host in hosts {
            let Some(value) = value(host) else { continue };
            let _ = writeln!(out, "{name}{{host=\"{}\"}} {value}", host.address);
        }
    }
}

/// Whether packets are paced as they are meant to be.
fn render_ready(out: &mut String, status: &Status) {
    let ready = u8::from(status.fault().is_none());
    let _ = writeln!(
        out,
        "# HELP meshpace_ready 0: packets pass as without meshpace for a fault, all or those of one IP version.\n# TYPE meshpace_ready gauge\nmeshpace_ready {ready}"
    );
}

/// The air that hosts share; nobody shares it: no series.
fn render_air(out: &mut String, air: Option<f64>) {
    let name = "meshpace_air";
    let _ = writeln!(
        out,
        "# HELP {name} The air that several hosts share, 1 where what was learnt is exact.\n# TYPE {name} gauge"
    );
    if let Some(air) = air {
        let _ = writeln!(out, "{name} {air}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_of(request: &[u8], full: bool) -> Option<String> {
        let text = || Arc::new(b"figures".to_vec());
        let answer = respond(request, full, text)?;
        answer.head.split(' ').nth(1).map(String::from)
    }

    #[test]
    fn one_request_has_one_answer() {
        for (request, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
            ("GET /metrics?x=1 HTTP/1.0\n\n", "200"),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET /metrics SIP/2.0\r\n\r\n", "400"),
            ("\u{fe}\r\n\r\n", "400"),
        ] {
            assert_eq!(
                status_of(request.as_bytes(), false).as_deref(),
                Some(expected),
                "{request:?}"
            );
        }
        assert_eq!(
            status_of(b"\xff\xfe \r\n\r\n", false).as_deref(),
            Some("400")
        );
    }

    #[test]
    fn an_unfinished_request_waits_and_a_huge_one_is_refused() {
        assert_eq!(status_of(b"GET /metrics HTTP/1.1\r\nA: ", false), None);
        assert_eq!(
            status_of(b"GET /metrics HTTP/1.1\r\nA: ", true).as_deref(),
            Some("431")
        );
    }

    #[test]
    fn of_hosts_and_of_the_air_only_what_is_known_is_told() {
        let host = Host {
            address: "10.1.0.2".into(),
            cap_down_kbps: Some(6000.0),
            alone_down_kbps: Some(12000.0),
            ..Host::default()
        };
        let mut status = Status {
            hosts: vec![host],
            air: Some(1.25),
            ..Status::default()
        };
        let of_host = |name: &str, direction: &str| {
            format!("meshpace_host_{name}_bits_per_second{{host=\"10.1.0.2\",direction=\"{direction}\"}}")
        };
        let told = render(&status);
        assert!(
            told.contains(&format!("{} 6000000\n", of_host("cap", "down"))),
            "{told}"
        );
        assert!(
            told.contains(&format!("{} 12000000\n", of_host("alone", "down"))),
            "{told}"
        );
        assert!(told.contains("\nmeshpace_air 1.25\n"), "{told}");
        assert!(!told.contains(&of_host("cap", "up")), "{told}");
        assert!(!told.contains(&of_host("part", "down")), "{told}");
        assert!(
            told.contains("meshpace_host_underserved{host=\"10.1.0.2\"} 0\n"),
            "{told}"
        );
        assert!(told.contains("\nmeshpace_ready 1\n"), "{told}");
        status.air = None;
        assert!(
            !render(&status).contains("\nmeshpace_air "),
            "nobody shares it"
        );
    }
}
