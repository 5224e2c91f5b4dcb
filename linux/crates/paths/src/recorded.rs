// SPDX-License-Identifier: GPL-2.0-only
//! The parsers over what a real kernel said: a gateway whose bridge br0 stands on an 802.11s
//! interface and a wired port, and one on batman-adv; each at the end of a chain of five nodes
//! 02:00:00:00:0N:00.

use crate::mac::Mac;
use crate::{batadv, nl80211, rtnetlink};
use meshpace_netlink::codec::{digest, Messages, Progress};
use meshpace_netlink::testing::torture;

macro_rules! recording {
    ($name:literal) => {
        hex(include_str!(concat!("../recorded/", $name, ".hex")))
    };
}

/// The bytes of a recording; `#` begins a comment line.
fn hex(text: &str) -> Vec<u8> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let digits: Vec<u8> = lines
        .flat_map(str::chars)
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// All lines of a table. The parser also survives each message cut short or damaged.
fn lines<T>(recording: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Vec<T> {
    let sequence = Messages(recording).next().unwrap().sequence;
    let mut list = Vec::new();
    let mut bodies = Vec::new();
    let progress = digest(recording, sequence, true, &mut |body| {
        list.extend(parse(body));
        bodies.push(body.to_vec());
    });
    assert!(!matches!(progress, Progress::Failed(_)));
    torture(&bodies[0], &parse);
    list
}

fn node(number: u8) -> Mac {
    Mac([2, 0, 0, 0, number, 0])
}

#[test]
fn interfaces_stand_on_each_other() {
    let list = lines(&recording!("interfaces"), rtnetlink::parse_interface);
    let named = |name: &str| list.iter().find(|i| i.name == name).unwrap();
    let bridge = named("br0");
    assert_eq!(bridge.kind, "bridge");
    for port in ["mesh0", "lan0"] {
        assert_eq!(named(port).master, Some(bridge.index), "{port}");
    }
    assert_eq!(named("mesh0").kind, "");
    let lan = named("lan0");
    assert_eq!((lan.kind.as_str(), lan.lower), ("veth", None));
}

#[test]
fn neighbours_have_addresses() {
    let list = lines(&recording!("neighbours"), rtnetlink::parse_neighbour);
    let mac = |address: &str| {
        let address = Some(address.parse().unwrap());
        list.iter().find(|n| n.address == address).map(|n| n.mac)
    };
    assert_eq!(mac("10.1.0.5"), Some(node(4)));
    assert_eq!(mac("fd00::5"), Some(node(4)));
}

#[test]
fn the_bridge_knows_the_port_of_a_wired_host() {
    let interfaces = lines(&recording!("interfaces"), rtnetlink::parse_interface);
    let index = |name: &str| interfaces.iter().find(|i| i.name == name).unwrap().index;
    let neighbours = lines(&recording!("neighbours"), rtnetlink::parse_neighbour);
    let wired = Some("10.1.0.200".parse().unwrap());
    let wired = neighbours.iter().find(|n| n.address == wired).unwrap().mac;
    let list = lines(&recording!("forwarding"), rtnetlink::parse_forwarding);
    let entry = list.iter().find(|n| n.mac == wired).unwrap();
    assert_eq!(entry.interface, index("lan0"));
    assert_eq!(entry.bridge, Some(index("br0")));
}

#[test]
fn an_80211s_chain_has_its_hops() {
    let mut list = lines(&recording!("paths"), nl80211::parse_path);
    list.sort_by_key(|path| path.destination);
    let hops: Vec<_> = list
        .iter()
        .map(|path| (path.destination, path.hops))
        .collect();
    let expected: Vec<_> = (1..=4).map(|n| (node(n), Some(u32::from(n)))).collect();
    assert_eq!(hops, expected);
    assert!(list.iter().all(|path| path.next_hop == node(1)));
    let proxied = lines(&recording!("proxied"), nl80211::parse_proxied);
    assert_eq!(proxied[0].node, node(3));
}

#[test]
fn an_80211s_neighbour_is_a_station_that_is_a_peer() {
    let list = lines(&recording!("stations"), nl80211::parse_station);
    let peers: Vec<Mac> = list.iter().filter(|s| s.peer).map(|s| s.mac).collect();
    assert_eq!((peers, list.len()), (vec![node(1)], 2));
    let peer = list.iter().find(|s| s.peer).unwrap();
    assert_eq!(peer.kbps, Some(54_000));
    assert_eq!(peer.expected_kbps, Some(19_593));
    assert_eq!(peer.signal_dbm, Some(-30));
    let radio = &lines(&recording!("wireless"), nl80211::parse_wireless)[0];
    assert!(radio.mesh_point);
    assert_eq!(radio.tx_power_mbm, Some(2000));
    assert_eq!(radio.frequency_mhz, Some(2412));
}

#[test]
fn batman_adv_knows_nodes_and_clients() {
    let mesh = &lines(&recording!("mesh"), batadv::parse_mesh)[0];
    assert_eq!(mesh.own, Some(node(0)));
    assert_eq!(mesh.algorithm, "BATMAN_IV");
    let originators = lines(&recording!("originators"), batadv::parse_originator);
    for number in 1..=4 {
        let mut best = originators
            .iter()
            .filter(|o| o.mac == node(number) && o.best);
        assert_eq!(best.next().unwrap().neighbour, node(1));
        assert!(best.next().is_none());
    }
    let clients = lines(&recording!("clients"), batadv::parse_client);
    assert!(clients
        .iter()
        .any(|client| client.originator == node(4) && client.best));
    let locals = lines(&recording!("locals"), batadv::parse_local);
    assert!(!locals.is_empty());
    assert!(clients
        .iter()
        .all(|client| !(client.best && locals.contains(&client.mac))));
}
