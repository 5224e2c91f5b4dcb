// SPDX-License-Identifier: GPL-2.0-only
//! Hop counts through batman-adv, which exports none: echoes from a thread of its own, and what
//! they found for a minute.

use crate::echo_socket::EchoSocket;
use crate::mac::Mac;
use crate::trace::{Step, Trace};
use std::collections::HashMap;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// A count is taken again after this long.
const FRESH: Duration = Duration::from_secs(60);
/// Earliest time of the next count after one that failed, or when the next hop changed.
const RETRY: Duration = Duration::from_secs(5);
/// A count that could not be confirmed for this long is dropped.
const STALE: Duration = Duration::from_secs(300);
/// More nodes than any mesh has.
const MOST: usize = 4_096;

/// A node whose hops are wanted, and the first step to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Our originator address.
    pub own: Mac,
    pub originator: Mac,
    pub neighbour: Mac,
    /// The hard interface to the neighbour.
    pub interface: u32,
}

struct Count {
    hops: Option<u32>,
    way: Target,
    pending: bool,
    /// When the last count ended, and when the last one succeeded.
    ended: Instant,
    confirmed: Instant,
    failed: bool,
}

type Counts = Arc<Mutex<HashMap<Mac, Count>>>;

pub(crate) struct Tracer {
    counts: Counts,
    /// `None`: echoes cannot be sent.
    queue: Option<Sender<Target>>,
}

impl Tracer {
    /// Says too why it cannot work, if it cannot.
    pub fn start() -> (Tracer, io::Result<()>) {
        let counts = Counts::default();
        let (queue, orders) = channel();
        let shared = counts.clone();
        let started = EchoSocket::open(identifier()).and_then(|_| {
            thread::Builder::new()
                .name("batadv-echo".into())
                .spawn(move || serve(&orders, &shared))
        });
        let queue = started.is_ok().then_some(queue);
        (Tracer { counts, queue }, started.map(drop))
    }

    /// The hops, if counted already; orders a count when there is none or it is old. Never waits.
    pub fn hops(&self, target: &Target) -> Option<u32> {
        let queue = self.queue.as_ref()?;
        order(&mut lock(&self.counts), target, Instant::now(), |target| {
            queue.send(target).is_ok()
        })
    }
}

/// The answer of `Tracer::hops` at time `now`.
fn order(
    counts: &mut HashMap<Mac, Count>,
    target: &Target,
    now: Instant,
    send: impl FnOnce(Target) -> bool,
) -> Option<u32> {
    if !counts.contains_key(&target.originator) {
        if counts.len() >= MOST {
            counts.retain(|_, c| c.pending || now.saturating_duration_since(c.ended) < STALE);
        }
        if counts.len() < MOST {
            let pending = send(*target);
            counts.insert(target.originator, Count::new(*target, pending, now));
        }
        return None;
    }
    let count = counts.get_mut(&target.originator)?;
    let soon = count.failed || count.way != *target;
    let pause = if soon { RETRY } else { FRESH };
    if !count.pending && now.saturating_duration_since(count.ended) >= pause {
        count.way = *target;
        count.pending = send(*target);
    }
    if now.saturating_duration_since(count.confirmed) >= STALE {
        count.hops = None;
    }
    count.hops
}

impl Count {
    fn new(way: Target, pending: bool, now: Instant) -> Count {
        Count {
            hops: None,
            way,
            pending,
            ended: now,
            confirmed: now,
            failed: false,
        }
    }

    fn end(&mut self, hops: Option<u32>, now: Instant) {
        self.pending = false;
        self.ended = now;
        self.failed = hops.is_none();
        if hops.is_some() {
            self.hops = hops;
            self.confirmed = now;
        }
    }
}

fn lock(counts: &Counts) -> MutexGuard<'_, HashMap<Mac, Count>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Other programs of this box (batctl) send echoes too.
fn identifier() -> u8 {
    std::process::id() as u8
}

/// The thread: until the tracer is dropped.
fn serve(orders: &Receiver<Target>, counts: &Counts) {
    let mut run = 0u8;
    while let Ok(first) = orders.recv() {
        let socket = EchoSocket::open(identifier());
        let mut next = Some(first);
        while let Some(target) = next {
            run = run.wrapping_add(1);
            let found = match &socket {
                Ok(socket) => search(socket, &target, run),
                Err(error) => Err(io::Error::from(error.kind())),
            };
            let hops = found.unwrap_or_else(|error| {
                log::debug!("echo to {}: {error}", target.originator);
                None
            });
            log::debug!("batman-adv node {}: hops {hops:?}", target.originator);
            if let Some(count) = lock(counts).get_mut(&target.originator) {
                count.end(hops, Instant::now());
            }
            next = orders.try_recv().ok();
        }
    }
}

fn search(socket: &EchoSocket, target: &Target, run: u8) -> io::Result<Option<u32>> {
    let (mut trace, mut step) = Trace::start();
    loop {
        step = match step {
            // A late answer to an earlier try with this TTL is as good; to another TTL it is not.
            Step::Probe(ttl) => {
                let sequence = u16::from_be_bytes([run, ttl]);
                match socket.ask(target, ttl, sequence)? {
                    Some(answer) => trace.answered(answer),
                    None => trace.silent(),
                }
            }
            Step::Done(hops) => return Ok(Some(hops)),
            Step::Failed => return Ok(None),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Mac = Mac([2, 0, 0, 0, 4, 0]);

    fn target(neighbour: u8) -> Target {
        Target {
            own: Mac([2, 0, 0, 0, 0, 0]),
            originator: FAR,
            neighbour: Mac([2, 0, 0, 0, neighbour, 0]),
            interface: 3,
        }
    }

    /// Asks at a second; gives the hops and whether a count was ordered.
    fn ask(
        counts: &mut HashMap<Mac, Count>,
        start: Instant,
        second: u64,
        neighbour: u8,
    ) -> (Option<u32>, bool) {
        let now = start + Duration::from_secs(second);
        let mut ordered = false;
        let hops = order(counts, &target(neighbour), now, |_| {
            ordered = true;
            true
        });
        (hops, ordered)
    }

    fn end(counts: &mut HashMap<Mac, Count>, start: Instant, second: u64, hops: Option<u32>) {
        let now = start + Duration::from_secs(second);
        counts.get_mut(&FAR).unwrap().end(hops, now);
    }

    #[test]
    fn a_count_lasts_a_minute_and_is_ordered_once() {
        let (mut counts, start) = (HashMap::new(), Instant::now());
        assert_eq!(ask(&mut counts, start, 0, 1), (None, true));
        assert_eq!(ask(&mut counts, start, 1, 1), (None, false), "pending");
        end(&mut counts, start, 1, Some(4));
        assert_eq!(ask(&mut counts, start, 2, 1), (Some(4), false));
        assert_eq!(ask(&mut counts, start, 60, 1), (Some(4), false));
        assert_eq!(ask(&mut counts, start, 61, 1), (Some(4), true));
    }

    #[test]
    fn another_next_hop_is_another_way() {
        let (mut counts, start) = (HashMap::new(), Instant::now());
        ask(&mut counts, start, 0, 1);
        end(&mut counts, start, 0, Some(4));
        assert_eq!(ask(&mut counts, start, 3, 2), (Some(4), false), "flapping");
        assert_eq!(ask(&mut counts, start, 5, 2), (Some(4), true));
        end(&mut counts, start, 6, Some(5));
        assert_eq!(ask(&mut counts, start, 12, 2), (Some(5), false));
    }

    #[test]
    fn a_silent_node_keeps_its_last_count_for_five_minutes() {
        let (mut counts, start) = (HashMap::new(), Instant::now());
        ask(&mut counts, start, 0, 1);
        end(&mut counts, start, 0, Some(4));
        assert_eq!(ask(&mut counts, start, 60, 1), (Some(4), true));
        end(&mut counts, start, 62, None);
        assert_eq!(ask(&mut counts, start, 66, 1), (Some(4), false));
        assert_eq!(ask(&mut counts, start, 67, 1), (Some(4), true));
        end(&mut counts, start, 69, None);
        assert_eq!(ask(&mut counts, start, 300, 1), (None, true));
    }

    #[test]
    fn a_flood_of_originators_is_bounded() {
        let (mut counts, start) = (HashMap::new(), Instant::now());
        for number in 0..10_000u32 {
            let mut target = target(1);
            target.originator.0[2..].copy_from_slice(&number.to_be_bytes());
            order(&mut counts, &target, start, |_| true);
        }
        assert_eq!(counts.len(), MOST);
    }
}
