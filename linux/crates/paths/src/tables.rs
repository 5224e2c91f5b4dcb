// SPDX-License-Identifier: GPL-2.0-only
//! What one reading of the kernel's tables found, and how an address is looked up in it.

use crate::batadv::{Client, Mesh, Originator};
use crate::mac::Mac;
use crate::nl80211::{Path, Station, Wireless};
use crate::routes::Router;
use crate::tracer::Target;
use crate::{FirstHop, Link, Place, Radio, Source};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

#[derive(Default)]
pub(crate) struct Tables {
    /// Whether the mesh interface is there.
    pub found: bool,
    pub neighbours: HashMap<IpAddr, Mac>,
    /// The router of each host asked for that is not on-link.
    pub gateways: HashMap<IpAddr, Router>,
    /// Those of the neighbours for whom somebody has answered.
    pub resolved: HashSet<IpAddr>,
    /// Hosts on ports of the mesh's bridge that do not lead into the mesh.
    pub beside: HashSet<Mac>,
    pub mesh_points: Vec<Air>,
    pub batmen: Vec<Batman>,
    /// The mesh interface itself, where it is Wi-Fi without 802.11s (ad hoc under a routing
    /// daemon).
    pub bare: Option<Air>,
}

/// A wireless interface and what it hears. Paths and proxied hosts where it is 802.11s.
pub(crate) struct Air {
    pub wireless: Wireless,
    pub stations: HashMap<Mac, Station>,
    pub paths: HashMap<Mac, Path>,
    /// Hosts that are no mesh nodes, and the node that each is behind.
    pub proxied: HashMap<Mac, Mac>,
}

/// A batman-adv mesh interface.
pub(crate) struct Batman {
    pub name: String,
    pub mesh: Mesh,
    pub locals: HashSet<Mac>,
    pub clients: HashMap<Mac, Client>,
    pub originators: HashMap<Mac, Originator>,
    pub hard: HashMap<u32, Hard>,
}

/// A hard interface of batman-adv; `air` where it is Wi-Fi.
pub(crate) struct Hard {
    pub name: String,
    pub air: Option<Air>,
}

/// Keeps the best of several lines about the same address.
pub(crate) fn best<T>(
    lines: Vec<T>,
    key: impl Fn(&T) -> Mac,
    is_best: impl Fn(&T) -> bool,
) -> HashMap<Mac, T> {
    let mut kept = HashMap::new();
    for line in lines {
        if is_best(&line) || !kept.contains_key(&key(&line)) {
            kept.insert(key(&line), line);
        }
    }
    kept
}

impl Tables {
    /// The MAC address that frames to this host carry, and the router in between if there is one.
    pub fn resolve(&self, host: IpAddr) -> Option<(Mac, Option<IpAddr>)> {
        if let Some(mac) = self.neighbours.get(&host) {
            return Some((*mac, None));
        }
        let gateway = self.gateways.get(&host)?.address;
        Some((*self.neighbours.get(&gateway)?, Some(gateway)))
    }

    /// Who answers for an address on the mesh, as far as is known.
    pub fn place(&self, host: IpAddr) -> Place {
        let router = || self.gateways.get(&host);
        match self.neighbours.get(&host) {
            Some(mac) if self.resolved.contains(&host) => Place::OnLink(*mac),
            Some(_) => Place::Unknown,
            None => router().map_or(Place::Unknown, |router| Place::Routed {
                prefix_length: router.prefix_length,
            }),
        }
    }

    /// The link to a MAC address. `count` tells the hops to a batman-adv node behind a neighbour.
    pub fn link(
        &self,
        mac: Mac,
        via: Option<IpAddr>,
        count: impl Fn(&Target) -> Option<u32>,
    ) -> Option<Link> {
        // What is at this box comes first: a host that roamed here stays in the mesh's tables for
        // minutes.
        let mut link = self
            .local(mac)
            .or_else(|| self.mesh_points.iter().find_map(|air| air.link(mac)))
            .or_else(|| {
                self.batmen
                    .iter()
                    .find_map(|batman| batman.link(mac, &count))
            })
            .or_else(|| self.bare.as_ref()?.neighbour(mac))?;
        link.via = via;
        Some(link)
    }

    fn local(&self, mac: Mac) -> Option<Link> {
        let source = if self.batmen.iter().any(|b| b.locals.contains(&mac)) {
            Source::BatmanAdv
        } else if !self.beside.contains(&mac) {
            return None;
        } else if self.mesh_points.is_empty() {
            Source::BatmanAdv
        } else {
            Source::Mesh80211s
        };
        Some(link(source, Some(0), (mac, mac), None, None))
    }

    /// The radio that the mesh runs over; the first where there are several.
    pub fn air(&self) -> Option<&Air> {
        self.airs().next()
    }

    pub fn airs(&self) -> impl Iterator<Item = &Air> {
        let batmen = self.batmen.iter().flat_map(Batman::airs);
        self.mesh_points.iter().chain(batmen).chain(&self.bare)
    }
}

impl Air {
    pub fn new(wireless: Wireless) -> Air {
        Air {
            wireless,
            stations: HashMap::new(),
            paths: HashMap::new(),
            proxied: HashMap::new(),
        }
    }

    fn link(&self, mac: Mac) -> Option<Link> {
        let (node, next_hop, hops) = self.way(mac)?;
        let station = self.stations.get(&next_hop);
        let on = Some(self);
        Some(link(
            Source::Mesh80211s,
            hops,
            (node, next_hop),
            on,
            station,
        ))
    }

    /// The link to a neighbour by its station alone; how far it goes from there is not known.
    fn neighbour(&self, mac: Mac) -> Option<Link> {
        let station = Some(self.station(mac)?);
        Some(link(Source::WiFi, None, (mac, mac), Some(self), station))
    }

    pub fn radio(&self) -> Radio {
        let Wireless { wiphy, .. } = &self.wireless;
        let frequency_mhz = self.wireless.frequency_mhz;
        let band = frequency_mhz.and_then(|mhz| wiphy.band_of(mhz));
        Radio {
            interface: self.wireless.name.clone(),
            tx_power_mbm: self.wireless.tx_power_mbm,
            frequency_mhz,
            lowest_kbps: band.map(|band| band.lowest_kbps),
            ofdm: band.map(|band| band.ofdm),
            rts_threshold: wiphy.rts_threshold,
        }
    }

    pub fn hop(&self, station: Option<&Station>) -> FirstHop {
        FirstHop {
            radio: Some(self.radio()),
            signal_dbm: station.and_then(|s| s.signal_dbm),
            short_slot: station.and_then(|s| s.short_slot),
        }
    }

    /// The stations that frames can be sent to.
    pub fn neighbours(&self) -> impl Iterator<Item = &Station> {
        let mesh_point = self.wireless.mesh_point;
        self.stations
            .values()
            .filter(move |station| station.peer || !mesh_point)
    }

    /// The only neighbour, where there is but one: whatever is sent goes there.
    pub fn only_station(&self) -> Option<&Station> {
        let mut stations = self.neighbours();
        stations.next().filter(|_| stations.next().is_none())
    }

    /// The 802.11s node that an address is or is behind, the next hop to it, the hops.
    fn way(&self, mac: Mac) -> Option<(Mac, Mac, Option<u32>)> {
        let proxy = self.proxied.get(&mac).copied();
        self.way_to_node(mac).or_else(|| self.way_to_node(proxy?))
    }

    /// By its path; a neighbour needs none (802.11s with nolearn).
    fn way_to_node(&self, node: Mac) -> Option<(Mac, Mac, Option<u32>)> {
        if let Some(path) = self.paths.get(&node) {
            return Some((node, path.next_hop, path.hops));
        }
        let neighbour = self.stations.get(&node).filter(|station| station.peer)?;
        Some((node, neighbour.mac, Some(1)))
    }

    /// The station that frames to this address go to: itself, or as 802.11s forwards (which is for
    /// VLANs with addresses of their own below batman-adv), else the only one there is.
    fn station(&self, mac: Mac) -> Option<&Station> {
        let stations = &self.stations;
        stations
            .get(&mac)
            .or_else(|| stations.get(&self.way(mac)?.1))
            .or_else(|| self.only_station())
    }
}

impl Batman {
    fn link(&self, mac: Mac, count: impl Fn(&Target) -> Option<u32>) -> Option<Link> {
        let node = self
            .clients
            .get(&mac)
            .map_or(mac, |client| client.originator);
        let originator = self.originators.get(&node)?;
        let hops = if originator.neighbour == node {
            Some(1)
        } else {
            self.mesh.own.and_then(|own| count(&originator.target(own)))
        };
        let hard = self.hard.get(&originator.hard_interface);
        let air = hard.and_then(|hard| hard.air.as_ref());
        let station = air.and_then(|air| air.station(originator.neighbour));
        let way = (node, originator.neighbour);
        Some(link(Source::BatmanAdv, hops, way, air, station))
    }

    /// The radios of the hard interfaces, by number.
    fn airs(&self) -> impl Iterator<Item = &Air> {
        let mut hard: Vec<_> = self.hard.iter().collect();
        hard.sort_unstable_by_key(|(index, _)| **index);
        hard.into_iter().filter_map(|(_, hard)| hard.air.as_ref())
    }
}

impl Originator {
    fn target(&self, own: Mac) -> Target {
        Target {
            own,
            originator: self.mac,
            neighbour: self.neighbour,
            interface: self.hard_interface,
        }
    }
}

/// To a node, by a next hop of whose station the rates are.
fn link(
    source: Source,
    hops: Option<u32>,
    (node, next_hop): (Mac, Mac),
    air: Option<&Air>,
    station: Option<&Station>,
) -> Link {
    Link {
        hops,
        kbps: station.and_then(|s| s.kbps),
        expected_kbps: station.and_then(|s| s.expected_kbps),
        first_hop: air.map(|air| air.hop(station)).unwrap_or_default(),
        source,
        node,
        next_hop,
        via: None,
    }
}

#[cfg(test)]
#[path = "tables_tests.rs"]
pub(crate) mod tests;
