// SPDX-License-Identifier: GPL-2.0-only
//! The page for operators as it is written here, whole without a script; page/page.js renews it and draws the pictures.
use std::fmt::Write;

use crate::show::status::{Host, Status};

const PAGE: &str = include_str!("page/page.html");
pub const STYLE: &str = include_str!("page/page.css");
pub const SCRIPT: &str = include_str!("page/page.js");
pub const ICON: &str = include_str!("page/icon.svg");
/// Where in page.html the gateway's state stands.
const STATE: &str = "<!--state-->";
/// Rows, at most: who lacks something comes first.
const ROWS: usize = 200;

/// What comes from outside as text, in an element and in an attribute.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

pub fn render(status: &Status) -> String {
    let (before, after) = PAGE.split_once(STATE).unwrap_or((PAGE, ""));
    let mut out = String::from(before);
    gateway(&mut out, status);
    hosts(&mut out, status);
    out + after
}

fn rate(kbps: f64) -> String {
    match kbps {
        kbps if kbps < 999.5 => format!("{kbps:.0} kbit/s"),
        kbps if kbps < 99_950.0 => format!("{:.1} Mbit/s", kbps / 1e3),
        kbps => format!("{:.0} Mbit/s", kbps / 1e3),
    }
}

fn time(seconds: f64) -> String {
    let minutes = (seconds / 60.0) as u64;
    match minutes {
        0 => format!("{seconds:.0} s"),
        1..=119 => format!("{minutes} min"),
        120..=2879 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

fn gateway(out: &mut String, status: &Status) {
    let count = |which: fn(&Host) -> bool| status.hosts.iter().filter(|host| which(host)).count();
    let sum = |of: fn(&Host) -> f64| rate(status.hosts.iter().map(of).sum());
    let _ = write!(
        out,
        "<h1>meshpace on {}</h1><p>{} hosts, {} active, <b>{} underserved</b>; down {}, up {}. Law {}, release {}, up {}.</p>",
        escape(&status.mesh),
        status.hosts.len(),
        count(Host::is_active),
        count(|host| host.underserved),
        sum(|host| host.goodput_down_kbps),
        sum(|host| host.goodput_up_kbps),
        escape(&status.law),
        escape(&status.release),
        time(status.uptime_s),
    );
    match status.passes() {
        Some(passes) => {
            let _ = write!(out, "<p class=bad>Fault: {}.</p>", escape(&passes));
        }
        None if status.release == "observe" => {
            *out += "<p class=note>Nothing is paced: this gateway only observes.</p>";
        }
        None => {}
    }
}

const HEADINGS: [&str; 6] = ["Host", "Active", "Down", "Up", "Latency", "Bounded by"];

fn hosts(out: &mut String, status: &Status) {
    *out += "<table><thead><tr>";
    for heading in HEADINGS {
        let _ = write!(out, "<th>{heading}");
    }
    *out += "</thead><tbody>";
    let all = status.ordered();
    all.iter().take(ROWS).for_each(|host| row(out, host));
    *out += "</tbody></table>";
    if all.is_empty() {
        *out += "<p>Nobody is there.</p>";
    }
    if all.len() > ROWS {
        let _ = write!(out, "<p>... and {} more", all.len() - ROWS);
    }
}

fn row(out: &mut String, host: &Host) {
    let group = host.group.as_deref().map(escape).unwrap_or_default();
    let hops = if host.hops == 1 { "hop" } else { "hops" };
    let class = match (host.underserved, host.is_active()) {
        (true, _) => "lacks",
        (_, true) => "there",
        _ => "away",
    };
    let active = if host.is_active() { "yes" } else { "no" };
    let _ = write!(
        out,
        "<tr class={class}><th scope=row>{} <b>{group}</b><small>{} {hops}</small><td data-of=Active>{active}",
        escape(&host.address),
        host.hops,
    );
    let [part_down, part_up] = host.parts_kbps();
    direction(out, "Down", host.goodput_down_kbps, part_down);
    direction(out, "Up", host.goodput_up_kbps, part_up);
    let ms = |ms: Option<f64>| ms.map_or_else(|| "–".into(), |ms| format!("{ms:.0} ms"));
    let _ = write!(
        out,
        "<td data-of=Latency>mesh {}, <br>wires {}<td data-of=\"Bounded by\">{}",
        ms(host.rtt_wireless_ms),
        ms(host.rtt_wired_ms),
        escape(&host.bounded_by)
    );
    if let Some(why) = &host.why {
        let _ = write!(out, "<tr class=why><td colspan=6>{}", escape(why));
    }
}

/// Goodput beside the part: a bar as long as the greater of the two, and a mark at the part.
fn direction(out: &mut String, name: &str, kbps: f64, part_kbps: Option<f64>) {
    let _ = write!(out, "<td data-of={name}>{}", rate(kbps));
    let Some(part) = part_kbps.filter(|part| *part > 0.0) else {
        return;
    };
    let whole = kbps.max(part);
    let (got, mark) = (kbps / whole * 100.0, part / whole * 98.0);
    let _ = write!(
        out,
        "<small>of {}</small><svg viewBox=\"0 0 100 6\" preserveAspectRatio=none aria-hidden=true>\
         <rect class=all width=100 height=6 /><rect class=got width={got:.0} height=6 />\
         <rect class=mark x={mark:.0} width=2 height=6 /></svg>",
        rate(part)
    );
}
