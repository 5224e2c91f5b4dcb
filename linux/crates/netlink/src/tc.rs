// SPDX-License-Identifier: GPL-2.0-only
//! What holds packets in the kernel: an ifb with HTB, and the filter that sends packets there
//! (linux/pkt_sched.h, linux/pkt_cls.h, linux/if_link.h). Messages only; who sends them is in `meshpace`.

use crate::codec::{u32_at, Attributes, Request};

const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_INFO_KIND: u16 = 1;
const IFF_UP: u32 = 1;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_DIRECT_QLEN: u16 = 5;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const TCA_BPF_ACT: u16 = 1;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;
const TCA_EGRESS_REDIR: u32 = 1;
const TC_ACT_STOLEN: u32 = 4;
const LINKLAYER_ETHERNET: u8 = 1;
const HTB_VERSION: u32 = 3;

/// Where filters of packets that come and of those that leave hang under clsact.
pub const INGRESS: u32 = 0xffff_fff2;
pub const EGRESS: u32 = 0xffff_fff3;
/// Of the qdiscs clsact and ingress, of which an interface takes one.
const CLSACT_HANDLE: u32 = 0xffff_0000;
const CLSACT_PARENT: u32 = 0xffff_fff1;
/// The length of `struct tcmsg`.
const TC_HEADER: usize = 20;
/// A qdisc at the root of its interface.
pub const ROOT: u32 = 0xffff_ffff;
/// The kernel's clock for bursts ticks each 64 ns.
const TICK_NS: u64 = 64;
/// HTB's smallest rate: a class that gets all from its parent.
const LEAST_BYTES_PER_S: u64 = 1;

/// Fields one after the other, each in the machine's order.
macro_rules! fields {
    ($($field:expr),* $(,)?) => {{
        let mut bytes = Vec::new();
        $(bytes.extend_from_slice(&$field.to_ne_bytes());)*
        bytes
    }};
}

/// `struct ifinfomsg`: of any family.
fn link_header(index: i32, flags: u32) -> Vec<u8> {
    fields!(0_u16, 0_u16, index, flags, flags)
}

/// `struct tcmsg`.
fn tc_header(index: i32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    fields!(0_u32, index, handle, parent, info)
}

/// `struct tc_ratespec`; each packet counts as `least_bytes` at least.
fn ratespec(bytes_per_s: u64, least_bytes: u16) -> Vec<u8> {
    let rate = bytes_per_s.min(u64::from(u32::MAX)) as u32;
    fields!(0_u8, LINKLAYER_ETHERNET, 0_u16, 0_i16, least_bytes, rate)
}

fn name(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// Makes an interface of the kind ifb.
pub fn make_ifb(interface: &str) -> Request {
    Request::create(libc::RTM_NEWLINK, &link_header(0, 0))
        .attribute(IFLA_IFNAME, &name(interface))
        .nested(IFLA_LINKINFO, |it| {
            it.attribute(IFLA_INFO_KIND, &name("ifb"))
        })
}

/// What tells it from others whatever it is called.
pub fn set_alias(index: i32, alias: &str) -> Request {
    Request::set(libc::RTM_NEWLINK, &link_header(index, 0))
        .attribute(IFLA_IFALIAS, alias.as_bytes())
}

pub fn set_up(index: i32) -> Request {
    Request::set(libc::RTM_NEWLINK, &link_header(index, IFF_UP))
}

pub fn remove_link(index: i32) -> Request {
    Request::set(libc::RTM_DELLINK, &link_header(index, 0))
}

/// A token bucket as root: it splits super packets into frames of at most `frame_bytes`, and is in nobody's way.
pub fn make_splitter(index: i32, handle: u32, frame_bytes: u32, queue_bytes: u32) -> Request {
    const BYTES_PER_S: u64 = 125_000_000_000;
    let parameters = [
        ratespec(BYTES_PER_S, 0),
        ratespec(0, 0),
        fields!(queue_bytes, 0_u32, 0_u32),
    ];
    Request::create(libc::RTM_NEWQDISC, &tc_header(index, handle, ROOT, 0))
        .attribute(TCA_KIND, &name("tbf"))
        .nested(TCA_OPTIONS, |it| {
            it.attribute(TCA_TBF_PARMS, &parameters.concat())
                .attribute(TCA_TBF_RATE64, &BYTES_PER_S.to_ne_bytes())
                .attribute(TCA_TBF_BURST, &frame_bytes.to_ne_bytes())
        })
}

/// HTB below `parent`; packets of no class leave at once, of which `direct_packets` may wait for the interface.
pub fn make_htb(index: i32, handle: u32, parent: u32, direct_packets: u32) -> Request {
    let init = fields!(HTB_VERSION, 10_u32, 0_u32, 0_u32, 0_u32);
    Request::create(libc::RTM_NEWQDISC, &tc_header(index, handle, parent, 0))
        .attribute(TCA_KIND, &name("htb"))
        .nested(TCA_OPTIONS, |it| {
            it.attribute(TCA_HTB_INIT, &init)
                .attribute(TCA_HTB_DIRECT_QLEN, &direct_packets.to_ne_bytes())
        })
}

/// Asks for the qdiscs of this namespace.
pub fn ask_qdiscs() -> Request {
    Request::dump(libc::RTM_GETQDISC, &tc_header(0, 0, 0, 0))
}

/// Of a message about a qdisc: its interface, its handle and its kind.
pub fn parse_qdisc(body: &[u8]) -> Option<(i32, u32, String)> {
    let kind = Attributes::after(body, TC_HEADER)?.find(|it| it.kind == TCA_KIND)?;
    Some((u32_at(body, 4)? as i32, u32_at(body, 8)?, kind.text()))
}

/// Whether a qdisc bears the handle that clsact and ingress have.
pub fn is_clsact_handle(handle: u32) -> bool {
    handle == CLSACT_HANDLE
}

/// Refused where it is the qdisc ingress that is there, which has the same handle.
pub fn remove_clsact(index: i32) -> Request {
    let header = tc_header(index, CLSACT_HANDLE, CLSACT_PARENT, 0);
    Request::set(libc::RTM_DELQDISC, &header).attribute(TCA_KIND, &name("clsact"))
}

/// Asks for the filters at [`INGRESS`] or [`EGRESS`].
pub fn ask_filters(index: i32, parent: u32) -> Request {
    Request::dump(libc::RTM_GETTFILTER, &tc_header(index, 0, parent, 0))
}

/// Of a message about a filter: its priority, of which the smallest is asked first, its protocol (ETH_P_...) and its
/// kind.
pub fn parse_filter(body: &[u8]) -> Option<(u16, u16, String)> {
    let info = u32_at(body, 16)?;
    let kind = Attributes::after(body, TC_HEADER)?.find(|it| it.kind == TCA_KIND)?;
    Some(((info >> 16) as u16, u16::from_be(info as u16), kind.text()))
}

/// What the packets of an HTB class may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub bytes_per_s: u64,
    /// each packet counts as so many bytes at least
    pub least_bytes: u16,
    /// how long the class may save, so that a timer that is late does not slow it down
    pub saved_ns: u64,
    /// the class has nothing of its own, and gets all from its parent
    pub borrows: bool,
    /// of the classes that may send it is served before others
    pub first: bool,
}

impl Rate {
    /// `struct tc_htb_opt`, and both rates in 64 bits.
    fn options(&self, frame_bytes: u32) -> (Vec<u8>, u64, u64) {
        let ceil = self.bytes_per_s.max(LEAST_BYTES_PER_S);
        let own = if self.borrows {
            LEAST_BYTES_PER_S
        } else {
            ceil
        };
        let saved = (self.saved_ns / TICK_NS).min(u64::from(u32::MAX)) as u32;
        let priority = u32::from(!self.first);
        let tail = fields!(saved, saved, frame_bytes, 0_u32, priority);
        let options = [
            ratespec(own, self.least_bytes),
            ratespec(ceil, self.least_bytes),
            tail,
        ];
        (options.concat(), own, ceil)
    }
}

/// A class of HTB by its number and its parent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub index: i32,
    pub id: u32,
    pub parent: u32,
    /// a turn among its parent's classes
    pub frame_bytes: u32,
}

impl Class {
    fn header(&self) -> Vec<u8> {
        tc_header(self.index, self.id, self.parent, 0)
    }

    fn with(&self, request: Request, rate: &Rate) -> Request {
        let (options, own, ceil) = rate.options(self.frame_bytes);
        request
            .attribute(TCA_KIND, &name("htb"))
            .nested(TCA_OPTIONS, |it| {
                it.attribute(TCA_HTB_PARMS, &options)
                    .attribute(TCA_HTB_RATE64, &own.to_ne_bytes())
                    .attribute(TCA_HTB_CEIL64, &ceil.to_ne_bytes())
            })
    }

    pub fn make(&self, rate: &Rate) -> Request {
        self.with(Request::create(libc::RTM_NEWTCLASS, &self.header()), rate)
    }

    /// Another rate holds from the departure after the next on.
    pub fn change(&self, rate: &Rate) -> Request {
        self.with(Request::set(libc::RTM_NEWTCLASS, &self.header()), rate)
    }

    pub fn remove(&self) -> Request {
        Request::set(libc::RTM_DELTCLASS, &self.header())
    }
}

/// A queue of so many packets below a class; the kernel finds it a handle that no other qdisc has.
pub fn make_fifo(index: i32, parent: u32, packets: u32) -> Request {
    Request::create(libc::RTM_NEWQDISC, &tc_header(index, 0, parent, 0))
        .attribute(TCA_KIND, &name("pfifo"))
        .attribute(TCA_OPTIONS, &packets.to_ne_bytes())
}

/// A BPF filter: its place, and the program by its descriptor; for its removal the place is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter<'a> {
    pub index: i32,
    pub parent: u32,
    pub priority: u16,
    pub handle: u32,
    pub program: i32,
    pub name: &'a str,
}

impl Filter<'_> {
    fn header(&self) -> Vec<u8> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let info = u32::from(self.priority) << 16 | u32::from(protocol);
        tc_header(self.index, self.handle, self.parent, info)
    }

    /// What it matches is sent to another interface.
    pub fn make_redirect(&self, to: i32) -> Request {
        // struct tc_mirred
        let mirred = fields!(
            0_u32,
            0_u32,
            TC_ACT_STOLEN,
            0_u32,
            0_u32,
            TCA_EGRESS_REDIR,
            to
        );
        Request::create(libc::RTM_NEWTFILTER, &self.header())
            .attribute(TCA_KIND, &name("bpf"))
            .nested(TCA_OPTIONS, |it| {
                it.nested(TCA_BPF_ACT, |it| {
                    it.nested(1, |it| {
                        it.attribute(TCA_ACT_KIND, &name("mirred"))
                            .nested(TCA_ACT_OPTIONS, |it| {
                                it.attribute(TCA_MIRRED_PARMS, &mirred)
                            })
                    })
                })
                .attribute(TCA_BPF_FD, &self.program.to_ne_bytes())
                .attribute(TCA_BPF_NAME, &name(self.name))
            })
    }

    pub fn remove(&self) -> Request {
        Request::set(libc::RTM_DELTFILTER, &self.header()).attribute(TCA_KIND, &name("bpf"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::{Family, NetlinkSocket};
    use nix::net::if_::if_nametoindex;
    use nix::sched::{unshare, CloneFlags};

    const HANDLE: u32 = 1 << 16;
    const SPLITTER: u32 = 0x8000 << 16;

    /// What `tc` or `ip` shows in the namespace of this thread.
    fn shown(command: &str) -> String {
        let mut words = command.split(' ');
        let output = std::process::Command::new(words.next().unwrap())
            .args(words)
            .output()
            .expect("iproute2");
        String::from_utf8(output.stdout).unwrap()
    }

    fn has(shown: &str, words: &[&str]) {
        for word in words {
            assert!(shown.contains(word), "{word} in {shown}");
        }
    }

    /// Makes what holds packets, a rate that is changed, and takes all of it away.
    fn hold(socket: &mut NetlinkSocket) {
        let mut ask = |request| socket.exchange(request, |_| {});
        ask(make_ifb("held")).unwrap();
        let index = if_nametoindex("held").unwrap() as i32;
        ask(set_up(index)).unwrap();
        ask(make_splitter(index, SPLITTER, 1536, 10_000_000)).unwrap();
        ask(make_htb(index, HANDLE, SPLITTER | 1, 1000)).unwrap();
        let class = |id, parent| Class {
            index,
            id: HANDLE | id,
            parent,
            frame_bytes: 1514,
        };
        let (host, flow) = (class(2, HANDLE), class(3, HANDLE | 2));
        let at_most = |bytes_per_s, least_bytes, borrows| Rate {
            bytes_per_s,
            least_bytes,
            saved_ns: 51_200,
            borrows,
            first: false,
        };
        ask(host.make(&at_most(1_250_000_000, 0, false))).unwrap();
        ask(flow.make(&at_most(125_000, 1514, true))).unwrap();
        ask(make_fifo(index, HANDLE | 3, 77)).unwrap();
        has(
            &shown("tc -d qdisc show dev held"),
            &[
                "tbf 8000: root",
                "rate 1Tbit",
                "htb 1: parent 8000:1",
                " parent 1:3 limit 77p",
            ],
        );
        let classes = shown("tc -d class show dev held");
        has(
            &classes,
            &[
                "1:3 parent 1:2",
                "rate 8bit ceil 1Mbit",
                "mpu 1514b",
                "rate 10Gbit ceil 10Gbit",
            ],
        );
        ask(flow.change(&at_most(250_000, 1514, true))).unwrap();
        has(&shown("tc -d class show dev held"), &["ceil 2Mbit"]);
        ask(flow.change(&at_most(6_000_000_000, 1514, true))).unwrap();
        has(&shown("tc -d class show dev held"), &["ceil 48Gbit"]);
        ask(flow.remove()).unwrap();
        let gone = ask(flow.change(&at_most(1, 0, true))).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ENOENT));
        ask(remove_link(index)).unwrap();
        assert!(shown("ip -o link")
            .lines()
            .all(|line| !line.contains("held")));
    }

    /// Where no namespace can be had (not root) it says so and shows nothing.
    #[test]
    fn the_kernel_takes_what_holds_packets() {
        let outcome = std::thread::spawn(|| match unshare(CloneFlags::CLONE_NEWNET) {
            Ok(()) => hold(&mut NetlinkSocket::open(Family::Route).unwrap()),
            Err(error) => eprintln!("not run: {error}"),
        });
        outcome.join().unwrap();
    }
}
