# SPDX-License-Identifier: GPL-2.0-only
"""Goodput control: a flow far above the mean is slowed to it, and let go when a flow ends."""

import time

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import PATIENCE_S, host, mbps_for, until
from harness.transfer import Transfer, window

pytestmark = pytest.mark.measured

STEP_S = 5.0
WINDOW = window(64 * 1024)


CONTROL = [
    pytest.param(True, id="control"),
    pytest.param(False, id="no-control", marks=pytest.mark.long),
]


@pytest.mark.parametrize("control", CONTROL)
def test_a_fast_flow_is_throttled_and_released(start: StartGateway, control: bool) -> None:
    intervals = [0.5, 8.0, 8.0]
    with net.routed(hosts=3) as network:
        hosts = [host(net.host4(n), mbps_for(ms)) for n, ms in enumerate(intervals)]
        gateway = start(network, host=hosts, goodput_control=control)
        runs = [
            Transfer(network.wired, one, net.host4(n), options=WINDOW).start()
            for n, one in enumerate(network.hosts)
        ]
        fast = runs[0].receiver_port

        def throttled() -> bool:
            flow = gateway.flow(fast)
            return bool(flow and flow["throttled"])

        try:
            if not control:
                time.sleep(STEP_S + 1)
                assert not throttled()
                return
            until(throttled, 2 * STEP_S + 1, gateway)
            assert not any((gateway.flow(run.receiver_port) or {})["throttled"] for run in runs[1:])
            slowed = runs[0].received
            time.sleep(1)
            slowed = runs[0].received - slowed
            runs.pop().finish()
            until(lambda: not throttled(), PATIENCE_S, gateway)
            released = runs[0].received
            time.sleep(1)
            released = runs[0].received - released
        finally:
            for run in runs:
                run.close()
    print(slowed, released)
    assert slowed < 0.6 * released
