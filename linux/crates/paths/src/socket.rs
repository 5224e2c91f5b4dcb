// SPDX-License-Identifier: GPL-2.0-only
//! A netlink socket: one request, its answers.

use crate::netlink::{digest, Progress, Request};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The kernel answers at once; only a driver that asks its firmware takes longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Dumps come in datagrams of up to 32 KiB, if the reader's buffer is as large.
const DATAGRAM: usize = 32 * 1024;

pub(crate) struct NetlinkSocket {
    fd: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl NetlinkSocket {
    /// `protocol`: `NETLINK_ROUTE` or `NETLINK_GENERIC`.
    pub fn open(protocol: i32) -> io::Result<NetlinkSocket> {
        let fd = new_socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol)?;
        Ok(NetlinkSocket {
            fd,
            sequence: 0,
            buffer: vec![0; DATAGRAM],
        })
    }

    /// Sends the request and hands the body of each answer to `each`.
    ///
    /// A table that changes while it is dumped (`NLM_F_DUMP_INTR`) may lack a line or have one
    /// twice; the next second's dump mends it, so it is taken as it is.
    pub fn exchange(&mut self, request: Request, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let dump = request.is_dump();
        self.sequence = self.sequence.wrapping_add(1);
        self.send(&request.finish(self.sequence))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let length = self.receive(deadline)?;
            match digest(&self.buffer[..length], self.sequence, dump, &mut each) {
                Progress::More => {}
                Progress::Done => return Ok(()),
                Progress::Failed(errno) => return Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }

    fn send(&self, datagram: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and length describe a live slice. Unconnected, it goes to the kernel.
        let sent = unsafe {
            libc::send(
                self.fd.as_raw_fd(),
                datagram.as_ptr().cast(),
                datagram.len(),
                0,
            )
        };
        check(sent).map(drop)
    }

    /// Length of the next datagram from the kernel itself, not from another process.
    fn receive(&mut self, deadline: Instant) -> io::Result<usize> {
        loop {
            if !wait_readable(&self.fd, deadline)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // SAFETY: zeroes are a valid sockaddr_nl; the pointers describe live, writable memory.
            let (length, sender) = unsafe {
                let mut sender: libc::sockaddr_nl = std::mem::zeroed();
                let mut size = std::mem::size_of_val(&sender) as libc::socklen_t;
                let length = libc::recvfrom(
                    self.fd.as_raw_fd(),
                    self.buffer.as_mut_ptr().cast(),
                    self.buffer.len(),
                    libc::MSG_TRUNC | libc::MSG_DONTWAIT,
                    std::ptr::from_mut(&mut sender).cast(),
                    &mut size,
                );
                (check(length)?, sender)
            };
            if length > self.buffer.len() {
                return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
            }
            if sender.nl_pid == 0 {
                return Ok(length);
            }
        }
    }
}

/// A socket that programs started by this one do not inherit.
pub(crate) fn new_socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the descriptor returned is owned by nobody else.
    unsafe {
        let fd = libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol);
        check(fd as isize)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Whether there is something to read before `deadline`. A signal does not end the wait.
pub(crate) fn wait_readable(fd: &OwnedFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut poll = libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live pollfd. Rounded up: 0 would spin through the last millisecond.
        let ready = unsafe { libc::poll(&mut poll, 1, left.as_micros().div_ceil(1000) as i32) };
        match check(ready as isize) {
            Ok(ready) => return Ok(ready > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The result of a system call, or its errno.
pub(crate) fn check(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
