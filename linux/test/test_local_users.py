# SPDX-License-Identifier: GPL-2.0-only
"""What a local user, or a client of the metrics, can do to the gateway: nothing."""

import contextlib
import os
import resource
import shutil
import socket
import stat
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import PATIENCE_S, PROGRAM, Gateway, until

NOBODY = 65534
CLIENTS = 1000
METRICS = ("127.0.0.1", 9872)


@pytest.fixture
def gateway(network: net.Network) -> Iterator[Gateway]:
    """Not started; its folders can be reached by anybody, as /run can."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    made = Gateway(network.gateway, folder, "observe", {"law": "even"})
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(folder)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def as_nobody(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]
    environment = {**os.environ, **environment}
    return subprocess.run(user, env=environment, capture_output=True, text=True, check=False)


def test_locks_notes_and_sockets_are_roots_alone(gateway: Gateway) -> None:
    """Also in a folder that an earlier version made for all to read."""
    run = gateway.directory / "run"
    run.mkdir(0o755)
    (run / "mesh0.lock").touch(0o644)
    gateway.start()
    assert mode(run) == 0o700
    # As far as there are any: with tcx and without a rule there is nothing to note.
    files = {path.name: mode(path) for path in run.iterdir()}
    assert {"mesh0.lock", "mesh0.sock"} <= set(files)
    assert set(files.values()) == {0o600}
    holds = as_nobody("flock", "--nonblock", str(run / "mesh0.lock"), "true")
    assert "ermission denied" in holds.stderr
    for words in ([], ["--mesh", "mesh0"]):
        refused = as_nobody(str(PROGRAM), "status", *words, MESHPACE_RUN=str(run))
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert "root" in refused.stderr


def test_a_folder_of_others_is_refused(gateway: Gateway) -> None:
    """What lies there would be undone by root: one line says what is wrong, and the remedy."""
    run = gateway.directory / "run"
    elsewhere = gateway.directory / "elsewhere"
    elsewhere.mkdir()
    run.symlink_to(elsewhere)
    refuse(gateway, run, "symbolic link")
    assert mode(elsewhere) == 0o755
    run.unlink()
    run.mkdir()
    os.chown(run, NOBODY, NOBODY)
    refuse(gateway, run, "belongs to user 65534")
    os.chown(run, 0, 0)
    run.chmod(0o777)
    refuse(gateway, run, "mode 777")
    run.chmod(0o700)
    (run / "mesh0.lock").symlink_to("/etc/passwd")
    refuse(gateway, run / "mesh0.lock", "symbolic link")


def refuse(gateway: Gateway, path: Path, why: str) -> None:
    refused = gateway.call("gateway", "--clean", "--mesh", "mesh0")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert str(path) in refused.stderr
    assert why in refused.stderr
    assert "remove it" in refused.stderr


def test_a_folder_that_cannot_be_written_is_told(gateway: Gateway) -> None:
    """And what to do about it: who sees but the kernel's words looks for a fault in the program."""
    run = gateway.directory / "run"
    run.mkdir()
    for options, remedy in {
        "ro": "set MESHPACE_RUN to a folder that can be written",
        "nr_inodes=1": "make room there",
    }.items():
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(run)], check=True
        )
        try:
            refused = gateway.call("gateway", "--mesh", "mesh0", "--observe")
        finally:
            subprocess.run(["umount", "-l", str(run)], check=True)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert str(run / "mesh0.lock") in refused.stderr
        assert remedy in refused.stderr
    run.chmod(0o700)
    words = [str(PROGRAM), "gateway", "--clean", "--mesh", "lo"]
    refused = as_nobody(*words, MESHPACE_RUN=str(run))
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "run as root" in refused.stderr


def test_replace_believes_no_number_in_the_file(gateway: Gateway) -> None:
    """The holder of the lock is ended, not the process whose number somebody wrote there."""
    gateway.start()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            (gateway.directory / "run" / "mesh0.lock").write_text(f"{stranger.pid}\n")
            refused = gateway.call("gateway", "--mesh", "mesh0")
            assert f"pid {gateway.pid}" in refused.stderr
            successor = Gateway(gateway.namespace, gateway.directory, "observe", {"law": "even"})
            successor.start("--replace")
            assert gateway.wait() == 0
            assert stranger.poll() is None
            gateway.become(successor)
        finally:
            stranger.kill()


def scrape(network: net.Network) -> str:
    # The socket is made in the calling thread, which has to be in the gateway's namespace.
    with (
        network.gateway.inside(),
        urllib.request.urlopen(f"http://{METRICS[0]}:{METRICS[1]}/metrics", timeout=3) as answer,
    ):
        return str(answer.read().decode())


@contextlib.contextmanager
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def threads(gateway: Gateway) -> int:
    return len(list(Path(f"/proc/{gateway.pid}/task").iterdir()))


SENT = {
    "nothing": b"",
    "an unfinished request": b"GET /metrics HTTP/1.1\r\nHost: ",
    "a huge header": b"GET /metrics HTTP/1.1\r\nA: " + bytes([65]) * 60_000,
    "garbage": bytes(range(256)) * 16 + b"\r\n\r\n",
}


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_slow_clients_of_the_metrics(
    network: net.Network, start: StartGateway, sent: bytes
) -> None:
    """A thousand of them, and an honest one is answered; no thread and next to no memory more."""
    gateway = start(network, "observe", law="even", metrics=f"{METRICS[0]}:{METRICS[1]}")
    assert "meshpace_" in scrape(network)
    before, memory_kib = threads(gateway), gateway.memory_kib()
    with many_files(), contextlib.ExitStack() as stack:
        for count in range(CLIENTS):
            one = stack.enter_context(network.gateway.socket(socket.AF_INET, socket.SOCK_STREAM))
            one.settimeout(3)
            one.connect(METRICS)
            one.setblocking(False)
            with contextlib.suppress(OSError):  # refused already, or more than it buffers
                one.send(sent)
            if count % 250 == 249:
                began = time.monotonic()
                assert "meshpace_" in scrape(network)
                assert time.monotonic() - began < 2
        assert threads(gateway) == before
        assert gateway.memory_kib() < memory_kib + 4096
        assert gateway.alive
    until(lambda: "meshpace_" in scrape(network), PATIENCE_S, gateway)
