// SPDX-License-Identifier: GPL-2.0-only
//! Routing netlink: interfaces, neighbours, forwarding entries of bridges, routes.

use crate::mac::Mac;
use meshpace_netlink::codec::{align, u16_at, u32_at, u64_at, Attribute, Attributes, Request};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const IFINFOMSG: usize = 16;
const NDMSG: usize = 12;
const RTMSG: usize = 12;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_QDISC: u16 = 6;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_STATS64: u16 = 23;
const IFLA_EXT_MASK: u16 = 29;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_INFO_KIND: u16 = 1;
const RTEXT_FILTER_SKIP_STATS: u32 = 8;

const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NDA_MASTER: u16 = 9;
const NTF_SELF: u8 = 2;
/// Not resolved by anybody's answer: the kernel put in the interface's own address, or a group's.
const NUD_NOARP: u16 = 0x40;

const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
/// Of `struct rtnexthop`.
const NEXT_HOP: usize = 8;
/// `RTNH_F_DEAD`: its interface is down.
const DEAD: u32 = 1;
/// The answer tells the route that matched, not the address asked for.
const RTM_F_FIB_MATCH: u32 = 0x2000;

/// A network interface and what it stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interface {
    pub index: u32,
    pub name: String,
    /// Whatever somebody has written there.
    pub alias: String,
    /// "bridge", "vlan", "batadv"...; empty for hardware.
    pub kind: String,
    /// The bridge or batman-adv interface that it is a port of.
    pub master: Option<u32>,
    /// The interface that a VLAN or macvlan stands on, in this network namespace.
    pub lower: Option<u32>,
    /// `ARPHRD_...`
    pub link_type: u16,
    /// Kind of the root qdisc.
    pub qdisc: String,
    pub is_up: bool,
    pub mtu: u32,
}

/// An entry of the neighbour table or of a bridge's forwarding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    pub interface: u32,
    pub mac: Mac,
    /// Somebody has answered for the address, or an operator has stated who does.
    pub resolved: bool,
    /// Neighbour table only.
    pub address: Option<IpAddr>,
    /// Forwarding table only: the bridge.
    pub bridge: Option<u32>,
}

/// Where the kernel sends what is for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub interface: u32,
    /// `None`: the host is on-link.
    pub gateway: Option<IpAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Ipv4,
    Ipv6,
}

/// One of the ways that a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextHop {
    /// The lower, the more it is preferred.
    pub metric: u32,
    pub route: Route,
}

pub(crate) fn interfaces_request() -> Request {
    Request::dump(libc::RTM_GETLINK, &[0; IFINFOMSG])
        .attribute(IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes())
}

/// One interface, by its name or by its index.
pub(crate) fn interface_request(index: u32, name: Option<&str>) -> Request {
    let mut header = [0; IFINFOMSG];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let request = Request::get(libc::RTM_GETLINK, &header)
        .attribute(IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
    match name {
        Some(name) => request.attribute(IFLA_IFNAME, &[name.as_bytes(), &[0]].concat()),
        None => request,
    }
}

/// One interface with what it has counted, for [`parse_packets`].
pub(crate) fn counted_interface_request(index: u32) -> Request {
    let mut header = [0; IFINFOMSG];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    Request::get(libc::RTM_GETLINK, &header)
}

/// Packets that an interface has received and sent (`struct rtnl_link_stats64`).
pub(crate) fn parse_packets(body: &[u8]) -> Option<[u64; 2]> {
    let stats = Attributes::after(body, IFINFOMSG)?.find(|it| it.kind == IFLA_STATS64)?;
    Some([u64_at(stats.value, 0)?, u64_at(stats.value, 8)?])
}

pub(crate) fn neighbours_request() -> Request {
    Request::dump(libc::RTM_GETNEIGH, &[0; NDMSG])
}

pub(crate) fn forwarding_request() -> Request {
    let mut header = [0; NDMSG];
    header[0] = libc::AF_BRIDGE as u8;
    Request::dump(libc::RTM_GETNEIGH, &header)
}

pub(crate) fn route_request(host: IpAddr) -> Request {
    request_of_route(host, 0)
}

/// For [`parse_prefix_length`].
pub(crate) fn matched_route_request(host: IpAddr) -> Request {
    request_of_route(host, RTM_F_FIB_MATCH)
}

fn request_of_route(host: IpAddr, flags: u32) -> Request {
    let mut header = [0; RTMSG];
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    let (family, address) = match host {
        IpAddr::V4(v4) => (libc::AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6, v6.octets().to_vec()),
    };
    header[0] = family as u8;
    header[1] = (address.len() * 8) as u8;
    Request::get(libc::RTM_GETROUTE, &header).attribute(RTA_DST, &address)
}

/// All routes of a family: the kernel has no question for some.
pub(crate) fn default_routes_request(family: Family) -> Request {
    let mut header = [0; RTMSG];
    header[0] = match family {
        Family::Ipv4 => libc::AF_INET,
        Family::Ipv6 => libc::AF_INET6,
    } as u8;
    Request::dump(libc::RTM_GETROUTE, &header)
}

pub(crate) fn parse_interface(body: &[u8]) -> Option<Interface> {
    let mut interface = Interface {
        index: u32_at(body, 4)?,
        link_type: u16_at(body, 2)?,
        is_up: u32_at(body, 8)? & libc::IFF_UP as u32 != 0,
        ..Interface::default()
    };
    let mut elsewhere = false;
    for attribute in Attributes::after(body, IFINFOMSG)? {
        match attribute.kind {
            IFLA_IFNAME => interface.name = attribute.text(),
            IFLA_IFALIAS => interface.alias = attribute.text(),
            IFLA_MASTER => interface.master = attribute.u32(),
            IFLA_LINK => interface.lower = attribute.u32(),
            IFLA_QDISC => interface.qdisc = attribute.text(),
            IFLA_MTU => interface.mtu = attribute.u32().unwrap_or(0),
            // The lower interface is in another namespace: its index means something else here.
            IFLA_LINK_NETNSID => elsewhere = true,
            IFLA_LINKINFO => {
                let kind = attribute.nested().find(|a| a.kind == IFLA_INFO_KIND);
                interface.kind = kind.map(|a| a.text()).unwrap_or_default();
            }
            _ => {}
        }
    }
    if elsewhere {
        interface.lower = None;
    }
    Some(interface)
}

/// Entries without a link-layer address (incomplete, failed) are `None`.
pub(crate) fn parse_neighbour(body: &[u8]) -> Option<Neighbour> {
    let (mut mac, mut address, mut bridge) = (None, None, None);
    for attribute in Attributes::after(body, NDMSG)? {
        match attribute.kind {
            NDA_DST => address = ip(attribute.value),
            NDA_LLADDR => mac = Mac::from_bytes(attribute.value),
            NDA_MASTER => bridge = attribute.u32(),
            _ => {}
        }
    }
    Some(Neighbour {
        interface: u32_at(body, 4)?,
        mac: mac.filter(|mac| !mac.is_zero())?,
        resolved: u16_at(body, 8)? & NUD_NOARP == 0,
        address,
        bridge,
    })
}

/// A forwarding entry that a bridge learned or was given; addresses of its ports' own devices are
/// `None`.
pub(crate) fn parse_forwarding(body: &[u8]) -> Option<Neighbour> {
    let flags = *body.get(10)?;
    let entry = parse_neighbour(body)?;
    (flags & NTF_SELF == 0 && entry.bridge.is_some()).then_some(entry)
}

pub(crate) fn parse_route(body: &[u8]) -> Option<Route> {
    parse_way(Attributes::after(body, RTMSG)?)
}

fn parse_way(mut attributes: Attributes) -> Option<Route> {
    let gateway = parse_gateway(attributes);
    let interface = attributes.find(|attribute| attribute.kind == RTA_OIF)?;
    Some(Route {
        interface: interface.u32()?,
        gateway,
    })
}

fn parse_gateway(attributes: Attributes) -> Option<IpAddr> {
    let mut gateway = None;
    for attribute in attributes {
        match attribute.kind {
            RTA_GATEWAY => gateway = ip(attribute.value),
            RTA_VIA => gateway = via(attribute),
            _ => {}
        }
    }
    gateway
}

/// The next hops of a default route of the main table; none of any other route.
pub(crate) fn parse_default_routes(body: &[u8]) -> Vec<NextHop> {
    default_next_hops(body).unwrap_or_default()
}

fn default_next_hops(body: &[u8]) -> Option<Vec<NextHop>> {
    let (prefix_length, mut table, kind) = (*body.get(1)?, u32::from(*body.get(4)?), *body.get(7)?);
    let flags = u32_at(body, 8)?;
    if prefix_length != 0 || kind != libc::RTN_UNICAST {
        return None;
    }
    let (mut metric, mut several, attributes) = (0, None, Attributes::after(body, RTMSG)?);
    for attribute in attributes {
        match attribute.kind {
            RTA_TABLE => table = attribute.u32()?,
            RTA_PRIORITY => metric = attribute.u32()?,
            RTA_MULTIPATH => several = Some(attribute.value),
            _ => {}
        }
    }
    if table != u32::from(libc::RT_TABLE_MAIN) {
        return None;
    }
    let ways = match several {
        Some(hops) => parse_next_hops(hops),
        None if flags & DEAD == 0 => parse_way(attributes).into_iter().collect(),
        None => Vec::new(),
    };
    let hop = |route| NextHop { metric, route };
    Some(ways.into_iter().map(hop).collect())
}

/// Those of a route with several, each with a header and attributes of its own.
fn parse_next_hops(mut bytes: &[u8]) -> Vec<Route> {
    let mut ways = Vec::new();
    while let (Some(length), Some(interface)) = (u16_at(bytes, 0), u32_at(bytes, 4)) {
        let length = usize::from(length);
        let Some(attributes) = bytes.get(NEXT_HOP..length) else {
            break;
        };
        if u32::from(bytes[2]) & DEAD == 0 {
            let gateway = parse_gateway(Attributes(attributes));
            ways.push(Route { interface, gateway });
        }
        bytes = bytes.get(align(length)..).unwrap_or_default();
    }
    ways
}

/// Of the route that matched.
pub(crate) fn parse_prefix_length(body: &[u8]) -> Option<u8> {
    (body.len() >= RTMSG).then(|| body[1])
}

/// An IPv4 route through an IPv6 router names it with its family before the address.
fn via(attribute: Attribute) -> Option<IpAddr> {
    u16_at(attribute.value, 0)?;
    ip(&attribute.value[2..])
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(v4).into());
    }
    Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::{attribute, body, torture};

    const MAC: [u8; 6] = [2, 0, 0, 0, 1, 0];

    fn header(length: usize, index: u32) -> Vec<u8> {
        let mut bytes = vec![0; length];
        bytes[4..8].copy_from_slice(&index.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_vlan_stands_on_its_lower_interface() {
        let info = attribute(IFLA_INFO_KIND, b"vlan\0");
        let message = body(
            &header(IFINFOMSG, 5),
            &[
                (IFLA_IFNAME, b"bat0.3\0"),
                (IFLA_LINK, &4u32.to_ne_bytes()),
                (IFLA_LINKINFO | 0x8000, &info),
                (IFLA_MASTER, &9u32.to_ne_bytes()),
            ],
        );
        let interface = parse_interface(&message).unwrap();
        assert_eq!(interface.name, "bat0.3");
        assert_eq!(interface.kind, "vlan");
        assert_eq!((interface.index, interface.lower), (5, Some(4)));
        assert_eq!(interface.master, Some(9));
        torture(&message, parse_interface);
    }

    #[test]
    fn a_lower_interface_of_another_namespace_is_none_here() {
        let message = body(
            &header(IFINFOMSG, 5),
            &[
                (IFLA_LINK, &4u32.to_ne_bytes()),
                (IFLA_LINK_NETNSID, &[0; 4]),
            ],
        );
        assert_eq!(parse_interface(&message).unwrap().lower, None);
    }

    #[test]
    fn default_routes_have_no_prefix_and_lead_somewhere() {
        let mut header = [0; RTMSG];
        (header[4], header[7]) = (libc::RT_TABLE_MAIN, libc::RTN_UNICAST);
        let (oif, metric) = (4u32.to_ne_bytes(), 100u32.to_ne_bytes());
        let attributes: [(u16, &[u8]); 3] = [
            (RTA_OIF, &oif),
            (RTA_PRIORITY, &metric),
            (RTA_GATEWAY, &[10, 1, 0, 1]),
        ];
        let message = body(&header, &attributes);
        let hop = |interface, gateway: Option<[u8; 4]>| NextHop {
            metric: 100,
            route: Route {
                interface,
                gateway: gateway.map(IpAddr::from),
            },
        };
        let one = hop(4, Some([10, 1, 0, 1]));
        assert_eq!(parse_default_routes(&message), [one]);
        for (place, value) in [(1, 24), (4, 255), (7, 7)] {
            let mut other = message.clone();
            other[place] = value;
            assert_eq!(parse_default_routes(&other), [], "byte {place}");
        }
        let mut dead = message.clone();
        dead[8..12].copy_from_slice(&DEAD.to_ne_bytes());
        assert_eq!(parse_default_routes(&dead), []);
        let mut hops = Vec::new();
        for (interface, flags) in [(4u32, 0u8), (5, DEAD as u8), (6, 0)] {
            hops.extend(16u16.to_ne_bytes());
            hops.extend([flags, 0]);
            hops.extend(interface.to_ne_bytes());
            hops.extend(attribute(RTA_GATEWAY, &[10, 1, 0, 1]));
        }
        let several = body(&header, &[attributes[1], (RTA_MULTIPATH, &hops)]);
        assert_eq!(
            parse_default_routes(&several),
            [one, hop(6, Some([10, 1, 0, 1]))]
        );
        torture(&several, parse_default_routes);
    }

    #[test]
    fn neighbours_of_both_families() {
        let v6: Ipv6Addr = "fe80::2".parse().unwrap();
        for address in [IpAddr::from([10, 1, 0, 2]), v6.into()] {
            let octets = match address {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            };
            let message = body(&header(NDMSG, 3), &[(NDA_DST, &octets), (NDA_LLADDR, &MAC)]);
            let neighbour = parse_neighbour(&message).unwrap();
            assert_eq!(neighbour.address, Some(address));
            assert_eq!((neighbour.interface, neighbour.mac), (3, Mac(MAC)));
            torture(&message, parse_neighbour);
        }
    }

    #[test]
    fn a_neighbour_without_its_mac_is_no_neighbour() {
        let unresolved = body(&header(NDMSG, 3), &[(NDA_DST, &[10, 1, 0, 2])]);
        assert_eq!(parse_neighbour(&unresolved), None);
        // Loopback and tunnels: all zeroes, or an address of another length.
        for mac in [&[0u8; 6][..], &[1, 2, 3, 4]] {
            let message = body(
                &header(NDMSG, 3),
                &[(NDA_DST, &[10, 1, 0, 2]), (NDA_LLADDR, mac)],
            );
            assert_eq!(parse_neighbour(&message), None);
        }
    }

    #[test]
    fn forwarding_entries_are_those_of_bridges() {
        let attributes: [(u16, &[u8]); 2] = [(NDA_LLADDR, &MAC), (NDA_MASTER, &[7, 0, 0, 0])];
        let mut message = body(&header(NDMSG, 3), &attributes);
        let entry = parse_forwarding(&message).unwrap();
        assert_eq!((entry.interface, entry.bridge), (3, Some(7)));
        torture(&message, parse_forwarding);
        message[10] = NTF_SELF;
        assert_eq!(parse_forwarding(&message), None);
        let plain = body(&header(NDMSG, 3), &attributes[..1]);
        assert_eq!(parse_forwarding(&plain), None);
    }

    #[test]
    fn routes_direct_and_through_routers_of_either_family() {
        let oif = 4u32.to_ne_bytes();
        let direct = body(&[0; RTMSG], &[(RTA_OIF, &oif)]);
        assert_eq!(parse_route(&direct).unwrap().gateway, None);
        let routed = body(
            &[0; RTMSG],
            &[(RTA_OIF, &oif), (RTA_GATEWAY, &[10, 1, 0, 9])],
        );
        let route = parse_route(&routed).unwrap();
        assert_eq!(route.gateway, Some(IpAddr::from([10, 1, 0, 9])));
        let mut v6 = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
        v6.extend_from_slice(&"fe80::9".parse::<Ipv6Addr>().unwrap().octets());
        let babel = body(&[0; RTMSG], &[(RTA_OIF, &oif), (RTA_VIA, &v6)]);
        let route = parse_route(&babel).unwrap();
        assert_eq!(route.gateway, Some("fe80::9".parse().unwrap()));
        let blackhole = body(&[0; RTMSG], &[(RTA_DST, &[10, 1, 0, 0])]);
        assert_eq!(parse_route(&blackhole), None);
        torture(&babel, parse_route);
    }
}
