# SPDX-License-Identifier: GPL-2.0-only
"""What a simulation will cost: CPU seconds, from the frames that its channel can carry.

Almost all of a run's time goes into frames and into those who sense them. So the estimate counts
frames: as many as fit on the air where the flows' paths are, or as many as the flows ask for,
whichever is less; each costs ``FRAME_S``, and ``SENSED_S`` for every node that senses it. Both are
measured (2 cores of an AMD EPYC), and so is how busy flows keep a channel (``BUSY``). The estimate
is good to a factor of 1.5 for most scenarios. The sinr radio has an estimate of its own
(``cost_sinr``): aggregates cost otherwise than frames.
"""

from __future__ import annotations

import math
from collections import deque

from pacelab.experiment import cost_sinr
from pacelab.experiment.demand import asked_per_s
from pacelab.scenario.flows import Flow
from pacelab.scenario.mesh import Node
from pacelab.scenario.models import Scenario
from pacelab.scenario.people import ResolvedPerson
from pacelab.scenario.radio import Radio

START_S = 0.15  # of the process
FRAME_S = 16e-6
SENSED_S = 3.2e-6
# The part of a saturated channel that is in use: at low bit rates timeouts leave it idle; a flow of
# files has its slow starts and its pauses.
BUSY = {1.0: 0.65, 2.0: 0.65}
BUSY_WITH_FILES = 0.5
THINNED = 4  # segments an ACK, when ACKs are thinned
# IEEE 802.11: preamble with header, slot, SIFS, contention window and control frames' rate.
DSSS = {"preamble_us": 192.0, "slot_us": 20.0, "sifs_us": 10.0, "window": 31}
OFDM = {"preamble_us": 20.0, "slot_us": 9.0, "sifs_us": 16.0, "window": 15}
OFDM_CONTROL_MBPS = 6.0
RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14
HEADERS_BYTES = 36 + 20  # of a frame with LLC, and IP
TCP_BYTES = 20


def cpu_s(scenario: Scenario) -> float:
    """Roughly what one run of a resolved scenario costs, in CPU seconds."""
    duration_s = scenario.duration_s
    if scenario.radio.model != "range":
        return START_S + cost_sinr.run_s(scenario)
    nodes = scenario.nodes
    positions = [(n.x_m, n.y_m) for n in nodes]
    paths = _paths(scenario, nodes, positions)
    active = sorted({i for path in paths for i in path})
    sensing_m = scenario.radio.cs_range_m
    crowd = _mean_within(positions, active, active, sensing_m)
    sensed = _mean_within(positions, active, list(range(len(positions))), sensing_m)
    saturated = _frames_per_s(scenario) * max(len(active) / crowd, 1.0) * scenario.radio.radios
    flows, people = paths[: len(scenario.flows)], paths[len(scenario.flows) :]
    wanted = sum(
        _wanted_frames_per_s(scenario, flow, len(path) - 1)
        for flow, path in zip(scenario.flows, flows, strict=True)
    )
    wanted += sum(
        _asked_frames_per_s(scenario, person, len(path) - 1)
        for person, path in zip(scenario.people, people, strict=True)
    )
    frames = min(saturated, wanted)
    return START_S + duration_s * frames * (FRAME_S + SENSED_S * sensed)


def _mean_within(
    positions: list[tuple[float, float]], of: list[int], among: list[int], range_m: float
) -> float:
    """How many of some nodes, oneself included, stand within a range, on average."""
    count = sum(math.dist(positions[i], positions[j]) <= range_m for i in of for j in among)
    return count / max(len(of), 1)


def _paths(
    scenario: Scenario, nodes: list[Node], positions: list[tuple[float, float]]
) -> list[list[int]]:
    """The nodes along the paths of flows, then of people, the fewest hops.

    A wired end is at the nearest gateway.
    """
    index = {n.name: i for i, n in enumerate(nodes)}
    gateways = {i for i, n in enumerate(nodes) if n.gateway}
    reach_m = scenario.radio.tx_range_m
    paths = []
    for flow in scenario.flows:
        via = {index[flow.via]} if flow.via else gateways
        ends = [{index[end]} if end in index else via for end in (flow.from_, flow.to)]
        paths.append(_shortest(positions, reach_m, *ends))
    for person in scenario.people:
        paths.append(_shortest(positions, reach_m, gateways, {index[person.node]}))
    return paths


def _shortest(
    positions: list[tuple[float, float]], reach_m: float, begin: set[int], end: set[int]
) -> list[int]:
    """A path of the fewest hops between two sets of nodes; their first nodes where none is."""
    before: dict[int, int | None] = dict.fromkeys(begin)
    queue = deque(sorted(begin))
    while queue:
        here = queue.popleft()
        if here in end:
            path = [here]
            while (previous := before[path[-1]]) is not None:
                path.append(previous)
            return path
        for other, place in enumerate(positions):
            if other not in before and math.dist(place, positions[here]) <= reach_m:
                before[other] = here
                queue.append(other)
    return [min(begin), min(end)]


def _frames_per_s(scenario: Scenario) -> float:
    """Frames a second on a channel that flows keep busy, for segments and their ACKs."""
    first = (scenario.flows or scenario.people)[0]
    traffic = first.traffic if isinstance(first, Flow) else "person"
    segments = first.delayed_ack if traffic != "cbr" else 1
    segments = segments if isinstance(segments, int) else THINNED
    radio, header = scenario.radio, HEADERS_BYTES + TCP_BYTES
    rates = [link.mbps for link in scenario.links] or [radio.data_mbps]
    data_bytes = first.segment_bytes + header
    data_us = sum(_exchange_us(radio, data_bytes, mbps) for mbps in rates) / len(rates)
    ack_us = sum(_exchange_us(radio, header, mbps) for mbps in rates) / len(rates)
    frames = (segments + 1) * _frames_each(scenario)
    busy = BUSY.get(radio.data_mbps, 1.0)
    busy *= BUSY_WITH_FILES if traffic == "files" else 1.0
    return float(busy * frames / (segments * data_us + ack_us) * 1e6)


def _frames_each(scenario: Scenario) -> int:
    return 4 if scenario.radio.rts_cts else 2


def _exchange_us(radio: Radio, frame_bytes: int, data_mbps: float) -> float:
    """Time on the air of one frame with its control frames and the mean backoff."""
    ofdm = radio.standard != "802.11b"
    of = OFDM if ofdm else DSSS
    control_mbps = OFDM_CONTROL_MBPS if ofdm else radio.control_mbps
    control_bytes = [ACK_BYTES] + ([RTS_BYTES, CTS_BYTES] if radio.rts_cts else [])
    frames_us = sum(of["preamble_us"] + b * 8 / control_mbps for b in control_bytes)
    frames_us += of["preamble_us"] + frame_bytes * 8 / data_mbps
    waits_us = len(control_bytes) * of["sifs_us"] + (2 + of["window"] / 2) * of["slot_us"]
    return float(frames_us + waits_us)


def _wanted_frames_per_s(scenario: Scenario, flow: Flow, hops: int) -> float:
    """Frames a second that a flow asks for: at its own rate, or that of the wires."""
    constant = flow.traffic == "cbr"
    kbps = flow.rate_kbps if constant else scenario.wired.mbps * 1e3
    packets = kbps * 1e3 / 8 / flow.segment_bytes
    return float(packets * hops * _frames_each(scenario) * (1 if constant else 2))


def _asked_frames_per_s(scenario: Scenario, person: ResolvedPerson, hops: int) -> float:
    """Frames a second that a person asks for, over the whole run: he may come late and leave."""
    there_s = (person.stop_s or scenario.duration_s) - person.start_s - person.pause_s
    packets = asked_per_s(person.does, scenario.wired.mbps)
    part = max(there_s, 0.0) / scenario.duration_s
    return float(packets * hops * _frames_each(scenario) * part)
