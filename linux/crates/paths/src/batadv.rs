// SPDX-License-Identifier: GPL-2.0-only
//! batman-adv's netlink family: which node a client is at, and the next hop to each node.

use crate::generic;
use crate::mac::Mac;
use meshpace_netlink::codec::Request;

pub(crate) const FAMILY: &str = "batadv";

const CMD_GET_MESH: u8 = 1;
const CMD_GET_TRANSTABLE_LOCAL: u8 = 6;
const CMD_GET_TRANSTABLE_GLOBAL: u8 = 7;
const CMD_GET_ORIGINATORS: u8 = 8;

const ATTR_VERSION: u16 = 1;
const ATTR_ALGO_NAME: u16 = 2;
const ATTR_MESH_IFINDEX: u16 = 3;
const ATTR_HARD_IFINDEX: u16 = 6;
const ATTR_HARD_ADDRESS: u16 = 8;
const ATTR_ORIG_ADDRESS: u16 = 9;
const ATTR_TT_ADDRESS: u16 = 16;
const ATTR_TT_FLAGS: u16 = 21;
const ATTR_FLAG_BEST: u16 = 22;
const ATTR_NEIGH_ADDRESS: u16 = 24;

/// The client left this node; its entry only waits for the others to learn it.
const TT_CLIENT_PENDING: u32 = 1 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mesh {
    pub version: String,
    /// "BATMAN_IV" or "BATMAN_V".
    pub algorithm: String,
    /// This node's originator address; `None` while no hard interface is active.
    pub own: Option<Mac>,
}

/// A line of the global translation table. A client may be announced by several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub mac: Mac,
    pub originator: Mac,
    /// batman-adv sends by this one.
    pub best: bool,
}

/// A line of the originator table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Originator {
    pub mac: Mac,
    pub neighbour: Mac,
    pub hard_interface: u32,
    pub best: bool,
}

pub(crate) fn mesh_request(family: u16, interface: u32) -> Request {
    of(generic::get(family, CMD_GET_MESH), interface)
}

pub(crate) fn locals_request(family: u16, interface: u32) -> Request {
    of(generic::dump(family, CMD_GET_TRANSTABLE_LOCAL), interface)
}

pub(crate) fn clients_request(family: u16, interface: u32) -> Request {
    of(generic::dump(family, CMD_GET_TRANSTABLE_GLOBAL), interface)
}

pub(crate) fn originators_request(family: u16, interface: u32) -> Request {
    of(generic::dump(family, CMD_GET_ORIGINATORS), interface)
}

fn of(request: Request, interface: u32) -> Request {
    request.attribute(ATTR_MESH_IFINDEX, &interface.to_ne_bytes())
}

pub(crate) fn parse_mesh(body: &[u8]) -> Option<Mesh> {
    let mut mesh = Mesh::default();
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_VERSION => mesh.version = attribute.text(),
            ATTR_ALGO_NAME => mesh.algorithm = attribute.text(),
            ATTR_HARD_ADDRESS => mesh.own = Mac::from_bytes(attribute.value),
            _ => {}
        }
    }
    Some(mesh)
}

/// A client of this node itself.
pub(crate) fn parse_local(body: &[u8]) -> Option<Mac> {
    let (mut mac, mut flags) = (None, 0);
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_TT_ADDRESS => mac = Mac::from_bytes(attribute.value),
            ATTR_TT_FLAGS => flags = attribute.u32()?,
            _ => {}
        }
    }
    mac.filter(|_| flags & TT_CLIENT_PENDING == 0)
}

pub(crate) fn parse_client(body: &[u8]) -> Option<Client> {
    let (mut mac, mut originator, mut best) = (None, None, false);
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_TT_ADDRESS => mac = Mac::from_bytes(attribute.value),
            ATTR_ORIG_ADDRESS => originator = Mac::from_bytes(attribute.value),
            ATTR_FLAG_BEST => best = true,
            _ => {}
        }
    }
    Some(Client {
        mac: mac?,
        originator: originator?,
        best,
    })
}

pub(crate) fn parse_originator(body: &[u8]) -> Option<Originator> {
    let (mut mac, mut neighbour, mut hard_interface, mut best) = (None, None, None, false);
    for attribute in generic::attributes(body)? {
        match attribute.kind {
            ATTR_ORIG_ADDRESS => mac = Mac::from_bytes(attribute.value),
            ATTR_NEIGH_ADDRESS => neighbour = Mac::from_bytes(attribute.value),
            ATTR_HARD_IFINDEX => hard_interface = attribute.u32(),
            ATTR_FLAG_BEST => best = true,
            _ => {}
        }
    }
    Some(Originator {
        mac: mac?,
        neighbour: neighbour?,
        hard_interface: hard_interface?,
        best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::{body, torture};

    const GENL: [u8; 4] = [0, 1, 0, 0];
    const CLIENT: [u8; 6] = [6, 0, 0, 0, 4, 1];
    const NODE: [u8; 6] = [2, 0, 0, 0, 4, 0];
    const NEAR: [u8; 6] = [2, 0, 0, 0, 1, 0];

    #[test]
    fn a_client_is_at_a_node() {
        let mut attributes: Vec<(u16, &[u8])> =
            vec![(ATTR_TT_ADDRESS, &CLIENT), (ATTR_ORIG_ADDRESS, &NODE)];
        let parsed = parse_client(&body(&GENL, &attributes)).unwrap();
        assert_eq!((parsed.mac, parsed.originator), (Mac(CLIENT), Mac(NODE)));
        assert!(!parsed.best);
        attributes.push((ATTR_FLAG_BEST, &[]));
        let message = body(&GENL, &attributes);
        assert!(parse_client(&message).unwrap().best);
        torture(&message, parse_client);
    }

    #[test]
    fn a_client_that_left_is_local_no_more() {
        let entry = |flags: u32| {
            body(
                &GENL,
                &[
                    (ATTR_TT_ADDRESS, &CLIENT),
                    (ATTR_TT_FLAGS, &flags.to_ne_bytes()),
                ],
            )
        };
        assert_eq!(parse_local(&entry(0x100)), Some(Mac(CLIENT)));
        assert_eq!(parse_local(&entry(TT_CLIENT_PENDING)), None);
        torture(&entry(0), parse_local);
    }

    #[test]
    fn an_originator_has_a_next_hop() {
        let message = body(
            &GENL,
            &[
                (ATTR_ORIG_ADDRESS, &NODE),
                (ATTR_NEIGH_ADDRESS, &NEAR),
                (ATTR_HARD_IFINDEX, &3u32.to_ne_bytes()),
                (ATTR_FLAG_BEST, &[]),
            ],
        );
        assert_eq!(
            parse_originator(&message),
            Some(Originator {
                mac: Mac(NODE),
                neighbour: Mac(NEAR),
                hard_interface: 3,
                best: true,
            })
        );
        torture(&message, parse_originator);
    }

    #[test]
    fn a_mesh_without_active_interface_has_no_address() {
        let mut attributes: Vec<(u16, &[u8])> = vec![
            (ATTR_VERSION, b"2022.3\0"),
            (ATTR_ALGO_NAME, b"BATMAN_IV\0"),
        ];
        assert_eq!(parse_mesh(&body(&GENL, &attributes)).unwrap().own, None);
        attributes.push((ATTR_HARD_ADDRESS, &NODE));
        let message = body(&GENL, &attributes);
        let mesh = parse_mesh(&message).unwrap();
        assert_eq!(
            (mesh.own, mesh.algorithm.as_str()),
            (Some(Mac(NODE)), "BATMAN_IV")
        );
        torture(&message, parse_mesh);
    }
}
