// SPDX-License-Identifier: GPL-2.0-only
//! Whether the programs see what comes and leaves by the mesh interface: whatever is asked before them may let packets
//! pass at once, as a filter of a smaller priority does that ends with `ok`. The interface counts packets, and so do
//! the programs.
use std::time::{Duration, Instant};

use crate::setup::clsact;

/// Of packets that come and of those that leave.
pub type Counts = [u64; 2];

const EVERY: Duration = Duration::from_secs(1);
/// Of so many packets it is judged whether they were seen, however long they take.
const FEW: u64 = 16;
/// An interface may count what it then drops, and more than the programs see of what is split.
const MOST: u64 = 8;
/// So often in a row few of them were seen: the two counts are read one after the other.
const TIMES: u32 = 2;

/// One way, since it was judged.
#[derive(Default)]
struct Way {
    passed: u64,
    seen: u64,
    times: u32,
}

#[derive(Default)]
pub struct Unseen {
    /// when it was compared, of which interface
    last: Option<(Instant, i32)>,
    ways: [Way; 2],
    /// why hardly any packets are seen
    why: Option<String>,
}

impl Unseen {
    pub fn is_due(&self, now: Instant) -> bool {
        self.last.is_none_or(|(then, _)| now - then >= EVERY)
    }

    /// Compares what has passed an interface with what the programs saw there. Returns why packets pass unseen.
    /// `relays`: what it relays by itself, as a mesh point of 802.11s does, counts as sent by it (Linux 6.4 and later) and
    /// comes by no program: there only a filter in front tells that others do not, either.
    pub fn compare(
        &mut self,
        now: Instant,
        (mesh, index): (&str, i32),
        passed: Counts,
        seen: Counts,
        relays: impl FnOnce() -> bool,
    ) -> Option<String> {
        let before = self.last.replace((now, index));
        let is_same = before.is_some_and(|(_, before)| before == index);
        for (n, way) in self.ways.iter_mut().enumerate() {
            match is_same {
                true => way.judge(passed[n], seen[n]),
                false => way.begin(passed[n], seen[n], 0),
            }
        }
        let [come, leave] = [0, 1].map(|n: usize| self.ways[n].times >= TIMES);
        if !come && !leave {
            self.why = None;
            return None;
        }
        let fronts = clsact::before_ours(mesh).unwrap_or_default();
        match [come, leave && (!fronts[1].is_empty() || !relays())] {
            [false, false] => self.why = None,
            ways if self.why.is_none() => self.why = Some(words(mesh, &fronts, ways)),
            _ => {}
        }
        self.why()
    }

    pub fn why(&self) -> Option<String> {
        self.why.clone()
    }
}

impl Way {
    fn begin(&mut self, passed: u64, seen: u64, times: u32) {
        *self = Self {
            passed,
            seen,
            times,
        };
    }

    fn judge(&mut self, passed: u64, seen: u64) {
        let more = passed.saturating_sub(self.passed);
        let of_them = seen.saturating_sub(self.seen);
        if more < FEW {
            return;
        }
        let times = match of_them < more / MOST {
            true => self.times.saturating_add(1),
            false => 0,
        };
        self.begin(passed, seen, times);
    }
}

fn words(mesh: &str, fronts: &[Vec<u16>; 2], ways: [bool; 2]) -> String {
    let way = usize::from(ways[1]);
    let (verb, at) = [("come", "ingress"), ("leave", "egress")][way];
    match fronts[way].as_slice() {
        [] => format!("packets {verb} unseen: another program is asked before meshpace's, or hardware forwards them; see meshpace doctor"),
        fronts => format!("packets {verb} unseen: {}", in_front(mesh, at, fronts)),
    }
}

/// Which filters these are, and the remedy.
pub fn in_front(mesh: &str, at: &str, priorities: &[u16]) -> String {
    let list: Vec<_> = priorities.iter().map(u16::to_string).collect();
    format!(
        "a filter of priority {} is asked before meshpace's; give it one above {}, or the action `continue` (tc filter show dev {mesh} {at})",
        list.join(", "),
        crate::kernel::attach::WAIT_PRIORITY
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::namespace::{alone, ip};

    /// Second after second: what passed, what was seen, and whether that is told.
    fn told(seconds: &[(Counts, Counts)]) -> Vec<bool> {
        told_of(seconds, false)
    }

    fn told_of(seconds: &[(Counts, Counts)], relays: bool) -> Vec<bool> {
        let (mut unseen, mut now) = (Unseen::default(), Instant::now());
        let (mut passed, mut seen) = ([0; 2], [0; 2]);
        let mut second = |more: Counts, of_them: Counts| {
            now += EVERY;
            for way in 0..2 {
                passed[way] += more[way];
                seen[way] += of_them[way];
            }
            let told = unseen.compare(now, ("lo", 1), passed, seen, || relays);
            told.is_some()
        };
        second([0; 2], [0; 2]);
        let told = seconds.iter().map(|(more, seen)| second(*more, *seen));
        told.collect()
    }

    /// Else a filter in front switches pacing off, and all seems well.
    #[test]
    fn what_passes_unseen_is_told() {
        let (all, none) = (([90, 900], [90, 900]), ([90, 900], [90, 0]));
        let idle = ([0; 2], [0; 2]);
        let found = told(&[all, none, none, none, idle, all, all]);
        assert_eq!(found, [false, false, true, true, true, false, false]);
        let deaf = ([900, 900], [2, 900]);
        assert_eq!(told(&[deaf, deaf]), [false, true]);
    }

    /// Else nothing is paced by a gateway that relays more than it sends itself.
    #[test]
    fn what_a_mesh_point_relays_nobody_has_to_see() {
        let relayed = ([90, 900], [90, 10]);
        assert_eq!(told_of(&[relayed; 4], true), [false; 4]);
        let deaf = ([900, 900], [2, 10]);
        assert_eq!(told_of(&[deaf, deaf, relayed], true), [false, true, false]);
    }

    /// Who is taken for one that answers nothing has few packets left, which tell all the same.
    #[test]
    fn few_packets_tell_after_a_while() {
        let few = ([6, 6], [0, 6]);
        assert_eq!(told(&[few; 6]), [false, false, false, false, false, true]);
        let dropped = ([20, 20], [5, 20]);
        assert_eq!(told(&[dropped; 4]), [false; 4], "by the interface");
    }

    /// Else what was split on its way, or one look that came late, ends pacing.
    #[test]
    fn split_packets_say_nothing() {
        let super_packets = ([900, 30], [900, 900]);
        assert_eq!(told(&[super_packets; 4]), [false; 4]);
        let once = ([900, 900], [900, 9]);
        let all = ([900, 900], [900, 900]);
        assert_eq!(told(&[once, all, once, all]), [false; 4]);
    }

    /// An interface made anew counts from 0.
    #[test]
    fn another_interface_begins_anew() {
        let (mut unseen, now) = (Unseen::default(), Instant::now());
        for n in 0..4 {
            let counted = [1000 * n, 1000 * n];
            let of = ("lo", n as i32);
            assert_eq!(unseen.compare(now, of, counted, [0; 2], || false), None);
        }
    }

    #[test]
    fn filters_in_front_are_found() {
        alone(|| {
            assert_eq!(
                clsact::before_ours("lo").unwrap(),
                <[Vec<u16>; 2]>::default()
            );
            let tc = |words: &str| {
                let done = std::process::Command::new("tc")
                    .args(words.splitn(10, ' '))
                    .status();
                assert!(done.unwrap().success(), "tc {words}");
            };
            ip("link set lo up");
            tc("qdisc add dev lo clsact");
            for priority in ["7", "28015", "28016", "50000"] {
                tc(&format!(
                    "filter add dev lo egress prio {priority} bpf bytecode 1,6 0 0 1"
                ));
            }
            let fronts = clsact::before_ours("lo").unwrap();
            assert_eq!(fronts, [vec![], vec![7, 28015]]);
            let told = words("lo", &fronts, [false, true]);
            assert!(
                told.starts_with("packets leave unseen: a filter of priority 7, 28015"),
                "{told}"
            );
            let none = ([90, 900], [90, 0]);
            assert_eq!(
                told_of(&[none, none], true),
                [false, true],
                "nor by a relay"
            );
        });
    }
}
