// SPDX-License-Identifier: GPL-2.0-only
//! Hops and bit rate of each mesh destination, from the first of the mesh's own tables that knows:
//! the 802.11s path table, or batman-adv's originators and translation table.
//!
//! An address becomes a MAC by the kernel's route and neighbour table, the MAC becomes a mesh node
//! by the mesh protocol's table, and the node's next hop becomes a bit rate by the radio's station
//! table; with it go the radio's power and frequency and the next hop's signal, for the law `map`.
//! All of it is read over netlink by a thread of its own; [`Sources::lookup`] only reads
//! memory.
//!
//! Needs `CAP_NET_ADMIN` (path and translation tables) and, for hop counts through batman-adv,
//! `CAP_NET_RAW`. What is missing appears among the [`Finding`]s.
//!
//! ```no_run
//! let (mut sources, findings) = meshpace_paths::Sources::survey("bat0");
//! for finding in findings { println!("{finding}") }
//! sources.refresh()?;
//! if let Some(link) = sources.lookup("10.1.0.2".parse()?) {
//!     println!("{:?} hops by {}", link.hops, link.source);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batadv;
mod candidates;
mod collector;
mod default_routes;
mod echo;
mod echo_socket;
mod error;
mod finding;
mod generic;
mod interfaces;
mod learnt;
mod mac;
#[cfg(test)]
mod namespace_tests;
mod nl80211;
#[cfg(test)]
mod recorded;
mod routes;
mod rtnetlink;
mod sources;
mod state;
mod survey;
mod tables;
mod trace;
mod tracer;
mod wiphy;
mod worker;

pub use candidates::{candidates, Candidate, Evidence};
pub use default_routes::{default_routes, DefaultRoute};
pub use error::{Error, Result};
pub use finding::Finding;
pub use mac::Mac;
pub use sources::Sources;
pub use state::{InterfaceState, Interfaces};

use std::fmt;
use std::net::IpAddr;

/// What knew a destination: a mesh protocol, or the radio alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    Mesh80211s,
    BatmanAdv,
    /// The station table of a radio under a routing daemon, which tells no hops.
    WiFi,
}

impl Source {
    /// As `status` shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Mesh80211s => "802.11s",
            Source::BatmanAdv => "batman-adv",
            Source::WiFi => "Wi-Fi",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the mesh knows of the way to one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Transmissions over the mesh from here to `node`; 0 when the host is at this box itself
    /// (another port of the bridge), which is no mesh path and needs no pacing. `None`: not known,
    /// or not yet.
    pub hops: Option<u32>,
    /// Bit rate of the frames last sent to the next hop, kbit/s (the radio's rate, not its
    /// goodput).
    pub kbps: Option<u32>,
    /// What the driver expects to get through to the next hop, kbit/s, where it tells.
    pub expected_kbps: Option<u32>,
    pub first_hop: FirstHop,
    pub source: Source,
    /// The mesh node that the host is, or is behind.
    pub node: Mac,
    /// The neighbour that takes the frames there.
    pub next_hop: Mac,
    /// The IP router that the host is behind, when the host is not on-link. `hops` counts to that
    /// router; IP hops beyond it (the TTL tells) come on top where they are radio hops too.
    pub via: Option<IpAddr>,
}

/// Who answers for an address on the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The neighbour with this MAC address.
    OnLink(Mac),
    /// A router, to which a route with a prefix of so many bits leads.
    Routed { prefix_length: u8 },
    /// Nobody yet, or nobody that can be told from others: an interface without ARP.
    Unknown,
}

/// The radio of this box that frames leave by, and what it hears of the next hop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstHop {
    pub radio: Option<Radio>,
    /// Signal of the next hop's frames here, dBm (averaged where the driver averages).
    pub signal_dbm: Option<i32>,
    /// Whether slots between the two last 9 us and not 20.
    pub short_slot: Option<bool>,
}

/// A radio of this box, as its driver tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radio {
    pub interface: String,
    /// Transmit power without the antenna's gain, in 1/100 dBm.
    pub tx_power_mbm: Option<i32>,
    /// Centre frequency of the control channel, MHz.
    pub frequency_mhz: Option<u32>,
    /// The lowest legacy bit rate in its band, at which control frames can be sent, kbit/s.
    pub lowest_kbps: Option<u32>,
    /// Whether it can do OFDM in its band; else only DSSS, which 802.11b has.
    pub ofdm: Option<bool>,
    /// RTS and CTS go before frames of more bytes; `u32::MAX`: before none.
    pub rts_threshold: Option<u32>,
}
