# SPDX-License-Identifier: GPL-2.0-only
"""Links at different bit rates (GAP section 4.2): the interval sums over them, as stated."""

import time
from collections.abc import Iterator
from statistics import mean

import pytest
from conftest import StartGateway
from harness import net
from harness.flow_table import FlowTable
from harness.lossy import Radio
from harness.transfer import Transfer, window
from test_spacing import spacing

TOLERANCE = 0.02
WINDOW = window(128 * 1024)
# Round trips so long that a busy machine hardly varies them.
RADIO = Radio(delay_ms=20.0)
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
    gateway.before_all_others()
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=WINDOW) as transfer:
        port = transfer.receiver_port
        with FlowTable(gateway) as flows:
            key, looks = flows.settled(port), []
            end = time.monotonic() + 3
            while time.monotonic() < end:
                looks.append(flows.look(key))
                time.sleep(0.01)
        told = mean(interval_ms(rates, look.rtt_ms, look.cov) for look in looks)
        share = mean(look.interval_us for look in looks) / 1e3 / told
        print(f"{rates}: {len(looks)} looks, {told:.3f} ms, {share:.4f} of it in force")
        assert share == pytest.approx(1, abs=TOLERANCE)
        measured = spacing(mesh, gateway, port, 6.0)
        assert measured.share == pytest.approx(1, abs=TOLERANCE)
        flow = gateway.flow(port)
        assert flow
        assert flow["hops"] == len(rates)
