// SPDX-License-Identifier: GPL-2.0-only
//! A netlink socket: one request, its answers.

use crate::codec::{digest, is_interrupted, Progress, Request};
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{
    recv, recvmsg, send, setsockopt, socket, sockopt, AddressFamily, MsgFlags, NetlinkAddr,
    SockFlag, SockProtocol, SockType,
};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The kernel answers at once; only a driver that asks its firmware takes longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Dumps come in datagrams of up to 32 KiB, if the reader's buffer is as large.
const DATAGRAM: usize = 32 * 1024;

/// So often a table is asked for that changes each time while it is dumped.
const TRIES: usize = 4;

/// Orders in one datagram: their answers, with what they repeat of the orders, fit into a socket's buffer.
const ORDERS: usize = 64;

/// Whom a socket asks.
#[derive(Clone, Copy, Debug)]
pub enum Family {
    Route,
    Generic,
    Netfilter,
    Sockets,
}

pub struct NetlinkSocket {
    fd: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
    /// the latest table changed while it was dumped
    interrupted: bool,
}

impl NetlinkSocket {
    /// # Errors
    /// There can be none.
    pub fn open(family: Family) -> io::Result<NetlinkSocket> {
        let protocol = match family {
            Family::Route => SockProtocol::NetlinkRoute,
            Family::Generic => SockProtocol::NetlinkGeneric,
            Family::Netfilter => SockProtocol::NetlinkNetFilter,
            Family::Sockets => SockProtocol::NetlinkSockDiag,
        };
        let flags = SockFlag::SOCK_CLOEXEC;
        Ok(NetlinkSocket {
            fd: socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?,
            sequence: 0,
            buffer: vec![0; DATAGRAM],
            interrupted: false,
        })
    }

    /// Room for what was not read yet, whatever the system's limit is; the kernel takes twice as much.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`.
    pub fn set_buffer(&self, bytes: usize) -> io::Result<()> {
        Ok(setsockopt(&self.fd, sockopt::RcvBufForce, &bytes)?)
    }

    /// Sends the request and hands the body of each answer to `each`.
    ///
    /// A table that changes while it is dumped (`NLM_F_DUMP_INTR`) may lack a line or have one
    /// twice; the next second's dump mends it, so it is taken as it is. Else see [`NetlinkSocket::whole`].
    ///
    /// # Errors
    /// What the kernel answers, or that it does not.
    pub fn exchange(&mut self, request: Request, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let dump = request.is_dump();
        self.sequence = self.sequence.wrapping_add(1);
        self.send(&request.finish(self.sequence))?;
        self.interrupted = false;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let length = self.receive(deadline)?;
            self.interrupted |= is_interrupted(&self.buffer[..length], self.sequence);
            match digest(&self.buffer[..length], self.sequence, dump, &mut each) {
                Progress::More => {}
                Progress::Done => return Ok(()),
                Progress::Failed(errno) => return Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }

    /// The lines of a table in which none may be missing: asked for again where it changed while it was dumped. With the
    /// lines, as far as they came, whether those are all: an error of the kind `Interrupted` where it changed each time.
    pub fn whole<T>(
        &mut self,
        request: &Request,
        mut parse: impl FnMut(&[u8]) -> Option<T>,
    ) -> (Vec<T>, io::Result<()>) {
        let mut lines = Vec::new();
        for _ in 0..TRIES {
            lines.clear();
            let outcome = self.exchange(request.clone(), |body| lines.extend(parse(body)));
            if outcome.is_err() || !self.interrupted {
                return (lines, outcome);
            }
        }
        let changes = "it changed each time while it was read";
        let error = io::Error::new(io::ErrorKind::Interrupted, changes);
        (lines, Err(error))
    }

    /// Sends several orders at once, none of which asks for anything; what the kernel says of each.
    ///
    /// # Errors
    /// It does not answer.
    pub fn order(&mut self, requests: Vec<Request>) -> io::Result<Vec<io::Result<()>>> {
        let mut outcomes = Vec::with_capacity(requests.len());
        let mut requests = requests.into_iter();
        loop {
            let batch: Vec<Request> = requests.by_ref().take(ORDERS).collect();
            if batch.is_empty() {
                return Ok(outcomes);
            }
            self.order_batch(batch, &mut outcomes)?;
        }
    }

    fn order_batch(
        &mut self,
        batch: Vec<Request>,
        outcomes: &mut Vec<io::Result<()>>,
    ) -> io::Result<()> {
        let mut datagram = Vec::new();
        let first = self.sequence.wrapping_add(1);
        for request in batch {
            self.sequence = self.sequence.wrapping_add(1);
            datagram.extend(request.finish(self.sequence));
        }
        self.send(&datagram)?;
        let deadline = Instant::now() + PATIENCE;
        let mut sequence = first;
        while sequence != self.sequence.wrapping_add(1) {
            let length = self.receive(deadline)?;
            // Answers come in the order of their requests, several in a datagram or each in its own.
            loop {
                match digest(&self.buffer[..length], sequence, false, &mut |_| {}) {
                    Progress::More => break,
                    Progress::Done => outcomes.push(Ok(())),
                    Progress::Failed(errno) => {
                        outcomes.push(Err(io::Error::from_raw_os_error(errno)));
                    }
                }
                sequence = sequence.wrapping_add(1);
                if sequence == self.sequence.wrapping_add(1) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Unconnected, it goes to the kernel.
    ///
    /// # Errors
    /// It does not go.
    pub fn send(&self, datagram: &[u8]) -> io::Result<()> {
        send(self.fd.as_raw_fd(), datagram, MsgFlags::empty())?;
        Ok(())
    }

    /// There was no room for an answer: as long as another lies there, the kernel lets all be lost that come, and who asks
    /// next would wait for nothing.
    fn forget_answers(&mut self) {
        let flags = MsgFlags::MSG_DONTWAIT;
        while recv(self.fd.as_raw_fd(), &mut self.buffer, flags).is_ok() {}
    }

    /// Length of the next datagram from the kernel itself, not from another process.
    fn receive(&mut self, deadline: Instant) -> io::Result<usize> {
        let flags = MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
        loop {
            if !wait_readable(self.fd.as_fd(), deadline)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let room = self.buffer.len();
            let mut parts = [IoSliceMut::new(&mut self.buffer)];
            let received = recvmsg::<NetlinkAddr>(self.fd.as_raw_fd(), &mut parts, None, flags);
            let received = match received {
                Err(Errno::ENOBUFS) => {
                    self.forget_answers();
                    return Err(Errno::ENOBUFS.into());
                }
                received => received?,
            };
            if received.bytes > room {
                return Err(Errno::EMSGSIZE.into());
            }
            if received.address.is_some_and(|sender| sender.pid() == 0) {
                return Ok(received.bytes);
            }
        }
    }
}

impl AsFd for NetlinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether there is something to read before `deadline`. A signal does not end the wait.
///
/// # Errors
/// Those of poll(2).
pub fn wait_readable(fd: BorrowedFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // Rounded up: 0 would spin through the last millisecond.
        let left_ms = left.as_micros().div_ceil(1000);
        let timeout = PollTimeout::try_from(left_ms).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], timeout) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tc;

    /// Else netlink, once its buffer was full, lets each exchange that follows wait until its time is over.
    #[test]
    fn answers_that_found_no_room_keep_no_others_out() {
        let mut socket = NetlinkSocket::open(Family::Route).unwrap();
        setsockopt(&socket, sockopt::RcvBuf, &0).unwrap();
        let nowhere = || tc::remove_link(i32::MAX);
        let refused = socket.order((0..ORDERS).map(|_| nowhere()).collect());
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENOBUFS));
        let began = Instant::now();
        let outcomes = socket.order(vec![nowhere()]).unwrap();
        assert!(outcomes.len() == 1 && outcomes[0].is_err());
        assert!(began.elapsed() < PATIENCE / 2);
    }
}
