// SPDX-License-Identifier: GPL-2.0-only
//! What hosts got over the latest 24 hours, by the minute, and over the latest ten minutes, by five seconds; in memory of a
//! fixed size. It begins with the gateway and ends with it; a program that takes this one's place in the same process goes on
//! with it.
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

const MINUTE_S: usize = 60;
const MINUTES: usize = 24 * 60;
/// A picture over ten minutes then has as many points as one over a day has by twelve minutes.
const FINE_S: usize = 5;
const FINE: usize = 600 / FINE_S;
/// Of the two MiB that the page may take with 50 hosts: the rest is its documents'.
const BUDGET_BYTES: usize = 3 << 19;
/// Of whom so much is kept.
pub const HOSTS: usize = BUDGET_BYTES / ((MINUTES + FINE) * size_of::<Slot>());
/// Who has been silent for so long may make room: who is there keeps it.
const SILENT_S: u64 = 60;
/// Points of a picture over a day.
const POINTS: usize = 144;

/// A host's latest second.
#[derive(Clone, Debug, PartialEq)]
pub struct Second {
    pub address: IpAddr,
    pub group: Option<String>,
    pub is_active: bool,
    pub is_underserved: bool,
    /// by direction
    pub kbps: [f64; 2],
    pub part_kbps: [Option<f64>; 2],
    pub waits_ms: Option<f64>,
    /// what it is held to or would be, both directions, and what it gets above that
    pub held_kbps: Option<f64>,
    pub over_kbps: f64,
    /// of its part
    pub lacks_kbps: f64,
}

/// A number of 11 bits and an exponent of two: right to a two-thousandth, up to 2^42.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Short(u16);

/// A slot's numbers in their order, as they are handed over.
type Numbers = [u16; 12];

impl Short {
    fn of(value: f64) -> Self {
        let mut exponent = 0;
        let mut rest = value.max(0.0);
        while rest.round() > 2047.0 && exponent < 31 {
            rest /= 2.0;
            exponent += 1;
        }
        Self((rest.round() as u16).min(2047) | exponent << 11)
    }

    fn value(self) -> f64 {
        f64::from(self.0 & 2047) * f64::from(1u32 << (self.0 >> 11))
    }
}

/// Means over a minute, or over five seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Numbers", from = "Numbers")]
struct Slot {
    kbps: [Short; 2],
    part_kbps: [Short; 2],
    /// tenths
    waits_ms: Short,
    held_kbps: Short,
    over_kbps: Short,
    lacks_kbps: Short,
    active_s: u8,
    underserved_s: u8,
    held_s: u8,
    is_paced: bool,
}

impl From<Slot> for Numbers {
    fn from(slot: Slot) -> Self {
        let [down, up] = slot.kbps.map(|short| short.0);
        let [part_down, part_up] = slot.part_kbps.map(|short| short.0);
        let (waits, held) = (slot.waits_ms.0, slot.held_kbps.0);
        let (over, lacks) = (slot.over_kbps.0, slot.lacks_kbps.0);
        let seconds = [slot.active_s, slot.underserved_s, slot.held_s].map(u16::from);
        let [active, underserved, held_s] = seconds;
        [
            down,
            up,
            part_down,
            part_up,
            waits,
            held,
            over,
            lacks,
            active,
            underserved,
            held_s,
            slot.is_paced.into(),
        ]
    }
}

impl From<Numbers> for Slot {
    fn from(numbers: Numbers) -> Self {
        let [down, up, part_down, part_up, waits, held, over, lacks, ..] = numbers.map(Short);
        let [.., active_s, underserved_s, held_s, paced] = numbers.map(|number| number as u8);
        Self {
            kbps: [down, up],
            part_kbps: [part_down, part_up],
            waits_ms: waits,
            held_kbps: held,
            over_kbps: over,
            lacks_kbps: lacks,
            active_s,
            underserved_s,
            held_s,
            is_paced: paced != 0,
        }
    }
}

/// Of the seconds of a slot so far.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Sum {
    kbps: [f64; 2],
    part_kbps: [f64; 2],
    parts: [f64; 2],
    waits_ms: f64,
    waits: f64,
    held_kbps: f64,
    over_kbps: f64,
    lacks_kbps: f64,
    active_s: u8,
    underserved_s: u8,
    held_s: u8,
    is_paced: bool,
}

fn mean(sum: f64, count: f64) -> Short {
    Short::of(if count > 0.0 { sum / count } else { 0.0 })
}

impl Sum {
    /// What was held, and what would have been, are not added up: from the second in which pacing begins or ends the slot
    /// is of that.
    fn add(&mut self, second: &Second, is_paced: bool) {
        if self.is_paced != is_paced {
            (self.held_kbps, self.over_kbps, self.held_s) = (0.0, 0.0, 0);
            self.is_paced = is_paced;
        }
        for way in 0..2 {
            self.kbps[way] += second.kbps[way];
            self.part_kbps[way] += second.part_kbps[way].unwrap_or(0.0);
            self.parts[way] += f64::from(u8::from(second.part_kbps[way].is_some()));
        }
        self.waits_ms += second.waits_ms.unwrap_or(0.0);
        self.waits += f64::from(u8::from(second.waits_ms.is_some()));
        self.held_kbps += second.held_kbps.unwrap_or(0.0);
        self.over_kbps += second.over_kbps;
        self.lacks_kbps += second.lacks_kbps;
        let more = |count: &mut u8, yes: bool| *count = count.saturating_add(yes.into());
        more(&mut self.active_s, second.is_active);
        more(&mut self.underserved_s, second.is_underserved);
        more(&mut self.held_s, second.held_kbps.is_some());
    }

    fn slot(&self, seconds: usize) -> Slot {
        let seconds = seconds as f64;
        Slot {
            kbps: self.kbps.map(|sum| mean(sum, seconds)),
            part_kbps: [0, 1].map(|way| mean(self.part_kbps[way], self.parts[way])),
            waits_ms: mean(self.waits_ms * 10.0, self.waits),
            held_kbps: mean(self.held_kbps, self.held_s.into()),
            over_kbps: mean(self.over_kbps, seconds),
            lacks_kbps: mean(self.lacks_kbps, seconds),
            active_s: self.active_s,
            underserved_s: self.underserved_s,
            held_s: self.held_s,
            is_paced: self.is_paced,
        }
    }
}

/// So many slots, the latest of which is being filled.
#[derive(Serialize, Deserialize)]
struct Ring {
    slots: Box<[Slot]>,
    slot_s: usize,
    sum: Sum,
}

impl Ring {
    fn new(slots: usize, slot_s: usize) -> Self {
        Self {
            slots: vec![Slot::default(); slots].into(),
            slot_s,
            sum: Sum::default(),
        }
    }

    /// Time has gone on from one second to another; what was missed between is empty.
    fn advance(&mut self, from_s: u64, to_s: u64) {
        let [from, to] = [from_s, to_s].map(|s| s as usize / self.slot_s);
        if from == to {
            return;
        }
        let sum = std::mem::take(&mut self.sum);
        let count = self.slots.len();
        self.slots[from % count] = sum.slot(self.slot_s);
        for missed in (from + 1..to).rev().take(count) {
            self.slots[missed % count] = Slot::default();
        }
    }

    /// Slots that are over, the oldest first.
    fn past(&self, now_s: u64) -> impl Iterator<Item = &Slot> {
        let (now, count) = (now_s as usize / self.slot_s, self.slots.len());
        (now.saturating_sub(count)..now).map(move |n| &self.slots[n % count])
    }
}

#[derive(Serialize, Deserialize)]
struct Host {
    address: IpAddr,
    group: Option<String>,
    /// when it was there last
    latest_s: u64,
    fine: Ring,
    minutes: Ring,
}

#[derive(Default, Serialize, Deserialize)]
pub struct History {
    hosts: Vec<Host>,
    /// by the kernel's monotonic clock; 0: it has not begun
    began_ns: u64,
    /// since then
    now_s: u64,
    /// hosts that made room for others
    pub made_room: u64,
    /// seconds of hosts for which there was no room
    pub no_room: u64,
    /// whether hosts are held now
    is_paced: bool,
}

/// Of a picture: what each host got, by `step_s`, the oldest first.
#[derive(Serialize)]
pub struct Picture {
    pub step_s: usize,
    pub hosts: Vec<Line>,
}

#[derive(Serialize)]
pub struct Line {
    pub address: IpAddr,
    pub group: Option<String>,
    /// kbit/s down and up, of its parts down and up, and ms that wait in the mesh
    pub points: Vec<[u32; 5]>,
}

/// Of a host, over all that is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Total {
    pub address: String,
    pub group: Option<String>,
    pub active_s: u64,
    pub underserved_s: u64,
    /// that it was held; while nothing is held now, that it would have been when nothing was
    pub held_s: u64,
    pub got_bytes: u64,
    /// of its part, while it was underserved
    pub lacked_bytes: u64,
    /// above that
    pub over_bytes: u64,
    /// while it was there, and while it was held
    pub part_kbps: f64,
    pub held_kbps: f64,
}

/// The answer to "history".
#[derive(Debug, Serialize, Deserialize)]
pub struct Totals {
    /// that are kept
    pub seconds: u64,
    pub made_room: u64,
    pub no_room: u64,
    pub hosts: Vec<Total>,
}

impl History {
    /// What hosts got in the latest second; `is_paced`: they are held, else they would be.
    pub fn remember(&mut self, seconds: Vec<Second>, is_paced: bool, now_ns: u64) {
        self.is_paced = is_paced;
        if self.began_ns == 0 {
            self.began_ns = now_ns;
        }
        let since = Duration::from_nanos(now_ns.saturating_sub(self.began_ns));
        self.add(seconds, since.as_secs());
    }

    /// A second has passed, so many after it began.
    fn add(&mut self, seconds: Vec<Second>, now_s: u64) {
        for host in &mut self.hosts {
            host.fine.advance(self.now_s, now_s);
            host.minutes.advance(self.now_s, now_s);
        }
        self.now_s = now_s;
        let is_paced = self.is_paced;
        for second in seconds {
            // Who is silent takes nobody's place.
            if !second.is_active && self.position(&second).is_none() {
                continue;
            }
            let Some(host) = self.place(&second) else {
                self.no_room += 1;
                continue;
            };
            if second.is_active {
                host.latest_s = now_s;
            }
            host.fine.sum.add(&second, is_paced);
            host.minutes.sum.add(&second, is_paced);
        }
    }

    fn position(&self, second: &Second) -> Option<usize> {
        self.hosts.iter().position(|h| h.address == second.address)
    }

    fn place(&mut self, second: &Second) -> Option<&mut Host> {
        let now_s = self.now_s;
        let at = match self.position(second) {
            Some(at) => at,
            None if self.hosts.len() < HOSTS => self.hosts.len(),
            None => {
                let silent = |(_, host): &(usize, &Host)| host.latest_s;
                let (at, host) = self.hosts.iter().enumerate().min_by_key(silent)?;
                if now_s < host.latest_s + SILENT_S {
                    return None;
                }
                self.made_room += 1;
                self.hosts.swap_remove(at);
                self.hosts.len()
            }
        };
        if at == self.hosts.len() {
            self.hosts.push(Host {
                address: second.address,
                group: None,
                latest_s: now_s,
                fine: Ring::new(FINE, FINE_S),
                minutes: Ring::new(MINUTES, MINUTE_S),
            });
        }
        let host = &mut self.hosts[at];
        host.group.clone_from(&second.group);
        Some(host)
    }

    /// Over the latest 24 hours, or what there is of them.
    pub fn day(&self) -> Picture {
        let known = (self.now_s as usize / MINUTE_S).min(MINUTES);
        self.picture(known.div_ceil(POINTS).max(1), |host| &host.minutes)
    }

    pub fn ten_minutes(&self) -> Picture {
        self.picture(1, |host| &host.fine)
    }

    /// Each point of so many slots.
    fn picture(&self, together: usize, ring: fn(&Host) -> &Ring) -> Picture {
        let line = |host: &Host| {
            let past: Vec<_> = ring(host).past(self.now_s).collect();
            Line {
                address: host.address,
                group: host.group.clone(),
                points: past.rchunks(together).rev().map(point).collect(),
            }
        };
        let slot_s = self.hosts.first().map_or(FINE_S, |host| ring(host).slot_s);
        Picture {
            step_s: slot_s * together,
            hosts: self.hosts.iter().map(line).collect(),
        }
    }

    /// Of all that is kept by the minute, and of the minute that is not over.
    pub fn totals(&self) -> Totals {
        let total = |host: &Host| {
            let open = host.minutes.sum.slot(MINUTE_S);
            let mut total = Total {
                address: host.address.to_string(),
                group: host.group.clone(),
                ..Total::default()
            };
            for slot in host.minutes.past(self.now_s).chain([&open]) {
                total.add(slot, self.is_paced);
            }
            total.part_kbps /= (total.active_s as f64).max(1.0);
            total.held_kbps /= (total.held_s as f64).max(1.0);
            total
        };
        Totals {
            seconds: self.now_s.min((MINUTES * MINUTE_S) as u64),
            made_room: self.made_room,
            no_room: self.no_room,
            hosts: self.hosts.iter().map(total).collect(),
        }
    }
}

impl Total {
    /// Of what it is held to what is of now: that it would have been held to something does not say that it was.
    fn add(&mut self, slot: &Slot, is_paced: bool) {
        let bytes = |kbps: Short| (kbps.value() * 125.0) as u64 * MINUTE_S as u64;
        self.active_s += u64::from(slot.active_s);
        self.underserved_s += u64::from(slot.underserved_s);
        self.got_bytes += bytes(slot.kbps[0]) + bytes(slot.kbps[1]);
        self.lacked_bytes += bytes(slot.lacks_kbps);
        let part = slot.part_kbps.map(Short::value);
        self.part_kbps += part[0].max(part[1]) * f64::from(slot.active_s);
        if slot.is_paced == is_paced {
            self.held_s += u64::from(slot.held_s);
            self.over_bytes += bytes(slot.over_kbps);
            self.held_kbps += slot.held_kbps.value() * f64::from(slot.held_s);
        }
    }
}

fn point(slots: &[&Slot]) -> [u32; 5] {
    let mean = |of: fn(&Slot) -> f64| {
        let sum: f64 = slots.iter().map(|slot| of(slot)).sum();
        (sum / slots.len() as f64).round() as u32
    };
    [
        mean(|slot| slot.kbps[0].value()),
        mean(|slot| slot.kbps[1].value()),
        mean(|slot| slot.part_kbps[0].value()),
        mean(|slot| slot.part_kbps[1].value()),
        mean(|slot| slot.waits_ms.value() / 10.0),
    ]
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
