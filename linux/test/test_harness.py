# SPDX-License-Identifier: GPL-2.0-only
"""The instruments themselves, without the program: what they would get wrong, every test would."""

import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import net, offload, record
from harness.capture import Capture, gaps_us, median_gap_us, segment, segments
from harness.lossy import Radio
from harness.traces import Traces
from harness.transfer import Transfer


@pytest.mark.parametrize("address", [net.host4(0), net.host6(0)])
def test_a_plain_transfer_arrives(network: net.Network, address: str) -> None:
    result = Transfer(network.wired, network.host, address, size=5_000_000).start().wait()
    assert result.intact
    assert result.received_bytes == 5_000_000


def test_both_ways_at_once_and_to_several_hosts() -> None:
    with net.routed(hosts=2) as network:
        runs = [
            Transfer(network.wired, host, net.host4(n), 2_000_000, seed=n, both_ways=True).start()
            for n, host in enumerate(network.hosts)
        ]
        results = [result for run in runs for result in run.wait_all()]
    assert len(results) == 4
    assert all(r.intact and r.received_bytes == 2_000_000 for r in results)


def test_a_download_through_masquerading(network: net.Network) -> None:
    network.masquerade()
    download = Transfer(network.wired, network.host, net.WIRED4, 1_000_000, sender_listens=True)
    assert download.start().wait().intact


def _tick(network: net.Network, interval_s: float, count: int) -> int:
    """Sends small segments at known times; returns the sender's port."""
    server = network.host.socket(socket.AF_INET, socket.SOCK_STREAM)
    sender = network.wired.socket(socket.AF_INET, socket.SOCK_STREAM)
    with server, sender:
        server.bind((net.host4(0), 0))
        server.listen(1)
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sender.connect(server.getsockname())
        begin = time.monotonic()
        for n in range(count):
            time.sleep(max(0.0, begin + n * interval_s - time.monotonic()))
            sender.send(b"tick")
        return int(sender.getsockname()[1])


@pytest.mark.measured
def test_gaps_are_those_of_a_sender_of_known_pace(network: net.Network) -> None:
    with Capture(network.host, "eth0") as capture:
        port = _tick(network, 0.004, 200)
    flow = segments(capture.frames, port, sent_by=True)
    assert len(gaps_us(flow)) == 199
    assert median_gap_us(flow) == pytest.approx(4000, rel=0.02)


@pytest.mark.measured
def test_the_radio_loses_and_delays_what_it_says() -> None:
    radio = Radio(delay_ms=10, loss=0.1, reorder=0.1, seed=3)
    with net.over_radio(radio) as network, Capture(network.gateway, "mesh0") as sent:
        with Capture(network.host, "eth0") as arrived:
            result = Transfer(network.wired, network.host, net.host4(0), 400_000).start().wait()
            arrived.quiet(0.3)
        out = [s for s in map(segment, (f for f in sent.stop() if f.outgoing)) if s]
        into = [s for s in map(segment, (f for f in arrived.frames if not f.outgoing)) if s]
    assert result.intact
    assert 1 - len(into) / len(out) == pytest.approx(0.1, abs=0.05)
    first_s = (into[0].time_ns - out[0].time_ns) / 1e9
    assert first_s == pytest.approx(0.010, abs=0.003)
    # Segments are told apart by what a retransmission does not repeat: their time.
    order = [s.seq for s in into if s.payload]
    assert any(b < a for a, b in itertools.pairwise(order))


@pytest.mark.measured
def test_the_radio_shares_one_rate() -> None:
    with net.over_radio(Radio(kbps=8000)) as network:
        result = Transfer(network.wired, network.host, net.host4(0), 2_000_000).start().wait()
    # ACKs take their part of the air.
    assert 5000 < result.kbps < 8000


def test_offloads_are_set_and_restored(network: net.Network) -> None:
    before = offload.all_of(network.wired, "eth0")
    with offload.switched(network.wired, "eth0", not before["tso"]):
        assert offload.all_of(network.wired, "eth0")["tso"] != before["tso"]
    assert offload.all_of(network.wired, "eth0") == before


def test_traces_show_what_was_left(network: net.Network) -> None:
    before = Traces.of(network.gateway)
    assert not Traces.of(network.gateway).left_since(before)
    rule = ("-t", "mangle", "-A", "POSTROUTING", "-o", "mesh0", "-j", "ACCEPT")
    network.gateway.run("iptables", *rule)
    network.gateway.run("tc", "qdisc", "add", "dev", "mesh0", "clsact")
    offload.set_(network.gateway, "eth0", not offload.get(network.gateway, "eth0", "gro"), "gro")
    left = Traces.of(network.gateway).left_since(before)
    assert set(left) == {"iptables-save", "qdisc", "offloads eth0"}
    network.gateway.run("iptables", "-t", "mangle", "-D", *rule[3:])
    assert "iptables-save" not in Traces.of(network.gateway).left_since(before)


def test_a_vlan_tag_is_in_the_capture(network: net.Network) -> None:
    frame = network.host.mac("eth0") + network.gateway.mac("mesh0")
    frame += struct.pack("!HHH", 0x8100, 0x0123, 0x88B5) + bytes(50)
    raw = network.gateway.socket(socket.AF_PACKET, socket.SOCK_RAW)
    with raw, Capture(network.host, "eth0") as capture:
        raw.bind(("mesh0", 0))
        raw.send(frame)
        capture.quiet(0.2)
    assert frame in [one.data for one in capture.stop()]


def test_the_benchmark_says_what_it_lacks() -> None:
    """In a line, without iproute2; a traceback tells nobody what to install."""
    script = Path(__file__).with_name("bench_gateway.py")
    environment = {**os.environ, "PATH": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "'ip'" in done.stderr


def test_a_recorded_file_keeps_what_was_before(tmp_path: Path) -> None:
    """Else each new run of one test costs what the others had, and how it was before the change."""
    (tmp_path / "leave.json").write_text(
        json.dumps(
            {
                "commit": "old",
                "law": "older",
                "note": "a remark",
                "rows": [
                    {"variant": "a: b", "figure": "kept", "value": 1, "before": 0.2},
                    {"variant": "c", "figure": "kept", "value": 2},
                ],
            }
        )
    )
    collector = record.Collector(tmp_path, "new", "newer", "2026-11-25")
    for value in (3.0, 4.0, 5.0):
        collector.write_one("title", "command", "leave", {("a: b", "kept", "", ">"): [value] * 2})
    found = json.loads((tmp_path / "leave.json").read_text())
    first, second = found["rows"]
    assert (found["commit"], found["note"]) == ("new", "a remark")
    assert (first["value"], first["n"], first["before"]) == (5.0, 2, 0.2)
    assert second == {"commit": "old", "law": "older", "variant": "c", "figure": "kept", "value": 2}


def test_a_variant_is_said_in_words() -> None:
    assert record.variant("test_who_leaves[process stopped-2-3]") == "who leaves: process stopped"
    assert record.variant("test_who_leaves[2-3]") == "who leaves"


def test_what_an_attempt_measured_counts_once(tmp_path: Path) -> None:
    """A further attempt reports it again, beside its own."""
    collector = record.Collector(tmp_path, "new", "newer", "2026-11-25")
    properties: list[tuple[str, object]] = []
    for value in (0.8, 0.9):
        record.Recorder(properties)("kept", "", value)
        collector.add(
            pytest.TestReport(
                nodeid="test_leave.py::test_it",
                location=("test_leave.py", 1, "test_it"),
                keywords={},
                outcome="failed",
                longrepr=None,
                when="call",
                user_properties=list(properties),
            )
        )
    assert collector.values["leave"]["it", "kept", "", ""] == [0.8, 0.9]
