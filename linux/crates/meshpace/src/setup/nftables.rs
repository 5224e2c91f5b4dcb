// SPDX-License-Identifier: GPL-2.0-only
//! The same as rules.rs where there is nftables alone: a table of our own, with a set of protocols whose entries
//! expire by themselves. Only what is in the set is brought before the daemon.
//!
//! What renews the entries are packets that the daemon sends itself and that never leave: a rule of the table
//! takes them by their mark, enters their protocol and drops them. That is a matter of the packet path, so it
//! makes no new generation of the ruleset: a list of a large one would never come to an end beside ten of these
//! a second, and audit would log each. The sender is told that its packet was dropped; when it is not, the
//! table is gone.
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::socket::{
    sendto, setsockopt, socket, sockopt, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType,
    SockaddrIn,
};

use crate::base::errors::{anyhow, bail, Context, Result};
use crate::base::system;
use crate::config::Config;
use crate::kernel::intf::{MP_BEAT_STALE_NS, MP_MARK_BEAT};
use crate::setup::changes::{Change, Changes};

/// The table of one gateway.
pub struct Nftables {
    table: String,
    script: String,
    socket: OwnedFd,
}

/// Names of tables have letters, digits and few other characters.
fn table(mesh: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_';
    let name: Vec<_> = mesh
        .chars()
        .map(|c| {
            if plain(c) {
                c.to_string()
            } else {
                format!("_{:x}", c as u32)
            }
        })
        .collect();
    format!("meshpace_{}", name.concat())
}

/// Of one gateway's heartbeats: each has a table, and who sees another's drops them before they have told it anything.
fn mark(mesh: &str) -> Result<u32> {
    Ok(MP_MARK_BEAT | system::interface_index(mesh)? as u32 & 0xffff)
}

/// The table, in place of one of the same name: at no time is there none, or half of one. What has come by no
/// interface is this box's own, and never held (linux/bpf/gate.h).
fn script(table: &str, mesh: &str, queue: u16, mark: u32) -> String {
    let lasts_ms = MP_BEAT_STALE_NS / 1_000_000;
    format!(
        "table inet {table} {{}}
delete table inet {table}
table inet {table} {{
    set held {{ type inet_proto; flags dynamic, timeout; timeout {lasts_ms}ms; size 16; }}
    chain beat {{
        type filter hook output priority raw; policy accept;
        oifname \"lo\" meta mark {mark:#x} update @held {{ meta l4proto }} counter drop
    }}
    chain hold {{
        type filter hook postrouting priority mangle; policy accept;
        oifname \"{mesh}\" iif 0 accept
        oifname \"{mesh}\" meta l4proto @held queue num {queue} bypass
    }}
}}
"
    )
}

fn nft(script: &str) -> Result<()> {
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| anyhow!("nft: {error}; is it installed?"))?;
    let mut input = nft.stdin.take().context("nft's input")?;
    input.write_all(script.as_bytes()).context("nft")?;
    drop(input);
    let output = nft.wait_with_output().context("nft")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("nft: {}", said.lines().next().unwrap_or("failed"));
    }
    Ok(())
}

/// Whether this machine has what it takes; for a namespace in which that does no harm.
pub fn works() -> Result<()> {
    nft(&script(&table("lo"), "lo", Config::QUEUE, mark("lo")?))
}

/// Deletes a table; one that is not there is as good.
pub fn delete(table: &str) -> Result<()> {
    nft(&format!(
        "table inet {table} {{}}\ndelete table inet {table}\n"
    ))
}

/// Sends whole IPv4 packets, and receives none.
fn raw_socket(mark: u32) -> Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let protocol = SockProtocol::Raw;
    let socket =
        socket(AddressFamily::Inet, SockType::Raw, flags, protocol).context("raw socket")?;
    setsockopt(&socket, sockopt::Mark, &mark).context("SO_MARK")?;
    Ok(socket)
}

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

/// An IPv4 header and eight bytes of nothing; the kernel fills in the checksum.
fn packet(protocol: i32) -> [u8; 28] {
    let mut packet = [0; 28];
    packet[0] = 0x45;
    packet[8] = 1; // TTL
    packet[9] = protocol as u8;
    packet[12..16].copy_from_slice(&LOOPBACK);
    packet[16..20].copy_from_slice(&LOOPBACK);
    packet
}

impl Nftables {
    /// Sets the table up; the queue has to be served already.
    pub fn add(mesh: &str, queue: u16, changes: &mut Changes) -> Result<Self> {
        let table = table(mesh);
        let mark = mark(mesh)?;
        let script = script(&table, mesh, queue, mark);
        let socket = raw_socket(mark)?;
        changes.note(Change::Table {
            table: table.clone(),
        })?;
        if let Err(error) = nft(&script) {
            changes.forget_latest()?;
            return Err(error.context("nftables with queue (nft_queue) is needed"));
        }
        let made = Self {
            table,
            script,
            socket,
        };
        if !made.renew(libc::IPPROTO_TCP) {
            delete(&made.table)?;
            changes.forget_latest()?;
            bail!("nftables: packets over lo do not reach the table's chain");
        }
        Ok(made)
    }

    /// Keeps a protocol among those that are held. False: the table did not take it.
    fn renew(&self, protocol: i32) -> bool {
        let packet = packet(protocol);
        let [a, b, c, d] = LOOPBACK;
        let to = SockaddrIn::new(a, b, c, d, 0);
        let sent = sendto(self.socket.as_raw_fd(), &packet, &to, MsgFlags::empty());
        // What an output hook drops its sender is told of.
        sent == Err(Errno::EPERM)
    }

    /// A heartbeat: TCP is held for half a second more, and UDP where it is to be. False: the table is gone.
    pub fn beat(&self, udp: bool) -> bool {
        let there = self.renew(libc::IPPROTO_TCP);
        if udp {
            self.renew(libc::IPPROTO_UDP);
        }
        there
    }

    fn is_whole(&self) -> bool {
        let listed = system::run("nft", &["list", "table", "inet", &self.table]);
        listed.is_ok_and(|listed| {
            listed.contains("queue") && listed.contains("hook postrouting") && self.beat(false)
        })
    }

    /// Puts back what something else removed; returns what that was.
    pub fn put_back(&self) -> Result<Vec<String>> {
        if self.is_whole() {
            return Ok(Vec::new());
        }
        nft(&self.script)?;
        Ok(vec![format!("nftables' table inet {}", self.table)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_s_name_is_one_that_nft_takes() {
        assert_eq!(table("mesh0.7"), "meshpace_mesh0.7");
        assert_eq!(table("a+b"), "meshpace_a_2bb");
    }
    /// Else the table that comes first takes the heartbeats of all: what the others hold passes, and it holds by theirs.
    #[test]
    fn a_table_takes_the_heartbeats_of_its_own_gateway_alone() {
        let of_lo = mark("lo").unwrap();
        assert_eq!(of_lo, MP_MARK_BEAT | 1, "lo is the first interface");
        let rule = format!("meta mark {of_lo:#x} update @held");
        assert!(script("meshpace_lo", "lo", 28016, of_lo).contains(&rule));
        assert!(!script("meshpace_mesh1", "mesh1", 28017, MP_MARK_BEAT | 2).contains(&rule));
    }
}
