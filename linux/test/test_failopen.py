# SPDX-License-Identifier: GPL-2.0-only
"""
Killed, restarted, replaced, cleaned up after in the middle of transfers: every transfer
finishes intact, no stall is longer than a second, nothing is left behind.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import PATIENCE_S, PROGRAM, Gateway, host, until
from harness.pulse import Pulse
from harness.traces import Traces, left_behind
from harness.transfer import LOAD_BYTES_PER_S, Result, Transfer, bounded, window

STALL_S = 1.0
# The gateway's pace is a little slower than each transfer.
PACED_MBPS = 11.0 * LOAD_BYTES_PER_S / 3_000_000
# Traffic under each condition.
PAUSE_S = 0.4


def rounds(full: bool) -> int:
    """Of four blows each."""
    return 20 if full else 1


def config(law: str) -> dict[str, object]:
    """So much that the law `gap` paces at the load's rate; `even` finds its own."""
    hosts = [host(mesh, PACED_MBPS) for mesh in ("10.1.0.0/16", "fd00::/64")]
    return {"law": law, "host": hosts}


def load(network: net.Network) -> list[Transfer]:
    """Transfers both ways, over IPv4 and IPv6, that go on until finished."""
    ways = [
        (network.wired, network.host, net.host4(0)),
        (network.wired, network.host, net.host6(0)),
        (network.host, network.wired, net.WIRED4),
    ]
    # A sender that gets nowhere with a blackhole must not be hidden by a huge buffer, and an
    # unpaced one must not eat the machine: hence a bounded window and a bounded rate.
    options = window(64 * 1024) | bounded()
    return [
        Transfer(a, b, address, seed=n, options=options).start()
        for n, (a, b, address) in enumerate(ways)
    ]


def check(runs: list[Transfer]) -> list[Result]:
    results = [run.finish() for run in runs]
    print(results)
    assert all(result.intact for result in results)
    assert all(result.received_bytes > 100_000 for result in results)
    return results


def close(runs: list[Transfer]) -> None:
    for run in runs:
        run.close()


def progresses(runs: list[Transfer]) -> None:
    """Every transfer moves on."""
    before = [run.received for run in runs]
    within = PATIENCE_S
    until(lambda: all(run.received > was for run, was in zip(runs, before, strict=True)), within)


def killed_and_restarted(gateway: Gateway) -> None:
    gateway.kill()
    time.sleep(PAUSE_S)
    gateway.start()


def killed_and_cleaned(gateway: Gateway) -> None:
    gateway.kill()
    time.sleep(PAUSE_S / 2)
    cleaned = gateway.clean()
    assert cleaned.returncode == 0, cleaned.stderr
    time.sleep(PAUSE_S / 2)
    gateway.start()


def replaced(gateway: Gateway) -> None:
    """An upgrade in place: the new one takes over while the old one still runs."""
    newer = Gateway(gateway.namespace, gateway.directory, gateway.release, gateway.config)
    try:
        newer.start("--replace")
        assert gateway.wait() == 0
    except BaseException:
        newer.end()
        raise
    gateway.become(newer)


def stopped_and_started(gateway: Gateway) -> None:
    assert gateway.stop() == 0
    time.sleep(PAUSE_S)
    gateway.start()


BLOWS = [killed_and_restarted, killed_and_cleaned, replaced, stopped_and_started]


def dealt(network: net.Network, gateway: Gateway, count: int) -> list[Result]:
    """What became of transfers under which the gateway has had every blow so many times."""
    runs = load(network)
    try:
        for blow in BLOWS * count:
            time.sleep(PAUSE_S)
            blow(gateway)
            progresses(runs)
        time.sleep(PAUSE_S)
        assert gateway.stop() == 0
        return check(runs)
    finally:
        close(runs)


def test_transfers_live_on(
    network: net.Network, start: StartGateway, release: str, law: str, full: bool
) -> None:
    before = Traces.of(network.gateway)
    dealt(network, start(network, release=release, **config(law)), rounds(full))
    assert not left_behind(network.gateway, before)


@pytest.mark.measured
def test_no_stall_is_longer_than_a_second(
    network: net.Network, start: StartGateway, release: str, law: str
) -> None:
    with Pulse() as pulse:
        results = dealt(network, start(network, release=release, **config(law)), 1)
    print(f"late by {pulse.worst_s:.3f} s")
    # A sender or receiver that the machine did not let run has not been stalled by the gateway.
    assert max(result.stall_s for result in results) <= STALL_S + pulse.worst_s


def test_clean_removes_every_trace(
    network: net.Network, start: StartGateway, release: str, law: str, full: bool
) -> None:
    """After each kill -9 under load, `--clean` alone restores the machine."""
    before = Traces.of(network.gateway)
    for _ in range(rounds(full)):
        gateway = start(network, release=release, **config(law))
        runs = load(network)
        try:
            time.sleep(PAUSE_S)
            gateway.kill()
            cleaned = gateway.clean()
            assert cleaned.returncode == 0, cleaned.stderr
            assert not left_behind(network.gateway, before)
            progresses(runs)
            check(runs)
        finally:
            close(runs)


def test_cleaning_up_after_nobody(network: net.Network, start: StartGateway) -> None:
    """
    --clean where nothing is: nothing to do, and no foreign rule or qdisc is touched. Nothing flows,
    so one law is enough.
    """
    gateway = start(network)
    assert gateway.stop() == 0
    rule = ("-A", "POSTROUTING", "-o", "mesh0", "-p", "udp", "-j", "ACCEPT")
    network.gateway.run("iptables", "-t", "mangle", *rule)
    network.gateway.run("tc", "qdisc", "add", "dev", "mesh0", "clsact")
    network.gateway.run(
        "tc", "filter", "add", "dev", "mesh0", "egress", "matchall", "action", "pass", check=False
    )
    before = Traces.of(network.gateway)
    assert gateway.clean().returncode == 0
    assert not left_behind(network.gateway, before)


@pytest.mark.parametrize("text", ['law = "evn"\nmesh = "mesh0"\n', "hopps = 3\n", 'law = "even\n'])
def test_clean_needs_no_configuration_without_faults(
    network: net.Network, start: StartGateway, text: str
) -> None:
    """Whoever broke it while the gateway was dying gets rid of what that left. Nothing flows."""
    before = Traces.of(network.gateway)
    gateway = start(network, **config("even"))
    gateway.kill()
    gateway.file.write_text(text)
    cleaned = gateway.call("gateway", "--clean", "--config", str(gateway.file))
    assert cleaned.returncode == 0, cleaned.stderr
    told, done = cleaned.stderr.strip().splitlines()
    assert gateway.file.name in told
    assert "mesh0" in told
    assert "mesh0: " in done
    assert not left_behind(network.gateway, before)
    again = gateway.call("gateway", "--clean", "--mesh", "mesh0", "--config", str(gateway.file))
    assert again.returncode == 0, again.stderr


def test_another_namespace_cleans_nothing(network: net.Network, start: StartGateway) -> None:
    """The notes are what cleaning up where the gateway ran goes by. Nothing flows."""
    before = Traces.of(network.gateway)
    gateway = start(network, **config("even"))
    gateway.kill()
    there = ["ip", "netns", "exec", network.wired.name]
    words = [str(PROGRAM), "gateway", "--clean", "--mesh", "mesh0"]
    run = {**os.environ, "MESHPACE_RUN": str(gateway.directory / "run")}
    refused = subprocess.run([*there, *words], env=run, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "mesh0: 0 changes put back" in refused.stderr
    assert "another network namespace" in refused.stderr.splitlines()[-1]
    cleaned = gateway.clean()
    assert cleaned.returncode == 0, cleaned.stderr
    assert not left_behind(network.gateway, before)


@pytest.mark.parametrize("mesh", ["nosuch", "../x", "", "..", "a/b"])
def test_a_mistyped_interface_is_told(network: net.Network, tmp_path: Path, mesh: str) -> None:
    """Else who misspells it takes the other one for clean, and a lock is left somewhere."""
    gateway = Gateway(network.gateway, tmp_path, "observe", {}, mesh="mesh0")
    cleaned = gateway.call("gateway", "--clean", "--mesh", mesh)
    assert cleaned.returncode == 2
    assert f"--mesh {mesh}: there is no such interface" in cleaned.stderr
    assert len(cleaned.stderr.splitlines()) == 1
    assert not [*tmp_path.rglob("*.lock")]


def test_an_interface_that_is_gone_is_cleaned(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, **config("even"))
    gateway.kill()
    network.gateway.ip("link", "del", "mesh0")
    cleaned = gateway.clean()
    assert cleaned.returncode == 0, cleaned.stderr


def test_stale_notes_do_not_hinder_a_start(
    network: net.Network, start: StartGateway, tmp_path: Path
) -> None:
    """
    After kill -9 the socket and whatever else lies in the run directory is old, not in use. Nothing
    flows, so one law is enough.
    """
    gateway = start(network, **config("even"))
    gateway.kill()
    assert list((tmp_path / "run").iterdir()), "a killed gateway leaves at least its socket"
    status = gateway.call("status", "--mesh", "mesh0")
    assert status.returncode == 1
    assert len(status.stderr.strip().splitlines()) == 1
    gateway.start()
    assert gateway.status()["mesh"] == "mesh0"
