# SPDX-License-Identifier: GPL-2.0-only
"""A sender's packets leave at the interval 1/R that its status shows (issue: within 2%, median)."""

import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest
from harness import net
from harness.capture import Capture, Segment, gaps_us, segments
from harness.gateway import mbps_for
from harness.lossy import Radio
from harness.sender import Sender
from harness.transfer import Transfer
from harness.wan import ways

TOLERANCE = 0.02
# Round trips that hardly vary, and a path so long that its bit rate sets the interval.
RADIO, RTT_MS, HOPS = Radio(delay_ms=2.0), 4.2, 64
SEGMENT = 1448
# The issue's rates in bytes/s; what a Wi-Fi mesh gives today and gave in the papers' days.
RATES = [100e3, 724e3, 7e6]
SECONDS, FULL_SECONDS = 1.5, 20.0


def interval_ms(rate: float) -> float:
    return SEGMENT / rate * 1e3


def mbps(rate: float) -> float:
    return mbps_for(interval_ms(rate), RTT_MS, HOPS)


Shown = tuple[int, float]  # when (ns), the interval in us


@dataclass(frozen=True)
class Spacing:
    """The intervals shown, and the gaps meanwhile as shares of them."""

    intervals_us: list[float]
    shares: list[float]

    def __str__(self) -> str:
        intervals = self.intervals_us
        return (
            f"interval {median(intervals):.1f} us ({min(intervals):.1f} to {max(intervals):.1f}), "
            f"median gap {median(self.shares):.4f} of it"
        )


def spacing(sender: Sender, transfers: list[Transfer], seconds: float) -> list[Spacing]:
    """Of each flow, as the packets leave, meanwhile."""
    ports = [transfer.sender_port for transfer in transfers]
    shown: dict[int, list[Shown]] = {port: [] for port in ports}
    for port in ports:
        sender.settled(port)
    with Capture(sender.namespace, sender.mesh, snap=128, late=True) as capture:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.03)
            flows, now = sender.flows(), time.time_ns()
            for port in ports:
                shown[port].append((now, float(flows[port]["interval_us"])))
    frames = capture.stop()
    return [_spacing(segments(frames, port, sent_by=True), shown[port]) for port in ports]


def _spacing(sent: list[Segment], shown: list[Shown]) -> Spacing:
    """Piece by piece: on a machine that is busy otherwise the interval wanders."""
    shares = []
    for (begin, _), (end, interval_us) in itertools.pairwise(shown):
        gaps = gaps_us(one for one in sent if begin <= one.time_ns < end)
        shares += [median(gaps) / interval_us] if gaps else []
    measured = Spacing([interval_us for _, interval_us in shown], shares)
    print(f"{len(sent)} packets, {len(shares)} pieces: {measured}")
    return measured


def check(measured: Spacing, rate: float) -> None:
    # The rate that was chosen: the test must be about this one and no other.
    assert 0.9 < median(measured.intervals_us) / 1e3 / interval_ms(rate) < 1.3
    assert median(measured.shares) == pytest.approx(1, abs=TOLERANCE)


@pytest.mark.parametrize("rate", RATES)
def test_gaps_are_the_interval(tmp_path: Path, rate: float, full: bool) -> None:
    """Of an IPv4 and an IPv6 flow at a time, which do not blur each other's."""
    seconds = FULL_SECONDS if full else max(SECONDS, 0.1 * interval_ms(rate))
    with (
        net.over_radio(RADIO) as network,
        Sender(network.host, tmp_path).on(HOPS, mbps(rate)) as sender,
        Transfer(network.host, network.wired, net.WIRED4, congestion="meshpace") as one,
        Transfer(network.host, network.wired, net.WIRED6, congestion="meshpace") as other,
    ):
        for measured in spacing(sender, [one, other], seconds):
            check(measured, rate)


def test_an_interface_that_segments_sends_no_bursts(tmp_path: Path) -> None:
    """TSO and the kernel's gathering of segments (tcp_tso_rtt_log) would send several at once."""
    rate = RATES[-1]
    with (
        net.routed() as network,
        ways(network, RADIO),
        Sender(network.host, tmp_path).on(HOPS, mbps(rate)) as sender,
        Transfer(network.host, network.wired, net.WIRED4, congestion="meshpace") as transfer,
    ):
        check(spacing(sender, [transfer], SECONDS)[0], rate)
        assert transfer.finish().intact
