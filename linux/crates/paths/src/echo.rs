// SPDX-License-Identifier: GPL-2.0-only
//! batman-adv's own echo packets (`struct batadv_icmp_packet`), the payload of Ethernet frames of
//! type 0x4305:
//!
//! ```text
//!  0 type 0x43   1 version 15   2 TTL   3 message   4 destination (6)   10 origin (6)
//! 16 identifier  17 reserved   18 sequence number (big endian)
//! ```

use crate::mac::Mac;

pub(crate) const ETHERTYPE: u16 = 0x4305;
/// What a node gives the answers it sends.
pub(crate) const TTL_MAX: u8 = 50;

pub(crate) const PACKET_TYPE: u8 = 0x43;
const VERSION: u8 = 15;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;
const TTL_EXCEEDED: u8 = 11;

pub(crate) const LENGTH: usize = 20;
/// Where the identifier stands.
pub(crate) const IDENTIFIER: usize = 16;

/// Tells the answers to one request from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub identifier: u8,
    pub sequence: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The destination's own, with the TTL that its way back left.
    Reached { ttl_left: u8 },
    /// A node on the way refused to forward.
    Exceeded,
}

pub(crate) fn request(own: Mac, destination: Mac, ttl: u8, id: Id) -> [u8; LENGTH] {
    let mut packet = [0; LENGTH];
    packet[..4].copy_from_slice(&[PACKET_TYPE, VERSION, ttl, ECHO_REQUEST]);
    packet[4..10].copy_from_slice(&destination.0);
    packet[10..16].copy_from_slice(&own.0);
    packet[IDENTIFIER] = id.identifier;
    packet[18..20].copy_from_slice(&id.sequence.to_be_bytes());
    packet
}

/// The answer to request `id`; `None` for anything else.
pub(crate) fn answer(packet: &[u8], own: Mac, destination: Mac, id: Id) -> Option<Answer> {
    let packet: &[u8; LENGTH] = packet.get(..LENGTH)?.try_into().ok()?;
    let [PACKET_TYPE, VERSION, ttl_left, message, ..] = *packet else {
        return None;
    };
    let to = Mac::from_bytes(&packet[4..10])?;
    let from = Mac::from_bytes(&packet[10..16])?;
    let sequence = u16::from_be_bytes([packet[18], packet[19]]);
    if to != own || packet[IDENTIFIER] != id.identifier || sequence != id.sequence {
        return None;
    }
    match message {
        ECHO_REPLY if from == destination => Some(Answer::Reached { ttl_left }),
        TTL_EXCEEDED => Some(Answer::Exceeded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshpace_netlink::testing::torture;

    const OWN: Mac = Mac([2, 0, 0, 0, 0, 0]);
    const FAR: Mac = Mac([2, 0, 0, 0, 4, 0]);
    const ID: Id = Id {
        identifier: 9,
        sequence: 0x0102,
    };

    /// What a node makes of the request: it turns it round in place.
    fn turned(message: u8, from: Mac) -> Vec<u8> {
        let mut packet = request(OWN, FAR, 3, ID).to_vec();
        packet[2] = TTL_MAX - 2;
        packet[3] = message;
        packet[4..10].copy_from_slice(&OWN.0);
        packet[10..16].copy_from_slice(&from.0);
        packet.resize(46, 0); // as Ethernet pads it
        packet
    }

    #[test]
    fn a_request_is_laid_out_as_batman_adv_reads_it() {
        let expected = [
            0x43, 15, 3, 8, 2, 0, 0, 0, 4, 0, 2, 0, 0, 0, 0, 0, 9, 0, 1, 2,
        ];
        assert_eq!(request(OWN, FAR, 3, ID), expected);
    }

    #[test]
    fn answers_are_told_apart() {
        let relay = Mac([2, 0, 0, 0, 1, 0]);
        let answer = |packet: &[u8]| answer(packet, OWN, FAR, ID);
        let reached = Some(Answer::Reached { ttl_left: 48 });
        assert_eq!(answer(&turned(ECHO_REPLY, FAR)), reached);
        assert_eq!(answer(&turned(TTL_EXCEEDED, relay)), Some(Answer::Exceeded));
        assert_eq!(answer(&turned(ECHO_REPLY, relay)), None, "another's reply");
        assert_eq!(answer(&turned(ECHO_REQUEST, FAR)), None);
        let mut late = turned(ECHO_REPLY, FAR);
        late[19] = 1;
        assert_eq!(answer(&late), None, "of an earlier request");
        torture(&turned(ECHO_REPLY, FAR), answer);
    }
}
