# SPDX-License-Identifier: GPL-2.0-only
"""
How many instructions the kernel's verifier has to walk through. A program that nears the limit
of a million is refused by the next kernel that looks closer; so growth has to be meant.
"""

from collections.abc import Collection
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import bpf, net
from harness.sender import Sender

# Walked through by Linux 6.18, 6.12 and 6.1, whichever was most; and room for another compiler.
GATEWAY = {"mp_to_mesh": 302_514, "mp_from_mesh": 186_591}
SENDER = {
    "mp_begin": 65,
    "mp_cong_avoid": 6,
    "mp_min_tso_segs": 2,
    "mp_pkts_acked": 79_934,
    "mp_sockops": 519,
    "mp_ssthresh": 3,
    "mp_undo_cwnd": 3,
}
WALKED = GATEWAY | SENDER
ROOM = 1.25


def check(names: Collection[str]) -> None:
    for name in names:
        # Other tests' gateways come and go: of several of a name, the one loaded last that stays.
        numbers = [program.number for program in bpf.programs({name})]
        counts = map(bpf.walked, reversed(numbers))
        count = next((count for count in counts if count is not None), None)
        assert count is not None, f"{name} is missing"
        print(f"{name} {count}")
        assert count <= WALKED[name] * ROOM, f"{name}: {count}, {WALKED[name]} before"


def test_the_gateway(network: net.Network, start: StartGateway) -> None:
    start(network)
    check(GATEWAY)


@pytest.mark.sender
def test_the_sender(network: net.Network, tmp_path: Path) -> None:
    with Sender(network.host, tmp_path).on(4, 11.0):
        check(SENDER)
