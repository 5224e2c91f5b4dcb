// SPDX-License-Identifier: GPL-2.0-only
//! Something else (a rule of udev's, systemd-networkd) changes what is made each time that it is made. Who makes it again
//! at once does so for ever, and what waits there is lost each time: it is left alone for a while, longer each time.
use std::time::{Duration, Instant};

/// So often it is made again at once: who does that each time has been met for a second, at ten looks a second.
const AT_ONCE: u32 = 10;
/// What lasts so long was changed by nobody who would do so again.
const LASTS: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const DOUBLINGS: u32 = 5;

#[derive(Default)]
pub struct Contest {
    times: u32,
    last: Option<Instant>,
}

impl Contest {
    /// How long it is to be left alone, now that it was changed; None: not at all.
    pub fn pause(&mut self, now: Instant) -> Option<Duration> {
        if self.last.is_none_or(|last| now - last > LASTS) {
            self.times = 0;
        }
        let beyond = self.times.checked_sub(AT_ONCE)?;
        Some(FIRST_PAUSE * 2u32.pow(beyond.min(DOUBLINGS)))
    }

    pub fn made(&mut self, now: Instant) {
        self.times = self.times.saturating_add(1);
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_each_time_is_left_alone_ever_longer() {
        let (mut contest, mut now) = (Contest::default(), Instant::now());
        let mut pauses_s = Vec::new();
        for _ in 0..AT_ONCE + 8 {
            let pause = contest.pause(now);
            pauses_s.push(pause.map_or(0, |pause| pause.as_secs()));
            now += pause.unwrap_or_default();
            contest.made(now);
        }
        let (at_once, later) = pauses_s.split_at(AT_ONCE as usize);
        assert!(at_once.iter().all(|pause_s| *pause_s == 0));
        assert_eq!(later, [1, 2, 4, 8, 16, 32, 32, 32]);
        assert_eq!(contest.pause(now + LASTS * 2), None, "it lasted");
    }
}
