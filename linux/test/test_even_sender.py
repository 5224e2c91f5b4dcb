# SPDX-License-Identifier: GPL-2.0-only
"""The law `even` at a wireless sender: it finds the path's rate by itself."""

import statistics
import time
from pathlib import Path

import pytest
from harness import lossy, net
from harness.sender import NAME, Sender
from harness.transfer import Transfer

pytestmark = [pytest.mark.measured, pytest.mark.sender]

RADIO = lossy.Radio(delay_ms=10.0, kbps=5000, queue=50)
HOPS, WRONG_MBPS = 2, 54.0
SETTLING_S, MEASURED_S = 8.0, 8.0


def upload(network: net.Network, sender: Sender, congestion: str) -> tuple[float, float]:
    """Goodput in kbit/s and, of flows of the sender's, the median round trip in ms."""
    with Transfer(network.host, network.wired, net.WIRED4, congestion=congestion) as run:
        time.sleep(SETTLING_S)
        began, before = time.monotonic(), run.received
        rtts = [0.0]
        while time.monotonic() < began + MEASURED_S:
            flow = sender.flow(run.sender_port)
            rtts += [flow["rtt_ms"]] if flow else []
            time.sleep(0.3)
        kbps = (run.received - before) * 8e-3 / (time.monotonic() - began)
    return kbps, statistics.median(rtts)


def test_a_sender_seeks_its_rate(tmp_path: Path) -> None:
    """Else `sender on --law even` is another law, or is never told what has arrived."""
    with (
        net.over_radio(RADIO) as network,
        Sender(network.host, tmp_path).on(HOPS, WRONG_MBPS, "--law", "even") as sender,
    ):
        assert sender.status()["path"]["law"] == "even"
        cubic, _ = upload(network, sender, "cubic")
        even, rtt_ms = upload(network, sender, NAME)
    print(f"cubic {cubic:.0f}, even {even:.0f} kbit/s, {rtt_ms:.1f} ms")
    assert even >= 0.9 * cubic
    # Empty 20 ms, full 140; what may wait at two hops is 33.
    assert 20.0 < rtt_ms < 80.0
