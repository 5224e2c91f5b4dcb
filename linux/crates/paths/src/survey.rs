// SPDX-License-Identifier: GPL-2.0-only
//! What the first reading means to an operator.

use crate::error::Error;
use crate::finding::Finding;
use crate::tables::{Air, Batman, Tables};
use meshpace_netlink::words::words;
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
        let (cost, remedy) = match tables.bare {
            Some(_) => (UNKNOWN_HOPS.into(), "set hops in [[host]]"),
            None => (
                format!("{UNKNOWN_HOPS}, {UNKNOWN_RATE}"),
                "set mbps in [default_path], or hops and mbps in [[host]]",
            ),
        };
        list.push(Finding::missing(
            format!("no 802.11s and no batman-adv on {mesh_if} or below"),
            &cost,
            remedy,
        ));
    }
    if tables.found {
        list.push(radio(mesh_if, tables));
    }
    list.extend(troubles.iter().map(trouble));
    list.dedup(); // one capability is missed by several tables
    list
}

fn mesh_point(air: &Air) -> Vec<Finding> {
    let name = &air.wireless.name;
    let peers = air.stations.values().filter(|s| s.peer).count();
    let mut list = vec![Finding::present(format!(
        "802.11s on {name}: hops and bit rates of its mesh ({} paths, {peers} neighbours)",
        air.paths.len()
    ))];
    let uncounted = air
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
            format!("no batman-adv echoes: {}", words(cause)),
            &format!("beyond the neighbours {UNKNOWN_HOPS}"),
            "run as root or with CAP_NET_RAW",
        ),
    }
}

fn radio(mesh_if: &str, tables: &Tables) -> Finding {
    let unit = |value: Option<String>| value.unwrap_or_else(|| "unknown".into());
    match tables.air().map(Air::radio) {
        Some(radio) => Finding::present(format!(
            "radio {}: transmit power {}, frequency {}",
            radio.interface,
            unit(
                radio
                    .tx_power_mbm
                    .map(|mbm| format!("{} dBm", f64::from(mbm) / 100.0))
            ),
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
        format!("{}: {}", error.what(), words(error.cause())),
        "hops or bit rates of hosts that only it knows are unknown",
        error.remedy().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::tests::{air, batman};

    fn present(list: &[Finding], part: &str) -> bool {
        let found = list.iter().find(|f| f.what.contains(part));
        let found = found.unwrap_or_else(|| panic!("nothing about {part} in {list:?}"));
        // What is missing says what that costs.
        assert!(found.present || found.cost.is_some(), "{found:?}");
        found.present
    }

    fn denied<T>() -> io::Result<T> {
        Err(io::Error::from_raw_os_error(libc::EPERM))
    }

    #[test]
    fn a_mesh_under_each_protocol_is_found() {
        let tables = Tables {
            found: true,
            mesh_points: vec![air()],
            batmen: vec![batman()],
            ..Tables::default()
        };
        let list = findings("br0", &tables, &[], &Ok(()));
        for part in [
            "802.11s on mesh0",
            "batman-adv 2022.3",
            "echoes",
            "radio mesh0",
        ] {
            assert!(present(&list, part), "{part}");
        }
        assert!(!present(&list, "eth1 below bat0 is not Wi-Fi"));
        assert!(!present(&list, "no hop count in 1 paths"), "node 5's");
        assert_eq!(list.len(), 6);
    }

    #[test]
    fn what_is_missing_is_said_once() {
        let tables = Tables {
            found: true,
            batmen: vec![batman()],
            ..Tables::default()
        };
        let error = || Error::new("batman-adv tables of bat0", denied::<()>().unwrap_err());
        let list = findings("bat0", &tables, &[error(), error()], &denied());
        assert!(!present(
            &list,
            "no batman-adv echoes: Operation not permitted"
        ));
        let said = list.iter().filter(|f| f.what.contains("tables of bat0"));
        let said: Vec<_> = said.collect();
        assert_eq!(said.len(), 1);
        assert!(said[0].remedy.as_ref().unwrap().contains("CAP_NET_ADMIN"));
    }

    #[test]
    fn an_interface_without_mesh_falls_back_to_ttl() {
        let mut tables = Tables {
            found: true,
            ..Tables::default()
        };
        let list = findings("eth1", &tables, &[], &Ok(()));
        assert!(!present(&list, "no 802.11s and no batman-adv on eth1"));
        assert!(!present(&list, "no radio"));
        tables.bare = Some(air());
        assert!(present(
            &findings("wlan0", &tables, &[], &Ok(())),
            "radio mesh0"
        ));
    }

    #[test]
    fn no_interface_is_all_there_is_to_say() {
        let error = Error::new(
            "mesh interface bat7",
            io::Error::from_raw_os_error(libc::ENODEV),
        );
        let list = findings("bat7", &Tables::default(), &[error], &Ok(()));
        assert!(!present(&list, "mesh interface bat7: No such device"));
        assert_eq!(list.len(), 1);
    }
}
