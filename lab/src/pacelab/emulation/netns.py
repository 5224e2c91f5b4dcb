# SPDX-License-Identifier: GPL-2.0-only
"""Network namespaces: entered for a while by the calling thread."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pacelab.errors import RunError

MOUNTED = Path("/run/netns")
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def call(*command: str) -> str:
    """Runs a command and returns what it printed; RunError with its last line when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RunError(f"{' '.join(command)}: {lines[-1]}")
    return done.stdout


def _setns(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET):
        errno = ctypes.get_errno()
        raise OSError(errno, f"setns: {os.strerror(errno)}")


@contextlib.contextmanager
def inside(netns: str) -> Iterator[None]:
    """The calling thread, and it alone, is in the namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        there = os.open(MOUNTED / netns, os.O_RDONLY)
        try:
            _setns(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)


def write_sysctls(netns: str, values: dict[str, str]) -> None:
    """Sets sysctls of a namespace; a key that this kernel lacks is an error."""
    with inside(netns):
        for key, value in values.items():
            try:
                Path("/proc/sys", key.replace(".", "/")).write_text(value)
            except OSError as error:
                raise RunError(f"sysctl {key} = {value}: {error.strerror}") from None
