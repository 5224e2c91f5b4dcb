// SPDX-License-Identifier: GPL-2.0-only
//! What one reading of the kernel's tables found, and how an address is looked up in it.

use crate::batadv::{Client, Mesh, Originator};
use crate::mac::Mac;
use crate::nl80211::{Path, Station, Wireless};
use crate::tracer::Target;
use crate::{Link, Radio, Source};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

#[derive(Default)]
pub(crate) struct Tables {
    /// Whether the mesh interface is there.
    pub found: bool,
    pub neighbours: HashMap<IpAddr, Mac>,
    /// The router of each host asked for that is not on-link.
    pub gateways: HashMap<IpAddr, IpAddr>,
    /// Hosts on ports of the mesh's bridge that do not lead into the mesh.
    pub beside: HashSet<Mac>,
    pub mesh_points: Vec<Air>,
    pub batmen: Vec<Batman>,
    /// The mesh interface itself, where it is Wi-Fi without 802.11s (ad hoc under a routing
    /// daemon).
    pub bare: Option<Wireless>,
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
        let gateway = self.gateways.get(&host)?;
        Some((*self.neighbours.get(gateway)?, Some(*gateway)))
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
            })?;
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
        Some(link(source, Some(0), mac, mac, None))
    }

    pub fn radio(&self) -> Option<Radio> {
        let points = self.mesh_points.iter().map(|air| &air.wireless);
        let wireless = points.chain(self.batmen.iter().filter_map(Batman::wireless));
        let wireless = wireless.chain(&self.bare).next()?;
        Some(Radio {
            interface: wireless.name.clone(),
            tx_power_dbm: wireless.tx_power_dbm,
            frequency_mhz: wireless.frequency_mhz,
        })
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
        Some(link(Source::Mesh80211s, hops, node, next_hop, station))
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

    /// The station that frames to this address go to: itself, or as 802.11s forwards. The latter is
    /// for VLANs with addresses of their own below batman-adv.
    fn station(&self, mac: Mac) -> Option<&Station> {
        let stations = &self.stations;
        stations
            .get(&mac)
            .or_else(|| stations.get(&self.way(mac)?.1))
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
        let station = hard.and_then(|hard| hard.air.as_ref()?.station(originator.neighbour));
        Some(link(
            Source::BatmanAdv,
            hops,
            node,
            originator.neighbour,
            station,
        ))
    }

    /// The radio of the hard interface that comes first by number.
    fn wireless(&self) -> Option<&Wireless> {
        let radios = self.hard.iter().filter_map(|(index, hard)| {
            let air = hard.air.as_ref()?;
            Some((index, &air.wireless))
        });
        Some(radios.min_by_key(|(index, _)| **index)?.1)
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

fn link(
    source: Source,
    hops: Option<u32>,
    node: Mac,
    next_hop: Mac,
    station: Option<&Station>,
) -> Link {
    Link {
        hops,
        kbps: station.and_then(|s| s.kbps),
        expected_kbps: station.and_then(|s| s.expected_kbps),
        signal_dbm: station.and_then(|s| s.signal_dbm),
        source,
        node,
        next_hop,
        via: None,
    }
}

#[cfg(test)]
#[path = "tables_tests.rs"]
pub(crate) mod tests;
