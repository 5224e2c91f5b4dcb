// SPDX-License-Identifier: GPL-2.0-only
//! The interface behind which the kernel holds packets (linux/bpf/hold.h): an ifb with HTB, which sends what
//! leaves it to the mesh interface again. Classes are made by who knows what waits (release/classes.rs).
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU16, AtomicU32, Ordering};

use meshpace_netlink::socket::{Family, NetlinkSocket};
use meshpace_netlink::tc;
use meshpace_paths::{InterfaceState, Interfaces};

use crate::base::errors::{anyhow, Context, Result};
use crate::base::system;
use crate::kernel::intf;

/// HTB's handle, of which classes are numbers, and that of the root above it.
pub const HTB: u32 = 0x1 << 16;
const SPLITTER: u32 = 0x8000 << 16;
/// What of no class waits for the interface, which never takes long: as many as a netfilter queue holds.
const DIRECT_PACKETS: u32 = 8192;
/// Of super packets that are split.
const SPLITTER_BYTES: u32 = 16 << 20;
/// What a frame has beside the interface's MTU: Ethernet and two VLAN tags.
const FRAME_HEADERS: u32 = 14 + 2 * 4;

pub struct Ifb {
    pub name: String,
    /// no frame is longer, so that each takes one slot
    slot_bytes: AtomicU16,
    /// 0: it is not there
    index: AtomicI32,
    /// it has been made so often: classes are of one of them
    made: AtomicU32,
}

impl Ifb {
    /// For a mesh interface; nothing is made yet.
    pub fn of(mesh: &str) -> Result<Self> {
        Ok(Self {
            name: format!("mph{}", system::interface_index(mesh)?),
            slot_bytes: AtomicU16::new(slot_for(system::mtu(mesh)?)),
            index: AtomicI32::new(0),
            made: AtomicU32::new(0),
        })
    }

    /// One that tests take to be made.
    #[cfg(test)]
    pub fn made_up(index: i32) -> Self {
        Self {
            name: "mph7".into(),
            slot_bytes: AtomicU16::new(1522),
            index: AtomicI32::new(index),
            made: AtomicU32::new(2),
        }
    }

    /// As if it had been made anew.
    #[cfg(test)]
    pub fn make_up_anew(&self, index: i32) {
        self.index.store(index, Ordering::Relaxed);
        self.made.fetch_add(1, Ordering::Release);
    }

    pub fn slot_bytes(&self) -> u16 {
        self.slot_bytes.load(Ordering::Relaxed)
    }

    /// The mesh interface takes packets of so many bytes: longer frames than it was made for would be lost.
    pub fn fit(&self, mtu: u32) {
        let slot = slot_for(mtu);
        if self.slot_bytes.fetch_max(slot, Ordering::Relaxed) < slot {
            self.leave();
        }
    }

    pub fn index(&self) -> i32 {
        self.index.load(Ordering::Relaxed)
    }

    /// Who made classes when it was another number has none any more.
    pub fn made(&self) -> u32 {
        self.made.load(Ordering::Acquire)
    }

    /// It lets nothing in any more.
    pub fn leave(&self) {
        self.index.store(0, Ordering::Relaxed);
    }

    /// Likewise the one of this number, if no other has been made meanwhile.
    pub fn leave_one(&self, index: i32) {
        let _ = self
            .index
            .compare_exchange(index, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Makes it, whatever is left of it.
    pub fn make(&self) -> Result<()> {
        self.leave();
        remove(&self.name)?;
        refuse_others(&self.name)?;
        let mut socket = NetlinkSocket::open(Family::Route).context("netlink")?;
        let mut ask = |what, request| socket.exchange(request, |_| {}).context(what);
        let before = unmarked()?;
        ask("an ifb (kernel module ifb)", tc::make_ifb(&self.name))?;
        let index = made_since(&before, &self.name)?;
        ask("an ifb", tc::set_alias(index, &alias(&self.name)))?;
        ask("an ifb", tc::set_up(index))?;
        let frame = u32::from(self.slot_bytes());
        let splitter = tc::make_splitter(index, SPLITTER, frame, SPLITTER_BYTES);
        ask("qdisc tbf (kernel module sch_tbf)", splitter)?;
        let htb = tc::make_htb(index, HTB, SPLITTER | 1, DIRECT_PACKETS);
        ask("qdisc htb (kernel module sch_htb)", htb)?;
        self.index.store(index, Ordering::Relaxed);
        // Who hears of it finds its number.
        self.made.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Whether it is there, whatever somebody calls it now, takes packets and has the qdiscs that it was made with. What
    /// only HTB has lost its classes tell.
    pub fn is_whole(&self, interfaces: &mut Interfaces) -> bool {
        match self.index() {
            0 => false,
            index => self.is_found_whole(interfaces.numbered(index)),
        }
    }

    /// What could not be looked at, as where there is no memory for an answer, is not given up with all that waits
    /// behind it: it is looked at again in a moment.
    fn is_found_whole(&self, found: io::Result<Option<InterfaceState>>) -> bool {
        match found {
            Ok(Some(found)) => found.index == self.index() && found.is_up && found.qdisc == "tbf",
            Ok(None) => false,
            Err(error) => {
                log::debug!("{}: {error}", self.name);
                self.index() != 0
            }
        }
    }
}

/// The longest frame of an interface that takes packets of so many bytes.
fn slot_for(mtu: u32) -> u16 {
    (mtu.max(1500) + FRAME_HEADERS).min(u32::from(u16::MAX)) as u16
}

/// Those that bear no alias.
fn unmarked() -> Result<Vec<InterfaceState>> {
    let found = Interfaces::open().and_then(|mut all| all.aliased(""));
    let mut found = found.context("netlink")?;
    found.retain(|found| found.kind == "ifb");
    Ok(found)
}

/// The number of one that has just been made, which somebody, such as a rule of udev's, may have renamed already: then the only
/// one that was not there before.
fn made_since(before: &[InterfaceState], name: &str) -> Result<i32> {
    let was_there = |index| before.iter().any(|other| other.index == index);
    let mut new = unmarked()?;
    new.retain(|ifb| !was_there(ifb.index));
    let named = new.iter().find(|ifb| ifb.name == name);
    match (named, new.as_slice()) {
        (Some(ifb), _) | (None, [ifb]) => Ok(ifb.index),
        _ => Err(anyhow!("{name} was made, and is not there any more")),
    }
}

/// By which one is known that somebody calls otherwise.
fn alias(name: &str) -> String {
    format!("meshpace {name}")
}

/// What somebody else has made of that name, or calls so beside its own.
fn refuse_others(name: &str) -> Result<()> {
    let found = Interfaces::open().and_then(|mut all| all.named(name));
    match found.context("netlink")? {
        Some(found) => Err(anyhow!(
            "{} is called {name}, as meshpace's ifb has to be, and is not meshpace's; rename it, or if nobody needs it: ip link del {name}",
            match found.name == name {
                true => "an interface",
                false => &found.name,
            }
        )),
        None => Ok(()),
    }
}

/// Takes an ifb away, with all that waits behind it, whatever it is called now; one that is not there is as good. What
/// somebody else has of that name stays: it does not bear the alias.
pub fn remove(name: &str) -> Result<()> {
    let found = Interfaces::open().and_then(|mut all| all.aliased(&alias(name)));
    let mut found = found.context("netlink")?;
    found.retain(|found| found.kind == "ifb");
    let mut socket = NetlinkSocket::open(Family::Route).context("netlink")?;
    for ifb in found {
        match socket.exchange(tc::remove_link(ifb.index), |_| {}) {
            Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
                return Err(error).with_context(|| format!("removing {}", ifb.name));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A class's whole number.
pub fn class_of(minor: u16) -> u32 {
    HTB | u32::from(minor)
}

const _: () = assert!(HTB == intf::MP_HTB_MAJOR);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::namespace::{alone, ip};

    /// Else all that waits is lost whenever netlink fails once.
    #[test]
    fn a_look_that_fails_says_nothing() {
        let failed = || Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        let other = InterfaceState {
            index: 11,
            is_up: true,
            qdisc: "tbf".into(),
            ..Default::default()
        };
        assert!(Ifb::made_up(12).is_found_whole(failed()));
        assert!(!Ifb::made_up(0).is_found_whole(failed()), "it was given up");
        assert!(!Ifb::made_up(12).is_found_whole(Ok(None)), "it is gone");
        assert!(!Ifb::made_up(12).is_found_whole(Ok(Some(other.clone()))));
        assert!(Ifb::made_up(11).is_found_whole(Ok(Some(other))));
    }

    /// Else it is made again and again where somebody renames it, and each of them stays.
    #[test]
    fn one_that_is_called_otherwise_is_the_same() {
        alone(|| {
            let (ifb, mut interfaces) = (Ifb::made_up(0), Interfaces::open().unwrap());
            ifb.make().unwrap();
            assert!(ifb.is_whole(&mut interfaces));
            // Older kernels rename none that is up.
            ip("link set mph7 down");
            ip("link set mph7 name other");
            assert!(!ifb.is_whole(&mut interfaces), "it is down");
            ip("link set other up");
            assert!(ifb.is_whole(&mut interfaces));
            ip("link add mph7 type veth peer name far");
            remove(&ifb.name).unwrap();
            assert!(!ifb.is_whole(&mut interfaces));
            let left = ip("-o link");
            assert!(!left.contains("other"), "{left}");
            assert!(left.contains("mph7"), "somebody else's: {left}");
        });
    }

    /// Else what somebody has set up for itself is gone, without a word.
    #[test]
    fn what_is_somebody_else_s_stays() {
        alone(|| {
            let ifb = Ifb::made_up(0);
            for made in ["type ifb", "type veth peer name far"] {
                ip(&format!("link add mph7 {made}"));
                let refused = format!("{:#}", ifb.make().unwrap_err());
                assert!(refused.contains("ip link del mph7"), "{refused}");
                remove(&ifb.name).unwrap();
                assert!(ip("-o link").contains("mph7"), "{made}");
                ip("link del mph7");
            }
            ip("link property add dev lo altname mph7");
            let refused = format!("{:#}", ifb.make().unwrap_err());
            assert!(refused.starts_with("lo is called mph7"), "{refused}");
        });
    }

    /// Else one that a rule of udev's renames at once is not found, and stays: one more each second.
    #[test]
    fn one_that_is_renamed_at_once_is_found() {
        alone(|| {
            ip("link add another type ifb");
            let before = unmarked().unwrap();
            let mut socket = NetlinkSocket::open(Family::Route).unwrap();
            socket.exchange(tc::make_ifb("mph7"), |_| {}).unwrap();
            let index = system::interface_index("mph7").unwrap();
            assert_eq!(made_since(&before, "mph7").unwrap(), index);
            ip("link set mph7 name other");
            assert_eq!(made_since(&before, "mph7").unwrap(), index);
            ip("link add third type ifb");
            assert!(made_since(&before, "mph7").is_err(), "which of two?");
            ip("link set other name mph7");
            assert_eq!(made_since(&before, "mph7").unwrap(), index);
        });
    }

    /// Else what is refused behind one that was taken away is the end of the one that was made in its place, and so on.
    #[test]
    fn one_that_is_gone_takes_none_with_it() {
        let ifb = Ifb::made_up(12);
        ifb.leave_one(11);
        assert_eq!(ifb.index(), 12);
        ifb.leave_one(12);
        assert_eq!(ifb.index(), 0);
    }
}
