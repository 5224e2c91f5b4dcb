// SPDX-License-Identifier: GPL-2.0-only
//! The gateway's state as `status` shows it.
use std::collections::{BTreeMap, HashMap};

use super::Gateway;
use crate::hosts::flows::{self, Meter};
use crate::hosts::paths::HostPath;
use crate::kernel::address::address_of;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{self, mp_flow_key};
use crate::kernel::law;
use crate::policy::goodput::GoodputControl;
use crate::policy::served::Service;
use crate::policy::shares::{Caps, Shares};
use crate::show::history::Second;
use crate::show::status::{Flow, Host, Status};
use crate::show::why;

/// Names of the kernel's counters (enum mp_counter).
const COUNTERS: &[(&str, intf::mp_counter)] = &[
    ("tcp", intf::mp_counter_MP_COUNT_TCP),
    ("other", intf::mp_counter_MP_COUNT_OTHER),
    ("fragments", intf::mp_counter_MP_COUNT_FRAGMENTS),
    ("malformed", intf::mp_counter_MP_COUNT_MALFORMED),
    ("hairpin", intf::mp_counter_MP_COUNT_HAIRPIN),
    ("flows_created", intf::mp_counter_MP_COUNT_FLOWS_CREATED),
    ("flows_evicted", intf::mp_counter_MP_COUNT_FLOWS_EVICTED),
    ("paced", intf::mp_counter_MP_COUNT_PACED),
    ("asks", intf::mp_counter_MP_COUNT_ASKS),
    ("options_written", intf::mp_counter_MP_COUNT_OPTIONS),
    ("options_no_room", intf::mp_counter_MP_COUNT_OPTIONS_NO_ROOM),
    ("options_failed", intf::mp_counter_MP_COUNT_OPTIONS_FAILED),
    ("options_signed", intf::mp_counter_MP_COUNT_OPTIONS_SIGNED),
    ("options_blanked", intf::mp_counter_MP_COUNT_OPTIONS_BLANKED),
    ("resets_ignored", intf::mp_counter_MP_COUNT_RESETS_IGNORED),
    ("acks_ignored", intf::mp_counter_MP_COUNT_ACKS_IGNORED),
    ("dupacks_mptcp", intf::mp_counter_MP_COUNT_DUPACKS_MPTCP),
    ("dupacks_dsack", intf::mp_counter_MP_COUNT_DUPACKS_DSACK),
    ("super_packets", intf::mp_counter_MP_COUNT_SUPER_PACKETS),
    ("segments_stored", intf::mp_counter_MP_COUNT_CACHED),
    (
        "segments_not_stored",
        intf::mp_counter_MP_COUNT_CACHE_MISSED,
    ),
    ("dupacks_withheld", intf::mp_counter_MP_COUNT_WITHHELD),
    ("sacks_blanked", intf::mp_counter_MP_COUNT_SACKS_BLANKED),
    ("udp_dropped", intf::mp_counter_MP_COUNT_UDP_DROPPED),
    ("wait_dropped", intf::mp_counter_MP_COUNT_WAIT_DROPPED),
    ("wait_marked", intf::mp_counter_MP_COUNT_WAIT_MARKED),
    ("up_dropped", intf::mp_counter_MP_COUNT_UP_DROPPED),
    ("up_marked", intf::mp_counter_MP_COUNT_UP_MARKED),
    ("unheld", intf::mp_counter_MP_COUNT_UNHELD),
    ("left_ipv4", intf::mp_counter_MP_COUNT_LEFT4),
    ("left_ipv6", intf::mp_counter_MP_COUNT_LEFT6),
    (
        "unanswered_dropped",
        intf::mp_counter_MP_COUNT_UNANSWERED_DROPPED,
    ),
    ("nobodys_bytes", intf::mp_counter_MP_COUNT_NOBODYS_BYTES),
    ("records_lost", intf::mp_counter_MP_COUNT_RECORDS_LOST),
];

fn counters(gateway: &Gateway) -> BTreeMap<String, u64> {
    let mut all: BTreeMap<String, u64> = COUNTERS
        .iter()
        .map(|(name, counter)| ((*name).to_string(), gateway.maps.counter(*counter)))
        .collect();
    let packets = ["tcp", "other", "fragments", "malformed", "hairpin"].map(|name| all[name]);
    let mut add = |name: &str, value: u64| *all.entry(name.into()).or_insert(0) += value;
    add("packets", packets.iter().sum());
    let (holding, policy) = (gateway.holding.counters(), gateway.policy.counters());
    for (name, value) in holding.into_iter().chain(policy) {
        add(name, value);
    }
    add("flows_expired", gateway.hosts.expired());
    add("put_back", gateway.machine.times_put_back());
    let [made_room, no_room] = gateway.files.forgotten();
    add("history_made_room", made_room);
    add("history_no_room", no_room);
    all
}

/// Round trips of a host's flows.
#[derive(Default)]
struct RoundTrips {
    wireless_ms: Vec<f64>,
    wired_ms: Vec<f64>,
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn round_trips(gateway: &Gateway, table: &Table, flows: &[Flow]) -> HashMap<[u8; 16], RoundTrips> {
    let mut all = HashMap::<_, RoundTrips>::new();
    for ((key, _), flow) in table.iter().zip(flows) {
        if flow.rtt_wireless_ms.is_none() && flow.rtt_wired_ms.is_none() {
            continue;
        }
        let host = gateway.policy.shares().aliases().standing(key.mesh);
        let of = all.entry(host).or_default();
        of.wireless_ms.extend(flow.rtt_wireless_ms);
        of.wired_ms.extend(flow.rtt_wired_ms);
    }
    all
}

/// Each host by the address that stands for it, with those that are in use.
fn hosts_of(
    gateway: &Gateway,
    paths: &HashMap<[u8; 16], HostPath>,
    mut round_trips: HashMap<[u8; 16], RoundTrips>,
) -> Vec<Host> {
    let mut hosts = BTreeMap::<[u8; 16], Vec<[u8; 16]>>::new();
    for address in paths.keys() {
        let standing = gateway.policy.shares().aliases().standing(*address);
        hosts.entry(standing).or_default().push(*address);
    }
    let mut row = |(standing, mut addresses): ([u8; 16], Vec<[u8; 16]>)| {
        addresses.sort_unstable();
        // The address that stands for the host may be idle; the way there is of one of which it is known.
        let mut ways = [&standing].into_iter().chain(&addresses);
        let known = ways.find_map(|address| paths.get(address).filter(|path| path.is_known()));
        let path = known.unwrap_or(&paths[&addresses[0]]);
        let RoundTrips {
            wireless_ms,
            wired_ms,
        } = round_trips.remove(&standing).unwrap_or_default();
        let host = Host {
            addresses: addresses
                .iter()
                .map(|a| address_of(a).to_string())
                .collect(),
            group: gateway.hosts.group(&addresses[0]).map(String::from),
            rtt_wireless_ms: median(wireless_ms),
            rtt_wired_ms: median(wired_ms),
            ..host(&standing, path, gateway.policy.shares())
        };
        serve(host, gateway, &gateway.policy.served().service(&standing))
    };
    hosts.into_iter().map(&mut row).collect()
}

fn kbps(bytes_per_s: u64) -> f64 {
    bytes_per_s as f64 * 8.0 / 1e3
}

/// What it got and what bounds that.
fn serve(host: Host, gateway: &Gateway, service: &Service) -> Host {
    let [goodput_down_kbps, goodput_up_kbps] = service.kbps;
    let host = Host {
        goodput_down_kbps,
        goodput_up_kbps,
        waits_ms: service.waits_ms,
        bounded_by: why::NOT_JUDGED.into(),
        ..host
    };
    let config = gateway.task.config();
    if config.fairness().or(config.watched_fairness()).is_none() {
        return host;
    }
    let verdict = service.verdict.unwrap_or_default();
    let [part_down_kbps, part_up_kbps] = parts(service);
    Host {
        part_down_kbps,
        part_up_kbps,
        part: part_down_kbps.or(part_up_kbps).and(why::part(&verdict)),
        bounded_by: service
            .verdict
            .map_or("not active", |v| why::words(v.bound))
            .into(),
        underserved: verdict.underserved,
        why: why::sentence(&verdict, air(gateway), gateway.machine.holds()),
        ..host
    }
}

fn parts(service: &Service) -> [Option<f64>; 2] {
    let parts = service.verdict.unwrap_or_default().part_bytes_per_s;
    parts.map(|part| (part > 0).then(|| kbps(part)))
}

/// What there is of it, where hosts are held to their shares.
fn air(gateway: &Gateway) -> Option<f64> {
    let air = gateway.policy.shares().air().air();
    air.filter(|_| gateway.machine.holds())
}

/// Of each host that is there, what it got in the latest second.
pub fn seconds(gateway: &Gateway) -> Vec<Second> {
    let shares = gateway.policy.shares();
    let held = |address: &[u8; 16]| {
        let of = |caps: &Caps, way| caps.get(&(*address, way)).copied().map(kbps);
        let ways = [intf::mp_direction_MP_DOWN, intf::mp_direction_MP_UP];
        let held = ways.map(|way| of(shares.caps(), way).or(of(shares.would(), way)));
        held.into_iter().flatten().reduce(|down, up| down + up)
    };
    let second = |(address, service): ([u8; 16], Service)| {
        let verdict = service.verdict.unwrap_or_default();
        Second {
            address: address_of(&address),
            group: gateway.hosts.group(&address).map(String::from),
            is_active: service.is_active || service.kbps != [0.0; 2],
            is_underserved: verdict.underserved,
            kbps: service.kbps,
            part_kbps: parts(&service),
            waits_ms: service.waits_ms,
            held_kbps: held(&address),
            over_kbps: kbps(verdict.over_bytes_per_s),
            lacks_kbps: kbps(verdict.lacks_bytes_per_s),
        }
    };
    gateway.policy.served().seen().map(second).collect()
}

fn host(address: &[u8; 16], path: &HostPath, shares: &Shares) -> Host {
    let of = |caps: &Caps, direction| caps.get(&(*address, direction)).copied().map(kbps);
    let alone_kbps = |direction| {
        let alone = shares.air().alone_bytes_per_s(&(*address, direction));
        alone.map(kbps)
    };
    let right = shares.air().right(address);
    let (weight, least) = right.unwrap_or((1.0, 0));
    let active = |direction| shares.is_active(&(*address, direction));
    Host {
        active_down: active(intf::mp_direction_MP_DOWN),
        active_up: active(intf::mp_direction_MP_UP),
        cap_down_kbps: of(shares.caps(), intf::mp_direction_MP_DOWN),
        cap_up_kbps: of(shares.caps(), intf::mp_direction_MP_UP),
        would_cap_down_kbps: of(shares.would(), intf::mp_direction_MP_DOWN),
        would_cap_up_kbps: of(shares.would(), intf::mp_direction_MP_UP),
        alone_down_kbps: alone_kbps(intf::mp_direction_MP_DOWN),
        alone_up_kbps: alone_kbps(intf::mp_direction_MP_UP),
        weight: (weight != 1.0).then_some(weight),
        least_kbps: (least > 0).then(|| kbps(least)),
        address: address_of(address).to_string(),
        hops: path.hops,
        hops_source: path.hops_source.into(),
        mbps: path.mbps,
        mbps_source: path.mbps_source.into(),
        signal_dbm: path.signal_dbm,
        surroundings: path.surroundings.clone(),
        ..Host::default()
    }
}

/// A flow as it is shown.
fn describe(
    (key, flow): &(mp_flow_key, FlowState),
    path: Option<&HostPath>,
    meter: &Meter,
    control: &GoodputControl,
    now_ns: u64,
) -> Flow {
    let down = key.direction == intf::mp_direction_MP_DOWN;
    let mean_ns = flow.mean_rtt_ns;
    let rate = law::rate_bytes_per_s(flow.interval_ns, flow.segment_bytes);
    let seconds = |at: u64| now_ns.saturating_sub(at) as f64 / 1e9;
    Flow {
        mesh: flows::socket_address(&key.mesh, key.mesh_port),
        wired: flows::socket_address(&key.wired, key.wired_port),
        direction: if down { "down" } else { "up" }.into(),
        hops: path.map_or(flow.hops, |path| path.hops),
        hops_source: path.map_or("default", |path| path.hops_source).into(),
        mbps: path.map_or(f64::from(flow.kbps) / 1e3, |path| path.mbps),
        mbps_source: path.map_or("default", |path| path.mbps_source).into(),
        rtt_wireless_ms: (down && mean_ns > 0).then_some(mean_ns as f64 / 1e6),
        rtt_wired_ms: (flow.rtt_wired_us > 0).then_some(f64::from(flow.rtt_wired_us) / 1e3),
        cov: f64::from(flow.cov_q16) / 65536.0,
        interval_us: flow.interval_ns as f64 / 1e3,
        rate_kbps: (flow.interval_ns > 0).then_some(rate as f64 * 8.0 / 1e3),
        goodput_kbps: meter.kbps(key),
        throttled: flow.floor_ns > 0,
        starved: control.starves(key),
        packets: flow.packets,
        bytes: flow.bytes,
        acked_bytes: flow.progress.acked_bytes,
        samples: flow.samples,
        discarded: flow.discarded,
        retransmits: flow.retransmits,
        local_retransmits: flow.local_retransmits,
        age_s: seconds(flow.first_ns),
        idle_s: seconds(flow.last_ns),
    }
}

pub fn status(
    gateway: &Gateway,
    table: &Table,
    paths: &HashMap<[u8; 16], HostPath>,
    now_ns: u64,
) -> Status {
    let flow = |entry| {
        let (key, _): &(mp_flow_key, _) = entry;
        let (meter, control) = (gateway.hosts.meter(), gateway.policy.goodput());
        describe(entry, paths.get(&key.mesh), meter, control, now_ns)
    };
    let flows: Vec<_> = table.iter().map(flow).collect();
    let round_trips = round_trips(gateway, table, &flows);
    let config = gateway.task.config();
    Status {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        mesh: gateway.task.mesh().into(),
        wired: gateway.task.wired().to_vec(),
        law: config.law.to_string(),
        state: gateway.machine.state(),
        release: gateway.machine.release().to_string(),
        attached: gateway.machine.attached(),
        goodput_control: config.controls_goodput(),
        shares: config.fairness().is_some(),
        fairness: config.fairness.to_string(),
        air: air(gateway),
        uptime_s: gateway.started.elapsed().as_secs_f64(),
        flows,
        hosts: hosts_of(gateway, paths, round_trips),
        counters: counters(gateway),
        trying: gateway.tries.running(),
        latest_try: gateway.tries.ended().cloned(),
    }
}
