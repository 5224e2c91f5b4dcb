// SPDX-License-Identifier: GPL-2.0-only
//! The netfilter rules that bring packets before the daemon: `-m bpf` asks a program of ours for each packet
//! (linux/bpf/gate.h), which says no as soon as the daemon is not well.
use std::ffi::CString;
use std::path::{Path, PathBuf};

use crate::changes::{Change, Changes};
use crate::errors::{bail, Context, Result};
use crate::programs::Programs;
use crate::system;

const BPFFS: &str = "/sys/fs/bpf";

/// What every rule of ours carries.
const COMMENT: &str = "meshpace";

/// The rules of one gateway.
pub struct Rules {
    /// iptables and ip6tables, as far as they work here
    commands: Vec<&'static str>,
    rule: Vec<String>,
}

/// Where the gate of an interface is pinned. Names there have no dots, those of interfaces no colons.
fn pin(mesh: &str) -> PathBuf {
    Path::new(BPFFS).join(format!("meshpace-gate-{}", mesh.replace('.', ":")))
}

fn rule(mesh: &str, pin: &Path, queue: u16) -> Vec<String> {
    let (pin, queue) = (pin.display().to_string(), queue.to_string());
    ["POSTROUTING", "-o", mesh, "-m", "bpf", "--object-pinned"]
        .into_iter()
        .chain([pin.as_str(), "-m", "comment", "--comment", COMMENT])
        .chain(["-j", "NFQUEUE", "--queue-num", &queue, "--queue-bypass"])
        .map(String::from)
        .collect()
}

/// systemd and OpenWrt mount it at boot; elsewhere it is ours to mount.
fn provide_bpffs(changes: &mut Changes) -> Result<()> {
    let path = Path::new(BPFFS);
    if system::is_bpffs(path) {
        return Ok(());
    }
    changes.note(Change::BpfFs { path: path.into() })?;
    let (name, target) = (CString::new("bpf")?, CString::new(BPFFS)?);
    let name = name.as_ptr();
    // Safe: terminated strings, no options.
    if unsafe { libc::mount(name, target.as_ptr(), name, 0, std::ptr::null()) } != 0 {
        let error = std::io::Error::last_os_error();
        changes.forget_latest()?;
        bail!("{BPFFS} is no BPF file system ({error}); mount -t bpf bpf {BPFFS}");
    }
    Ok(())
}

/// One action on a rule: -A, -C or -D.
pub fn run(command: &str, action: &str, rule: &[String]) -> Result<()> {
    // Another program may hold the lock of the tables for a moment.
    let mut arguments = vec!["-w", "2", "-t", "mangle", action];
    arguments.extend(rule.iter().map(String::as_str));
    system::run(command, &arguments).map(drop)
}

impl Rules {
    /// Sets the rules; the queue has to be served already. Without IPv6 those for IPv4 do.
    pub fn add(
        mesh: &str,
        queue: u16,
        programs: &mut Programs,
        changes: &mut Changes,
    ) -> Result<Self> {
        provide_bpffs(changes)?;
        let pin = pin(mesh);
        changes.note(Change::Pin { path: pin.clone() })?;
        let _ = std::fs::remove_file(&pin); // of a gateway whose notes are lost
        programs.pin_gate(&pin).context("pinning")?;
        let rule = rule(mesh, &pin, queue);
        let (mut commands, mut refusals) = (Vec::new(), Vec::new());
        for command in ["iptables", "ip6tables"] {
            changes.note(Change::Rule {
                command: command.into(),
                rule: rule.clone(),
            })?;
            match run(command, "-A", &rule) {
                Ok(()) => commands.push(command),
                Err(error) => {
                    changes.forget_latest()?;
                    refusals.push(error);
                }
            }
        }
        match (commands.is_empty(), refusals.pop()) {
            (true, Some(error)) => {
                return Err(error).context("iptables with NFQUEUE and xt_bpf is needed")
            }
            (false, Some(error)) => log::warn!("one IP version goes unpaced: {error:#}"),
            _ => {}
        }
        Ok(Self { commands, rule })
    }
}
