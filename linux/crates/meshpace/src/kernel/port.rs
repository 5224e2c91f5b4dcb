// SPDX-License-Identifier: GPL-2.0-only
//! Where the daemon sends again what passed the mesh interface: whole frames, by a packet socket, marked
//! so that BPF knows them. The socket is bound to no interface: when the mesh interface is made anew, it
//! is pointed at the new one, whichever threads hold it.
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::base::errors::{bail, Result};
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
        // Safe: all zero is a valid sockaddr_ll.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = ifindex;
        to.sll_protocol = protocol_of(frame, self.link_header.load(Ordering::Relaxed)).to_be();
        // Safe: the frame and the address outlive the call, with their own lengths.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
                (&raw const to).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        sent == frame.len() as isize
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
    // Safe: a new descriptor that is owned here alone.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            bail!("packet socket: {}", std::io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let mark = MP_MARK_LOCAL;
    // Safe: a value of the length that is given.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MARK,
            (&raw const mark).cast(),
            size_of::<u32>() as u32,
        )
    };
    if set < 0 {
        bail!("SO_MARK: {}", std::io::Error::last_os_error());
    }
    Ok(socket)
}
