# SPDX-License-Identifier: GPL-2.0-only
"""The processes of an emulated run: each in a namespace, and none survives pacelab."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from pacelab.emulation.netns import MOUNTED
from pacelab.errors import RunError

GRACE_S = 5.0
REALTIME_PRIORITY = "20"  # meshpace-mesh has 40


def in_namespace(netns: str) -> list[str]:
    """Words that run a command in a namespace; bpffs and cgroup2 stay in sight."""
    return ["nsenter", f"--net={MOUNTED / netns}", "--"]


class Processes:
    """Starts processes that the kernel kills when pacelab's main thread is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[tuple[str, subprocess.Popen[str], Path]] = []

    def start(
        self,
        name: str,
        command: list[str],
        *,
        netns: str | None = None,
        environment: dict[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[Any] = subprocess.DEVNULL,
        realtime: bool = False,
    ) -> subprocess.Popen[str]:
        """Starts a command; its standard error goes to a file in the run's folder.

        What is ``realtime`` goes before all ordinary work of this machine, after the radio.
        """
        log = self._folder / f"{len(self._started)}-{name}.log"
        words = ["setpriv", "--pdeathsig", "KILL", "--"]
        words += ["chrt", "--fifo", REALTIME_PRIORITY] if realtime else []
        words += in_namespace(netns) if netns else []
        with log.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [*words, *command],
                env={**os.environ, **(environment or {})},
                stdin=stdin,
                stdout=stdout,
                stderr=errors,
                text=True,
            )
        self._started.append((name, process, log))
        return process

    def log(self, process: subprocess.Popen[str]) -> list[str]:
        """Lines that a process has written to its standard error so far."""
        file = next(log for _, started, log in self._started if started is process)
        return file.read_text(encoding="utf-8", errors="replace").splitlines()

    def check(self, *expected_to_end: subprocess.Popen[str]) -> None:
        """RunError when a process has ended that should not have."""
        for name, process, _ in self._started:
            if process not in expected_to_end and process.poll() is not None:
                raise RunError(f"{name} ended before the run did: {self.last_words(process)}")

    def last_words(self, process: subprocess.Popen[str]) -> str:
        """The last line that a process wrote, else its status."""
        lines = [line for line in self.log(process) if line.strip()]
        return lines[-1] if lines else f"status {process.poll()}"

    def forget(self, process: subprocess.Popen[str]) -> None:
        """A process that has ended as it should."""
        for entry in [entry for entry in self._started if entry[1] is process]:
            self._started.remove(entry)
            entry[2].unlink(missing_ok=True)

    def end(self) -> None:
        """Ends all, the latest first; who does not listen is killed."""
        for _, process, _ in reversed(self._started):
            with contextlib.suppress(OSError):
                process.terminate()
        deadline = time.monotonic() + GRACE_S
        for _, process, _ in reversed(self._started):
            try:
                process.wait(max(deadline - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
        self._started.clear()
