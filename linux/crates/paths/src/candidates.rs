// SPDX-License-Identifier: GPL-2.0-only
//! Which interfaces of this box may lead into a mesh, and what tells that: for who sets a gateway up, and has not named it.

use crate::interfaces::Interfaces;
use crate::learnt::{parse_learnt, Learnt};
use crate::nl80211::{self, Wireless};
use crate::rtnetlink::{self, Family, Interface};
use crate::{generic, Error, Result};
use meshpace_netlink::socket::{Family as Netlink, NetlinkSocket};
use std::collections::HashMap;

/// Kinds of links that carry packets over other links.
const TUNNELS: [&str; 14] = [
    "wireguard",
    "tun",
    "gre",
    "gretap",
    "ip6gre",
    "ip6gretap",
    "ipip",
    "sit",
    "ip6tnl",
    "vxlan",
    "geneve",
    "vti",
    "vti6",
    "xfrm",
];
/// What the gateway makes, and what leads nowhere.
const NEVER: [&str; 2] = ["ifb", "dummy"];

/// An interface by which IP packets leave, and what speaks for its leading into a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    pub evidence: Evidence,
    /// What it was told by, in words.
    pub why: String,
}

/// From the strongest to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// A mesh protocol runs there: batman-adv, 802.11s, a routing daemon's routes.
    Mesh,
    /// Ad hoc Wi-Fi, of which nothing but meshes are made.
    AdHoc,
    /// A mesh may be at its other end.
    Tunnel,
    Nothing,
}

/// Looks at all interfaces; the most likely ones first.
///
/// # Errors
/// The kernel does not tell its interfaces. What radios and routes are not told of counts as absent.
pub fn candidates() -> Result<Vec<Candidate>> {
    let error = |cause| Error::new("interfaces", cause);
    let mut socket = NetlinkSocket::open(Netlink::Route).map_err(error)?;
    let mut all: Vec<Interface> = Vec::new();
    let interfaces = rtnetlink::interfaces_request();
    let answer = socket.exchange(interfaces, |body| {
        all.extend(rtnetlink::parse_interface(body))
    });
    answer.map_err(error)?;
    let mut learnt: Vec<Learnt> = Vec::new();
    for family in [Family::Ipv4, Family::Ipv6] {
        let routes = rtnetlink::default_routes_request(family);
        let _ = socket.exchange(routes, |body| learnt.extend(parse_learnt(body)));
    }
    Ok(judge(&all, &radios(&all), &learnt))
}

/// The Wi-Fi interfaces among them.
fn radios(all: &[Interface]) -> HashMap<u32, Wireless> {
    let mut found = HashMap::new();
    let Ok(mut socket) = NetlinkSocket::open(Netlink::Generic) else {
        return found;
    };
    let mut number = None;
    let family = generic::family_request(nl80211::FAMILY);
    let _ = socket.exchange(family, |body| number = generic::parse_family(body));
    let Some(number) = number else {
        return found; // no Wi-Fi on this box
    };
    for interface in all {
        let request = nl80211::interface_request(number, interface.index);
        let mut one = None;
        let answer = socket.exchange(request, |body| one = nl80211::parse_wireless(body));
        if let (Ok(()), Some(wireless)) = (answer, one) {
            found.insert(interface.index, wireless);
        }
    }
    found
}

/// By which interfaces IP packets leave: neither ports nor loopback.
fn carries_ip(interface: &Interface, all: &[Interface]) -> bool {
    let master = interface
        .master
        .and_then(|index| all.iter().find(|i| i.index == index));
    interface.link_type != libc::ARPHRD_LOOPBACK
        && !NEVER.contains(&interface.kind.as_str())
        && master.is_none_or(|master| master.kind == "vrf")
}

/// What tells of a mesh on an interface itself.
fn told_by(
    interface: &Interface,
    radios: &HashMap<u32, Wireless>,
    learnt: &[Learnt],
) -> Option<(Evidence, String)> {
    let name = &interface.name;
    let radio = radios.get(&interface.index);
    if radio.is_some_and(|radio| radio.mesh_point) {
        return Some((Evidence::Mesh, format!("{name} is an 802.11s mesh point")));
    }
    let routes = learnt
        .iter()
        .filter(|route| route.interface == interface.index);
    let named = routes.clone().find_map(|route| route.mesh_daemon());
    if let Some(daemon) = named {
        return Some((Evidence::Mesh, format!("{daemon} has routes on {name}")));
    }
    // OSPF and BGP have routes on cables; on Wi-Fi they are a mesh's.
    if let (Some(_), Some(route)) = (radio, routes.clone().next()) {
        let protocol = route.protocol;
        return Some((
            Evidence::Mesh,
            format!("a routing daemon (protocol {protocol}) has routes on {name}, which is Wi-Fi"),
        ));
    }
    if radio.is_some_and(|radio| radio.ad_hoc) {
        return Some((Evidence::AdHoc, format!("{name} is ad hoc Wi-Fi")));
    }
    TUNNELS.contains(&interface.kind.as_str()).then(|| {
        let kind = &interface.kind;
        (
            Evidence::Tunnel,
            format!("{name} is a tunnel ({kind}); a mesh may be behind it"),
        )
    })
}

fn judge(all: &[Interface], radios: &HashMap<u32, Wireless>, learnt: &[Learnt]) -> Vec<Candidate> {
    let map: Interfaces = all.iter().cloned().collect();
    let candidate = |top: &Interface| {
        let below = map.below(top.index);
        let batman = below.batman.first().map(|index| {
            let ports: Vec<_> = map
                .ports(*index)
                .into_iter()
                .map(|port| map.name(port).to_owned())
                .collect();
            let over = if ports.is_empty() {
                "no interface yet".into()
            } else {
                ports.join(", ")
            };
            (
                Evidence::Mesh,
                format!("{} is batman-adv over {over}", map.name(*index)),
            )
        });
        let own = told_by(top, radios, learnt);
        let of = |index: &u32| all.iter().find(|i| i.index == *index);
        let leaves = below.leaves.iter().filter_map(of);
        let leaf = leaves
            .filter_map(|leaf| told_by(leaf, radios, learnt))
            .min();
        let told = [batman, own, leaf].into_iter().flatten().min();
        let (evidence, why) = told.unwrap_or((
            Evidence::Nothing,
            format!("nothing tells of a mesh on {}", top.name),
        ));
        let through = match top.kind.as_str() {
            "bridge" if evidence != Evidence::Nothing => format!("{}, a bridge over it", top.name),
            "vlan" | "macvlan" if evidence != Evidence::Nothing => {
                format!("{}, a {} over it", top.name, top.kind)
            }
            _ => String::new(),
        };
        Candidate {
            name: top.name.clone(),
            evidence,
            why: match through.as_str() {
                "" => why,
                through => format!("{why}; IP packets leave by {through}"),
            },
        }
    };
    let tops = all.iter().filter(|interface| carries_ip(interface, all));
    let mut list: Vec<_> = tops.map(candidate).collect();
    list.sort_by(|a, b| (a.evidence, &a.name).cmp(&(b.evidence, &b.name)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interfaces::{interface, port};
    use crate::wiphy::Wiphy;

    fn radio(mesh_point: bool, ad_hoc: bool) -> Wireless {
        Wireless {
            name: String::new(),
            mesh_point,
            ad_hoc,
            tx_power_mbm: None,
            frequency_mhz: None,
            wiphy: Wiphy::default(),
        }
    }

    fn route(interface: u32, protocol: u8) -> Learnt {
        Learnt {
            interface,
            protocol,
        }
    }

    fn first(list: &[Candidate]) -> (&str, Evidence) {
        (&list[0].name, list[0].evidence)
    }

    /// A router as OpenWrt makes one: the LAN's bridge has bat0 as its port.
    #[test]
    fn a_bridge_over_batman_is_the_one_by_which_packets_leave() {
        let lo = Interface {
            link_type: libc::ARPHRD_LOOPBACK,
            ..interface(1, "lo", "")
        };
        let all = [
            lo,
            interface(2, "eth0", ""),
            interface(10, "br-lan", "bridge"),
            port(11, "eth1", "", 10),
            port(12, "bat0", "batadv", 10),
            port(13, "wlan0", "", 12),
            interface(14, "mph12", "ifb"),
        ];
        let radios = [(13, radio(true, false))].into();
        let list = judge(&all, &radios, &[]);
        assert_eq!(first(&list), ("br-lan", Evidence::Mesh));
        assert_eq!(
            list[0].why,
            "bat0 is batman-adv over wlan0; IP packets leave by br-lan, a bridge over it"
        );
        let names: Vec<_> = list.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            ["br-lan", "eth0"],
            "neither ports nor lo nor our own"
        );
    }

    #[test]
    fn mesh_points_ad_hoc_and_daemons_are_told_apart() {
        let all = [interface(2, "eth0", ""), interface(3, "wlan0", "")];
        let of = |radio, learnt: &[Learnt]| {
            let list = judge(&all, &[(3, radio)].into(), learnt);
            (list[0].evidence, list[0].why.clone())
        };
        let (evidence, why) = of(radio(true, false), &[]);
        assert_eq!(
            (evidence, &*why),
            (Evidence::Mesh, "wlan0 is an 802.11s mesh point")
        );
        let (evidence, why) = of(radio(false, true), &[]);
        assert_eq!(
            (evidence, &*why),
            (Evidence::AdHoc, "wlan0 is ad hoc Wi-Fi")
        );
        let (evidence, why) = of(radio(false, true), &[route(3, 42)]);
        assert_eq!(
            (evidence, &*why),
            (Evidence::Mesh, "Babel has routes on wlan0")
        );
        let (evidence, why) = of(radio(false, false), &[route(3, 188)]);
        assert_eq!(evidence, Evidence::Mesh);
        assert!(why.contains("protocol 188"), "{why}");
        // An access point of the house, and OSPF on the cable, are no mesh.
        let list = judge(&all, &[(3, radio(false, false))].into(), &[route(2, 188)]);
        assert!(
            list.iter().all(|c| c.evidence == Evidence::Nothing),
            "{list:?}"
        );
        // A mesh node on a cable: its daemon says so.
        let list = judge(&all, &HashMap::new(), &[route(2, 100)]);
        assert_eq!(first(&list), ("eth0", Evidence::Mesh));
    }

    #[test]
    fn a_vlan_over_a_mesh_point_and_a_tunnel() {
        let vlan = Interface {
            lower: Some(3),
            ..interface(4, "mesh0.7", "vlan")
        };
        let all = [
            interface(3, "mesh0", ""),
            vlan,
            interface(5, "wg0", "wireguard"),
        ];
        let list = judge(&all, &[(3, radio(true, false))].into(), &[]);
        let told: Vec<_> = list.iter().map(|c| (c.name.as_str(), c.evidence)).collect();
        let expected = [
            ("mesh0", Evidence::Mesh),
            ("mesh0.7", Evidence::Mesh),
            ("wg0", Evidence::Tunnel),
        ];
        assert_eq!(told, expected);
        assert!(
            list[1].why.ends_with("mesh0.7, a vlan over it"),
            "{}",
            list[1].why
        );
    }
}
