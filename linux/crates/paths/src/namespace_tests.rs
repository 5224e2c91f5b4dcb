// SPDX-License-Identifier: GPL-2.0-only
//! The collector against this machine's kernel, in a network namespace of the test's own thread.
//! Where no namespace can be had (not root) the tests say so and show nothing.

use crate::collector::Collector;
use crate::mac::Mac;
use crate::routes::Wanted;
use crate::{default_routes, rtnetlink, Interfaces, Place};
use meshpace_netlink::socket::{Family, NetlinkSocket};
use nix::sched::{unshare, CloneFlags};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;

const FAR: Mac = Mac([2, 0, 0, 0, 0, 2]);

/// Runs `test` in a new network namespace, which ends with its thread.
fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let outcome = std::thread::spawn(|| {
        // Affects the calling thread alone.
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!("not run: {error}");
            return;
        }
        test();
    });
    outcome.join().unwrap();
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).status();
    assert!(done.is_ok_and(|status| status.success()), "ip {words}");
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// mesh0 with a neighbour in each family and a network behind it.
fn network() {
    for words in [
        "link add mesh0 type veth peer name far",
        "link set mesh0 up",
        "link set far up",
        "addr add 10.1.0.1/24 dev mesh0",
        "addr add fd00::1/64 dev mesh0 nodad",
        "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev mesh0",
        "neigh add fd00::2 lladdr 02:00:00:00:00:02 dev mesh0",
        "route add 10.9.0.0/24 via 10.1.0.2",
        "route add fd09::/64 via fd00::2",
        "route add 10.8.0.0/24 via inet6 fd00::2 dev mesh0",
    ] {
        ip(words);
    }
}

#[test]
fn what_is_no_wi_fi_is_no_mesh_point() {
    in_namespace(|| assert!(!Interfaces::is_mesh_point(1).unwrap()));
}

/// Else the mesh interface seems to be gone for a second, with all hops, while others come and go; and an ifb that is to be
/// taken away stays.
#[test]
fn a_table_that_changes_while_it_is_read_is_read_again() {
    in_namespace(|| {
        // More than the kernel has ready when the first line is read.
        for n in 0..80 {
            ip(&format!("link add other{n} type ifb"));
        }
        let request = rtnetlink::interfaces_request();
        let read = |times: usize| {
            let mut socket = NetlinkSocket::open(Family::Route).unwrap();
            let mut left = times;
            let (list, whole) = socket.whole(&request, |body| {
                let found = rtnetlink::parse_interface(body)?;
                if found.name == "lo" && left > 0 {
                    left -= 1;
                    ip(&format!("link add late{times}-{left} type ifb"));
                }
                Some(found.name)
            });
            (list, whole, left)
        };
        let (list, whole, left) = read(1);
        whole.unwrap();
        assert!(left == 0 && list.contains(&"late1-0".into()), "{list:?}");
        assert_eq!(list.iter().filter(|name| *name == "lo").count(), 1);
        let (list, whole, _) = read(9);
        assert_eq!(whole.unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(list.contains(&"lo".into()), "as far as it came");
    });
}

#[test]
fn hosts_resolve_on_link_and_behind_routers() {
    in_namespace(|| {
        network();
        let wanted = Arc::new(Wanted::default());
        let behind = [
            ("10.9.0.7", "10.1.0.2"),
            ("fd09::7", "fd00::2"),
            ("10.8.0.7", "fd00::2"),
        ];
        for (host, _) in behind {
            wanted.note(address(host));
        }
        wanted.note(address("192.0.2.1")); // no route
        let mut collector = Collector::open("mesh0", wanted).unwrap();
        let reading = collector.read();
        assert!(reading.troubles.is_empty(), "{:?}", reading.troubles);
        let tables = reading.tables;
        assert!(tables.found);
        for host in ["10.1.0.2", "fd00::2"] {
            assert_eq!(tables.resolve(address(host)), Some((FAR, None)), "{host}");
        }
        for (host, router) in behind {
            let expected = Some((FAR, Some(address(router))));
            assert_eq!(tables.resolve(address(host)), expected, "{host}");
        }
        assert_eq!(tables.resolve(address("192.0.2.1")), None);
        for (host, prefix_length) in [("10.9.0.7", 24), ("fd09::7", 64)] {
            let routed = Place::Routed { prefix_length };
            assert_eq!(tables.place(address(host)), routed, "{host}");
        }
        for host in ["10.1.0.2", "fd00::2"] {
            assert_eq!(tables.place(address(host)), Place::OnLink(FAR), "{host}");
        }
    });
}

/// The kernel gives every neighbour of an interface without ARP the interface's own MAC address.
#[test]
fn nobody_answers_on_an_interface_without_arp() {
    in_namespace(|| {
        network();
        ip("link set mesh0 arp off");
        let probe = UdpSocket::bind("0.0.0.0:0").unwrap();
        for host in ["10.1.0.7:9", "10.1.0.8:9"] {
            probe.send_to(b"", host).unwrap();
        }
        let mut collector = Collector::open("mesh0", Arc::default()).unwrap();
        let tables = collector.read().tables;
        for host in ["10.1.0.7", "10.1.0.8"] {
            assert!(tables.resolve(address(host)).is_some(), "{host}");
            assert_eq!(tables.place(address(host)), Place::Unknown, "{host}");
        }
    });
}

#[test]
fn a_port_of_a_bridge_has_the_neighbours_of_the_bridge() {
    in_namespace(|| {
        for words in [
            "link add far type veth peer name mesh0",
            "link add name br0 type bridge",
            "link set mesh0 master br0",
            "link set mesh0 up",
            "link set far up",
            "link set br0 up",
            "addr add 10.1.0.1/24 dev br0",
            "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev br0",
        ] {
            ip(words);
        }
        for interface in ["br0", "mesh0"] {
            let mut collector = Collector::open(interface, Arc::default()).unwrap();
            let tables = collector.read().tables;
            let resolved = tables.resolve(address("10.1.0.2"));
            assert_eq!(resolved, Some((FAR, None)), "{interface}");
        }
    });
}

#[test]
fn an_interface_that_goes_and_comes_is_found_again() {
    in_namespace(|| {
        let mut collector = Collector::open("mesh0", Arc::default()).unwrap();
        let missing = collector.read();
        assert!(!missing.tables.found);
        let error = missing.troubles[0].to_string();
        assert!(
            error.starts_with("mesh interface mesh0: No such device; "),
            "{error}"
        );
        network();
        assert!(collector
            .read()
            .tables
            .resolve(address("10.1.0.2"))
            .is_some());
        ip("link del mesh0");
        assert!(collector
            .read()
            .tables
            .resolve(address("10.1.0.2"))
            .is_none());
    });
}

/// Where the Internet is: by metric, by both families, and by every next hop.
#[test]
fn default_routes_are_found_in_their_order() {
    in_namespace(|| {
        network();
        for words in [
            "link add wan0 type veth peer name isp",
            "link set wan0 up",
            "link set isp up",
            "addr add 192.0.2.2/24 dev wan0",
            "route add default via 10.1.0.2 metric 200",
            "route add default via 192.0.2.1 metric 100",
            "route add default metric 300 nexthop via 192.0.2.1 nexthop via 10.1.0.2",
            "route add default via 192.0.2.9 table 7",
            "route add unreachable default metric 50",
            "-6 route add default via fd00::2",
        ] {
            ip(words);
        }
        let found = default_routes().unwrap();
        let ways = found
            .iter()
            .map(|route| (route.interface.as_str(), route.gateway));
        let way = |interface, gateway| (interface, Some(address(gateway)));
        let expected = [
            way("wan0", "192.0.2.1"),
            way("mesh0", "10.1.0.2"),
            way("wan0", "192.0.2.1"),
            way("mesh0", "10.1.0.2"),
            way("mesh0", "fd00::2"),
        ];
        assert_eq!(ways.collect::<Vec<_>>(), expected);
    });
}

/// What the gateway watches: that its interface is there, under which index, what it is a port of and
/// which qdisc it has.
#[test]
fn an_interface_is_known_by_its_name_and_by_its_index() {
    in_namespace(|| {
        network();
        let mut interfaces = Interfaces::open().unwrap();
        let first = interfaces.named("mesh0").unwrap().unwrap();
        assert_eq!((first.link_type, first.port_of.as_deref()), (1, None));
        assert_eq!(first.qdisc, "noqueue");
        assert_eq!(interfaces.named("mesh1").unwrap(), None);
        ip("link add br-lan type bridge");
        ip("link set mesh0 master br-lan");
        ip("link set mesh0 name mesh1");
        assert_eq!(interfaces.named("mesh0").unwrap(), None);
        let port = interfaces.numbered(first.index).unwrap().unwrap();
        assert_eq!(
            (port.name.as_str(), port.port_of.as_deref()),
            ("mesh1", Some("br-lan"))
        );
        ip("link del mesh1");
        assert_eq!(interfaces.numbered(first.index).unwrap(), None);
    });
}
