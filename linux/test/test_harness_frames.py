# SPDX-License-Identifier: GPL-2.0-only
"""The makers and judges of hostile frames, tested against scapy and against each other."""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from harness import arena, expected, permitted
from harness.fuzz import Fuzzer, checksum

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.layers.inet import IP, TCP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import Dot1Q, Ether  # noqa: E402
from scapy.packet import Packet, Raw  # noqa: E402

MACS = ((b"\2aaaaa", b"\2bbbbb"), (b"\2bbbbb", b"\2aaaaa"))
MakeArena = Callable[[], AbstractContextManager[arena.Arena]]
# With addresses: scapy would ask the network for them.
ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
OPTION = (254, b"\x6d\x70\0\1\2\3")


def networks() -> list[Packet]:
    return [IP(src="192.0.2.1", dst="10.1.0.2"), IPv6(src="2001:db8::1", dst="fd00::2")]


@pytest.mark.parametrize("network", networks(), ids=["ipv4", "ipv6"])
def test_an_appended_option_is_taken_back(network: Packet) -> None:
    control: Counter[bytes] = Counter()
    arrived: Counter[bytes] = Counter()
    for ack in range(500):
        tcp = TCP(sport=5001, dport=40000, seq=7, ack=ack * 65521, flags="A")
        stamps = [("NOP", None), ("NOP", None), ("Timestamp", (ack, 3))]
        plain, more = tcp.copy(), tcp.copy()
        plain.options, more.options = stamps, [*stamps, OPTION]
        control[bytes(ETHER / network / plain)] += 1
        arrived[bytes(ETHER / network / more)] += 1
    assert permitted.restored(arrived, control) == (control, 500)


def test_a_wrong_option_is_not_taken_back() -> None:
    plain = IP(src="192.0.2.1", dst="10.1.0.2") / TCP(flags="A", ack=5)
    more = IP(src="192.0.2.1", dst="10.1.0.2") / TCP(flags="A", ack=5, options=[OPTION])
    wrong = bytearray(bytes(ETHER / more))
    wrong[50] ^= 1  # the checksum
    control = Counter([bytes(ETHER / plain)])
    back, options = permitted.restored(Counter([bytes(wrong)]), control)
    assert options == 0
    assert back != control


@pytest.mark.parametrize("network", networks(), ids=["ipv4", "ipv6"])
def test_a_question_is_put_back(network: Packet) -> None:
    control: Counter[bytes] = Counter()
    arrived: Counter[bytes] = Counter()
    for ack in range(300):
        tcp = TCP(sport=5001, dport=40000, seq=7, ack=ack * 65521, flags="A")
        asking, blank = tcp.copy(), tcp.copy()
        asking.options, blank.options = [(254, b"\x6d\x70")], [("NOP", None)] * 4
        control[bytes(ETHER / network / asking)] += 1
        arrived[bytes(ETHER / network / blank)] += 1
    assert permitted.questions_put_back(arrived, control) == (control, 300)
    assert permitted.questions_put_back(control, control) == (control, 0)


@pytest.mark.parametrize("network", networks(), ids=["ipv4", "ipv6"])
def test_frames_are_read_for_what_they_are(network: Packet) -> None:
    data = network / TCP(sport=1, dport=2, flags="A") / Raw(b"hello")
    for head in (ETHER, ETHER / Dot1Q(vlan=3), ETHER / Dot1Q() / Dot1Q() / Dot1Q()):
        reading = expected.read(bytes(head / data))
        assert (reading.kind, reading.payload, reading.source[1]) == (expected.TCP, 5, 1)
    four_tags = ETHER / Dot1Q() / Dot1Q() / Dot1Q() / Dot1Q()
    assert expected.read(bytes(four_tags / data)).kind == expected.OTHER
    whole = bytes(ETHER / data)
    for length in range(14, len(whole)):
        assert expected.read(whole[:length]).kind == expected.MALFORMED
    assert expected.read(whole + b"padding").kind == expected.TCP


def test_fragments_and_others() -> None:
    def kind(packet: Packet) -> str:
        return expected.read(bytes(ETHER / packet)).kind

    assert kind(IP(flags="MF") / TCP()) == expected.FRAGMENT
    assert kind(IP(frag=3) / TCP()) == expected.FRAGMENT
    assert kind(IP(flags="DF") / TCP()) == expected.TCP
    assert kind(IP(proto=17)) == expected.OTHER
    assert kind(IPv6(nh=44)) == expected.OTHER
    assert kind(IP(version=5) / TCP()) == expected.MALFORMED
    assert kind(IP(ihl=4) / TCP()) == expected.MALFORMED
    assert kind(IP() / TCP(dataofs=4)) == expected.MALFORMED
    assert kind(IP() / TCP(dataofs=6)) == expected.MALFORMED
    assert kind(IP(len=30) / TCP()) == expected.MALFORMED


def test_the_seed_decides() -> None:
    frames = list(Fuzzer(3, MACS).frames(3000))
    assert frames == list(Fuzzer(3, MACS).frames(3000))
    assert frames != list(Fuzzer(4, MACS).frames(3000))
    kinds = Counter(expected.read(frame).kind for _, frame in frames)
    assert min(kinds[kind] for kind in (expected.OTHER, expected.FRAGMENT)) > 100
    assert min(kinds[kind] for kind in (expected.MALFORMED, expected.TCP)) > 400


def test_plain_frames_have_right_checksums() -> None:
    fuzzer = Fuzzer(3, MACS)
    for side in (0, 1):
        for talk in fuzzer.conversations:
            frame = fuzzer.plain(side, talk)
            packet = Ether(frame)
            network = packet[IPv6] if IPv6 in packet else packet[IP]
            network[TCP].chksum = None
            assert bytes(packet) == frame
    assert checksum(b"\0\1\xf2\3\xf4\xf5\xf6\xf7") == 0x220D


@pytest.mark.parametrize("make", [arena.routed, arena.bridged], ids=["routed", "bridged"])
def test_the_same_frames_pass_twice(make: MakeArena) -> None:
    """Without a gateway two runs are alike: a difference with one is the gateway's doing."""
    with make() as place:
        runs = [arena.passage(place, Fuzzer(5, place.macs).frames(3000)).arrived for _ in range(2)]
    assert runs[0] == runs[1]
    assert all(sum(arrived.values()) > 800 for arrived in runs[0])
