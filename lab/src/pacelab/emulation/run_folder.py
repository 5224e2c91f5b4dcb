# SPDX-License-Identifier: GPL-2.0-only
"""What a run has on the machine: made, and removed, also after a run that was killed.

A run has a folder in ``/run/pacelab`` with a locked file in it. The lock goes with the process,
however it ends; a folder whose lock can be had belongs to a dead run, and is cleared away with
everything that carries its name.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pacelab.emulation.netns import MOUNTED, call
from pacelab.emulation.programs import MESHPACE
from pacelab.errors import RunError

RUNS = Path("/run/pacelab")
PINS = Path("/sys/fs/bpf")
PREFIX = "mpe"
_serial = itertools.count()


class RunFolder:
    """What a run has on the machine while it lasts: a folder, namespaces, pins of a sender."""

    def __init__(self) -> None:
        self.id = f"{os.getpid()}-{next(_serial)}"
        self.path = RUNS / self.id
        # One at a time: a folder that has no lock yet looks dead to others.
        with _one_at_a_time():
            clear_dead_runs()
            self.path.mkdir()
            self._lock = _locked(self.path)
        self.namespaces: dict[str, str] = {}

    def add_namespace(self, node: str) -> str:
        """Makes the namespace of a node and returns its name."""
        plain = "".join(c for c in node.lower() if c.isascii() and c.isalnum())
        name = f"{PREFIX}{self.id}-{len(self.namespaces)}{plain[:12]}"
        call("ip", "netns", "add", name)
        self.namespaces[node] = name
        call("ip", "-n", name, "link", "set", "lo", "up")
        return name

    @property
    def pins(self) -> Path:
        """Where ``meshpace sender`` of this run pins what it installs."""
        return _pins(self.id)

    def sender_environment(self) -> dict[str, str]:
        """What makes ``meshpace sender`` this run's, not the machine's."""
        return _sender_environment(self.id)

    def switch_sender_off(self) -> None:
        """Takes this run's sender off the machine; RunError when it stays."""
        _switch_sender_off(self.id)

    def remove(self) -> None:
        """Removes everything; processes in the namespaces must have ended."""
        _clear(self.id)
        self._lock.close()


def provide_bpffs() -> None:
    """Mounts bpffs where no init system has; it stays, since others may use it by then."""
    if not PINS.is_mount():
        call("mount", "-t", "bpf", "bpf", str(PINS))


def _pins(run_id: str) -> Path:
    return PINS / f"{PREFIX}{run_id}"


def _sender_environment(run_id: str) -> dict[str, str]:
    return {
        **os.environ,
        "MESHPACE_RUN": str(RUNS / run_id),
        "MESHPACE_PINS": str(_pins(run_id)),
    }


def _switch_sender_off(run_id: str) -> None:
    """Takes a run's sender off the machine, also a dead run's; RunError when it stays."""
    pins = _pins(run_id)
    if not pins.exists():
        return
    done = subprocess.run(
        [str(MESHPACE), "sender", "off"],
        env=_sender_environment(run_id),
        capture_output=True,
        text=True,
        check=False,
    )
    if pins.exists():
        raise RunError(f"{pins}: meshpace sender off failed: {json.dumps(done.stderr.strip())}")


def _locked(folder: Path) -> TextIO:
    """The lock file of a run, locked by this process; BlockingIOError when its run lives."""
    file = open(folder / "lock", "a", encoding="utf-8")  # noqa: SIM115 - open as long as the run
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    RUNS.mkdir(parents=True, exist_ok=True)
    with open(RUNS / "lock", "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def clear_dead_runs() -> None:
    """Clears away what killed runs left behind, and nothing of those that live."""
    for folder in RUNS.glob("*-*"):
        with contextlib.suppress(BlockingIOError, FileNotFoundError), _locked(folder):
            _clear(folder.name)


def _clear(run_id: str) -> None:
    _switch_sender_off(run_id)
    for mounted in MOUNTED.glob(f"{PREFIX}{run_id}-*"):
        subprocess.run(["ip", "netns", "del", mounted.name], capture_output=True, check=False)
    shutil.rmtree(RUNS / run_id, ignore_errors=True)
