// SPDX-License-Identifier: GPL-2.0-only
//! Small questions to the kernel: interfaces, the clock, commands.
use std::ffi::{c_char, CString};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::base::errors::{anyhow, bail, usage, Context, Result};

/// CLOCK_MONOTONIC in ns, the clock of the BPF programs and of sch_fq.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // Safe: a valid pointer; this clock exists everywhere.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub fn interface_index(name: &str) -> Result<i32> {
    let c_name = CString::new(name).map_err(|_| usage("interface name with a zero byte"))?;
    // Safe: a terminated string.
    match unsafe { libc::if_nametoindex(c_name.as_ptr()) } {
        0 => Err(usage(format!(
            "no interface '{name}'; `ip link` lists them, --mesh names the one to the mesh"
        ))),
        index => Ok(index as i32),
    }
}

pub fn interface_exists(index: i32) -> bool {
    let mut name = [0 as c_char; libc::IFNAMSIZ];
    // Safe: the buffer is as long as a name may be.
    unsafe { !libc::if_indextoname(index as u32, name.as_mut_ptr()).is_null() }
}

/// A question about an interface by ioctl, in the namespace of this process.
pub fn interface_ioctl(
    name: &str,
    request: libc::Ioctl,
    fill: impl FnOnce(&mut libc::ifreq),
) -> Result<libc::ifreq> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(usage(format!("'{name}' is too long for an interface name")));
    }
    // Safe: a new descriptor that is owned here alone.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            bail!("socket: {}", std::io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    // Safe: all zero is a valid ifreq.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    fill(&mut ifreq);
    // Safe: ifreq names an interface; what it points to is the caller's and fits the request.
    if unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut ifreq) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(ifreq)
}

/// ARPHRD_RAWIP, which the library does not name.
const RAW_IP: u16 = 519;

/// Bytes before the network header: 14 on Ethernet and Wi-Fi, 0 on tunnels without any.
pub fn link_header_bytes(name: &str) -> Result<u32> {
    let ifreq = interface_ioctl(name, libc::SIOCGIFHWADDR as _, |_| {})
        .with_context(|| format!("link type of {name}"))?;
    // Safe: the request fills in an address.
    match unsafe { ifreq.ifr_ifru.ifru_hwaddr.sa_family } {
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

/// Where the running gateways keep their sockets and notes.
pub fn run_folder() -> PathBuf {
    std::env::var_os("MESHPACE_RUN").map_or_else(|| PathBuf::from("/run/meshpace"), PathBuf::from)
}

/// Whether a BPF file system is mounted there.
pub fn is_bpffs(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes()) else {
        return false;
    };
    // Safe: a terminated string, and a struct that the call fills in.
    let (done, stat) = unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        (libc::statfs(path.as_ptr(), &raw mut stat), stat)
    };
    done == 0 && stat.f_type as u64 == libc::BPF_FS_MAGIC as u64
}

/// A router has little memory: glibc would keep freed memory for each thread apart.
pub fn keep_memory_small() {
    #[cfg(target_env = "gnu")]
    // Safe: no pointers; before any thread is started.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
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

/// Tells systemd, if it started us, that all is set up (sd_notify(3)).
pub fn notify_ready() {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let send = || {
        let socket = std::os::unix::net::UnixDatagram::unbound()?;
        socket.send_to(b"READY=1", path)
    };
    if let Err(error) = send() {
        log::warn!("systemd was not told: {error}");
    }
}
