// SPDX-License-Identifier: GPL-2.0-only
//! What the first reading means to an operator.

use crate::error::{reason, Error};
use crate::finding::Finding;
use crate::tables::{Batman, MeshPoint, Tables};
use std::io;

const UNKNOWN_HOPS: &str = "hops come from the TTL of packets from the mesh";
const UNKNOWN_RATE: &str = "bit rates come from the configuration";

pub(crate) fn findings(
    mesh_if: &str,
    tables: &Tables,
    troubles: &[Error],
    echoes: &io::Result<()>,
) -> Vec<Finding> {
    let mut list: Vec<Finding> = tables.mesh_points.iter().flat_map(mesh_point).collect();
    list.extend(tables.batmen.iter().flat_map(batman));
    if !tables.batmen.is_empty() {
        list.push(echo(echoes));
    }
    if tables.found && tables.mesh_points.is_empty() && tables.batmen.is_empty() {
        list.push(Finding::missing(
            format!("no 802.11s and no batman-adv on {mesh_if} or below"),
            &format!("{UNKNOWN_HOPS}, {UNKNOWN_RATE}"),
            "set mbps in [default_path], or hops and mbps in [[host]]",
        ));
    }
    if tables.found {
        list.push(radio(mesh_if, tables));
    }
    list.extend(troubles.iter().map(trouble));
    list.dedup(); // one capability is missed by several tables
    list
}

fn mesh_point(point: &MeshPoint) -> Vec<Finding> {
    let name = &point.air.wireless.name;
    let peers = point.air.stations.values().filter(|s| s.peer).count();
    let mut list = vec![Finding::present(format!(
        "802.11s on {name}: hops and bit rates of its mesh ({} paths, {peers} neighbours)",
        point.paths.len()
    ))];
    let uncounted = point
        .paths
        .values()
        .filter(|path| path.hops.is_none())
        .count();
    if uncounted > 0 {
        list.push(Finding::missing(
            format!("no hop count in {uncounted} paths of {name}"),
            UNKNOWN_HOPS,
            "run Linux 5.2 or newer, or set hops in [[host]]; paths set by hand have none",
        ));
    }
    list
}

fn batman(batman: &Batman) -> Vec<Finding> {
    let Batman { name, mesh, .. } = batman;
    if mesh.own.is_none() {
        return vec![Finding::missing(
            format!("batman-adv on {name} has no active interface"),
            "nothing is known of its mesh",
            &format!("add one: ip link set WIFI master {name}, and set it up"),
        )];
    }
    let mut list = vec![Finding::present(format!(
        "batman-adv {} ({}) on {name}: next hops of {} nodes, {} clients",
        mesh.version,
        mesh.algorithm,
        batman.originators.len(),
        batman.clients.len()
    ))];
    let mut wired: Vec<&str> = batman
        .hard
        .values()
        .filter(|hard| hard.air.is_none())
        .map(|hard| hard.name.as_str())
        .collect();
    wired.sort_unstable();
    if !wired.is_empty() {
        list.push(Finding::missing(
            format!("{} below {name} is not Wi-Fi of this box", wired.join(", ")),
            &format!("no bit rate of the nodes behind it: {UNKNOWN_RATE}"),
            "set mbps in [default_path] or [[host]]",
        ));
    }
    list
}

fn echo(echoes: &io::Result<()>) -> Finding {
    match echoes {
        Ok(()) => Finding::present(
            "batman-adv echoes: hops of its nodes, three small packets a node and minute in use",
        ),
        Err(cause) => Finding::missing(
            format!("no batman-adv echoes: {}", reason(cause)),
            &format!("beyond the neighbours {UNKNOWN_HOPS}"),
            "run as root or with CAP_NET_RAW",
        ),
    }
}

fn radio(mesh_if: &str, tables: &Tables) -> Finding {
    let unit = |value: Option<String>| value.unwrap_or_else(|| "unknown".into());
    match tables.radio() {
        Some(radio) => Finding::present(format!(
            "radio {}: transmit power {}, frequency {}",
            radio.interface,
            unit(radio.tx_power_dbm.map(|dbm| format!("{dbm} dBm"))),
            unit(radio.frequency_mhz.map(|mhz| format!("{mhz} MHz")))
        )),
        None => Finding::missing(
            format!("no radio of this box below {mesh_if}"),
            "transmit power, frequency and signals are unknown",
            "",
        ),
    }
}

fn trouble(error: &Error) -> Finding {
    Finding::missing(
        format!("{}: {}", error.what(), reason(error.cause())),
        "hops or bit rates of hosts that only it knows are unknown",
        error.remedy().unwrap_or_default(),
    )
}
