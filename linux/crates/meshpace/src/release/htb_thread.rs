// SPDX-License-Identifier: GPL-2.0-only
//! Release by the kernel's HTB: the thread that makes classes where the BPF programs ask for them, and has their
//! rates follow. No packet passes here: while it sleeps, or is dead, the kernel goes on by the rates that it has.
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
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
use crate::kernel::intf::{mp_flow_key, mp_line_news, Plain};
use crate::kernel::programs::Maps;
use crate::release::keeper::{Entries, Keeper, World};
use crate::release::liveness::Liveness;
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

/// The classes, by netlink, and the maps of the BPF programs.
struct Kernel {
    socket: NetlinkSocket,
    maps: Arc<Maps>,
}

impl World for Kernel {
    fn order(&mut self, orders: Vec<Request>) -> io::Result<Vec<io::Result<()>>> {
        self.socket.order(orders)
    }

    fn entries(&self) -> Result<Entries> {
        self.maps.classes()
    }

    fn enter(&self, key: &mp_flow_key, minor: u16, interval_ns: u64) -> Result<()> {
        self.maps.set_class(key, minor.into(), interval_ns)
    }

    fn remove(&self, key: &mp_flow_key) {
        self.maps.remove_class(key);
    }

    fn forget_all(&self) -> Result<()> {
        self.maps.forget_classes()
    }

    fn has_waiting(&self, key: &mp_flow_key) -> bool {
        self.maps.waits_in_class(key)
    }

    fn set_lined(&self, lined: bool) -> Result<()> {
        self.maps.set_lined(lined)
    }

    fn set_silent(&self, until_ns: u64) {
        // Who is not silent for a moment costs others no more than that.
        let _ = self.maps.set_silent(until_ns);
    }
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
            let ears = match Ears::new(&maps) {
                Ok(ears) => ears,
                Err(error) => panic!("what the programs tell is not heard: {}", words(error)),
            };
            let keeper = Keeper::new(Kernel { socket, maps }, control.clone(), ifb);
            run(&ears, keeper, &control, &liveness);
        })
        .map_err(|error| anyhow!("thread: {error}"))
}

fn run(ears: &Ears, mut keeper: Keeper<Kernel>, control: &Control, liveness: &Liveness) {
    let mut tidied = Instant::now();
    while !control.stop.load(Ordering::Relaxed) {
        liveness.queue.made();
        keeper.follow();
        let told = ears.listen(keeper.patience_ns(now_ns()));
        for (key, interval_ns) in told.lines {
            keeper.serve(&key, interval_ns);
        }
        keeper.be_silent(&told.begun, now_ns());
        keeper.send();
        if tidied.elapsed() > TIDY {
            tidied = Instant::now();
            keeper.tidy(now_ns());
        }
        if control.asks_held.swap(false, Ordering::Relaxed) {
            keeper.tell_held();
        }
    }
}
