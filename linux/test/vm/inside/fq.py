# SPDX-License-Identifier: GPL-2.0-only
"""
Release by sch_fq, which the machine that tests run on need not have: spacing of paced flows.
What else holds of every release (order, kill -9, --clean) are the native tests, which run here too.

An emulator that is itself kept from running releases late and then in bursts, which pulls the
median down. So a measurement that is off is repeated; sch_fq tells how late its own timer was, and
when it was late the test is inconclusive. At 0.5 ms the emulator is never fast enough for a median;
the mean, which lateness does not move as long as something waits, shows that the rate is right.
"""

import itertools
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean, median

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import Capture, Segment, gaps_us, segments
from harness.gateway import Gateway, host, until
from harness.traces import Traces, left_behind
from harness.transfer import Transfer, window

TOLERANCE = 0.02
# A round trip far above the emulator's own jitter keeps CoV, and so the interval, steady.
RTT_MS = 100.0
MAX_HOPS = 255
# Under emulation every wake-up is dear.
RARE_WAKING = {(socket.SOL_SOCKET, socket.SO_RCVLOWAT): 8 * 1024}

ATTEMPTS = 3
# How late sch_fq's timer may be, as a share of the interval, without blurring the median.
LATE = 0.05

# A flow of which much waits in the gateway.
INTERVAL_MS, WAITING = 4.0, 90

# So many segments at least so far apart, but for what leaves before the first round trip is known:
# the first window (RFC 6928), and as much again. Unpaced they take six round trips.
SEGMENT, HELD, HELD_MS, BEFORE = 1448, 300, 10.0, 20

Reported = tuple[int, float]  # time in ns, interval in us


@dataclass(frozen=True)
class Measured:
    """Intervals reported; gaps meanwhile, as shares of them; the lag of sch_fq's timer."""

    intervals_us: list[float]
    median_gap: float
    mean_gap: float
    late_us: float

    @property
    def interval_us(self) -> float:
        return median(self.intervals_us)

    def __str__(self) -> str:
        return (
            f"interval {self.interval_us:.1f} us ({min(self.intervals_us):.0f} to "
            f"{max(self.intervals_us):.0f}), gaps: median {self.median_gap:.4f} and "
            f"mean {self.mean_gap:.4f} of it; sch_fq's timer {self.late_us:.0f} us late"
        )


def evaluate(flow: list[Segment], reported: list[Reported], late: list[float]) -> Measured:
    """Between any two reports the interval is what the second tells; the median is over them."""
    medians, means = [], []
    for (begin, _), (end, interval) in itertools.pairwise(reported):
        gaps = gaps_us(s for s in flow if begin <= s.time_ns < end)
        if gaps:
            medians.append(median(gaps) / interval)
            means.append(mean(gaps) / interval)
    intervals = [interval for _, interval in reported]
    return Measured(intervals, median(medians), mean(means), median(late))


@pytest.fixture
def network() -> Iterator[net.Network]:
    with net.routed() as made:
        # A veth hands super packets over as they are, and no stamp takes them apart.
        made.segmentation(False)
        yield made


def hops_for(interval_ms: float) -> int:
    """With small transmission times the interval is 2 RTT / h (GAP eq. 4): h for RTT_MS."""
    return min(MAX_HOPS, round(2 * RTT_MS / interval_ms))


def far_host(network: net.Network, interval_ms: float) -> dict[str, object]:
    """Delays the mesh host's ACKs and returns its [[host]], for about this interval."""
    hops = hops_for(interval_ms)
    delay = f"{hops * interval_ms / 2:g}ms"
    network.host.run("tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", delay)
    return host(net.host4(0), mbps=1000.0, hops=hops)


def late_us(gateway: Gateway) -> float:
    """How late sch_fq's timer has been lately."""
    shown = gateway.namespace.run("tc", "-s", "-j", "qdisc", "show", "dev", "mesh0", "root")
    # Not shown as long as it is 0.
    return float(json.loads(shown)[0].get("latency", 0)) / 1e3


def measure(network: net.Network, gateway: Gateway, interval_ms: float, seconds: float) -> Measured:
    # Twice what is under way: something always waits in the gateway, though not for long.
    options = window(hops_for(interval_ms) * net.MTU) | RARE_WAKING
    transfer = Transfer(network.wired, network.host, net.host4(0), options=options).start()
    port, late = transfer.receiver_port, []
    reported: list[Reported] = []
    with transfer:
        until(lambda: (gateway.flow(port) or {}).get("samples", 0) > 100, 60, gateway)
        with Capture(network.host, "eth0", snap=128, late=True) as capture:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(0.25)
                flow = gateway.flow(port)
                assert flow
                reported.append((time.time_ns(), float(flow["interval_us"])))
                if len(reported) % 4 == 0:
                    late.append(late_us(gateway))
            assert transfer.finish().intact
    found = segments(capture.frames, port, sent_by=False)
    return evaluate(found, reported, late)


@pytest.mark.measured
@pytest.mark.parametrize(
    ("interval_ms", "statistic"),
    [(0.5, "mean_gap"), (2.0, "median_gap"), (10.0, "median_gap")],
    ids=["0.5ms", "2ms", "10ms"],
)
def test_spacing_is_the_interval(
    network: net.Network, start: StartGateway, interval_ms: float, statistic: str, full: bool
) -> None:
    # Enough packets, though not more than the emulated machine reads from its capture in seconds.
    seconds = (10 if full else 1) * max(2.0, 0.6 * interval_ms)
    before = Traces.of(network.gateway)
    gateway = start(network, release="fq", host=[far_host(network, interval_ms)])
    for _ in range(ATTEMPTS):
        measured = measure(network, gateway, interval_ms, seconds)
        print(measured)
        share = getattr(measured, statistic)
        if share == pytest.approx(1, abs=TOLERANCE):
            break
    assert gateway.stop() == 0
    assert not left_behind(network.gateway, before)
    # The interval that was chosen: the test must be about this one and no other.
    assert 0.8 * interval_ms < measured.interval_us / 1e3 < 1.6 * interval_ms
    if share != pytest.approx(1, abs=TOLERANCE) and measured.late_us > LATE * measured.interval_us:
        pytest.skip(f"inconclusive: {measured}")
    assert share == pytest.approx(1, abs=TOLERANCE)


def stop(gateway: Gateway, _: Gateway) -> None:
    assert gateway.stop() == 0


def clean(gateway: Gateway, _: Gateway) -> None:
    gateway.kill()
    assert gateway.clean().returncode == 0


def restart(gateway: Gateway, _: Gateway) -> None:
    gateway.kill()
    gateway.start()


def replace(gateway: Gateway, newer: Gateway) -> None:
    newer.start("--replace")
    assert gateway.wait() == 0


def timeouts(network: net.Network) -> int:
    """Retransmission timeouts of the wired host so far."""
    names, values = network.wired.run("cat", "/proc/net/netstat").splitlines()[:2]
    return int(dict(zip(names.split(), values.split(), strict=True))["TCPTimeouts"])


def test_a_flow_is_held_back(network: net.Network, start: StartGateway) -> None:
    """
    Else nothing is paced where this kernel is. Spacing itself is measured above; a machine that is
    slow or busy makes the transfer longer only, so that this does not go by the clock.
    """
    gateway = start(network, release="fq", host=[far_host(network, HELD_MS)])
    run = Transfer(network.wired, network.host, net.host4(0), HELD * SEGMENT).start().wait()
    paced = gateway.fresh_status()["counters"]["paced"]
    print(f"{run.seconds:.2f} s, {paced} paced")
    assert run.intact
    assert run.seconds >= (HELD - BEFORE) * HELD_MS / 1e3
    assert paced >= HELD - BEFORE


@pytest.mark.measured
@pytest.mark.parametrize("end", [stop, clean, restart, replace], ids=lambda end: end.__name__)
def test_nothing_that_waits_is_lost(
    network: net.Network, start: StartGateway, end: Callable[[Gateway, Gateway], None]
) -> None:
    """
    A qdisc that is taken away takes its packets along: here the whole window of a flow, and with it
    a second or more. So whoever takes fq away lets it run empty first, or leaves it to the next.
    """
    config = {"host": [far_host(network, INTERVAL_MS)]}
    gateway = start(network, release="fq", **config)
    newer = Gateway(gateway.namespace, gateway.directory, gateway.release, config)
    options = window(WAITING * net.MTU)
    transfer = Transfer(network.wired, network.host, net.host4(0), options=options)
    try:
        with transfer:
            until(lambda: transfer.received > 1_000_000, 60, gateway)
            before = timeouts(network)
            end(gateway, newer)
            time.sleep(1)
            result = transfer.finish()
            late = timeouts(network) - before
    finally:
        newer.end()
    print(result, late)
    assert result.intact
    assert late == 0
    assert result.stall_s < 0.5
