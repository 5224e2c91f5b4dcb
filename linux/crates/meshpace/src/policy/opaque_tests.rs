// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::kernel::intf::MP_ASKS_PER_S;

const MS: u64 = 1_000_000;
const STEP_MS: u64 = 100;
const A: Address = [1; 16];

/// A gateway whose hosts' datagrams are counted by the step, and whose asks are answered by the test.
#[derive(Default)]
struct Gateway {
    opaque: Opaque,
    aliases: Aliases,
    bytes: HashMap<Address, u64>,
    up: HashMap<Address, u64>,
    now_ns: u64,
}

impl Gateway {
    /// A step in which each of these gets so many bytes; returns who was asked.
    fn step(&mut self, bytes: u64, of: &[Address]) -> Vec<(Address, u16)> {
        self.now_ns += STEP_MS * MS;
        for address in of {
            *self.bytes.entry(*address).or_default() += bytes;
        }
        let key = |address: &Address, direction| mp_host_key {
            address: *address,
            direction,
        };
        let down = self.bytes.iter().map(|(a, bytes)| (key(a, DOWN), *bytes));
        let up = self.up.iter().map(|(a, bytes)| (key(a, UP), *bytes));
        let others: Vec<_> = down.chain(up).collect();
        let known = |address: &Address| {
            let delivered_bytes = *self.bytes.get(address)?;
            Some(Known {
                hops: 1,
                delivered_bytes,
                shared: false,
            })
        };
        let due = self
            .opaque
            .count(&others, &self.aliases, known, self.now_ns);
        due.iter()
            .filter(|host| self.opaque.asks.spend(host, self.now_ns))
            .filter_map(|host| self.opaque.hosts.get_mut(host)?.next(self.now_ns))
            .collect()
    }

    /// As a step, in which one of them sends so many, too.
    fn sends(&mut self, bytes: u64, address: Address, gets: u64) -> Vec<(Address, u16)> {
        *self.up.entry(address).or_default() += bytes;
        self.step(gets, &[address])
    }

    fn answer(&mut self, address: Address, number: u16, rtt_ms: u64) {
        let answer = Answer {
            address,
            number,
            rtt_ns: rtt_ms * MS,
            at_ns: self.now_ns,
        };
        self.opaque.take(&[answer], &self.aliases);
    }

    /// So many steps, each ask answered after so long; returns how many there were.
    fn run(&mut self, steps: usize, bytes: u64, rtt_ms: u64) -> usize {
        let mut count = 0;
        for _ in 0..steps {
            for (address, number) in self.step(bytes, &[A]) {
                self.answer(address, number, rtt_ms);
                count += 1;
            }
        }
        count
    }

    fn held(&self) -> Option<u64> {
        self.opaque.held().next().map(|(member, held)| {
            assert_eq!(member, (A, DOWN));
            held
        })
    }
}

#[test]
fn who_gets_few_is_asked_once() {
    let mut gateway = Gateway::default();
    assert_eq!(gateway.run(100, 500, 5), 1, "for T");
    assert_eq!(gateway.held(), None);
}

/// Else who is held to the little that it gets seems to want no more.
#[test]
fn of_whose_datagrams_some_wait_here_has_more() {
    let mut gateway = Gateway::default();
    gateway.run(5, 500, 5);
    gateway.run(30, 100_000, 100);
    let line = mp_flow_key {
        mesh: A,
        mesh_port: 3,
        ..Default::default()
    };
    let flow = mp_flow_key {
        wired: [9; 16],
        ..line
    };
    for (lines, held) in [
        (vec![], false),
        (vec![flow], false),
        (vec![flow, line], true),
    ] {
        let lines = lines.into_iter().collect();
        gateway.opaque.set_waiting(&lines, &gateway.aliases);
        let mut news = AllNews::new();
        gateway.opaque.tell(&mut news, gateway.now_ns);
        assert_eq!(news[&(A, DOWN)].held, held);
    }
    gateway
        .opaque
        .set_waiting(&HashSet::new(), &gateway.aliases);
    for (seconds, held) in [(2, true), (4, false)] {
        let mut news = AllNews::new();
        let now_ns = gateway.now_ns + seconds * 1000 * MS;
        gateway.opaque.tell(&mut news, now_ns);
        assert_eq!(news[&(A, DOWN)].held, held, "{seconds} s later");
    }
}

#[test]
fn who_fills_the_path_is_held() {
    let mut gateway = Gateway::default();
    gateway.run(5, 500, 5);
    gateway.run(30, 100_000, 5);
    assert_eq!(gateway.held(), None, "nothing waits");
    let mut news = AllNews::new();
    gateway.opaque.tell(&mut news, gateway.now_ns);
    assert!(!news.contains_key(&(A, UP)));
    assert_eq!(news[&(A, DOWN)].flows, 1);
    assert_eq!(news[&(A, DOWN)].wanting_flows, 0);
    gateway.run(30, 100_000, 100);
    let held = gateway.held().expect("a long wait");
    assert!((500_000..1_000_000).contains(&held), "{held}");
    gateway.opaque.tell(&mut news, gateway.now_ns);
    assert_eq!(news[&(A, DOWN)].wanting_flows, 1);
    // Pauses for longer than who is still there.
    gateway.run(60, 0, 5);
    assert_eq!(gateway.held(), None);
}

/// Else of hosts that only send nothing would tell what waits, and who is near would have all of the air.
#[test]
fn who_sends_many_is_asked_and_held_to_nothing() {
    let mut gateway = Gateway::default();
    let mut asked = 0;
    for _ in 0..60 {
        for (address, number) in gateway.sends(100_000, A, 500) {
            gateway.answer(address, number, if asked < 4 { 5 } else { 100 });
            asked += 1;
        }
    }
    assert!((20..30).contains(&asked), "{asked} asks in six seconds");
    assert_eq!(gateway.held(), None);
    let mut news = AllNews::new();
    gateway.opaque.tell(&mut news, gateway.now_ns);
    assert!(!news.contains_key(&(A, DOWN)));
    let up = news[&(A, UP)];
    assert_eq!((up.flows, up.wanting_flows, up.held), (1, 1, false));
    let mut told = Default::default();
    law::queueing_tell(&up.queueing, &mut told);
    assert!(told.heard && told.waits_ns > 50 * MS, "{}", told.waits_ns);
}

/// Else who only floods the Internet would have all of the air; and were it a host for each address, who invents some, too.
#[test]
fn what_is_sent_of_nobody_is_one_hosts() {
    let mut opaque = Opaque::default();
    let mut told = Vec::new();
    for step in 1..=30 {
        opaque.hear_nobody(step * 100_000, step * STEP_MS * MS);
        let mut news = AllNews::new();
        opaque.tell(&mut news, step * STEP_MS * MS);
        told.extend(news);
    }
    assert!((20..30).contains(&told.len()), "{} steps", told.len());
    for (member, news) in &told {
        assert_eq!(*member, (NOBODY, UP));
        assert_eq!((news.flows, news.wanting_flows), (1, 1));
        assert_eq!(news.bytes, 100_000);
    }
    assert!(opaque.hosts.is_empty() && opaque.asked == 0);
}

/// Else whoever invents addresses would have them asked.
#[test]
fn who_has_got_nothing_is_not_asked_for_what_he_sends() {
    let mut gateway = Gateway::default();
    for _ in 0..30 {
        gateway.up.insert(A, gateway.now_ns / 1000);
        assert!(gateway.step(0, &[]).is_empty());
    }
    assert!(gateway.opaque.hosts.is_empty());
}

#[test]
fn an_answer_that_comes_twice_or_late_tells_nothing() {
    let mut gateway = Gateway::default();
    let mut numbers = Vec::new();
    for _ in 0..10 {
        numbers.extend(gateway.step(100_000, &[A]));
    }
    assert!(numbers.len() >= 3, "{numbers:?}");
    let mean_ns = |gateway: &Gateway| gateway.opaque.hosts[&A].state.mean_ns;
    gateway.answer(A, numbers[1].1, 5);
    let once_ns = mean_ns(&gateway);
    assert_ne!(once_ns, 0);
    gateway.answer(A, numbers[1].1, 5);
    gateway.answer(A, numbers[0].1, 900);
    gateway.answer([9; 16], numbers[2].1, 900);
    assert_eq!(mean_ns(&gateway), once_ns);
    gateway.answer(A, numbers[2].1, 9);
    assert_eq!(mean_ns(&gateway), once_ns + once_ns / 5); // of 5, three times, and 9
}

/// Hundreds that fill their paths share the budget, and each is asked in its turn.
#[test]
fn all_together_have_one_budget() {
    let hosts: Vec<Address> = (0..600_u16)
        .map(|n| {
            let mut address = [0; 16];
            address[..2].copy_from_slice(&n.to_be_bytes());
            address
        })
        .collect();
    let mut gateway = Gateway::default();
    let mut asked = HashMap::<Address, u32>::new();
    let steps = 900;
    for _ in 0..steps {
        for (address, _) in gateway.step(100_000, &hosts) {
            *asked.entry(address).or_default() += 1;
        }
    }
    let seconds = steps * STEP_MS / 1000;
    assert_eq!(asked.len(), 600);
    assert!(asked.values().all(|times| *times <= 2));
    assert!(u64::from(asked.values().sum::<u32>()) <= (seconds + 1) * u64::from(MP_ASKS_PER_S));
}

/// Of a host's addresses it is asked by the one that gets something; the others are its own.
#[test]
fn a_host_is_asked_where_it_gets_something() {
    let mut gateway = Gateway::default();
    let other = [2; 16];
    gateway.aliases = Aliases(HashMap::from([(other, A)]));
    gateway.step(500, &[A, other]);
    let asked: Vec<_> = (0..10)
        .flat_map(|_| gateway.step(100_000, &[other]))
        .collect();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|(address, _)| *address == other));
    assert_eq!(gateway.opaque.hosts.len(), 1);
}

/// Else a host that asks from ever new addresses would fill the memory.
#[test]
fn no_more_is_kept_than_the_kernel_has() {
    let mut gateway = Gateway::default();
    for n in 0..1000_u16 {
        let mut other = [7; 16];
        other[..2].copy_from_slice(&n.to_be_bytes());
        gateway.bytes.clear(); // as in an LRU map
        gateway.aliases.0.insert(other, A);
        gateway.step(300, &[other]);
    }
    assert_eq!(gateway.opaque.before.len(), 1);
    assert_eq!(gateway.opaque.hosts[&A].datagrams, [300_000, 0]);
}

/// Else all that hosts ever got is of one step, and each of them fills its path, when asks are switched on.
#[test]
fn what_came_while_nobody_was_asked_is_not_of_the_first_step() {
    let mut gateway = Gateway::default();
    gateway.opaque.end();
    gateway.step(50_000_000, &[A]);
    assert!(gateway.opaque.hosts.is_empty());
    gateway.step(500, &[A]);
    assert_eq!(gateway.opaque.hosts[&A].datagrams, [500, 0]);
}
