# SPDX-License-Identifier: GPL-2.0-only
"""
The daemon hangs in the middle of a download: the kernel alone lets packets pass, and when the
daemon is well again so is pacing.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import hang, lossy, net
from harness.gateway import PATIENCE_S, PROGRAM, Gateway, host, until
from harness.record import Recorder
from harness.transfer import Transfer, window

RADIO = lossy.Radio(delay_ms=10.0, kbps=5000, queue=50)
SETTLING_S, BEFORE_S = 3.0, 1.5
# The harm of a hang has to be over after so long; then goodput is measured.
GRACE_S, HUNG_S = 2.0, 3.0
KEPT = 0.8
# Far more than lies behind the daemon: the radio's queue, and what the receiver has not read.
MORE_BYTES = 1_000_000
# Two sockets' buffers of the sender would hide what does not arrive.
OPTIONS = window(256 * 1024)


def kbps(run: Transfer, seconds: float) -> float:
    began, before = time.monotonic(), run.received
    time.sleep(seconds)
    return (run.received - before) * 8e-3 / (time.monotonic() - began)


@contextlib.contextmanager
def download(
    start: StartGateway, law: str, **release: str
) -> Iterator[tuple[Gateway, Transfer, float]]:
    """Of a bulk download that has settled: gateway, transfer, goodput in kbit/s."""
    with net.over_radio(RADIO) as network:
        gateway = start(network, law=law, host=[host(net.host4(0), 11.0)], **release)
        with Transfer(network.wired, network.host, net.host4(0), options=OPTIONS) as run:
            time.sleep(SETTLING_S)
            yield gateway, run, kbps(run, BEFORE_S)


def paces(gateway: Gateway, within_s: float) -> float:
    """Seconds until packets of the download are held again."""
    began = time.monotonic()
    held = gateway.status()["counters"]["paced"]
    until(lambda: gateway.status()["counters"]["paced"] > held + 20, within_s + 1, gateway)
    return time.monotonic() - began


# The main thread has the program's name.
HANGS: dict[str, hang.Hang] = {
    "stopped": hang.stopped,
    "frozen": hang.frozen,
    "holder": hang.thread_stopped("nfqueue", "htb"),
    **{name: hang.thread_stopped(name) for name in ("cache", "heart", "meshpace")},
}


def more(run: Transfer) -> None:
    """Waits until so much has arrived that it went by the daemon."""
    before = run.received
    until(lambda: run.received > before + MORE_BYTES, PATIENCE_S)


@pytest.mark.parametrize("how", HANGS)
def test_everything_arrives_whichever_way_it_hangs(start: StartGateway, how: str) -> None:
    """Else the gateway, the only way to the Internet, is a hole that swallows everything."""
    with net.over_radio(RADIO) as network:
        gateway = start(network, law="even", host=[host(net.host4(0), 11.0)])
        with Transfer(network.wired, network.host, net.host4(0), options=OPTIONS) as run:
            paces(gateway, PATIENCE_S)
            with HANGS[how](gateway.pid):
                more(run)
            paces(gateway, PATIENCE_S)
            assert gateway.alive
            assert run.finish().intact


HUNG = [("gap", "stopped"), *(("even", how) for how in HANGS)]


@pytest.mark.measured
@pytest.mark.parametrize(
    ("by", "how"),
    [
        pytest.param(*one, marks=[pytest.mark.smoke] if one == ("even", "stopped") else [])
        for one in HUNG
    ],
)
def test_packets_pass_a_daemon_that_hangs(
    start: StartGateway, record: Recorder, by: str, how: str
) -> None:
    """As fast as before, and soon."""
    with download(start, by) as (gateway, run, before):
        with HANGS[how](gateway.pid):
            time.sleep(GRACE_S)
            hung = kbps(run, HUNG_S)
        record("from 2 s on, by the rate before", "", hung / before, "at least .80")
        assert hung >= KEPT * before
        # Status is as of the latest second.
        record("paced again after", "s", paces(gateway, within_s=2), "within 2, and a status's 1")
        assert gateway.alive
        assert run.finish().intact


@pytest.mark.measured
def test_a_daemon_that_is_stopped_in_each_release(
    start: StartGateway, record: Recorder, release: str
) -> None:
    """Release by `htb` needs no daemon for a packet that waits."""
    with download(start, "even", release=release) as (gateway, run, before):
        with hang.stopped(gateway.pid):
            time.sleep(GRACE_S)
            hung = kbps(run, HUNG_S)
        record("from 2 s on, by the rate before", "", hung / before, "at least .80")
        assert hung >= KEPT * before
        assert gateway.fresh_status()["release"] == release
        assert run.finish().intact


@pytest.mark.measured
def test_this_box_s_own_connections_go_on(start: StartGateway) -> None:
    """A socket sends nothing again that lies in a queue of its own box: SSH stood still."""
    with net.over_radio(RADIO) as network:
        gateway = start(network, law="even")
        with Transfer(network.gateway, network.host, net.host4(0), options=OPTIONS) as run:
            time.sleep(SETTLING_S)
            before = kbps(run, BEFORE_S)
            with hang.stopped(gateway.pid):
                time.sleep(GRACE_S)
                hung = kbps(run, HUNG_S)
            print(f"{before:.0f} kbit/s, {hung:.0f} while stopped")
            assert hung >= KEPT * before
            flow = gateway.flow(run.receiver_port)
            assert flow
            assert flow["samples"] > 100, "it is measured all the same"
            assert run.finish().intact
        assert gateway.status()["state"] == "ready", (
            "what is not held does not count as gone around"
        )


@pytest.mark.measured
@pytest.mark.parametrize("by", [pytest.param("even", marks=pytest.mark.smoke), "gap"])
def test_packets_pass_after_kill_9(start: StartGateway, record: Recorder, by: str) -> None:
    """Nothing is put back then, and what waited is lost: once."""
    with download(start, by) as (gateway, run, before):
        gateway.kill()
        time.sleep(GRACE_S)
        after = kbps(run, HUNG_S)
        record("from 2 s on, by the rate before", "", after / before, "at least .80")
        assert after >= KEPT * before
        assert run.finish().intact


def test_a_log_that_nobody_reads_holds_nothing(tmp_path: Path) -> None:
    """Else a journal on a full disk would end pacing, or the Internet."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    with net.over_radio(RADIO) as network:
        gateway = Gateway(network.gateway, tmp_path, "nfqueue", {"law": "even"})
        words = ["gateway", "--mesh", "mesh0", "--config", str(gateway.file), "--wired", "eth0"]
        run_folder = tmp_path / "run"
        run_folder.mkdir(mode=0o700)
        process = subprocess.Popen(
            ["ip", "netns", "exec", network.gateway.name, str(PROGRAM), *words],
            env=os.environ | {"MESHPACE_RUN": str(run_folder), "MESHPACE_LOG": "debug"},
            stderr=writer,
        )
        try:
            status = ("status", "--mesh", "mesh0")
            until(lambda: gateway.call(*status).returncode == 0, PATIENCE_S)
            with Transfer(network.wired, network.host, net.host4(0), options=OPTIONS) as run:
                more(run)
                until(lambda: gateway.status()["counters"]["paced"] > 100, PATIENCE_S)
                assert run.finish().intact
            process.terminate()
            assert process.wait(10) == 0
        finally:
            process.kill()
            process.wait()
            os.close(reader)
            os.close(writer)
