// SPDX-License-Identifier: GPL-2.0-only
//! The rules of iptables that bring packets before the daemon: `-m bpf` asks a program of ours for each packet
//! (linux/bpf/gate.h), which says no as soon as the daemon is not well.
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::mount::{mount, MsFlags};

use crate::base::errors::{bail, Context, Result};
use crate::base::system;
use crate::kernel::programs::Programs;
use crate::setup::changes::{Change, Changes};
use crate::setup::rules::Back;

const BPFFS: &str = "/sys/fs/bpf";

/// What every rule of ours carries.
const COMMENT: &str = "meshpace";

/// Of IPv4 and of IPv6.
const COMMANDS: [&str; 2] = ["iptables", "ip6tables"];

/// The rules of one gateway.
pub struct Iptables {
    gate: OwnedFd,
    pin: PathBuf,
    /// whether the rule of each was set; a version whose command does not work here goes unpaced
    has: [bool; 2],
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
    let no_options = None::<&str>;
    let bpf = Some("bpf");
    if let Err(error) = mount(bpf, BPFFS, bpf, MsFlags::empty(), no_options) {
        changes.forget_latest()?;
        bail!("{BPFFS} is no BPF file system ({error}); mount -t bpf bpf {BPFFS}");
    }
    Ok(())
}

fn run(command: &str, words: &[&str]) -> Result<String> {
    // Another program may hold the lock of the tables for a moment.
    let arguments = [&["-w", "2", "-t", "mangle"], words].concat();
    system::run(command, &arguments)
}

/// What of a rule is ours alone, whatever else a version of ours had in it.
const TELLING: [&str; 3] = ["-o", "--comment", "--queue-num"];

/// Where a rule stands in its chain, from 1 on, as `-S` lists that. `-C` would not do: it wants the program
/// that the rule names, which may be gone, or pinned where this process does not see it.
fn places(listed: &str, rule: &[String]) -> Vec<usize> {
    let words: Vec<_> = rule.iter().map(String::as_str).collect();
    let pairs = |words: &[&str]| -> Vec<(String, String)> {
        let pairs = words
            .windows(2)
            .map(|pair| (pair[0].into(), pair[1].into()));
        pairs
            .filter(|(key, _): &(String, String)| TELLING.contains(&key.as_str()))
            .collect()
    };
    let wanted = pairs(&words);
    let rules = listed.lines().filter(|line| line.starts_with("-A "));
    let is_ours = |line: &str| {
        let found = pairs(&line.split_whitespace().collect::<Vec<_>>());
        wanted.iter().all(|pair| found.contains(pair))
    };
    rules
        .enumerate()
        .filter(|(_, line)| is_ours(line))
        .map(|(index, _)| index + 1)
        .collect()
}

fn listed(command: &str, rule: &[String]) -> Result<Vec<usize>> {
    let chain = rule.first().map_or("POSTROUTING", String::as_str);
    Ok(places(&run(command, &["-S", chain])?, rule))
}

/// Removes a rule as often as it is there: once, or again after a start that was killed half-way. By what it says,
/// since by its place somebody else's could be there by then; by its place only where iptables does not take
/// what it says, for the program that it names is gone.
pub fn remove(command: &str, rule: &[String]) -> Result<()> {
    let mut places = listed(command, rule)?;
    while let Some(place) = places.pop() {
        if change(command, "-D", rule).is_err() {
            run(command, &["-D", &rule[0], &place.to_string()])?;
        }
    }
    Ok(())
}

fn pin_to(program: &OwnedFd, path: &Path) -> Result<()> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    // Safe: an open descriptor and a terminated string.
    match unsafe { libbpf_sys::bpf_obj_pin(program.as_raw_fd(), name.as_ptr()) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(-error))
            .with_context(|| format!("pinning {}", path.display())),
    }
}

fn change(command: &str, how: &str, rule: &[String]) -> Result<()> {
    let words: Vec<_> = [how]
        .into_iter()
        .chain(rule.iter().map(String::as_str))
        .collect();
    run(command, &words).map(drop)
}

impl Iptables {
    /// Sets the rules; the queue has to be served already. Without IPv6 those for IPv4 do.
    pub fn add(mesh: &str, queue: u16, programs: &Programs, changes: &mut Changes) -> Result<Self> {
        provide_bpffs(changes)?;
        let pin = pin(mesh);
        changes.note(Change::Pin { path: pin.clone() })?;
        let _ = std::fs::remove_file(&pin); // of a gateway whose notes are lost
        let gate = programs.gate()?;
        pin_to(&gate, &pin)?;
        let rule = rule(mesh, &pin, queue);
        let (mut has, mut refusals) = ([false; 2], Vec::new());
        for (command, has) in COMMANDS.into_iter().zip(&mut has) {
            changes.note(Change::Rule {
                command: command.into(),
                rule: rule.clone(),
            })?;
            match change(command, "-A", &rule) {
                Ok(()) => *has = true,
                Err(error) => {
                    changes.forget_latest()?;
                    refusals.push(error);
                }
            }
        }
        match (has == [false; 2], refusals.pop()) {
            (true, Some(error)) => {
                return Err(error).context("iptables with NFQUEUE and xt_bpf is needed")
            }
            (false, Some(error)) => log::warn!("one IP version goes unpaced: {error:#}"),
            _ => {}
        }
        Ok(Self {
            gate,
            pin,
            has,
            rule,
        })
    }

    /// Of which versions packets come before the daemon, as far as rules go.
    pub fn versions(&self) -> [bool; 2] {
        self.has
    }

    /// Puts back what something else removed, of each version for itself.
    pub fn put_back(&self) -> Back {
        let mut back = Back::default();
        let ours = COMMANDS.iter().zip(self.has).enumerate();
        for (version, (command, _)) in ours.filter(|(_, (_, has))| *has) {
            match self.put_back_one(command) {
                Ok(false) => {}
                Ok(true) => back.put.push(format!("the rule of {command}")),
                Err(error) => back.failed[version] = Some(error),
            }
        }
        back
    }

    /// Whether it was not there.
    fn put_back_one(&self, command: &str) -> Result<bool> {
        if !listed(command, &self.rule)?.is_empty() {
            return Ok(false);
        }
        if !self.pin.exists() {
            pin_to(&self.gate, &self.pin)?;
        }
        change(command, "-A", &self.rule).map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else another gateway's rule would be taken away, or one of another version left.
    #[test]
    fn only_our_own_rules_are_found() {
        let listed = "-P POSTROUTING ACCEPT\n\
            -A POSTROUTING -o eth0 -j TCPMSS --clamp-mss-to-pmtu\n\
            -A POSTROUTING -o mesh0 -m bpf --object-pinned /sys/fs/bpf/meshpace-gate-mesh0 \
            -m comment --comment meshpace -j NFQUEUE --queue-num 28016 --queue-bypass\n\
            -A POSTROUTING -o mesh1 -m comment --comment meshpace -j NFQUEUE --queue-num 28017\n\
            -A POSTROUTING -o mesh0 -p tcp -m comment --comment meshpace -j NFQUEUE \
            --queue-num 28016 --queue-bypass\n";
        let of = |mesh, queue| places(listed, &rule(mesh, &pin(mesh), queue));
        assert_eq!(of("mesh0", 28016), [2, 4]);
        assert_eq!(of("mesh1", 28017), [3]);
        assert!(of("mesh1", 28016).is_empty() && of("mesh", 28016).is_empty());
    }

    #[test]
    fn a_name_with_a_dot_can_be_pinned() {
        assert_eq!(
            pin("mesh0.7"),
            Path::new("/sys/fs/bpf/meshpace-gate-mesh0:7")
        );
    }
}
