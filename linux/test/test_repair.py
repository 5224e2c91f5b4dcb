# SPDX-License-Identifier: GPL-2.0-only
"""Segments that the mesh lost, of which a receiver tells by SACK: the gateway sends them again, and
their sender hears nothing of it until that fails.
"""

import struct
import time
from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import arena, hang, net
from harness.arena import Arena
from harness.capture import Capture
from harness.fuzz import MESH, WIRED
from harness.gateway import Gateway, host
from harness.lossy import Radio
from harness.record import Recorder
from harness.talk import FIRST, Talk, arrived, options_of
from harness.transfer import Transfer, window

SEGMENT = 1000
PAD = bytes([1])
MD5 = bytes([19, 18, *range(16), 1, 1])
BYTES = 3_000_000


@pytest.fixture
def place() -> Iterator[Arena]:
    with arena.routed() as made:
        yield made


@pytest.fixture
def gateway(place: Arena, start: StartGateway) -> Gateway:
    network = net.Network(place.wired, place.gateway, [place.mesh])
    return start(network, law="even")


def at(segment: int) -> bytes:
    return struct.pack("!I", (FIRST[WIRED] + SEGMENT * segment) % 2**32)


def sack(*blocks: tuple[int, int]) -> bytes:
    edges = b"".join(at(left) + at(right) for left, right in blocks)
    return bytes([5, 2 + len(edges)]) + edges


def segments(packets: list[bytes]) -> list[int]:
    """Which segments data packets are."""
    numbers = [int.from_bytes(packet[12:16], "big") for packet in packets if len(packet) > SEGMENT]
    return [(number - FIRST[WIRED]) % 2**32 // SEGMENT for number in numbers]


def talk_of(place: Arena, count: int) -> Talk:
    """One that has sent so many segments, of which the first is acknowledged."""
    talk = Talk(place, 2000)
    talk.acknowledge(MESH, 0)
    for number in range(count):
        talk.data(WIRED, SEGMENT * number)
    talk.acknowledge(MESH, SEGMENT)
    return talk


@pytest.mark.parametrize("pad", [0, 1, 2, 3])
def test_all_holes_are_filled_and_the_sender_hears_of_none(
    place: Arena, gateway: Gateway, pad: int
) -> None:
    """The ACK has news, and goes on without its SACK, wherever that stands."""
    talk = talk_of(place, 32)
    option = PAD * pad + sack((7, 8), (3, 5)) + PAD * (-(pad + 18) % 4)
    with Capture(place.mesh, "eth0") as mesh, Capture(place.wired, "eth0") as wired:
        talk.acknowledge(MESH, 2 * SEGMENT, option)
        talk.acknowledge(MESH, 2 * SEGMENT, option)
        came, told = arrived(mesh), arrived(wired)
    assert segments(came) == [2, 5, 6]
    assert [options_of(packet) for packet in told] == [PAD * len(option)]
    counters = gateway.fresh_status()["counters"]
    assert counters["sacks_blanked"] == counters["dupacks_withheld"] == 1
    assert counters["segments_sent_again"] == 3


def test_an_ack_that_is_signed_passes_as_it_is(place: Arena, gateway: Gateway) -> None:
    talk = talk_of(place, 32)
    with Capture(place.wired, "eth0") as wired:
        sent = talk.acknowledge(MESH, 2 * SEGMENT, MD5 + PAD * 2 + sack((3, 4)))
        assert arrived(wired) == [sent]
    assert gateway.fresh_status()["counters"]["sacks_blanked"] == 0


@pytest.mark.usefixtures("gateway")
def test_what_was_never_sent_is_not_there(place: Arena) -> None:
    """Its receiver claims to have segments that nobody has sent: nothing is sent again for it."""
    talk = talk_of(place, 32)
    with Capture(place.mesh, "eth0") as mesh, Capture(place.wired, "eth0") as wired:
        sent = talk.acknowledge(MESH, 2 * SEGMENT, PAD * 2 + sack((40, 50)))
        assert arrived(wired) == [sent]
        assert segments(arrived(mesh)) == []


def test_the_sender_hears_of_what_the_gateway_may_not_send(place: Arena, gateway: Gateway) -> None:
    """16 segments earn two copies; the next duplicate asks the sender for the third."""
    talk = talk_of(place, 16)
    told = PAD * 2 + sack((9, 10))
    with Capture(place.mesh, "eth0") as mesh, Capture(place.wired, "eth0") as wired:
        talk.acknowledge(MESH, SEGMENT, told)
        came = arrived(mesh)
        sent = [talk.acknowledge(MESH, 3 * SEGMENT, told) for _ in range(2)]
        assert segments(came) == [1, 2]
        assert arrived(wired)[-1] == sent[-1]
    assert gateway.fresh_status()["counters"]["copies_over_budget"] == 1


def test_a_daemon_that_hangs_leaves_it_to_the_sender(place: Arena, gateway: Gateway) -> None:
    """What it was ordered to send stays where it is; once its heartbeat is stale all ACKs pass."""
    talk = talk_of(place, 32)
    told = PAD * 2 + sack((3, 4))
    with hang.stopped(gateway.pid), Capture(place.wired, "eth0") as wired:
        sent = [talk.acknowledge(MESH, 2 * SEGMENT, told)]
        time.sleep(1)  # twice what a heartbeat lasts
        sent += [talk.acknowledge(MESH, 2 * SEGMENT, told) for _ in range(2)]
        came = arrived(wired)
    # Of a machine so busy that the heartbeat is stale already, the first passes too.
    assert options_of(came[0]) in (PAD * len(told), told)
    assert came[1:] == sent[1:]


@pytest.mark.measured
@pytest.mark.parametrize("local", [True, False], ids=["repaired", "by-the-sender"])
@pytest.mark.parametrize("loss", [0.01, 0.03], ids=["one-in-100", "three-in-100"])
def test_a_sender_that_hears_of_no_loss_keeps_its_window(
    start: StartGateway, record: Recorder, loss: float, local: bool
) -> None:
    """Linux' CUBIC over 40 ms of a mesh that loses packets each way, many in a window."""
    with net.over_radio(Radio(delay_ms=20, loss=loss, seed=3)) as network:
        known = [host(net.host4(0), 20.0)]
        gateway = start(network, host=known, law="even", local_retransmission=local)
        options = window(128 * 1024)
        transfer = Transfer(network.wired, network.host, net.host4(0), BYTES, options=options)
        begun_s = time.monotonic()
        assert transfer.start().wait().intact
        took_s = time.monotonic() - begun_s
        gateway.fresh_status()
        flow = gateway.flow(transfer.receiver_port)
    assert flow
    record("goodput", "Mbit/s", 8e-6 * BYTES / took_s)
    record("segments sent again by the gateway", "", flow["local_retransmits"])
    record("segments sent again by the sender", "", flow["retransmits"])
    assert (flow["local_retransmits"] > 8) == local
    if local:
        assert flow["retransmits"] * 5 < flow["local_retransmits"]
