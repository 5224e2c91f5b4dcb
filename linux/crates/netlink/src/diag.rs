// SPDX-License-Identifier: GPL-2.0-only
//! TCP's sockets in this network namespace, by `sock_diag`, with what a BPF map of socket storage keeps of
//! them (`linux/inet_diag.h`, `linux/sock_diag.h`). No program in the kernel takes part.

use crate::codec::{u16_at, u32_at, Attribute, Attributes, Request};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `struct inet_diag_req_v2`, `struct inet_diag_msg`, and `struct inet_diag_sockid` in both.
const ASK: usize = 56;
const TOLD: usize = 72;
const ID: usize = 4;
const INET_DIAG_REQ_SK_BPF_STORAGES: u16 = 2;
const SK_DIAG_BPF_STORAGE_REQ_MAP_FD: u16 = 1;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SK_BPF_STORAGES: u16 = 20;
const SK_DIAG_BPF_STORAGE: u16 = 1;
const SK_DIAG_BPF_STORAGE_MAP_VALUE: u16 = 3;
/// All states of TCP but LISTEN and TIME_WAIT, in which nothing is sent.
const STATES: u32 = 0xfff & !(1 << 10 | 1 << 6);

/// A socket that has something in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub cwnd: u32,
    /// payload of a full segment, in bytes
    pub mss: u32,
    pub retransmits: u32,
    pub acked_bytes: u64,
    /// what the map has of it
    pub value: Vec<u8>,
}

/// Asks for the sockets of `AF_INET` or `AF_INET6`, with what `map`, of socket storage, has of each.
pub fn ask(family: i32, map: BorrowedFd<'_>) -> Request {
    let mut header = [0; ASK];
    header[0] = family as u8;
    header[1] = libc::IPPROTO_TCP as u8;
    header[2] = 1 << (INET_DIAG_INFO - 1);
    header[4..8].copy_from_slice(&STATES.to_ne_bytes());
    let number = (map.as_raw_fd() as u32).to_ne_bytes();
    Request::dump(SOCK_DIAG_BY_FAMILY, &header).nested(INET_DIAG_REQ_SK_BPF_STORAGES, |of| {
        of.attribute(SK_DIAG_BPF_STORAGE_REQ_MAP_FD, &number)
    })
}

/// Of an answer; `None`: the map has nothing of this socket.
pub fn parse(body: &[u8]) -> Option<Kept> {
    let family = i32::from(*body.first()?);
    let attributes = Attributes::after(body, TOLD)?;
    let of = |kind| move |one: &Attribute| one.kind == kind;
    let storages = attributes.into_iter().find(of(INET_DIAG_SK_BPF_STORAGES))?;
    let storage = storages.nested().find(of(SK_DIAG_BPF_STORAGE))?;
    let value = storage.nested().find(of(SK_DIAG_BPF_STORAGE_MAP_VALUE))?;
    let info = attributes.into_iter().find(of(INET_DIAG_INFO))?.value;
    let address = |offset: usize| address(family, body.get(ID + offset..)?);
    let port = |offset: usize| Some(u16::from_be(u16_at(body, ID + offset)?));
    // Of struct tcp_info.
    let (mss, cwnd, retransmits) = (u32_at(info, 16)?, u32_at(info, 80)?, u32_at(info, 100)?);
    let acked = info.get(120..128)?.try_into().ok()?;
    Some(Kept {
        local: SocketAddr::new(address(4)?, port(0)?),
        remote: SocketAddr::new(address(20)?, port(2)?),
        cwnd,
        mss,
        retransmits,
        acked_bytes: u64::from_ne_bytes(acked),
        value: value.value.to_vec(),
    })
}

/// IPv4 over a socket of IPv6 is IPv4.
fn address(family: i32, bytes: &[u8]) -> Option<IpAddr> {
    if family == libc::AF_INET {
        let four: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
        return Some(Ipv4Addr::from(four).into());
    }
    let sixteen: [u8; 16] = bytes.get(..16)?.try_into().ok()?;
    Some(Ipv6Addr::from(sixteen).to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attribute, body, torture};

    fn told(family: i32, storages: &[u8]) -> Vec<u8> {
        let mut header = [0_u8; TOLD];
        header[0] = family as u8;
        header[4..8].copy_from_slice(&[0x1f, 0x90, 0, 80]);
        let (local, remote): (&[u8], &[u8]) = match family {
            libc::AF_INET => (&[10, 1, 0, 7], &[10, 9, 0, 1]),
            _ => (
                &[0xfd; 16],
                &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1],
            ),
        };
        header[8..8 + local.len()].copy_from_slice(local);
        header[24..24 + remote.len()].copy_from_slice(remote);
        let mut info = [0_u8; 160];
        info[16..20].copy_from_slice(&1448_u32.to_ne_bytes());
        info[80..84].copy_from_slice(&9_u32.to_ne_bytes());
        info[100..104].copy_from_slice(&3_u32.to_ne_bytes());
        info[120..128].copy_from_slice(&(1_u64 << 33).to_ne_bytes());
        body(
            &header,
            &[
                (INET_DIAG_INFO, &info),
                (INET_DIAG_SK_BPF_STORAGES, storages),
            ],
        )
    }

    fn storages(value: &[u8]) -> Vec<u8> {
        let number = attribute(2, &[1, 0, 0, 0]);
        let inside = [number, attribute(SK_DIAG_BPF_STORAGE_MAP_VALUE, value)].concat();
        attribute(SK_DIAG_BPF_STORAGE, &inside)
    }

    #[test]
    fn a_socket_is_read_whole() {
        let found = parse(&told(libc::AF_INET, &storages(&[1, 2, 3, 4, 5]))).unwrap();
        assert_eq!(found.local, "10.1.0.7:8080".parse().unwrap());
        assert_eq!(found.remote, "10.9.0.1:80".parse().unwrap());
        assert_eq!((found.mss, found.cwnd, found.retransmits), (1448, 9, 3));
        assert_eq!(
            (found.acked_bytes, found.value),
            (1 << 33, vec![1, 2, 3, 4, 5])
        );
    }

    #[test]
    fn ipv4_over_ipv6_is_ipv4() {
        let found = parse(&told(libc::AF_INET6, &storages(&[7]))).unwrap();
        assert!(found.local.is_ipv6());
        assert_eq!(found.remote, "10.9.0.1:80".parse().unwrap());
    }

    #[test]
    fn who_is_not_in_the_map_is_left_out() {
        assert_eq!(parse(&told(libc::AF_INET, &[])), None);
    }

    #[test]
    fn no_message_makes_it_panic() {
        torture(&told(libc::AF_INET6, &storages(&[1; 40])), parse);
    }
}
