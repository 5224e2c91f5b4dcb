// SPDX-License-Identifier: GPL-2.0-only
//! For `doctor`: what on this machine hides packets from the gateway, or has them wait beside it.
use meshpace_paths::{candidates, Evidence, Interfaces};

use crate::base::errors::Result;
use crate::base::system;
use crate::setup::{clsact, unseen};
use crate::show::control;
use crate::show::doctor::{finding, Finding, Grade};
use crate::show::status::Status;

const OFFLOAD: &str = "flow offload";
const OFFLOAD_OFF: &str = "switch it off (OpenWrt: uci set firewall.@defaults[0].flow_offloading=0, and flow_offloading_hw=0, then \
                           service firewall restart; else take the flowtable out of the firewall's rules)";
const SHAPER: &str = "shaper";
const ACK_FILTER: &str = "ACK filter";
const TUNNEL: &str = "tunnel";
const FILTERS: &str = "filters in front";

/// All of it; `mesh` as far as it is named.
pub fn findings(mesh: Option<&str>) -> Vec<Finding> {
    let mut list = flow_offload();
    let qdiscs = system::run("tc", &["qdisc", "show"]);
    if let Some(mesh) = mesh {
        list.push(hardware(mesh, system::run("ethtool", &["-k", mesh])));
        let kind = Interfaces::open().and_then(|mut interfaces| interfaces.named(mesh));
        list.push(shaper(
            mesh,
            kind.ok()
                .flatten()
                .map_or_else(String::new, |found| found.qdisc),
        ));
        list.push(filters(mesh, clsact::before_ours(mesh)));
        list.push(tunnel(mesh, &tunnels(mesh), control::ask(Some(mesh)).ok()));
    }
    list.push(ack_filter(qdiscs));
    list
}

/// Flows that bypass the qdiscs bypass the law.
fn flow_offload() -> Vec<Finding> {
    let nftables = system::run("nft", &["list", "flowtables"]);
    let rules =
        ["iptables-save", "ip6tables-save"].map(|tool| system::run(tool, &[]).unwrap_or_default());
    let found = offload_of(nftables.as_deref().unwrap_or_default(), &rules.concat());
    vec![match (found, nftables) {
        (Some(found), _) => finding(OFFLOAD, Grade::Missing, found, format!("offloaded flows bypass qdiscs and netfilter: they go unpaced, and unseen; {OFFLOAD_OFF}")),
        (None, Ok(_)) => finding(OFFLOAD, Grade::Ok, "none", ""),
        (None, Err(_)) => finding(OFFLOAD, Grade::Note, "not known (no nft)", "flowtables would bypass the law"),
    }]
}

/// What offloads flows, by what nft and iptables-save print.
fn offload_of(flowtables: &str, rules: &str) -> Option<String> {
    // `devices = { eth0, br-lan }`, and `flags offload` where the hardware forwards.
    let devices = flowtables
        .lines()
        .filter_map(|line| line.trim().strip_prefix("devices = "));
    let devices: Vec<_> = devices
        .map(|list| list.trim_matches(|c| "{}; ".contains(c)))
        .collect();
    let in_hardware = flowtables.contains("flags offload") || rules.contains("FLOWOFFLOAD --hw");
    let by = match (
        flowtables.contains("flowtable"),
        rules.contains("FLOWOFFLOAD"),
    ) {
        (false, false) => return None,
        (true, _) if devices.is_empty() => "flowtables are in use".into(),
        (true, _) => format!("flowtables are in use, of {}", devices.join(", ")),
        (false, true) => "iptables has FLOWOFFLOAD".to_string(),
    };
    Some(format!(
        "{by}{}",
        if in_hardware {
            "; in hardware, too"
        } else {
            ""
        }
    ))
}

/// Filters and flows that a network card carries out.
fn hardware(mesh: &str, features: Result<String>) -> Finding {
    const WHAT: &str = "hardware offload";
    match features {
        Err(_) => finding(WHAT, Grade::Note, "not known (no ethtool)", format!("what the card forwards by itself goes unpaced; see: ethtool -k {mesh}")),
        Ok(features) if has_hw_tc(&features) => finding(
            WHAT,
            Grade::Missing,
            format!("hw-tc-offload of {mesh} is on"),
            format!("packets that the card forwards by itself are neither seen nor paced; ethtool -K {mesh} hw-tc-offload off"),
        ),
        Ok(_) => finding(WHAT, Grade::Ok, format!("none on {mesh}"), ""),
    }
}

fn has_hw_tc(features: &str) -> bool {
    features
        .lines()
        .any(|line| line.trim().starts_with("hw-tc-offload: on"))
}

/// A shaper on the mesh interface itself: what waits in it looks like a wait in the mesh.
fn shaper(mesh: &str, root: String) -> Finding {
    match root.as_str() {
        "cake" | "cake_mq" | "htb" | "hfsc" | "tbf" => finding(
            SHAPER,
            Grade::Missing,
            format!("{mesh} has {root} as its root qdisc"),
            format!(
                "what waits in it counts as waiting in the mesh, and its rate is not the mesh's: two shapers in a row, of which the slower \
                 decides; take it off {mesh} (tc qdisc del dev {mesh} root; OpenWrt: SQM off for it), on the wired side it may stay"
            ),
        ),
        _ => finding(SHAPER, Grade::Ok, format!("none on {mesh}"), ""),
    }
}

/// What they let pass at once does not come by the programs, unless these are attached by tcx.
fn filters(mesh: &str, fronts: Result<[Vec<u16>; 2]>) -> Finding {
    let fronts = match fronts {
        Ok(fronts) => fronts,
        Err(error) => return finding(FILTERS, Grade::Note, format!("not known: {error:#}"), ""),
    };
    let of = |(at, list): (&str, &Vec<u16>)| {
        (!list.is_empty()).then(|| unseen::in_front(mesh, at, list))
    };
    let mut told = ["ingress", "egress"]
        .into_iter()
        .zip(&fronts)
        .filter_map(of);
    match told.next() {
        None => finding(FILTERS, Grade::Ok, format!("none on {mesh}"), ""),
        Some(told) => finding(
            FILTERS,
            Grade::Note,
            told,
            "what it lets pass with the action `ok`, or sends elsewhere, is neither seen nor paced, unless the programs are attached by tcx",
        ),
    }
}

/// ACKs that are thrown away on the way teach nothing, and tell no sender anything.
fn ack_filter(qdiscs: Result<String>) -> Finding {
    let Ok(qdiscs) = qdiscs else {
        return finding(
            ACK_FILTER,
            Grade::Note,
            "not known (no tc)",
            "CAKE with ack-filter would throw away ACKs that carry RTT_wired",
        );
    };
    match filtering(&qdiscs).as_slice() {
        [] => finding(ACK_FILTER, Grade::Ok, "none", ""),
        devices => finding(
            ACK_FILTER,
            Grade::Missing,
            format!("CAKE on {} has ack-filter", devices.join(", ")),
            "it throws away ACKs, with the RTT_wired in them and what they would teach of round trips: rates follow late; \
             tc qdisc change dev IF root cake no-ack-filter (OpenWrt SQM: without ack-filter in its options)",
        ),
    }
}

/// Interfaces whose qdisc filters ACKs, by what `tc qdisc show` prints.
fn filtering(qdiscs: &str) -> Vec<&str> {
    let filters = |words: &[&str]| words.iter().any(|word| word.starts_with("ack-filter"));
    let lines = qdiscs
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let devices = lines.filter(|words| filters(words)).filter_map(|words| {
        let at = words.iter().position(|word| *word == "dev")?;
        words.get(at + 1).copied()
    });
    devices.collect()
}

fn tunnels(mesh: &str) -> Vec<String> {
    let found = candidates().unwrap_or_default();
    let tunnels = found
        .into_iter()
        .filter(|c| c.evidence == Evidence::Tunnel && c.name != mesh);
    tunnels.map(|candidate| candidate.name).collect()
}

/// Packets without one of TCP among them: a page takes some hundred, so that nobody has loaded ten. What hosts say by
/// themselves to find each other is fewer in the first minutes.
const CARRIED: u64 = 1000;

/// Where the mesh's hosts are reached through a tunnel over the mesh interface, that carries nothing but its packets.
fn tunnel(mesh: &str, tunnels: &[String], running: Option<Status>) -> Finding {
    let names = tunnels.join(", ");
    let count = |status: &Status, name: &str| status.counters.get(name).copied().unwrap_or(0);
    let hides = running
        .as_ref()
        .is_some_and(|now| count(now, "tcp") == 0 && count(now, "other") >= CARRIED);
    match (tunnels, hides) {
        ([], false) => finding(TUNNEL, Grade::Ok, "none beside the mesh interface", ""),
        ([], true) => finding(
            TUNNEL,
            Grade::Note,
            format!("{mesh} carries packets, and no TCP"),
            "a VPN of the mesh hosts' would hide their flows: each is then one host that gets datagrams; end it on this box, and name it: --mesh IF",
        ),
        (_, true) => finding(
            TUNNEL,
            Grade::Missing,
            format!("{mesh} carries no TCP, and {names} is here"),
            format!("the tunnel hides the mesh: all hosts behind it look like one that gets datagrams; name it as mesh interface: --mesh {names}"),
        ),
        (_, false) => finding(
            TUNNEL,
            Grade::Note,
            format!("{names} beside {mesh}"),
            format!("if it runs over {mesh}, hosts behind it look like one that gets datagrams; then name it as mesh interface: --mesh {names}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::errors::anyhow;

    #[test]
    fn flows_that_are_offloaded_are_found() {
        let nft = "table inet fw4 {\n\tflowtable ft {\n\t\thook ingress priority filter\n\t\tdevices = { eth0, mesh0 }\n\t\tflags offload\n\t}\n}\n";
        assert_eq!(
            offload_of(nft, "").unwrap(),
            "flowtables are in use, of eth0, mesh0; in hardware, too"
        );
        let soft = nft.replace("\t\tflags offload\n", "");
        assert_eq!(
            offload_of(&soft, "").unwrap(),
            "flowtables are in use, of eth0, mesh0"
        );
        let rules = "-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j FLOWOFFLOAD";
        assert_eq!(offload_of("", rules).unwrap(), "iptables has FLOWOFFLOAD");
        let in_hardware = format!("{rules} --hw");
        assert_eq!(
            offload_of("", &in_hardware).unwrap(),
            "iptables has FLOWOFFLOAD; in hardware, too"
        );
        assert_eq!(offload_of("", "-A FORWARD -j ACCEPT"), None);
    }

    #[test]
    fn what_the_card_does_is_found() {
        let features = "Features for mesh0:\nrx-checksumming: on\nhw-tc-offload: on\n";
        assert!(hardware("mesh0", Ok(features.into())).grade == Grade::Missing);
        let off = features.replace("hw-tc-offload: on", "hw-tc-offload: off [fixed]");
        assert!(hardware("mesh0", Ok(off)).grade == Grade::Ok);
        assert!(hardware("mesh0", Err(anyhow!("no ethtool"))).grade == Grade::Note);
    }

    #[test]
    fn shapers_and_filters_of_acks_are_found() {
        assert!(shaper("mesh0", "cake".into()).grade == Grade::Missing);
        assert!(shaper("mesh0", "fq_codel".into()).grade == Grade::Ok);
        let qdiscs = "qdisc noqueue 0: dev lo root refcnt 2\n\
                      qdisc cake 8001: dev eth0 root refcnt 2 bandwidth 20Mbit diffserv3 nat no-ack-filter split-gso\n\
                      qdisc cake 8002: dev ifb4eth1 root refcnt 2 bandwidth 2Mbit ack-filter split-gso\n\
                      qdisc cake 8003: dev mesh0 root bandwidth 2Mbit ack-filter-aggressive\n";
        assert_eq!(filtering(qdiscs), ["ifb4eth1", "mesh0"]);
        let found = ack_filter(Ok(qdiscs.into()));
        assert!(found.grade == Grade::Missing && found.found.contains("ifb4eth1, mesh0"));
    }

    #[test]
    fn filters_in_front_are_told() {
        assert!(filters("mesh0", Ok([vec![], vec![]])).grade == Grade::Ok);
        let found = filters("mesh0", Ok([vec![], vec![1]]));
        assert!(found.grade == Grade::Note && found.found.contains("priority 1 is asked"));
        assert!(found.found.contains("egress"), "{}", found.found);
    }

    #[test]
    fn a_tunnel_that_hides_the_mesh_is_found() {
        let counted = |tcp, other| {
            let counters = [("tcp".to_string(), tcp), ("other".to_string(), other)];
            Some(Status {
                counters: counters.into(),
                ..Status::default()
            })
        };
        let wg0 = ["wg0".to_string()];
        assert!(tunnel("bat0", &wg0, counted(0, 9000)).grade == Grade::Missing);
        assert!(tunnel("bat0", &wg0, counted(9, 9000)).grade == Grade::Note);
        assert!(tunnel("bat0", &wg0, counted(0, 9)).grade == Grade::Note);
        assert!(tunnel("bat0", &wg0, None).grade == Grade::Note);
        assert!(tunnel("bat0", &[], counted(0, 9000)).grade == Grade::Note);
        assert!(tunnel("bat0", &[], counted(0, 0)).grade == Grade::Ok);
    }
}
