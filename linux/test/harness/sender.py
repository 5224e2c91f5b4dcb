# SPDX-License-Identifier: GPL-2.0-only
"""
`meshpace sender` on a host of a network. The congestion control that it registers is the whole
machine's, so there is one sender at a time; its pins are in a folder that no operator uses.
"""

import contextlib
import fcntl
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from harness.gateway import PROGRAM, until
from harness.namespace import Namespace

NAME = "meshpace"
PINS = Path("/sys/fs/bpf/meshpace-under-test")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# Enough samples that the window of the law (50) has forgotten how the flow began.
SETTLED = 60
# Longer than any of these tests takes.
PATIENCE_S = 300.0

Done = subprocess.CompletedProcess[str]
Flow = dict[str, Any]


def _provide_bpffs() -> None:
    """Mounts it where no init system has; it stays, since others may use it by then."""
    if not PINS.parent.is_mount():
        subprocess.run(["mount", "-t", "bpf", "bpf", str(PINS.parent)], check=True)


def registered() -> bool:
    """Whether new flows can have the congestion control."""
    return NAME in _AVAILABLE.read_text().split()


def _alone() -> TextIO:
    """Waits until no other run of these tests has a sender; the file holds the place."""
    place = open(Path(tempfile.gettempdir(), "meshpace-sender-under-test.lock"), "w")  # noqa: SIM115

    def taken() -> bool:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    until(taken, PATIENCE_S)
    return place


class Sender:
    """The program on an interface of a namespace, with private run and pin folders."""

    def __init__(self, namespace: Namespace, directory: Path, mesh: str = "eth0") -> None:
        self.namespace = namespace
        self.mesh = mesh
        self._run = directory / "sender-run"
        self._run.mkdir(exist_ok=True)
        self._lock = _alone()
        _provide_bpffs()
        self.end()  # what a killed test left
        if registered():
            # A skipped test is kept, and what it holds with it: the next would wait for ever.
            self._lock.close()
            pytest.skip("this machine's own `meshpace sender` is on: there can be one only")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "MESHPACE_RUN": str(self._run), "MESHPACE_PINS": str(PINS)}

    def command(self, *words: str, user: int = 0) -> list[str]:
        # `ip netns exec` would hide the mounts of bpffs and cgroup2.
        entered = ["nsenter", f"--net=/run/netns/{self.namespace.name}"]
        if user:
            entered += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return [*entered, str(PROGRAM), "sender", *words]

    def call(self, *words: str, user: int = 0) -> Done:
        return subprocess.run(
            self.command(*words, user=user),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def _done(self, *words: str) -> Done:
        done = self.call(*words)
        if done.returncode:
            raise RuntimeError(f"sender {' '.join(words)}: {done.returncode}: {done.stderr}")
        return done

    def on(self, hops: int, mbps: float, *words: str) -> "Sender":
        """Paced by the papers' law unless `words` or the file that they name has another."""
        law = [] if {"--law", "--config"} & set(words) else ["--law", "gap"]
        path = ["--hops", str(hops), "--mbps", str(mbps), *law]
        try:
            self._done("on", "--mesh", self.mesh, *path, *words)
        except BaseException:
            # Not entered yet, so nobody leaves it: the next sender would wait for the place.
            self._lock.close()
            raise
        return self

    def off(self) -> None:
        self._done("off")

    def end(self) -> None:
        """Whatever the state: flows apart, nothing of it is on the machine any more."""
        if PINS.exists():
            self.off()

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._lock.close()

    @contextlib.contextmanager
    def following(self) -> Iterator["subprocess.Popen[str]"]:
        """`sender on --follow` as a process of its own, which must not survive the test."""
        process = subprocess.Popen(
            self.command("on", "--mesh", self.mesh, "--follow"),
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            until(lambda: registered() and (self._run / "sender-of-this-host.changes").exists(), 15)
            yield process
        finally:
            process.kill()
            process.communicate()

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._done("status", "--json").stdout)
        return found

    def flows(self) -> dict[int, Flow]:
        """The flows of status by their local ports."""
        return {int(one["local"].rsplit(":", 1)[1]): one for one in self.status()["flows"]}

    def flow(self, port: int) -> Flow | None:
        return self.flows().get(port)

    def settled(self, port: int, samples: int = SETTLED, within_s: float = 20.0) -> Flow:
        """The flow once it has so many samples."""

        def enough() -> Flow | None:
            flow = self.flow(port)
            return flow if flow and flow["samples"] >= samples else None

        found: Flow = until(enough, within_s)
        return found
