// SPDX-License-Identifier: GPL-2.0-only
//! What hosts get and wait while nothing is paced, and while it is: the windows that core's retreat.h compares, and
//! what an operator is shown.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::hosts::identity::{Address, Aliases};
use crate::kernel::address::address_of;
use crate::kernel::flow_state::Table;
use crate::kernel::intf::{
    self, mp_host_key, mp_retreat, mp_retreat_look, mp_retreat_window, MP_RETREAT_PAIRS,
};
use crate::kernel::law;
use crate::policy::news::{demand, AllNews, Delivered, News};
use crate::policy::shares::Caps;

/// Of more, those are forgotten that have been at work least: 256 of 1 KiB each are what the daemon has room for.
const HOSTS: usize = 256;

/// Which time is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before = 0,
    Paced = 1,
}

/// What was seen of a host, or of all, while at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub work: Duration,
    pub bytes: u64,
    pub windows: u32,
    /// RTT_wireless, added up over looks at which it was known
    pub waits: Duration,
    pub waits_known: u32,
}

impl Sum {
    fn add(&mut self, took: Duration, bytes: u64, wait: Option<Duration>) {
        self.work += took;
        self.bytes += bytes;
        if let Some(wait) = wait {
            self.waits += wait;
            self.waits_known += 1;
        }
    }

    /// What was acknowledged while at work; None: it was not.
    pub fn kbps(&self) -> Option<f64> {
        let seconds = self.work.as_secs_f64();
        (seconds > 0.0).then(|| self.bytes as f64 * 8.0 / 1e3 / seconds)
    }

    pub fn wait_ms(&self) -> Option<f64> {
        let known = f64::from(self.waits_known);
        (self.waits_known > 0).then(|| self.waits.as_secs_f64() * 1e3 / known)
    }
}

/// What is known of a host from before anything was paced, and goes from one process to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    pub sum: Sum,
    /// values of its windows, the latest last
    values: Vec<u64>,
}

#[derive(Default)]
struct Known {
    window: mp_retreat_window,
    progress_ns: u64,
    before: Observed,
    paced: Sum,
    against: mp_retreat,
}

/// All that goes from one process to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Before {
    hosts: Vec<(Address, Observed)>,
    all: Sum,
    /// other addresses of these hosts: in the process that comes another may stand for them
    others: Vec<(Address, Address)>,
}

/// A host, or all of them, before and while paced.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub address: String,
    pub before: Sum,
    pub paced: Sum,
    /// there was enough of it on both sides to say something
    pub tells: bool,
    /// core says so
    pub worse: bool,
}

/// What there is to look at.
pub struct Look<'a> {
    pub table: &'a Table,
    /// acknowledged bytes so far of flows that have ended
    pub ended: &'a [(mp_host_key, u64)],
    pub aliases: &'a Arc<Aliases>,
    pub caps: &'a Caps,
    pub now_ns: u64,
    /// None: neither; packets pass for a reason of their own
    pub side: Option<Side>,
}

#[derive(Default)]
pub struct Compare {
    delivered: Delivered,
    hosts: BTreeMap<Address, Known>,
    all: [Sum; 2],
    looked_ns: u64,
    aliases: Arc<Aliases>,
    /// of an earlier process: by which address a host was known that has this one, too
    former: HashMap<Address, Address>,
}

/// Both directions of a host.
fn of_host(news: &AllNews, address: &Address) -> News {
    let mut sum = News::default();
    for direction in [intf::mp_direction_MP_DOWN, intf::mp_direction_MP_UP] {
        let Some(one) = news.get(&(*address, direction)) else {
            continue;
        };
        sum.bytes += one.bytes;
        sum.wanting_flows += one.wanting_flows;
        sum.held |= one.held;
    }
    sum
}

/// Mean RTT_wireless of each host's downloads.
fn waits(look: &Look) -> BTreeMap<Address, Duration> {
    let mut sums = BTreeMap::<Address, (u64, u64)>::new();
    let down = |(key, _): &&(intf::mp_flow_key, _)| key.direction == intf::mp_direction_MP_DOWN;
    for (key, flow) in look.table.iter().filter(down) {
        let demand = demand(key.direction, flow, look.now_ns);
        if flow.mean_rtt_ns > 0 && law::flow_moves(&demand) {
            let sum = sums.entry(look.aliases.standing(key.mesh)).or_default();
            *sum = (sum.0 + flow.mean_rtt_ns, sum.1 + 1);
        }
    }
    let mean = |(address, (sum, count))| (address, Duration::from_nanos(sum / count));
    sums.into_iter().map(mean).collect()
}

impl Known {
    fn note(&mut self, value: u64, held: bool, side: Side) {
        match side {
            Side::Before => {
                self.before.sum.windows += 1;
                let values = &mut self.before.values;
                if values.len() == MP_RETREAT_PAIRS as usize {
                    values.remove(0);
                }
                values.push(value);
            }
            Side::Paced => {
                self.paced.windows += 1;
                // The latest first: they are most like what is now.
                let pairs = self.against.pairs as usize;
                if let Some(before) = self.before.values.iter().rev().nth(pairs) {
                    law::retreat_compare(&mut self.against, *before, value, held);
                }
            }
        }
    }

    fn windows(&self) -> u64 {
        u64::from(self.before.sum.windows) + u64::from(self.paced.windows)
    }
}

impl Compare {
    /// With what an earlier process has seen.
    pub fn after(before: Before) -> Self {
        let known = |(address, before)| {
            let known = Known {
                before,
                ..Known::default()
            };
            (address, known)
        };
        Self {
            hosts: before.hosts.into_iter().map(known).collect(),
            all: [before.all, Sum::default()],
            former: before.others.into_iter().collect(),
            ..Self::default()
        }
    }

    /// For the process that comes.
    pub fn before(&self) -> Before {
        let seen = |known: &&Known| known.before.sum.windows > 0;
        let hosts = self.hosts.iter().filter(|(_, known)| seen(known));
        let hosts: Vec<_> = hosts.map(|(a, known)| (*a, known.before.clone())).collect();
        let kept = |standing: &Address| self.hosts.get(standing).is_some_and(|known| seen(&known));
        let others = self.aliases.0.iter().map(|(other, host)| (*other, *host));
        Before {
            hosts,
            all: self.all[Side::Before as usize],
            others: others.filter(|(_, host)| kept(host)).collect(),
        }
    }

    /// Once a second.
    pub fn look(&mut self, look: &Look) {
        self.delivered.set_aliases(look.aliases.clone());
        self.aliases = look.aliases.clone();
        self.join();
        let news = self
            .delivered
            .news(look.table, look.ended, |_| false, look.now_ns);
        let before_ns = std::mem::replace(&mut self.looked_ns, look.now_ns);
        if before_ns == 0 {
            return; // what there was before the first look is no news
        }
        let took = Duration::from_nanos(look.now_ns.saturating_sub(before_ns));
        self.meet(&news);
        let at_work = self.at_work(&news, look);
        let waits = waits(look);
        let mut bytes_of_all = 0;
        for (address, known) in &mut self.hosts {
            let one = of_host(&news, address);
            let works = at_work.contains(address);
            let caps = [intf::mp_direction_MP_DOWN, intf::mp_direction_MP_UP];
            let has_cap = caps
                .iter()
                .any(|way| look.caps.contains_key(&(*address, *way)));
            let seen = mp_retreat_look {
                now_ns: look.now_ns,
                bytes: one.bytes,
                hosts: at_work.len() as u32,
                at_work: works,
                held: one.held || has_cap,
            };
            let over = law::retreat_look(&mut known.window, &seen);
            let Some(side) = look.side.filter(|_| works) else {
                continue;
            };
            let sum = match side {
                Side::Before => &mut known.before.sum,
                Side::Paced => &mut known.paced,
            };
            sum.add(took, one.bytes, waits.get(address).copied());
            bytes_of_all += one.bytes;
            if let Some((value, held)) = over {
                known.note(value, held, side);
            }
        }
        if let Some(side) = look.side.filter(|_| !at_work.is_empty()) {
            let known: Vec<_> = at_work.iter().filter_map(|a| waits.get(a)).collect();
            let mean = known
                .iter()
                .copied()
                .sum::<Duration>()
                .checked_div(known.len() as u32);
            self.all[side as usize].add(took, bytes_of_all, mean);
        }
    }

    /// An address turns out to be another host's, of which it was a stranger in the second in which it came: what was
    /// known by it is that host's.
    fn join(&mut self) {
        let standing = |address: &Address| self.aliases.standing(*address);
        let joins = |address: &&Address| standing(address) != **address;
        let moved: Vec<_> = self.hosts.keys().filter(joins).copied().collect();
        for address in moved {
            let host = standing(&address);
            let Some(known) = self.hosts.remove(&address) else {
                continue;
            };
            let there = self.hosts.get(&host);
            if there.is_none_or(|there| there.windows() < known.windows()) {
                self.hosts.insert(host, known);
            }
        }
    }

    /// Who has got something for the first time, or was known by another address to an earlier process.
    fn meet(&mut self, news: &AllNews) {
        for ((address, _), _) in news.iter().filter(|(_, news)| news.bytes > 0) {
            if self.hosts.contains_key(address) {
                continue;
            }
            let former = self.former.remove(address);
            if let Some(known) = former.and_then(|host| self.hosts.remove(&host)) {
                self.hosts.insert(*address, known);
                continue;
            }
            if self.hosts.len() >= HOSTS {
                let least = self.hosts.iter().min_by_key(|(_, known)| known.windows());
                let least = least.map(|(address, _)| *address);
                least.map(|address| self.hosts.remove(&address));
            }
            self.hosts.insert(*address, Known::default());
        }
    }

    /// Hosts at work at the moment; none while neither side is looked at.
    fn at_work(&mut self, news: &AllNews, look: &Look) -> BTreeSet<Address> {
        let mut all = BTreeSet::new();
        for (address, known) in &mut self.hosts {
            let one = of_host(news, address);
            if one.bytes > 0 {
                known.progress_ns = look.now_ns;
            }
            let wants = one.wanting_flows > 0;
            let works = law::retreat_at_work(wants, known.progress_ns, look.now_ns);
            if works && look.side.is_some() {
                all.insert(*address);
            }
        }
        all
    }

    /// Whether pacing has to end: how many hosts it made worse, of how many that were at work.
    pub fn verdict(&self) -> Option<(u32, u32)> {
        let paced = self.hosts.values().filter(|known| known.paced.windows > 0);
        let worse = |known: &&Known| law::retreat_is_worse(&known.against);
        let (count, all) = (paced.clone().filter(worse).count(), paced.count());
        law::retreat_due(count as u32, all as u32).then_some((count as u32, all as u32))
    }

    /// Of each host that was at work while paced, and of all.
    pub fn rows(&self) -> (Vec<Compared>, Compared) {
        let rows = self
            .hosts
            .iter()
            .filter(|(_, known)| known.paced.work > Duration::ZERO);
        let row = |(address, known): (&Address, &Known)| Compared {
            address: address_of(address).to_string(),
            before: known.before.sum,
            paced: known.paced,
            tells: law::retreat_tells(known.before.sum.windows, known.paced.windows),
            worse: law::retreat_is_worse(&known.against),
        };
        let rows: Vec<_> = rows.map(row).collect();
        let all = Compared {
            address: String::new(),
            before: self.all[Side::Before as usize],
            paced: self.all[Side::Paced as usize],
            tells: rows.iter().any(|row| row.tells),
            worse: self.verdict().is_some(),
        };
        (rows, all)
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
