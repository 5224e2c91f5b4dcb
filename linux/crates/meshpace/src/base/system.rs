// SPDX-License-Identifier: GPL-2.0-only
//! Small questions to the kernel: interfaces, the clock, commands.
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use meshpace_paths::Interfaces;
use nix::net::if_::{if_indextoname, if_nametoindex};
use nix::sys::statfs::{statfs, BPF_FS_MAGIC};
use nix::time::{clock_gettime, ClockId};

use crate::base::errors::{anyhow, bail, usage, Context, Result};

/// CLOCK_MONOTONIC in ns, the clock of the BPF programs.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("this clock exists everywhere");
    Duration::from(time).as_nanos() as u64
}

/// Refuses a time namespace whose clock is not that of the BPF programs.
pub fn refuse_another_clock() -> Result<()> {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    match monotonic_offset(&offsets) {
        Some(offset) => Err(usage(format!(
            "the clock of this time namespace is {offset} s from the kernel's, by which packets are paced; \
             run meshpace outside of it, or in a container without a time offset"
        ))),
        None => Ok(()),
    }
}

/// How far the namespace's monotonic clock is from the kernel's, in seconds, where it is.
fn monotonic_offset(offsets: &str) -> Option<String> {
    let fields = offsets
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut fields = fields.filter(|fields| matches!(fields.first(), Some(&("monotonic" | "1"))));
    let mut offset = fields.next()?.into_iter().skip(1);
    let (seconds, ns) = (offset.next()?, offset.next()?);
    (seconds != "0" || ns != "0").then(|| seconds.into())
}

/// The processor's time that this thread has taken so far.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every thread has one");
    Duration::from(time)
}

/// The first Linux whose verifier takes functions with pointers to memory.
const OLDEST: (u32, u32) = (5, 13);

/// What to say when the kernel refuses programs: that it is too old, or else this.
pub fn why_refused(else_say: &str) -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match version_of(&release) {
        Some(version) if version < OLDEST => format!(
            "Linux {} is too old for the BPF programs; run Linux 5.15 or newer",
            release.trim()
        ),
        _ => else_say.into(),
    }
}

fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

pub fn interface_index(name: &str) -> Result<i32> {
    let index = if_nametoindex(name).map_err(|_| {
        usage(format!(
            "no interface '{name}'; `ip link` lists them, --mesh names the one to the mesh"
        ))
    })?;
    Ok(index as i32)
}

/// Refuses an alternative name of an interface (`ip link property add altname`), and one that is none's: rules, notes and
/// locks go by the name that the interface itself has.
pub fn refuse_other_name(name: &str) -> Result<()> {
    let index = interface_index(name)?;
    match if_indextoname(index as u32) {
        Ok(own) if own.as_bytes() != name.as_bytes() => {
            let own = own.to_string_lossy();
            Err(usage(format!(
                "{name} is another name of {own}; name it {own}"
            )))
        }
        _ => Ok(()),
    }
}

/// The number of this thread's network namespace, in which alone interfaces have their numbers and changes can be undone.
pub fn network_namespace() -> Option<u64> {
    let found = std::fs::metadata("/proc/thread-self/ns/net");
    found.ok().map(|found| found.ino())
}

pub fn interface_exists(index: i32) -> bool {
    if_indextoname(index as u32).is_ok()
}

/// Bytes of an IP packet that an interface takes.
pub fn mtu(name: &str) -> Result<u32> {
    let found = Interfaces::open().and_then(|mut interfaces| interfaces.named(name));
    let found = found.with_context(|| format!("MTU of {name}"))?;
    Ok(found.map_or(0, |found| found.mtu))
}

/// ARPHRD_RAWIP, which the library does not name.
const RAW_IP: u16 = 519;

/// Bytes before the network header: 14 on Ethernet and Wi-Fi, 0 on tunnels without any.
pub fn link_header_bytes(name: &str) -> Result<u32> {
    let found = Interfaces::open().and_then(|mut interfaces| interfaces.named(name));
    let found = found.with_context(|| format!("link type of {name}"))?;
    let Some(found) = found else {
        bail!("{name}: no such interface");
    };
    match found.link_type {
        libc::ARPHRD_ETHER => Ok(14),
        libc::ARPHRD_NONE | RAW_IP => Ok(0),
        other => Err(usage(format!(
            "{name}: link type {other} is not supported; the mesh interface has to be Ethernet, \
             Wi-Fi or a tunnel of IP packets"
        ))),
    }
}

/// Runs a command to its end; its output, or an error that holds what it said.
pub fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| anyhow!("{program}: {error}; is it installed?"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{program} {}: {}",
            arguments.join(" "),
            said.trim().replace('\n', "; ")
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The most segments that an interface takes in one super packet.
pub fn gso_max_segs(interface: &str) -> Result<u32> {
    let shown = run("ip", &["-j", "-d", "link", "show", "dev", interface])?;
    let links: serde_json::Value = serde_json::from_str(&shown).context("output of ip -j")?;
    let segments = links[0]["gso_max_segs"].as_u64();
    segments
        .map(|n| n as u32)
        .ok_or_else(|| anyhow!("ip tells no gso_max_segs of {interface}"))
}

pub fn set_gso_max_segs(interface: &str, segments: u32) -> Result<()> {
    run(
        "ip",
        &[
            "link",
            "set",
            "dev",
            interface,
            "gso_max_segs",
            &segments.to_string(),
        ],
    )
    .map(drop)
}

/// Where the running gateways keep their sockets and notes. OpenWrt has no /run, and what is made there would lie on
/// its flash and outlast a boot.
pub fn run_folder() -> PathBuf {
    let usual = || match Path::new("/run").is_dir() {
        true => PathBuf::from("/run/meshpace"),
        false => PathBuf::from("/var/run/meshpace"),
    };
    std::env::var_os("MESHPACE_RUN").map_or_else(usual, PathBuf::from)
}

/// Whether a BPF file system is mounted there.
pub fn is_bpffs(path: &Path) -> bool {
    statfs(path).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
}

/// Blocks of so many bytes and more are apart from the heap: glibc's own value at first (M_MMAP_THRESHOLD in
/// mallopt(3)).
#[cfg(target_env = "gnu")]
const APART_BYTES: libc::c_int = 128 * 1024;

/// A router has little memory. glibc would keep freed memory for each thread apart; and once a large block
/// was freed it would put the next of that size into the heap, from which only what lies at its end goes
/// back to the system. The tables that the daemon reads anew each second are such blocks.
pub fn keep_memory_small() {
    #[cfg(target_env = "gnu")]
    // Safe: no pointers; before any thread is started.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, APART_BYTES);
    }
}

/// What the gateway needs: name and number of each capability (linux/capability.h).
const CAPABILITIES: [(&str, u32); 4] = [
    ("CAP_NET_ADMIN", 12),
    ("CAP_NET_RAW", 13),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// Those of them that this process lacks.
pub fn missing_capabilities() -> Vec<&'static str> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    CAPABILITIES
        .iter()
        .filter(|(_, bit)| effective >> bit & 1 == 0)
        .map(|(name, _)| *name)
        .collect()
}

/// What systemd itself gives a start by default (DefaultTimeoutStartSec=): as long a program that starts again in the same
/// process has until its watchdog ends it.
const START_US: u64 = 90_000_000;

/// Tells systemd, if it started us, that all is set up (sd_notify(3)), and that the watchdog counts again.
pub fn notify_ready() {
    let watchdog = std::env::var("WATCHDOG_USEC").map(|us| format!("\nWATCHDOG_USEC={us}"));
    notify(&format!("READY=1{}", watchdog.unwrap_or_default()));
}

/// Tells it that the next sign of life comes when all is set up again.
pub fn notify_starting() {
    if std::env::var_os("WATCHDOG_USEC").is_some() {
        notify(&format!("WATCHDOG_USEC={START_US}"));
    }
}

fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let send = || {
        let socket = std::os::unix::net::UnixDatagram::unbound()?;
        socket.send_to(state.as_bytes(), path)
    };
    if let Err(error) = send() {
        log::warn!("systemd was not told: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the programs take the daemon for one that hangs, and nothing is paced.
    #[test]
    fn another_clock_is_known() {
        let told = "monotonic     100000         0\nboottime           7         0\n";
        assert_eq!(monotonic_offset(told).as_deref(), Some("100000"));
        let other = "monotonic           0         0\nboottime           7         0\n";
        assert_eq!(monotonic_offset(other), None);
        assert_eq!(monotonic_offset(""), None, "a kernel without");
    }

    #[test]
    fn a_kernel_s_version_is_read_of_its_release() {
        for (release, version) in [
            ("5.10.0-46-amd64\n", Some((5, 10))),
            ("6.12.30+deb13-arm64", Some((6, 12))),
            ("6.18-rc3", Some((6, 18))),
            ("", None),
            ("mainline", None),
        ] {
            assert_eq!(version_of(release), version, "{release}");
        }
    }
}
