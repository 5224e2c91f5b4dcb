// SPDX-License-Identifier: GPL-2.0-only
//! One flow's packets in the netfilter queue: what the kernel knows of the flow decides when its data
//! leaves (GAP section 4.3), and by the law `even` when some of it is lost, since all waits too long.
use std::collections::VecDeque;

use crate::kernel::intf::{self, mp_flow, mp_law, mp_pacer, mp_progress, mp_wait, mp_waits_for};
use crate::kernel::law;
use crate::release::hostpace::New;

/// An interval that was read so lately is not read again: reading costs as much as a packet does.
const FRESH_NS: u64 = 250_000;

/// Whether somebody in the mesh answers, so that its data may be held.
pub fn is_answered(flow: &mp_flow, now: u64) -> bool {
    law::may_hold(
        &flow.at.unanswered,
        flow.at.progress.ack != flow.at.sent.max_end,
        now,
    )
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
    /// of the host's own data, whose acknowledgements wait here, as far as they are known
    own: Option<Own>,
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
            own: None,
        }
    }

    /// Takes an acknowledgement; returns how many bytes are new in it. `look` tells how far the data has
    /// come, and None where that is not known: then, and of more than was sent, it counts for nothing.
    pub fn acknowledge(&mut self, ack: u32, look: impl FnOnce() -> Option<Own>) -> u32 {
        let fits = |own: &Own| law::progress_fits(&own.progress, own.max_end, ack);
        if !self.own.as_ref().is_some_and(fits) {
            let latest = look();
            // What waits here has not been counted there yet.
            match (&mut self.own, latest) {
                (Some(own), Some(latest)) => own.max_end = latest.max_end,
                (own, latest) => *own = latest,
            }
        }
        let Some(own) = &mut self.own else {
            return 0;
        };
        let before = own.progress.acked_bytes;
        law::progress_ack(&mut own.progress, own.max_end, ack);
        (own.progress.acked_bytes - before) as u32
    }

    /// When a packet is due that has been ready since then.
    pub fn due(&self, law: &mp_law, ready: u64) -> u64 {
        law::law_due_ns(law, &self.pacer, ready, self.waits_for.interval_ns)
    }

    /// A packet leaves that was ready since then.
    pub fn departed(&mut self, law: &mp_law, ready: u64, now: u64) {
        let (interval, late) = (self.waits_for.interval_ns, intf::MP_CLOCK_LATE_NS as u64);
        let device = intf::mp_device_MP_DEVICE_UNSEEN;
        law::law_departed(law, &mut self.pacer, ready, now, interval, late, device);
    }

    /// Whether what comes now may be held.
    pub fn may_hold(&mut self, now: u64, flow: impl FnOnce() -> Option<mp_flow>) -> bool {
        self.read(now, flow);
        self.answered
    }

    /// Reads the kernel's entry anew, which `flow` finds.
    pub fn read(&mut self, now: u64, flow: impl FnOnce() -> Option<mp_flow>) {
        if now.saturating_sub(self.read_ns) <= FRESH_NS {
            return;
        }
        self.read_ns = now;
        let flow = flow();
        self.answered = flow.as_ref().is_some_and(|flow| is_answered(flow, now));
        self.waits_for = flow.map_or_else(mp_waits_for::default, |flow| {
            let at = &flow.at;
            law::waits_for_of(&at.estimate, at.interval_ns, at.rtt_wired_us)
        });
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

/// How far a host's own data has come, and where what was sent of it ends.
pub struct Own {
    pub progress: mp_progress,
    pub max_end: u32,
}

impl From<&mp_flow> for Own {
    fn from(flow: &mp_flow) -> Self {
        Self {
            progress: flow.at.progress,
            max_end: flow.at.sent.max_end,
        }
    }
}

/// A packet in the queue.
pub struct Waiting {
    pub id: u32,
    /// 0: none
    pub payload_bytes: u32,
    pub not_before: u64,
    /// nobody had answered it when it came
    pub new: Option<New>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a flow whose interval is long fills the queue with what its sender has given up for lost.
    #[test]
    fn nothing_waits_beyond_all_bounds() {
        let mut flow = Paced::new(0);
        let mut most = |interval_ns, turn_ns| {
            flow.waits_for.interval_ns = interval_ns;
            flow.waiting.clear();
            while !flow.waits_beyond_all_bounds(turn_ns) && flow.waiting.len() < 10_000 {
                flow.waiting.push_back(Waiting {
                    id: 0,
                    payload_bytes: 1448,
                    not_before: 0,
                    new: None,
                });
            }
            flow.waiting.len()
        };
        const MS: u64 = 1_000_000;
        assert_eq!(most(10 * MS, 0), 401, "4 s");
        assert_eq!(most(0, 20 * MS), 201, "by its host's turns");
        assert_eq!(most(2000 * MS, 20 * MS), 9, "eight intervals");
        assert_eq!(most(0, 0), 10_000, "nothing paces it");
    }

    fn own(ack: u32, max_end: u32) -> Option<Own> {
        let progress = mp_progress {
            ack,
            seen: 1,
            ..Default::default()
        };
        Some(Own { progress, max_end })
    }

    #[test]
    fn an_ack_of_what_was_never_sent_changes_nothing() {
        let mut flow = Paced::new(0);
        let first = u32::MAX - 1000;
        let end = first.wrapping_add(4000);
        let forged = first.wrapping_add(1 << 30);
        assert_eq!(flow.acknowledge(first, || own(first, end)), 0);
        assert_eq!(flow.acknowledge(forged, || own(first, end)), 0);
        assert_eq!(flow.acknowledge(first.wrapping_add(3000), || None), 3000);
        // The FIN's number is behind the data, and of more data the flow has to be asked.
        assert_eq!(flow.acknowledge(end.wrapping_add(1), || None), 1000);
        let more = end.wrapping_add(1449);
        assert_eq!(flow.acknowledge(more, || own(first, more)), 1449);
        assert_eq!(flow.acknowledge(end, || None), 0);
    }

    #[test]
    fn a_flow_of_which_nothing_is_known_acknowledges_nothing() {
        let mut flow = Paced::new(0);
        assert_eq!(flow.acknowledge(7, || None), 0);
        assert_eq!(flow.acknowledge(1007, || own(7, 1007)), 1000);
        assert_eq!(flow.acknowledge(2007, || own(7, 2007)), 1000);
    }
}
