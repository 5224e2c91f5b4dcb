// SPDX-License-Identifier: GPL-2.0-only
//! Tells a host of the mesh that the other end of one of its flows could not be reached (ICMP, ICMPv6).
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    sendto, setsockopt, socket, AddressFamily, MsgFlags, SetSockOpt, SockFlag, SockProtocol,
    SockType, SockaddrIn, SockaddrIn6, SockaddrLike,
};
use nix::{setsockopt_impl, sockopt_impl};

use crate::kernel::address::address_of;
use crate::kernel::checksum;
use crate::kernel::intf::mp_flow_key;

const UNREACHABLE: [u8; 2] = [3, 1]; // type, code: host unreachable
const UNREACHABLE6: [u8; 2] = [1, 0]; // no route
const TCP: u8 = 6;
/// Of the segment that is told of: ports and sequence number.
const TCP_START: usize = 8;

/// The sockets by which it is told.
pub struct Unreachable {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
}

impl Unreachable {
    pub fn open() -> Self {
        Self {
            v4: raw_socket(AddressFamily::Inet, SockProtocol::Icmp, Filter4, &[!0; 4]),
            v6: raw_socket(
                AddressFamily::Inet6,
                SockProtocol::IcmpV6,
                Filter6,
                &[!0; 32],
            ),
        }
    }

    /// Of the segment that begins there. False: it was not sent.
    pub fn send(&self, key: &mp_flow_key, seq: u32) -> bool {
        match (address_of(&key.mesh), address_of(&key.wired)) {
            (IpAddr::V4(mesh), IpAddr::V4(wired)) => {
                let to = SockaddrIn::from(SocketAddrV4::new(mesh, 0));
                send_to(self.v4.as_ref(), &message4(mesh, wired, key, seq), &to)
            }
            (IpAddr::V6(mesh), IpAddr::V6(wired)) => {
                let to = SockaddrIn6::from(SocketAddrV6::new(mesh, 0, 0, 0));
                send_to(self.v6.as_ref(), &message6(mesh, wired, key, seq), &to)
            }
            _ => false,
        }
    }
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
    let header_sum = checksum::of(&ip);
    ip[10..12].copy_from_slice(&header_sum);
    let mut message = [&UNREACHABLE[..], &[0; 6], &ip, &segment_start(key, seq)].concat();
    let sum = checksum::of(&message);
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

sockopt_impl!(
    /// A bit for each type of message that is not to be received (`ICMP_FILTER`).
    Filter4,
    SetOnly,
    libc::SOL_RAW,
    FILTER,
    [u8; 4]
);
sockopt_impl!(
    /// Likewise (`ICMPV6_FILTER`).
    Filter6,
    SetOnly,
    libc::SOL_ICMPV6,
    FILTER,
    [u8; 32]
);

/// Both have it.
const FILTER: i32 = 1;

/// To send by, and to receive what the filter leaves; None where there is no such protocol.
pub(super) fn raw_socket<Filter: SetSockOpt>(
    family: AddressFamily,
    protocol: SockProtocol,
    filter: Filter,
    all: &Filter::Val,
) -> Option<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(family, SockType::Raw, flags, protocol).ok()?;
    // Without it what comes fills its buffer, and no more.
    let _ = setsockopt(&socket, filter, all);
    Some(socket)
}

pub(super) fn send_to(socket: Option<&OwnedFd>, message: &[u8], to: &dyn SockaddrLike) -> bool {
    socket.is_some_and(|socket| {
        let sent = sendto(socket.as_raw_fd(), message, to, MsgFlags::MSG_DONTWAIT);
        sent == Ok(message.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::intf::mp_direction_MP_UP;

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
        assert_eq!(checksum::of(&message), [0, 0]);
        assert_eq!(checksum::of(&message[8..28]), [0, 0]);
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
