// SPDX-License-Identifier: GPL-2.0-only
//! Addresses as the programs have them: sixteen bytes, those of IPv4 mapped into IPv6.
use std::net::{IpAddr, Ipv6Addr};

/// IPv4's 224.0.0.0/3, of many or of nobody.
const OF_MANY: u8 = 224;

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

/// Whether packets for an address, or from it, are of many hosts or of one link alone, and so never count; as
/// in linux/bpf/strangers.h.
pub fn is_of_many_or_link_local(bytes: &[u8; 16]) -> bool {
    match address_of(bytes) {
        IpAddr::V4(ipv4) => ipv4.octets()[0] >= OF_MANY || ipv4.is_link_local(),
        IpAddr::V6(ipv6) => ipv6.is_multicast() || ipv6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_counts() {
        for (address, never) in [
            ("10.1.0.7", false),
            ("169.254.3.4", true),
            ("224.0.0.251", true),
            ("255.255.255.255", true),
            ("fd00::7", false),
            ("fe80::1", true),
            ("ff02::fb", true),
        ] {
            let bytes = bytes_of(address.parse().unwrap());
            assert_eq!(is_of_many_or_link_local(&bytes), never, "{address}");
        }
    }
}
