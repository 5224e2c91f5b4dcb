# SPDX-License-Identifier: GPL-2.0-only
"""From a resolved scenario to what Linux has to be told; refuses what real kernels cannot do."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

from pacelab.emulation.ready import Port, RadioKeys
from pacelab.errors import InputError
from pacelab.results.runs import Direction
from pacelab.scenario.flows import Flow, Tcp
from pacelab.scenario.gateway import Gateway
from pacelab.scenario.models import Scenario
from pacelab.scenario.radio import AGGREGATING
from pacelab.scenario.schema import Table

CONGESTION_CONTROLS = {"newreno": "reno", "cubic": "cubic", "bbr": "bbr"}
GATEWAY_LAWS = ("off", "gap", "map", "even")
SENDER_LAWS = ("off", "gap", "map", "even")
RELEASES = ("nfqueue", "htb", "auto")
BUFFER_PER_WINDOW = 4  # Linux at first takes half of a buffer for payload
QUEUEINGS = ("fifo", "fq_codel")
MAP_AS_PUBLISHED = {
    "positions": False,
    "least_h_cs": 1,
    "past_end": False,
    "link_in_oid": False,
    "link_learnt": False,
}
MOST_DELAYED_ACK = 2  # Linux: every segment (quickack), or every second one
FIRST_PORT = 5201
HEADER_BYTES = 40
TIMESTAMP_BYTES = 12
MOST_SEGMENT_BYTES = 1460
# Routes carry these of a flow's keys, so flows between the same two hosts share them.
PER_ROUTE = (
    "advertised_window",
    "segment_bytes",
    "initial_window",
    "delayed_ack",
    "min_rto_s",
)
# Hosts carry these, for all their flows.
PER_HOST = ("sack", "timestamps")


@dataclass(frozen=True)
class FlowPlan:
    """A flow of the scenario as Linux runs it."""

    name: str
    sender: str
    receiver: str
    port: int
    direction: Direction
    congestion_control: str
    flow: Flow


def gateway_name(scenario: Scenario) -> str:
    """The mesh node that is the gateway."""
    return next(n.name for n in scenario.nodes if n.gateway)


def linux_nodes(scenario: Scenario) -> list[str]:
    """Who is a namespace: the gateway, mesh ends, wired hosts."""
    ends = {end for flow in scenario.flows for end in (flow.from_, flow.to)}
    mesh = [n.name for n in scenario.nodes if n.gateway or n.name in ends]
    return mesh + scenario.wired_hosts


def tcp_flows(scenario: Scenario) -> list[Flow]:
    """The flows that TCP's knobs are for."""
    return [flow for flow in scenario.flows if flow.traffic != "cbr"]


def paced_senders(scenario: Scenario) -> list[str]:
    """Mesh ends whose flows the law paces where they begin."""
    return sorted({f.from_ for f in scenario.flows if f.law != "off"})


def _direction(flow: Flow, scenario: Scenario) -> Direction:
    if flow.from_ in scenario.wired_hosts:
        return "down"
    return "up" if flow.to in scenario.wired_hosts else "mesh"


def flow_plans(scenario: Scenario) -> list[FlowPlan]:
    """All flows, each with a port of its own."""
    return [
        FlowPlan(
            flow.name,
            flow.from_,
            flow.to,
            FIRST_PORT + i,
            _direction(flow, scenario),
            "meshpace" if flow.law != "off" else CONGESTION_CONTROLS[flow.variant],
            flow,
        )
        for i, flow in enumerate(scenario.flows)
    ]


def check(scenario: Scenario) -> None:
    """InputError, in one line, for what the simulation can do and real kernels cannot."""
    _one_of(scenario.gateway.law, GATEWAY_LAWS, "gateway.law", "meshpace gateway has")
    _one_of(scenario.gateway.release, RELEASES, "gateway.release", "meshpace gateway has")
    gateways = [n.name for n in scenario.nodes if n.gateway]
    if len(gateways) > 1:
        raise InputError(
            f"node: {len(gateways)} gateways are not emulated; make only one node a gateway"
        )
    if scenario.routing.protocol == "olsr":
        raise InputError('routing.protocol: "olsr" is not emulated; use "static" or "aodv"')
    if scenario.clients:
        raise InputError("client: a client that walks is not emulated; remove it")
    if scenario.radio.radios > 1:
        raise InputError("radio.radios: two radios a node are not emulated; give 1")
    _check_queueing(scenario)
    for key in ("queueing", "link_rates", "omit"):
        if getattr(scenario.gateway, key) not in ("", "single"):
            raise InputError(f"gateway.{key}: is not emulated; remove it")
    for key, value in MAP_AS_PUBLISHED.items():
        if getattr(scenario.map, key) != value:
            raise InputError(
                f"map.{key}: is not emulated; meshpace has MAP as published, remove it"
            )
    for key, there in (("ping", scenario.pings), ("person", scenario.people)):
        if there:
            raise InputError(f"{key}: simulated only; remove it, or use pacelab run")
    shared: dict[object, Table] = {}
    of_host: dict[tuple[str, str], bool] = {}
    for i, flow in enumerate(scenario.flows):
        _check_flow(flow, f"flow.{i}")
        if flow.traffic == "cbr":
            continue
        routes = {key: getattr(flow, key) for key in PER_ROUTE}
        known = shared.setdefault(frozenset((flow.from_, flow.to)), routes)
        for key in PER_ROUTE:
            if known[key] != routes[key]:
                raise InputError(
                    f"flow.{i}.{key}: another flow between the same hosts has {known[key]}; "
                    "Linux keeps it per route, give both the same"
                )
        for end, key in itertools.product((flow.from_, flow.to), PER_HOST):
            own = getattr(flow, key)
            if of_host.setdefault((end, key), own) != own:
                raise InputError(
                    f'flow.{i}.{key}: another flow of "{end}" has {of_host[end, key]}; '
                    "Linux keeps it per host, give both the same"
                )


def _check_queueing(scenario: Scenario) -> None:
    """A TAP has the fifo of a radio without aggregates; ns-3 has fq_codel, behind static routes."""
    radio = scenario.radio
    if radio.queueing not in QUEUEINGS:
        known = '" or "'.join(QUEUEINGS)
        raise InputError(f'radio.queueing: "{radio.queueing}" is not emulated; use "{known}"')
    if radio.queueing == "fifo" and radio.model == "sinr" and radio.standard in AGGREGATING:
        raise InputError(
            f'radio.queueing: "fifo" over {radio.standard} is not emulated; use "fq_codel"'
        )
    if radio.queueing != "fifo" and scenario.routing.protocol != "static":
        raise InputError(
            f'radio.queueing: "{radio.queueing}" is emulated with static routes only; '
            'set routing.protocol = "static"'
        )


def _check_flow(flow: Flow, where: str) -> None:
    _one_of(flow.law, SENDER_LAWS, f"{where}.law", "meshpace sender has")
    if flow.idle_s:
        raise InputError(f"{where}.idle_s: simulated only; remove it, or use pacelab run")
    if flow.opaque:
        raise InputError(f"{where}.opaque: simulated only; remove it, or use pacelab run")
    if flow.receiver != "honest":
        raise InputError(f"{where}.receiver: simulated only; remove it, or use pacelab run")
    if flow.live_departures:
        raise InputError(
            f"{where}.live_departures: is not emulated: Linux fixes a departure when the packet "
            "before leaves; remove it, or use pacelab run"
        )
    _one_of(flow.variant, tuple(CONGESTION_CONTROLS), f"{where}.variant", "Linux here has")
    if flow.law != "off" and flow.variant != "newreno":
        raise InputError(
            f'{where}.variant: "{flow.variant}" under a law is not emulated: '
            'meshpace sender has NewReno\'s window; use "newreno"'
        )
    if flow.traffic == "files":
        raise InputError(f'{where}.traffic: "files" is not emulated; use "ftp", "cbr" or "http"')
    if flow.byte_counting:
        raise InputError(f"{where}.byte_counting: is not emulated; remove it")
    if flow.delayed_ack_s != Tcp.model_fields["delayed_ack_s"].default:
        raise InputError(f"{where}.delayed_ack_s: is not emulated, Linux has its own; remove it")
    if flow.delayed_ack == "thinning" or flow.delayed_ack > MOST_DELAYED_ACK:
        raise InputError(
            f"{where}.delayed_ack: {flow.delayed_ack} is not emulated: "
            f"Linux delays by at most {MOST_DELAYED_ACK} segments; give 1 or 2"
        )


def _one_of(value: str, known: tuple[str, ...], where: str, who: str) -> None:
    if value not in known:
        names = ", ".join(f'"{name}"' for name in known)
        raise InputError(f'{where}: "{value}" is not emulated: {who} {names}; use one of them')


def sysctls(scenario: Scenario, node: str) -> dict[str, str]:
    """Of a node's namespace, set before it has an interface.

    The buffer never limits a flow. Linux makes its window of how much of the buffer is payload,
    which depends on how packets happen to be merged; the sender is bound instead (``window.py``).
    """
    flows = [f for f in tcp_flows(scenario) if node in (f.from_, f.to)]
    windows = [f.advertised_window * f.segment_bytes for f in flows if f.to == node]
    buffer = str(BUFFER_PER_WINDOW * max(windows, default=65535))
    values = {
        "net.ipv6.conf.all.disable_ipv6": "1",
        "net.ipv6.conf.default.disable_ipv6": "1",
        "net.ipv4.ip_forward": "1",
        "net.ipv4.tcp_timestamps": "1" if flows and flows[0].timestamps else "0",
        "net.ipv4.tcp_no_metrics_save": "1",
        # Else the kernel would make the buffer smaller than the window at first.
        "net.ipv4.tcp_moderate_rcvbuf": "0",
        "net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}",
        "net.ipv4.tcp_sack": "1" if all(f.sack for f in flows) else "0",
    }
    for which in ("all", "default"):
        values |= {
            f"net.ipv4.conf.{which}.rp_filter": "0",
            f"net.ipv4.conf.{which}.send_redirects": "0",
            f"net.ipv4.conf.{which}.accept_redirects": "0",
        }
    if any(f.law != "off" and f.from_ == node for f in flows):
        values["net.ipv4.tcp_tso_rtt_log"] = "0"
    return values


def _advertised_segment_bytes(flow: Flow) -> int:
    """Of the option that bounds a segment, in which timestamps are counted (RFC 6691)."""
    if not flow.timestamps:
        return flow.segment_bytes
    return min(flow.segment_bytes + TIMESTAMP_BYTES, MOST_SEGMENT_BYTES)


def route_words(flow: Flow) -> list[str]:
    """What a route between the two ends of a flow tells TCP."""
    return [
        # As many segments under way as the receiver's window would let out.
        *("cwnd", "lock", str(flow.advertised_window)),
        *("advmss", str(_advertised_segment_bytes(flow))),
        *("initcwnd", str(flow.initial_window)),
        *("rto_min", f"{round(flow.min_rto_s * 1000)}ms"),
        *(["quickack", "1"] if flow.delayed_ack == 1 else []),
    ]


def gateway_toml(scenario: Scenario, hosts: list[Port]) -> str:
    """Configuration of ``meshpace gateway``; hosts: the port of each mesh end, as the mesh says."""
    gateway = scenario.gateway
    # What keeps the fast from starving the slow: one switch of the scenario, two of the program.
    control = "shares" if gateway.law == "even" else "goodput_control"
    lines = [
        f'law = "{gateway.law}"',
        f"{control} = {str(gateway.goodput_control).lower()}",
        *(_shares_toml(gateway) if gateway.law == "even" else []),
        f"local_retransmission = {str(gateway.local_retransmission).lower()}",
        f"delay_bound_ms = {gateway.delay_bound_s * 1e3:.3f}",
        f"delay_bound_means = {gateway.delay_bound_means}",
    ]
    for host in hosts:
        lines += [
            "",
            "[[host]]",
            f'address = "{host["address"]}"',
            f"hops = {host['hops']}",
            f"mbps = {host['mbps']}",
            *_rights_toml(gateway, host["node"]),
        ]
    if gateway.law == "map":
        lines += radio_toml([host["radio_at_gateway"] for host in hosts], "gateway.law")
    return "\n".join(lines) + "\n"


def _shares_toml(gateway: Gateway) -> list[str]:
    return [f'fairness = "{gateway.fairness}"', f"least_kbps = {gateway.least_kbps}"]


def _rights_toml(gateway: Gateway, node: str) -> list[str]:
    """What a node may have beside the others, where the scenario says so."""
    stated = {"weight": gateway.host_weight, "least_kbps": gateway.host_least_kbps}
    return [f"{key} = {of[node]}" for key, of in stated.items() if node in of]


def radio_toml(radios: list[RadioKeys], where: str) -> list[str]:
    """``[radio]`` as the simulated radio has it; InputError when next hops are not alike."""
    if any(radio != radios[0] for radio in radios):
        raise InputError(
            f'{where}: "map" is emulated with one signal for all next hops of a node; '
            "place them equally far"
        )
    return ["", "[radio]", *(f"{key} = {json.dumps(value)}" for key, value in radios[0].items())]
