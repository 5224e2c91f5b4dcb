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

/// Options whose content is nobody's business: timestamps, signatures, keys of MPTCP, cookies.
const BLANKED: [u8; 5] = [8, 19, 29, 30, 34];
/// Two NOPs and a timestamp, the options that most packets have.
const TIMESTAMP: [u8; 4] = [1, 1, 8, 10];

/// Which number stands for which address, on each side of the gateway.
#[derive(Default)]
pub struct Names {
    mesh: HashMap<[u8; 16], usize>,
    wired: HashMap<[u8; 16], usize>,
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
    let options = &packet.options[..packet.option_bytes.min(MP_TCP_OPTIONS_MAX as u8).into()];
    if options.len() == 12 && options[..4] == TIMESTAMP {
        line.push_str(" opt=ts");
    } else if !options.is_empty() {
        line.push_str(" opt=hex:");
        for byte in blanked(options) {
            add(line, format_args!("{byte:02x}"));
        }
    }
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

/// All settings that a trace has.
pub fn settings(settings: &mp_settings) -> String {
    format!(
        "set law={} bound={} hops={} kbps={} active={} shared={} unanswered={} pace={} stamp={} copies={} option={}",
        law::name(&settings.law),
        settings.law.delay_bound_ns,
        settings.default_hops,
        settings.default_kbps,
        settings.active_hosts,
        settings.shared,
        settings.unanswered_bytes_per_s,
        settings.pace,
        settings.stamp,
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

    #[test]
    fn a_broken_list_is_kept_up_to_where_it_breaks() {
        assert_eq!(blanked(&[1, 3, 3, 7, 5, 1, 9, 9]), [1, 3, 3, 7, 0, 0, 0, 0]);
        assert_eq!(blanked(&[1, 8, 40, 7]), [1, 0, 0, 0]);
        assert_eq!(blanked(&[254, 4, 0x6d, 0x70]), [254, 4, 0x6d, 0x70]);
    }
}
