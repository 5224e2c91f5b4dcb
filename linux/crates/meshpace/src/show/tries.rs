// SPDX-License-Identifier: GPL-2.0-only
//! What `status` tells of a try of pacing: how long it goes on, and how what hosts had compares with what they had before.
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::policy::compare::{Compared, Sum};

/// A try that goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Running {
    /// tells it from others
    pub number: u64,
    pub left_s: f64,
}

/// While nothing was paced, or while it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Time {
    /// that the host was at work: it wanted more than it got
    pub work_s: f64,
    /// acknowledged payload meanwhile
    pub goodput_kbps: Option<f64>,
    /// mean of RTT_wireless meanwhile
    pub rtt_wireless_ms: Option<f64>,
}

/// A host, or all of them together, whose address is empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    pub address: String,
    pub observed: Time,
    pub paced: Time,
    /// at work long enough at both times for a comparison
    pub tells: bool,
    /// pacing made it worse (core's retreat.h)
    pub worse: bool,
}

/// A try that is over.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ended {
    pub number: u64,
    pub why: String,
    /// by itself, since it made things worse
    pub retreated: bool,
    pub paced_s: f64,
    pub hosts: Vec<Row>,
    pub all: Row,
}

impl From<&Sum> for Time {
    fn from(sum: &Sum) -> Self {
        Self {
            work_s: sum.work.as_secs_f64(),
            goodput_kbps: sum.kbps(),
            rtt_wireless_ms: sum.wait_ms(),
        }
    }
}

impl From<Compared> for Row {
    fn from(row: Compared) -> Self {
        Self {
            observed: Time::from(&row.before),
            paced: Time::from(&row.paced),
            address: row.address,
            tells: row.tells,
            worse: row.worse,
        }
    }
}

/// "9 min 5 s".
pub fn span(seconds: f64) -> String {
    let whole = seconds.ceil().max(0.0) as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes} min {rest} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

/// The lines under the first one of `status` and `top`.
pub fn headlines(running: Option<&Running>, ended: Option<&Ended>) -> String {
    match (running, ended) {
        (Some(running), _) => format!(
            "a try: paces for another {}, then observes again (meshpace try --stop: at once; --stay: keeps pacing)\n",
            span(running.left_s)
        ),
        (None, Some(ended)) => format!("the latest try is over: {}\n", ended.why),
        (None, None) => String::new(),
    }
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.0}"))
}

/// What a host's row ends with.
fn remark(row: &Row) -> &'static str {
    match (row.worse, row.tells) {
        (true, _) => "worse",
        (false, true) => "",
        (false, false) => "too little traffic to compare",
    }
}

impl Ended {
    /// As `try` prints it at its end, and the log has it.
    pub fn table(&self) -> String {
        let mut out = format!("{} (paced for {})\n", self.why, span(self.paced_s));
        if self.hosts.is_empty() {
            out += "Nobody wanted more than he got meanwhile: there is nothing to compare.\n";
            return out;
        }
        let mut rows: Vec<(&str, &Row)> =
            self.hosts.iter().map(|row| (&*row.address, row)).collect();
        rows.push(("all", &self.all));
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let _ = writeln!(
            out,
            "{:width$}  goodput, kbit/s     wait in the mesh, ms",
            ""
        );
        let _ = writeln!(
            out,
            "{:width$}  observed     paced  observed     paced",
            "host"
        );
        for (name, row) in rows {
            let line = format!(
                "{name:width$}  {:>8}  {:>8}  {:>8}  {:>8}  {}",
                figure(row.observed.goodput_kbps),
                figure(row.paced.goodput_kbps),
                figure(row.observed.rtt_wireless_ms),
                figure(row.paced.rtt_wireless_ms),
                remark(row)
            );
            out += line.trim_end();
            out.push('\n');
        }
        if !self.all.tells {
            out += "Too little traffic to say anything: it takes a host that wants more than it gets for 45 s before, and \
                    45 s while pacing.\n";
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(kbps: f64, ms: f64) -> Time {
        Time {
            work_s: 60.0,
            goodput_kbps: Some(kbps),
            rtt_wireless_ms: Some(ms),
        }
    }

    #[test]
    fn what_is_left_reads_well() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (-3.0, "0 s"),
            (59.2, "1 min 0 s"),
            (600.0, "10 min 0 s"),
            (86_400.0, "24 h 0 min"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn a_comparison_says_where_there_is_too_little_for_one() {
        let row = |address: &str, tells| Row {
            address: address.into(),
            observed: time(4210.4, 181.6),
            paced: time(4100.0, 40.0),
            tells,
            worse: false,
        };
        let mut ended = Ended {
            why: "its time is over".into(),
            paced_s: 600.0,
            hosts: vec![row("10.1.0.2", true), row("10.1.0.30", false)],
            all: row("", true),
            ..Ended::default()
        };
        let table = ended.table();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "its time is over (paced for 10 min 0 s)");
        assert_eq!(
            lines[3],
            "10.1.0.2       4210      4100       182        40"
        );
        assert!(lines[4].ends_with("40  too little traffic to compare"));
        assert!(lines[5].starts_with("all "));
        assert_eq!(lines.len(), 6);
        ended.all.tells = false;
        assert!(ended.table().contains("Too little traffic to say anything"));
        ended.hosts.clear();
        assert_eq!(ended.table().lines().count(), 2, "{}", ended.table());
    }
}
