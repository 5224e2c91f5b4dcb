# SPDX-License-Identifier: GPL-2.0-only
"""What waits on the path of an unmodified sender's upload shows in TCP's timestamps."""

import time

import pytest
from conftest import StartGateway
from harness import air, net
from harness.flow_table import FlowTable
from harness.gateway import host, until
from harness.transfer import Transfer

DELAY_MS, KBPS, QUEUE = 5.0, 4000, 40
FRAME_MS = 1514 * 8 / KBPS
EMPTY_MS, FULL_MS = 2 * DELAY_MS, QUEUE * FRAME_MS
# TCP's first window of ten, which waits behind itself, and a clock of 1 ms.
FIRST_MS = 10 * FRAME_MS + 1
LOOKS, LOOK_S = 40, 0.1


@pytest.mark.measured
@pytest.mark.parametrize("timestamps", [True, False])
def test_an_uploads_wait_shows_by_its_timestamps(start: StartGateway, timestamps: bool) -> None:
    """Else of uploads alone nobody knows when the air is used up."""
    radio = air.Radio(delay_ms=DELAY_MS, kbps=KBPS, queue=QUEUE)
    with net.over_radio(radio) as network:
        network.host.run("sysctl", "-qw", f"net.ipv4.tcp_timestamps={int(timestamps)}")
        gateway = start(network, law="even", host=[host(net.host4(0), 11.0)])
        with (
            Transfer(network.host, network.wired, net.WIRED4) as upload,
            FlowTable(gateway) as table,
        ):
            key = until(lambda: table.find(upload.sender_port, up=True), 10)
            waits = []
            for _ in range(LOOKS):
                time.sleep(LOOK_S)
                least, latest = table.echoes_ms(key)
                waits.append(latest - least)
    print(f"least {least:.1f} ms, waits up to {max(waits):.1f} of {FULL_MS:.0f} ms")
    if not timestamps:
        assert (least, max(waits)) == (0, 0)
        return
    assert EMPTY_MS <= least <= EMPTY_MS + FIRST_MS
    assert 0.5 * FULL_MS <= max(waits) <= FULL_MS + FIRST_MS
