// SPDX-License-Identifier: GPL-2.0-only
//! A packet socket that sends batman-adv echoes and receives their answers, on any interface.

use crate::echo::{self, Answer, Id};
use crate::tracer::Target;
use meshpace_netlink::link;
use meshpace_netlink::socket::wait_readable;
use nix::errno::Errno;
use nix::sys::socket::{bind, recv, sendto, socket, AddressFamily, MsgFlags, SockFlag, SockType};
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_millis(500);

/// Open only while echoes are under way: it looks at every batman-adv frame that arrives.
pub(crate) struct EchoSocket {
    fd: OwnedFd,
    identifier: u8,
}

impl EchoSocket {
    /// Without `CAP_NET_RAW`: `EPERM`.
    pub fn open(identifier: u8) -> io::Result<EchoSocket> {
        // Protocol 0 receives nothing: the filter stands before the first frame can come.
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
        let socket = EchoSocket { fd, identifier };
        socket.filter()?;
        // An answer may come in by another hard interface than its request went out by.
        let any = link::address(0, echo::ETHERTYPE, [0; 6]);
        bind(socket.fd.as_raw_fd(), &any)?;
        Ok(socket)
    }

    /// Lets through echo packets with this identifier: data of the whole mesh passes here.
    fn filter(&self) -> io::Result<()> {
        const LOAD_BYTE: u16 = 0x30;
        const JUMP_EQUAL: u16 = 0x15;
        const RETURN: u16 = 0x06;
        let instruction = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
        let mut program = [
            instruction(LOAD_BYTE, 0, 0),
            instruction(JUMP_EQUAL, 3, u32::from(echo::PACKET_TYPE)),
            instruction(LOAD_BYTE, 0, echo::IDENTIFIER as u32),
            instruction(JUMP_EQUAL, 1, u32::from(self.identifier)),
            instruction(RETURN, 0, echo::LENGTH as u32),
            instruction(RETURN, 0, 0),
        ];
        let program = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: the program lives until the call returns; the kernel copies it.
        let set = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                std::ptr::from_ref(&program).cast(),
                size_of_val(&program) as libc::socklen_t,
            )
        };
        Ok(Errno::result(set).map(drop)?)
    }

    /// One echo with this TTL; `None` when nothing answers within half a second.
    pub fn ask(&self, target: &Target, ttl: u8, sequence: u16) -> io::Result<Option<Answer>> {
        let id = Id {
            identifier: self.identifier,
            sequence,
        };
        self.send(
            target,
            &echo::request(target.own, target.originator, ttl, id),
        )?;
        let deadline = Instant::now() + PATIENCE;
        while wait_readable(self.fd.as_fd(), deadline)? {
            let mut packet = [0; echo::LENGTH];
            let length = match self.receive(&mut packet) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                received => received?,
            };
            let answer = echo::answer(&packet[..length], target.own, target.originator, id);
            if answer.is_some() {
                return Ok(answer);
            }
        }
        Ok(None)
    }

    fn send(&self, target: &Target, packet: &[u8]) -> io::Result<()> {
        // The kernel writes the Ethernet header.
        let (interface, neighbour) = (target.interface as i32, target.neighbour.0);
        let address = link::address(interface, echo::ETHERTYPE, neighbour);
        sendto(self.fd.as_raw_fd(), packet, &address, MsgFlags::empty())?;
        Ok(())
    }

    fn receive(&self, packet: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.fd.as_raw_fd(), packet, MsgFlags::empty())?)
    }
}
