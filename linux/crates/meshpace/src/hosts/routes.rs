// SPDX-License-Identifier: GPL-2.0-only
//! The default routes, from /proc: where the Internet is, and a mesh host's gateway to it.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub interface: String,
    /// None: the Internet is on-link
    pub gateway: Option<IpAddr>,
}

const UP: u32 = 1;

fn ipv4_route(line: &str) -> Option<(u32, Route)> {
    let f: Vec<_> = line.split_whitespace().collect();
    let (name, destination, gateway, flags) = (f.first()?, f.get(1)?, f.get(2)?, f.get(3)?);
    let (metric, mask) = (f.get(6)?.parse().ok()?, f.get(7)?);
    let flags = u32::from_str_radix(flags, 16).ok()?;
    if *destination != "00000000" || *mask != "00000000" || flags & UP == 0 {
        return None;
    }
    // The file shows the address as a number in the machine's order.
    let gateway = Ipv4Addr::from(u32::from_str_radix(gateway, 16).ok()?.to_ne_bytes());
    let gateway = (!gateway.is_unspecified()).then_some(IpAddr::V4(gateway));
    Some((
        metric,
        Route {
            interface: (*name).to_string(),
            gateway,
        },
    ))
}

fn ipv6_route(line: &str) -> Option<(u32, Route)> {
    let f: Vec<_> = line.split_whitespace().collect();
    let (destination, length, gateway) = (f.first()?, f.get(1)?, f.get(4)?);
    let (metric, name) = (u32::from_str_radix(f.get(5)?, 16).ok()?, f.get(9)?);
    if destination.bytes().any(|b| b != b'0') || *length != "00" || *name == "lo" {
        return None;
    }
    let gateway = Ipv6Addr::from(u128::from_str_radix(gateway, 16).ok()?);
    let gateway = (!gateway.is_unspecified()).then_some(IpAddr::V6(gateway));
    Some((
        metric,
        Route {
            interface: (*name).to_string(),
            gateway,
        },
    ))
}

/// Default routes, IPv4 before IPv6, the preferred first.
pub fn default_routes() -> Vec<Route> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let mut ipv4: Vec<_> = read("/proc/net/route")
        .lines()
        .filter_map(ipv4_route)
        .collect();
    let mut ipv6: Vec<_> = read("/proc/net/ipv6_route")
        .lines()
        .filter_map(ipv6_route)
        .collect();
    ipv4.sort_by_key(|(metric, _)| *metric);
    ipv6.sort_by_key(|(metric, _)| *metric);
    ipv4.into_iter()
        .chain(ipv6)
        .map(|(_, route)| route)
        .collect()
}

/// Interfaces of the default routes but `except`: those towards the Internet.
pub fn default_interfaces(except: &str) -> Vec<String> {
    let mut names: Vec<_> = default_routes()
        .into_iter()
        .map(|route| route.interface)
        .collect();
    names.retain(|name| name != except);
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_route_is_read() {
        let line = "mesh0\t00000000\t0100010A\t0003\t0\t0\t100\t00000000\t0\t0\t0";
        let (metric, route) = ipv4_route(line).unwrap();
        assert_eq!((metric, route.interface.as_str()), (100, "mesh0"));
        assert_eq!(route.gateway, Some("10.1.0.1".parse().unwrap()));
        assert_eq!(
            ipv4_route("mesh0\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0"),
            None
        );
        assert_eq!(ipv4_route("Iface Destination"), None);
    }

    #[test]
    fn a_default_route_of_ipv6_is_read() {
        let zero = "0".repeat(32);
        let gateway = format!("fe80{}1", "0".repeat(27));
        let line =
            format!("{zero} 00 {zero} 00 {gateway} 00000400 00000002 00000000 00000003 mesh0");
        let (_, route) = ipv6_route(&line).unwrap();
        assert_eq!(route.gateway, Some("fe80::1".parse().unwrap()));
    }
}
