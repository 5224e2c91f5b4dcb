# SPDX-License-Identifier: GPL-2.0-only
"""
Packets that lie: nobody gains by one, and no third party does harm by one. And packets that a
gateway might break, though they are honest.
"""

import functools
import struct
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import arena, maps, net
from harness.arena import Arena
from harness.capture import ACK, FIN, RST, SYN, Capture, segment
from harness.fuzz import MESH, WIRED
from harness.gateway import PATIENCE_S, Gateway, until
from harness.talk import Talk, arrived, options_of, others, raw

NOPS = bytes([1] * 8)
RTT_WIRED = bytes([254, 8, 0x6D, 0x70, 0, 1, 0, 0])
SHARED = bytes([254, 8, 0x6D, 0x73, 3, 0, 0, 1])
QUESTION = bytes([254, 4, 0x6D, 0x70])
MD5 = bytes([19, 18, *range(16), 1, 1])
AO = bytes([29, 12, 1, 1, *range(8)])
MPTCP = bytes([30, 8, 0x20, 1, 0, 0, 0, 9])


@pytest.fixture
def place() -> Iterator[Arena]:
    with arena.routed() as made:
        yield made


def begin(place: Arena, start: StartGateway, **config: object) -> Gateway:
    network = net.Network(place.wired, place.gateway, [place.mesh])
    return start(network, law="even", **config)


def delivered_by_ended_flows(gateway: Gateway) -> int:
    """Of all hosts, as the kernel keeps it."""
    values = (value for _, value in maps.rows(gateway, "mp_ended"))
    return sum(int.from_bytes(value, "little") for value in values)


def test_a_host_does_not_choose_its_hops(place: Arena, start: StartGateway) -> None:
    """129 was taken for 127 hops, 65, as tethering phones send it, for 64."""
    gateway = begin(place, start)
    ttls = {129: None, 65: None, 1: None, 61: 4, 128: 1, 230: 26}
    for port, ttl in enumerate(ttls, 2000):
        talk = Talk(place, port, host=f"10.1.1.{port - 2000}")
        talk.data(WIRED, 0)
        talk.acknowledge(MESH, 1000, ttl=ttl)
    gateway.fresh_status()
    for port, (ttl, hops) in enumerate(ttls.items(), 2000):
        flow = gateway.flow(port)
        assert flow, ttl
        assert (flow["hops_source"] == "ttl") == (hops is not None), (ttl, flow)
        assert hops in (None, flow["hops"]), (ttl, flow)


def test_a_forged_end_ends_nothing(place: Arena, start: StartGateway) -> None:
    """Each erased both flows, and what they had delivered was forgotten."""
    gateway = begin(place, start)
    talk = Talk(place, 2000)
    talk.data(MESH, 0)
    talk.data(WIRED, 0, ack=1000)
    talk.acknowledge(MESH, 1000)
    resets = 0
    for side in (WIRED, MESH):
        for seq in (1, 999, 1001, 5000, 2**31):
            talk.send(side, RST, seq=seq)
            talk.send(side, FIN | ACK, seq=seq, ack=1000)
            resets += 1
        talk.send(side, SYN, seq=77_777)
        talk.send(side, SYN | ACK, seq=88_888, ack=4)
    talk.data(WIRED, 1000, ack=1000)
    talk.acknowledge(MESH, 2000)
    status = gateway.fresh_status()
    down, up = gateway.flow(2000), gateway.flow(2000, "up")
    assert down
    assert up
    assert (down["packets"], down["acked_bytes"]) == (2, 2000)
    assert (up["packets"], up["acked_bytes"]) == (1, 1000)
    assert status["counters"]["resets_ignored"] == resets
    # One that fits counts, and forgets nothing either.
    talk.send(WIRED, RST, seq=2000)
    counters = gateway.fresh_status()["counters"]
    assert counters["resets_ignored"] == resets
    assert counters["flows_created"] == 2


def test_a_connection_begins_anew(place: Arena, start: StartGateway) -> None:
    """When the other end answers its SYN; what the old one had delivered still counts."""
    gateway = begin(place, start)
    talk = Talk(place, 2000)
    talk.data(WIRED, 0)
    talk.acknowledge(MESH, 1000)
    talk.send(MESH, SYN, seq=500_000)
    talk.send(MESH, SYN, seq=900_000)  # a third party's
    talk.send(WIRED, SYN | ACK, seq=700_000, ack=500_002)
    gateway.fresh_status()
    assert gateway.flow(2000)
    talk.send(WIRED, SYN | ACK, seq=700_000, ack=500_001)
    gateway.fresh_status()
    assert gateway.flow(2000) is None
    assert delivered_by_ended_flows(gateway) == 1000
    talk.data(WIRED, 700_001)
    talk.acknowledge(MESH, 701_001)
    gateway.fresh_status()
    flow = gateway.flow(2000)
    assert flow
    assert flow["acked_bytes"] == 1000


def test_an_ack_of_what_was_never_sent_is_ignored(place: Arena, start: StartGateway) -> None:
    gateway = begin(place, start)
    talk = Talk(place, 2000)
    talk.data(WIRED, 0)
    for ack in (1002, 50_000, 2**30, -(2**30) - 1):
        talk.acknowledge(MESH, ack)
    talk.acknowledge(MESH, 600)
    counters = gateway.fresh_status()["counters"]
    flow = gateway.flow(2000)
    assert flow
    assert flow["acked_bytes"] == 600
    assert counters["acks_ignored"] == 4


def test_acks_off_segments_ends_give_samples(place: Arena, start: StartGateway, law: str) -> None:
    """A receiver that never acknowledged a segment's end had no samples, so it was not paced."""
    network = net.Network(place.wired, place.gateway, [place.mesh])
    gateway = start(network, law=law)
    talk = Talk(place, 2000)
    segments = 60
    with Capture(place.mesh, "eth0") as mesh:

        def came(count: int) -> bool:
            data = (f for f in mesh.frames if not f.outgoing and len(f.data) > 1000)
            return sum(1 for _ in data) >= count

        for number in range(segments):
            talk.data(WIRED, 1000 * number)
            until(functools.partial(came, number + 1), PATIENCE_S, gateway)
            if number:
                talk.acknowledge(MESH, 1000 * number + 500)
    gateway.fresh_status()
    flow = gateway.flow(2000)
    assert flow
    assert flow["acked_bytes"] == 1000 * segments - 500
    # GAP discards what took longer than half a second, as it may on a busy machine.
    assert flow["samples"] + flow["discarded"] >= segments - 2
    assert flow["rate_kbps"]


def test_forged_data_gives_no_probe(place: Arena, start: StartGateway) -> None:
    """One packet that nobody answered was sent again sixty times, or gave sixty ICMP messages."""
    gateway = begin(place, start)
    talks = [Talk(place, 2000 + n, host=f"10.1.1.{n}") for n in range(8)]
    with Capture(place.mesh, "eth0") as mesh, Capture(place.wired, "eth0") as wired:
        for talk in talks:
            talk.data(WIRED, 0)
            # Without TCP's push flag, by which it would say that it has no more.
            talk.send(MESH, ACK, payload=b"d" * 1000)
        time.sleep(4)
        came = [
            [one for one in map(segment, capture.stop()) if one and one.payload]
            for capture in (mesh, wired)
        ]
    # Each is captured twice: where it was made, and where it came.
    assert [len(one) for one in came] == [2 * len(talks)] * 2
    counters = gateway.fresh_status()["counters"]
    sent = [counters[name] for name in ("probes", "wake_ups", "segments_sent_again")]
    assert sent == [0, 0, 0]


def test_byte_by_byte_there_are_no_more_copies(place: Arena, start: StartGateway) -> None:
    """Two ACKs a byte step gave one full frame each."""
    gateway = begin(place, start)
    talk = Talk(place, 2000)
    talk.acknowledge(MESH, 0)
    talk.data(WIRED, 0)
    talk.acknowledge(MESH, 1000)
    for number in range(4):
        talk.data(WIRED, 1000 + 1000 * number)
    talk.acknowledge(MESH, 1000)
    for step in range(60):
        talk.acknowledge(MESH, 1001 + step)
        talk.acknowledge(MESH, 1001 + step)
    counters = gateway.fresh_status()["counters"]
    assert counters["dupacks_withheld"] > 0
    # Three copies, and a probe of the silent path a second.
    assert counters["segments_sent_again"] <= 5


@pytest.mark.parametrize("ahead", [False, True])
def test_who_acknowledges_ahead_gets_no_copies(
    place: Arena, start: StartGateway, ahead: bool
) -> None:
    """What it seems to lack it may not, and copies are sent beyond its part of the air."""
    gateway = begin(place, start)
    talk = Talk(place, 2000)
    for number in range(4):
        talk.data(WIRED, 1000 * number)
    talk.acknowledge(MESH, 1000)
    if ahead:
        talk.acknowledge(MESH, 4002)
    with Capture(place.wired, "eth0") as capture:
        sent = [talk.acknowledge(MESH, 1000) for _ in range(3)]
        came = arrived(capture)
    counters = gateway.fresh_status()["counters"]
    assert (counters["dupacks_withheld"] == 0) == ahead
    assert (Counter(came) == Counter(sent)) == ahead


def test_acks_that_say_more_are_no_duplicates(place: Arena, start: StartGateway) -> None:
    """A D-SACK tells that nothing is missing, and MPTCP's messages have to arrive."""
    gateway = begin(place, start)
    talk = Talk(place, 2000)
    first = 2**32 - 700  # of the wired end's data
    came_twice = struct.pack("!BBBBII", 1, 1, 5, 10, first + 200, (first + 1000) % 2**32)
    above = struct.pack("!BBBBII", 1, 1, 5, 10, (first + 2000) % 2**32, (first + 3000) % 2**32)
    for number in range(3):
        talk.data(WIRED, 1000 * number)
    with Capture(place.wired, "eth0") as capture:
        sent = [talk.acknowledge(MESH, 1000)]
        sent += [talk.acknowledge(MESH, 1000, options) for options in (came_twice, MPTCP) * 3]
        came = arrived(capture)
    counters = gateway.fresh_status()["counters"]
    assert Counter(came) == Counter(sent)
    assert counters["dupacks_withheld"] == 0
    assert counters["dupacks_dsack"] == counters["dupacks_mptcp"] == 3
    # A SACK of what lies behind the hole is a duplicate, as ever.
    talk.acknowledge(MESH, 1000, above)
    assert gateway.fresh_status()["counters"]["dupacks_withheld"] == 1


@pytest.mark.parametrize("signature", [MD5, AO, bytes([1, 1]) + MD5[:18] + MPTCP[:4]])
def test_signed_packets_stay_as_they_are(
    place: Arena, start: StartGateway, signature: bytes
) -> None:
    """Eight bytes more, or a question less, and their receiver refuses them."""
    gateway = begin(place, start, option="always")
    told = Talk(place, 2000)
    with Capture(place.mesh, "eth0") as capture:
        told.data(MESH, 0)
        sent = [told.acknowledge(WIRED, 1000, signature)]
        told.data(MESH, 1000)
        sent += [told.acknowledge(WIRED, 2000, RTT_WIRED + signature)]
        assert Counter(arrived(capture)) == Counter(sent)
    counters = gateway.fresh_status()["counters"]
    assert counters["options_signed"] == 2
    assert counters["options_written"] == counters["options_blanked"] == 0


def test_a_signed_question_stays(place: Arena, start: StartGateway) -> None:
    gateway = begin(place, start, option="asked")
    talk = Talk(place, 2000)
    with Capture(place.wired, "eth0") as capture:
        sent = [talk.send(MESH, SYN, options=MD5 + QUESTION)]
        talk.send(MESH, SYN, seq=9, options=bytes([1, 1, 1, 1]) + QUESTION)
        came = arrived(capture)
    assert came[0] == sent[0]
    assert options_of(came[1]) == NOPS
    assert gateway.fresh_status()["counters"]["asks"] == 1


@pytest.mark.parametrize("option", ["never", "asked"])
def test_what_the_wires_tell_is_blanked(place: Arena, start: StartGateway, option: str) -> None:
    """RTT_wired and a cap that a third party writes, at even and odd places, on any packet."""
    gateway = begin(place, start, option=option)
    talk = Talk(place, 2000)
    timestamp = bytes([1, 1, 8, 10, *range(8)])
    lies = {
        RTT_WIRED: NOPS,
        SHARED + RTT_WIRED: NOPS * 2,
        timestamp + SHARED: timestamp + NOPS,
        bytes([1]) + SHARED + bytes([1, 1, 1]): bytes([1]) + NOPS + bytes([1, 1, 1]),
        bytes([1]) + SHARED + RTT_WIRED + MPTCP[:2] + bytes([0] * 5): None,
        RTT_WIRED * 5: NOPS * 5,
        # What only looks like one is another's: in a timestamp, of another length or experiment.
        timestamp[:4] + RTT_WIRED: timestamp[:4] + RTT_WIRED,
        bytes([254, 12]) + RTT_WIRED[2:] + bytes(4): bytes([254, 12]) + RTT_WIRED[2:] + bytes(4),
        bytes([254, 8, 1, 2, 3, 4, 5, 6]): bytes([254, 8, 1, 2, 3, 4, 5, 6]),
    }
    with Capture(place.mesh, "eth0") as capture:
        for payload in (b"", b"odd", b"even"):
            for lie in lies:
                talk.send(WIRED, ACK, payload=payload, options=lie)
        came = [options_of(packet) for packet in arrived(capture)]
    assert len(came) == 3 * len(lies)
    for shown, true in zip(came, list(lies.values()) * 3, strict=True):
        assert shown == true or (true is None and RTT_WIRED[:4] not in shown), shown.hex()
    assert gateway.fresh_status()["counters"]["options_blanked"] == 3 * 12


def test_tunnels_fragments_and_extension_headers_pass(place: Arena, start: StartGateway) -> None:
    gateway = begin(place, start)
    sent: Counter[bytes] = Counter()
    with Capture(place.mesh, "eth0") as capture:
        for kind, packet in others():
            raw(place, WIRED, packet, kind)
            sent[packet[12:] if kind == 0x0800 else packet[8:]] += 1
        capture.quiet(0.2)
    came: Counter[bytes] = Counter()
    for frame in capture.stop():
        head = {b"\x08\x00": 12, b"\x86\xdd": 8}.get(frame.data[12:14])
        if head and not frame.outgoing and frame.data[14 + head] != 0xFE:  # link-local
            came[frame.data[14 + head :]] += 1
    assert not sent - came, [packet.hex() for packet in sent - came]
    assert not came - sent, [packet.hex() for packet in came - sent]
    counters = gateway.fresh_status()["counters"]
    assert counters["fragments"] == 2
    assert counters["other"] >= sum(sent.values()) - 2
    assert counters["malformed"] == 0
