// SPDX-License-Identifier: GPL-2.0-only
//! Release by nfqueue: the thread that takes packets from a netfilter queue, keeps them there
//! until the pacer lets them go, and sleeps in between. Killed, the rule's --queue-bypass lets packets pass.
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;

use crate::base::errors::{anyhow, bail, words, Context, Result};
use crate::base::system::now_ns;
use crate::config::Config;
use crate::hosts::identity::Address;
use crate::kernel::intf::{mp_flow, mp_flow_key};
use crate::kernel::packet::{self, Packet};
use crate::kernel::programs::Maps;
use crate::release::liveness::{self, Liveness};
use crate::release::nfnetlink::{Queue, Verdict};
use crate::release::pacer::{Control, Pacer, World};

/// Enough for IPv6 and TCP headers with all options, and for a long IPv4 header.
const COPIED_BYTES: u32 = 128;
/// Packets in the kernel's queue, unread and waiting: at 100 Mbit/s a second, which the windows of all flows
/// together seldom are. Of 1500 bytes each takes 2304 of the kernel's memory: 18 MiB. More pass unpaced.
const QUEUE_PACKETS: u32 = 8192;
/// Numbers that are tried where the configuration has none: of so many gateways on one box.
const NUMBERS: u16 = 64;
const TIDY_NS: u64 = 1_000_000_000;
/// The heartbeat hears of the thread at least this often.
const LOOK_AROUND_NS: u64 = liveness::EVERY.as_nanos() as u64;

/// The queue, and what the BPF programs know.
struct Kernel {
    queue: Queue,
    maps: Arc<Maps>,
}

impl World for Kernel {
    fn flow(&self, key: &mp_flow_key) -> Option<mp_flow> {
        self.maps.flow(key)
    }

    fn mark(&self, key: &mp_flow_key) -> bool {
        self.maps.mark(key).is_ok()
    }

    fn decide(&mut self, id: u32, verdict: Verdict) {
        self.queue.decide(id, verdict);
    }
}

struct Thread {
    pacer: Pacer<Kernel>,
    control: Arc<Control>,
    liveness: Arc<Liveness>,
    /// of one wakeup; kept for its memory
    arrived: Vec<(u32, Option<Packet>)>,
    begun: Begun,
}

/// Whose flows have begun, as the BPF programs tell.
struct Begun {
    ring: RingBuffer<'static>,
    hosts: Rc<RefCell<Vec<Address>>>,
}

impl Begun {
    fn new(ring: &MapHandle) -> Result<Self> {
        let hosts = Rc::new(RefCell::new(Vec::new()));
        let told = hosts.clone();
        let mut builder = RingBufferBuilder::new();
        builder.add(ring, move |address: &[u8]| {
            told.borrow_mut().extend(Address::try_from(address));
            0
        })?;
        let ring = builder.build()?;
        Ok(Self { ring, hosts })
    }

    fn take(&self, pacer: &mut Pacer<Kernel>, now: u64) -> Result<()> {
        self.ring.consume()?;
        for host in self.hosts.borrow_mut().drain(..) {
            pacer.begins(host, now);
        }
        Ok(())
    }
}

/// Binds the queue that is asked for, or the first that is free: on one box there may be two gateways.
fn bind(wanted: Option<u16>) -> Result<(u16, Queue)> {
    let numbers = match wanted {
        Some(number) => number..=number,
        None => Config::QUEUE..=Config::QUEUE + NUMBERS - 1,
    };
    let mut refusal = None;
    for number in numbers.clone() {
        match Queue::bind(number, COPIED_BYTES, QUEUE_PACKETS) {
            Ok(queue) => return Ok((number, queue)),
            Err(error) => refusal = Some(error),
        }
    }
    let refusal = refusal.map_or_else(String::new, |error| error.to_string());
    bail!("netfilter queue {numbers:?}: {refusal}; is another program using it? set another queue")
}

/// Binds the queue and runs it in a thread; the rule is to be set afterwards.
pub fn start(
    config: &Config,
    maps: Arc<Maps>,
    control: Arc<Control>,
    liveness: Arc<Liveness>,
) -> Result<(u16, std::thread::JoinHandle<()>)> {
    let most_flows = config.max_flows as usize;
    let (number, queue) = bind(config.queue)?;
    let ring = maps.begun()?;
    liveness.queue.made();
    let thread = std::thread::Builder::new()
        .name("nfqueue".into())
        .spawn(move || {
            // Timers are rounded up by 50 us else.
            let _ = prctl::set_timerslack(1);
            let world = Kernel { queue, maps };
            let pacer = Pacer::new(world, control.clone(), most_flows);
            let served = Thread::new(pacer, control, liveness, &ring).and_then(|mut t| t.run());
            if let Err(error) = served {
                panic!("the netfilter queue failed: {}", words(error));
            }
        })
        .map_err(|error| anyhow!("thread: {error}"))?;
    Ok((number, thread))
}

impl Thread {
    fn new(
        pacer: Pacer<Kernel>,
        control: Arc<Control>,
        liveness: Arc<Liveness>,
        begun: &MapHandle,
    ) -> Result<Self> {
        Ok(Self {
            pacer,
            control,
            liveness,
            arrived: Vec::new(),
            begun: Begun::new(begun)?,
        })
    }

    fn run(&mut self) -> Result<()> {
        let mut looked_around_ns = now_ns();
        while !self.control.stop.load(Ordering::Relaxed) {
            self.liveness.queue.made();
            self.pacer.take_settings(now_ns());
            if self.control.pass.load(Ordering::Relaxed) {
                self.release_all()?;
            }
            self.begun.take(&mut self.pacer, now_ns())?;
            self.take_arrivals()?;
            self.pacer.release_due(now_ns());
            self.flush()?;
            let now = now_ns();
            if now - looked_around_ns > TIDY_NS {
                looked_around_ns = now;
                self.pacer.tidy(now);
            }
            if self.control.asks_held.swap(false, Ordering::Relaxed) {
                self.pacer.tell_held();
            }
            self.wait();
        }
        self.release_all()
    }

    fn take_arrivals(&mut self) -> Result<()> {
        // A flood of arrivals must not delay departures.
        for _ in 0..8 {
            let arrived = &mut self.arrived;
            let queue = &mut self.pacer.world().queue;
            let more = queue.receive(|p| {
                // From the mesh back into it is no flow of the gateway's (gateway.bpf.c): it passes.
                let read = || packet::read(p.payload);
                arrived.push((p.id, (!p.turns_back).then(read).flatten()));
            });
            for (id, packet) in self.arrived.drain(..) {
                self.pacer.arrive(id, packet.as_ref(), now_ns());
            }
            if !more.context("receiving")? {
                break;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        let queue = &mut self.pacer.world().queue;
        queue.flush().context("verdicts")?;
        let before = self
            .control
            .overruns
            .swap(queue.overruns, Ordering::Relaxed);
        if before == 0 && queue.overruns > 0 {
            log::warn!("the netfilter queue's socket had no room; some packets pass unpaced (counter queue_overruns)");
        }
        Ok(())
    }

    /// More may have come meanwhile.
    fn release_all(&mut self) -> Result<()> {
        for _ in 0..4 {
            self.take_arrivals()?;
            self.pacer.release_all(now_ns());
            self.flush()?;
        }
        Ok(())
    }

    /// Sleeps until a packet comes or the next one is due.
    fn wait(&mut self) {
        let now = now_ns();
        let due = self.pacer.next_due().unwrap_or(now + LOOK_AROUND_NS);
        let ns = due.saturating_sub(now).min(LOOK_AROUND_NS);
        let timeout = TimeSpec::from_duration(Duration::from_nanos(ns));
        let mut fds = [PollFd::new(
            self.pacer.world().queue.fd(),
            PollFlags::POLLIN,
        )];
        // Whatever ends it, the loop looks at everything.
        let _ = ppoll(&mut fds, Some(timeout), None);
    }
}
