// SPDX-License-Identifier: GPL-2.0-only
//! Addresses as the programs have them: sixteen bytes, those of IPv4 mapped into IPv6.
use std::net::{IpAddr, Ipv6Addr};

pub fn address_of(bytes: &[u8; 16]) -> IpAddr {
    let ipv6 = Ipv6Addr::from(*bytes);
    ipv6.to_ipv4_mapped().map_or(IpAddr::V6(ipv6), IpAddr::V4)
}

pub fn bytes_of(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(ipv4) => ipv4.to_ipv6_mapped().octets(),
        IpAddr::V6(ipv6) => ipv6.octets(),
    }
}
