// SPDX-License-Identifier: GPL-2.0-only
//! Keeps the classes behind an ifb as the lines need them, whatever the kernel answers: nothing that it refuses, or has no
//! memory for, may end the gateway. A line without a class passes; an ifb of whose classes nobody knows is left, and made
//! anew by who looks after it.
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use meshpace_netlink::codec::Request;

use crate::base::errors::{words, Result};
use crate::hosts::identity::Address;
use crate::kernel::intf::{self, mp_class, mp_flow_key};
use crate::kernel::law;
use crate::release::classes::{line_of, Classes};
use crate::release::held::Held;
use crate::release::liveness;
use crate::release::pacer::Control;
use crate::setup::ifb::Ifb;

/// What fails may fail with each packet: it is told so often.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// Which class each line has, as the BPF programs find it, and its number.
pub type Entries = Vec<(mp_flow_key, mp_class)>;

/// Packets that wait in a line, whatever its units are.
fn packets((key, class): &(mp_flow_key, mp_class)) -> u64 {
    let units = u64::from(law::hold_waiting(&class.hold));
    match line_of(key) {
        intf::mp_line_MP_LINE_FLOW | intf::mp_line_MP_LINE_ACKS => units,
        _ if units == 0 => 0,
        _ => class.of_bucket.iter().map(|count| u64::from(*count)).sum(),
    }
}

/// Whether a host's line is of its datagrams.
fn is_of_datagrams(line: u32) -> bool {
    line == intf::mp_line_MP_LINE_SPARSE || line == intf::mp_line_MP_LINE_BULK
}

/// Who has the classes, and the table of the lines that have one.
pub trait World {
    /// What is said of each order; an error: nobody knows which were carried out.
    fn order(&mut self, orders: Vec<Request>) -> io::Result<Vec<io::Result<()>>>;
    fn entries(&self) -> Result<Entries>;
    fn enter(&self, key: &mp_flow_key, minor: u16, interval_ns: u64) -> Result<()>;
    fn remove(&self, key: &mp_flow_key);
    fn forget_all(&self) -> Result<()>;
    fn has_waiting(&self, key: &mp_flow_key) -> bool;
    /// Whether lines have classes at all: else no packet looks for its own.
    fn set_lined(&self, lined: bool) -> Result<()>;
    /// Until when nothing that waits may leave.
    fn set_silent(&self, until_ns: u64);
}

pub struct Keeper<W> {
    world: W,
    control: Arc<Control>,
    ifb: Arc<Ifb>,
    made: u32,
    /// of the ifb that the classes are of
    index: i32,
    classes: Classes,
    held: Held,
    /// packets look for their lines
    lined: bool,
    /// hosts that are silent, and when their rates are set again
    silent: Option<(u64, Vec<Address>)>,
    orders: Vec<Request>,
    /// when each fault was told last
    told: HashMap<&'static str, Instant>,
}

impl<W: World> Keeper<W> {
    pub fn new(world: W, control: Arc<Control>, ifb: Arc<Ifb>) -> Self {
        Self {
            world,
            control,
            made: 0,
            index: 0,
            classes: Classes::default(),
            ifb,
            held: Held::default(),
            lined: false,
            silent: None,
            orders: Vec::new(),
            told: HashMap::new(),
        }
    }

    /// What has changed meanwhile: the ifb, caps, and whether anything is held.
    pub fn follow(&mut self) {
        self.begin_anew();
        self.follow_caps();
        self.end_moves();
        let pass = self.control.pass.load(Ordering::Relaxed);
        self.classes.let_pass(pass, &mut self.orders);
        self.send();
    }

    /// Until when nothing is to be done unless it is told.
    pub fn patience_ns(&self, now: u64) -> u64 {
        let most = liveness::EVERY.as_nanos() as u64;
        let silence = self.silent.as_ref();
        let silence = silence.map(|(until, _)| until.saturating_sub(now));
        silence.unwrap_or(most).min(most)
    }

    /// The ifb was made, or made again: behind it there are no classes. As long as the table cannot be emptied, lines have
    /// numbers of classes that are not there, and pass.
    fn begin_anew(&mut self) {
        let made = self.ifb.made();
        if made == self.made {
            return;
        }
        if let Err(error) = self.world.forget_all() {
            return self.tell("lines keep classes that are gone, and pass", words(error));
        }
        self.made = made;
        self.index = self.ifb.index();
        self.classes = Classes::new(self.index, self.ifb.slot_bytes());
        self.silent = None;
        self.orders.clear();
    }

    /// Whether the classes are of an ifb that takes packets.
    fn is_in_use(&self) -> bool {
        self.index != 0 && self.index == self.ifb.index()
    }

    /// Caps that are new.
    fn follow_caps(&mut self) {
        if !self.held.take(&self.control.caps) {
            return;
        }
        let standing = |address: &Address| self.held.standing(*address);
        self.classes.follow_hosts(standing, &mut self.orders);
        for host in self.classes.hosts() {
            if !self.is_silent(&host) {
                self.hold(&host);
            }
        }
    }

    /// Lines that were below another host's and are empty by now.
    fn end_moves(&mut self) {
        for key in self.classes.moving() {
            if self.world.has_waiting(&key) {
                continue;
            }
            self.world.remove(&key);
            self.classes.moved(&key);
        }
    }

    fn hold(&mut self, host: &Address) {
        let member = (*host, intf::mp_direction_MP_DOWN);
        let held_bytes_per_s = self.held.bytes_per_s(&member);
        self.classes.hold(host, held_bytes_per_s, &mut self.orders);
    }

    /// A line needs a class, or its class another rate. Behind an ifb that is left nothing is made: each packet asks again,
    /// and netlink that does not answer would be waited for each time.
    pub fn serve(&mut self, key: &mp_flow_key, interval_ns: u64) {
        if !self.is_in_use() {
            return;
        }
        let host = self.held.standing(key.mesh);
        let member = (host, intf::mp_direction_MP_DOWN);
        let held = self.held.bytes_per_s(&member);
        let orders = &mut self.orders;
        match self.classes.make(key, interval_ns, host, held, orders) {
            Some(minor) => self.enter(key, minor, interval_ns),
            None => self.classes.change(key, interval_ns, orders),
        }
    }

    /// A packet finds its class when it is there. One that none can find is taken away, unless it is asked for again before.
    fn enter(&mut self, key: &mp_flow_key, minor: u16, interval_ns: u64) {
        let made = self.send();
        for evicted in self.classes.take_evicted() {
            self.world.remove(&evicted);
        }
        if !made {
            return;
        }
        let entered = self.world.enter(key, minor, interval_ns);
        if let Err(error) = entered.and_then(|()| self.set_lined(true)) {
            self.classes.take_back(key);
            self.tell("a line passes, having no class", words(error));
        }
    }

    /// Packets look for their lines only while there are some.
    fn set_lined(&mut self, lined: bool) -> Result<()> {
        if lined != self.lined {
            self.world.set_lined(lined)?;
            self.lined = lined;
        }
        Ok(())
    }

    fn is_silent(&self, host: &Address) -> bool {
        self.silent
            .as_ref()
            .is_some_and(|(_, hosts)| hosts.contains(host))
    }

    /// Flows of these hosts begin: the busy ones are silent for a moment. A class whose rate is one packet in so long
    /// lets one go, and then none for so long whatever its rate is meanwhile: it is set again half-way.
    pub fn be_silent(&mut self, begun: &[Address], now: u64) {
        let hop_wait_ns = self.control.law().hop_wait_ns;
        for address in begun {
            if self.silent.is_some() {
                break; // who asks again meanwhile would put off the end
            }
            let Some(until) = self.held.begins(*address, hop_wait_ns, now) else {
                continue;
            };
            if law::hold_is_silence(until - now, hop_wait_ns) {
                self.silence(now, until);
            }
        }
        let over = self.silent.take_if(|(until, _)| *until <= now);
        for host in over.into_iter().flat_map(|(_, hosts)| hosts) {
            self.hold(&host);
        }
    }

    fn silence(&mut self, now: u64, until: u64) {
        self.control.silences.fetch_add(1, Ordering::Relaxed);
        // No packet leaves meanwhile, but the one with which it begins.
        self.world.set_silent(until + until - now);
        let hosts = self.held.busy();
        for host in &hosts {
            self.classes.silence(host, until - now, &mut self.orders);
        }
        self.silent = Some((now + (until - now) / 2, hosts));
    }

    /// Whether all orders were carried out. If not, nobody knows which classes there are, and the ifb is left.
    pub fn send(&mut self) -> bool {
        let orders = std::mem::take(&mut self.orders);
        if orders.is_empty() {
            return true;
        }
        let (what, error) = match self.world.order(orders) {
            Err(error) => ("netlink fails, so it is left", error),
            Ok(outcomes) => match outcomes.into_iter().find_map(io::Result::err) {
                Some(error) => ("the kernel refuses a class, so it is left", error),
                None => return true,
            },
        };
        self.tell(what, error);
        self.ifb.leave_one(self.index);
        false
    }

    /// Once a second: lines without packets lose their class. A table that cannot be read is as it was.
    pub fn tidy(&mut self, now: u64) {
        let Some(entries) = self.look() else {
            return;
        };
        let waiting = entries.iter().map(packets).sum();
        self.control.waiting.store(waiting, Ordering::Relaxed);
        self.set_held(&entries);
        let came: HashMap<_, _> = entries.into_iter().collect();
        let came = |key: &mp_flow_key| {
            let hold = came.get(key).map(|class| &class.hold);
            let hold = hold.filter(|hold| !law::hold_is_idle(hold, now));
            hold.map(|hold| hold.came_ns)
        };
        for key in self.classes.tidy(now, came, &mut self.orders) {
            self.world.remove(&key);
        }
        if !self.classes.has_lines() {
            let _ = self.set_lined(false); // they go on looking, for nothing
        }
        let host_lines = self.classes.has_host_lines();
        self.control.host_lines.store(host_lines, Ordering::Relaxed);
        self.send();
    }

    /// Of which flows, and of which hosts' datagrams, something waits: their senders have more than they get.
    pub fn tell_held(&mut self) {
        if let Some(entries) = self.look() {
            self.set_held(&entries);
        }
    }

    fn set_held(&self, entries: &Entries) {
        let held = entries.iter().filter(|(key, class)| {
            let of_data = match line_of(key) {
                intf::mp_line_MP_LINE_FLOW => true,
                line => is_of_datagrams(line),
            };
            of_data && law::hold_waiting(&class.hold) > 0
        });
        let held: HashSet<_> = held.map(|(key, _)| *key).collect();
        self.control.set_held(held);
    }

    fn look(&mut self) -> Option<Entries> {
        match self.world.entries() {
            Ok(entries) => Some(entries),
            Err(error) => {
                self.tell("what waits in its classes cannot be read", words(error));
                None
            }
        }
    }

    fn tell(&mut self, what: &'static str, error: impl Display) {
        let now = Instant::now();
        let last = self.told.get(what);
        if last.is_some_and(|last| now - *last < TELL_AGAIN) {
            return;
        }
        self.told.insert(what, now);
        log::warn!("{}: {what}: {error}", self.ifb.name);
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
