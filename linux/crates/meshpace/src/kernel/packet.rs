// SPDX-License-Identifier: GPL-2.0-only
//! Packets as the daemon sees them: in the netfilter queue, and in the retransmit cache.
use crate::kernel::checksum::sum;
use crate::kernel::intf::{mp_direction_MP_DOWN, mp_flow_key};

/// What pacing has to know of a packet to the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub key: mp_flow_key,
    pub payload_bytes: u32,
    pub ack: u32,
    /// carries nothing but an acknowledgement
    pub pure_ack: bool,
    /// its sender understands marks (RFC 3168); one that has come marked has told it already
    pub ecn: bool,
}

/// UDP to a mesh host, a fragment of it, or TCP that is not read as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// of a later fragment: without ports
    pub key: mp_flow_key,
    pub ip_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    Tcp(Segment),
    Udp(Datagram),
}

const TCP: u8 = 6;
/// Of a TCP header.
const CHECKSUM: usize = 16;
const UDP: u8 = 17;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
pub(super) const TCP_HEADER: usize = 20;
const TCP_FIN_SYN_RST: u8 = 0x07;
const TCP_ACK: u8 = 0x10;

/// Reads an IP packet to the mesh, of which at least the headers are in `ip`; None: it is neither TCP nor UDP, or not
/// understood. As TCP the same packets as in linux/bpf/packet.h; others of that protocol, such as fragments, take air, too,
/// and wait as datagrams do.
pub fn read(ip: &[u8]) -> Option<Packet> {
    let protocol = match ip.first()? >> 4 {
        4 => *ip.get(9)?,
        6 => *ip.get(6)?,
        _ => return None,
    };
    match protocol {
        TCP => read_tcp(ip)
            .map(Packet::Tcp)
            .or_else(|| read_udp(ip).map(Packet::Udp)),
        UDP => read_udp(ip).map(Packet::Udp),
        _ => None,
    }
}

fn read_udp(ip: &[u8]) -> Option<Datagram> {
    let mut key = mp_flow_key {
        direction: mp_direction_MP_DOWN,
        ..Default::default()
    };
    let (header, total) = if ip[0] >> 4 == 4 {
        let total = u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]);
        key.wired = mapped(ip.get(12..16)?);
        key.mesh = mapped(ip.get(16..20)?);
        let later = u16::from_be_bytes([ip[6], ip[7]]) & 0x1fff != 0;
        let header = usize::from(ip[0] & 0xf) * 4;
        if header < IPV4_HEADER {
            return None;
        }
        ((!later).then_some(header), usize::from(total))
    } else {
        let payload: usize = u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]).into();
        key.wired = ip.get(8..24)?.try_into().ok()?;
        key.mesh = ip.get(24..40)?.try_into().ok()?;
        (Some(IPV6_HEADER), IPV6_HEADER + payload)
    };
    if let Some(ports) = header.and_then(|at| ip.get(at..at + 4)) {
        key.wired_port = u16::from_ne_bytes([ports[0], ports[1]]);
        key.mesh_port = u16::from_ne_bytes([ports[2], ports[3]]);
    }
    Some(Datagram {
        key,
        ip_bytes: total as u32,
    })
}

fn read_tcp(ip: &[u8]) -> Option<Segment> {
    let mut key = mp_flow_key {
        direction: mp_direction_MP_DOWN,
        ..Default::default()
    };
    let (header, total) = match ip.first()? >> 4 {
        4 => read_ipv4(ip, &mut key)?,
        6 => read_ipv6(ip, &mut key)?,
        _ => return None,
    };
    let tcp = ip.get(header..header + TCP_HEADER)?;
    key.wired_port = u16::from_ne_bytes([tcp[0], tcp[1]]);
    key.mesh_port = u16::from_ne_bytes([tcp[2], tcp[3]]);
    let tcp_header = usize::from(tcp[12] >> 4) * 4;
    if tcp_header < TCP_HEADER {
        return None;
    }
    let payload = total.checked_sub(header + tcp_header)?;
    let flags = tcp[13] & (TCP_FIN_SYN_RST | TCP_ACK);
    Some(Segment {
        key,
        payload_bytes: payload as u32,
        ack: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
        pure_ack: payload == 0 && flags == TCP_ACK,
        ecn: ecn(ip) != 0,
    })
}

/// The ECN bits of an IP header that is whole.
fn ecn(ip: &[u8]) -> u8 {
    match ip[0] >> 4 {
        4 => ip[1] & 3,
        _ => ip[1] >> 4 & 3,
    }
}

fn mapped(ipv4: &[u8]) -> [u8; 16] {
    let mut address = [0; 16];
    address[10..12].fill(0xff);
    address[12..].copy_from_slice(ipv4);
    address
}

/// Lengths of the header and of the packet.
fn read_ipv4(ip: &[u8], key: &mut mp_flow_key) -> Option<(usize, usize)> {
    let header = usize::from(ip[0] & 0xf) * 4;
    let fragment = u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x3fff;
    if header < IPV4_HEADER || fragment != 0 || *ip.get(9)? != TCP {
        return None;
    }
    key.wired = mapped(ip.get(12..16)?);
    key.mesh = mapped(ip.get(16..20)?);
    Some((header, u16::from_be_bytes([ip[2], ip[3]]).into()))
}

fn read_ipv6(ip: &[u8], key: &mut mp_flow_key) -> Option<(usize, usize)> {
    if *ip.get(6)? != TCP {
        return None;
    }
    key.wired.copy_from_slice(ip.get(8..24)?);
    key.mesh.copy_from_slice(ip.get(24..40)?);
    let payload: usize = u16::from_be_bytes([ip[4], ip[5]]).into();
    Some((IPV6_HEADER, IPV6_HEADER + payload))
}

/// Makes the TCP checksum of a copied frame whole. A copy taken before the hardware would have
/// filled it in holds the pseudo-header's sum alone. Any other checksum that does not fit was wrong
/// on the wire and must stay so: false, the frame is not to be used.
pub fn complete_checksum(frame: &mut [u8], l3: usize, l4: usize) -> bool {
    let Some((end, pseudo)) = segment(frame, l3, l4) else {
        return false;
    };
    if sum(&frame[l4..end], pseudo) == 0xffff {
        return true;
    }
    let there = &frame[l4 + CHECKSUM..l4 + CHECKSUM + 2];
    if u32::from(u16::from_be_bytes([there[0], there[1]])) != pseudo {
        return false;
    }
    write_checksum(frame, l3, l4);
    true
}

/// Where a segment ends, and the sum of its pseudo-header; None where it is not all there.
pub(super) fn segment(frame: &[u8], l3: usize, l4: usize) -> Option<(usize, u32)> {
    let end = ip_end(frame, l3)?;
    if l4 + TCP_HEADER > end || end > frame.len() {
        return None;
    }
    let addresses = if frame[l3] >> 4 == 4 {
        l3 + 12..l3 + 20
    } else {
        l3 + 8..l3 + 40
    };
    Some((
        end,
        sum(&frame[addresses], u32::from(TCP) + (end - l4) as u32),
    ))
}

/// Writes the TCP checksum of a segment that is all there.
pub(super) fn write_checksum(frame: &mut [u8], l3: usize, l4: usize) {
    let Some((end, pseudo)) = segment(frame, l3, l4) else {
        return;
    };
    let at = l4 + CHECKSUM;
    frame[at..at + 2].fill(0);
    let whole = !(sum(&frame[l4..end], pseudo) as u16);
    frame[at..at + 2].copy_from_slice(&whole.to_be_bytes());
}

/// Where the IP packet at `l3` ends in the frame.
fn ip_end(frame: &[u8], l3: usize) -> Option<usize> {
    let ip = frame.get(l3..l3 + IPV4_HEADER)?;
    match ip[0] >> 4 {
        4 => Some(l3 + usize::from(u16::from_be_bytes([ip[2], ip[3]]))),
        6 => {
            frame.get(l3..l3 + IPV6_HEADER)?;
            Some(l3 + IPV6_HEADER + usize::from(u16::from_be_bytes([ip[4], ip[5]])))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::timestamp;

    /// 192.0.2.1:80 -> 10.1.0.2:4096, 5 bytes of payload, checksum 0.
    fn packet() -> Vec<u8> {
        let mut ip = vec![
            0x45, 0, 0, 45, 0, 1, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 10, 1, 0, 2,
        ];
        ip.extend([
            0, 80, 16, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0,
        ]);
        ip.extend(b"hello");
        ip
    }

    #[test]
    fn a_segment_is_read() {
        let Some(Packet::Tcp(segment)) = read(&packet()) else {
            panic!("no segment");
        };
        assert_eq!((segment.payload_bytes, segment.ack), (5, 2));
        assert!(!segment.pure_ack && !segment.ecn);
        for (tos, capable) in [(1, true), (2, true), (3, true), (0xfc, false)] {
            let mut marked = packet();
            marked[1] = tos;
            assert!(matches!(read(&marked), Some(Packet::Tcp(one)) if one.ecn == capable));
        }
        assert_eq!(segment.key.mesh[12..], [10, 1, 0, 2]);
        assert_eq!(segment.key.mesh_port.to_ne_bytes(), [16, 0]);
        assert_eq!(segment.key.wired_port.to_ne_bytes(), [0, 80]);
        let mut ack = packet();
        ack[3] = 40;
        assert!(matches!(read(&ack), Some(Packet::Tcp(one)) if one.pure_ack));
        ack[33] |= 1;
        assert!(
            matches!(read(&ack), Some(Packet::Tcp(one)) if !one.pure_ack),
            "a FIN"
        );
    }

    /// Else a host's UDP is not paced; its later fragments have no ports, but its address.
    #[test]
    fn udp_and_its_fragments_are_read() {
        for (fragment, port) in [([0, 0], [16, 0]), ([0x20, 0], [16, 0]), ([0, 185], [0, 0])] {
            let mut udp = packet();
            udp[6..8].copy_from_slice(&fragment);
            udp[9] = UDP;
            let Some(Packet::Udp(datagram)) = read(&udp) else {
                panic!("no UDP");
            };
            assert_eq!(datagram.key.mesh[12..], [10, 1, 0, 2]);
            assert_eq!(datagram.key.wired[12..], [192, 0, 2, 1]);
            assert_eq!(datagram.key.mesh_port.to_ne_bytes(), port);
            assert_eq!(datagram.ip_bytes, 45);
        }
    }

    /// Else a host gets beyond its part what is sent to it so.
    #[test]
    fn what_is_not_read_as_tcp_waits_as_a_datagram() {
        let broken = |at: usize, value: u8| {
            let mut packet = packet();
            packet[at] = value;
            read(&packet)
        };
        for (at, value, what) in [
            (3, 39, "IP length below its headers"),
            (6, 0x20, "a first fragment"),
            (7, 185, "a later fragment"),
            (32, 0x40, "TCP header of 16 bytes"),
        ] {
            let Some(Packet::Udp(datagram)) = broken(at, value) else {
                panic!("{what}");
            };
            assert_eq!(datagram.key.mesh[12..], [10, 1, 0, 2]);
        }
        assert!(matches!(read(&packet()[..39]), Some(Packet::Udp(_))));
        assert_eq!(broken(0, 0x44), None, "IP header of 16 bytes");
        assert_eq!(broken(9, 1), None, "ICMP");
        for length in 0..20 {
            assert_eq!(read(&packet()[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut state = 1u64;
        for _ in 0..100_000 {
            let mut bytes = [0u8; 64];
            for byte in &mut bytes {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                *byte = (state >> 56) as u8;
            }
            bytes[0] = if state & 1 == 0 { 0x45 } else { 0x60 };
            let length = (state >> 20) as usize % 65;
            read(&bytes[..length]);
            let l3 = (state >> 8) as usize % 40;
            complete_checksum(&mut bytes[..length], l3, 20);
            timestamp::value(&bytes[..length], l3, 20);
            timestamp::remove(&mut bytes[..length], l3, 20);
        }
    }

    #[test]
    fn a_partial_checksum_is_completed_a_wrong_one_is_not() {
        let mut whole = packet();
        whole[36..38].fill(0);
        let pseudo = sum(&whole[12..20], 6 + 25) as u16;
        whole[36..38].copy_from_slice(&pseudo.to_be_bytes());
        assert!(complete_checksum(&mut whole, 0, 20));
        assert_eq!(sum(&whole[20..], sum(&whole[12..20], 6 + 25)), 0xffff);
        let again = whole.clone();
        assert!(complete_checksum(&mut whole, 0, 20));
        assert_eq!(whole, again, "a whole checksum stays");
        whole[44] ^= 1;
        let wrong = whole.clone();
        assert!(!complete_checksum(&mut whole, 0, 20));
        assert_eq!(whole, wrong, "a wrong checksum stays");
    }
}
