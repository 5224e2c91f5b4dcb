// SPDX-License-Identifier: GPL-2.0-only
//! The threads that hold packets and copies of them, for the main loop: what it tells them, what they have
//! done, and the heartbeat that says whether they are well.
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread::JoinHandle;

use portable_atomic::AtomicU64;

use crate::base::errors::Result;
use crate::config::Config;
use crate::hosts::identity::Aliases;
use crate::kernel::intf::{mp_flow_key, mp_law};
use crate::kernel::port::Port;
use crate::kernel::programs::Maps;
use crate::policy::airtime::Busy;
use crate::policy::shares::Caps;
use crate::release::cache::{self, Gauge, Living, Round};
use crate::release::htb_thread;
use crate::release::liveness::{Heart, Liveness};
use crate::release::nfqueue_thread;
use crate::release::pacer::Control;
use crate::setup::bypass::Counts;
use crate::setup::ifb::Ifb;
use crate::setup::rules::Rules;

const ENDED: &str = "its holder ended the program";

#[derive(Default)]
pub struct Holding {
    queue: Arc<Control>,
    thread: Option<JoinHandle<()>>,
    gauge: Arc<Gauge>,
    living: Living,
    liveness: Arc<Liveness>,
    /// beats as long as all is well; without it packets pass
    heart: Option<Heart>,
}

impl Holding {
    /// Decides on the packets of a netfilter queue from now on; which that is.
    pub fn serve_queue(&mut self, config: &Config, maps: &Arc<Maps>) -> Result<u16> {
        let (maps, queue, liveness) = (maps.clone(), self.queue.clone(), self.liveness.clone());
        let (number, thread) = nfqueue_thread::start(config, maps, queue, liveness)?;
        self.thread = Some(thread);
        Ok(number)
    }

    /// Serves the classes behind an ifb from now on.
    pub fn serve_classes(&mut self, maps: &Arc<Maps>, ifb: Arc<Ifb>) -> Result<()> {
        let (maps, queue, liveness) = (maps.clone(), self.queue.clone(), self.liveness.clone());
        self.thread = Some(htb_thread::start(maps, queue, liveness, ifb)?);
        Ok(())
    }

    /// Whether packets may wait in lines of hosts, of which some had a cap a moment ago.
    pub fn has_host_lines(&self) -> bool {
        self.queue.host_lines.load(Ordering::Relaxed)
    }

    /// Keeps copies of segments from now on, in so many bytes of memory.
    pub fn keep_copies(&mut self, maps: &Arc<Maps>, port: Arc<Port>, budget: u64) -> Result<()> {
        cache::start(
            maps.clone(),
            port,
            budget,
            self.gauge.clone(),
            self.living.clone(),
            self.liveness.clone(),
        )
    }

    /// The heart beats from now on.
    pub fn start_heart(&mut self, maps: Arc<Maps>, rules: Option<Arc<Rules>>) -> Result<()> {
        self.heart = Some(Heart::start(maps, self.liveness.clone(), rules)?);
        Ok(())
    }

    /// What holds ten times a second, by which the main loop shows that it is well. `udp`: some host has a
    /// cap; `pass`: nothing is held.
    pub fn set(&self, udp: bool, law: mp_law, pass: bool) {
        self.liveness.main.made();
        self.liveness.udp_waits.store(udp, Ordering::Relaxed);
        self.queue.set_law(law);
        self.queue.pass.store(pass, Ordering::Relaxed);
    }

    pub fn set_caps(&self, caps: Caps, aliases: Arc<Aliases>, busy: Arc<Busy>) {
        self.queue.caps.publish(caps, aliases, busy);
    }

    /// What the retransmit cache hears once a second.
    pub fn set_round(&self, round: Round) {
        *self.living.lock().expect(ENDED) = Some(round);
    }

    /// Flows of which something waits, as of the latest second, or of soon after [`Self::ask_held`].
    pub fn held_flows(&self) -> HashSet<mp_flow_key> {
        self.queue.held_flows()
    }

    /// Who asks again in a moment hears of which flows something waits by then.
    pub fn ask_held(&self) {
        self.queue.asks_held.store(true, Ordering::Relaxed);
    }

    /// TCP packets that were let go.
    pub fn let_go(&self) -> Counts {
        [0, 1].map(|version: usize| self.queue.let_go[version].load(Ordering::Relaxed))
    }

    /// Whether the heart has found since the latest look that the rules are gone.
    pub fn has_missed_rules(&self) -> bool {
        self.liveness.rules_gone.swap(false, Ordering::Relaxed)
    }

    /// After all were told to pass.
    pub fn wait_until_empty(&self) {
        self.queue.wait_until_empty();
    }

    /// The queue is served no more; the kernel lets its packets pass.
    pub fn end_queue(&mut self) {
        self.queue.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// By their names in `status`.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let (queue, gauge) = (&self.queue, &self.gauge);
        let counters: [(_, &AtomicU64); 16] = [
            ("paced", &queue.held),
            ("released_ipv4", &queue.let_go[0]),
            ("released_ipv6", &queue.let_go[1]),
            ("queue_dropped", &queue.dropped),
            ("queue_overruns", &queue.overruns),
            ("udp_dropped", &queue.udp_dropped),
            ("wait_dropped", &queue.wait_dropped),
            ("queue_waiting", &queue.waiting),
            ("silences", &queue.silences),
            ("cache_bytes", &gauge.bytes),
            ("segments_sent_again", &gauge.sent_again),
            ("segments_missing", &gauge.missing),
            ("segments_evicted", &gauge.evicted),
            ("copies_over_budget", &gauge.over_budget),
            ("probes", &gauge.probes),
            ("probes_over_budget", &gauge.probes_waited),
        ];
        let value = |(name, counter): (_, &AtomicU64)| (name, counter.load(Ordering::Relaxed));
        counters.into_iter().map(value).collect()
    }
}
