// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace report`: what has been over the latest day, who lacked what, and what pacing would have changed.
use std::fmt::Write;

use serde::Serialize;

use crate::base::errors::Result;
use crate::base::output::print;
use crate::show::control;
use crate::show::history::{Total, Totals};
use crate::show::questions;
use crate::show::status::Status;

/// Pacing for a while, after which all is as it was.
const TRY: &str = "meshpace try 10m";

/// The document of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    mesh: &'a str,
    law: &'a str,
    release: &'a str,
    #[serde(flatten)]
    totals: &'a Totals,
}

pub fn run(mesh: Option<&str>, json: bool) -> Result<()> {
    let status = control::ask(mesh)?;
    let totals = questions::history(&status.mesh)?;
    print(&if json {
        let report = Report {
            mesh: &status.mesh,
            law: &status.law,
            release: &status.release,
            totals: &totals,
        };
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        text(&status, &totals)
    })
}

fn time(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e6 => format!("{:.0} kB", bytes / 1e3),
        bytes if bytes < 1e9 => format!("{:.0} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    }
}

fn name(host: &Total) -> String {
    match &host.group {
        Some(group) => format!("{} ({group})", host.address),
        None => host.address.clone(),
    }
}

fn text(status: &Status, totals: &Totals) -> String {
    let mut hosts: Vec<_> = totals.hosts.iter().filter(|h| h.active_s > 0).collect();
    hosts.sort_by_key(|host| std::cmp::Reverse((host.underserved_s, host.active_s)));
    let mut out = format!(
        "meshpace on {}, law {}, release {}: the latest {}; nothing is kept of before the gateway's start\n",
        status.mesh,
        status.law,
        status.release,
        time(totals.seconds),
    );
    let others = totals.made_room + totals.no_room;
    if others > 0 {
        out += "there were more hosts than are kept: those that were silent longest are not here\n";
    }
    if let Some(passes) = status.passes() {
        let _ = writeln!(out, "{passes}");
    }
    out += "\nWho was there:\n";
    for host in &hosts {
        let (active, got) = (time(host.active_s), size(host.got_bytes));
        let _ = writeln!(out, "  {}: active {active}, got {got}", name(host));
    }
    if hosts.is_empty() {
        out += "  nobody\n";
    }
    lacks(&mut out, status, &hosts);
    let is_paced = status.release != "observe";
    held(&mut out, status, &hosts, is_paced);
    if !is_paced && status.law != "off" {
        let _ = writeln!(
            out,
            "\nTo pace for ten minutes, and then see what changed: {TRY}"
        );
    }
    out
}

fn lacks(out: &mut String, status: &Status, hosts: &[&Total]) {
    let row = |host: &&Total| {
        let percent = 100 * host.underserved_s / host.active_s.max(1);
        let (short, there) = (time(host.underserved_s), time(host.active_s));
        let (lacked, part) = (size(host.lacked_bytes), host.part_kbps);
        format!("for {short} of its {there} ({percent}%); it lacked {lacked} of its part, which was {part:.0} kbit/s on average")
    };
    *out += "\nWho got less than its part (1/n of what it gets alone) and wanted more:\n";
    let those = hosts.iter().filter(|host| host.underserved_s > 0);
    list(out, status, those.map(|host| (host, row(host))), "nobody");
}

fn held(out: &mut String, status: &Status, hosts: &[&Total], is_paced: bool) {
    let (heading, amount) = match is_paced {
        true => ("Whom the law held to its share:", "above that by"),
        false => (
            "What the law would have held hosts to, reckoned from what was seen without it; how they and the mesh would have\n\
             answered nobody knows, so this is no promise:",
            "above that it got",
        ),
    };
    let row = |host: &&Total| {
        let (held, kbps, over) = (time(host.held_s), host.held_kbps, size(host.over_bytes));
        format!("for {held}, to {kbps:.0} kbit/s on average; {amount} {over}")
    };
    let _ = writeln!(out, "\n{heading}");
    let those = hosts.iter().filter(|host| host.held_s > 0);
    let nobody = "nobody: no two hosts wanted more at the same time, or what they get alone was not known yet";
    list(out, status, those.map(|host| (host, row(host))), nobody);
}

/// Hosts, and what there is to say of each; `nobody`: what to say where there is none.
fn list<'a>(
    out: &mut String,
    status: &Status,
    rows: impl Iterator<Item = (&'a &'a Total, String)>,
    nobody: &str,
) {
    if !is_judged(status) {
        let law = &status.law;
        let _ = writeln!(out, "  not known: the law {law} shares nothing out");
        return;
    }
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        let _ = writeln!(out, "  {nobody}");
    }
    for (host, said) in rows {
        let _ = writeln!(out, "  {}: {said}", name(host));
    }
}

/// Whether the law has shares, or would.
fn is_judged(status: &Status) -> bool {
    status.shares || status.law == "off"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(law: &'static str, release: &str) -> Status {
        Status {
            mesh: "bat0".into(),
            law: law.into(),
            release: release.into(),
            shares: law == "even",
            ..Status::default()
        }
    }

    fn totals() -> Totals {
        let near = Total {
            address: "10.1.0.2".into(),
            active_s: 7200,
            held_s: 3000,
            held_kbps: 5000.0,
            over_bytes: 900_000_000,
            got_bytes: 4_000_000_000,
            ..Total::default()
        };
        let far = Total {
            address: "10.1.0.9".into(),
            group: Some("the school".into()),
            active_s: 4000,
            underserved_s: 3000,
            lacked_bytes: 300_000_000,
            part_kbps: 900.0,
            ..Total::default()
        };
        Totals {
            seconds: 86_400,
            made_room: 0,
            no_room: 0,
            hosts: vec![near, far, Total::default()],
        }
    }

    #[test]
    fn who_observes_hears_what_pacing_would_hold_and_how_to_try_it() {
        let told = text(&status("even", "observe"), &totals());
        for part in [
            "the latest 24 h 00 min",
            "10.1.0.9 (the school): for 50 min of its 66 min (75%); it lacked 300 MB",
            "10.1.0.2: for 50 min, to 5000 kbit/s on average; above that it got 900 MB",
            "no promise",
            "meshpace try 10m\n",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let who = told.split("Who was there:\n").nth(1).unwrap();
        assert!(
            who.starts_with("  10.1.0.9"),
            "who lacked most is first: {told}"
        );
        let told = text(&status("even", "htb"), &totals());
        assert!(
            told.contains("Whom the law held") && !told.contains("try"),
            "{told}"
        );
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let told = text(&status("gap", "htb"), &totals());
        assert_eq!(told.matches("not known: the law gap").count(), 2, "{told}");
        assert!(!told.contains("lacked 300"), "{told}");
        let nobody = Totals {
            hosts: vec![],
            ..totals()
        };
        let told = text(&status("even", "observe"), &nobody);
        assert!(told.matches("  nobody").count() == 3, "{told}");
    }
}
