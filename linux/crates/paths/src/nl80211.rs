// SPDX-License-Identifier: GPL-2.0-only
//! nl80211: mesh paths, proxied hosts, stations, and the radio itself.

use crate::generic;
use crate::mac::Mac;
use crate::wiphy::Wiphy;
use meshpace_netlink::codec::{Attributes, Request};

pub(crate) const FAMILY: &str = "nl80211";

const CMD_GET_INTERFACE: u8 = 5;
const CMD_GET_STATION: u8 = 17;
const CMD_GET_MPATH: u8 = 21;
const CMD_GET_MPP: u8 = 107;

const ATTR_IFINDEX: u16 = 3;
const ATTR_IFNAME: u16 = 4;
const ATTR_IFTYPE: u16 = 5;
const ATTR_MAC: u16 = 6;
const ATTR_STA_INFO: u16 = 21;
const ATTR_MPATH_NEXT_HOP: u16 = 26;
const ATTR_MPATH_INFO: u16 = 27;
const ATTR_WIPHY_FREQ: u16 = 38;
const ATTR_WIPHY_TX_POWER_LEVEL: u16 = 98;

const MPATH_INFO_HOP_COUNT: u16 = 8;

const STA_INFO_PLINK_STATE: u16 = 6;
const STA_INFO_SIGNAL: u16 = 7;
const STA_INFO_TX_BITRATE: u16 = 8;
const STA_INFO_SIGNAL_AVG: u16 = 13;
const STA_INFO_BSS_PARAM: u16 = 15;
const STA_INFO_EXPECTED_THROUGHPUT: u16 = 27;
const STA_BSS_PARAM_SHORT_SLOT_TIME: u16 = 3;
const RATE_INFO_BITRATE: u16 = 1;
const RATE_INFO_BITRATE32: u16 = 5;

const IFTYPE_AD_HOC: u32 = 1;
const IFTYPE_MESH_POINT: u32 = 7;
const PLINK_ESTABLISHED: u8 = 4;

/// A line of the 802.11s path table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub destination: Mac,
    pub next_hop: Mac,
    pub hops: Option<u32>,
}

/// A line of the mesh proxy table: a host that is no mesh node, and the node that it is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proxied {
    pub host: Mac,
    pub node: Mac,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Station {
    pub mac: Mac,
    pub kbps: Option<u32>,
    pub expected_kbps: Option<u32>,
    pub signal_dbm: Option<i32>,
    pub short_slot: Option<bool>,
    /// An 802.11s neighbour with whom frames are exchanged.
    pub peer: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wireless {
    pub name: String,
    pub mesh_point: bool,
    pub ad_hoc: bool,
    /// In 1/100 dBm.
    pub tx_power_mbm: Option<i32>,
    pub frequency_mhz: Option<u32>,
    pub wiphy: Wiphy,
}

pub(crate) fn interface_request(family: u16, interface: u32) -> Request {
    of(generic::get(family, CMD_GET_INTERFACE), interface)
}

pub(crate) fn stations_request(family: u16, interface: u32) -> Request {
    of(generic::dump(family, CMD_GET_STATION), interface)
}

pub(crate) fn paths_request(family: u16, interface: u32) -> Request {
    of(generic::dump(family, CMD_GET_MPATH), interface)
}

pub(crate) fn proxied_request(family: u16, interface: u32) -> Request {
    of(generic::dump(family, CMD_GET_MPP), interface)
}

fn of(request: Request, interface: u32) -> Request {
    request.attribute(ATTR_IFINDEX, &interface.to_ne_bytes())
}

/// A path that was never found has no next hop and is `None`. One that expired since is given: it
/// is the last known way, and the first packet to that host makes the mesh look for it again. The
/// flags do not tell more: a path that another node's search brought is never "resolved".
pub(crate) fn parse_path(body: &[u8]) -> Option<Path> {
    let (mut destination, mut next_hop, mut count) = (None, None, None);
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_MAC => destination = Mac::from_bytes(attribute.value),
            ATTR_MPATH_NEXT_HOP => next_hop = Mac::from_bytes(attribute.value),
            ATTR_MPATH_INFO => {
                let mut infos = attribute.nested();
                count = infos.find(|info| info.kind == MPATH_INFO_HOP_COUNT);
            }
            _ => {}
        }
    }
    let (destination, next_hop) = (destination?, next_hop.filter(|mac| !mac.is_zero())?);
    // Kernels before 5.2 do not tell the count, and a path set by hand has 0.
    let told = count.and_then(|count| count.u8()).filter(|&hops| hops > 0);
    let hops = told
        .map(u32::from)
        .or((destination == next_hop).then_some(1));
    Some(Path {
        destination,
        next_hop,
        hops,
    })
}

pub(crate) fn parse_proxied(body: &[u8]) -> Option<Proxied> {
    let (mut host, mut node) = (None, None);
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_MAC => host = Mac::from_bytes(attribute.value),
            ATTR_MPATH_NEXT_HOP => node = Mac::from_bytes(attribute.value),
            _ => {}
        }
    }
    Some(Proxied {
        host: host?,
        node: node?,
    })
}

pub(crate) fn parse_station(body: &[u8]) -> Option<Station> {
    let mut mac = None;
    let mut info = Attributes(&[]);
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_MAC => mac = Mac::from_bytes(attribute.value),
            ATTR_STA_INFO => info = attribute.nested(),
            _ => {}
        }
    }
    let mut station = Station {
        mac: mac?,
        kbps: None,
        expected_kbps: None,
        signal_dbm: None,
        short_slot: None,
        peer: false,
    };
    let mut last_signal = None;
    for attribute in info {
        match attribute.kind {
            STA_INFO_TX_BITRATE => station.kbps = rate_kbps(attribute.nested()),
            STA_INFO_EXPECTED_THROUGHPUT => {
                station.expected_kbps = attribute.u32().filter(|&kbps| kbps > 0);
            }
            STA_INFO_SIGNAL_AVG => station.signal_dbm = signal(attribute.u8()),
            STA_INFO_SIGNAL => last_signal = signal(attribute.u8()),
            STA_INFO_BSS_PARAM => {
                let mut flags = attribute.nested();
                station.short_slot = Some(flags.any(|f| f.kind == STA_BSS_PARAM_SHORT_SLOT_TIME));
            }
            STA_INFO_PLINK_STATE => station.peer = attribute.u8() == Some(PLINK_ESTABLISHED),
            _ => {}
        }
    }
    station.signal_dbm = station.signal_dbm.or(last_signal);
    Some(station)
}

/// In units of 100 kbit/s on the wire; the 16-bit field is 0 or absent where it would not fit.
fn rate_kbps(rate: Attributes) -> Option<u32> {
    let (mut wide, mut narrow) = (None, None);
    for attribute in rate {
        match attribute.kind {
            RATE_INFO_BITRATE32 => wide = attribute.u32(),
            RATE_INFO_BITRATE => narrow = attribute.u16().map(u32::from),
            _ => {}
        }
    }
    let hundreds = wide.or(narrow).filter(|&rate| rate > 0)?;
    Some(hundreds.saturating_mul(100))
}

/// A signed byte; 0 dBm stands for "nothing heard yet".
fn signal(byte: Option<u8>) -> Option<i32> {
    Some(i32::from(byte? as i8)).filter(|&dbm| dbm != 0)
}

pub(crate) fn parse_wireless(body: &[u8]) -> Option<Wireless> {
    let (mut name, mut kind) = (None, None);
    let (mut tx_power_mbm, mut frequency_mhz) = (None, None);
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_IFNAME => name = Some(attribute.text()),
            ATTR_IFTYPE => kind = attribute.u32(),
            ATTR_WIPHY_FREQ => frequency_mhz = attribute.u32(),
            ATTR_WIPHY_TX_POWER_LEVEL => tx_power_mbm = attribute.u32().map(|mbm| mbm as i32),
            _ => {}
        }
    }
    Some(Wireless {
        name: name?,
        mesh_point: kind? == IFTYPE_MESH_POINT,
        ad_hoc: kind? == IFTYPE_AD_HOC,
        tx_power_mbm,
        frequency_mhz,
        wiphy: Wiphy::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::{attribute, body, torture};

    const MPATH_INFO_FLAGS: u16 = 5;
    const GENL: [u8; 4] = [0, 1, 0, 0];
    const FAR: [u8; 6] = [2, 0, 0, 0, 4, 0];
    const NEAR: [u8; 6] = [2, 0, 0, 0, 1, 0];

    fn path(next_hop: [u8; 6], count: Option<u8>) -> Vec<u8> {
        let mut info = attribute(MPATH_INFO_FLAGS, &[5]);
        if let Some(count) = count {
            info.extend(attribute(MPATH_INFO_HOP_COUNT, &[count]));
        }
        body(
            &GENL,
            &[
                (ATTR_MAC, &FAR),
                (ATTR_MPATH_NEXT_HOP, &next_hop),
                (ATTR_MPATH_INFO | 0x8000, &info),
            ],
        )
    }

    #[test]
    fn a_path_has_hops_and_a_next_hop() {
        let message = path(NEAR, Some(4));
        let parsed = parse_path(&message).unwrap();
        assert_eq!(parsed.destination, Mac(FAR));
        assert_eq!(parsed.next_hop, Mac(NEAR));
        assert_eq!(parsed.hops, Some(4));
        torture(&message, parse_path);
    }

    #[test]
    fn without_a_count_only_a_neighbour_is_one_hop_away() {
        for count in [None, Some(0)] {
            assert_eq!(parse_path(&path(NEAR, count)).unwrap().hops, None);
            assert_eq!(parse_path(&path(FAR, count)).unwrap().hops, Some(1));
        }
    }

    #[test]
    fn a_path_that_is_looked_for_still_is_none() {
        assert_eq!(parse_path(&path([0; 6], Some(0))), None);
        assert_eq!(parse_path(&path([0; 6], None)), None);
    }

    fn station(info: &[u8]) -> Vec<u8> {
        body(&GENL, &[(ATTR_MAC, &NEAR), (ATTR_STA_INFO | 0x8000, info)])
    }

    #[test]
    fn a_station_has_rates_and_signal() {
        let mut rate = attribute(RATE_INFO_BITRATE32, &540u32.to_ne_bytes());
        rate.extend(attribute(RATE_INFO_BITRATE, &540u16.to_ne_bytes()));
        let mut info = attribute(STA_INFO_TX_BITRATE, &rate);
        info.extend(attribute(STA_INFO_SIGNAL, &[-50i8 as u8]));
        info.extend(attribute(STA_INFO_SIGNAL_AVG, &[-47i8 as u8]));
        info.extend(attribute(
            STA_INFO_EXPECTED_THROUGHPUT,
            &26_000u32.to_ne_bytes(),
        ));
        let slot = attribute(STA_BSS_PARAM_SHORT_SLOT_TIME, &[]);
        info.extend(attribute(STA_INFO_BSS_PARAM, &slot));
        info.extend(attribute(STA_INFO_PLINK_STATE, &[PLINK_ESTABLISHED]));
        let message = station(&info);
        assert_eq!(
            parse_station(&message),
            Some(Station {
                mac: Mac(NEAR),
                kbps: Some(54_000),
                expected_kbps: Some(26_000),
                signal_dbm: Some(-47),
                short_slot: Some(true),
                peer: true,
            })
        );
        torture(&message, parse_station);
    }

    #[test]
    fn a_station_that_nothing_was_sent_to_has_no_rate() {
        let rate = attribute(RATE_INFO_BITRATE, &[0, 0]);
        let parsed = parse_station(&station(&attribute(STA_INFO_TX_BITRATE, &rate))).unwrap();
        assert_eq!((parsed.kbps, parsed.signal_dbm), (None, None));
        let silent = parse_station(&station(&[])).unwrap();
        assert_eq!((silent.kbps, silent.short_slot), (None, None));
        let long = parse_station(&station(&attribute(STA_INFO_BSS_PARAM, &[]))).unwrap();
        assert_eq!(long.short_slot, Some(false));
    }

    #[test]
    fn old_drivers_tell_the_rate_in_sixteen_bits() {
        let rate = attribute(RATE_INFO_BITRATE, &110u16.to_ne_bytes());
        let parsed = parse_station(&station(&attribute(STA_INFO_TX_BITRATE, &rate))).unwrap();
        assert_eq!(parsed.kbps, Some(11_000));
    }

    #[test]
    fn a_proxied_host_is_behind_a_node() {
        let message = body(&GENL, &[(ATTR_MAC, &FAR), (ATTR_MPATH_NEXT_HOP, &NEAR)]);
        let parsed = parse_proxied(&message).unwrap();
        assert_eq!((parsed.host, parsed.node), (Mac(FAR), Mac(NEAR)));
        torture(&message, parse_proxied);
    }

    #[test]
    fn a_radio_has_power_and_frequency() {
        let message = body(
            &GENL,
            &[
                (ATTR_IFNAME, b"mesh0\0"),
                (ATTR_IFTYPE, &7u32.to_ne_bytes()),
                (ATTR_WIPHY_FREQ, &2412u32.to_ne_bytes()),
                (ATTR_WIPHY_TX_POWER_LEVEL, &2000u32.to_ne_bytes()),
            ],
        );
        let radio = parse_wireless(&message).unwrap();
        assert!(radio.mesh_point);
        assert_eq!(radio.name, "mesh0");
        assert_eq!(radio.tx_power_mbm, Some(2000));
        assert_eq!(radio.frequency_mhz, Some(2412));
        torture(&message, parse_wireless);
    }
}
