// SPDX-License-Identifier: GPL-2.0-only
//! Routes that a program has found, by which a mesh's routing daemon shows.

use crate::rtnetlink::parse_route;

/// A route that a program has found, and which program (`rtm_protocol`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Learnt {
    pub interface: u32,
    pub protocol: u8,
}

/// Of linux/rtnetlink.h: what the kernel, the boot scripts, an operator, router advertisements and DHCP set.
const SET_BY_HAND: [u8; 7] = [0, 1, 2, 3, 4, 9, 16];

impl Learnt {
    /// The daemon of meshes alone that has this number.
    pub fn mesh_daemon(&self) -> Option<&'static str> {
        match self.protocol {
            42 => Some("Babel"),
            99 => Some("Open/R"),
            // olsrd2's own; linux/rtnetlink.h knows none.
            100 => Some("OLSR"),
            _ => None,
        }
    }
}

/// A route with a router that a daemon has found.
pub(crate) fn parse_learnt(body: &[u8]) -> Option<Learnt> {
    let protocol = *body.get(5)?;
    let route = parse_route(body)?;
    (!SET_BY_HAND.contains(&protocol) && route.gateway.is_some()).then_some(Learnt {
        interface: route.interface,
        protocol,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::body;

    const RTA_OIF: u16 = 4;
    const RTA_GATEWAY: u16 = 5;

    #[test]
    fn a_daemon_s_routes_are_told_from_those_set_by_hand() {
        let route = |protocol: u8, gateway: bool| {
            let mut head = vec![0; 12];
            head[5] = protocol;
            let (interface, via) = (7u32.to_ne_bytes(), [10, 0, 0, 9]);
            let mut attributes: Vec<(u16, &[u8])> = vec![(RTA_OIF, &interface)];
            if gateway {
                attributes.push((RTA_GATEWAY, &via));
            }
            parse_learnt(&body(&head, &attributes))
        };
        let babel = route(42, true).unwrap();
        assert_eq!((babel.interface, babel.mesh_daemon()), (7, Some("Babel")));
        assert_eq!(route(188, true).unwrap().mesh_daemon(), None);
        assert_eq!(route(42, false), None, "its own network");
        assert!(SET_BY_HAND
            .iter()
            .all(|protocol| route(*protocol, true).is_none()));
        assert_eq!(parse_learnt(&[0; 3]), None);
    }
}
