// SPDX-License-Identifier: GPL-2.0-only
//! Addresses and networks, as a configuration names hosts by them.
use std::net::IpAddr;

use serde::Deserialize;

/// An address, or a network: the addresses that agree with it in the first `length` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Prefix {
    pub address: IpAddr,
    pub length: u8,
}

impl TryFrom<String> for Prefix {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let wrong = || format!("'{text}' is no address; write 10.1.0.2, 10.1.0.0/24 or fd00::2");
        let (address, length) = text
            .split_once('/')
            .map_or((&*text, None), |(a, l)| (a, Some(l)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length: u8 = length.map_or(Ok(most), |l| l.parse().map_err(|_| wrong()))?;
        if length > most {
            return Err(wrong());
        }
        // IPv4 in IPv6's notation: packets have it in their own.
        let canonical = address.to_canonical();
        let bits = if canonical.is_ipv4() { most - 32 } else { 0 };
        Ok(match length.checked_sub(bits) {
            Some(length) => Self {
                address: canonical,
                length,
            },
            None => Self { address, length },
        })
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl Prefix {
    pub fn contains(&self, address: IpAddr) -> bool {
        let (network, candidate, bits) = match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (u32::from(a).into(), u32::from(b).into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a), u128::from(b), 128),
            _ => return false,
        };
        let differ: u128 = network ^ candidate;
        differ
            .checked_shr(bits - u32::from(self.length))
            .unwrap_or(0)
            == 0
    }

    /// Whether it has the same addresses as another one.
    pub fn is_same(&self, other: &Self) -> bool {
        self.length == other.length && self.contains(other.address)
    }

    /// Whether it is one address and no network.
    pub fn is_single(&self) -> bool {
        self.length == if self.address.is_ipv4() { 32 } else { 128 }
    }
}
