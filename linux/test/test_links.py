# SPDX-License-Identifier: GPL-2.0-only
"""Links at different bit rates (GAP section 4.2): the interval sums over them, as stated."""

import time
from collections.abc import Iterator
from statistics import median

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import until
from harness.lossy import Radio
from harness.transfer import Transfer, window
from test_spacing import spacing

TOLERANCE = 0.02
WINDOW = window(128 * 1024)
RADIO = Radio(delay_ms=6.0)
SEGMENT, ACK = 1500, 52  # bytes with IP header, timestamps on

# Of one rate the mean would do; the slowest four in a row are in the middle, at the end, all.
PATHS = {
    "middle": [11.0, 5.5, 2.0, 2.0, 5.5, 11.0, 11.0],
    "end": [11.0, 11.0, 2.0, 2.0, 2.0, 2.0],
    "short": [11.0, 5.5, 2.0],
}


def interval_ms(rates: list[float], rtt_ms: float, cov: float) -> float:
    """1/R by eq. (1), (3), (4), with sums over links in the place of multiples of 1/b."""
    row = min(4, len(rates))
    times = [8 / (mbps * 1e3) for mbps in rates]  # ms a byte
    queueing_ms = (rtt_ms - (SEGMENT + ACK) * sum(times)) / len(rates) / 2
    slowest = max(sum(times[i : i + row]) for i in range(len(rates) - row + 1))
    return (row * queueing_ms + SEGMENT * slowest) * (1 + 2 * cov)


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(RADIO) as made:
        yield made


@pytest.mark.parametrize("rates", PATHS.values(), ids=PATHS.keys())
def test_interval_sums_over_links(
    mesh: net.Network, start: StartGateway, rates: list[float]
) -> None:
    """Else a path with a slow stretch would be paced as one of its mean rate, or of its first."""
    table = [{"address": net.host4(0), "mbps": rates}]
    gateway = start(mesh, law="gap", host=table)
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=WINDOW) as transfer:
        port = transfer.receiver_port
        until(lambda: (gateway.flow(port) or {}).get("samples", 0) > 60, 20, gateway)
        for _ in range(3):
            shares = []
            end = time.monotonic() + 3
            while time.monotonic() < end:
                flow = gateway.flow(port)
                assert flow
                told = interval_ms(rates, flow["rtt_wireless_ms"], flow["cov"])
                shares.append(flow["interval_us"] / 1e3 / told)
                time.sleep(0.05)
            gap, interval = spacing(mesh, gateway, port, 20.0)
            if abs(median(shares) - 1) < TOLERANCE and abs(gap / interval - 1) < TOLERANCE:
                break
        print(f"{rates}: shares {sorted(shares)[:: max(1, len(shares) // 8)]}")
        assert median(shares) == pytest.approx(1, abs=TOLERANCE)
        assert gap == pytest.approx(interval, rel=TOLERANCE)
        flow = gateway.flow(port)
        assert flow
        assert flow["hops"] == len(rates)
