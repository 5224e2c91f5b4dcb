# SPDX-License-Identifier: GPL-2.0-only
"""A sender's packets leave at the interval 1/R that its status shows (median within 2%)."""

import time
from pathlib import Path

import pytest
from harness import net
from harness.capture import Capture, segments
from harness.gateway import mbps_for
from harness.lossy import Radio
from harness.sender import Sender
from harness.spacing import Shown, Spacing, spacing_of
from harness.transfer import Transfer
from harness.wan import ways

pytestmark = [pytest.mark.measured, pytest.mark.sender]

TOLERANCE = 0.02
# So many hops that the bit rate sets the interval.
HOPS = 255
SEGMENT = 1448
# Bytes/s; what a Wi-Fi mesh gives today and gave in the papers' days.
RATES = [100e3, 724e3, 7e6]
SECONDS, FULL_SECONDS = 1.5, 20.0


def interval_ms(rate: float) -> float:
    return SEGMENT / rate * 1e3


def radio(rate: float) -> Radio:
    """
    Round trips that a busy machine hardly varies: as long as four hops of this interval allow, and
    no longer than needed.
    """
    return Radio(delay_ms=min(20.0, interval_ms(rate) * HOPS / 10))


def mbps(rate: float) -> float:
    return mbps_for(interval_ms(rate), 2 * radio(rate).delay_ms, HOPS)


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
    found = [spacing_of(segments(frames, port, sent_by=True), shown[port]) for port in ports]
    print(*found, sep="\n")
    return found


def check(measured: Spacing, rate: float) -> None:
    # The rate that was chosen: the test must be about this one and no other.
    assert 0.9 < measured.interval_ms / interval_ms(rate) < 1.3
    assert measured.share == pytest.approx(1, abs=TOLERANCE)


@pytest.mark.parametrize("rate", [pytest.param(RATES[0], marks=pytest.mark.smoke), *RATES[1:]])
def test_gaps_are_the_interval(tmp_path: Path, rate: float, full: bool) -> None:
    """Of an IPv4 and an IPv6 flow at a time, which do not blur each other's."""
    seconds = FULL_SECONDS if full else max(SECONDS, 0.1 * interval_ms(rate))
    with (
        net.over_radio(radio(rate), quickack=True) as network,
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
        ways(network, radio(rate), quickack=True),
        Sender(network.host, tmp_path).on(HOPS, mbps(rate)) as sender,
        Transfer(network.host, network.wired, net.WIRED4, congestion="meshpace") as transfer,
    ):
        check(spacing(sender, [transfer], SECONDS)[0], rate)
        assert transfer.finish().intact
