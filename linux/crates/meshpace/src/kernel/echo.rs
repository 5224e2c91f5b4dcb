// SPDX-License-Identifier: GPL-2.0-only
//! Asks hosts of the mesh for an answer (ICMP echo: RFC 792, RFC 4443), and says how long each took. The kernel notes when an
//! answer came, so that nobody need wait for it. What is asked bears a mark by which BPF lets it by.
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    recvmsg, setsockopt, sockopt, AddressFamily, ControlMessageOwned, MsgFlags, SockProtocol,
    SockaddrIn, SockaddrIn6, SockaddrStorage,
};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{clock_gettime, ClockId};

use crate::base::system::now_ns;
use crate::kernel::address::{address_of, bytes_of};
use crate::kernel::checksum;
use crate::kernel::icmp::{raw_socket, send_to, Filter4, Filter6};
use crate::kernel::intf::MP_MARK_LOCAL;

const ASK: u8 = 8;
const ANSWER: u8 = 0;
const ASK6: u8 = 128;
const ANSWER6: u8 = 129;
/// Type, code, checksum, identifier, number.
const HEADER: usize = 8;
/// When it was asked, and what nobody else can have made of that.
const TIME: usize = 8;
const SECRET: usize = 8;
const MESSAGE: usize = HEADER + TIME + SECRET;
/// An IPv4 header, which stands before what a raw socket receives, at most.
const IP_MOST: usize = 60;
/// So many answers are read at a time: others' programs have theirs here, too, and a flood has no end.
const MOST: usize = 256;

/// An answer that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub address: [u8; 16],
    pub number: u16,
    /// after how long
    pub rtt_ns: u64,
    /// when, monotonic
    pub at_ns: u64,
}

/// The sockets by which hosts are asked.
pub struct Echo {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
    secret: RandomState,
}

impl Echo {
    pub fn open() -> Self {
        let (mut only4, mut only6) = ([!0; 4], [!0; 32]);
        only4 = (u32::from_ne_bytes(only4) & !(1 << ANSWER)).to_ne_bytes();
        let word = usize::from(ANSWER6 / 32) * 4;
        let bits = !(1u32 << (ANSWER6 % 32));
        only6[word..word + 4].copy_from_slice(&bits.to_ne_bytes());
        let v4 = raw_socket(AddressFamily::Inet, SockProtocol::Icmp, Filter4, &only4);
        let v6 = raw_socket(AddressFamily::Inet6, SockProtocol::IcmpV6, Filter6, &only6);
        Self {
            v4: v4.filter(prepare),
            v6: v6.filter(prepare),
            secret: RandomState::new(),
        }
    }

    /// False: the host was not asked.
    pub fn ask(&self, address: &[u8; 16], number: u16) -> bool {
        let body = self.body(address, number, now_ns());
        match address_of(address) {
            IpAddr::V4(to) => {
                let to = SockaddrIn::from(SocketAddrV4::new(to, 0));
                let mut ask = message(ASK, number, &body);
                let sum = checksum::of(&ask);
                ask[2..4].copy_from_slice(&sum);
                send_to(self.v4.as_ref(), &ask, &to)
            }
            // Its checksum, which has the addresses in it, is the kernel's work.
            IpAddr::V6(to) => {
                let to = SockaddrIn6::from(SocketAddrV6::new(to, 0, 0, 0));
                send_to(self.v6.as_ref(), &message(ASK6, number, &body), &to)
            }
        }
    }

    /// What has been answered since the last time.
    pub fn answers(&self) -> Vec<Answer> {
        let sockets = [self.v4.as_ref(), self.v6.as_ref()];
        let mut answers = Vec::new();
        for socket in sockets.into_iter().flatten() {
            for _ in 0..MOST {
                let Some(packet) = receive(socket) else { break };
                answers.extend(packet.and_then(|packet| self.read(&packet)));
            }
        }
        answers
    }

    /// None: it answers nothing that was asked here.
    fn read(&self, packet: &Packet) -> Option<Answer> {
        let bytes = packet.icmp()?;
        let number = u16::from_be_bytes([bytes[6], bytes[7]]);
        let expected = match address_of(&packet.from) {
            IpAddr::V4(_) => ANSWER,
            IpAddr::V6(_) => ANSWER6,
        };
        let time = bytes[HEADER..HEADER + TIME].try_into().ok()?;
        let asked_ns = u64::from_ne_bytes(time);
        let body = self.body(&packet.from, number, asked_ns);
        let is_answer = bytes[0] == expected && bytes[1] == 0 && bytes[HEADER..] == body;
        is_answer.then_some(Answer {
            address: packet.from,
            number,
            rtt_ns: packet.at_ns.saturating_sub(asked_ns),
            at_ns: packet.at_ns,
        })
    }

    fn body(&self, address: &[u8; 16], number: u16, asked_ns: u64) -> [u8; TIME + SECRET] {
        let secret = self.secret.hash_one((address, number, asked_ns));
        let mut body = [0; TIME + SECRET];
        body[..TIME].copy_from_slice(&asked_ns.to_ne_bytes());
        body[TIME..].copy_from_slice(&secret.to_ne_bytes());
        body
    }
}

fn prepare(socket: &OwnedFd) -> bool {
    setsockopt(socket, sockopt::Mark, &MP_MARK_LOCAL).is_ok()
        && setsockopt(socket, sockopt::ReceiveTimestampns, &true).is_ok()
}

fn message(kind: u8, number: u16, body: &[u8]) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    [&[kind, 0, 0, 0, 0, 0, high, low], body].concat()
}

/// What a socket received.
struct Packet {
    from: [u8; 16],
    bytes: [u8; IP_MOST + MESSAGE],
    length: usize,
    at_ns: u64,
}

impl Packet {
    /// The message, behind what stands before it.
    fn icmp(&self) -> Option<&[u8]> {
        let first = match address_of(&self.from) {
            IpAddr::V4(_) => usize::from(self.bytes[0] & 0xf) * 4,
            IpAddr::V6(_) => 0,
        };
        let message = self.bytes.get(first..self.length)?;
        (message.len() == MESSAGE).then_some(message)
    }
}

/// None: there is nothing more. Some(None): something that says not when or from whom.
fn receive(socket: &OwnedFd) -> Option<Option<Packet>> {
    let mut bytes = [0; IP_MOST + MESSAGE];
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let mut control = nix::cmsg_space!(TimeSpec);
    let flags = MsgFlags::MSG_DONTWAIT;
    let got = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)
        .ok()?;
    let (length, from) = (got.bytes, got.address.as_ref().and_then(address_bytes));
    let stamp = got.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    let packet = from.zip(stamp).map(|(from, stamp)| Packet {
        from,
        bytes,
        length,
        at_ns: monotonic_ns(stamp),
    });
    Some(packet)
}

fn address_bytes(from: &SockaddrStorage) -> Option<[u8; 16]> {
    let v4 = from.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    let v6 = from.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
    v4.or(v6).map(bytes_of)
}

/// The kernel's stamps are of the clock that somebody may set; how long ago it was is the same by any.
fn monotonic_ns(stamp: TimeSpec) -> u64 {
    let now = |clock| clock_gettime(clock).expect("these clocks exist everywhere");
    let age = now(ClockId::CLOCK_REALTIME) - stamp;
    let at = now(ClockId::CLOCK_MONOTONIC) - age;
    u64::try_from(at.num_nanoseconds()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn packet(from: IpAddr, before: &[u8], icmp: &[u8]) -> Packet {
        let mut bytes = [0; IP_MOST + MESSAGE];
        let all = [before, icmp].concat();
        bytes[..all.len()].copy_from_slice(&all);
        Packet {
            from: bytes_of(from),
            bytes,
            length: all.len(),
            at_ns: 7,
        }
    }

    fn closed() -> Echo {
        Echo {
            v4: None,
            v6: None,
            secret: RandomState::new(),
        }
    }

    #[test]
    fn an_answer_is_known_by_its_secret() {
        let echo = closed();
        let (v4, v6): (IpAddr, IpAddr) = ("10.1.0.7".parse().unwrap(), "fd00::7".parse().unwrap());
        let mut ip = [0; 24];
        ip[0] = 0x46;
        let cases: [(IpAddr, u8, &[u8]); 2] = [(v4, ANSWER, &ip), (v6, ANSWER6, &[])];
        for (from, kind, before) in cases {
            let address = bytes_of(from);
            let body = echo.body(&address, 300, 2);
            let good = message(kind, 300, &body);
            let answer = echo.read(&packet(from, before, &good)).unwrap();
            assert_eq!((answer.address, answer.number), (address, 300));
            assert_eq!((answer.rtt_ns, answer.at_ns), (5, 7));
            let mut earlier = good.clone();
            earlier[HEADER..HEADER + TIME].copy_from_slice(&1_u64.to_ne_bytes());
            let others = [
                message(kind, 301, &body),
                message(ASK, 300, &body),
                message(kind, 300, &closed().body(&address, 300, 2)),
                earlier,
                good[..MESSAGE - 1].to_vec(),
                vec![],
            ];
            for other in others {
                assert_eq!(echo.read(&packet(from, before, &other)), None, "{other:?}");
            }
        }
        let body = echo.body(&bytes_of(v4), 300, 2);
        let forged = message(ANSWER6, 300, &body);
        assert_eq!(echo.read(&packet(v6, &[], &forged)), None, "another's");
    }

    /// By loopback, where it is permitted: the time is the kernel's, not the reader's. What comes just after the socket was
    /// opened bears no time of its own yet.
    #[test]
    fn this_box_answers_itself() {
        let echo = Echo::open();
        let address = bytes_of("127.0.0.1".parse().unwrap());
        let took = |number| {
            if !echo.ask(&address, number) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(300));
            let answers = echo.answers();
            assert_eq!(answers.len(), 1);
            assert_eq!((answers[0].address, answers[0].number), (address, number));
            Some(answers[0].rtt_ns)
        };
        let tries: Vec<_> = (1..=5).map_while(took).collect();
        let is_short = |rtt_ns: &u64| *rtt_ns < 200_000_000;
        assert!(tries.is_empty() || tries.iter().any(is_short), "{tries:?}");
        assert!(echo.answers().is_empty());
    }
}
