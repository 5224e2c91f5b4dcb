# SPDX-License-Identifier: GPL-2.0-only
"""RTT_wired between gateway and sender: asked for, told, taken off the RTT, done without."""

import itertools
import socket
import time
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import SYN, Capture, Frame, Segment, segments
from harness.gateway import until
from harness.lossy import Radio
from harness.sender import Flow, Sender
from harness.transfer import Transfer
from harness.wan import ways

pytestmark = pytest.mark.sender

# Long enough that what this machine adds to a round trip does not count.
RADIO, WIRELESS_MS = Radio(delay_ms=20.0), 40.0
HOPS, MBPS = 4, 40.0
ASK, TELL = b"\xfe\x04\x6d\x70", b"\xfe\x08\x6d\x70"
STRIP = ("-t", "mangle", "FORWARD", "-p", "tcp", "-j", "TCPOPTSTRIP", "--strip-options", "254")


def upload(network: net.Network, address: str = net.WIRED4) -> Transfer:
    """Little waits in the sender, so that an endless upload soon ends when it shall."""
    little = {(socket.SOL_SOCKET, socket.SO_SNDBUF): 32 * 1024}
    dialled = address not in (net.WIRED4, net.WIRED6)
    return Transfer(
        network.host,
        network.wired,
        address,
        sender_listens=dialled,
        congestion="meshpace",
        options=little,
    )


def strip(network: net.Network, action: str) -> None:
    """A relay between sender and gateway takes the options out (-A), or no longer does (-D)."""
    assert network.air
    table, chain, rule = STRIP[:2], STRIP[2], STRIP[3:]
    network.air.run("iptables", *table, action, chain, *rule)


def watch(sender: Sender, transfers: list[Transfer], seconds: float) -> list[list[Flow]]:
    """What status shows of each flow, again and again."""
    seen: list[list[Flow]] = [[] for _ in transfers]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        flows = sender.flows()
        for one, transfer in zip(seen, transfers, strict=True):
            one.append(flows[transfer.sender_port])
        time.sleep(0.04)
    return seen


class Truth:
    """What the radio took, by RTT_wired as it was told: both ends of the radio are watched."""

    def __init__(self, at_host: list[Frame], at_gateway: list[Frame], port: int) -> None:
        sent, left = _ends(at_host, port), _ends(at_gateway, port)
        told = {one.ack: one for one in segments(at_host, port, False) if TELL in one.options}
        passed = {one.ack: one for one in segments(at_gateway, port, False) if one.pure_ack}
        self.wireless_ms: dict[int, float] = {}
        for ack, one in told.items():
            if ack in passed and ack in sent and ack in left:
                whole, wired = one.time_ns - sent[ack], passed[ack].time_ns - left[ack]
                self.wireless_ms[_told_us(one)] = (whole - wired) / 1e6

    def check(self, flow: Flow) -> float | None:
        """How far off the sender is (within 10%); None when the ACK is not known."""
        truth = self.wireless_ms.get(round(flow["rtt_wired_ms"] * 1e3))
        return (flow["rtt_ms"] - flow["rtt_wired_ms"]) / truth - 1 if truth else None


def _ends(frames: list[Frame], port: int) -> dict[int, int]:
    """When the segment was seen that ends before this sequence number."""
    data = (one for one in segments(frames, port, sent_by=True) if one.payload)
    return {(one.seq + one.payload) % 2**32: one.time_ns for one in data}


def _told_us(ack: Segment) -> int:
    at = ack.options.index(TELL) + len(TELL)
    return int.from_bytes(ack.options[at : at + 4])


def check_wireless(truth: Truth, seen: list[Flow], wired_ms: float) -> None:
    found = [error for error in map(truth.check, seen) if error is not None]
    print(f"{len(found)} of {len(seen)} RTT_wireless are off {min(found):.3f} to {max(found):.3f}")
    assert len(found) > 0.5 * len(seen)
    assert all(abs(error) < 0.1 for error in found)
    assert seen[-1]["signals"] > seen[0]["signals"] + 10
    assert seen[-1]["rtt_wired_ms"] == pytest.approx(wired_ms, rel=0.1)


# Each round trip is compared with one that was captured, to 4 ms.
@pytest.mark.alone
@pytest.mark.measured
def test_rtt_wireless_stays_when_the_wired_way_changes(tmp_path: Path, start: StartGateway) -> None:
    """The wired way from 20 to 200 ms in mid-flow: of a host that dialled, of one that was."""
    with net.over_radio(RADIO) as network, ways(network, Radio(10.0), Radio(100.0)) as way:
        start(network)
        with (
            Sender(network.host, tmp_path).on(HOPS, MBPS) as sender,
            Capture(network.host, "eth0", snap=128) as at_host,
            Capture(network.gateway, "mesh0", snap=128) as at_gateway,
            upload(network, net.WIRED4) as dials,
            upload(network, net.host6(0)) as dialled,
        ):
            both = [dials, dialled]
            for one in both:
                sender.settled(one.sender_port)
            before = watch(sender, both, 0.8)
            way.use(1)
            until(lambda: all(sender.flows()[one.sender_port]["rtt_ms"] > 200 for one in both))
            after = watch(sender, both, 1.5)
            assert all(one.finish().intact for one in both)
        frames = at_host.stop(), at_gateway.stop()
    for index, one in enumerate(both):
        truth = Truth(*frames, one.sender_port)
        check_wireless(truth, before[index], 20.0)
        check_wireless(truth, after[index], 200.0)


@pytest.mark.measured
def test_the_start_is_not_slowed(tmp_path: Path, start: StartGateway) -> None:
    """Whole round trips, before RTT_wired is known, are no spread of the wireless ones."""
    with net.over_radio(RADIO) as network, ways(network, Radio(100.0)):
        start(network)
        with Sender(network.host, tmp_path).on(HOPS, MBPS) as sender, upload(network) as transfer:
            flow = sender.settled(transfer.sender_port, samples=8)
            assert flow["signals"] > 0
            assert flow["cov"] < 0.1


@pytest.mark.measured
def test_stripped_on_the_way_the_whole_rtt_is_used(tmp_path: Path, start: StartGateway) -> None:
    """And RTT_wireless again once the option comes through."""
    with net.relayed(Radio(delay_ms=10.0)) as network, ways(network, Radio(40.0), quickack=True):
        start(network)
        with Sender(network.host, tmp_path).on(HOPS, MBPS) as sender, upload(network) as transfer:
            port = transfer.sender_port
            told = sender.settled(port)
            assert told["rtt_wired_ms"] == pytest.approx(80, rel=0.1)
            strip(network, "-A")
            until(lambda: sender.flows()[port]["rtt_wired_ms"] is None, 6)
            whole = sender.settled(port, sender.flows()[port]["samples"] + 20)
            assert whole["rtt_ms"] == pytest.approx(100, rel=0.1)
            # At four hops the interval is half the round trip and a packet's transmission.
            assert whole["interval_us"] - told["interval_us"] == pytest.approx(40e3, rel=0.15)
            strip(network, "-D")
            until(lambda: sender.flows()[port]["rtt_wired_ms"], 4)
            assert transfer.finish().intact


def asks(sent: list[Segment]) -> list[Segment]:
    return [one for one in sent if ASK in one.options]


@pytest.mark.measured
def test_where_nobody_answers_it_asks_seldom(tmp_path: Path, full: bool) -> None:
    """With its SYN, on data, and then after pauses of 2, 4, 8... s; never often."""
    seconds = 11.0 if full else 2.5
    with (
        net.over_radio(Radio(delay_ms=2.0)) as network,
        Sender(network.host, tmp_path).on(8, 20.0),
        Capture(network.host, "eth0", snap=128) as capture,
        upload(network) as transfer,
    ):
        time.sleep(seconds)
        assert transfer.finish().intact
    asking = asks(segments(capture.stop(), transfer.sender_port, sent_by=True))
    assert asking[0].flags & SYN
    assert all(one.payload for one in asking[1:])
    gaps_s = [(b.time_ns - a.time_ns) / 1e9 for a, b in itertools.pairwise(asking[1:])]
    print(gaps_s)
    assert len(gaps_s) == (2 if full else 1)
    assert all(gap > 0.9 * 2**doubling for doubling, gap in enumerate(gaps_s, start=1))


def test_who_does_not_ask_is_not_told(tmp_path: Path, start: StartGateway) -> None:
    with net.over_radio(Radio(delay_ms=2.0)) as network:
        start(network)
        with (
            Sender(network.host, tmp_path).on(8, 20.0, "--no-ask") as sender,
            Capture(network.host, "eth0", snap=128) as capture,
            upload(network) as transfer,
        ):
            time.sleep(1.5)
            assert sender.settled(transfer.sender_port)["signals"] == 0
            assert transfer.finish().intact
    sent, got = (segments(capture.stop(), transfer.sender_port, by) for by in (True, False))
    assert not asks(sent)
    assert not any(TELL in one.options for one in got)


def test_the_question_goes_no_further_than_the_gateway(tmp_path: Path, start: StartGateway) -> None:
    """The wired host sees NOPs; after a gateway's new start the flow is told again."""
    with net.over_radio(Radio(delay_ms=2.0)) as network:
        gateway = start(network)
        with (
            Sender(network.host, tmp_path).on(8, 20.0) as sender,
            Capture(network.wired, "eth0", snap=128) as behind,
            upload(network) as transfer,
        ):
            port = transfer.sender_port
            told = sender.settled(port)["signals"]
            assert told > 0
            stopped_ns = time.time_ns()
            assert gateway.stop() == 0
            gateway.start()
            started_ns = time.time_ns()
            told = sender.flows()[port]["signals"]
            until(lambda: sender.flows()[port]["signals"] > told + 10, 30, gateway)
            assert gateway.fresh_status()["counters"]["asks"] > 0
            assert transfer.finish().intact
    arrived = segments(behind.stop(), port, sent_by=True)
    assert arrived[0].flags & SYN
    # Only while no gateway runs nobody takes a question out, however long that takes.
    through_ns = [one.time_ns for one in asks(arrived)]
    assert all(stopped_ns < at_ns < started_ns for at_ns in through_ns)
    assert all(b - a > 0.9e9 for a, b in itertools.pairwise(through_ns))
