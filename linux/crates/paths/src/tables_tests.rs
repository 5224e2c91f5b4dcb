// SPDX-License-Identifier: GPL-2.0-only
//! Lookups in tables made by hand: nodes 1 to 5 behind each other, node 1 our only neighbour.

use super::*;
use crate::wiphy::{Band, Wiphy};

const HOST: Mac = Mac([6, 0, 0, 0, 0, 1]); // behind node 3
const GUEST: Mac = Mac([6, 0, 0, 0, 0, 2]); // on a wired port of our own

const VLAN: Mac = Mac([6, 0, 0, 0, 0, 3]); // of node 1, on its radio

fn node(number: u8) -> Mac {
    Mac([2, 0, 0, 0, number, 0])
}

pub(crate) fn air() -> Air {
    let station = Station {
        mac: node(1),
        kbps: Some(54_000),
        expected_kbps: Some(19_000),
        signal_dbm: Some(-60),
        short_slot: Some(true),
        peer: true,
    };
    let stranger = Station {
        mac: node(9),
        peer: false,
        ..station
    };
    let path = |number: u8| Path {
        destination: node(number),
        next_hop: node(1),
        hops: (number < 5).then_some(u32::from(number)),
    };
    Air {
        wireless: Wireless {
            name: "mesh0".into(),
            mesh_point: true,
            ad_hoc: false,
            tx_power_mbm: Some(2000),
            frequency_mhz: Some(2412),
            wiphy: Wiphy {
                rts_threshold: Some(u32::MAX),
                bands: vec![Band {
                    number: 0,
                    lowest_kbps: 1_000,
                    ofdm: true,
                }],
            },
        },
        stations: [(node(1), station), (node(9), stranger)].into(),
        paths: (2..=5).map(|number| (node(number), path(number))).collect(),
        proxied: [(HOST, node(3)), (VLAN, node(1))].into(),
    }
}

pub(crate) fn batman() -> Batman {
    let originator = |number: u8, hard_interface| Originator {
        mac: node(number),
        neighbour: node(1),
        hard_interface,
        best: true,
    };
    let client = Client {
        mac: HOST,
        originator: node(3),
        best: true,
    };
    let hard = |name: &str, air| Hard {
        name: name.into(),
        air,
    };
    Batman {
        name: "bat0".into(),
        mesh: Mesh {
            version: "2022.3".into(),
            algorithm: "BATMAN_IV".into(),
            own: Some(node(0)),
        },
        locals: [GUEST].into(),
        clients: [(HOST, client)].into(),
        originators: [
            (node(1), originator(1, 3)),
            (node(3), originator(3, 3)),
            (node(4), originator(4, 4)),
        ]
        .into(),
        hard: [(3, hard("mesh0", Some(air()))), (4, hard("eth1", None))].into(),
    }
}

fn over_80211s() -> Tables {
    Tables {
        found: true,
        beside: [GUEST].into(),
        mesh_points: vec![air()],
        ..Tables::default()
    }
}

fn over_batman() -> Tables {
    Tables {
        found: true,
        batmen: vec![batman()],
        ..Tables::default()
    }
}

fn uncounted(_: &Target) -> Option<u32> {
    None
}

#[test]
fn an_address_resolves_by_neighbours_and_routers() {
    let address = |last| IpAddr::from([10, 1, 0, last]);
    let router = |last| Router {
        address: address(last),
        prefix_length: 24,
    };
    let tables = Tables {
        neighbours: [(address(2), node(2))].into(),
        gateways: [(address(70), router(2)), (address(71), router(3))].into(),
        ..Tables::default()
    };
    assert_eq!(tables.resolve(address(2)), Some((node(2), None)));
    assert_eq!(
        tables.resolve(address(70)),
        Some((node(2), Some(address(2))))
    );
    assert_eq!(
        tables.resolve(address(71)),
        None,
        "its router is no neighbour yet"
    );
    assert_eq!(tables.resolve(address(9)), None);
}

/// Else all that an interface without ARP leads to would be one host, and what is routed none.
#[test]
fn an_address_is_its_neighbour_s_unless_nobody_has_answered_for_it() {
    let address = |last| IpAddr::from([10, 1, 0, last]);
    let router = Router {
        address: address(2),
        prefix_length: 24,
    };
    let tables = Tables {
        neighbours: [(address(2), node(2)), (address(3), node(0))].into(),
        resolved: [address(2)].into(),
        gateways: [(address(70), router)].into(),
        ..Tables::default()
    };
    assert_eq!(tables.place(address(2)), Place::OnLink(node(2)));
    assert_eq!(tables.place(address(3)), Place::Unknown, "without ARP");
    let routed = Place::Routed { prefix_length: 24 };
    assert_eq!(tables.place(address(70)), routed);
    assert_eq!(tables.place(address(9)), Place::Unknown);
}

#[test]
fn an_80211s_node_is_as_far_as_its_path_with_the_rate_of_the_next_hop() {
    let link = over_80211s().link(node(4), None, uncounted).unwrap();
    assert_eq!(link.source, Source::Mesh80211s);
    assert_eq!(
        (link.hops, link.node, link.next_hop),
        (Some(4), node(4), node(1))
    );
    assert_eq!(
        (link.kbps, link.expected_kbps),
        (Some(54_000), Some(19_000))
    );
    assert_eq!(link.first_hop.signal_dbm, Some(-60));
    assert_eq!(link.first_hop.short_slot, Some(true));
}

/// What the law `map` wants of the radio goes with each link over it, whatever the mesh protocol.
#[test]
fn a_link_tells_the_radio_it_goes_over() {
    for tables in [over_80211s(), over_batman()] {
        let link = tables.link(HOST, None, uncounted).unwrap();
        let radio = link.first_hop.radio.unwrap();
        assert_eq!(radio, tables.air().unwrap().radio());
        assert_eq!(radio.interface, "mesh0");
        assert_eq!(
            (radio.tx_power_mbm, radio.frequency_mhz),
            (Some(2000), Some(2412))
        );
        assert_eq!((radio.lowest_kbps, radio.ofdm), (Some(1_000), Some(true)));
        assert_eq!(radio.rts_threshold, Some(u32::MAX));
    }
    let wired = over_batman().link(node(4), None, |_| Some(4)).unwrap();
    assert_eq!(wired.first_hop, FirstHop::default());
}

/// Under a routing daemon the neighbour that the kernel's route names is all that is known.
#[test]
fn a_neighbour_without_a_mesh_protocol_has_signal_and_rate_but_no_hops() {
    let mut bare = air();
    bare.wireless.mesh_point = false;
    bare.paths.clear();
    bare.proxied.clear();
    bare.stations.values_mut().for_each(|s| s.peer = false);
    let mut tables = Tables {
        bare: Some(bare),
        ..Tables::default()
    };
    let link = tables.link(node(9), None, uncounted).unwrap();
    assert_eq!((link.source, link.hops), (Source::WiFi, None));
    assert_eq!(
        (link.kbps, link.first_hop.signal_dbm),
        (Some(54_000), Some(-60))
    );
    assert_eq!(
        tables.link(HOST, None, uncounted),
        None,
        "of two neighbours"
    );
    tables.bare.as_mut().unwrap().stations.remove(&node(9));
    let only = tables.link(HOST, None, uncounted).unwrap();
    assert_eq!(only.first_hop.signal_dbm, Some(-60), "of the only one");
}

#[test]
fn an_80211s_host_behind_a_node_is_as_far_as_the_node() {
    let link = over_80211s().link(HOST, None, uncounted).unwrap();
    assert_eq!((link.hops, link.node), (Some(3), node(3)));
}

#[test]
fn an_80211s_neighbour_needs_no_path_a_stranger_has_none() {
    let tables = over_80211s();
    assert_eq!(tables.link(node(1), None, uncounted).unwrap().hops, Some(1));
    assert_eq!(tables.link(node(9), None, uncounted), None);
    assert_eq!(tables.link(node(5), None, uncounted).unwrap().hops, None);
}

#[test]
fn a_host_of_this_box_is_no_hop_away() {
    for (tables, source) in [
        (over_80211s(), Source::Mesh80211s),
        (over_batman(), Source::BatmanAdv),
    ] {
        let link = tables.link(GUEST, None, uncounted).unwrap();
        assert_eq!((link.hops, link.kbps, link.source), (Some(0), None, source));
    }
    // It roamed here; the mesh has not forgotten it yet.
    let mut tables = over_batman();
    tables.batmen[0].locals.insert(HOST);
    assert_eq!(tables.link(HOST, None, uncounted).unwrap().hops, Some(0));
}

#[test]
fn a_batman_neighbour_is_one_hop_away_without_an_echo() {
    let link = over_batman()
        .link(node(1), None, |_| panic!("echo"))
        .unwrap();
    assert_eq!((link.hops, link.kbps), (Some(1), Some(54_000)));
}

#[test]
fn a_batman_node_is_as_far_as_its_echo_says() {
    let router = Some(IpAddr::from([10, 1, 0, 4]));
    let tables = over_batman();
    let count = |target: &Target| {
        assert_eq!((target.own, target.originator), (node(0), node(3)));
        assert_eq!((target.neighbour, target.interface), (node(1), 3));
        Some(3)
    };
    let link = tables.link(HOST, router, count).unwrap();
    assert_eq!(link.source, Source::BatmanAdv);
    assert_eq!(
        (link.hops, link.node, link.next_hop),
        (Some(3), node(3), node(1))
    );
    assert_eq!((link.kbps, link.via), (Some(54_000), router));
    assert_eq!(tables.link(HOST, None, uncounted).unwrap().hops, None);
}

#[test]
fn a_hard_interface_that_is_no_radio_has_no_rate() {
    let link = over_batman().link(node(4), None, |_| Some(4)).unwrap();
    assert_eq!((link.hops, link.kbps), (Some(4), None));
}

#[test]
fn the_best_line_counts_in_whatever_order() {
    let line = |neighbour, best| Originator {
        mac: node(4),
        neighbour: node(neighbour),
        hard_interface: 3,
        best,
    };
    for lines in [
        vec![line(1, true), line(2, false)],
        vec![line(2, false), line(1, true)],
    ] {
        let kept = best(lines, |o| o.mac, |o| o.best);
        assert_eq!(kept[&node(4)].neighbour, node(1));
    }
}

#[test]
fn a_neighbour_on_a_vlan_has_the_rate_of_its_radio() {
    let mut tables = over_batman();
    let originator = tables.batmen[0].originators.get_mut(&node(1)).unwrap();
    originator.neighbour = VLAN;
    let link = tables.link(node(1), None, |_| Some(1)).unwrap();
    assert_eq!((link.next_hop, link.kbps), (VLAN, Some(54_000)));
}
