// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace doctor`: what this machine has of what the gateway uses, and what a missing thing costs.
use std::fmt::Write as _;

use meshpace_paths::{FirstHop, Interfaces, Sources};
use nix::sched::{unshare, CloneFlags};
use serde::Serialize;

use crate::base::errors::{words, Result};
use crate::base::system;
use crate::cli::DoctorArgs;
use crate::config::{Config, Radio};
use crate::hosts::radio::Ranges;
use crate::kernel::intf::mp_limits;
use crate::kernel::programs::Programs;
use crate::setup::clsact;
use crate::setup::ifb::Ifb;
use crate::setup::watch;
use crate::show::hidden;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    Ok,
    Note,
    Missing,
}

#[derive(Serialize)]
pub struct Finding {
    what: &'static str,
    pub grade: Grade,
    pub found: String,
    /// what it costs, and what helps
    cost: String,
}

pub fn finding(
    what: &'static str,
    grade: Grade,
    found: impl Into<String>,
    cost: impl Into<String>,
) -> Finding {
    Finding {
        what,
        grade,
        found: words(found.into()),
        cost: cost.into(),
    }
}

/// Findings in the order in which an operator would ask.
pub fn run(arguments: &DoctorArgs) -> Result<()> {
    let config = match &arguments.config {
        Some(file) => Config::read(file)?,
        None => Config::default(),
    };
    let mesh = arguments.mesh.as_deref().or(config.mesh.as_deref());
    if let Some(mesh) = mesh {
        system::refuse_other_name(mesh)?;
    }
    let mut findings = vec![permission()];
    findings.extend(programs());
    findings.extend([htb(mesh), netfilter()]);
    if let Some(mesh) = mesh {
        findings.push(interface(mesh));
        let (sources, found) = Sources::survey(mesh);
        findings.extend(hop_sources(found));
        findings.extend(law_map(&config, &sources));
    } else {
        findings.push(finding(
            "mesh interface",
            Grade::Note,
            "not named",
            "--mesh IF looks at it and its hop sources too",
        ));
    }
    findings.extend(hidden::findings(mesh));
    findings.push(sender());
    crate::base::output::print(&if arguments.json {
        serde_json::to_string_pretty(&findings)? + "\n"
    } else {
        table(&findings)
    })
}

fn table(findings: &[Finding]) -> String {
    let mut out = String::new();
    for Finding {
        what,
        grade,
        found,
        cost,
    } in findings
    {
        let mark = match grade {
            Grade::Ok => "ok     ",
            Grade::Note => "note   ",
            Grade::Missing => "MISSING",
        };
        let cost = if cost.is_empty() {
            String::new()
        } else {
            format!("\n        {:18}{cost}", "")
        };
        let _ = writeln!(out, "{mark} {what:18}{found}{cost}");
    }
    out
}

fn permission() -> Finding {
    let missing = system::missing_capabilities();
    match missing.is_empty() {
        true => finding("permission", Grade::Ok, "all capabilities", ""),
        false => finding(
            "permission",
            Grade::Missing,
            format!("{} missing", missing.join(", ")),
            "nothing can be attached; run as root",
        ),
    }
}

/// Loads the programs, and attaches them to the loopback of a namespace of its own.
fn programs() -> Vec<Finding> {
    const LOOPBACK: i32 = 1;
    let what = "eBPF programs";
    let loaded = in_own_namespace(|| {
        let programs = Programs::load(mp_limits {
            l2_bytes: 14,
            max_flows: 16,
            ..Default::default()
        })?;
        Ok((
            programs.hooks()?.attach_tcx(LOOPBACK).is_ok(),
            programs.compiled(),
        ))
    });
    match loaded {
        Ok((true, compiled)) => vec![
            finding(what, Grade::Ok, "load; tcx", ""),
            speed(compiled),
        ],
        Ok((false, compiled)) => vec![
            finding(
                what,
                Grade::Ok,
                "load; clsact (no tcx before Linux 6.6)",
                "after kill -9 the filters stay, and let packets pass, until the next start or --clean",
            ),
            speed(compiled),
        ],
        Err(error) => vec![finding(
            what,
            Grade::Missing,
            format!("do not load: {error:#}"),
            "no gateway; Linux 5.15 or newer with CONFIG_BPF_SYSCALL and CONFIG_NET_CLS_ACT is needed",
        )],
    }
}

/// Whether the kernel compiles the programs for this processor.
fn speed(compiled: Result<bool>) -> Finding {
    let what = "eBPF speed";
    match compiled {
        Ok(true) => finding(what, Grade::Ok, "programs run compiled", ""),
        Ok(false) => finding(
            what,
            Grade::Note,
            "programs are interpreted",
            "each packet takes more of the processor's time; sysctl net.core.bpf_jit_enable=1 helps where the kernel has a compiler (CONFIG_BPF_JIT) that knows this processor and calls between BPF functions (not on 32-bit MIPS)",
        ),
        Err(error) => finding(what, Grade::Note, format!("not known: {error:#}"), ""),
    }
}

/// The sender's programs load; nothing is registered.
fn sender() -> Finding {
    let what = "sender";
    match crate::sender::loads() {
        Ok(true) => finding(what, Grade::Ok, "loads; with a link", ""),
        Ok(false) => finding(
            what,
            Grade::Ok,
            "loads; without a link (before Linux 6.4)",
            "",
        ),
        Err(error) => finding(
            what,
            Grade::Note,
            format!("does not load: {error:#}"),
            "this host cannot pace its own flows (meshpace sender); the gateway is not concerned",
        ),
    }
}

/// Whether a namespace of its own takes an ifb with HTB, and the mesh interface the filters.
fn htb(mesh: Option<&str>) -> Finding {
    let what = "release htb";
    if let Some(Err(error)) = mesh.map(clsact::is_at) {
        return finding(
            what,
            Grade::Note,
            format!("not possible: {error:#}"),
            "or release nfqueue",
        );
    }
    match in_own_namespace(|| Ifb::of("lo")?.make()) {
        Ok(()) => finding(what, Grade::Ok, "ifb, sch_tbf and sch_htb are there", ""),
        Err(error) => finding(
            what,
            Grade::Note,
            format!("not possible: {error:#}"),
            "the kernel modules ifb, sch_tbf, sch_htb, cls_bpf and act_mirred (OpenWrt: kmod-ifb kmod-sched-core kmod-sched-bpf); without them release nfqueue",
        ),
    }
}

fn netfilter() -> Finding {
    let what = "release nfqueue";
    let add = |command: &str| {
        let rule = [
            "-t",
            "mangle",
            "-A",
            "POSTROUTING",
            "-p",
            "tcp",
            "-j",
            "NFQUEUE",
            "--queue-bypass",
        ];
        in_own_namespace(|| system::run(command, &rule).map(drop))
    };
    let nftables = in_own_namespace(crate::setup::nftables::works);
    if nftables.is_ok() {
        return finding(what, Grade::Ok, "nftables, IPv4 and IPv6", "");
    }
    match (add("iptables"), add("ip6tables")) {
        (Ok(()), Ok(())) => finding(what, Grade::Ok, "IPv4 and IPv6", ""),
        (Ok(()), Err(e)) => finding(
            what,
            Grade::Note,
            "IPv4 only",
            format!("IPv6 goes unpaced: {e:#}"),
        ),
        (Err(e), Ok(())) => finding(
            what,
            Grade::Note,
            "IPv6 only",
            format!("IPv4 goes unpaced: {e:#}"),
        ),
        (Err(e), _) => finding(
            what,
            Grade::Note,
            format!("not available: {e:#}"),
            "flows are measured and not paced; install nftables with nft_queue, or iptables with xt_NFQUEUE and xt_bpf",
        ),
    }
}

/// Runs something in a thread with a network namespace of its own, which ends with it.
fn in_own_namespace<T: Send>(action: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // It concerns this thread only.
            unshare(CloneFlags::CLONE_NEWNET)?;
            action()
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(crate::base::errors::anyhow!("the test itself failed")))
    })
}

/// Whether IP packets leave by the mesh interface itself.
fn interface(mesh: &str) -> Finding {
    let what = "mesh interface";
    let found = Interfaces::open().and_then(|mut interfaces| interfaces.named(mesh));
    match found.map(|found| found.and_then(|it| it.port_of)) {
        Ok(None) => finding(what, Grade::Ok, format!("{mesh} carries IP packets"), ""),
        Ok(Some(master)) => finding(
            what,
            Grade::Missing,
            format!("{mesh} is a port of {master}"),
            format!(
                "{}; release observe alone works here",
                watch::port_of(mesh, &master)
            ),
        ),
        Err(error) => finding(what, Grade::Note, format!("not known: {error}"), ""),
    }
}

fn hop_sources(findings: Vec<meshpace_paths::Finding>) -> Vec<Finding> {
    let mut all: Vec<_> = findings
        .into_iter()
        .map(|f| {
            let grade = if f.present { Grade::Ok } else { Grade::Note };
            let cost: Vec<_> = [f.cost, f.remedy].into_iter().flatten().collect();
            finding("hops and bit rate", grade, f.what, cost.join("; "))
        })
        .collect();
    all.push(finding(
        "hops and bit rate",
        Grade::Ok,
        "TTL of packets from the mesh",
        "right for routed meshes only; [[host]] in the configuration goes before all",
    ));
    all
}

/// What the law `map` would work with here, and what it would do without.
fn law_map(config: &Config, sources: &Sources) -> Vec<Finding> {
    const WHAT: &str = "law map";
    let mut ranges = Ranges::default();
    let (_, _, around) = ranges.look_up(config, None, None, &sources.first_hop());
    let mut list = vec![finding(WHAT, Grade::Ok, around.summary(), "")];
    let neighbours = sources.neighbours();
    for (mac, signal_dbm) in &neighbours {
        let hop = FirstHop {
            signal_dbm: *signal_dbm,
            ..sources.first_hop()
        };
        let (_, _, to) = ranges.look_up(config, None, None, &hop);
        list.push(match signal_dbm {
            Some(dbm) => finding(
                WHAT,
                Grade::Ok,
                format!("neighbour {mac}: {dbm} dBm, H_cs {}", to.h_cs),
                "",
            ),
            None => finding(
                WHAT,
                Grade::Note,
                format!("neighbour {mac}: signal unknown"),
                "H_cs 3 assumed, as GAP; set radio.signal_dbm",
            ),
        });
    }
    if config.radio.sense_dbm == Radio::default().sense_dbm {
        list.push(finding(
            WHAT,
            Grade::Note,
            "carrier-sense threshold not stated",
            "the standard's is taken, many radios sense weaker signals: H_cs comes out too small; \
             set radio.sense_dbm",
        ));
    }
    let heard = neighbours.iter().any(|(_, signal)| signal.is_some());
    let lacks = around.lacks(heard).into_iter();
    list.extend(lacks.map(|lack| finding(WHAT, Grade::Note, lack.what, lack.cost)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_compiler_is_told() {
        let told = |compiled| table(&[speed(compiled)]);
        assert!(told(Ok(true)).starts_with("ok      eBPF speed        programs run compiled"));
        let slow = told(Ok(false));
        assert!(slow.starts_with("note    eBPF speed        programs are interpreted"));
        assert!(slow.contains("bpf_jit_enable"));
        let unknown = told(Err(crate::base::errors::anyhow!("no answer")));
        assert!(unknown.starts_with("note    eBPF speed        not known: no answer"));
    }
}
