// SPDX-License-Identifier: GPL-2.0-only
//! What an interface is at this moment: for who has set something up on it and wants to know whether
//! that is still there. One question over netlink, two for a port of something.

use crate::error::is_lost;
use crate::rtnetlink::{self, Interface};
use crate::{generic, nl80211};
use meshpace_netlink::socket::{Family, NetlinkSocket};
use std::io;

/// An interface as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceState {
    pub index: i32,
    pub name: String,
    /// What made it: "veth", "ifb"; empty for hardware.
    pub kind: String,
    /// `ARPHRD_...`: what kind of link-layer header it has.
    pub link_type: u16,
    /// Kind of the root qdisc: "noqueue", "tbf"...
    pub qdisc: String,
    pub is_up: bool,
    /// Bytes of an IP packet at most.
    pub mtu: u32,
    /// The bridge, bond or other interface that it is a port of, by which IP packets leave instead.
    pub port_of: Option<String>,
}

/// Asks for interfaces; keeps its socket, since it is asked several times a second.
pub struct Interfaces(NetlinkSocket);

/// Masters whose ports carry IP packets themselves: these only choose a routing table.
const TRANSPARENT: [&str; 1] = ["vrf"];

impl Interfaces {
    /// # Errors
    /// No netlink socket can be had.
    pub fn open() -> io::Result<Self> {
        NetlinkSocket::open(Family::Route).map(Self)
    }

    /// The interface of a name; `None` where there is none.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn named(&mut self, name: &str) -> io::Result<Option<InterfaceState>> {
        self.state(rtnetlink::interface_request(0, Some(name)))
    }

    /// The interfaces of an alias (`ip link set alias`), whatever they are called now: all of them.
    ///
    /// # Errors
    /// The kernel does not answer, or interfaces come and go all the time.
    pub fn aliased(&mut self, alias: &str) -> io::Result<Vec<InterfaceState>> {
        let (found, whole) = self.0.whole(&rtnetlink::interfaces_request(), |body| {
            rtnetlink::parse_interface(body).filter(|it| it.alias == alias)
        });
        whole?;
        let mut states = Vec::new();
        for interface in found {
            states.extend(self.numbered(interface.index as i32)?);
        }
        Ok(states)
    }

    /// The interface of an index, whatever it is called now.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn numbered(&mut self, index: i32) -> io::Result<Option<InterfaceState>> {
        self.state(rtnetlink::interface_request(index as u32, None))
    }

    /// Packets that an interface has received and sent so far; `None` where it is gone.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn packets(&mut self, index: i32) -> io::Result<Option<[u64; 2]>> {
        let request = rtnetlink::counted_interface_request(index as u32);
        self.ask(request, rtnetlink::parse_packets)
    }

    /// Whether an interface is a mesh point of 802.11s.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn is_mesh_point(index: i32) -> io::Result<bool> {
        let mut socket = NetlinkSocket::open(Family::Generic)?;
        let (mut family, mut is_one) = (None, false);
        let asked = socket.exchange(generic::family_request(nl80211::FAMILY), |body| {
            family = generic::parse_family(body);
        });
        let answered = match family {
            Some(family) => {
                let request = nl80211::interface_request(family, index as u32);
                socket.exchange(request, |body| {
                    is_one = nl80211::parse_wireless(body).is_some_and(|it| it.mesh_point);
                })
            }
            None => asked,
        };
        match answered {
            Err(error) if is_lost(&error) => Err(error),
            _ => Ok(is_one), // that it is no Wi-Fi is an error, too
        }
    }

    fn state(
        &mut self,
        request: meshpace_netlink::codec::Request,
    ) -> io::Result<Option<InterfaceState>> {
        let Some(found) = self.one(request)? else {
            return Ok(None);
        };
        let master = match found.master {
            Some(index) => self.one(rtnetlink::interface_request(index, None))?,
            None => None,
        };
        let master = master.filter(|master| !TRANSPARENT.contains(&master.kind.as_str()));
        Ok(Some(InterfaceState {
            index: found.index as i32,
            name: found.name,
            kind: found.kind,
            link_type: found.link_type,
            qdisc: found.qdisc,
            is_up: found.is_up,
            mtu: found.mtu,
            port_of: master.map(|master| master.name),
        }))
    }

    fn one(&mut self, request: meshpace_netlink::codec::Request) -> io::Result<Option<Interface>> {
        self.ask(request, rtnetlink::parse_interface)
    }

    fn ask<T>(
        &mut self,
        request: meshpace_netlink::codec::Request,
        parse: fn(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let mut found = None;
        match self.0.exchange(request, |body| found = parse(body)) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(found),
        }
    }
}
