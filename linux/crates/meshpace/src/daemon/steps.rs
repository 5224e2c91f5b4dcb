// SPDX-License-Identifier: GPL-2.0-only
//! When shares of the air are reckoned between two seconds.
use std::time::{Duration, Instant};

use super::ROUND;

/// A step may take this part of the processor's time. On a table of ten thousand flows a step takes longer than on ten,
/// and is due less often instead.
const PART: u32 = 20;

/// When the next one is due, in the rounds of the main loop: no sooner than a round after the one before, though orders
/// have the loop go round, since the law counts each as a whole step.
pub struct Steps {
    next: Instant,
    /// before then nothing is a step, a second's neither
    whole: Instant,
}

impl Steps {
    pub fn new(now: Instant) -> Self {
        Self {
            next: now,
            whole: now,
        }
    }

    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Whether the one before was less than a step ago.
    pub fn is_early(&self, now: Instant) -> bool {
        now < self.whole
    }

    /// One that began then has taken so much of the processor's time.
    pub fn took(&mut self, began: Instant, cpu: Duration) {
        self.whole = began + ROUND;
        self.next = began + ROUND.max(cpu * PART);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a flood of flows has the daemon do nothing else, and what it holds waits for the processor.
    #[test]
    fn a_step_on_a_large_table_is_due_less_often() {
        let began = Instant::now();
        let mut steps = Steps::new(began);
        assert!(steps.is_due(began));
        let ms = Duration::from_millis;
        steps.took(began, ms(2));
        assert!(
            !steps.is_due(began + ms(99)),
            "whoever asks for something meanwhile"
        );
        assert!(steps.is_due(began + ms(100)), "in each round");
        steps.took(began, ms(20));
        assert!(!steps.is_due(began + ms(399)));
        assert!(steps.is_due(began + ms(400)), "a twentieth of the time");
    }

    /// Else a second that is due while orders come has two steps within milliseconds, of which the law counts each whole.
    #[test]
    fn a_second_waits_for_a_whole_step() {
        let began = Instant::now();
        let mut steps = Steps::new(began);
        assert!(!steps.is_early(began), "the first");
        let ms = Duration::from_millis;
        steps.took(began, ms(20));
        assert!(steps.is_early(began + ms(99)));
        assert!(!steps.is_early(began + ms(100)), "whatever a step takes");
    }
}
