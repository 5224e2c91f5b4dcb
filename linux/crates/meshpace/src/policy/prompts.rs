// SPDX-License-Identifier: GPL-2.0-only
//! The law `even` wakes the sender of a stalled upload up, ever more seldom and within a budget: it gets its latest
//! ACK again, which was lost with the path as often as its data was, and an ICMP message that says that
//! its host was unreachable. A sender that waits for a doubled time-out takes a doubling back and so tries
//! again (RFC 6069; Linux, `tcp_ld_RTO_revert`); any other ignores it.
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use crate::hosts::identity::Aliases;
use crate::hosts::paths::address_of;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{mp_direction_MP_UP, mp_flow, mp_flow_key, mp_probe};
use crate::kernel::law;
use crate::kernel::packet;
use crate::kernel::port::Port;
use crate::kernel::programs::Maps;
use crate::policy::asks::Asks;

const UNREACHABLE: [u8; 2] = [3, 1]; // type, code: host unreachable
const UNREACHABLE6: [u8; 2] = [1, 0]; // no route
const TCP: u8 = 6;
/// Of the segment that is told of: ports and sequence number.
const TCP_START: usize = 8;

pub struct Prompts {
    port: Arc<Port>,
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
    pub due: Due,
    pub sent: u64,
}

/// Which senders are woken up.
#[derive(Default)]
pub struct Due {
    /// of the flows in the table
    asked: HashMap<mp_flow_key, mp_probe>,
    asks: Asks,
    /// were due and had to wait for the budget
    pub waited: u64,
}

impl Prompts {
    pub fn new(port: Arc<Port>) -> Self {
        Self {
            port,
            v4: raw_socket(libc::AF_INET, libc::IPPROTO_ICMP, libc::SOL_RAW, &[!0; 4]),
            v6: raw_socket(
                libc::AF_INET6,
                libc::IPPROTO_ICMPV6,
                libc::SOL_ICMPV6,
                &[!0; 32],
            ),
            due: Due::default(),
            sent: 0,
        }
    }

    /// A second has passed.
    pub fn tick(&mut self, maps: &Maps, table: &Table, aliases: &Aliases, now_ns: u64) {
        for (key, ack) in self.due.now(table, aliases, now_ns) {
            if let Some(frame) = maps.flow(&key).and_then(|flow| latest_ack(&flow)) {
                self.port.send(&frame);
            }
            self.sent += u64::from(self.send(&key, ack));
        }
    }

    fn send(&self, key: &mp_flow_key, seq: u32) -> bool {
        match (address_of(&key.mesh), address_of(&key.wired)) {
            (IpAddr::V4(mesh), IpAddr::V4(wired)) => {
                let to = libc::sockaddr_in {
                    sin_family: libc::AF_INET as u16,
                    sin_port: 0,
                    sin_addr: libc::in_addr {
                        s_addr: u32::from(mesh).to_be(),
                    },
                    sin_zero: [0; 8],
                };
                send_to(self.v4.as_ref(), &message4(mesh, wired, key, seq), &to)
            }
            (IpAddr::V6(mesh), IpAddr::V6(wired)) => {
                let to = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as u16,
                    sin6_port: 0,
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr {
                        s6_addr: mesh.octets(),
                    },
                    sin6_scope_id: 0,
                };
                send_to(self.v6.as_ref(), &message6(mesh, wired, key, seq), &to)
            }
            _ => false,
        }
    }
}

impl Due {
    /// The uploads whose senders are woken up now, each with its acknowledgement.
    pub fn now(
        &mut self,
        table: &Table,
        aliases: &Aliases,
        now_ns: u64,
    ) -> Vec<(mp_flow_key, u32)> {
        let mut before = std::mem::take(&mut self.asked);
        let (mut due, mut acks) = (Vec::new(), HashMap::new());
        let uploads = |(key, _): &&(mp_flow_key, FlowState)| key.direction == mp_direction_MP_UP;
        for (key, flow) in table.iter().filter(uploads) {
            let mut probe = before.remove(key).unwrap_or_default();
            if is_due(&mut probe, flow, now_ns) {
                due.push((*key, probe));
                acks.insert(*key, flow.ack);
            }
            self.asked.insert(*key, probe);
        }
        self.asks.forget(now_ns);
        self.asks.by_turns(&mut due, aliases);
        due.retain(|(key, _)| self.asks.spend(&aliases.standing(key.mesh), now_ns));
        self.waited += (acks.len() - due.len()) as u64;
        for (key, probe) in &mut due {
            law::probe_sent(probe, now_ns);
            self.asked.insert(*key, *probe);
        }
        due.iter().map(|(key, _)| (*key, acks[key])).collect()
    }
}

/// The latest pure ACK, None where there was none or it is torn. Without its timestamp, by which the
/// sender would take the silence for a round trip and wait accordingly after its next loss.
fn latest_ack(flow: &mp_flow) -> Option<Vec<u8>> {
    let mut frame = flow.pure_ack.get(..flow.pure_ack_bytes.into())?.to_vec();
    let (l3, l4) = (flow.pure_ack_l3.into(), flow.pure_ack_l4.into());
    if !packet::complete_checksum(&mut frame, l3, l4) {
        return None;
    }
    packet::remove_timestamp(&mut frame, l3, l4);
    Some(frame)
}

fn is_due(probe: &mut mp_probe, flow: &FlowState, now_ns: u64) -> bool {
    let silent_ns = now_ns.saturating_sub(flow.data_ns);
    let (ack, bytes, pushed) = (flow.ack, flow.acked_bytes, flow.pushed);
    !flow.fin && law::prompt_due(probe, ack, silent_ns, bytes, pushed, now_ns)
}

/// The first eight bytes of the segment, as its sender sent it.
fn segment_start(key: &mp_flow_key, seq: u32) -> [u8; TCP_START] {
    let mut start = [0; TCP_START];
    start[..2].copy_from_slice(&key.mesh_port.to_ne_bytes()); // in network order already
    start[2..4].copy_from_slice(&key.wired_port.to_ne_bytes());
    start[4..].copy_from_slice(&seq.to_be_bytes());
    start
}

fn message4(mesh: Ipv4Addr, wired: Ipv4Addr, key: &mp_flow_key, seq: u32) -> Vec<u8> {
    let mut ip = [0; 20];
    ip[0] = 0x45;
    ip[3] = (20 + TCP_START) as u8;
    ip[8] = 1;
    ip[9] = TCP;
    ip[12..16].copy_from_slice(&mesh.octets());
    ip[16..].copy_from_slice(&wired.octets());
    let header_sum = checksum(&ip);
    ip[10..12].copy_from_slice(&header_sum);
    let mut message = [&UNREACHABLE[..], &[0; 6], &ip, &segment_start(key, seq)].concat();
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum);
    message
}

/// Its checksum, which has the addresses in it, is the kernel's work.
fn message6(mesh: Ipv6Addr, wired: Ipv6Addr, key: &mp_flow_key, seq: u32) -> Vec<u8> {
    let mut ip = [0; 40];
    ip[0] = 0x60;
    ip[5] = TCP_START as u8;
    ip[6] = TCP;
    ip[7] = 1;
    ip[8..24].copy_from_slice(&mesh.octets());
    ip[24..].copy_from_slice(&wired.octets());
    [&UNREACHABLE6[..], &[0; 6], &ip, &segment_start(key, seq)].concat()
}

/// The Internet checksum of an even number of bytes.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks_exact(2);
    let mut sum: u32 = words
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// To send by; `filter` has a bit for each type of message that is not to be received. None where
/// there is no such protocol.
fn raw_socket(family: i32, protocol: i32, level: i32, filter: &[u8]) -> Option<OwnedFd> {
    /// `ICMP_FILTER`, `ICMPV6_FILTER`
    const FILTER: i32 = 1;
    // Safe: a new descriptor that is owned here alone, and a value of the length that is given.
    unsafe {
        let fd = libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol);
        let socket = (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))?;
        let (value, length) = (filter.as_ptr().cast(), filter.len() as u32);
        libc::setsockopt(fd, level, FILTER, value, length);
        Some(socket)
    }
}

fn send_to<Address>(socket: Option<&OwnedFd>, message: &[u8], to: &Address) -> bool {
    // Safe: message and address outlive the call, with their own lengths.
    socket.is_some_and(|socket| unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            message.as_ptr().cast(),
            message.len(),
            libc::MSG_DONTWAIT,
            (&raw const *to).cast(),
            size_of::<Address>() as u32,
        ) == message.len() as isize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn an_upload_that_is_silent_is_prompted_until_it_ends() {
        let mut probe = mp_probe::default();
        let bulk = FlowState {
            acked_bytes: 1_000_000,
            data_ns: S,
            ..Default::default()
        };
        assert!(!is_due(&mut probe, &bulk, S + S / 2));
        assert!(is_due(&mut probe, &bulk, 2 * S));
        let forged = FlowState {
            acked_bytes: 0,
            ..bulk
        };
        assert!(!is_due(&mut probe, &forged, 2 * S), "never acknowledged");
        let said_all = FlowState {
            acked_bytes: 10_000,
            pushed: true,
            ..bulk
        };
        assert!(!is_due(&mut probe, &said_all, 3 * S));
        let has_more = FlowState {
            pushed: false,
            ..said_all
        };
        assert!(is_due(&mut probe, &has_more, 3 * S));
        let over = FlowState { fin: true, ..bulk };
        assert!(!is_due(&mut probe, &over, 4 * S));
    }

    #[test]
    fn the_latest_ack_is_sent_without_its_time_or_not_at_all() {
        let mut flow = mp_flow::default();
        assert_eq!(latest_ack(&flow), None);
        let ack = acknowledgement(&[1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        flow.pure_ack[..ack.len()].copy_from_slice(&ack);
        (flow.pure_ack_bytes, flow.pure_ack_l4) = (ack.len() as u16, 20);
        assert_eq!(latest_ack(&flow), Some(acknowledgement(&[1; 12])));
        flow.pure_ack[30] ^= 1;
        assert_eq!(latest_ack(&flow), None, "torn");
    }

    /// A pure ACK over IPv4, without a link-layer header.
    fn acknowledgement(options: &[u8]) -> Vec<u8> {
        let mut ack = [&[0; 40], options].concat();
        let tcp_bytes = (20 + options.len()) as u8;
        (ack[0], ack[3], ack[9], ack[32]) = (0x45, 20 + tcp_bytes, TCP, tcp_bytes << 2);
        // Of the pseudo-header nothing but protocol and length is not zero.
        let sum = checksum(&[&ack[20..], &[0, TCP, 0, tcp_bytes]].concat());
        ack[36..38].copy_from_slice(&sum);
        ack
    }

    /// A receiver drops what does not add up, and a sum with its complement is all ones.
    #[test]
    fn the_message_adds_up_and_names_the_segment() {
        let key = mp_flow_key {
            mesh: [0; 16],
            wired: [0; 16],
            mesh_port: 5000_u16.to_be(),
            wired_port: 80_u16.to_be(),
            direction: mp_direction_MP_UP,
        };
        let (mesh, wired) = (Ipv4Addr::new(10, 1, 0, 2), Ipv4Addr::new(192, 0, 2, 1));
        let message = message4(mesh, wired, &key, 0x0102_0304);
        assert_eq!(checksum(&message), [0, 0]);
        assert_eq!(checksum(&message[8..28]), [0, 0]);
        assert_eq!(message[20..24], mesh.octets());
        assert_eq!(message[28..], [0x13, 0x88, 0, 80, 1, 2, 3, 4]);
        let message = message6(
            Ipv6Addr::LOCALHOST,
            Ipv6Addr::UNSPECIFIED,
            &key,
            0x0102_0304,
        );
        assert_eq!(message[8 + 23], 1);
        assert_eq!(message[48..], [0x13, 0x88, 0, 80, 1, 2, 3, 4]);
    }
}
