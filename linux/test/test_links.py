# SPDX-License-Identifier: GPL-2.0-only
"""Links at different bit rates (GAP section 4.2): the interval sums over them, as stated."""

from collections.abc import Iterator
from statistics import median

import pytest
from conftest import StartGateway
from harness import net
from harness.flow_table import FlowTable
from harness.gateway import Gateway
from harness.lossy import Radio
from harness.transfer import Transfer, window
from test_spacing import spacing

pytestmark = pytest.mark.measured

TOLERANCE = 0.02
WINDOW = window(128 * 1024)
# Round trips so long that a busy machine hardly varies them; or varied by the radio.
RADIO, RESTLESS = Radio(delay_ms=20.0), Radio(delay_ms=20.0, swing_ms=4.0)
# Without CoV the interval would be a tenth shorter or more.
LEAST_COV = 0.05
SECONDS = 3.0
SEGMENT, ACK = 1500, 52  # bytes with IP header, timestamps on

# Of one rate the mean would do; the slowest four in a row are in the middle, at the end, all.
PATHS = {
    "middle": [11.0, 5.5, 2.0, 2.0, 5.5, 11.0, 11.0],
    "end": [11.0, 11.0, 2.0, 2.0, 2.0, 2.0],
    "short": [11.0, 5.5, 2.0],
}


def interval_ms(rates: list[float], rtt_ms: float) -> float:
    """1/R but for CoV, by eq. (1), (3), (4), sums over links in the place of multiples of 1/b."""
    row = min(4, len(rates))
    times = [8 / (mbps * 1e3) for mbps in rates]  # ms a byte
    queueing_ms = (rtt_ms - (SEGMENT + ACK) * sum(times)) / len(rates) / 2
    slowest = max(sum(times[i : i + row]) for i in range(len(rates) - row + 1))
    return row * queueing_ms + SEGMENT * slowest


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(RADIO) as made:
        yield made


def check_law(
    gateway: Gateway, transfer: Transfer, rates: list[float], least_cov: float = 0.0
) -> None:
    """At every look the interval in force is GAP's for the round trips in the law's window."""
    with FlowTable(gateway) as flows:
        looks = flows.watch(flows.settled(transfer.receiver_port), SECONDS)
    shares = [
        look.interval_us / 1e3 / look.lawful_ms(lambda rtt: interval_ms(rates, rtt))
        for look in looks
    ]
    cov = median(look.own_cov for look in looks)
    print(f"{rates}: CoV {cov:.4f}, {len(looks)} intervals {min(shares)} to {max(shares)} of GAP's")
    assert cov >= least_cov
    assert (min(shares), max(shares)) == pytest.approx((1, 1), abs=TOLERANCE)


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
        check_law(gateway, transfer, rates)
        measured = spacing(mesh, gateway, port, 6.0)
        assert measured.share == pytest.approx(1, abs=TOLERANCE)
        flow = gateway.flow(port)
        assert flow
        assert flow["hops"] == len(rates)


def test_interval_grows_with_cov(start: StartGateway) -> None:
    """Round trips vary by what the radio makes them, and the interval is longer by 1 + 2 CoV."""
    rates = [54.0, 24.0] * 12
    with net.over_radio(RESTLESS) as network:
        gateway = start(network, law="gap", host=[{"address": net.host4(0), "mbps": rates}])
        gateway.before_all_others()
        with Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as transfer:
            check_law(gateway, transfer, rates, LEAST_COV)
