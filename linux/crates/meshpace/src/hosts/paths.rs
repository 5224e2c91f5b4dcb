// SPDX-License-Identifier: GPL-2.0-only
//! Hops and bit rate of each mesh host, from the first source that knows: configuration, the mesh's
//! own tables (802.11s, batman-adv), TTL, default; for the law `map` H_cs of the first hop and more.
//! What is known goes into the kernel's table.
use std::collections::HashMap;
use std::net::IpAddr;

use meshpace_paths::{Link, Mac, Place, Sources};

use crate::config::{Config, Host, Law};
use crate::hosts::radio::{Lack, Ranges, Surroundings};
use crate::kernel::address::{address_of, bytes_of};
use crate::kernel::intf::{mp_host, mp_link};
use crate::kernel::law;
use crate::kernel::programs::Maps;

/// What told something that nothing told.
const DEFAULT: &str = "default";

/// A path with the names of what told it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPath {
    pub hops: u32,
    pub hops_source: &'static str,
    pub mbps: f64,
    pub mbps_source: &'static str,
    pub signal_dbm: Option<i32>,
    /// under the law `map`; apart, since without it a path of each of many hosts stays small
    pub surroundings: Option<Box<Surroundings>>,
}

impl HostPath {
    /// Whether anything tells the hops.
    pub fn is_known(&self) -> bool {
        self.hops_source != DEFAULT
    }
}

/// Hops that the configuration or the mesh's own tables know.
fn known_hops(stated: Option<&Host>, link: Option<&Link>) -> Option<u32> {
    let stated = stated.and_then(Config::hops_of);
    stated.or(link.and_then(|l| l.hops))
}

/// What goes into the kernel's table: 0 where only TTL or default are left.
fn known(law: Law, stated: Option<&Host>, link: Option<&Link>, first_hop: mp_link) -> mp_host {
    let told = stated
        .and_then(|host| host.mbps.as_ref())
        .map(|rates| rates.told(&law.parameters(), first_hop));
    let hops = known_hops(stated, link);
    mp_host {
        hops: hops.unwrap_or(0),
        kbps: told
            .map(|(kbps, _)| kbps)
            .or(link.and_then(|l| l.kbps))
            .unwrap_or(0),
        outside: (hops == Some(0)).into(),
        link: first_hop,
        uneven_q16: told.map_or(0, |(_, uneven)| uneven),
    }
}

/// A path as it is shown. `ttl`: of the latest packet from there, 0: none yet.
fn describe(config: &Config, address: IpAddr, link: Option<&Link>, ttl: u8) -> HostPath {
    let stated = config.host_of(address);
    let from_link = || link.map_or("", |link| link.source.name());
    let by_ttl = law::hops_of_ttl(ttl);
    let (hops, hops_source) = match (stated.and_then(Config::hops_of), link.and_then(|l| l.hops)) {
        (Some(hops), _) => (hops, "config"),
        (None, Some(hops)) => (hops, from_link()),
        (None, None) if by_ttl > 0 => (by_ttl, "ttl"),
        (None, None) => (config.default_path.hops, DEFAULT),
    };
    let rates = stated.and_then(|host| host.mbps.as_ref());
    let (mbps, mbps_source) = match (rates, link.and_then(|l| l.kbps)) {
        (Some(rates), _) => {
            let (kbps, _) = rates.told(&config.law.parameters(), mp_link::default());
            (f64::from(kbps) / 1e3, "config")
        }
        (None, Some(kbps)) => (f64::from(kbps) / 1e3, from_link()),
        (None, None) => (config.default_path.mbps, DEFAULT),
    };
    let signal_dbm = link.and_then(|link| link.first_hop.signal_dbm);
    HostPath {
        hops,
        hops_source,
        mbps,
        mbps_source,
        signal_dbm,
        surroundings: None,
    }
}

/// Keeps the kernel's table of hosts up to date.
pub struct Hosts {
    sources: Sources,
    written: HashMap<[u8; 16], mp_host>,
    ranges: Ranges,
    /// of hosts that were not looked up yet
    default_link: mp_link,
    /// the sources' latest complaint, so that it is not repeated every second
    complaint: Option<String>,
}

impl Hosts {
    pub fn new(sources: Sources) -> Self {
        Self {
            sources,
            written: HashMap::new(),
            ranges: Ranges::default(),
            default_link: mp_link::default(),
            complaint: None,
        }
    }

    /// Who answers for an address on the mesh.
    pub fn place(&self, address: IpAddr) -> Place {
        self.sources.place(address)
    }

    /// Whom frames to an address on the mesh are sent to now.
    pub fn neighbour_to(&self, address: &[u8; 16]) -> Option<Mac> {
        self.sources.neighbour_to(address_of(address))
    }

    /// For [`crate::kernel::intf::mp_settings`]: the first hop to a host of which nothing is known yet.
    pub fn default_link(&self) -> mp_link {
        self.default_link
    }

    /// What the law `map` has to do without, and that costs.
    pub fn lacks(&mut self, config: &Config) -> Vec<Lack> {
        let heard = self.sources.neighbours().iter().any(|(_, s)| s.is_some());
        let (_, around) = self.first_hop(config, None, None);
        around.map_or_else(Vec::new, |around| around.lacks(heard))
    }

    /// What the law `map` wants of the first hop to a host; all zero, and no work, under others.
    fn first_hop(
        &mut self,
        config: &Config,
        address: Option<IpAddr>,
        link: Option<&Link>,
    ) -> (mp_link, Option<Box<Surroundings>>) {
        if config.law != Law::Map {
            return (mp_link::default(), None);
        }
        let unknown = || self.sources.first_hop();
        let hop = link.map_or_else(unknown, |link| link.first_hop.clone());
        let (link, _, around) = self.ranges.look_up(config, address, link, &hop);
        (link, Some(Box::new(around)))
    }

    fn set_default_link(&mut self, maps: &Maps, config: &Config) {
        let (link, _) = self.first_hop(config, None, None);
        if link != self.default_link {
            self.default_link = link;
            maps.changed();
        }
    }

    /// What the configuration states of single addresses is known before their first packet.
    pub fn write_stated(&mut self, maps: &Maps, config: &Config) {
        self.set_default_link(maps, config);
        for host in config.host.iter().filter(|host| host.address.is_single()) {
            let address = host.address.address;
            let (first_hop, _) = self.first_hop(config, Some(address), None);
            let host = known(config.law, config.host_of(address), None, first_hop);
            self.write(maps, bytes_of(address), host);
        }
    }

    /// What configuration or mesh tell of the hops to a host; 0: it is on another port of this box. Who has no
    /// flow, or none yet, has no entry, and is looked up: as one who is on-link, since of the others there may be
    /// many, and none is at this box.
    pub fn known_hops(&self, config: &Config, address: &[u8; 16]) -> Option<u32> {
        if let Some(host) = self.written.get(address) {
            return (host.hops > 0 || host.outside != 0).then_some(host.hops);
        }
        let address = address_of(address);
        let on_link = matches!(self.sources.place(address), Place::OnLink(_));
        let link = on_link.then(|| self.sources.lookup(address)).flatten();
        known_hops(config.host_of(address), link.as_ref())
    }

    /// Whether a host is on another port of this box.
    pub fn is_outside(&self, config: &Config, address: &[u8; 16]) -> bool {
        self.known_hops(config, address) == Some(0)
    }

    /// Who is as any other has no entry: of addresses of which nothing is known there may be many.
    fn write(&mut self, maps: &Maps, address: [u8; 16], host: mp_host) {
        let unknown = mp_host {
            link: self.default_link,
            ..Default::default()
        };
        if host == unknown {
            if self.written.remove(&address).is_some() {
                maps.forget_host(&address);
            }
            return;
        }
        if self.written.get(&address) == Some(&host) {
            return;
        }
        match maps.set_host(&address, &host) {
            Ok(()) => {
                self.written.insert(address, host);
            }
            Err(error) => log::warn!("{}: by defaults: {error:#}", address_of(&address)),
        }
    }

    /// Looks all hosts up anew, (address, TTL) each; the paths are for showing.
    pub fn refresh(
        &mut self,
        maps: &Maps,
        config: &Config,
        hosts: &HashMap<[u8; 16], u8>,
    ) -> HashMap<[u8; 16], HostPath> {
        let complaint = self.sources.refresh().err().map(|error| error.to_string());
        if let (Some(now), true) = (&complaint, complaint != self.complaint) {
            log::warn!("the mesh's tables cannot be read: {now}; what was read last counts for 10 s, then TTL and defaults");
        }
        self.complaint = complaint;
        self.set_default_link(maps, config);
        let mut paths = HashMap::with_capacity(hosts.len());
        for (bytes, ttl) in hosts {
            let address = address_of(bytes);
            let link = self.sources.lookup(address);
            let link = link.as_ref();
            let (first_hop, surroundings) = self.first_hop(config, Some(address), link);
            self.write(
                maps,
                *bytes,
                known(config.law, config.host_of(address), link, first_hop),
            );
            let shown = HostPath {
                surroundings,
                ..describe(config, address, link, *ttl)
            };
            paths.insert(*bytes, shown);
        }
        self.ranges.keep_latest();
        self.written.retain(|bytes, _| {
            let stays = hosts.contains_key(bytes) || is_stated(config, bytes);
            if !stays {
                maps.forget_host(bytes);
            }
            stays
        });
        paths
    }
}

fn is_stated(config: &Config, bytes: &[u8; 16]) -> bool {
    config
        .host_of(address_of(bytes))
        .is_some_and(|host| host.address.is_single())
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_paths::{FirstHop, Source};

    /// Else the mesh is shared with hosts that are not in it.
    #[test]
    fn who_is_at_this_box_is_outside_unless_the_configuration_knows_better() {
        let link = |hops| Link {
            hops,
            kbps: None,
            expected_kbps: None,
            first_hop: FirstHop::default(),
            source: Source::BatmanAdv,
            node: Mac([2; 6]),
            next_hop: Mac([2; 6]),
            via: None,
        };
        let outside = |link: Option<&Link>| {
            let host = known(Law::Even, None, link, mp_link::default());
            (known_hops(None, link) == Some(0), host.outside != 0)
        };
        assert_eq!(outside(Some(&link(Some(0)))), (true, true));
        for hops in [None, Some(1)] {
            assert_eq!(outside(Some(&link(hops))), (false, false));
        }
        assert_eq!(outside(None), (false, false));
    }
}
