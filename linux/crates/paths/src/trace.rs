// SPDX-License-Identifier: GPL-2.0-only
//! Counts the hops to a batman-adv node by the smallest TTL that reaches it, as `batctl traceroute`
//! does. It does not rise from 1: the first echo carries the full TTL, and what its reply has left
//! tells the hops of the way back, which is nearly always the way there. Three echoes suffice then,
//! however far.

use crate::echo::{Answer, TTL_MAX};

/// An echo unanswered this often ends the search.
const TRIES: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send an echo with this TTL.
    Probe(u8),
    Done(u32),
    /// The node does not answer, or the way changed under the search.
    Failed,
}

/// A search in progress: the node is more than `low` and at most `high` hops away.
#[derive(Debug)]
pub(crate) struct Trace {
    low: u8,
    high: Option<u8>,
    ttl: u8,
    tries: u8,
}

impl Trace {
    /// A search, and its first step.
    pub fn start() -> (Trace, Step) {
        let trace = Trace {
            low: 0,
            high: None,
            ttl: TTL_MAX,
            tries: 1,
        };
        (trace, Step::Probe(TTL_MAX))
    }

    /// The echo of the last step was answered.
    pub fn answered(&mut self, answer: Answer) -> Step {
        let next = match (answer, self.high) {
            (Answer::Exceeded, None) => return Step::Failed, // farther than any TTL reaches
            (Answer::Exceeded, Some(_)) => {
                self.low = self.ttl;
                self.ttl.saturating_add(1)
            }
            (Answer::Reached { ttl_left }, None) => {
                self.high = Some(TTL_MAX);
                // A neighbour's reply is forwarded by nobody and keeps its TTL.
                TTL_MAX.saturating_sub(ttl_left).saturating_add(1)
            }
            (Answer::Reached { .. }, Some(_)) => {
                self.high = Some(self.ttl);
                self.ttl.saturating_sub(1)
            }
        };
        match self.high {
            Some(high) if high == self.low.saturating_add(1) => Step::Done(u32::from(high)),
            Some(high) if high > self.low => self.probe(next.clamp(self.low + 1, high - 1)),
            _ => Step::Failed,
        }
    }

    /// The echo of the last step was not answered in time.
    pub fn silent(&mut self) -> Step {
        if self.tries >= TRIES {
            return Step::Failed;
        }
        self.tries += 1;
        Step::Probe(self.ttl)
    }

    fn probe(&mut self, ttl: u8) -> Step {
        self.ttl = ttl;
        self.tries = 1;
        Step::Probe(ttl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::Random;

    /// Runs a search over a path of `there` hops whose way back has `back`; `lost` says which echo
    /// gets no answer. Gives the outcome and the number of echoes.
    fn run(there: u8, back: u8, lost: impl Fn(u32) -> bool) -> (Step, u32) {
        let (mut trace, mut step) = Trace::start();
        let mut echoes = 0;
        while let Step::Probe(ttl) = step {
            echoes += 1;
            assert!(echoes < 200, "a search ends");
            assert!((1..=TTL_MAX).contains(&ttl));
            step = if lost(echoes) {
                trace.silent()
            } else if ttl >= there {
                let ttl_left = TTL_MAX + 1 - back;
                trace.answered(Answer::Reached { ttl_left })
            } else {
                trace.answered(Answer::Exceeded)
            };
        }
        (step, echoes)
    }

    #[test]
    fn three_echoes_count_a_path_that_returns_as_it_went() {
        for hops in 2..=49 {
            let (step, echoes) = run(hops, hops, |_| false);
            assert_eq!(step, Step::Done(u32::from(hops)));
            assert_eq!(echoes, 3);
        }
        assert_eq!(run(1, 1, |_| false), (Step::Done(1), 2));
    }

    #[test]
    fn the_way_there_counts_not_the_way_back() {
        for there in 1..=10 {
            for back in 1..=10 {
                assert_eq!(run(there, back, |_| false).0, Step::Done(u32::from(there)));
            }
        }
    }

    #[test]
    fn losses_are_survived_silence_is_not() {
        assert_eq!(run(4, 4, |echo| echo % 3 != 0), (Step::Done(4), 9));
        assert_eq!(run(4, 4, |_| true), (Step::Failed, 3));
        assert_eq!(run(4, 4, |echo| echo > 1).0, Step::Failed);
    }

    #[test]
    fn farther_than_the_full_ttl_fails() {
        assert_eq!(run(TTL_MAX + 1, 9, |_| false).0, Step::Failed);
    }

    #[test]
    fn contradictory_answers_end_too() {
        let mut random = Random::new(3);
        for _ in 0..5_000 {
            let (mut trace, mut step) = Trace::start();
            let mut echoes = 0;
            while let Step::Probe(_) = step {
                echoes += 1;
                assert!(echoes < 400);
                let ttl_left = random.below(256) as u8;
                step = match random.below(3) {
                    0 => trace.silent(),
                    1 => trace.answered(Answer::Exceeded),
                    _ => trace.answered(Answer::Reached { ttl_left }),
                };
            }
        }
    }
}
