// SPDX-License-Identifier: GPL-2.0-only
//! Hops and bit rate of each mesh host, from the first source that knows: configuration, the mesh's
//! own tables (802.11s, batman-adv), TTL, default. What is known goes into the kernel's table.
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use meshpace_paths::{Link, Sources};
use serde::Serialize;

use crate::config::{Config, Host};
use crate::errors::Result;
use crate::intf::{mp_hops_of_ttl, mp_host};
use crate::programs::Maps;

/// A path with the names of what told it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostPath {
    pub address: String,
    pub hops: u32,
    pub hops_source: String,
    pub mbps: f64,
    pub mbps_source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<i32>,
}

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

/// What goes into the kernel's table: 0 where only TTL or default are left.
fn known(stated: Option<&Host>, link: Option<&Link>) -> mp_host {
    let stated_hops = stated.and_then(|host| host.hops);
    let stated_kbps = stated
        .and_then(|host| host.mbps)
        .map(|mbps| (mbps * 1e3) as u32);
    let hops = stated_hops.or(link.and_then(|l| l.hops));
    mp_host {
        hops: hops.unwrap_or(0),
        kbps: stated_kbps.or(link.and_then(|l| l.kbps)).unwrap_or(0),
        outside: (hops == Some(0)).into(),
    }
}

/// A path as it is shown. `ttl`: of the latest packet from there, 0: none yet.
fn describe(config: &Config, address: IpAddr, link: Option<&Link>, ttl: u8) -> HostPath {
    let stated = config.host_of(address);
    let from_link = || link.map_or_else(String::new, |link| link.source.to_string());
    // Safe: a plain function of core/.
    let by_ttl = unsafe { mp_hops_of_ttl(ttl) };
    let (hops, hops_source) = match (stated.and_then(|h| h.hops), link.and_then(|l| l.hops)) {
        (Some(hops), _) => (hops, "config".into()),
        (None, Some(hops)) => (hops, from_link()),
        (None, None) if by_ttl > 0 => (by_ttl, "ttl".into()),
        (None, None) => (config.default_path.hops, "default".into()),
    };
    let (mbps, mbps_source) = match (stated.and_then(|h| h.mbps), link.and_then(|l| l.kbps)) {
        (Some(mbps), _) => (mbps, "config".into()),
        (None, Some(kbps)) => (f64::from(kbps) / 1e3, from_link()),
        (None, None) => (config.default_path.mbps, "default".into()),
    };
    let signal_dbm = link.and_then(|link| link.signal_dbm);
    HostPath {
        address: address.to_string(),
        hops,
        hops_source,
        mbps,
        mbps_source,
        signal_dbm,
    }
}

/// Keeps the kernel's table of hosts up to date.
pub struct Hosts {
    sources: Sources,
    written: HashMap<[u8; 16], mp_host>,
    /// the sources' latest complaint, so that it is not repeated every second
    complaint: Option<String>,
}

impl Hosts {
    pub fn new(sources: Sources) -> Self {
        Self {
            sources,
            written: HashMap::new(),
            complaint: None,
        }
    }

    /// What the configuration states of single addresses is known before their first packet.
    pub fn write_stated(&mut self, maps: &Maps, config: &Config) -> Result<()> {
        self.written.clear();
        for host in config.host.iter().filter(|host| host.address.is_single()) {
            self.write(
                maps,
                bytes_of(host.address.address),
                known(Some(host), None),
            )?;
        }
        Ok(())
    }

    fn write(&mut self, maps: &Maps, address: [u8; 16], host: mp_host) -> Result<()> {
        let before = self.written.get(&address);
        if before == Some(&host) {
            return Ok(());
        }
        maps.set_host(&address, &host)?;
        self.written.insert(address, host);
        Ok(())
    }

    /// Looks all hosts up anew, (address, TTL) each; the paths are for showing.
    pub fn refresh(
        &mut self,
        maps: &Maps,
        config: &Config,
        hosts: &HashMap<[u8; 16], u8>,
    ) -> Result<HashMap<[u8; 16], HostPath>> {
        let complaint = self.sources.refresh().err().map(|error| error.to_string());
        if let (Some(now), true) = (&complaint, complaint != self.complaint) {
            log::warn!("the mesh's tables cannot be read: {now}; TTL and defaults are used");
        }
        self.complaint = complaint;
        let mut paths = HashMap::new();
        for (bytes, ttl) in hosts {
            let address = address_of(bytes);
            let link = self.sources.lookup(address);
            self.write(maps, *bytes, known(config.host_of(address), link.as_ref()))?;
            paths.insert(*bytes, describe(config, address, link.as_ref(), *ttl));
        }
        self.written
            .retain(|bytes, _| hosts.contains_key(bytes) || is_stated(config, bytes));
        Ok(paths)
    }
}

fn is_stated(config: &Config, bytes: &[u8; 16]) -> bool {
    config
        .host_of(address_of(bytes))
        .is_some_and(|host| host.address.is_single())
}
