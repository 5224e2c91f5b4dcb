// SPDX-License-Identifier: GPL-2.0-only
//! Replays traces of what the daemon holds (core/test/traces/hold): which packets come, and when each has to go.
//! In virtual time, with a kernel that is made up; the format is in core/test/traces/README.md.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::kernel::intf::{self, mp_flow, mp_flow_key};
use crate::kernel::law;
use crate::kernel::packet::{Datagram, Packet, Segment};
use crate::policy::shares::Caps;
use crate::release::nfnetlink::Verdict;
use crate::release::pacer::{Control, Pacer, World};

/// Set, the traces are written again as they come out.
const WRITE: &str = "WRITE_TRACES";
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// The kernel: what it knows of flows, and what it was told of packets.
#[derive(Default)]
struct Kernel {
    flows: BTreeMap<[u8; 40], mp_flow>,
    told: Vec<(u32, &'static str)>,
}

impl World for Kernel {
    fn flow(&self, key: &mp_flow_key) -> Option<mp_flow> {
        self.flows.get(&bytes(key)).copied()
    }

    fn mark(&self, _: &mp_flow_key) -> bool {
        true
    }

    fn decide(&mut self, id: u32, verdict: Verdict) {
        let what = match verdict {
            Verdict::Accept => "leaves",
            Verdict::Drop => "lost",
        };
        self.told.push((id, what));
    }
}

fn bytes(key: &mp_flow_key) -> [u8; 40] {
    intf::Plain::bytes(key).try_into().expect("its size")
}

/// `1:5001-2:80`, a download's.
fn key_of(flow: &str) -> mp_flow_key {
    let (mesh, wired) = flow.split_once('-').expect("HOST:PORT-HOST:PORT");
    let end = |end: &str| -> ([u8; 16], u16) {
        let (host, port) = end.split_once(':').expect("HOST:PORT");
        let mut address = [0; 16];
        address[..12].copy_from_slice(&MAPPED);
        address[12..].copy_from_slice(&[10, 0, 0, host.parse().expect("a host's number")]);
        (address, port.parse::<u16>().expect("a port").to_be())
    };
    let ((mesh, mesh_port), (wired, wired_port)) = (end(mesh), end(wired));
    mp_flow_key {
        mesh,
        wired,
        mesh_port,
        wired_port,
        direction: intf::mp_direction_MP_DOWN,
    }
}

struct Replay {
    pacer: Pacer<Kernel>,
    control: Arc<Control>,
    caps: Caps,
    /// how late the daemon wakes up
    late_ns: u64,
    out: String,
}

impl Replay {
    fn new() -> Self {
        let control = Arc::new(Control::default());
        control.set_law(law::even());
        Self {
            pacer: Pacer::new(Kernel::default(), control.clone(), 1000),
            control,
            caps: Caps::default(),
            late_ns: 0,
            out: String::new(),
        }
    }

    fn write_told(&mut self, now: u64) {
        for (id, what) in std::mem::take(&mut self.pacer.world().told) {
            self.out += &format!("{now} {what} {id}\n");
        }
    }

    /// Wakes up whenever something is due until then, as late as was said.
    fn pass(&mut self, until: u64) {
        while let Some(due) = self.pacer.next_due().map(|due| due + self.late_ns) {
            if due >= until {
                return;
            }
            self.pacer.release_due(due);
            self.write_told(due);
        }
    }

    fn event(&mut self, line: &str) {
        let mut words = line.split(' ');
        let now: u64 = words.next().expect("TIME").parse().expect("ns");
        self.pass(now);
        self.out += &format!("{line}\n");
        let (what, rest): (_, Vec<_>) = (words.next().expect("EVENT"), words.collect());
        let number = |at: usize| -> u64 { rest[at].parse().expect("a number") };
        match what {
            "law" => self.set_law(rest[0]),
            "late" => self.late_ns = number(0),
            "pass" => self.control.pass.store(true, Ordering::Relaxed),
            "flow" => self.flow(rest[0], number(1), now),
            "up" => self.upload(rest[0], number(1)),
            "cap" => self.cap(rest[0], rest[1], number(2)),
            "data" => self.segment(rest[0], number(1) as u32, Some(number(2)), 0, now),
            "ack" => self.segment(rest[0], number(1) as u32, None, number(2) as u32, now),
            "udp" => self.datagram(rest[0], number(1) as u32, number(2), now),
            _ => panic!("{line}: no such event"),
        }
        self.pacer.take_settings(now);
        self.pacer.release_due(now);
        self.write_told(now);
    }

    fn set_law(&self, name: &str) {
        self.control.set_law(match name {
            "even" => law::even(),
            "gap" => law::gap(),
            _ => panic!("{name}: no such law"),
        });
    }

    /// A download is answered, and paced by an interval.
    fn flow(&mut self, flow: &str, interval_ns: u64, now: u64) {
        let entry = self.pacer.world().flows.entry(bytes(&key_of(flow)));
        let entry = entry.or_default();
        entry.at.interval_ns = interval_ns;
        entry.at.unanswered.since_ns = now.max(1);
    }

    /// An upload has sent so many bytes, of which none is acknowledged.
    fn upload(&mut self, flow: &str, sent: u64) {
        let mut key = key_of(flow);
        key.direction = intf::mp_direction_MP_UP;
        let at = &mut self.pacer.world().flows.entry(bytes(&key)).or_default().at;
        (at.progress.seen, at.sent.max_end) = (1, sent as u32);
    }

    fn cap(&mut self, host: &str, way: &str, bytes_per_s: u64) {
        let direction = match way {
            "down" => intf::mp_direction_MP_DOWN,
            "up" => intf::mp_direction_MP_UP,
            _ => panic!("{way}: neither down nor up"),
        };
        let member = (key_of(&format!("{host}:0-0:0")).mesh, direction);
        self.caps.remove(&member);
        if bytes_per_s > 0 {
            self.caps.insert(member, bytes_per_s);
        }
        self.control
            .caps
            .publish(self.caps.clone(), Arc::default(), Arc::default());
    }

    fn segment(&mut self, flow: &str, id: u32, payload: Option<u64>, ack: u32, now: u64) {
        let packet = Packet::Tcp(Segment {
            key: key_of(flow),
            payload_bytes: payload.unwrap_or(0) as u32,
            ack,
            pure_ack: payload.is_none(),
            ecn: false,
        });
        self.pacer.arrive(id, Some(&packet), now);
    }

    fn datagram(&mut self, flow: &str, id: u32, ip_bytes: u64, now: u64) {
        let packet = Packet::Udp(Datagram {
            key: key_of(flow),
            ip_bytes: ip_bytes as u32,
        });
        self.pacer.arrive(id, Some(&packet), now);
    }
}

/// A trace with what comes of it; what stood in it is left out.
fn replay(trace: &str) -> String {
    let mut replay = Replay::new();
    for line in trace.lines() {
        let outcome = [" leaves ", " lost "]
            .iter()
            .any(|word| line.contains(word));
        match line.starts_with('#') || line.is_empty() {
            true => replay.out += &format!("{line}\n"),
            false if outcome => {}
            false => replay.event(line),
        }
    }
    replay.pass(u64::MAX);
    assert_eq!(
        replay.control.waiting.load(Ordering::Relaxed),
        0,
        "all has gone"
    );
    replay.out
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../core/test/traces/hold")
}

/// The first line that differs, for a person.
fn difference(golden: &str, replayed: &str) -> String {
    let lines = golden.lines().zip(replayed.lines()).enumerate();
    let mut differing = lines.filter(|(_, (a, b))| a != b);
    differing.next().map_or_else(
        || "one is longer".into(),
        |(at, (a, b))| format!("line {}: {a:?}, now {b:?}", at + 1),
    )
}

#[test]
fn each_trace_comes_out_as_it_stands() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).expect("traces") {
        let path = entry.expect("a file").path();
        let golden = std::fs::read_to_string(&path).expect("text");
        let replayed = replay(&golden);
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(&path, &replayed).expect("written");
        } else {
            let name = path.display();
            assert!(
                golden == replayed,
                "{name}: {}",
                difference(&golden, &replayed)
            );
        }
        count += 1;
    }
    assert!(count >= 8, "{count} traces");
}

/// Of any input: within a flow nothing overtakes, nothing goes before it comes, and data keeps its interval but for
/// what the clock may be late.
#[test]
fn random_arrivals_keep_order_and_interval() {
    let mut state = 7u64;
    let mut below = |bound: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    for _ in 0..200 {
        let (interval, late) = (1_000_000 + below(20_000_000), below(6_000_000));
        let mut trace = format!("1000000000 late {late}\n1000000000 flow 1:1-1:80 {interval}\n");
        let mut came = vec![0; 41];
        let mut now = 1_000_000_000;
        for (id, at) in came.iter_mut().enumerate().skip(1) {
            now += below(2 * interval);
            *at = now;
            trace += &format!("{now} data 1:1-1:80 {id} 1460\n");
        }
        let replayed = replay(&trace);
        let left: Vec<(u64, usize)> = replayed
            .lines()
            .filter_map(|line| line.split_once(" leaves "))
            .map(|(at, id)| (at.parse().unwrap(), id.parse().unwrap()))
            .collect();
        let lost = replayed.matches(" lost ").count();
        assert_eq!(left.len() + lost, 40);
        assert!(left.iter().all(|(at, id)| *at >= came[*id]));
        assert!(left.windows(2).all(|two| two[0].1 < two[1].1), "overtaken");
        let clock = intf::MP_CLOCK_LATE_NS as u64;
        for several in left.windows(8) {
            let span = several[7].0 - several[0].0;
            assert!(
                span + clock.min(late) + 1 >= 7 * interval,
                "{span} of {interval}"
            );
        }
    }
}
