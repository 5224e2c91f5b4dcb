# SPDX-License-Identifier: GPL-2.0-only
"""Packets do not come by the gateway's programs, since a filter before them lets them pass."""

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import PATIENCE_S, until
from harness.transfer import Transfer
from test_watch import download, mesh, paces, state

__all__ = ["mesh"]
IN_FRONT = "a filter of priority 1 is asked before meshpace's"


# Programs for a filter: all packets match, and without an action pass at once; or none does.
MATCHES, GOES_ON = "1,6 0 0 4294967295", "1,6 0 0 0"


def put(network: net.Network, at: str, bytecode: str) -> None:
    words = ("filter", "add", "dev", "mesh0", at, "prio", "1", "protocol", "all")
    network.gateway.run("tc", *words, "bpf", "bytecode", bytecode)


def goes_on(run: Transfer) -> None:
    before = run.received
    until(lambda: run.received > before + 200_000, PATIENCE_S)


@pytest.mark.parametrize("at", ["egress", "ingress"])
def test_a_filter_in_front_is_told(mesh: net.Network, start: StartGateway, at: str) -> None:
    """Else pacing is off, or all hosts seem to have left, and status says that all is well."""
    gateway = start(mesh, release="htb", law="even")
    with download(mesh) as run:
        paces(gateway)
        put(mesh, at, MATCHES)
        verb = "leave" if at == "egress" else "come"
        found = state(gateway, f"packets {verb} unseen: {IN_FRONT}")
        assert found["release"] == "observe"
        goes_on(run)
        mesh.gateway.run("tc", "filter", "del", "dev", "mesh0", at, "prio", "1")
        state(gateway, "ready")
        paces(gateway)
        assert run.finish().intact
    assert len([line for line in gateway.log if IN_FRONT in line]) == 1


def test_a_filter_in_front_that_goes_on_is_none_s_fault(
    mesh: net.Network, start: StartGateway
) -> None:
    """Else who counts or marks packets there has no pacing."""
    gateway = start(mesh, release="htb", law="even")
    for at in ("egress", "ingress"):
        put(mesh, at, GOES_ON)
    with download(mesh) as run:
        for _ in range(4):
            paces(gateway)
            goes_on(run)
            assert gateway.fresh_status()["state"] == "ready"
        assert run.finish().intact
