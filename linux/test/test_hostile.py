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


def both_runs(place: Arena, start: Callable[[], Gateway], full: bool) -> tuple[Passage, Passage]:
    """The same frames without and with the gateway; at full length 100,000 from each side."""
    count = 200_000 if full else 12_000
    control = arena.passage(place, Fuzzer(7, place.macs).frames(count))
    gateway = start()

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


def check_counters(counters: dict[str, int], passage: Passage, law: str) -> None:
    expected = expected_at(passage)
    print(counters, expected)
    assert counters["malformed"] == expected[MALFORMED]
    assert counters["fragments"] == expected[FRAGMENT]
    # The law `even` asks each silent path once a second, by a copy of data or by an ACK and an ICMP
    # message, also after the last packet has been captured and before the counters were read.
    flows = counters["segments_sent_again"] + 2 * counters["flows_created"]
    own = flows if law == "even" else 0
    assert expected["packets"] <= counters["packets"] <= expected["packets"] + own


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
    copies of data added.
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
    assert options == counters["options_written"]
    check_to_mesh(to_mesh, before, law)
    from_mesh, questions = questions_put_back(passed.arrived[WIRED], control.arrived[WIRED])
    assert (questions > 0) == (option == "asked")
    assert questions <= counters["asks"]
    check_from_mesh(from_mesh, control.arrived[WIRED], counters["dupacks_withheld"])
    assert not [line for line in log if "panic" in line]


def check_to_mesh(passed: Counter[bytes], control: Counter[bytes], law: str) -> None:
    """
    Nothing is missing, and what was added was sent again: data, or where the law asks for it the
    latest ACK of an upload.
    """
    missing, added = control - passed, passed - control
    assert not missing, examples(missing)
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
