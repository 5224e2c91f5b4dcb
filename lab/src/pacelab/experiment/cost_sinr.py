# SPDX-License-Identifier: GPL-2.0-only
"""What a simulation of the sinr radio costs: CPU seconds, from the packets that its links carry.

Span by span in which the same flows and persons are there: a packet costs ``PACKET_S`` a hop, its
ACKs and its part of an aggregate included, and ``HEARD_S`` for every node that hears it, whether it
can decode it or not. A bulk flow keeps the channel busy; who asks for less gets what he asks for.
The constants are measured: 2 cores of an AMD EPYC, 802.11n with Minstrel-HT, chains of one to four
hops, a tree of nine nodes, thirteen at random places. The quick ``day-*`` take .89 to 1.19 times as
long as estimated (results/cost); a single run with BBR under a law up to 1.5 times.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pacelab.experiment.demand import asked_per_s
from pacelab.results.solo import BULK_ACTIVITIES
from pacelab.scenario.flows import Flow
from pacelab.scenario.mesh import Node
from pacelab.scenario.models import Scenario
from pacelab.scenario.people import ResolvedPerson
from pacelab.scenario.radio import MOST_MCS, Radio

PACKET_S = 31e-6
HEARD_S = 3.3e-6
# How much longer a packet takes for each doubling of the links' queues that flows share: what waits
# for one neighbour goes as one aggregate, and the more queues there are the shorter those get.
SHORTER_AGGREGATES = 0.15
# Goodput over one hop by the bit rate where that is fixed, and by what Shannon has for the link's
# signal where rate control chooses it.
OF_BIT_RATE = 0.7
OF_SHANNON = 0.32

# Mbit/s of one stream over 20 MHz by MCS, guard interval 800 ns (IEEE 802.11-2020, 19.5 and 21.5;
# 802.11ax has those of 802.11ac within a fifth), and subcarriers by width.
MCS_MBPS = (6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0, 78.0, 86.7, 97.5, 108.3)
SUBCARRIERS = {20: 52, 40: 108, 80: 234}

# As in sim/runner/sinr-phy.h, sinr-links.cc, and ns-3's YansWifiPhy.
BOLTZMANN_J_PER_K, ROOM_K, NOISE_FIGURE_DB = 1.38e-23, 290.0, 7.0
LIGHT_M_PER_S, CHANNEL_HZ = 299_792_458.0, {"802.11b": 2.412e9, "802.11g": 2.412e9}
CHANNEL_5GHZ_HZ = 5.18e9
PREAMBLE_SNR_DB = 4.0
HEARD_DBM = -101.0


@dataclass(frozen=True)
class _Demand:
    """A flow or a person: its path, packets a second (infinite: bulk), and when it is there.

    ``hop_bps`` is what one of its hops carries while all others are silent.
    """

    hops: int
    hop_bps: float
    segment_bytes: int
    packets_per_s: float
    spans: Sequence[tuple[float, float]]

    def there(self, at_s: float) -> bool:
        return any(begin <= at_s < end for begin, end in self.spans)


def run_s(scenario: Scenario) -> float:
    """Roughly what a run costs, without its start, CPU seconds."""
    demands = _demands(scenario)
    cuts = {0.0, scenario.duration_s, *(s for d in demands for span in d.spans for s in span)}
    packet_s = PACKET_S + HEARD_S * _heard(scenario)
    total = 0.0
    for begin, end in pairwise(sorted(c for c in cuts if c <= scenario.duration_s)):
        there = [demand for demand in demands if demand.there(begin)]
        queues = max(sum(demand.hops for demand in there), 1)
        packets = _hop_packets_per_s(there)
        total += (end - begin) * packets * packet_s * (1 + SHORTER_AGGREGATES * math.log2(queues))
    return total


def _hop_packets_per_s(there: Sequence[_Demand]) -> float:
    """Packets a second, each counted at every hop: what is asked for, or what the channel carries.

    Relays take turns with those that they hear and collide with those that they do not: over
    one to four hops a saturated flow's packets, counted so, fall as one by the root of the hops.
    """
    bulk = [d for d in there if math.isinf(d.packets_per_s)]
    busy = [d.hop_bps / 8 / d.segment_bytes / math.sqrt(d.hops) for d in bulk or there]
    asked = sum(d.packets_per_s * d.hops for d in there)
    return min(asked, sum(busy) / max(len(busy), 1))


def _demands(scenario: Scenario) -> list[_Demand]:
    index = {node.name: i for i, node in enumerate(scenario.nodes)}
    gateways = {i for i, node in enumerate(scenario.nodes) if node.gateway}
    airtimes = _airtimes(scenario)
    found = []
    for flow in scenario.flows:
        via = {index[flow.via]} if flow.via else gateways
        begin, end = ({index[e]} if e in index else via for e in (flow.from_, flow.to))
        found.append(_of_flow(flow, _path(airtimes, begin, end), scenario))
    for person in scenario.people:
        path = _path(airtimes, gateways, {index[person.node]})
        found.append(_of_person(person, path, scenario))
    return found


def _of_flow(flow: Flow, path: tuple[int, float], scenario: Scenario) -> _Demand:
    rate = flow.rate_kbps * 1e3 / 8 / flow.segment_bytes
    packets = rate if flow.traffic == "cbr" else math.inf
    stop_s = flow.stop_s or scenario.duration_s
    spans = _spans(flow.start_s, stop_s, flow.idle_at_s, flow.idle_s)
    return _Demand(path[0], _hop_bps(scenario.radio, *path), flow.segment_bytes, packets, spans)


def _of_person(person: ResolvedPerson, path: tuple[int, float], scenario: Scenario) -> _Demand:
    bulk = BULK_ACTIVITIES & set(person.does)
    packets = math.inf if bulk else asked_per_s(person.does, scenario.wired.mbps)
    stop_s = person.stop_s or scenario.duration_s
    spans = _spans(person.start_s, stop_s, person.pause_at_s, person.pause_s)
    return _Demand(path[0], _hop_bps(scenario.radio, *path), person.segment_bytes, packets, spans)


def _spans(
    start_s: float, stop_s: float, pause_at_s: float, pause_s: float
) -> list[tuple[float, float]]:
    """From start to stop, without a pause."""
    if not pause_s:
        return [(start_s, stop_s)]
    return [(start_s, pause_at_s), (pause_at_s + pause_s, stop_s)]


def _power_dbm(radio: Radio, distance_m: float) -> float:
    hz = CHANNEL_HZ.get(radio.standard, CHANNEL_5GHZ_HZ)
    first_db = 20 * math.log10(4 * math.pi * hz / LIGHT_M_PER_S)
    distance_db = 10 * radio.path_loss_exponent * math.log10(max(distance_m, 1.0))
    return radio.tx_power_dbm - first_db - distance_db


def _shannon_bps(radio: Radio, distance_m: float) -> float:
    """What a link could carry; 0 where no preamble is found."""
    hz = radio.channel_mhz * 1e6
    noise_dbm = 10 * math.log10(BOLTZMANN_J_PER_K * ROOM_K * hz * 1e3) + NOISE_FIGURE_DB
    snr_db = _power_dbm(radio, distance_m) - noise_dbm
    return hz * math.log2(1 + 10 ** (snr_db / 10)) if snr_db >= PREAMBLE_SNR_DB else 0.0


def _airtimes(scenario: Scenario) -> list[dict[int, float]]:
    """Of each node, its neighbours and how long a bit takes to them, s: routes are chosen by it."""
    nodes = scenario.nodes
    found: list[dict[int, float]] = []
    for here in nodes:
        bps = [_shannon_bps(scenario.radio, _distance_m(here, other)) for other in nodes]
        found.append({i: 1 / b for i, b in enumerate(bps) if b > 0 and nodes[i] is not here})
    return found


def _distance_m(one: Node, other: Node) -> float:
    return math.dist((one.x_m, one.y_m), (other.x_m, other.y_m))


def _path(
    airtimes: Sequence[dict[int, float]], begin: set[int], end: set[int]
) -> tuple[int, float]:
    """The links of the path of least airtime, and that, s a bit (Dijkstra 1959).

    Where there is none, one link over which nothing ever comes.
    """
    queue = [(0.0, 0, i) for i in sorted(begin)]
    done: set[int] = set()
    while queue:
        so_far_s, hops, here = heapq.heappop(queue)
        if here in end and hops > 0:
            return hops, so_far_s
        if here not in done:
            done.add(here)
            for other, airtime_s in airtimes[here].items():
                heapq.heappush(queue, (so_far_s + airtime_s, hops + 1, other))
    return 1, math.inf


def _hop_bps(radio: Radio, hops: int, airtime_s: float) -> float:
    """Goodput of one hop of a path that takes so long for a bit."""
    if radio.standard in CHANNEL_HZ:
        return OF_BIT_RATE * radio.data_mbps * 1e6
    wider = SUBCARRIERS[radio.channel_mhz] / SUBCARRIERS[20]
    minstrel = radio.rate_control == "minstrel"
    mcs = MOST_MCS[radio.standard] if minstrel else radio.mcs
    most_bps = OF_BIT_RATE * MCS_MBPS[mcs] * 1e6 * wider
    return min(OF_SHANNON * hops / airtime_s, most_bps) if minstrel else most_bps


def _heard(scenario: Scenario) -> float:
    """How many nodes a frame reaches on average, its sender included."""
    nodes, radio = scenario.nodes, scenario.radio
    heard = sum(
        _power_dbm(radio, _distance_m(one, other)) >= HEARD_DBM for one in nodes for other in nodes
    )
    return heard / len(nodes)
