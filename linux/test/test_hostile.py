# SPDX-License-Identifier: GPL-2.0-only
"""
Malformed and random packets through both hooks: what plain forwarding passes also passes
with the gateway, unchanged; every counter is right; the daemon lives.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from conftest import StartGateway
from harness import arena, net
from harness.arena import Arena, Passage
from harness.capture import FIN, RST, SYN
from harness.expected import FRAGMENT, MALFORMED, TCP, Expected, read
from harness.fuzz import MESH, WIRED, Fuzzer
from harness.gateway import Gateway, until
from harness.permitted import (
    acks_sent_again,
    questions_put_back,
    restored,
    with_feedback_blanked,
)

MakeArena = Callable[[], AbstractContextManager[Arena]]

# What the gateway may lose on the way to the mesh: of hosts and flows that do not answer, and of
# flows that send more than their path carries. None of it leaves by mesh0.
LOST = ("unanswered_dropped", "wait_dropped", "queue_dropped", "udp_dropped")


def both_runs(place: Arena, start: Callable[[], Gateway], full: bool) -> tuple[Passage, Passage]:
    """The same frames without and with the gateway; at full length 100,000 from each side."""
    count = 200_000 if full else 12_000
    control = arena.passage(place, Fuzzer(7, place.macs).frames(count))
    gateway = start()
    # A daemon that is late has packets pass uncounted, as it has to: here all are to be counted.
    gateway.before_all_others()

    def released() -> bool:
        """Nothing waits for its departure any more."""
        return bool(gateway.fresh_status()["counters"]["queue_waiting"] == 0)

    with_gateway = arena.passage(
        place, Fuzzer(7, place.macs).frames(count), lambda: until(released, 30, gateway)
    )
    assert gateway.alive
    assert sum(control.arrived[MESH].values()) > count / 4
    assert sum(control.arrived[WIRED].values()) > count / 4
    return control, with_gateway


def expected_at(passage: Passage) -> Counter[str]:
    """What the counters must be after all that the mesh interface saw."""
    expected = Expected()
    for frame in passage.at_mesh0:
        expected.take(frame)
    return expected.counts


def lost_of(counters: dict[str, int]) -> int:
    return sum(counters[name] for name in LOST)


def added_of(counters: dict[str, int], law: str) -> int:
    """
    Packets of the gateway's own, at most. The law `even` asks each silent path once a second, by a
    copy of data or by an ACK and an ICMP message, also after the last packet has been captured and
    before the counters were read.
    """
    return counters["segments_sent_again"] + 2 * counters["flows_created"] if law == "even" else 0


def check_counters(counters: dict[str, int], passage: Passage, law: str) -> None:
    """Every packet is counted once, by its kind, also those that are lost."""
    expected = expected_at(passage)
    print(counters, expected)
    for kind in (MALFORMED, FRAGMENT):
        # Of these only such are lost as nobody answers; often none is.
        assert expected[kind] <= counters[kind] <= expected[kind] + counters["unanswered_dropped"]
    packets = expected["packets"] + lost_of(counters)
    assert packets <= counters["packets"] <= packets + added_of(counters, law)


def examples(frames: Counter[bytes]) -> str:
    return f"{sum(frames.values())}: " + "; ".join(f.hex() for f in list(frames)[:3])


@pytest.mark.parametrize("make", [arena.routed, arena.bridged], ids=["routed", "bridged"])
def test_observing_changes_nothing(
    start: StartGateway, full: bool, make: MakeArena, law: str
) -> None:
    with make() as place:
        network = net.Network(place.wired, place.gateway, [place.mesh])
        gateways: list[Gateway] = []

        def begin() -> Gateway:
            gateways.append(start(network, release="observe", max_flows=65_536, law=law))
            return gateways[0]

        control, passed = both_runs(place, begin, full)
        counters = gateways[0].fresh_status()["counters"]
    for side in (WIRED, MESH):
        missing = control.arrived[side] - passed.arrived[side]
        added = passed.arrived[side] - control.arrived[side]
        assert not missing, examples(missing)
        assert not added, examples(added)
    check_counters(counters, passed, law)
    # A flow that ended and expired may have been created anew.
    created = expected_at(passed)["flows_created"]
    assert created <= counters["flows_created"] <= created + counters["flows_expired"]


@pytest.mark.parametrize(
    ("make", "option"),
    [(arena.routed, "asked"), (arena.bridged, "always")],
    ids=["routed-asked", "bridged-always"],
)
def test_pacing_loses_nothing(
    start: StartGateway, full: bool, make: MakeArena, option: str, law: str
) -> None:
    """
    With the option and local retransmission on: only pure ACKs may carry the option, only
    questions for it and what others tell may be blanked, only duplicate ACKs withheld, only
    copies of data added; nothing is lost but what a counter tells of.
    """
    with make() as place:
        network = net.Network(place.wired, place.gateway, [place.mesh])
        gateways: list[Gateway] = []

        def begin() -> Gateway:
            gateways.append(start(network, max_flows=65_536, option=option, law=law))
            return gateways[0]

        control, passed = both_runs(place, begin, full)
        counters = gateways[0].fresh_status()["counters"]
        log = gateways[0].log
    check_counters(counters, passed, law)
    before = with_feedback_blanked(control.arrived[MESH], passed.arrived[MESH])
    assert counters["options_blanked"] >= sum((control.arrived[MESH] - before).values()) > 0
    to_mesh, options = restored(passed.arrived[MESH], before)
    # ACKs that ask a silent path carry the option too, and none of them is of the control run.
    asked = counters["probes"] if law == "even" else 0
    assert options <= counters["options_written"] <= options + asked
    check_to_mesh(to_mesh, before, counters, law)
    from_mesh, questions = questions_put_back(passed.arrived[WIRED], control.arrived[WIRED])
    assert (questions > 0) == (option == "asked")
    assert questions <= counters["asks"]
    check_from_mesh(from_mesh, control.arrived[WIRED], counters["dupacks_withheld"])
    assert not [line for line in log if "panic" in line]


def check_to_mesh(
    passed: Counter[bytes], control: Counter[bytes], counters: dict[str, int], law: str
) -> None:
    """
    Nothing is missing but what was counted as lost, and what was added was sent again: data, or
    where the law asks for it the latest ACK of an upload.
    """
    missing, added = control - passed, passed - control
    lost = sum(missing.values())
    copies = counters["segments_sent_again"] + added_of(counters, law)
    # A copy may have taken a lost packet's place, or be lost itself.
    assert lost <= lost_of(counters) <= lost + copies, examples(missing)
    acks = acks_sent_again(added, control) if law == "even" else set()
    data = Counter({frame: n for frame, n in added.items() if frame not in acks})
    strange = Counter({frame: n for frame, n in data.items() if frame not in control})
    assert not strange, examples(strange)
    assert all(read(frame).payload for frame in data)


def check_from_mesh(passed: Counter[bytes], control: Counter[bytes], withheld: int) -> None:
    """Nothing was added, and nothing is missing but ACKs without payload."""
    missing, added = control - passed, passed - control
    assert not added, examples(added)
    for frame in missing:
        reading = read(frame)
        assert reading.kind == TCP
        assert not reading.payload
        assert not reading.flags & (SYN | FIN | RST)
    # Some of those withheld plain routing would not have passed either.
    count = sum(missing.values())
    assert count <= withheld <= count + count // 2
