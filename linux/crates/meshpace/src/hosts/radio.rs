// SPDX-License-Identifier: GPL-2.0-only
//! What the law `map` wants of a first hop, from the first that tells: the configuration, the radio's
//! driver, the IEEE 802.11 standard by band. H_cs itself is core/'s.
use std::collections::HashMap;
use std::net::IpAddr;

use meshpace_paths::{FirstHop, Link};
use serde::{Deserialize, Serialize};

use crate::config::{self, Config, NodeName};
use crate::kernel::intf::{self, mp_link, mp_radio, mp_reach};
use crate::kernel::law;

/// A frame with a packet of a full segment is no smaller: RTS and CTS precede it if their threshold is.
const DATA_FRAME_BYTES: u32 = 1500;
/// From here on up there is no DSSS.
const OFDM_ONLY_MHZ: u32 = 4_900;

/// What told a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    Config,
    /// by nl80211
    Driver,
    /// IEEE 802.11's own value for the band
    Standard,
}

/// A figure with what told it; none: nobody does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sourced<T> {
    pub value: T,
    pub by: By,
}

fn sourced<T>(value: Option<T>, by: By) -> Option<Sourced<T>> {
    value.map(|value| Sourced { value, by })
}

fn value<T: Copy + Default>(figure: Option<Sourced<T>>) -> T {
    figure.map(|figure| figure.value).unwrap_or_default()
}

/// How the distances to the nodes of a way are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distances {
    /// not at all: all hops are taken to be equally long
    #[default]
    Equal,
    /// lengths of hops, of the configuration
    Hops,
    /// positions of nodes, of the configuration
    Positions,
}

/// What H_cs comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Range {
    /// nothing: it is what makes GAP's four hops
    #[default]
    Assumed,
    /// the next hop's signal, MAP eq. (3)
    Signal,
    /// frequency and distance of the next hop, MAP eq. (5)
    Distance,
}

/// A first hop for the law `map`, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// of this box, towards the next hop; none: there is no Wi-Fi below the mesh interface
    pub interface: Option<String>,
    /// hops within which this box is sensed
    pub h_cs: u32,
    pub h_cs_by: Range,
    pub signal_dbm: Option<Sourced<f64>>,
    pub tx_power_dbm: Option<Sourced<f64>>,
    pub frequency_mhz: Option<Sourced<u32>>,
    pub base_mbps: Option<Sourced<f64>>,
    pub cw: Option<Sourced<u32>>,
    pub slot_us: Option<Sourced<u32>>,
    pub rts_cts: Option<Sourced<bool>>,
    pub sense_dbm: f64,
    pub distances: Distances,
    /// to the nodes of the way, as far as known
    pub distances_m: Vec<f64>,
}

impl Surroundings {
    /// All but H_cs.
    fn gather(config: &config::Radio, hop: &FirstHop) -> Self {
        let radio = hop.radio.as_ref();
        let frequency_mhz = sourced(config.frequency_mhz, By::Config)
            .or(sourced(radio.and_then(|r| r.frequency_mhz), By::Driver));
        let dbm = |mbm: i32| f64::from(mbm) / 100.0;
        let power_dbm = radio.and_then(|r| r.tx_power_mbm).map(dbm);
        let signal_dbm = hop.signal_dbm.map(f64::from);
        let threshold = radio.and_then(|r| r.rts_threshold);
        let band = Band {
            high: frequency_mhz.map(|mhz| mhz.value >= OFDM_ONLY_MHZ),
            // A stated frequency may be in another band than the radio's.
            ofdm: radio
                .filter(|_| config.frequency_mhz.is_none())
                .and_then(|r| r.ofdm),
        };
        let lowest_mbps = radio
            .and_then(|r| r.lowest_kbps)
            .map(|kbps| f64::from(kbps) / 1e3);
        Self {
            interface: radio.map(|r| r.interface.clone()),
            signal_dbm: sourced(config.signal_dbm, By::Config).or(sourced(signal_dbm, By::Driver)),
            tx_power_dbm: sourced(config.tx_power_dbm, By::Config)
                .or(sourced(power_dbm, By::Driver)),
            frequency_mhz,
            base_mbps: sourced(config.base_mbps, By::Config)
                .or(sourced(lowest_mbps, By::Driver))
                .or(sourced(band.base_mbps(), By::Standard)),
            cw: sourced(config.cw, By::Config).or(sourced(band.cw(), By::Standard)),
            slot_us: sourced(config.slot_us, By::Config).or(band.slot_us(hop.short_slot)),
            rts_cts: sourced(config.rts_cts, By::Config).or(sourced(
                threshold.map(|bytes| bytes < DATA_FRAME_BYTES),
                By::Driver,
            )),
            sense_dbm: config.sense_dbm,
            ..Self::default()
        }
    }

    fn radio(&self, config: &config::Radio) -> mp_radio {
        mp_radio {
            tx_power_dbm_q8: q8(value(self.tx_power_dbm)),
            antenna_db_q8: q8(config.antenna_dbi),
            cable_db_q8: q8(config.cable_db),
            attenuator_db_q8: q8(config.attenuator_db),
            signal_dbm_q8: q8(value(self.signal_dbm)),
            sense_dbm_q8: q8(config.sense_dbm),
            exponent_q8: (config.path_loss_exponent * 256.0).round() as u16,
            frequency_mhz: value(self.frequency_mhz),
        }
    }

    fn link(&self, h_cs: u32) -> mp_link {
        mp_link {
            base_kbps: (value(self.base_mbps) * 1e3).round() as u32,
            cw: value(self.cw) as u16,
            slot_us: value(self.slot_us) as u8,
            rts_cts: value(self.rts_cts).into(),
            h_cs: h_cs as u16,
        }
    }
}

/// What the standard says of a band. Without a driver 2.4 GHz is the papers' 802.11b.
struct Band {
    /// above 2.4 GHz; None: the frequency is not known
    high: Option<bool>,
    ofdm: Option<bool>,
}

impl Band {
    fn base_mbps(&self) -> Option<f64> {
        self.high.map(|high| if high { 6.0 } else { 1.0 })
    }

    /// CWmin: aCWmin of OFDM, and of ERP among themselves, is 15; of DSSS 31.
    fn cw(&self) -> Option<u32> {
        let high = self.high?;
        Some(if high || self.ofdm == Some(true) {
            15
        } else {
            31
        })
    }

    fn slot_us(&self, short: Option<bool>) -> Option<Sourced<u32>> {
        match (self.high?, short) {
            (true, _) => sourced(Some(9), By::Standard),
            (false, Some(short)) => sourced(Some(if short { 9 } else { 20 }), By::Driver),
            (false, None) => sourced(Some(20), By::Standard),
        }
    }
}

/// Decibels as core/ counts them.
fn q8(db: f64) -> i16 {
    law::db_q8_of_centi((db * 100.0).round() as i32)
}

/// Distances to the nodes of the way to a host: lengths of hops, else positions, of nodes that the
/// configuration names or that the mesh's tables do (the next hop, and the host's node after two).
fn reach(config: &Config, address: Option<IpAddr>, link: Option<&Link>) -> (mp_reach, Distances) {
    let mut reach = mp_reach::default();
    let host = address.and_then(|address| config.host_of(address));
    for metres in host.iter().flat_map(|host| &host.hop_m) {
        law::reach_add_hop(&mut reach, (metres * 100.0).round() as u32);
    }
    if reach.known > 0 {
        return (reach, Distances::Hops);
    }
    let Some(here) = config.node(NodeName::This) else {
        return (reach, Distances::Equal);
    };
    let stated = host.map(|host| host.way.as_slice()).unwrap_or_default();
    let nodes: Vec<_> = match stated {
        [] => way_by_tables(config, address, link),
        named => named.iter().map(|name| config.node(*name)).collect(),
    };
    let places = nodes.into_iter().map_while(|node| node?.from(here));
    for (east_cm, north_cm) in places {
        law::reach_add_position(&mut reach, east_cm, north_cm);
    }
    match reach.known {
        0 => (reach, Distances::Equal),
        _ => (reach, Distances::Positions),
    }
}

/// The nodes of a way of one or two hops, and the first of a longer one; None: one without a place.
fn way_by_tables<'a>(
    config: &'a Config,
    address: Option<IpAddr>,
    link: Option<&Link>,
) -> Vec<Option<&'a config::Node>> {
    let Some(link) = link else {
        return Vec::new();
    };
    let ip = |ip: Option<IpAddr>| config.node(NodeName::Ip(ip?));
    let first = config.node(NodeName::Mac(link.next_hop)).or(ip(link.via));
    let last = config.node(NodeName::Mac(link.node)).or(ip(address));
    match link.hops {
        Some(1) => vec![first.or(last)],
        Some(2) => vec![first, last],
        _ => vec![first],
    }
}

/// Works out H_cs, once for each radio and its surroundings.
#[derive(Default)]
pub struct Ranges {
    known: HashMap<(mp_radio, mp_reach), u32>,
    latest: HashMap<(mp_radio, mp_reach), u32>,
}

impl Ranges {
    /// 0: it cannot be told.
    fn h_cs(&mut self, radio: mp_radio, reach: mp_reach) -> u32 {
        let before = self.known.get(&(radio, reach)).copied();
        *self
            .latest
            .entry((radio, reach))
            .or_insert_with(|| before.unwrap_or_else(|| law::h_cs(&radio, &reach)))
    }

    /// All hosts were looked up: what none of them asked for is forgotten.
    pub fn keep_latest(&mut self) {
        self.known = std::mem::take(&mut self.latest);
    }

    /// The link to a host as the law takes it, and as it is shown. Without an address: to a host of
    /// which nothing is known.
    pub fn look_up(
        &mut self,
        config: &Config,
        address: Option<IpAddr>,
        link: Option<&Link>,
        hop: &FirstHop,
    ) -> (mp_link, mp_radio, Surroundings) {
        let mut around = Surroundings::gather(&config.radio, hop);
        let radio = around.radio(&config.radio);
        let (reach, distances) = reach(config, address, link);
        let h_cs = self.h_cs(radio, reach);
        (around.h_cs, around.h_cs_by) = match h_cs {
            0 => (intf::MP_H_CS_UNKNOWN, Range::Assumed),
            _ if radio.signal_dbm_q8 != 0 => (h_cs, Range::Signal),
            _ => (h_cs, Range::Distance),
        };
        around.distances = distances;
        let known = &reach.cm[..reach.known as usize];
        around.distances_m = known.iter().map(|cm| f64::from(*cm) / 100.0).collect();
        (around.link(h_cs), radio, around)
    }
}

/// Something that the law `map` does without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    pub what: String,
    pub cost: String,
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.cost)
    }
}

fn lack(what: &str, cost: &str) -> Lack {
    Lack {
        what: format!("{what} unknown"),
        cost: cost.into(),
    }
}

/// A figure as it is written: with its unit, and what told it where that is not the driver.
fn shown<T: std::fmt::Display>(figure: Option<Sourced<T>>, unit: &str) -> String {
    figure.map_or_else(
        || "unknown".into(),
        |figure| match figure.by {
            By::Config => format!("{} {unit} (configured)", figure.value),
            By::Driver => format!("{} {unit}", figure.value),
            By::Standard => format!("{} {unit} (by the standard)", figure.value),
        },
    )
}

impl Surroundings {
    /// In one line, for logs.
    pub fn summary(&self) -> String {
        format!(
            "H_cs {}, signal {}, T_cs {} dBm, power {}, frequency {}, control frames at {}, \
             cw {}, slot {}, RTS/CTS {}",
            self.h_cs,
            shown(self.signal_dbm, "dBm"),
            self.sense_dbm,
            shown(self.tx_power_dbm, "dBm"),
            shown(self.frequency_mhz, "MHz"),
            shown(self.base_mbps, "Mbit/s"),
            shown(self.cw, "slots"),
            shown(self.slot_us, "us"),
            match self.rts_cts.map(|figure| figure.value) {
                Some(true) => "on",
                Some(false) => "off",
                None => "unknown",
            }
        )
    }

    /// What nobody told, and what that costs. `heard`: signals of neighbours are known.
    pub fn lacks(&self, heard: bool) -> Vec<Lack> {
        let mut lacks = Vec::new();
        let signal = heard || self.signal_dbm.is_some();
        if !signal {
            lacks.push(lack(
                "signal of the next hop",
                match self.h_cs_by {
                    Range::Distance => "its attenuation comes from frequency and distance",
                    _ => "H_cs 3 assumed, as GAP; set radio.signal_dbm",
                },
            ));
        }
        if self.tx_power_dbm.is_none() {
            lacks.push(lack(
                "transmit power",
                match (signal, self.h_cs_by) {
                    (false, Range::Distance) => "0 dBm assumed; set radio.tx_power_dbm",
                    _ => "costs nothing as long as H_cs does not come from distances",
                },
            ));
        }
        if self.base_mbps.is_none() {
            lacks.push(lack(
                "bit rate of control frames",
                "their time is not counted; set radio.base_mbps, or radio.frequency_mhz",
            ));
        }
        if self.cw.is_none() || self.slot_us.is_none() {
            lacks.push(lack(
                "contention window or slot",
                "backoff is not counted; set radio.cw and radio.slot_us, or radio.frequency_mhz",
            ));
        }
        if self.rts_cts.is_none() {
            lacks.push(lack(
                "RTS threshold",
                "RTS/CTS taken to be off; set radio.rts_cts",
            ));
        }
        lacks
    }
}

#[cfg(test)]
#[path = "radio_tests.rs"]
mod tests;
