// SPDX-License-Identifier: GPL-2.0-only
//! The default routes: where the Internet is, and a mesh host's gateway to it. Asked for when a program starts.

use crate::rtnetlink::{default_routes_request, parse_default_routes, Family, NextHop};
use meshpace_netlink::socket::{Family as Netlink, NetlinkSocket};
use nix::net::if_::if_indextoname;
use std::io;
use std::net::IpAddr;

/// One next hop of a default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultRoute {
    pub interface: String,
    /// `None`: the Internet is on-link.
    pub gateway: Option<IpAddr>,
}

/// Default routes of the main table, IPv4 before IPv6, the preferred first.
///
/// # Errors
/// The kernel does not answer.
pub fn default_routes() -> io::Result<Vec<DefaultRoute>> {
    let mut socket = NetlinkSocket::open(Netlink::Route)?;
    let mut routes = Vec::new();
    for family in [Family::Ipv4, Family::Ipv6] {
        let mut found: Vec<NextHop> = Vec::new();
        socket.exchange(default_routes_request(family), |body| {
            found.extend(parse_default_routes(body));
        })?;
        found.sort_by_key(|hop| hop.metric);
        routes.extend(found.into_iter().filter_map(named));
    }
    Ok(routes)
}

/// An interface that has gone meanwhile leads nowhere.
fn named(hop: NextHop) -> Option<DefaultRoute> {
    let name = if_indextoname(hop.route.interface).ok()?;
    Some(DefaultRoute {
        interface: name.into_string().ok()?,
        gateway: hop.route.gateway,
    })
}
