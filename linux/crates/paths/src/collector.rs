// SPDX-License-Identifier: GPL-2.0-only
//! Reads the kernel's tables, once for each refresh.

use crate::batadv::{self, Client, Originator};
use crate::error::{is_lost, Error};
use crate::interfaces::{Below, Interfaces};
use crate::nl80211::{self, Wireless};
use crate::routes::{Routes, Wanted};
use crate::tables::{best, Air, Batman, Hard, Tables};
use crate::wiphy::{self, Wiphy};
use crate::{generic, rtnetlink};
use meshpace_netlink::codec::Request;
use meshpace_netlink::socket::{Family, NetlinkSocket};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A netlink family that was not there is asked for again after this long: the kernel tries to load
/// it.
const RETRY: Duration = Duration::from_secs(60);
/// What a radio can do, its RTS threshold with it, is read again after this long.
const WIPHY_AGE: Duration = Duration::from_secs(10);

pub(crate) struct Collector {
    mesh: String,
    routing: NetlinkSocket,
    generic: NetlinkSocket,
    families: HashMap<&'static str, u16>,
    absent: HashMap<&'static str, Instant>,
    wiphys: HashMap<u32, (Instant, Wiphy)>,
    routes: Routes,
    wanted: Arc<Wanted>,
    troubles: Vec<Error>,
}

/// Tables as far as they could be read, and what could not.
pub(crate) struct Reading {
    pub tables: Tables,
    pub troubles: Vec<Error>,
    /// something was asked for in vain: the tables lack what may be there
    pub failed: bool,
}

impl Collector {
    pub fn open(mesh: &str, wanted: Arc<Wanted>) -> io::Result<Collector> {
        Ok(Collector {
            mesh: mesh.to_owned(),
            routing: NetlinkSocket::open(Family::Route)?,
            generic: NetlinkSocket::open(Family::Generic)?,
            families: HashMap::new(),
            absent: HashMap::new(),
            wiphys: HashMap::new(),
            routes: Routes::default(),
            wanted,
            troubles: Vec::new(),
        })
    }

    pub fn read(&mut self) -> Reading {
        let request = rtnetlink::interfaces_request();
        let (list, whole) = self.routing.whole(&request, rtnetlink::parse_interface);
        let interfaces: Interfaces = list.into_iter().collect();
        let index = interfaces.named(&self.mesh);
        let trouble = whole.err().filter(|cause| matters(cause, index));
        let trouble = trouble.map(|cause| Error::new("interfaces", cause));
        self.troubles.extend(trouble);
        let unread = !self.troubles.is_empty();
        let tables = match index {
            Some(index) => self.tables(&interfaces, index),
            None if unread => Tables::default(),
            None => {
                let cause = io::Error::from_raw_os_error(libc::ENODEV);
                let what = format!("mesh interface {}", self.mesh);
                self.families.clear(); // a module may be on its way out and in again
                return Reading {
                    tables: Tables::default(),
                    troubles: vec![Error::new(what, cause)],
                    failed: false,
                };
            }
        };
        let troubles = std::mem::take(&mut self.troubles);
        Reading {
            tables,
            failed: troubles.iter().any(Error::is_news),
            troubles,
        }
    }

    fn tables(&mut self, interfaces: &Interfaces, index: u32) -> Tables {
        let below = interfaces.below(index);
        let above = interfaces.above(index);
        let routes = &mut self.routes;
        let (gateways, trouble) = routes.refresh(&mut self.routing, &self.wanted, &above);
        let trouble = trouble.map(|cause| Error::new("routes to hosts", cause));
        self.troubles.extend(trouble);
        let mut tables = Tables {
            found: true,
            gateways,
            ..Tables::default()
        };
        self.neighbours(&above, &mut tables);
        let mut mesh_leaves = HashSet::new();
        for &leaf in &below.leaves {
            match self.wireless(leaf) {
                Some(wireless) if wireless.mesh_point => {
                    tables.mesh_points.push(self.air(leaf, wireless));
                    mesh_leaves.insert(leaf);
                }
                Some(wireless) if leaf == index => tables.bare = Some(self.air(leaf, wireless)),
                _ => {}
            }
        }
        for &batman in &below.batman {
            tables.batmen.extend(self.batman(interfaces, batman));
        }
        if !(tables.mesh_points.is_empty() && tables.batmen.is_empty()) {
            self.beside(interfaces, &below, &mesh_leaves, &mut tables);
        }
        tables
    }

    fn neighbours(&mut self, above: &HashSet<u32>, tables: &mut Tables) {
        let request = rtnetlink::neighbours_request();
        let list = self.routing_table("neighbours", request, rtnetlink::parse_neighbour);
        for neighbour in list.iter().filter(|n| above.contains(&n.interface)) {
            let Some(address) = neighbour.address else {
                continue;
            };
            tables.neighbours.insert(address, neighbour.mac);
            if neighbour.resolved {
                tables.resolved.insert(address);
            }
        }
    }

    /// The hosts that the bridges forward to by ports without mesh below.
    fn beside(
        &mut self,
        interfaces: &Interfaces,
        below: &Below,
        mesh_leaves: &HashSet<u32>,
        tables: &mut Tables,
    ) {
        if below.bridges.is_empty() {
            return;
        }
        let request = rtnetlink::forwarding_request();
        let list = self.routing_table("bridge forwarding", request, rtnetlink::parse_forwarding);
        let leads_into_mesh = |port: u32| {
            let under = interfaces.below(port);
            !under.batman.is_empty() || under.leaves.iter().any(|l| mesh_leaves.contains(l))
        };
        for &bridge in &below.bridges {
            let ports = interfaces.ports(bridge).into_iter();
            let others: HashSet<u32> = ports.filter(|&port| !leads_into_mesh(port)).collect();
            let entries = list
                .iter()
                .filter(|entry| entry.bridge == Some(bridge) && others.contains(&entry.interface));
            tables.beside.extend(entries.map(|entry| entry.mac));
        }
    }

    /// `None` when the interface is not Wi-Fi.
    fn wireless(&mut self, interface: u32) -> Option<Wireless> {
        let family = self.family(nl80211::FAMILY)?;
        let mut wireless = None;
        let request = nl80211::interface_request(family, interface);
        let answer = self.generic.exchange(request, |body| {
            wireless = nl80211::parse_wireless(body);
        });
        match answer {
            Ok(()) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EINVAL)) => {}
            Err(cause) => {
                let what = format!("radio {interface}");
                self.troubles.push(Error::new(what, cause));
                // It may have been unloaded and come back under another number.
                self.families.remove(nl80211::FAMILY);
            }
        }
        let wiphy = wireless.as_ref().map(|_| self.wiphy(family, interface));
        wireless.map(|wireless| Wireless {
            wiphy: wiphy.unwrap_or_default(),
            ..wireless
        })
    }

    /// What the radio can do hardly changes, and is a long list.
    fn wiphy(&mut self, family: u16, interface: u32) -> Wiphy {
        if let Some((at, wiphy)) = self.wiphys.get(&interface) {
            if at.elapsed() < WIPHY_AGE {
                return wiphy.clone();
            }
        }
        let what = format!("abilities of radio {interface}");
        let request = wiphy::request(family, interface);
        let before = self.troubles.len();
        let wiphy = Wiphy::join(self.generic_table(&what, request, wiphy::parse));
        if self.troubles.len() == before {
            let read = (Instant::now(), wiphy.clone());
            self.wiphys.insert(interface, read);
        }
        wiphy
    }

    fn air(&mut self, interface: u32, wireless: Wireless) -> Air {
        let name = wireless.name.clone();
        let mesh_point = wireless.mesh_point;
        let mut air = Air::new(wireless);
        let Some(family) = self.family(nl80211::FAMILY) else {
            return air;
        };
        let what = format!("stations of {name}");
        let request = nl80211::stations_request(family, interface);
        let stations = self.generic_table(&what, request, nl80211::parse_station);
        air.stations = stations.into_iter().map(|s| (s.mac, s)).collect();
        if mesh_point {
            let what = format!("802.11s paths of {name}");
            let request = nl80211::paths_request(family, interface);
            let paths = self.generic_table(&what, request, nl80211::parse_path);
            air.paths = paths.into_iter().map(|p| (p.destination, p)).collect();
            let request = nl80211::proxied_request(family, interface);
            let proxied = self.generic_table(&what, request, nl80211::parse_proxied);
            air.proxied = proxied.into_iter().map(|p| (p.host, p.node)).collect();
        }
        air
    }

    fn batman(&mut self, interfaces: &Interfaces, index: u32) -> Option<Batman> {
        let family = self.family(batadv::FAMILY)?;
        let name = interfaces.name(index).to_owned();
        let (mut locals, mut clients, mut originators) = (Vec::new(), Vec::new(), Vec::new());
        let request = batadv::mesh_request(family, index);
        let mesh = self.generic_table(&format!("batman-adv on {name}"), request, |body| {
            batadv::parse_mesh(body)
        });
        let mesh = mesh.into_iter().next().unwrap_or_default();
        // Without an active hard interface there are no tables, and asking for them is an error.
        if mesh.own.is_some() {
            let what = format!("batman-adv tables of {name}");
            let request = batadv::locals_request(family, index);
            locals = self.generic_table(&what, request, batadv::parse_local);
            let request = batadv::clients_request(family, index);
            clients = self.generic_table(&what, request, batadv::parse_client);
            let request = batadv::originators_request(family, index);
            originators = self.generic_table(&what, request, batadv::parse_originator);
        }
        let ports = interfaces.ports(index).into_iter();
        Some(Batman {
            name,
            mesh,
            locals: locals.into_iter().collect(),
            clients: best(clients, |c: &Client| c.mac, |c| c.best),
            originators: best(originators, |o: &Originator| o.mac, |o| o.best),
            hard: ports
                .map(|port| (port, self.hard(interfaces, port)))
                .collect(),
        })
    }

    fn hard(&mut self, interfaces: &Interfaces, index: u32) -> Hard {
        let leaf = interfaces.below(index).leaves.first().copied();
        let wireless = leaf.and_then(|leaf| Some((leaf, self.wireless(leaf)?)));
        Hard {
            name: interfaces.name(index).to_owned(),
            air: wireless.map(|(leaf, wireless)| self.air(leaf, wireless)),
        }
    }

    fn family(&mut self, name: &'static str) -> Option<u16> {
        if let Some(&number) = self.families.get(name) {
            return Some(number);
        }
        if self.absent.get(name).is_some_and(|at| at.elapsed() < RETRY) {
            return None;
        }
        let mut number = None;
        let answer = self
            .generic
            .exchange(generic::family_request(name), |body| {
                number = generic::parse_family(body);
            });
        match (answer, number) {
            (Ok(()), Some(number)) => drop(self.families.insert(name, number)),
            (Err(cause), _) if is_lost(&cause) => {
                let what = format!("netlink family {name}");
                self.troubles.push(Error::new(what, cause));
            }
            (answer, _) => {
                log::debug!("netlink family {name} is absent: {answer:?}");
                self.absent.insert(name, Instant::now());
            }
        }
        number
    }

    fn routing_table<T>(
        &mut self,
        what: &str,
        request: Request,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Vec<T> {
        table(&mut self.routing, &mut self.troubles, what, request, parse)
    }

    fn generic_table<T>(
        &mut self,
        what: &str,
        request: Request,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Vec<T> {
        let before = self.troubles.len();
        let list = table(&mut self.generic, &mut self.troubles, what, request, parse);
        if self.troubles.len() > before {
            self.families.clear(); // as in `wireless`
        }
        list
    }
}

/// Whether what went wrong with the list of interfaces takes something away: that others come and go does not, if the mesh
/// interface was found.
fn matters(cause: &io::Error, mesh: Option<u32>) -> bool {
    mesh.is_none() || cause.kind() != io::ErrorKind::Interrupted
}

/// The lines of a table as far as they came; what went wrong joins the troubles.
fn table<T>(
    socket: &mut NetlinkSocket,
    troubles: &mut Vec<Error>,
    what: &str,
    request: Request,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Vec<T> {
    let mut list = Vec::new();
    let answer = socket.exchange(request, |body| list.extend(parse(body)));
    if let Err(cause) = answer {
        troubles.push(Error::new(what, cause));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else whoever starts containers takes the mesh's hops away for a second, or has each second tell of it.
    #[test]
    fn other_interfaces_come_and_go() {
        let interrupted = || io::ErrorKind::Interrupted.into();
        assert!(!matters(&interrupted(), Some(7)));
        assert!(matters(&interrupted(), None), "it may be there");
        let full = io::Error::from_raw_os_error(libc::ENOBUFS);
        assert!(matters(&full, Some(7)));
    }
}
