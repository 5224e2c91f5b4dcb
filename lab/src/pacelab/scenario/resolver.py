# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: a document is checked and resolved.

A *document* (document.py) is the TOML as written; a *resolved* scenario has every default filled
in, every topology laid out and is what the simulation runner takes.
"""

from __future__ import annotations

import re

from pacelab.errors import nearest
from pacelab.scenario import roaming, topology
from pacelab.scenario.document import flow_name, override, read_document
from pacelab.scenario.keys import (
    CONTROL_MBPS,
    DATA_MBPS,
    FOREIGN,
    HTTP,
    LAW_DEFAULTS,
    LISTS,
    MODEL_KEYS,
    MOST_MCS,
    RANGE_STANDARDS,
    RULES,
    STANDARD_KEYS,
    TCP,
    TRAFFIC_KEYS,
    check_document,
)
from pacelab.scenario.outages import check_idle, check_outages
from pacelab.scenario.pings import check_pings
from pacelab.scenario.schema import Key, Table, Where

# What [mesh] may say beside the topology.
MESH_KEYS = {
    "chain": ("hops", "spacing_m"),
    "parallel": ("hops", "spacing_m"),
    "cross": ("hops", "spacing_m"),
    "grid": ("rows", "columns", "spacing_m"),
    "random": ("nodes", "gateways", "width_m", "height_m", "reach_m", "topology_seed"),
    "nodes": (),
}

WIRED_HOST = re.compile(r"B\d*")

# Variants whose window grows by ACKs unless told otherwise.
BYTE_COUNTING = ("newreno", "vegas", "westwood")

# Traffic that a law can pace where it begins.
PACED = ("ftp", "files")

# Of a BBR sender that says nothing else: with TCP's old defaults ns-3's BBR collapses.
BBR_DEFAULTS: Table = {"initial_window": 10, "min_rto_s": 1.0}


def resolve(document: Table, file: str, *, emulated: bool = False) -> Table:
    """The resolved scenario of a document; InputError on any mistake.

    Only an ``emulated`` scenario may have web pages.
    """
    where = Where(file)
    checked = check_document(document, file)
    if checked["warmup_s"] >= checked["duration_s"]:
        raise where.at("warmup_s").error(
            f"{checked['warmup_s']:g} leaves nothing of duration_s {checked['duration_s']:g}; "
            "give less"
        )
    _complete_radio(checked["radio"], document.get("radio", {}), where.at("radio"))
    nodes = _nodes(checked, document, where)
    roaming.check_olsr(checked, document.get("routing", {}), where)
    roaming.check_clients(checked, where)
    flows = _flows(checked, {n["name"] for n in nodes}, where)
    _complete_gateway(checked["gateway"], document.get("gateway", {}), where.at("gateway"))
    links = _links(checked, {n["name"] for n in nodes}, where)
    _check_gateways(checked, nodes, flows, where)
    if not emulated:
        _check_simulated(flows, where)
    for i, ping in enumerate(checked["ping"]):
        _check_ends(ping, {n["name"] for n in nodes}, where.at("ping", str(i)))
    check_pings(checked, where)
    check_outages(checked, {n["name"] for n in nodes}, where)
    ends = {end for one in (*flows, *checked["ping"]) for end in (one["from"], one["to"])}
    return {
        **{key: checked[key] for key in ("title", "duration_s", "warmup_s")},
        **{key: checked[key] for key in ("radio", "routing", "wired")},
        "nodes": nodes,
        "clients": roaming.clients(checked),
        "links": links,
        "wired_hosts": sorted(ends - {n["name"] for n in nodes}, key=lambda b: int(b[1:] or 0)),
        "gateway": {k: v for k, v in checked["gateway"].items() if k != "sender_law"},
        "map": checked["map"],
        "flows": flows,
        "pings": checked["ping"],
        "outages": checked["outage"],
    }


def _complete_radio(radio: Table, stated: Table, where: Where) -> None:
    """Fills in the defaults that standard and rules have; checks what only some radios know."""
    radio |= {k: v for k, v in RULES[radio["rules"]].items() if k not in stated}
    for key, model in MODEL_KEYS.items():
        if key in stated and radio["model"] != model:
            raise where.at(key).error(
                f'has no meaning with model "{radio["model"]}"; remove it, or set model = "{model}"'
            )
    if radio["cs_range_m"] < radio["tx_range_m"]:
        raise where.at("cs_range_m").error("is less than tx_range_m; give at least that")
    if radio["cts_ignores_nav"] and radio["cts_when_idle"]:
        raise where.at("cts_when_idle").error("excludes cts_ignores_nav; set one of them")
    _check_standard(radio, stated, where)


def _check_standard(radio: Table, stated: Table, where: Where) -> None:
    """Also fills in the bit rate that a standard has unless another is stated."""
    standard = radio["standard"]
    if radio["model"] == "range" and standard not in RANGE_STANDARDS:
        raise where.at("standard").error(
            f'"{standard}" is not simulated with model "range"; set model = "sinr"'
        )
    for key, standards in STANDARD_KEYS.items():
        if key in stated and standard not in standards:
            raise where.at(key).error(
                f"has no meaning with {standard}, only with {' and '.join(standards)}; remove it"
            )
    rates = DATA_MBPS.get(standard, ())
    if rates and "data_mbps" not in stated:
        radio["data_mbps"] = rates[0]
    if rates and radio["data_mbps"] not in rates:
        ready = ", ".join(f"{rate:g}" for rate in rates)
        raise where.at("data_mbps").error(f"{standard} has no such bit rate; use {ready}")
    _check_control(radio, stated, where)
    if radio["mcs"] > MOST_MCS.get(standard, radio["mcs"]):
        raise where.at("mcs").error(
            f"{standard} has none such of one stream; give at most {MOST_MCS[standard]}"
        )


def _check_control(radio: Table, stated: Table, where: Where) -> None:
    """Bit rates of control and broadcast frames; fills in 802.11g's of the range radio."""
    standard = radio["standard"]
    ofdm = standard == "802.11g"
    for key in ("control_mbps", "broadcast_mbps"):
        if key in stated and ofdm and radio["model"] != "range":
            raise where.at(key).error(
                'has no meaning with 802.11g and model "sinr", which has 6 Mbit/s; remove it'
            )
        if stated.get(key) and radio[key] not in CONTROL_MBPS[standard]:
            ready = ", ".join(f"{rate:g}" for rate in CONTROL_MBPS[standard])
            raise where.at(key).error(f"{standard} has no such basic bit rate; use {ready}")
    if ofdm and radio["model"] == "range" and "control_mbps" not in stated:
        radio["control_mbps"] = CONTROL_MBPS[standard][0]


def _nodes(checked: Table, document: Table, where: Where) -> list[topology.Node]:
    mesh = checked["mesh"]
    for key in document.get("mesh", {}):
        if key != "topology" and key not in MESH_KEYS[mesh["topology"]]:
            raise where.at("mesh", key).error(
                f'has no meaning with topology "{mesh["topology"]}"; remove it'
            )
    if mesh["topology"] == "nodes":
        nodes: list[topology.Node] = checked["node"]
        _check_nodes(nodes, where)
    else:
        if checked["node"]:
            raise where.at("node").error(
                f'has no meaning with topology "{mesh["topology"]}"; set mesh.topology = "nodes"'
            )
        nodes = _layout(mesh, checked["radio"], where.at("mesh"))
    nodes = nodes + roaming.client_nodes(checked)
    _check_names(nodes, len(nodes) - len(checked["client"]), where)
    if checked["radio"]["model"] != "range":
        return nodes  # how far a node reaches is the simulator's to tell
    lost = topology.unreachable(nodes, checked["radio"]["tx_range_m"])
    if lost:
        raise where.at("node" if mesh["topology"] == "nodes" else "mesh").error(
            f'the mesh is disconnected: "{lost[0]}" has no path to the gateway; '
            f"place nodes at most radio.tx_range_m = {checked['radio']['tx_range_m']:g} m apart"
        )
    return nodes


def _layout(mesh: Table, radio: Table, where: Where) -> list[topology.Node]:
    if mesh["topology"] == "grid":
        return topology.grid(mesh["rows"], mesh["columns"], mesh["spacing_m"])
    if mesh["topology"] != "random":
        layout = {
            "chain": topology.chain,
            "parallel": topology.parallel,
            "cross": topology.cross,
        }[mesh["topology"]]
        return layout(mesh["hops"], mesh["spacing_m"])
    if mesh["gateways"] >= mesh["nodes"]:
        raise where.at("gateways").error(
            f"{mesh['gateways']} of {mesh['nodes']} nodes leave none to reach; give less"
        )
    if not mesh["reach_m"] and radio["model"] != "range":
        raise where.at("reach_m").error(
            "the sinr radio has no range to draw a mesh by; give the most between neighbours"
        )
    reach_m = mesh["reach_m"] or radio["tx_range_m"]
    area_m = (mesh["width_m"], mesh["height_m"])
    seed = mesh["topology_seed"]
    nodes = topology.random_nodes(mesh["nodes"], mesh["gateways"], area_m, reach_m, seed)
    if nodes is None:
        raise where.error(
            f"{mesh['nodes']} nodes on {area_m[0]:g} m x {area_m[1]:g} m are not connected over "
            f"hops of {reach_m:g} m in {topology.DRAWS} draws; give more nodes, or a smaller area"
        )
    return nodes


def _check_nodes(nodes: list[topology.Node], where: Where) -> None:
    if not nodes:
        raise where.at("node").error('topology "nodes" without nodes; write [[node]] tables')
    if not any(entry["gateway"] for entry in nodes):
        raise where.at("node").error(
            "the mesh has no gateway; set gateway = true on at least one node"
        )


def _check_names(nodes: list[topology.Node], clients_from: int, where: Where) -> None:
    """That all names differ; the nodes from ``clients_from`` on are the clients."""
    seen: set[str] = set()
    for i, entry in enumerate(nodes):
        place = ("node", str(i)) if i < clients_from else ("client", str(i - clients_from))
        here = where.at(*place, "name")
        if entry["name"] in seen:
            raise here.error(f'"{entry["name"]}" is taken already; give another name')
        if WIRED_HOST.fullmatch(entry["name"]):
            raise here.error(f'"{entry["name"]}" means a wired host; give another name')
        seen.add(entry["name"])


def _flows(checked: Table, nodes: set[str], where: Where) -> list[Table]:
    if not checked["flow"]:
        raise where.at("flow").error("there is no flow; write at least one [[flow]] table")
    flows: list[Table] = []
    for i, stated in enumerate(checked["flow"]):
        here = where.at("flow", str(i))
        flow = _complete_flow(stated, checked["tcp"], i, here)
        if "law" not in stated and flow["from"] in nodes and flow["traffic"] in PACED:
            flow["law"] = checked["gateway"]["sender_law"]
        if any(flow["name"] == other["name"] for other in flows):
            raise here.at("name").error(f'"{flow["name"]}" is taken already; give another name')
        _check_ends(flow, nodes, here)
        _check_sender(flow, nodes, here)
        _check_traffic(flow, checked, here)
        _check_byte_counting(flow, here)
        check_idle(flow, checked, here)
        flows.append(flow)
    return flows


def _complete_flow(stated: Table, tcp: Table, index: int, where: Where) -> Table:
    keys: dict[str, Key] = LISTS["flow"]
    flow = {name: key.default for name, key in keys.items() if name not in TCP} | tcp
    if stated.get("variant", tcp["variant"]) == "bbr":
        flow |= {k: v for k, v in BBR_DEFAULTS.items() if tcp[k] == TCP[k].default}
    flow |= stated
    for key, traffic in TRAFFIC_KEYS.items():
        if key in stated and flow["traffic"] not in traffic:
            known = " and ".join(f'"{name}"' for name in traffic)
            raise where.at(key).error(f"has a meaning for traffic = {known} only; remove it")
    if flow["traffic"] != "http":
        flow = {key: value for key, value in flow.items() if key not in HTTP}
    flow["name"] = flow_name(stated, index)
    if not flow["name"].strip():
        raise where.at("name").error("is empty; give a name")
    return flow


def _check_ends(of: Table, nodes: set[str], where: Where) -> None:
    """That a flow or a ping leads from one place to another, not past the mesh."""
    for key in ("from", "to"):
        if of[key] not in nodes and not WIRED_HOST.fullmatch(of[key]):
            remedy = nearest(of[key], {*nodes, "B"})
            raise where.at(key).error(f'unknown node "{of[key]}"; {remedy}')
    if of["from"] == of["to"]:
        raise where.at("to").error(f'"{of["to"]}" is where it begins; give another node')
    if of["from"] not in nodes and of["to"] not in nodes:
        raise where.at("to").error("both ends are wired hosts; give a mesh node for one")


def _check_sender(flow: Table, nodes: set[str], where: Where) -> None:
    if flow["from"] not in nodes and flow["law"] != "off":
        raise where.at("law").error(
            "the sender is a wired host, which the gateway paces; set gateway.law instead"
        )


def _complete_gateway(gateway: Table, stated: Table, where: Where) -> None:
    """Fills in the defaults that the law has for itself; checks what only some laws know."""
    law = gateway["law"]
    gateway |= {k: v for k, v in LAW_DEFAULTS.get(law, {}).items() if k not in stated}
    if law == "shaper" and gateway["rate_kbps"] <= 0:
        raise where.at("rate_kbps").error("shaper needs a rate; give each flow's payload in kbit/s")
    for key in ("rate_kbps", "bucket"):
        if law != "shaper" and key in stated:
            raise where.at(key).error('has a meaning for law = "shaper" only; remove it')
    if law != "off" and gateway["queueing"]:
        raise where.at("queueing").error(
            f"packets wait as the law {law} has them; remove it, or turn the law off"
        )


def _links(checked: Table, nodes: set[str], where: Where) -> list[Table]:
    """The links with bit rates of their own."""
    links: list[Table] = []
    standard = checked["radio"]["standard"]
    rates = DATA_MBPS.get(standard, ())
    for i, link in enumerate(checked["link"]):
        here = where.at("link", str(i))
        if not rates:
            raise here.error(f"links of {standard} have one bit rate; remove it")
        ends = link["between"]
        named = all(isinstance(end, str) for end in ends)
        if not named or len(ends) != 2 or ends[0] == ends[1]:
            raise here.at("between").error('does not name two nodes; give such as ["IG", "RL1"]')
        for end in ends:
            if end not in nodes:
                remedy = nearest(end, nodes)
                raise here.at("between").error(f'unknown mesh node "{end}"; {remedy}')
        if link["mbps"] not in rates:
            ready = ", ".join(f"{rate:g}" for rate in rates)
            raise here.at("mbps").error(f"{standard} has no such bit rate; use {ready}")
        if any({one["from"], one["to"]} == set(ends) for one in links):
            raise here.at("between").error("this link has a bit rate already; remove one")
        links.append({"from": ends[0], "to": ends[1], "mbps": link["mbps"]})
    return links


def _check_gateways(
    checked: Table, nodes: list[topology.Node], flows: list[Table], where: Where
) -> None:
    """That flows name gateways, each wired host one; and that AODV can do with them."""
    gateways = [n["name"] for n in nodes if n["gateway"]]
    if checked["routing"]["protocol"] == "aodv":
        here = where.at("routing", "protocol")
        if len(gateways) > 1:
            raise here.error(
                f'"aodv" knows one gateway, not {len(gateways)}; use "static" or "olsr"'
            )
    if checked["routing"]["protocol"] != "static" and checked["radio"]["radios"] > 1:
        raise where.at("routing", "protocol").error(
            f'"{checked["routing"]["protocol"]}" knows one radio a node, not 2; use "static"'
        )
    mesh = {n["name"] for n in nodes}
    named: dict[str, str] = {}
    for i, flow in enumerate(flows):
        if not flow["via"]:
            continue
        here = where.at("flow", str(i), "via")
        if checked["routing"]["protocol"] == "olsr":
            raise here.error("OLSR chooses the gateway; remove it")
        if flow["via"] not in gateways:
            raise here.error(f'"{flow["via"]}" is no gateway; {nearest(flow["via"], gateways)}')
        hosts = {flow["from"], flow["to"]} - mesh
        if not hosts:
            raise here.error("the flow has no wired end; remove it")
        host = hosts.pop()
        if named.setdefault(host, flow["via"]) != flow["via"]:
            raise here.error(
                f'wired host "{host}" hangs behind "{named[host]}" by another flow; '
                "give both the same, or two hosts"
            )


def _check_simulated(flows: list[Table], where: Where) -> None:
    for i, flow in enumerate(flows):
        if flow["traffic"] == "http":
            raise where.at("flow", str(i), "traffic").error(
                '"http" is not simulated; run it with pacelab emulate'
            )


def _check_byte_counting(flow: Table, where: Where) -> None:
    if flow["byte_counting"] and flow["variant"] not in BYTE_COUNTING:
        known = ", ".join(BYTE_COUNTING)
        raise where.at("byte_counting").error(
            f'has no meaning for variant "{flow["variant"]}", only for {known}; remove it'
        )


def _check_traffic(flow: Table, checked: Table, where: Where) -> None:
    if flow["start_s"] >= checked["duration_s"]:
        raise where.at("start_s").error(
            f"{flow['start_s']:g} is not before the end at {checked['duration_s']:g}; give less"
        )
    if flow["stop_s"] and flow["stop_s"] <= flow["start_s"]:
        raise where.at("stop_s").error(
            f"{flow['stop_s']:g} is not after start_s {flow['start_s']:g}; give more, or 0: never"
        )
    if flow["traffic"] == "cbr" and flow["rate_kbps"] <= 0:
        raise where.at("rate_kbps").error("cbr needs a rate; give its payload in kbit/s")
    if flow["law"] == "shaper" and flow["rate_kbps"] <= 0:
        raise where.at("rate_kbps").error("shaper needs a rate; give the payload in kbit/s")
    if flow["traffic"] != "cbr" and flow["law"] != "shaper" and flow["rate_kbps"] > 0:
        raise where.at("rate_kbps").error(
            'has a meaning for traffic = "cbr" and law = "shaper" only; remove it'
        )
    if flow["law"] != "shaper" and flow["bucket"] != 1:
        raise where.at("bucket").error('has a meaning for law = "shaper" only; remove it')
    if flow["traffic"] == "cbr" and flow["law"] != "off":
        raise where.at("law").error("cbr is not paced; remove the law")
    if flow["traffic"] == "http" and flow["law"] != "off":
        raise where.at("law").error("http is not paced where it begins; remove the law")


def load(file: str, settings: Table | None = None, *, emulated: bool = False) -> Table:
    """The resolved scenario of a file with overrides."""
    document = read_document(file)
    if settings:
        document = override(document, settings, "--set")
    document = {k: v for k, v in document.items() if k not in FOREIGN}
    return resolve(document, file, emulated=emulated)
