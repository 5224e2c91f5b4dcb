// SPDX-License-Identifier: GPL-2.0-only
//! A netfilter queue over netlink (linux/netfilter/nfnetlink_queue.h): packets in, verdicts out in
//! any order, verdicts of one wakeup in one system call.
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const SUBSYSTEM: u16 = (libc::NFNL_SUBSYS_QUEUE as u16) << 8;
const MESSAGE_PACKET: u16 = SUBSYSTEM;
const MESSAGE_VERDICT: u16 = SUBSYSTEM | 1;
const MESSAGE_CONFIG: u16 = SUBSYSTEM | 2;

const CONFIG_COMMAND: u16 = 1;
const CONFIG_PARAMETERS: u16 = 2;
const CONFIG_MAX_PACKETS: u16 = 3;
const CONFIG_MASK: u16 = 4;
const CONFIG_FLAGS: u16 = 5;
const COMMAND_BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// A full queue lets packets pass.
const FLAG_FAIL_OPEN: u32 = 1;

const PACKET_HEADER: u16 = 1;
const PACKET_PAYLOAD: u16 = 10;
const VERDICT_HEADER: u16 = 2;

const NETLINK_HEADER: usize = 16;
const FAMILY_HEADER: usize = 4;
/// Datagrams taken by one system call, and room for each: a packet's copied bytes and attributes.
const BATCH: usize = 32;
const DATAGRAM_BYTES: usize = 2048;
/// A verdict with its headers, and how many go out by one system call.
const VERDICT_BYTES: usize = NETLINK_HEADER + FAMILY_HEADER + 12;
const MOST_VERDICTS: usize = 1024;
/// For packets that the thread has not read yet; the kernel takes twice as much, of which a message takes some
/// 1300: 3200 packets, 40 ms at a gigabit a second, for which a busy machine may not let the thread run. This
/// is also what a thread that hangs can have caught. What finds no room passes.
const SOCKET_BUFFER_BYTES: i32 = 2 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Drop = 0,
    Accept = 1,
}

/// A packet in the queue; `payload` begins with the IP header and may be cut off.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    pub id: u32,
    pub payload: &'a [u8],
}

pub struct Queue {
    socket: OwnedFd,
    number: u16,
    buffer: Vec<u8>,
    verdicts: Vec<u8>,
}

/// A netlink message: header, netfilter's family header, attributes.
struct Writer<'a>(&'a mut Vec<u8>, usize);

impl<'a> Writer<'a> {
    fn begin(out: &'a mut Vec<u8>, kind: u16, flags: i32, queue: u16) -> Self {
        let start = out.len();
        out.extend([0; 4]);
        out.extend(kind.to_ne_bytes());
        out.extend(((flags | libc::NLM_F_REQUEST) as u16).to_ne_bytes());
        out.extend([0; 8]);
        out.extend([libc::AF_UNSPEC as u8, 0]);
        out.extend(queue.to_be_bytes());
        Self(out, start)
    }

    fn attribute(self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(((value.len() + 4) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn end(self) {
        let length = (self.0.len() - self.1) as u32;
        self.0[self.1..self.1 + 4].copy_from_slice(&length.to_ne_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The messages of a datagram: (type, body).
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = word(bytes, 0)? as usize;
        let kind = half(bytes, 4)?;
        let body = bytes.get(NETLINK_HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    })
}

/// The packet in a message's body after the family header; None when it is incomplete.
fn packet(body: &[u8]) -> Option<Packet<'_>> {
    let (mut id, mut payload): (_, &[u8]) = (None, &[]);
    let mut attributes = body.get(FAMILY_HEADER..)?;
    while let (Some(length), Some(kind)) = (half(attributes, 0), half(attributes, 2)) {
        let value = attributes.get(4..usize::from(length))?;
        match kind {
            PACKET_HEADER => id = Some(u32::from_be_bytes(value.get(..4)?.try_into().ok()?)),
            PACKET_PAYLOAD => payload = value,
            _ => {}
        }
        attributes = attributes
            .get(usize::from(length).next_multiple_of(4)..)
            .unwrap_or(&[]);
    }
    Some(Packet { id: id?, payload })
}

fn check(result: isize) -> Result<usize> {
    usize::try_from(result).map_err(|_| Error::last_os_error())
}

impl Queue {
    /// Binds queue `number`, of which `copied` bytes of each packet come along, `most` packets wait.
    pub fn bind(number: u16, copied: u32, most: u32) -> Result<Self> {
        // Safe: a new descriptor that is owned here alone.
        let socket = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_NETFILTER);
            check(fd as isize)?;
            OwnedFd::from_raw_fd(fd)
        };
        let mut queue = Self {
            socket,
            number,
            buffer: vec![0; BATCH * DATAGRAM_BYTES],
            verdicts: Vec::new(),
        };
        queue.set_option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, SOCKET_BUFFER_BYTES);
        // When messages are lost the kernel lets their packets pass; no need to be told.
        queue.set_option(libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, 1);
        queue.configure(CONFIG_COMMAND, &[COMMAND_BIND, 0, 0, 0], None)?;
        let mut parameters = copied.to_be_bytes().to_vec();
        parameters.push(COPY_PACKET);
        queue.configure(CONFIG_PARAMETERS, &parameters, None)?;
        queue.configure(CONFIG_MAX_PACKETS, &most.to_be_bytes(), None)?;
        let flag = FLAG_FAIL_OPEN.to_be_bytes();
        queue.configure(CONFIG_FLAGS, &flag, Some((CONFIG_MASK, &flag)))?;
        Ok(queue)
    }

    /// What cannot be set is done without.
    fn set_option(&self, level: i32, option: i32, value: i32) {
        let length = size_of::<i32>() as u32;
        let pointer = (&raw const value).cast();
        // Safe: a value of the length that is given.
        unsafe { libc::setsockopt(self.socket.as_raw_fd(), level, option, pointer, length) };
    }

    fn configure(&mut self, kind: u16, value: &[u8], more: Option<(u16, &[u8])>) -> Result<()> {
        let mut out = Vec::new();
        let mut writer = Writer::begin(&mut out, MESSAGE_CONFIG, libc::NLM_F_ACK, self.number)
            .attribute(kind, value);
        if let Some((kind, value)) = more {
            writer = writer.attribute(kind, value);
        }
        writer.end();
        self.send(&out)?;
        let received = self.receive_one()?;
        // Packets of the queue may already be among the answers; unanswered they wait for the end.
        for (kind, body) in messages(&self.buffer[..received]) {
            if i32::from(kind) == libc::NLMSG_ERROR {
                return match word(body, 0).map(|code| code as i32) {
                    Some(0) | None => Ok(()),
                    Some(code) => Err(Error::from_raw_os_error(-code)),
                };
            }
        }
        Ok(())
    }

    fn send(&self, bytes: &[u8]) -> Result<()> {
        // Safe: bytes outlive the call.
        let sent = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                0,
            )
        };
        check(sent).map(drop)
    }

    fn receive_one(&mut self) -> Result<usize> {
        let (pointer, length) = (self.buffer.as_mut_ptr().cast(), self.buffer.len());
        // Safe: the buffer has that length.
        check(unsafe { libc::recv(self.socket.as_raw_fd(), pointer, length, 0) })
    }

    /// Lengths of the datagrams that were waiting, at most [`BATCH`]; each has its part of the buffer.
    fn receive_batch(&mut self) -> Result<Vec<usize>> {
        let mut parts: Vec<_> = self
            .buffer
            .chunks_exact_mut(DATAGRAM_BYTES)
            .map(|part| libc::iovec {
                iov_base: part.as_mut_ptr().cast(),
                iov_len: part.len(),
            })
            .collect();
        let mut datagrams: Vec<_> = parts
            .iter_mut()
            .map(|part| {
                // Safe: plain numbers and pointers, for all of which zero stands for nothing.
                let mut datagram: libc::mmsghdr = unsafe { std::mem::zeroed() };
                datagram.msg_hdr.msg_iov = part;
                datagram.msg_hdr.msg_iovlen = 1;
                datagram
            })
            .collect();
        // Safe: each header points to one part of the buffer, and all outlive the call.
        let received = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                datagrams.as_mut_ptr(),
                datagrams.len() as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let lengths = datagrams.iter().map(|datagram| datagram.msg_len as usize);
        Ok(lengths.take(check(received as isize)?).collect())
    }

    /// Gives each packet that was waiting to `take`, up to a batch; false: there are no more.
    pub fn receive(&mut self, mut take: impl FnMut(Packet)) -> Result<bool> {
        let lengths = match self.receive_batch() {
            Ok(lengths) => lengths,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        for (datagram, length) in self.buffer.chunks_exact(DATAGRAM_BYTES).zip(&lengths) {
            for (kind, body) in messages(&datagram[..*length]) {
                if kind == MESSAGE_PACKET {
                    packet(body).into_iter().for_each(&mut take);
                }
            }
        }
        Ok(lengths.len() == BATCH)
    }

    /// Decides on a packet, at the latest with the next [`Self::flush`].
    pub fn decide(&mut self, id: u32, verdict: Verdict) {
        let header = u64::from(verdict as u32) << 32 | u64::from(id);
        Writer::begin(&mut self.verdicts, MESSAGE_VERDICT, 0, self.number)
            .attribute(VERDICT_HEADER, &header.to_be_bytes())
            .end();
    }

    /// Sends the verdicts. Those on packets that are gone, since their interface is, do no harm.
    pub fn flush(&mut self) -> Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        // At the end there may be more than a message holds.
        let mut parts = self.verdicts.chunks(MOST_VERDICTS * VERDICT_BYTES);
        let sent = parts.try_for_each(|part| self.send(part));
        self.verdicts.clear();
        sent
    }

    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Vec<u8> {
        let mut out = Vec::new();
        Writer::begin(&mut out, MESSAGE_PACKET, 0, 7)
            .attribute(PACKET_HEADER, &[0, 0, 1, 2, 8, 0, 4])
            .attribute(9, &[1, 2, 3])
            .attribute(PACKET_PAYLOAD, &[0x45, 0, 0])
            .end();
        out
    }

    #[test]
    fn packets_are_read_from_a_datagram_of_two() {
        let datagram = [message(), message()].concat();
        let found: Vec<_> = messages(&datagram)
            .map(|(kind, body)| (kind, packet(body)))
            .collect();
        let expected = || {
            Some(Packet {
                id: 0x102,
                payload: &[0x45, 0, 0][..],
            })
        };
        assert_eq!(
            found,
            [(MESSAGE_PACKET, expected()), (MESSAGE_PACKET, expected())]
        );
    }

    /// Else verdicts on many packets would be cut in the middle of one.
    #[test]
    fn a_verdict_has_its_bytes() {
        let mut out = Vec::new();
        Writer::begin(&mut out, MESSAGE_VERDICT, 0, 7)
            .attribute(VERDICT_HEADER, &[0; 8])
            .end();
        assert_eq!(out.len(), VERDICT_BYTES);
    }

    #[test]
    fn a_broken_message_is_no_packet_and_no_panic() {
        let whole = message();
        for length in 0..whole.len() {
            for (_, body) in messages(&whole[..length]) {
                packet(body);
            }
            let mut broken = whole.clone();
            broken[length] = broken[length].wrapping_add(0x81);
            for (_, body) in messages(&broken) {
                packet(body);
            }
        }
        assert_eq!(packet(&[]), None);
    }
}
