# SPDX-License-Identifier: GPL-2.0-only
"""From ``[[flow]]`` as it stands to a flow with everything that it has, and what it cannot have."""

from __future__ import annotations

from pacelab.scenario.ends import check_ends
from pacelab.scenario.flows import (
    BBR_DEFAULTS,
    PACED,
    TRAFFIC_KEYS,
    Flow,
    Tcp,
    flow_name,
)
from pacelab.scenario.models import ScenarioFile
from pacelab.scenario.schema import Where
from pacelab.scenario.tcp_checks import check_tcp


def completed_flows(file: ScenarioFile, nodes: set[str], where: Where) -> list[Flow]:
    """The flows with the TCP, the law and the name that each has unless it states its own."""
    if not (file.flow or file.person or file.evening.persons):
        raise where.at("flow").error(
            "there is no flow and no person; write at least one [[flow]] or [[person]] table"
        )
    flows: list[Flow] = []
    for i, stated in enumerate(file.flow):
        here = where.at("flow", str(i))
        flow = _completed(stated, file.tcp, i, here)
        paced = flow.from_ in nodes and flow.traffic in PACED and not flow.opaque
        if not stated.stated("law") and paced:
            flow = flow.model_copy(update={"law": file.gateway.sender_law})
        if any(flow.name == other.name for other in flows):
            raise here.at("name").error(f'"{flow.name}" is taken already; give another name')
        check_ends(flow.from_, flow.to, nodes, here)
        _check_sender(flow, nodes, here)
        _check_traffic(flow, file.duration_s, here)
        check_tcp(flow, here)
        _check_idle(flow, file.duration_s, here)
        _check_receiver(flow, here)
        flows.append(flow)
    return flows


def _completed(stated: Flow, tcp: Tcp, index: int, where: Where) -> Flow:
    own = {key: getattr(tcp, key) for key in Tcp.model_fields if not stated.stated(key)}
    if own.get("variant", stated.variant) == "bbr":
        own |= {
            key: value
            for key, value in BBR_DEFAULTS.items()
            if key in own and own[key] == Tcp.model_fields[key].default
        }
    for key, traffic in TRAFFIC_KEYS.items():
        if stated.stated(key) and stated.traffic not in traffic:
            known = " and ".join(f'"{name}"' for name in traffic)
            raise where.at(key).error(f"has a meaning for traffic = {known} only; remove it")
    own_name = stated.name if stated.stated("name") else None
    name = flow_name(own_name, stated.traffic, index)
    return stated.model_copy(update={**own, "name": name})


def _check_sender(flow: Flow, nodes: set[str], where: Where) -> None:
    if flow.from_ not in nodes and flow.law != "off":
        raise where.at("law").error(
            "the sender is a wired host, which the gateway paces; set gateway.law instead"
        )


def _check_traffic(flow: Flow, duration_s: float, where: Where) -> None:
    if flow.start_s >= duration_s:
        raise where.at("start_s").error(
            f"{flow.start_s:g} is not before the end at {duration_s:g}; give less"
        )
    if flow.stop_s and flow.stop_s <= flow.start_s:
        raise where.at("stop_s").error(
            f"{flow.stop_s:g} is not after start_s {flow.start_s:g}; give more, or 0: never"
        )
    if flow.traffic == "cbr" and flow.rate_kbps <= 0:
        raise where.at("rate_kbps").error("cbr needs a rate; give its payload in kbit/s")
    if flow.law == "shaper" and flow.rate_kbps <= 0:
        raise where.at("rate_kbps").error("shaper needs a rate; give the payload in kbit/s")
    if flow.live_departures and flow.law in ("off", "shaper"):
        raise where.at("live_departures").error(
            "is for a sender that a law paces; give it a law, gap, ap, map or even"
        )
    if flow.traffic != "cbr" and flow.law != "shaper" and flow.rate_kbps > 0:
        raise where.at("rate_kbps").error(
            'has a meaning for traffic = "cbr" and law = "shaper" only; remove it'
        )
    if flow.law != "shaper" and flow.bucket != 1:
        raise where.at("bucket").error('has a meaning for law = "shaper" only; remove it')
    if flow.opaque and flow.law != "off":
        raise where.at("opaque").error("is QUIC, where no law is; remove it, or the law")
    if flow.traffic == "cbr" and flow.law != "off":
        raise where.at("law").error("cbr is not paced; remove the law")
    if flow.traffic == "http" and flow.law != "off":
        raise where.at("law").error("http is not paced where it begins; remove the law")


def _check_receiver(flow: Flow, where: Where) -> None:
    """That only somebody can lie who acknowledges by TCP, one ACK or none for each segment."""
    if flow.receiver == "honest":
        return
    if flow.opaque:
        raise where.at("receiver").error("lies by TCP, which opaque is not; remove it, or opaque")
    if flow.delayed_ack == "thinning":
        raise where.at("receiver").error("does not thin ACKs; remove it, or delayed_ack")


def _check_idle(flow: Flow, duration_s: float, where: Where) -> None:
    """That an idle time of a flow has a length, and begins while the flow is there."""
    if flow.idle_at_s and not flow.idle_s:
        raise where.at("idle_s").error("is missing; give how long the application is idle")
    if flow.idle_s and flow.idle_at_s < flow.start_s:
        raise where.at("idle_at_s").error(
            f"{flow.idle_at_s:g} is before start_s {flow.start_s:g}; give more"
        )
    if flow.idle_s and flow.idle_at_s >= min(flow.stop_s or duration_s, duration_s):
        raise where.at("idle_at_s").error(
            f"{flow.idle_at_s:g} is not before the flow stops, or the end; give less"
        )
