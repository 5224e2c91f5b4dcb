// SPDX-License-Identifier: GPL-2.0-only
//! A search for the worst: sequences of data, acknowledgements, orders and silence, of many flows and hosts,
//! that make the gateway send as much of its own accord as they can. Hill climbing in virtual time, from
//! seeds that are always the same. Whatever it finds stays within the budgets, and it does find their edge.
use std::collections::HashMap;
use std::sync::Arc;

use super::{Acked, Cache, Gauge, New, Of, Round, Way};
use crate::hosts::identity::Aliases;
use crate::kernel::flow_state::FlowState;
use crate::kernel::intf::{
    mp_direction_MP_DOWN, mp_direction_MP_UP, mp_flow_key, mp_order, mp_progress, MP_ASKS_PER_S,
    MP_COPIES_SAVED, MP_DATA_PER_COPY, MP_HOST_ASKS_PER_S,
};
use crate::policy::wake_ups::Due;

const S: i64 = 1_000_000_000;
const MEMORY: u64 = 192 << 10;
const HOSTS: u8 = 4;
const PORTS: u16 = 12;
const GENES: usize = 250;
const STEPS: u32 = 80;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

#[derive(Clone, Copy)]
enum Gene {
    /// so many packets, each so far behind the one before (0: next to it)
    Data {
        host: u8,
        port: u16,
        packets: u8,
        jump: u32,
    },
    /// of so many eighths of what is outstanding
    Ack {
        host: u8,
        port: u16,
        eighths: u8,
    },
    /// so many orders, each so much further
    Orders {
        host: u8,
        port: u16,
        orders: u8,
        step: u32,
    },
    Silence {
        ms: u16,
    },
    /// the connection begins anew
    Anew {
        host: u8,
        port: u16,
    },
}

fn gene(chance: &mut Chance) -> Gene {
    let host = chance.below(HOSTS.into()) as u8;
    let port = chance.below(PORTS.into()) as u16;
    match chance.below(12) {
        0..=3 => Gene::Data {
            host,
            port,
            packets: chance.below(40) as u8,
            jump: [1 << 20, 1 << 31, u32::MAX - 300, 0, 0, 0, 0, 0][chance.below(8) as usize],
        },
        4..=6 => Gene::Ack {
            host,
            port,
            eighths: chance.below(9) as u8,
        },
        7..=8 => Gene::Orders {
            host,
            port,
            orders: chance.below(60) as u8,
            step: [0, 1, 100][chance.below(3) as usize],
        },
        9..=10 => Gene::Silence {
            ms: [1, 20, 900, 1000, 1100, 5000][chance.below(6) as usize],
        },
        _ => Gene::Anew { host, port },
    }
}

/// What was sent, by host: when (asks), or after how many data packets (copies).
#[derive(Default)]
struct Sent {
    probes: Vec<(u8, i64)>,
    wake_ups: Vec<(u8, i64)>,
    copies: Vec<(u8, i64)>,
}

/// Frames that it was given to send, by host, the first byte of the destination's address, and port.
#[derive(Default)]
struct Wire {
    frames: Vec<(u8, u16)>,
}

impl Way for Wire {
    fn send(&mut self, frame: &[u8]) -> bool {
        self.frames.push((frame[16], frame[23].into()));
        true
    }

    fn unsent(&mut self, _: &mp_flow_key, _: u32) {}
}

const PAYLOAD: u32 = 100;

/// A data packet over IPv4 without a link-layer header, whose checksum is right.
fn frame(host: u8, port: u16) -> Box<[u8]> {
    let mut frame = vec![0u8; 40 + PAYLOAD as usize];
    (frame[0], frame[3], frame[9], frame[16], frame[32]) = (0x45, 140, 6, host, 0x50);
    frame[23] = port as u8;
    // Of the pseudo-header the host, the protocol and the length are not zero.
    let sum = (u32::from(host) << 8) + 6 + 120 + 0x5000 + u32::from(port);
    frame[36..38].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    frame.into()
}

#[derive(Default, Clone, Copy)]
struct Model {
    next: u32,
    ack: u32,
    acked_bytes: u64,
    data_ns: u64,
}

struct World {
    now_ns: i64,
    next_round_ns: i64,
    cache: Cache<Wire>,
    due: Due,
    flows: HashMap<(u8, u16), Model>,
    data: HashMap<u8, i64>,
    sent: Sent,
}

fn key(host: u8, port: u16, direction: u32) -> mp_flow_key {
    mp_flow_key {
        mesh: [host; 16],
        mesh_port: port,
        direction,
        ..Default::default()
    }
}

/// Of an ACK that tells nothing of what lies higher.
fn order(key: &mp_flow_key, from: u32, to: u32) -> mp_order {
    let mut order = mp_order::default();
    (order.event.key, order.event.seq, order.event.end) = (*key, from, to);
    (order.event.ack, order.sack.ack) = (from, from);
    order
}

impl World {
    fn new() -> Self {
        Self {
            now_ns: 1000 * S,
            next_round_ns: 1001 * S,
            cache: Cache::new(MEMORY, Arc::new(Gauge::default()), Wire::default()),
            due: Due::default(),
            flows: HashMap::new(),
            data: HashMap::new(),
            sent: Sent::default(),
        }
    }

    fn play(genes: &[Gene]) -> Self {
        let mut world = Self::new();
        for gene in genes {
            world.take(*gene);
            assert!(world.cache.segments.bytes() <= MEMORY);
        }
        world.pass(20_000);
        world
    }

    fn take(&mut self, gene: Gene) {
        match gene {
            Gene::Data {
                host,
                port,
                packets,
                jump,
            } => {
                for _ in 0..packets {
                    self.data(host, port, jump);
                }
            }
            Gene::Ack {
                host,
                port,
                eighths,
            } => {
                if let Some(flow) = self.flows.get_mut(&(host, port)) {
                    let bytes = flow.next.wrapping_sub(flow.ack) / 8 * u32::from(eighths);
                    flow.ack = flow.ack.wrapping_add(bytes);
                    flow.acked_bytes += u64::from(bytes);
                }
            }
            Gene::Orders {
                host,
                port,
                orders,
                step,
            } => {
                let flow = self.flows.get(&(host, port)).copied().unwrap_or_default();
                for i in 0..u32::from(orders) {
                    let down = key(host, port, mp_direction_MP_DOWN);
                    let seq = flow.ack.wrapping_add(i * step);
                    self.cache
                        .send_again(&order(&down, seq, seq.wrapping_add(1 + step)));
                    let data = self.data.get(&host).copied().unwrap_or(0);
                    let sent = self.cache.way.frames.drain(..);
                    self.sent.copies.extend(sent.map(|(host, _)| (host, data)));
                }
            }
            Gene::Silence { ms } => self.pass(ms),
            Gene::Anew { host, port } => {
                self.flows.remove(&(host, port));
            }
        }
    }

    fn data(&mut self, host: u8, port: u16, jump: u32) {
        let now_ns = self.now_ns as u64;
        let first = !self.flows.contains_key(&(host, port));
        let flow = self.flows.entry((host, port)).or_insert(Model {
            next: u32::MAX - 1000,
            ack: u32::MAX - 1000,
            ..Default::default()
        });
        let seq = flow.next.wrapping_add(jump);
        let end = seq.wrapping_add(PAYLOAD);
        flow.next = end;
        flow.data_ns = now_ns;
        let new = New {
            seq,
            end,
            ack: flow.ack,
            l3: 0,
            l4: 20,
            frame: frame(host, port),
        };
        let down = key(host, port, mp_direction_MP_DOWN);
        let of = match flow.acked_bytes {
            _ if first => Of::NewFlow,
            0 => Of::Unanswered,
            _ => Of::Answered,
        };
        self.cache.keep(&down, new, of, now_ns);
        *self.data.entry(host).or_insert(0) += 1;
    }

    fn pass(&mut self, ms: u16) {
        let end_ns = self.now_ns + i64::from(ms) * S / 1000;
        while self.next_round_ns <= end_ns {
            self.now_ns = self.next_round_ns;
            self.next_round_ns += S;
            self.round();
        }
        self.now_ns = end_ns;
    }

    fn round(&mut self) {
        let flows = || self.flows.iter();
        let acked = |flow: &Model| Acked {
            ack: flow.ack,
            bytes: flow.acked_bytes,
        };
        let down = |(host, port): &(u8, u16)| key(*host, *port, mp_direction_MP_DOWN);
        let acked = flows().map(|(at, flow)| (down(at), acked(flow))).collect();
        let round = Round {
            acked,
            probes: true,
            aliases: Arc::default(),
        };
        self.cache.round(&round, self.now_ns as u64);
        for (host, port) in self.cache.way.frames.drain(..) {
            assert!(
                self.flows[&(host, port)].acked_bytes > 0,
                "asked, and never answered"
            );
            self.sent.probes.push((host, self.now_ns));
        }
        // Whatever is sent down is sent up as well.
        let table: Vec<_> = flows()
            .map(|((host, port), flow)| {
                let state = FlowState {
                    progress: mp_progress {
                        ack: flow.ack,
                        acked_bytes: flow.acked_bytes,
                        ..Default::default()
                    },
                    data_ns: flow.data_ns,
                    ..Default::default()
                };
                (key(*host, *port, mp_direction_MP_UP), state)
            })
            .collect();
        for (key, _) in self
            .due
            .now(&table, &Aliases::default(), self.now_ns as u64)
        {
            let at = (key.mesh[0], key.mesh_port);
            assert!(
                self.flows[&at].acked_bytes > 0,
                "woken up, and never answered"
            );
            self.sent.wake_ups.push((at.0, self.now_ns));
        }
    }
}

/// Of all spans: the most that was sent, each one costing `each`, beyond what `earned` grew in it.
fn most(earned: impl Iterator<Item = i64>, each: i64) -> i64 {
    let (mut least, mut most) = (i64::MAX, 0);
    for (n, earned) in earned.enumerate() {
        let before = n as i64 * each - earned;
        least = least.min(before);
        most = most.max(before + each - least);
    }
    most
}

/// How much of each budget the worst span takes: 1 is all. Who exceeds one fails.
fn taken(sent: &Sent) -> f64 {
    let mut sum = 0.0;
    let mut take = |sent: &[(u8, i64)], host: Option<u8>, rate: i64, each: i64, limit: i64| {
        let mine = sent
            .iter()
            .filter(|(h, _)| host.is_none_or(|host| *h == host));
        let found = most(mine.map(|(_, at)| at * rate), each);
        assert!(found <= limit, "{found} of {limit} for {host:?}");
        sum += found as f64 / limit as f64 + 0.001 * sent.len() as f64;
    };
    let (of_host, of_all) = (i64::from(MP_HOST_ASKS_PER_S), i64::from(MP_ASKS_PER_S));
    for asks in [&sent.probes, &sent.wake_ups] {
        take(asks, None, of_all, S, of_all * S);
        for host in 0..HOSTS {
            take(asks, Some(host), of_host, S, of_host * S);
        }
    }
    let each = i64::from(MP_DATA_PER_COPY);
    for host in 0..HOSTS {
        take(
            &sent.copies,
            Some(host),
            1,
            each,
            i64::from(MP_COPIES_SAVED) * each,
        );
    }
    sum
}

/// Copies of a host are counted against its own data, and so are all.
fn copies_are_earned(world: &World) {
    for host in 0..HOSTS {
        let copies = world.sent.copies.iter().filter(|(h, _)| *h == host).count();
        let data = world.data.get(&host).copied().unwrap_or(0);
        assert!(copies as i64 <= data / i64::from(MP_DATA_PER_COPY));
    }
}

fn climb(seed: u64) -> World {
    let mut chance = Chance(seed);
    let mut best: Vec<_> = (0..GENES).map(|_| gene(&mut chance)).collect();
    let mut reached = taken(&World::play(&best).sent);
    for _ in 0..STEPS {
        let mut next = best.clone();
        for _ in 0..=chance.below(20) {
            let at = chance.below(GENES as u64) as usize;
            next[at] = if chance.below(3) == 0 {
                next[chance.below(GENES as u64) as usize]
            } else {
                gene(&mut chance)
            };
        }
        let world = World::play(&next);
        copies_are_earned(&world);
        let found = taken(&world.sent);
        if found >= reached {
            (best, reached) = (next, found);
        }
    }
    World::play(&best)
}

#[test]
fn the_worst_that_is_found_stays_within_the_budgets() {
    let all = i64::from(MP_ASKS_PER_S);
    let mut reached = [0; 2];
    for seed in 1..=12 {
        // Hash maps order flows anew in each run, so that now and then three climbs end just below.
        if seed > 3 && reached == [all * S; 2] {
            break;
        }
        let world = climb(seed);
        let Sent {
            probes,
            wake_ups,
            copies,
        } = &world.sent;
        println!(
            "seed {seed}: {} probes, {} wake-ups, {} copies, {} data packets in {} s",
            probes.len(),
            wake_ups.len(),
            copies.len(),
            world.data.values().sum::<i64>(),
            (world.now_ns - 1000 * S) / S,
        );
        for (asks, reached) in [probes, wake_ups].into_iter().zip(&mut reached) {
            *reached = most(asks.iter().map(|(_, at)| at * all), S).max(*reached);
        }
        assert!(copies.len() > 50, "few copies: {}", copies.len());
    }
    // The search is worth something only if it comes near what is allowed.
    assert_eq!(reached, [all * S; 2], "the edge of the budget is not found");
}

/// The law of old, by which an ask was due once a second for a minute and nothing else counted, fails this.
#[test]
fn a_search_without_budgets_would_find_more() {
    let asks = (0..60).flat_map(|second| (0..20).map(move |_| (0u8, (2000 + second) * S)));
    let asks: Vec<_> = asks.collect();
    let of_host = i64::from(MP_HOST_ASKS_PER_S);
    assert!(most(asks.iter().map(|(_, at)| at * of_host), S) > of_host * S);
}
