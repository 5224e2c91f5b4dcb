// SPDX-License-Identifier: GPL-2.0-only
//! Lines of a trace (core/test/traces/README.md). Numbers stand for addresses, and what the options of TCP
//! carry besides what the gateway heeds is blanked: a trace can be given away.
use std::collections::HashMap;
use std::fmt::Write;

use crate::kernel::address::is_of_many_or_link_local;
use crate::kernel::intf::{
    self, mp_flow_key, mp_host, mp_host_key, mp_record, mp_settings, MP_TCP_OPTIONS_MAX,
};
use crate::kernel::law;

const TCP: u8 = 6;
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// Options whose content is nobody's business: timestamps that are not where the law reads them, signatures, keys of MPTCP,
/// cookies.
const BLANKED: [u8; 5] = [8, 19, 29, 30, 34];
/// Two NOPs and the head of timestamps: so the options of most packets begin, and there the law reads them.
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
const TIMESTAMPS_BYTES: usize = 12;

/// The first timestamp of each end of a connection, in the mesh and in the wired network. Those that follow are counted from
/// it, since timestamps themselves tell how long a machine has been up.
type Clocks = [Option<u32>; 2];

/// Which number stands for which address, on each side of the gateway, and from where timestamps are counted.
#[derive(Default)]
pub struct Names {
    mesh: HashMap<[u8; 16], usize>,
    wired: HashMap<[u8; 16], usize>,
    clocks: HashMap<(usize, u16, usize, u16), Clocks>,
}

/// What stands for a timestamp: 1 for the first; 0 where there is none, or its clock has not been heard.
fn relative(clock: Option<u32>, stamp: u32) -> u32 {
    match clock {
        Some(first) if stamp > 0 => stamp.wrapping_sub(first).wrapping_add(1),
        _ => 0,
    }
}

fn stamp_at(options: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, 1, 2, 3].map(|byte| options[at + byte]))
}

fn number(of: &mut HashMap<[u8; 16], usize>, address: &[u8; 16]) -> usize {
    let next = of.len() + 1;
    *of.entry(*address).or_insert(next)
}

fn is_v6(address: &[u8; 16]) -> bool {
    address[..12] != MAPPED
}

fn family(address: &[u8; 16]) -> &'static str {
    if is_v6(address) {
        "6."
    } else {
        ""
    }
}

impl Names {
    pub fn host(&mut self, address: &[u8; 16]) -> String {
        format!("{}{}", family(address), number(&mut self.mesh, address))
    }

    pub fn flow(&mut self, key: &mp_flow_key) -> String {
        format!(
            "{}:{}-{}:{}",
            self.host(&key.mesh),
            u16::from_be(key.mesh_port),
            number(&mut self.wired, &key.wired),
            u16::from_be(key.wired_port),
        )
    }

    /// A packet as it came; None: one that the gateway itself sends, which carries no data, or of no one
    /// host, which a replay would take for a host's.
    pub fn packet(&mut self, packet: &mp_record) -> Option<String> {
        if packet.protocol != TCP && is_of_many_or_link_local(&packet.key.mesh) {
            return None;
        }
        let flow = self.flow(&packet.key);
        if packet.again != 0 {
            let line = format!(
                "again {flow} seq={} len={}",
                packet.seq, packet.payload_bytes
            );
            return (packet.payload_bytes > 0).then_some(line);
        }
        let up = packet.key.direction == intf::mp_direction_MP_UP;
        let mut line = format!("{} {flow}", way(up));
        if packet.protocol == TCP {
            add_tcp(&mut line, packet);
            self.add_options(&mut line, packet, up);
        } else {
            let header = if is_v6(&packet.key.mesh) { 48 } else { 28 };
            add(
                &mut line,
                format_args!(" udp len={}", packet.bytes.saturating_sub(header)),
            );
        }
        for (name, value, default) in [
            ("ttl", u64::from(packet.ttl), 64),
            ("ecn", packet.ecn.into(), 0),
            ("segs", packet.segments.into(), 1),
            ("own", packet.own_ns, 0),
        ] {
            if value != default {
                add(&mut line, format_args!(" {name}={value}"));
            }
        }
        Some(line)
    }

    fn add_options(&mut self, line: &mut String, packet: &mp_record, up: bool) {
        let bytes = packet.option_bytes.min(MP_TCP_OPTIONS_MAX as u8);
        let options = &packet.options[..bytes.into()];
        let timed = options.len() >= TIMESTAMPS_BYTES && options.starts_with(&TIMESTAMPS);
        let rest = &options[if timed { TIMESTAMPS_BYTES } else { 0 }..];
        if timed {
            let (stamp, echo) = self.timestamps(&packet.key, options, up);
            add(line, format_args!(" opt=ts:{stamp}:{echo}"));
        }
        if !rest.is_empty() {
            line.push_str(if timed { "+hex:" } else { " opt=hex:" });
            for byte in blanked(rest) {
                add(line, format_args!("{byte:02x}"));
            }
        }
    }

    /// TSval, of the end that sends, and TSecr, of the other's clock.
    fn timestamps(&mut self, key: &mp_flow_key, options: &[u8], up: bool) -> (u32, u32) {
        let mesh = number(&mut self.mesh, &key.mesh);
        let wired = number(&mut self.wired, &key.wired);
        let (stamp, echo) = (stamp_at(options, 4), stamp_at(options, 8));
        let connection = (mesh, key.mesh_port, wired, key.wired_port);
        let clocks = self.clocks.entry(connection).or_default();
        let [own, other] = if up { [0, 1] } else { [1, 0] };
        let clock = *clocks[own].get_or_insert(stamp);
        (relative(Some(clock), stamp), relative(clocks[other], echo))
    }

    pub fn path(&mut self, address: &[u8; 16], path: &mp_host) -> String {
        format!(
            "host {} hops={} kbps={} outside={}",
            self.host(address),
            path.hops,
            path.kbps,
            path.outside
        )
    }

    pub fn cap(&mut self, host: &mp_host_key, cap: u64, each: u64) -> String {
        let up = host.direction == intf::mp_direction_MP_UP;
        format!("cap {} {} {cap} {each}", self.host(&host.address), way(up))
    }

    /// The address stands for itself, or for the host that goes by another of its addresses.
    pub fn alias(&mut self, address: &[u8; 16], standing: Option<&[u8; 16]>) -> String {
        let of = number(&mut self.mesh, standing.unwrap_or(address));
        format!("alias {} {of}", self.host(address))
    }

    pub fn forget(&mut self, key: &mp_flow_key) -> String {
        let up = key.direction == intf::mp_direction_MP_UP;
        format!("forget {} {}", self.flow(key), way(up))
    }
}

fn way(up: bool) -> &'static str {
    if up {
        "up"
    } else {
        "down"
    }
}

fn add(line: &mut String, text: std::fmt::Arguments) {
    line.write_fmt(text).expect("a string takes everything");
}

fn add_tcp(line: &mut String, packet: &mp_record) {
    let flags: String = "FSRPA"
        .chars()
        .enumerate()
        .filter(|(bit, _)| packet.flags >> bit & 1 == 1)
        .map(|(_, letter)| letter)
        .collect();
    let flags = if flags.is_empty() { "-" } else { &flags };
    add(
        line,
        format_args!(
            " {flags} seq={} ack={} len={} win={}",
            packet.seq, packet.ack, packet.payload_bytes, packet.window
        ),
    );
}

/// The list as its receiver reads it, up to where it breaks; the rest is blanked as a whole.
fn blanked(options: &[u8]) -> Vec<u8> {
    let mut kept = vec![0; options.len()];
    let mut at = 0;
    while at < options.len() && options[at] != 0 {
        let bytes = match (options[at], options.get(at + 1)) {
            (1, _) => 1,
            (_, Some(bytes)) if *bytes >= 2 => usize::from(*bytes),
            _ => break,
        };
        if at + bytes > options.len() {
            break;
        }
        let content = if BLANKED.contains(&options[at]) {
            2
        } else {
            bytes
        };
        kept[at..at + content].copy_from_slice(&options[at..at + content]);
        at += bytes;
    }
    kept
}

/// All settings that a trace has. None of this host's departures is fixed on arrival (`stamp`).
pub fn settings(settings: &mp_settings) -> String {
    format!(
        "set law={} bound={} means={} hops={} kbps={} shared={} unanswered={} pace={} stamp=0 copies={} option={}",
        law::name(&settings.law),
        settings.law.delay_bound_ns,
        settings.law.delay_bound_means,
        settings.default_hops,
        settings.default_kbps,
        settings.shared,
        settings.unanswered_bytes_per_s,
        settings.pace,
        settings.local_retransmission,
        settings.option,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> [u8; 16] {
        let mut address = [0; 16];
        address[..12].copy_from_slice(&MAPPED);
        address[12..].copy_from_slice(&[10, 9, 8, last]);
        address
    }

    fn record() -> mp_record {
        mp_record {
            key: mp_flow_key {
                mesh: address(7),
                wired: address(200),
                mesh_port: 5001u16.to_be(),
                wired_port: 80u16.to_be(),
                direction: intf::mp_direction_MP_DOWN,
            },
            seq: 10,
            ack: 20,
            payload_bytes: 1448,
            bytes: 1500,
            segments: 1,
            window: 500,
            protocol: TCP,
            flags: 0x18,
            ttl: 63,
            ..Default::default()
        }
    }

    #[test]
    fn what_is_of_no_one_host_is_left_out() {
        let mut packet = record();
        packet.protocol = 17;
        assert!(Names::default().packet(&packet).is_some());
        packet.key.mesh[12..].copy_from_slice(&[224, 0, 0, 251]);
        assert!(Names::default().packet(&packet).is_none());
    }

    /// Else whoever reports a fault gives away who talked to whom.
    #[test]
    fn numbers_stand_for_addresses_and_secrets_are_blanked() {
        let mut names = Names::default();
        let mut packet = record();
        let options = [2, 4, 5, 0xb4, 8, 10, 9, 9, 9, 9, 9, 9, 9, 9, 1, 3, 3, 7];
        packet.options[..options.len()].copy_from_slice(&options);
        packet.option_bytes = options.len() as u8;
        assert_eq!(
            names.packet(&packet).unwrap(),
            "down 1:5001-1:80 PA seq=10 ack=20 len=1448 win=500 \
             opt=hex:020405b4080a000000000000000001030307 ttl=63"
        );
        packet.key.mesh = address(8);
        packet.option_bytes = 0;
        packet.key.direction = intf::mp_direction_MP_UP;
        assert_eq!(
            names.packet(&packet).unwrap(),
            "up 2:5001-1:80 PA seq=10 ack=20 len=1448 win=500 ttl=63"
        );
        packet.key.mesh[0] = 0xfd;
        packet.protocol = 17;
        assert_eq!(
            names.packet(&packet).unwrap(),
            "up 6.3:5001-1:80 udp len=1452 ttl=63"
        );
    }

    /// Else a trace tells how long whose machine has been up, or does not replay.
    #[test]
    fn timestamps_are_counted_from_the_first() {
        let mut names = Names::default();
        let mut options_of = |up: bool, stamp: u32, echo: u32, rest: &[u8]| {
            let mut packet = record();
            packet.key.direction = if up {
                intf::mp_direction_MP_UP
            } else {
                packet.key.direction
            };
            let numbers = [stamp.to_be_bytes(), echo.to_be_bytes()].concat();
            let options = [&TIMESTAMPS[..], &numbers, rest].concat();
            packet.options[..options.len()].copy_from_slice(&options);
            packet.option_bytes = options.len() as u8;
            let line = names.packet(&packet).unwrap();
            line.split(" opt=").nth(1).unwrap().replace(" ttl=63", "")
        };
        assert_eq!(options_of(true, 5000, 700, &[]), "ts:1:0");
        assert_eq!(options_of(false, u32::MAX, 5000, &[]), "ts:1:1");
        assert_eq!(options_of(true, 5010, u32::MAX, &[]), "ts:11:1");
        assert_eq!(options_of(false, 3, 5010, &[]), "ts:5:11");
        assert_eq!(
            options_of(false, 4, 0, &[1, 1, 5, 2]),
            "ts:6:0+hex:01010502"
        );
    }

    #[test]
    fn a_broken_list_is_kept_up_to_where_it_breaks() {
        assert_eq!(blanked(&[1, 3, 3, 7, 5, 1, 9, 9]), [1, 3, 3, 7, 0, 0, 0, 0]);
        assert_eq!(blanked(&[1, 8, 40, 7]), [1, 0, 0, 0]);
        assert_eq!(blanked(&[254, 4, 0x6d, 0x70]), [254, 4, 0x6d, 0x70]);
    }
}
