// SPDX-License-Identifier: GPL-2.0-only
//! Where the daemon sends again what passed the mesh interface: whole frames, by a packet socket, marked
//! so that BPF knows them. The socket is bound to no interface: when the mesh interface is made anew, it
//! is pointed at the new one, whichever threads hold it.
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use meshpace_netlink::link;
use nix::sys::socket::{
    sendto, setsockopt, socket, sockopt, AddressFamily, MsgFlags, SockFlag, SockType,
};

use crate::base::errors::{Context, Result};
use crate::kernel::intf::MP_MARK_LOCAL;

pub struct Port {
    socket: OwnedFd,
    /// 0: there is no interface to send by
    ifindex: AtomicI32,
    /// whether its frames begin with an Ethernet header
    link_header: AtomicBool,
}

impl Port {
    pub fn open() -> Result<Self> {
        Ok(Self {
            socket: packet_socket()?,
            ifindex: AtomicI32::new(0),
            link_header: AtomicBool::new(true),
        })
    }

    /// From now on frames go to this interface; 0: to none.
    pub fn aim(&self, ifindex: i32, link_header: bool) {
        self.link_header.store(link_header, Ordering::Relaxed);
        self.ifindex.store(ifindex, Ordering::Relaxed);
    }

    /// False: it was not sent.
    pub fn send(&self, frame: &[u8]) -> bool {
        let ifindex = self.ifindex.load(Ordering::Relaxed);
        if ifindex == 0 {
            return false;
        }
        let ethertype = protocol_of(frame, self.link_header.load(Ordering::Relaxed));
        let to = link::address(ifindex, ethertype, [0; 6]);
        let sent = sendto(self.socket.as_raw_fd(), frame, &to, MsgFlags::MSG_DONTWAIT);
        sent == Ok(frame.len())
    }
}

/// The frame's ethertype, told by the IP version where there is no link-layer header.
fn protocol_of(frame: &[u8], link_header: bool) -> u16 {
    match frame {
        [_, _, _, _, _, _, _, _, _, _, _, _, high, low, ..] if link_header => {
            u16::from_be_bytes([*high, *low])
        }
        [first, ..] if first >> 4 == 6 => libc::ETH_P_IPV6 as u16,
        _ => libc::ETH_P_IP as u16,
    }
}

fn packet_socket() -> Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket =
        socket(AddressFamily::Packet, SockType::Raw, flags, None).context("packet socket")?;
    setsockopt(&socket, sockopt::Mark, &MP_MARK_LOCAL).context("SO_MARK")?;
    Ok(socket)
}
