// SPDX-License-Identifier: GPL-2.0-only
//! Whether packets reach the mesh without having come before the daemon. Other programs remove rules (a firewall
//! that is loaded again), or send packets past netfilter (flow offload). The BPF program at the mesh
//! interface counts the TCP packets that leave, the queue's thread those that it let go: as long as the rules
//! are there the two agree, and nobody has to be asked.
use std::time::{Duration, Instant};

/// TCP packets of IPv4 and IPv6.
pub type Counts = [u64; 2];

/// How often the two are compared.
const EVERY: Duration = Duration::from_millis(500);
/// A rule that is gone is looked for at once, but not more often than this where it turns out to be there.
const AGAIN: Duration = Duration::from_secs(2);
/// Without any traffic nobody misses a rule: it is looked for only so often.
const IDLE: Duration = Duration::from_secs(10);
/// The two counts are read one after the other, while packets leave.
const APART: u64 = 8;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Nothing,
    /// the rules are to be looked for
    Rules,
}

pub struct Bypass {
    left: Counts,
    let_go: Counts,
    compared: Instant,
    looked: Instant,
    /// since when most packets have gone another way
    since: Option<Instant>,
}

impl Bypass {
    pub fn new(now: Instant) -> Self {
        Self {
            left: [0; 2],
            let_go: [0; 2],
            compared: now,
            looked: now,
            since: None,
        }
    }

    /// Compares what has left to the mesh with what was let go there, of IP versions whose rules are `there`. `unpaced`:
    /// some could not be put back, or did not help, so they are looked for however well the two agree.
    pub fn compare(
        &mut self,
        now: Instant,
        there: [bool; 2],
        unpaced: bool,
        counts: impl FnOnce() -> (Counts, Counts),
    ) -> Look {
        if now - self.compared < EVERY {
            return Look::Nothing;
        }
        self.compared = now;
        let (left, let_go) = counts();
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let mut differ = false;
        let (mut all, mut around) = (0, 0);
        for version in (0..2).filter(|version| there[*version]) {
            let left = since(left[version], self.left[version]);
            let past = left.saturating_sub(since(let_go[version], self.let_go[version]));
            differ |= past > APART || (past > 0 && past == left);
            all += left;
            around += past;
        }
        (self.left, self.let_go) = (left, let_go);
        self.since = match (differ, all) {
            (_, 0) => self.since, // it is not known
            (true, _) if around > all / 2 => self.since.or(Some(now)),
            _ => None,
        };
        let due = if differ || unpaced { AGAIN } else { IDLE };
        if now - self.looked < due {
            return Look::Nothing;
        }
        self.looked = now;
        Look::Rules
    }

    /// Of which versions anything has left.
    pub fn has_left(&self) -> [bool; 2] {
        self.left.map(|left| left > 0)
    }

    /// Rules were found missing by other means: whether it is time to look.
    pub fn may_look(&mut self, now: Instant) -> bool {
        let may = now - self.looked >= EVERY;
        self.looked = if may { now } else { self.looked };
        may
    }

    /// Rules were put back: what went around has an end.
    pub fn mended(&mut self) {
        self.since = None;
    }

    /// Whether most packets go around although the rules are there.
    pub fn goes_on(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now - since > 2 * AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a second after the other: so many packets left, so many of them were let go.
    struct Run {
        now: Instant,
        bypass: Bypass,
        left: Counts,
        let_go: Counts,
        unpaced: bool,
        there: [bool; 2],
    }

    impl Run {
        fn new() -> Self {
            let now = Instant::now();
            Self {
                now,
                bypass: Bypass::new(now),
                left: [0; 2],
                let_go: [0; 2],
                unpaced: false,
                there: [true; 2],
            }
        }

        fn step(&mut self, left: Counts, let_go: Counts) -> Look {
            self.now += EVERY;
            for version in 0..2 {
                self.left[version] += left[version];
                self.let_go[version] += let_go[version];
            }
            let counts = (self.left, self.let_go);
            let bypass = &mut self.bypass;
            bypass.compare(self.now, self.there, self.unpaced, || counts)
        }
    }

    /// Else each gateway would start iptables twice a second.
    #[test]
    fn rules_are_looked_for_seldom_while_counts_agree() {
        let mut run = Run::new();
        let looks = (0..60).filter(|_| run.step([100, 0], [98, 0]) == Look::Rules);
        assert_eq!(looks.count(), 3);
        assert!(!run.bypass.goes_on(run.now));
    }

    /// Else packets would go unpaced, and status say so, for ten seconds after a firewall that held the lock
    /// of the tables while it was loaded.
    #[test]
    fn what_could_not_be_put_back_is_tried_again_soon() {
        let mut run = Run::new();
        run.unpaced = true;
        let looks = (0..40).filter(|_| run.step([100, 0], [100, 0]) == Look::Rules);
        assert_eq!(looks.count(), 10);
    }

    #[test]
    fn a_rule_that_is_gone_is_noticed_at_once_even_if_it_is_the_smaller_part() {
        let mut run = Run::new();
        for _ in 0..8 {
            run.step([1000, 2], [1000, 2]);
        }
        assert_eq!(run.step([1000, 2], [1000, 0]), Look::Rules);
    }

    #[test]
    fn packets_that_go_around_for_long_are_told_until_they_come_again() {
        let mut run = Run::new();
        for _ in 0..12 {
            run.step([100, 0], [10, 0]);
        }
        assert!(run.bypass.goes_on(run.now));
        run.step([0, 0], [0, 0]);
        assert!(run.bypass.goes_on(run.now), "nothing is known");
        run.step([100, 0], [100, 0]);
        assert!(!run.bypass.goes_on(run.now));
    }

    /// Else where ip6tables does not work all pacing ends as soon as most packets are of IPv6.
    #[test]
    fn a_version_without_rules_goes_around_nothing() {
        let mut run = Run::new();
        run.there = [true, false];
        for _ in 0..12 {
            run.step([10, 1000], [10, 0]);
        }
        assert!(!run.bypass.goes_on(run.now));
        assert_eq!(run.bypass.has_left(), [true; 2]);
        for _ in 0..12 {
            run.step([10, 1000], [0, 0]);
        }
        assert!(run.bypass.goes_on(run.now), "the one that has rules");
    }
}
