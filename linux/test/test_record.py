# SPDX-License-Identifier: GPL-2.0-only
"""`meshpace gateway --record FILE` writes a trace that replays to what the gateway had."""

import re
import time
from pathlib import Path

import pytest
from harness import lossy, net, replay
from harness.flow_table import FlowTable, Look
from harness.gateway import Gateway, host
from harness.transfer import Transfer

RADIO = lossy.Radio(delay_ms=5.0, loss=0.01, kbps=8000, queue=50)
SECONDS = 3.0
TICK_MS = 64e-6


def recorded(folder: Path, law: str) -> tuple[str, Look]:
    """A trace of a download over a lossy radio, and what the gateway's table had in the end."""
    file = folder / "recorded.trace"
    with net.over_radio(RADIO) as network:
        config = {"law": law, "host": [host(net.host4(0), 11.0, 2)]}
        gateway = Gateway(network.gateway, folder, "nfqueue", config).start("--record", str(file))
        try:
            with (
                Transfer(network.wired, network.host, net.host4(0)) as run,
                FlowTable(gateway) as t,
            ):
                time.sleep(SECONDS)
                key = t.find(run.receiver_port)
                assert key
                run.finish()
                time.sleep(0.5)
                found = t.look(key)
        finally:
            gateway.end()
        for address in (net.host4(0), net.WIRED4):
            assert address not in file.read_text()
    return file.read_text(), found


def last(replayed: str, field: str) -> int:
    """A number of the download's latest state."""
    states = [line for line in replayed.splitlines() if line.startswith("# down ")]
    found = re.search(rf" {re.escape(field)}=(\d+)", states[-1])
    assert found
    return int(found[1])


@pytest.mark.parametrize("law", ["even", "gap"])
def test_it_replays_to_what_the_gateway_had(law: str, tmp_path: Path) -> None:
    """Else who is sent a trace sees another fault than who had it."""
    trace, found = recorded(tmp_path, law)
    path = tmp_path / "trace"
    path.write_text(trace)
    replayed = replay.plain(replay.build_plain(tmp_path))(path)
    print(f"{trace.count(chr(10))} lines, {found.samples} samples")
    assert found.samples > 50
    assert last(replayed, "estimate.samples") == found.samples
    assert last(replayed, "interval_ns") == round(found.interval_us * 1e3)
    assert last(replayed, "estimate.window.sum") == round(sum(found.rtts_ms) / TICK_MS)


def test_what_cannot_be_written_is_said_in_a_line(network: net.Network, tmp_path: Path) -> None:
    gateway = Gateway(network.gateway, tmp_path, "observe", {})
    done = gateway.call("gateway", "--mesh", "mesh0", "--record", str(tmp_path / "no" / "file"))
    assert done.returncode == 2
    assert "--record" in done.stderr
    assert len([line for line in done.stderr.splitlines() if "meshpace:" in line]) == 1
