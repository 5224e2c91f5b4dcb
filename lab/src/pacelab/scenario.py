# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files: read, override, check, resolve.

A *document* is the TOML as written; a *resolved* scenario has every default filled in, every
topology laid out and is what the simulation runner takes.
"""

from __future__ import annotations

import copy
import re
import tomllib
from pathlib import Path
from typing import Any

from pacelab import topology
from pacelab.errors import InputError, nearest
from pacelab.schema import FOREIGN, LISTS, TCP, Key, Table, Where, check_document

WIRED_HOST = re.compile(r"B\d*")
MAX_BYTES = 1_000_000

# Of a BBR sender that says nothing else: with TCP's old defaults ns-3's BBR collapses.
BBR_DEFAULTS: Table = {"initial_window": 10, "min_rto_s": 1.0}


def read_document(file: str) -> Table:
    """The document in a TOML file; InputError when it cannot be read or parsed."""
    path = Path(file)
    if not path.exists():
        raise InputError(f"{file}: no such file; give the path of a scenario file")
    if path.is_dir():
        raise InputError(f"{file}: is a folder; give the path of a scenario file")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{file}: larger than {MAX_BYTES} bytes; give a scenario file")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); check its rights") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not UTF-8 text; give a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: is not TOML: {error}; correct it there") from None
    except RecursionError:
        raise InputError(f"{file}: is nested too deeply; give a scenario file") from None
    if not document:
        raise InputError(f"{file}: is empty; write a scenario, see docs/scenarios.md")
    return document


def parse_setting(text: str) -> tuple[str, Any]:
    """Splits KEY=VALUE; the value is TOML, or a bare string."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f'--set "{text}": is not KEY=VALUE; write for example mesh.hops=4')
    try:
        parsed = tomllib.loads(f"value = {value}")
        return key.strip(), parsed["value"] if set(parsed) == {"value"} else value
    except tomllib.TOMLDecodeError:
        return key.strip(), value


def override(document: Table, settings: Table, origin: str) -> Table:
    """A copy of the document with dotted keys set.

    ``flow.KEY`` sets every flow, ``flow.0.KEY`` and ``flow.NAME.KEY`` one; the same for nodes.
    """
    result = copy.deepcopy(document)
    for dotted, value in settings.items():
        parts = dotted.split(".")
        if len(parts) == 1:
            result[parts[0]] = value
        elif parts[0] in LISTS:
            for entry in _entries(result, parts, origin, dotted):
                entry[parts[-1]] = value
        elif len(parts) == 2:
            section = result.setdefault(parts[0], {})
            if not isinstance(section, dict):
                raise InputError(f"{origin}: {dotted}: {parts[0]} is no table; set {parts[0]}")
            section[parts[1]] = value
        else:
            raise InputError(f"{origin}: {dotted}: no such key; see docs/scenarios.md")
    return result


def _entries(document: Table, parts: list[str], origin: str, dotted: str) -> list[Table]:
    entries = [e for e in document.get(parts[0], []) if isinstance(e, dict)]
    if len(parts) == 2:
        return entries
    wanted = ".".join(parts[1:-1])
    if wanted.isdecimal() and int(wanted) < len(entries):
        return [entries[int(wanted)]]
    named = {
        _flow_name(e, i) if parts[0] == "flow" else str(e.get("name")): e
        for i, e in enumerate(entries)
    }
    if wanted not in named:
        names = [*named, *map(str, range(len(entries)))]
        raise InputError(f'{origin}: {dotted}: no {parts[0]} "{wanted}"; {nearest(wanted, names)}')
    return [named[wanted]]


def _flow_name(flow: Table, index: int) -> str:
    return str(flow.get("name", f"{str(flow.get('traffic', 'ftp')).upper()} {index + 1}"))


def resolve(document: Table, file: str) -> Table:
    """The resolved scenario of a document; InputError on any mistake."""
    where = Where(file)
    checked = check_document(document, file)
    if checked["warmup_s"] >= checked["duration_s"]:
        raise where.at("warmup_s").error(
            f"{checked['warmup_s']:g} leaves nothing of duration_s {checked['duration_s']:g}; "
            "give less"
        )
    if checked["radio"]["cs_range_m"] < checked["radio"]["tx_range_m"]:
        raise where.at("radio", "cs_range_m").error("is less than tx_range_m; give at least that")
    nodes = _nodes(checked, document, where)
    flows = _flows(checked, {n["name"] for n in nodes}, where)
    ends = {end for flow in flows for end in (flow["from"], flow["to"])}
    return {
        **{key: checked[key] for key in ("title", "duration_s", "warmup_s")},
        **{key: checked[key] for key in ("radio", "routing", "wired")},
        "nodes": nodes,
        "wired_hosts": sorted(ends - {n["name"] for n in nodes}, key=lambda b: int(b[1:] or 0)),
        "gateway": checked["gateway"],
        "flows": flows,
    }


def _nodes(checked: Table, document: Table, where: Where) -> list[topology.Node]:
    mesh = checked["mesh"]
    if mesh["topology"] == "nodes":
        nodes: list[topology.Node] = checked["node"]
        for key in ("hops", "spacing_m"):
            if key in document.get("mesh", {}):
                raise where.at("mesh", key).error('has no meaning with topology "nodes"; remove it')
        _check_nodes(nodes, where)
    else:
        if checked["node"]:
            raise where.at("node").error(
                f'has no meaning with topology "{mesh["topology"]}"; set mesh.topology = "nodes"'
            )
        layout = {"chain": topology.chain, "parallel": topology.parallel}[mesh["topology"]]
        nodes = layout(mesh["hops"], mesh["spacing_m"])
    lost = topology.unreachable(nodes, checked["radio"]["tx_range_m"])
    if lost:
        raise where.at("node" if mesh["topology"] == "nodes" else "mesh").error(
            f'the mesh is disconnected: "{lost[0]}" has no path to the gateway; '
            f"place nodes at most radio.tx_range_m = {checked['radio']['tx_range_m']:g} m apart"
        )
    return nodes


def _check_nodes(nodes: list[topology.Node], where: Where) -> None:
    if not nodes:
        raise where.at("node").error('topology "nodes" without nodes; write [[node]] tables')
    seen: set[str] = set()
    for i, entry in enumerate(nodes):
        here = where.at("node", str(i), "name")
        if entry["name"] in seen:
            raise here.error(f'"{entry["name"]}" is taken already; give another name')
        if WIRED_HOST.fullmatch(entry["name"]):
            raise here.error(f'"{entry["name"]}" means a wired host; give another name')
        seen.add(entry["name"])
    gateways = sum(entry["gateway"] for entry in nodes)
    if gateways != 1:
        raise where.at("node").error(
            f"the mesh has {gateways or 'no'} gateways; set gateway = true on exactly one node"
        )


def _flows(checked: Table, nodes: set[str], where: Where) -> list[Table]:
    if not checked["flow"]:
        raise where.at("flow").error("there is no flow; write at least one [[flow]] table")
    flows: list[Table] = []
    for i, stated in enumerate(checked["flow"]):
        here = where.at("flow", str(i))
        flow = _complete_flow(stated, checked["tcp"], i, here)
        if any(flow["name"] == other["name"] for other in flows):
            raise here.at("name").error(f'"{flow["name"]}" is taken already; give another name')
        _check_ends(flow, nodes, here)
        _check_traffic(flow, checked, here)
        flows.append(flow)
    return flows


def _complete_flow(stated: Table, tcp: Table, index: int, where: Where) -> Table:
    keys: dict[str, Key] = LISTS["flow"]
    flow = {name: key.default for name, key in keys.items() if name not in TCP} | tcp
    if stated.get("variant", tcp["variant"]) == "bbr":
        flow |= {k: v for k, v in BBR_DEFAULTS.items() if tcp[k] == TCP[k].default}
    flow |= stated
    flow["name"] = _flow_name(stated, index)
    if not flow["name"].strip():
        raise where.at("name").error("is empty; give a name")
    return flow


def _check_ends(flow: Table, nodes: set[str], where: Where) -> None:
    for key in ("from", "to"):
        if flow[key] not in nodes and not WIRED_HOST.fullmatch(flow[key]):
            remedy = nearest(flow[key], {*nodes, "B"})
            raise where.at(key).error(f'unknown node "{flow[key]}"; {remedy}')
    if flow["from"] == flow["to"]:
        raise where.at("to").error(f'"{flow["to"]}" is where the flow begins; give another node')
    if flow["from"] not in nodes and flow["to"] not in nodes:
        raise where.at("to").error("both ends are wired hosts; give a mesh node for one")
    if flow["from"] not in nodes and flow["law"] != "off":
        raise where.at("law").error(
            "the sender is a wired host, which the gateway paces; set gateway.law instead"
        )


def _check_traffic(flow: Table, checked: Table, where: Where) -> None:
    if flow["start_s"] >= checked["duration_s"]:
        raise where.at("start_s").error(
            f"{flow['start_s']:g} is not before the end at {checked['duration_s']:g}; give less"
        )
    if flow["traffic"] == "cbr" and flow["rate_kbps"] <= 0:
        raise where.at("rate_kbps").error("cbr needs a rate; give its payload in kbit/s")
    if flow["traffic"] != "cbr" and flow["rate_kbps"] > 0:
        raise where.at("rate_kbps").error('has a meaning for traffic = "cbr" only; remove it')
    if flow["traffic"] == "cbr" and flow["law"] != "off":
        raise where.at("law").error("cbr is not paced; remove the law")


def load(file: str, settings: Table | None = None) -> Table:
    """The resolved scenario of a file with overrides."""
    document = read_document(file)
    if settings:
        document = override(document, settings, "--set")
    return resolve({k: v for k, v in document.items() if k not in FOREIGN}, file)
