// SPDX-License-Identifier: GPL-2.0-only
//! Generic netlink: its header, and the numbers of its families.

use meshpace_netlink::codec::{Attributes, Request};

const HEADER: usize = 4; // genlmsghdr
const CONTROLLER: u16 = 16; // GENL_ID_CTRL
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

pub(crate) fn get(family: u16, command: u8) -> Request {
    Request::get(family, &[command, 1, 0, 0])
}

pub(crate) fn dump(family: u16, command: u8) -> Request {
    Request::dump(family, &[command, 1, 0, 0])
}

pub(crate) fn attributes(body: &[u8]) -> Option<Attributes<'_>> {
    Attributes::after(body, HEADER)
}

/// Asks for the number of a family; the kernel may load the module that offers it.
pub(crate) fn family_request(name: &str) -> Request {
    let mut terminated = name.as_bytes().to_vec();
    terminated.push(0);
    get(CONTROLLER, CTRL_CMD_GETFAMILY).attribute(CTRL_ATTR_FAMILY_NAME, &terminated)
}

pub(crate) fn parse_family(body: &[u8]) -> Option<u16> {
    attributes(body)?
        .find(|attribute| attribute.kind == CTRL_ATTR_FAMILY_ID)?
        .u16()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::{body, torture};

    #[test]
    fn a_family_has_a_number() {
        let message = body(
            &[1, 2, 0, 0],
            &[
                (CTRL_ATTR_FAMILY_NAME, b"batadv\0"),
                (CTRL_ATTR_FAMILY_ID, &29u16.to_ne_bytes()),
            ],
        );
        assert_eq!(parse_family(&message), Some(29));
        torture(&message, parse_family);
    }
}
