// SPDX-License-Identifier: GPL-2.0-only
//! A netfilter queue over netlink (linux/netfilter/nfnetlink_queue.h): packets in, verdicts out in
//! any order, verdicts of one wakeup in one system call.
use std::io::{Error, IoSliceMut, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use meshpace_netlink::codec::{Attribute, Attributes, Messages, Request, Writer};
use meshpace_netlink::socket::{Family, NetlinkSocket};
use nix::sys::socket::{recvmmsg, setsockopt, MsgFlags, MultiHeaders};
use nix::{setsockopt_impl, sockopt_impl};

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
const PACKET_CAME_BY: u16 = 5;
const PACKET_LEAVES_BY: u16 = 6;
const PACKET_PAYLOAD: u16 = 10;
const VERDICT_HEADER: u16 = 2;

const FAMILY_HEADER: usize = 4;
/// Datagrams taken by one system call, and room for each: a packet's copied bytes and attributes.
const BATCH: usize = 32;
const DATAGRAM_BYTES: usize = 2048;
/// A verdict with its headers, and how many go out by one system call.
const VERDICT_BYTES: usize = 16 + FAMILY_HEADER + 12;
const MOST_VERDICTS: usize = 1024;
/// For packets that the thread has not read yet; the kernel takes twice as much, of which a message takes some
/// 1300: 3200 packets, 40 ms at a gigabit a second, for which a busy machine may not let the thread run. This
/// is also what a thread that hangs can have caught. What finds no room passes.
const SOCKET_BUFFER_BYTES: usize = 2 << 20;

sockopt_impl!(
    /// No message says that others were lost.
    NoEnobufs,
    SetOnly,
    libc::SOL_NETLINK,
    libc::NETLINK_NO_ENOBUFS,
    bool
);

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
    /// it leaves by the interface by which it came; kernels before 5.7 do not tell
    pub turns_back: bool,
}

pub struct Queue {
    socket: NetlinkSocket,
    number: u16,
    buffer: Vec<u8>,
    verdicts: Vec<u8>,
    /// messages of packets found no room in the socket, or verdicts none in the kernel, so often
    pub overruns: u64,
}

/// Netfilter's fixed header.
fn header(queue: u16) -> [u8; FAMILY_HEADER] {
    let [high, low] = queue.to_be_bytes();
    [libc::AF_UNSPEC as u8, 0, high, low]
}

/// The packet in a message's body after the family header; None when it is incomplete.
fn packet(body: &[u8]) -> Option<Packet<'_>> {
    let (mut id, mut payload): (_, &[u8]) = (None, &[]);
    let (mut came_by, mut leaves_by): (&[u8], &[u8]) = (&[], &[]);
    for Attribute { kind, value } in Attributes::after(body, FAMILY_HEADER)? {
        match kind {
            PACKET_HEADER => id = Some(u32::from_be_bytes(value.get(..4)?.try_into().ok()?)),
            PACKET_CAME_BY => came_by = value,
            PACKET_LEAVES_BY => leaves_by = value,
            PACKET_PAYLOAD => payload = value,
            _ => {}
        }
    }
    Some(Packet {
        id: id?,
        payload,
        turns_back: !came_by.is_empty() && came_by == leaves_by,
    })
}

fn has_no_room(error: &Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Takes verdicts off as far as they go; at the end there may be more than a message holds. False: there was no room.
fn send_parts(verdicts: &mut Vec<u8>, send: impl Fn(&[u8]) -> Result<()>) -> Result<bool> {
    let mut sent = 0;
    let mut outcome = Ok(true);
    for part in verdicts.chunks(MOST_VERDICTS * VERDICT_BYTES) {
        match send(part) {
            Ok(()) => sent += part.len(),
            Err(error) if has_no_room(&error) => {
                outcome = Ok(false);
                break;
            }
            Err(error) => {
                sent = verdicts.len();
                outcome = Err(error);
                break;
            }
        }
    }
    verdicts.drain(..sent);
    outcome
}

impl Queue {
    /// Binds queue `number`, of which `copied` bytes of each packet come along, `most` packets wait.
    pub fn bind(number: u16, copied: u32, most: u32) -> Result<Self> {
        let socket = NetlinkSocket::open(Family::Netfilter)?;
        // What cannot be set is done without.
        let _ = socket.set_buffer(SOCKET_BUFFER_BYTES);
        // When messages are lost the kernel lets their packets pass; no need to be told.
        let _ = setsockopt(&socket, NoEnobufs, &true);
        let mut queue = Self {
            socket,
            number,
            buffer: vec![0; BATCH * DATAGRAM_BYTES],
            verdicts: Vec::new(),
            overruns: 0,
        };
        queue.configure(|request| request.attribute(CONFIG_COMMAND, &[COMMAND_BIND, 0, 0, 0]))?;
        let mut parameters = copied.to_be_bytes().to_vec();
        parameters.push(COPY_PACKET);
        queue.configure(|request| request.attribute(CONFIG_PARAMETERS, &parameters))?;
        let most = most.to_be_bytes();
        queue.configure(|request| request.attribute(CONFIG_MAX_PACKETS, &most))?;
        let flag = FLAG_FAIL_OPEN.to_be_bytes();
        queue.configure(|request| {
            let request = request.attribute(CONFIG_FLAGS, &flag);
            request.attribute(CONFIG_MASK, &flag)
        })?;
        Ok(queue)
    }

    /// Packets of the queue may already be among the answers; unanswered they wait for the end.
    fn configure(&mut self, fill: impl FnOnce(Request) -> Request) -> Result<()> {
        let request = Request::set(MESSAGE_CONFIG, &header(self.number));
        self.socket.exchange(fill(request), |_| {})
    }

    /// Lengths of the datagrams that were waiting, at most [`BATCH`]; each has its part of the buffer.
    fn receive_batch(&mut self) -> Result<Vec<usize>> {
        let mut parts: Vec<_> = self
            .buffer
            .chunks_exact_mut(DATAGRAM_BYTES)
            .map(|part| [IoSliceMut::new(part)])
            .collect();
        let mut headers = MultiHeaders::<()>::preallocate(parts.len(), None);
        let fd = self.socket.as_fd().as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let received = recvmmsg(fd, &mut headers, parts.iter_mut(), flags, None)?;
        Ok(received.map(|datagram| datagram.bytes).collect())
    }

    /// Gives each packet that was waiting to `take`, up to a batch; false: there are no more.
    pub fn receive(&mut self, mut take: impl FnMut(Packet)) -> Result<bool> {
        let lengths = match self.receive_batch() {
            Ok(lengths) => lengths,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(true),
            // The kernel lets those packets pass; others may be waiting.
            Err(error) if has_no_room(&error) => {
                self.overruns += 1;
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        for (datagram, length) in self.buffer.chunks_exact(DATAGRAM_BYTES).zip(&lengths) {
            for message in Messages(&datagram[..*length]) {
                if message.kind == MESSAGE_PACKET {
                    packet(message.body).into_iter().for_each(&mut take);
                }
            }
        }
        Ok(lengths.len() == BATCH)
    }

    /// Decides on a packet, at the latest with the next [`Self::flush`].
    pub fn decide(&mut self, id: u32, verdict: Verdict) {
        let decided = u64::from(verdict as u32) << 32 | u64::from(id);
        Writer::begin(&mut self.verdicts, MESSAGE_VERDICT, 0, &header(self.number))
            .attribute(VERDICT_HEADER, &decided.to_be_bytes())
            .end(0);
    }

    /// Sends the verdicts. Those on packets that are gone, since their interface is, do no harm; those for which the
    /// kernel has no memory go with the next ones, or their packets would stay in the queue for ever.
    pub fn flush(&mut self) -> Result<()> {
        let socket = &self.socket;
        let flushed = send_parts(&mut self.verdicts, |part| socket.send(part));
        self.overruns += u64::from(!flushed?);
        Ok(())
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Vec<u8> {
        let mut out = Vec::new();
        Writer::begin(&mut out, MESSAGE_PACKET, 0, &header(7))
            .attribute(PACKET_HEADER, &[0, 0, 1, 2, 8, 0, 4])
            .attribute(9, &[1, 2, 3])
            .attribute(PACKET_PAYLOAD, &[0x45, 0, 0])
            .end(0);
        out
    }

    #[test]
    fn packets_are_read_from_a_datagram_of_two() {
        let datagram = [message(), message()].concat();
        let found: Vec<_> = Messages(&datagram)
            .map(|message| (message.kind, packet(message.body)))
            .collect();
        let expected = || {
            Some(Packet {
                id: 0x102,
                payload: &[0x45, 0, 0][..],
                turns_back: false,
            })
        };
        assert_eq!(
            found,
            [(MESSAGE_PACKET, expected()), (MESSAGE_PACKET, expected())]
        );
    }

    /// Else packets between two mesh hosts wait here, of which the programs at the interface know nothing.
    #[test]
    fn what_turns_back_into_the_mesh_is_known() {
        let turns_back = |came_by: Option<u8>, leaves_by: u8| {
            let mut out = Vec::new();
            let mut writer = Writer::begin(&mut out, MESSAGE_PACKET, 0, &header(7))
                .attribute(PACKET_HEADER, &[0; 7]);
            if let Some(index) = came_by {
                writer = writer.attribute(PACKET_CAME_BY, &[0, 0, 0, index]);
            }
            writer
                .attribute(PACKET_LEAVES_BY, &[0, 0, 0, leaves_by])
                .end(0);
            let message = Messages(&out).next().unwrap();
            packet(message.body).unwrap().turns_back
        };
        assert!(turns_back(Some(3), 3));
        assert!(!turns_back(Some(2), 3) && !turns_back(None, 3));
    }

    /// Else verdicts on many packets would be cut in the middle of one.
    #[test]
    fn a_verdict_has_its_bytes() {
        let mut out = Vec::new();
        Writer::begin(&mut out, MESSAGE_VERDICT, 0, &header(7))
            .attribute(VERDICT_HEADER, &[0; 8])
            .end(0);
        assert_eq!(out.len(), VERDICT_BYTES);
    }

    #[test]
    fn a_broken_message_is_no_packet_and_no_panic() {
        let whole = message();
        for length in 0..whole.len() {
            for message in Messages(&whole[..length]) {
                packet(message.body);
            }
            let mut broken = whole.clone();
            broken[length] = broken[length].wrapping_add(0x81);
            for message in Messages(&broken) {
                packet(message.body);
            }
        }
        assert_eq!(packet(&[]), None);
    }

    /// A queue whose socket has no room for what the kernel answers.
    fn overrun() -> Queue {
        let socket = NetlinkSocket::open(Family::Route).unwrap();
        setsockopt(&socket, nix::sys::socket::sockopt::RcvBuf, &0).unwrap();
        let nowhere = || meshpace_netlink::tc::remove_link(i32::MAX);
        for number in 0..64 {
            socket.send(&nowhere().finish(number)).unwrap();
        }
        Queue {
            socket,
            number: 7,
            buffer: vec![0; BATCH * DATAGRAM_BYTES],
            verdicts: Vec::new(),
            overruns: 0,
        }
    }

    /// Else one burst that finds no room ends the daemon, and what it held is lost.
    #[test]
    fn messages_that_were_lost_end_nothing() {
        let mut queue = overrun();
        while queue.receive(|_| {}).unwrap() {}
        assert_eq!(queue.overruns, 1);
        assert!(!queue.receive(|_| {}).unwrap(), "it goes on");
    }

    /// Else packets of which the verdict is lost stay in the queue until it is full.
    #[test]
    fn verdicts_that_find_no_room_are_sent_later() {
        let most = MOST_VERDICTS * VERDICT_BYTES;
        let mut verdicts = vec![1; 2 * most + VERDICT_BYTES];
        let no_room = || Err(Error::from_raw_os_error(libc::ENOBUFS));
        let calls = std::cell::Cell::new(0);
        let second_fails = |_: &[u8]| {
            calls.set(calls.get() + 1);
            if calls.get() == 2 {
                no_room()
            } else {
                Ok(())
            }
        };
        assert!(!send_parts(&mut verdicts, second_fails).unwrap());
        assert_eq!(verdicts.len(), most + VERDICT_BYTES);
        assert!(send_parts(&mut verdicts, |_| Ok(())).unwrap());
        assert!(verdicts.is_empty() && calls.get() == 2);
    }
}
