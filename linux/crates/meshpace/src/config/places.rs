// SPDX-License-Identifier: GPL-2.0-only
//! `[[node]]`: where mesh nodes stand. Known distances replace the law `map`'s assumption that all
//! hops are equally long (MAP eq. 6).
use std::net::IpAddr;

use meshpace_paths::Mac;
use serde::Deserialize;

use super::in_range;

/// As many nodes of a way as core/ looks at.
pub const MOST_HOPS: usize = crate::kernel::intf::MP_REACH_HOPS as usize;

const EARTH_RADIUS_M: f64 = 6_371_000.0;

/// A mesh node's name in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum NodeName {
    /// "self": this box
    This,
    Ip(IpAddr),
    Mac(Mac),
}

impl TryFrom<String> for NodeName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == "self" {
            return Ok(Self::This);
        }
        let ip = text.parse::<IpAddr>();
        let ip = ip.map(|ip| Self::Ip(ip.to_canonical())).ok();
        ip.or_else(|| text.parse().map(Self::Mac).ok())
            .ok_or_else(|| {
                format!("'{text}' is no node; write 10.1.0.2, fd00::2, 02:00:00:00:00:01 or self")
            })
    }
}

impl std::fmt::Display for NodeName {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::This => f.write_str("self"),
            Self::Ip(ip) => ip.fmt(f),
            Self::Mac(mac) => mac.fmt(f),
        }
    }
}

/// Metres on a plane, or degrees on the globe; all nodes alike.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub address: NodeName,
    x_m: Option<f64>,
    y_m: Option<f64>,
    latitude: Option<f64>,
    longitude: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Plane { x_m: f64, y_m: f64 },
    Globe { latitude: f64, longitude: f64 },
}

impl Node {
    fn place(&self) -> Option<Place> {
        match (self.x_m, self.y_m, self.latitude, self.longitude) {
            (Some(x_m), Some(y_m), None, None) => Some(Place::Plane { x_m, y_m }),
            (None, None, Some(latitude), Some(longitude)) => Some(Place::Globe {
                latitude,
                longitude,
            }),
            _ => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        let name = format!("node {}", self.address);
        match self.place() {
            Some(Place::Plane { x_m, y_m }) => {
                in_range(&format!("{name}: x_m"), x_m, -1e6, 1e6)?;
                in_range(&format!("{name}: y_m"), y_m, -1e6, 1e6)
            }
            Some(Place::Globe {
                latitude,
                longitude,
            }) => {
                in_range(&format!("{name}: latitude"), latitude, -90.0, 90.0)?;
                in_range(&format!("{name}: longitude"), longitude, -180.0, 180.0)
            }
            None => Err(format!(
                "{name} has no place; give x_m and y_m, or latitude and longitude"
            )),
        }
    }

    /// Where it is from another, east and north, cm; None when one is on a plane, one on the globe.
    pub fn from(&self, origin: &Node) -> Option<(i32, i32)> {
        let (east_m, north_m) = match (origin.place()?, self.place()?) {
            (Place::Plane { x_m: x0, y_m: y0 }, Place::Plane { x_m, y_m }) => (x_m - x0, y_m - y0),
            (
                Place::Globe {
                    latitude: lat0,
                    longitude: lon0,
                },
                Place::Globe {
                    latitude,
                    longitude,
                },
            ) => {
                // Flat between the two, at the latitude halfway: within 0.1% up to some 100 km.
                let middle = ((latitude + lat0) / 2.0).to_radians();
                let turn = (longitude - lon0 + 540.0).rem_euclid(360.0) - 180.0;
                let east_m = turn.to_radians() * middle.cos() * EARTH_RADIUS_M;
                (east_m, (latitude - lat0).to_radians() * EARTH_RADIUS_M)
            }
            _ => return None,
        };
        let cm = |metres: f64| (metres * 100.0).round() as i32;
        Some((cm(east_m), cm(north_m)))
    }
}

/// All nodes together.
pub(super) fn check(nodes: &[Node]) -> Result<(), String> {
    for (n, node) in nodes.iter().enumerate() {
        node.check()?;
        let before = &nodes[..n];
        if before.iter().any(|other| other.address == node.address) {
            return Err(format!("node {} is there twice; keep one", node.address));
        }
        if before
            .first()
            .is_some_and(|first| node.from(first).is_none())
        {
            return Err(format!(
                "node {} has degrees and another metres; place all alike",
                node.address
            ));
        }
    }
    if !nodes.is_empty() && !nodes.iter().any(|node| node.address == NodeName::This) {
        return Err("no [[node]] is this box itself; add one with address = \"self\"".into());
    }
    Ok(())
}

/// Lengths of the hops on the way to a host, or the nodes there, in order; not both.
pub(super) fn check_way(
    host: &str,
    hop_m: &[f64],
    way: &[NodeName],
    nodes: &[Node],
) -> Result<(), String> {
    if !hop_m.is_empty() && !way.is_empty() {
        return Err(format!("{host}: hop_m and way both say where; keep one"));
    }
    if hop_m.len().max(way.len()) > MOST_HOPS {
        return Err(format!("{host}: hop_m, way: give {MOST_HOPS} hops at most"));
    }
    for metres in hop_m {
        in_range(&format!("{host}: hop_m"), *metres, 0.1, 100_000.0)?;
    }
    for name in way {
        if *name == NodeName::This || !nodes.iter().any(|node| node.address == *name) {
            return Err(format!(
                "{host}: way: '{name}' is no [[node]] on the way; add its place, or leave it out"
            ));
        }
    }
    Ok(())
}
