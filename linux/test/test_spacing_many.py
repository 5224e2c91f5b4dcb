# SPDX-License-Identifier: GPL-2.0-only
"""
Many flows at once keep their intervals, each its own, under release htb. What waits has been sent
at once and nobody answers meanwhile, so that no interval changes while gaps are measured.
"""

import itertools
import statistics
import time

import pytest
from conftest import StartGateway
from harness import arena, maps
from harness.blast import send_frames
from harness.capture import Capture, segment
from harness.flow_table import FlowTable
from harness.fuzz import MESH, WIRED
from harness.gateway import PATIENCE_S, Gateway, until
from harness.record import Recorder
from harness.talk import Talk, framed
from test_htb import LATE_MS, WITHIN
from test_spacing import paced_host

HOST = "10.1.0.7"
FIRST_PORT = 2000
BYTES = 1000
# Samples by which the law begins; each round trip takes about as long as the tests' radio.
ROUNDS, RTT_S = 3, 0.04
# What waits is gone after so long: less than the four seconds that a packet may wait.
WAITS_S = 3.0
# Frames that the kernel takes in one go hold its memory until they have left.
MOST_FRAMES = 60_000


def begun(place: arena.Arena, gateway: Gateway, count: int) -> list[Talk]:
    """Flows with an interval and a class each."""
    talks = [Talk(place, FIRST_PORT + n, HOST) for n in range(count)]
    for n in range(ROUNDS):
        send(place, talks, n)
        time.sleep(RTT_S)
        acknowledge(place, talks, n + 1)
    send(place, talks, ROUNDS)
    until(lambda: len(maps.rows(gateway, "mp_classes")) == count, PATIENCE_S, gateway)
    acknowledge(place, talks, ROUNDS + 1)
    return talks


def send(place: arena.Arena, talks: list[Talk], n: int, packets: int = 1) -> None:
    """So many packets of each, by turns, from its nth on."""
    turns = itertools.product(range(n, n + packets), talks)
    payload = bytes(BYTES)
    data = (talk.packet(WIRED, seq=BYTES * at, payload=payload) for at, talk in turns)
    send_frames(place.wired, [framed(place, WIRED, packet) for packet in data])


def acknowledge(place: arena.Arena, talks: list[Talk], n: int) -> None:
    """All up to the nth."""
    acks = (talk.packet(MESH, ack=BYTES * n) for talk in talks)
    send_frames(place.mesh, [framed(place, MESH, packet) for packet in acks])


def intervals_us(gateway: Gateway, talks: list[Talk]) -> dict[int, float]:
    with FlowTable(gateway) as table:
        keys = {talk.mesh_port: table.find(talk.mesh_port) for talk in talks}
        return {port: table.look(key).interval_us for port, key in keys.items() if key}


def shares(place: arena.Arena, gateway: Gateway, talks: list[Talk]) -> list[float]:
    """Gaps of all, each by its flow's interval, from when all has been sent."""
    told = intervals_us(gateway, talks)
    slowest_s = max(told.values()) / 1e6
    packets = min(int(WAITS_S / slowest_s), MOST_FRAMES // len(talks))
    with Capture(place.gateway, "mesh0", snap=96, late=True) as capture:
        send(place, talks, ROUNDS + 1, packets)
        sent_ns = time.time_ns()
        time.sleep((packets + 2) * slowest_s)
        frames = capture.stop()
    assert intervals_us(gateway, talks) == told
    times: dict[int, list[int]] = {}
    for frame in frames:
        found = segment(frame)
        if found and frame.outgoing and found.payload and frame.time_ns > sent_ns:
            times.setdefault(found.target_port, []).append(frame.time_ns)
    print(
        f"intervals of {min(told.values()):.0f} to {1e6 * slowest_s:.0f} us, {packets} packets each"
    )
    return [
        (b - a) / 1e3 / told[port]
        for port, one in times.items()
        for a, b in itertools.pairwise(one)
    ]


def measured(
    start: StartGateway, record: Recorder, count: int, interval_ms: float
) -> tuple[float, float, float]:
    """The median of gaps, and the first and the last of a hundred, by the interval."""
    with arena.routed() as place:
        config = {"host": [paced_host(HOST, interval_ms)], "goodput_control": False}
        gateway = start(place, release="htb", **config)
        talks = begun(place, gateway, count)
        found = sorted(shares(place, gateway, talks))
    assert len(found) > MOST_FRAMES / 100
    share = statistics.median(found)
    first, last = found[len(found) // 100], found[-1 - len(found) // 100]
    record("median of gaps by interval", "", share, "1 +- .01")
    record("p1", "", first, "at least .9")
    record("p99", "", last, "at most 1.1")
    return share, first, last


@pytest.mark.measured
@pytest.mark.parametrize(
    ("count", "interval_ms"), [(100, 10.0), (100, 100.0), (500, 100.0)], ids=str
)
def test_each_keeps_its_interval(
    start: StartGateway, record: Recorder, count: int, interval_ms: float
) -> None:
    """Median within 1%, and the first and the last of a hundred within a tenth."""
    share, first, last = measured(start, record, count, interval_ms)
    assert share == pytest.approx(1, abs=WITHIN / 10)
    beyond = WITHIN + LATE_MS / interval_ms
    assert first >= 1 - beyond
    assert last <= 1 + beyond


@pytest.mark.measured
@pytest.mark.alone
@pytest.mark.parametrize(("count", "interval_ms"), [(100, 4.0), (500, 20.0)], ids=str)
def test_none_falls_behind(
    start: StartGateway, record: Recorder, count: int, interval_ms: float
) -> None:
    """At 25,000 packets a second and more, which is a processor's work, timers come late."""
    share, first, _ = measured(start, record, count, interval_ms)
    assert share == pytest.approx(1, abs=WITHIN / 10), "who was late makes up for it"
    assert first >= 1 - WITHIN - LATE_MS / interval_ms, "and does not come in bursts"
