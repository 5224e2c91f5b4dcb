// SPDX-License-Identifier: GPL-2.0-only
//! The tables of `status` and `top`: who is there and who gets what part; flows where they are asked for.
use std::fmt::Write;

use crate::show::status::{Flow, Host, Status};
use crate::show::tries;

fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.decimals$}"))
}

/// Columns of which the names stand to the left, figures to the right.
struct Table<const N: usize> {
    headings: [&'static str; N],
    left: [bool; N],
    rows: Vec<[String; N]>,
    /// below a row
    notes: Vec<Option<String>>,
}

impl<const N: usize> Table<N> {
    fn write(&self, out: &mut String) {
        let width = |i: usize| {
            let cells = self.rows.iter().map(|row| row[i].chars().count());
            cells.chain([self.headings[i].len()]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..N).map(width).collect();
        let mut line = |cells: &[String; N], note: Option<&String>| {
            for (i, cell) in cells.iter().enumerate() {
                let width = widths[i];
                let _ = match self.left[i] {
                    true => write!(out, "{cell:width$}  "),
                    false => write!(out, "{cell:>width$}  "),
                };
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
            if let Some(note) = note {
                let _ = writeln!(out, "    {note}");
            }
        };
        line(&self.headings.map(String::from), None);
        for (row, note) in self.rows.iter().zip(&self.notes) {
            line(row, note.as_ref());
        }
    }
}

/// Its address, and its group's name: that comes from a configuration, of which control characters are refused.
fn name(host: &Host) -> String {
    match &host.group {
        Some(group) => format!("{} ({group})", host.address),
        None => host.address.clone(),
    }
}

fn activity(host: &Host) -> &'static str {
    match (host.active_down, host.active_up) {
        (true, true) => "down, up",
        (true, false) => "down",
        (false, true) => "up",
        (false, false) => "no",
    }
}

fn host_row(host: &Host) -> [String; 10] {
    let [part_down, part_up] = host.parts_kbps();
    [
        name(host),
        activity(host).into(),
        host.hops.to_string(),
        format!("{:.0}", host.goodput_down_kbps),
        optional(part_down, 0),
        format!("{:.0}", host.goodput_up_kbps),
        optional(part_up, 0),
        optional(host.rtt_wireless_ms, 1),
        optional(host.rtt_wired_ms, 1),
        host.bounded_by.to_string(),
    ]
}

/// In so many lines at most; who lacks something comes first, and a line below says why.
pub fn hosts(status: &Status, mut lines: usize) -> String {
    let all = status.ordered();
    let has_room = |host: &&&Host| {
        let takes = 1 + usize::from(host.why.is_some());
        let fits = lines >= takes;
        lines = lines.saturating_sub(takes);
        fits
    };
    let shown: Vec<_> = all.iter().take_while(has_room).collect();
    let mut out = headline(status);
    let table = Table {
        headings: [
            "host",
            "active",
            "hops",
            "down",
            "its part",
            "up",
            "its part",
            "mesh ms",
            "wires ms",
            "bounded by",
        ],
        left: [
            true, true, false, false, false, false, false, false, false, true,
        ],
        rows: shown.iter().map(|host| host_row(host)).collect(),
        notes: shown.iter().map(|host| host.why.clone()).collect(),
    };
    table.write(&mut out);
    more(&mut out, all.len() - shown.len());
    out
}

fn more(out: &mut String, others: usize) {
    if others > 0 {
        let _ = writeln!(out, "... and {others} more");
    }
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
        let down = self.direction == "down";
        let rtt = if down {
            self.rtt_wireless_ms
        } else {
            self.rtt_wired_ms
        };
        let arrow = if down { "<-" } else { "->" };
        [
            format!("{} {arrow} {}", self.mesh, self.wired),
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

/// The fastest flows first, at most so many of them.
pub fn flows(status: &Status, most: usize) -> String {
    let mut flows: Vec<_> = status.flows.iter().collect();
    flows.sort_by(|a, b| b.goodput_kbps.total_cmp(&a.goodput_kbps));
    let rows: Vec<_> = flows.iter().take(most).map(|flow| flow.row()).collect();
    let mut out = headline(status);
    let table = Table {
        headings: [
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
        ],
        left: [
            true, true, false, true, false, false, false, false, false, true,
        ],
        notes: vec![None; rows.len()],
        rows,
    };
    table.write(&mut out);
    more(&mut out, flows.len().saturating_sub(most));
    out
}

/// The gateway in a line, who lacks something in another, and why packets pass unpaced where they do.
fn headline(status: &Status) -> String {
    let air = status.air.map(|air| format!(" (air {air:.2})"));
    let count = |which: fn(&Host) -> bool| status.hosts.iter().filter(|host| which(host)).count();
    // Rust's sum of nothing is -0.
    let goodput = status.hosts.iter().map(Host::goodput_kbps);
    let total = goodput.fold(0.0, |sum, kbps| sum + kbps);
    let mut out = format!(
        "meshpace {} on {}, law {}{}, release {}, up {:.0} s: {} hosts, {} active, {} underserved; {} flows, {total:.0} kbit/s\n",
        status.version,
        status.mesh,
        status.law,
        air.unwrap_or_default(),
        status.release,
        status.uptime_s,
        status.hosts.len(),
        count(Host::is_active),
        count(|host| host.underserved),
        status.flows.len(),
    );
    if let Some(passes) = status.passes() {
        let _ = writeln!(out, "{passes}");
    }
    out += &tries::headlines(status.trying.as_ref(), status.latest_try.as_ref());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn host(address: &str, goodput_down_kbps: f64) -> Host {
        Host {
            address: address.into(),
            active_down: goodput_down_kbps > 0.0,
            goodput_down_kbps,
            part_down_kbps: (goodput_down_kbps > 0.0).then_some(900.0),
            bounded_by: "its share".into(),
            ..Host::default()
        }
    }

    #[test]
    fn who_lacks_something_comes_first_and_it_is_said_why() {
        let starved = Host {
            underserved: true,
            why: Some("It gets a tenth.".into()),
            group: Some("the school".into()),
            ..host("10.1.0.4", 90.0)
        };
        let hosts_of = vec![host("10.1.0.3", 0.0), host("10.1.0.2", 800.0), starved];
        let mut status = Status {
            hosts: hosts_of,
            ..Status::default()
        };
        let told = hosts(&status, 3);
        let lines: Vec<_> = told.lines().collect();
        assert!(
            lines[0].contains("3 hosts, 2 active, 1 underserved"),
            "{told}"
        );
        assert!(
            lines[3].starts_with("10.1.0.4 (the school)  down"),
            "{told}"
        );
        assert_eq!(lines[4], "    It gets a tenth.");
        assert!(lines[5].contains("800       900"), "{told}");
        assert_eq!(lines[6], "... and 1 more");
        status.state = "wlan0 is gone".into();
        assert!(hosts(&status, usize::MAX)
            .contains("packets pass as without meshpace: wlan0 is gone\n"));
        status.state = "IPv6: its rules are gone".into();
        let told = hosts(&status, usize::MAX);
        assert!(!told.contains("packets pass"), "IPv4 is paced: {told}");
        assert!(told.contains("\nIPv6 passes as without meshpace"), "{told}");
    }
}
