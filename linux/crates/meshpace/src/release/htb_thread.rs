// SPDX-License-Identifier: GPL-2.0-only
//! Release by the kernel's HTB: the thread that makes classes where the BPF programs ask for them, and has their
//! rates follow. No packet passes here: while it sleeps, or is dead, the kernel goes on by the rates that it has.
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libbpf_rs::{RingBuffer, RingBufferBuilder};
use meshpace_netlink::codec::Request;
use meshpace_netlink::socket::{Family, NetlinkSocket};

use crate::base::errors::{anyhow, words, Context, Result};
use crate::base::system::now_ns;
use crate::hosts::identity::Address;
use crate::kernel::intf::{self, mp_flow_key, mp_line_news, Plain};
use crate::kernel::law;
use crate::kernel::programs::Maps;
use crate::release::classes::Classes;
use crate::release::held::Held;
use crate::release::liveness::{self, Liveness};
use crate::release::pacer::Control;
use crate::setup::ifb::Ifb;

const TIDY: Duration = Duration::from_secs(1);

/// What the BPF programs have told, since it was looked at last.
#[derive(Default)]
struct Told {
    /// interval of each line that needs a class, or another rate
    lines: HashMap<mp_flow_key, u64>,
    /// hosts of which flows begin
    begun: Vec<Address>,
}

struct Ears {
    ring: RingBuffer<'static>,
    told: Rc<RefCell<Told>>,
}

impl Ears {
    fn new(maps: &Maps) -> Result<Self> {
        let told = Rc::new(RefCell::new(Told::default()));
        let (lines, begun) = (told.clone(), told.clone());
        let maps = (maps.lines()?, maps.begun()?);
        let mut builder = RingBufferBuilder::new();
        builder.add(&maps.0, move |bytes: &[u8]| {
            if let Some(news) = mp_line_news::from_bytes(bytes) {
                lines.borrow_mut().lines.insert(news.key, news.interval_ns);
            }
            0
        })?;
        builder.add(&maps.1, move |address: &[u8]| {
            begun.borrow_mut().begun.extend(Address::try_from(address));
            0
        })?;
        let ring = builder.build()?;
        Ok(Self { ring, told })
    }

    /// Waits so long until something is told.
    fn listen(&self, ns: u64) -> Told {
        // Whatever ends it, the loop looks at everything.
        let _ = self.ring.poll(Duration::from_nanos(ns));
        self.told.take()
    }
}

struct Thread {
    ears: Ears,
    maps: Arc<Maps>,
    control: Arc<Control>,
    liveness: Arc<Liveness>,
    ifb: Arc<Ifb>,
    made: u32,
    /// of the ifb that the classes are of
    index: i32,
    classes: Classes,
    held: Held,
    /// hosts that are silent, and when their rates are set again
    silent: Option<(u64, Vec<Address>)>,
    socket: NetlinkSocket,
    orders: Vec<Request>,
}

/// Starts the thread that serves the classes behind an ifb.
pub fn start(
    maps: Arc<Maps>,
    control: Arc<Control>,
    liveness: Arc<Liveness>,
    ifb: Arc<Ifb>,
) -> Result<std::thread::JoinHandle<()>> {
    let socket = NetlinkSocket::open(Family::Route).context("netlink")?;
    maps.lines()?;
    liveness.queue.made();
    std::thread::Builder::new()
        .name("htb".into())
        .spawn(move || {
            let served =
                Thread::new(maps, control, liveness, ifb, socket).and_then(|mut t| t.run());
            if let Err(error) = served {
                panic!("the classes that hold packets failed: {}", words(error));
            }
        })
        .map_err(|error| anyhow!("thread: {error}"))
}

impl Thread {
    fn new(
        maps: Arc<Maps>,
        control: Arc<Control>,
        liveness: Arc<Liveness>,
        ifb: Arc<Ifb>,
        socket: NetlinkSocket,
    ) -> Result<Self> {
        Ok(Self {
            ears: Ears::new(&maps)?,
            maps,
            control,
            liveness,
            made: 0,
            index: 0,
            classes: Classes::default(),
            ifb,
            held: Held::default(),
            silent: None,
            socket,
            orders: Vec::new(),
        })
    }

    fn run(&mut self) -> Result<()> {
        let mut tidied = Instant::now();
        while !self.control.stop.load(Ordering::Relaxed) {
            self.liveness.queue.made();
            self.begin_anew();
            self.follow_caps();
            self.end_moves();
            let pass = self.control.pass.load(Ordering::Relaxed);
            self.classes.let_pass(pass, &mut self.orders);
            self.send()?;
            let told = self.ears.listen(self.patience_ns());
            for (key, interval_ns) in told.lines {
                self.serve(&key, interval_ns)?;
            }
            self.be_silent(&told.begun);
            self.send()?;
            if tidied.elapsed() > TIDY {
                tidied = Instant::now();
                self.tidy(now_ns())?;
            }
            if self.control.asks_held.swap(false, Ordering::Relaxed) {
                self.tell_held()?;
            }
        }
        Ok(())
    }

    /// Until when nothing is to be done unless it is told.
    fn patience_ns(&self) -> u64 {
        let most = liveness::EVERY.as_nanos() as u64;
        let silence = self
            .silent
            .as_ref()
            .map(|(until, _)| until.saturating_sub(now_ns()));
        silence.unwrap_or(most).min(most)
    }

    /// The ifb was made, or made again: behind it there are no classes.
    fn begin_anew(&mut self) {
        let made = self.ifb.made();
        if made == self.made {
            return;
        }
        self.made = made;
        self.maps.forget_classes();
        self.index = self.ifb.index();
        self.classes = Classes::new(self.index, self.ifb.slot_bytes());
        self.silent = None;
        self.orders.clear();
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
            if self.maps.waits_in_class(&key) {
                continue;
            }
            self.maps.remove_class(&key);
            self.classes.moved(&key);
        }
    }

    fn hold(&mut self, host: &Address) {
        let member = (*host, intf::mp_direction_MP_DOWN);
        let held_bytes_per_s = self.held.bytes_per_s(&member);
        self.classes.hold(host, held_bytes_per_s, &mut self.orders);
    }

    /// A line needs a class, or its class another rate.
    fn serve(&mut self, key: &mp_flow_key, interval_ns: u64) -> Result<()> {
        let host = self.held.standing(key.mesh);
        let member = (host, intf::mp_direction_MP_DOWN);
        let held = self.held.bytes_per_s(&member);
        let orders = &mut self.orders;
        if let Some(minor) = self.classes.make(key, interval_ns, host, held, orders) {
            // A packet finds its class when it is there.
            self.send()?;
            for evicted in self.classes.take_evicted() {
                self.maps.remove_class(&evicted);
            }
            self.maps.set_class(key, minor.into(), interval_ns)?;
        } else {
            self.classes.change(key, interval_ns, orders);
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
    fn be_silent(&mut self, begun: &[Address]) {
        let now = now_ns();
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
        let _ = self.maps.set_silent(until + until - now);
        let hosts = self.held.busy();
        for host in &hosts {
            self.classes.silence(host, until - now, &mut self.orders);
        }
        self.silent = Some((now + (until - now) / 2, hosts));
    }

    /// What netlink refuses is told: the ifb is looked after by who made it.
    fn send(&mut self) -> Result<()> {
        let orders = std::mem::take(&mut self.orders);
        if orders.is_empty() {
            return Ok(());
        }
        let outcomes = self.socket.order(orders).context("netlink")?;
        if let Some(Err(error)) = outcomes.into_iter().find(Result::is_err) {
            log::warn!("{}: the kernel refuses a class: {error}", self.ifb.name);
            self.ifb.leave_one(self.index);
        }
        Ok(())
    }

    /// Once a second: lines without packets lose their class.
    fn tidy(&mut self, now: u64) -> Result<()> {
        let came: HashMap<_, _> = self
            .maps
            .classes()?
            .into_iter()
            .map(|(key, class)| (key, class.hold))
            .collect();
        let came = |key: &mp_flow_key| {
            let hold = came.get(key).filter(|hold| !law::hold_is_idle(hold, now));
            hold.map(|hold| hold.came_ns)
        };
        for key in self.classes.tidy(now, came, &mut self.orders) {
            self.maps.remove_class(&key);
        }
        let host_lines = self.classes.has_host_lines();
        self.control.host_lines.store(host_lines, Ordering::Relaxed);
        self.send()?;
        self.control
            .waiting
            .store(self.maps.waiting()?, Ordering::Relaxed);
        self.tell_held()
    }

    /// Of which flows something waits: their senders have more than they get.
    fn tell_held(&self) -> Result<()> {
        let of_flow = |key: &mp_flow_key| key.wired != [0; 16];
        let held: HashSet<_> = self
            .maps
            .classes()?
            .into_iter()
            .filter(|(key, class)| of_flow(key) && law::hold_waiting(&class.hold) > 0)
            .map(|(key, _)| key)
            .collect();
        self.control.set_held(held);
        Ok(())
    }
}
