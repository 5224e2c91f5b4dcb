// SPDX-License-Identifier: GPL-2.0-only
//! The retransmit cache (GAP figure 7, lines 22-23): segments are kept until the mesh acknowledges them; a
//! duplicate ACK makes the gateway send its copy again, and a stalled path is asked with one (law `even`).
//!
//! What is kept is bounded (segments.rs), and so is what is sent: copies by the data that their hosts were
//! sent, asks by the second (core's budget.h). What an order asks for and is not sent the BPF program hears,
//! so that the next duplicate ACK is the sender's to answer.
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use portable_atomic::AtomicU64;

use crate::hosts::identity::{Address, Aliases};
use crate::kernel::intf::{mp_credit, mp_flow_key, mp_order, mp_range};
use crate::kernel::law;
use crate::policy::asks::Asks;

#[cfg(test)]
mod again_tests;
mod segments;
mod thread;
#[cfg(test)]
mod worst;

use segments::{New, Segments};
pub use thread::{start, Living};

/// Hosts whose copies are counted, and of which no more have segments here at a time than this many: an
/// upper bound for a flood of addresses. Who comes after them waits for a second, without copies.
const HOSTS_MAX: usize = 4096;
/// A flow younger than the daemon's latest list is not in it.
const YOUNG_NS: u64 = 3_000_000_000;

/// What the cache holds and has done.
#[derive(Default)]
pub struct Gauge {
    pub bytes: AtomicU64,
    pub sent_again: AtomicU64,
    /// orders for segments that were not there or could not be sent
    pub missing: AtomicU64,
    /// segments that made room for others
    pub evicted: AtomicU64,
    /// orders that their host's budget did not allow
    pub over_budget: AtomicU64,
    pub probes: AtomicU64,
    /// probes that were due and had to wait for the budget
    pub probes_waited: AtomicU64,
}

/// What the daemon knows of a download, in the kernel's table.
#[derive(Clone, Copy)]
pub struct Acked {
    pub ack: u32,
    pub bytes: u64,
}

/// What the daemon hands over once a second.
pub struct Round {
    /// the downloads that still exist
    pub acked: HashMap<mp_flow_key, Acked>,
    /// whether stalled paths are asked
    pub probes: bool,
    /// what is one host
    pub aliases: Arc<Aliases>,
}

/// Of which flow a segment is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// what is kept under its key is another connection's
    NewFlow,
    /// nothing of it was acknowledged yet
    Unanswered,
    Answered,
}

/// Where frames leave, and where BPF hears of what was ordered and did not.
pub trait Way {
    fn send(&mut self, frame: &[u8]) -> bool;
    fn unsent(&mut self, key: &mp_flow_key, seq: u32);
}

pub struct Cache<W> {
    segments: Segments,
    copies: HashMap<Address, mp_credit>,
    probes: Asks,
    aliases: Arc<Aliases>,
    gauge: Arc<Gauge>,
    way: W,
}

/// Of sequence numbers (core's seq.h).
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl<W: Way> Cache<W> {
    /// `budget`: bytes of memory.
    pub fn new(budget: u64, gauge: Arc<Gauge>, way: W) -> Self {
        Self {
            segments: Segments::new(budget),
            copies: HashMap::new(),
            probes: Asks::default(),
            aliases: Arc::default(),
            gauge,
            way,
        }
    }

    /// A data packet leaves.
    pub fn keep(&mut self, key: &mp_flow_key, new: New, of: Of, now_ns: u64) {
        if of == Of::NewFlow {
            self.segments.forget(key);
        }
        let host = self.aliases.standing(key.mesh);
        if self.copies.len() < HOSTS_MAX || self.copies.contains_key(&host) {
            law::credit_earn(self.copies.entry(host).or_default());
        }
        let holder = (of == Of::Answered).then_some(host);
        self.segments.keep(key, new, holder, now_ns);
        self.show();
    }

    fn show(&self) {
        let (gauge, segments) = (&self.gauge, &self.segments);
        gauge.bytes.store(segments.bytes(), Ordering::Relaxed);
        gauge.evicted.store(segments.evicted, Ordering::Relaxed);
    }

    /// An ACK asks for what is missing. What cannot be sent is the sender's to send, and all behind it.
    pub fn send_again(&mut self, order: &mp_order) {
        let key = &order.event.key;
        let mut left = mp_range {
            from: order.event.seq,
            to: order.event.end,
        };
        loop {
            let mut hole = law::sack_hole(&order.sack, left);
            if hole.from == hole.to {
                return;
            }
            left.from = hole.to;
            while is_before(hole.from, hole.to) {
                let Some(end) = self.send_one_again(key, hole.from) else {
                    self.way.unsent(key, hole.from);
                    return;
                };
                hole.from = end;
            }
        }
    }

    /// Sends the segment that holds a byte. Returns where it ends; None: it could not be sent.
    fn send_one_again(&mut self, key: &mp_flow_key, seq: u32) -> Option<u32> {
        let (Some(end), Some(frame)) =
            (self.segments.end_of(key, seq), self.segments.copy(key, seq))
        else {
            add(&self.gauge.missing);
            return None;
        };
        let credit = self.copies.get_mut(&self.aliases.standing(key.mesh));
        if !credit.is_some_and(law::credit_spend) {
            add(&self.gauge.over_budget);
            return None;
        }
        if !self.send(&frame) {
            return None;
        }
        add(&self.gauge.sent_again);
        Some(end)
    }

    fn send(&mut self, frame: &[u8]) -> bool {
        let sent = self.way.send(frame);
        if !sent {
            add(&self.gauge.missing);
        }
        sent
    }

    /// Once a second.
    pub fn round(&mut self, round: &Round, now_ns: u64) {
        self.aliases = round.aliases.clone();
        self.tidy(&round.acked, now_ns);
        if round.probes {
            self.ask(&round.acked, now_ns);
        }
        self.probes.forget(now_ns);
        self.show();
    }

    /// Drops what was acknowledged since the flow's latest segment, and flows that are gone.
    fn tidy(&mut self, acked: &HashMap<mp_flow_key, Acked>, now_ns: u64) {
        let keys: Vec<_> = self.segments.flows.keys().copied().collect();
        for key in keys {
            let latest_ns = self.segments.flows[&key].latest_ns;
            if let Some(acked) = acked.get(&key) {
                self.segments.acknowledge(&key, acked.ack);
            } else if now_ns.saturating_sub(latest_ns) >= YOUNG_NS {
                self.segments.forget(&key);
            }
        }
        if self.copies.len() > HOSTS_MAX / 2 {
            let flows = self.segments.flows.keys();
            let here: std::collections::HashSet<_> =
                flows.map(|key| self.aliases.standing(key.mesh)).collect();
            self.copies.retain(|host, _| here.contains(host));
        }
    }

    /// Asks the paths that are stalled, by turns.
    fn ask(&mut self, acked: &HashMap<mp_flow_key, Acked>, now_ns: u64) {
        let mut due = Vec::new();
        for (key, flow) in &mut self.segments.flows {
            let Some(acked) = acked.get(key).filter(|_| flow.has_first()) else {
                continue;
            };
            let (ack, silent_ns) = (flow.ack(), now_ns.saturating_sub(flow.latest_ns));
            if law::probe_due(&mut flow.probe, ack, silent_ns, acked.bytes, now_ns) {
                due.push((*key, flow.probe));
            }
        }
        self.probes.by_turns(&mut due, &self.aliases);
        for (key, _) in due {
            if self.probes.spend(&self.aliases.standing(key.mesh), now_ns) {
                self.probe(&key, now_ns);
            } else {
                add(&self.gauge.probes_waited);
            }
        }
    }

    fn probe(&mut self, key: &mp_flow_key, now_ns: u64) {
        if let Some(flow) = self.segments.flows.get_mut(key) {
            law::probe_sent(&mut flow.probe, now_ns);
        }
        let frame = self.segments.first(key);
        if frame.is_some_and(|frame| self.send(&frame)) {
            add(&self.gauge.sent_again);
            add(&self.gauge.probes);
        }
    }
}
