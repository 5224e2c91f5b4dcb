// SPDX-License-Identifier: GPL-2.0-only
//! One flow's packets in the netfilter queue: what the kernel knows of the flow decides when its data
//! leaves (GAP section 4.3), and by the law `even` when some of it is lost, since all waits too long.
use std::collections::VecDeque;

use crate::kernel::intf::{self, mp_flow, mp_flow_key, mp_law, mp_pacer, mp_wait, mp_waits_for};
use crate::kernel::law;
use crate::kernel::programs::Maps;

/// An interval that was read so lately is not read again: reading costs as much as a packet does.
const FRESH_NS: u64 = 250_000;

/// Whether somebody in the mesh answers, so that its data may be held.
pub fn is_answered(flow: &mp_flow, now: u64) -> bool {
    law::may_hold(&flow.unanswered, flow.ack != flow.sent.max_end, now)
}

/// One flow's pacing queue (GAP section 4.3).
pub struct Paced {
    pub waiting: VecDeque<Waiting>,
    pacer: mp_pacer,
    /// as they were read last, but for its turns
    waits_for: mp_waits_for,
    /// core/'s mp_may_hold
    pub answered: bool,
    read_ns: u64,
    wait: mp_wait,
    pub seen_ns: u64,
    /// what the wired end has acknowledged of the host's own data, and what was sent of it
    acked: Option<u32>,
    sent: Option<u32>,
}

impl Paced {
    pub fn new(now: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            pacer: mp_pacer::default(),
            waits_for: mp_waits_for::default(),
            answered: false,
            read_ns: 0,
            wait: mp_wait::default(),
            seen_ns: now,
            acked: None,
            sent: None,
        }
    }

    /// Takes an acknowledgement; returns how many bytes are new in it. `sent` tells where the data that
    /// was sent ends, and None where that is not known. An acknowledgement of more is forged, and counts
    /// for nothing: those that follow, which are true, would else be old.
    pub fn acknowledge(&mut self, ack: u32, sent: impl FnOnce() -> Option<u32>) -> u32 {
        // A FIN takes a number, too.
        let beyond = |end: Option<u32>| end.is_none_or(|end| before(end.wrapping_add(1), ack));
        if beyond(self.sent) {
            self.sent = sent();
        }
        if beyond(self.sent) {
            return 0;
        }
        let new = ack.wrapping_sub(self.acked.unwrap_or(ack)) as i32;
        if new >= 0 {
            self.acked = Some(ack);
        }
        new.max(0) as u32
    }

    /// When a packet is due that has been ready since then.
    pub fn due(&self, law: &mp_law, ready: u64) -> u64 {
        law::law_due_ns(law, &self.pacer, ready, self.waits_for.interval_ns)
    }

    /// A packet leaves that was ready since then.
    pub fn departed(&mut self, law: &mp_law, ready: u64, now: u64) {
        let (interval, late) = (self.waits_for.interval_ns, intf::MP_CLOCK_LATE_NS as u64);
        law::law_departed(law, &mut self.pacer, ready, now, interval, late);
    }

    /// Whether what comes now may be held.
    pub fn may_hold(&mut self, key: &mp_flow_key, maps: &Maps, now: u64) -> bool {
        self.read(key, maps, now);
        self.answered
    }

    pub fn read(&mut self, key: &mp_flow_key, maps: &Maps, now: u64) {
        if now.saturating_sub(self.read_ns) <= FRESH_NS {
            return;
        }
        self.read_ns = now;
        let flow = maps.flow(key);
        self.answered = flow.as_ref().is_some_and(|flow| is_answered(flow, now));
        self.waits_for.interval_ns = flow.as_ref().map_or(0, |flow| flow.interval_ns);
        if let Some(flow) = flow {
            self.waits_for.mesh_ns = flow.estimate.search.round_ns;
            self.waits_for.wired_ns = u64::from(flow.rtt_wired_us) * 1000;
        }
    }

    /// What its packets wait for, if it has a turn each `turn_ns`.
    fn waits_for(&self, turn_ns: u64) -> mp_waits_for {
        mp_waits_for {
            turn_ns,
            ..self.waits_for
        }
    }

    /// Whether one that comes now would wait longer than any may, whatever the law.
    pub fn waits_beyond_all_bounds(&self, turn_ns: u64) -> bool {
        law::wait_beyond(&self.waits_for(turn_ns), self.waiting.len() as u32)
    }

    /// Whether one that comes now is to be lost, since all of a round trip waited too long.
    pub fn waits_too_long(&mut self, law: &mp_law, turn_ns: u64, now: u64) -> bool {
        let waits_for = self.waits_for(turn_ns);
        let wait = law::wait_behind_ns(&waits_for, self.waiting.len() as u32);
        law::wait_too_long(&mut self.wait, law, &waits_for, wait, now)
    }
}

/// Whether a sequence number lies before another.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// A packet in the queue.
pub struct Waiting {
    pub id: u32,
    /// 0: none
    pub payload_bytes: u32,
    pub not_before: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_of_what_was_never_sent_changes_nothing() {
        let mut flow = Paced::new(0);
        let first = u32::MAX - 1000;
        let end = first.wrapping_add(4000);
        assert_eq!(flow.acknowledge(first, || Some(end)), 0);
        assert_eq!(
            flow.acknowledge(first.wrapping_add(1 << 30), || Some(end)),
            0
        );
        assert_eq!(flow.acknowledge(first.wrapping_add(3000), || None), 3000);
        // The FIN's number is behind the data, and of more data the flow has to be asked.
        assert_eq!(flow.acknowledge(end.wrapping_add(1), || None), 1001);
        let more = end.wrapping_add(1449);
        assert_eq!(flow.acknowledge(more, || Some(more)), 1448);
        assert_eq!(flow.acknowledge(end, || None), 0);
    }

    #[test]
    fn a_flow_of_which_nothing_is_known_acknowledges_nothing() {
        let mut flow = Paced::new(0);
        assert_eq!(flow.acknowledge(7, || None), 0);
        assert_eq!(flow.acknowledge(1007, || Some(1007)), 0);
        assert_eq!(flow.acknowledge(2007, || Some(2007)), 1000);
    }
}
