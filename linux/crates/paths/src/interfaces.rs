// SPDX-License-Identifier: GPL-2.0-only
//! How the interfaces of this box stand on each other, as far as it matters to find the mesh below
//! one.

use crate::rtnetlink::Interface;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(crate) struct Interfaces(HashMap<u32, Interface>);

/// What an interface stands on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Below {
    /// Neither bridge, batman-adv nor VLAN: what may be a radio.
    pub leaves: Vec<u32>,
    /// batman-adv mesh interfaces.
    pub batman: Vec<u32>,
    pub bridges: Vec<u32>,
}

impl FromIterator<Interface> for Interfaces {
    fn from_iter<T: IntoIterator<Item = Interface>>(list: T) -> Interfaces {
        Interfaces(list.into_iter().map(|i| (i.index, i)).collect())
    }
}

impl Interfaces {
    pub fn named(&self, name: &str) -> Option<u32> {
        Some(self.0.values().find(|i| i.name == name)?.index)
    }

    pub fn name(&self, index: u32) -> &str {
        self.0.get(&index).map_or("?", |i| i.name.as_str())
    }

    /// The ports of a bridge, or the hard interfaces of a batman-adv interface.
    pub fn ports(&self, master: u32) -> Vec<u32> {
        let ports = self.0.values().filter(|i| i.master == Some(master));
        let mut ports: Vec<u32> = ports.map(|i| i.index).collect();
        ports.sort_unstable();
        ports
    }

    /// Looks through bridges and VLANs, not through batman-adv.
    pub fn below(&self, index: u32) -> Below {
        let mut below = Below::default();
        let mut seen = HashSet::new();
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            if !seen.insert(index) {
                continue;
            }
            let Some(interface) = self.0.get(&index) else {
                continue;
            };
            match (interface.kind.as_str(), interface.lower) {
                ("batadv", _) => below.batman.push(index),
                ("bridge", _) => {
                    below.bridges.push(index);
                    open.extend(self.ports(index).iter().rev());
                }
                ("vlan" | "macvlan", Some(lower)) => open.push(lower),
                _ => below.leaves.push(index),
            }
        }
        below
    }

    /// The interfaces whose IP neighbours are reached through this one: itself, the bridge that it
    /// is a port of, the VLANs on top of either.
    pub fn above(&self, index: u32) -> HashSet<u32> {
        let mut above = HashSet::new();
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            if !above.insert(index) {
                continue;
            }
            let master = self.0.get(&index).and_then(|i| i.master);
            open.extend(master.filter(|m| self.0.get(m).is_some_and(|m| m.kind == "bridge")));
            let stacked = self.0.values().filter(|i| {
                i.lower == Some(index) && matches!(i.kind.as_str(), "vlan" | "macvlan")
            });
            open.extend(stacked.map(|i| i.index));
        }
        above
    }
}

#[cfg(test)]
pub(crate) fn interface(index: u32, name: &str, kind: &str) -> Interface {
    Interface {
        index,
        name: name.into(),
        kind: kind.into(),
        ..Interface::default()
    }
}

#[cfg(test)]
pub(crate) fn port(index: u32, name: &str, kind: &str, master: u32) -> Interface {
    Interface {
        master: Some(master),
        ..interface(index, name, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vlan(index: u32, name: &str, lower: u32) -> Interface {
        Interface {
            lower: Some(lower),
            ..interface(index, name, "vlan")
        }
    }

    #[test]
    fn through_a_bridge_and_a_vlan_to_batman() {
        // br-lan over eth1 and bat0.3; bat0 over wlan0.
        let interfaces: Interfaces = [
            interface(10, "br-lan", "bridge"),
            port(11, "eth1", "", 10),
            Interface {
                master: Some(10),
                ..vlan(12, "bat0.3", 13)
            },
            interface(13, "bat0", "batadv"),
            port(14, "wlan0", "", 13),
        ]
        .into_iter()
        .collect();
        let below = interfaces.below(interfaces.named("br-lan").unwrap());
        assert_eq!(below.batman, [13]);
        assert_eq!(below.leaves, [11]);
        assert_eq!(below.bridges, [10]);
        assert_eq!(interfaces.ports(13), [14]);
        assert_eq!(interfaces.above(13), [13, 12, 10].into());
    }

    #[test]
    fn a_batman_master_carries_no_ip_of_its_port() {
        let interfaces: Interfaces = [interface(1, "bat0", "batadv"), port(2, "wlan0", "", 1)]
            .into_iter()
            .collect();
        assert_eq!(interfaces.above(2), [2].into());
    }

    #[test]
    fn loops_end() {
        let interfaces: Interfaces = [
            vlan(1, "a", 2),
            vlan(2, "b", 1),
            port(3, "c", "bridge", 4),
            port(4, "d", "bridge", 3),
        ]
        .into_iter()
        .collect();
        assert_eq!(interfaces.below(1), Below::default());
        assert_eq!(interfaces.above(1), [1, 2].into());
        assert_eq!(interfaces.below(3).bridges, [3, 4]);
        assert_eq!(interfaces.above(3), [3, 4].into());
        assert_eq!(interfaces.below(99), Below::default(), "no such interface");
    }
}
