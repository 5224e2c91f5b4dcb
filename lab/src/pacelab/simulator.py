# SPDX-License-Identifier: GPL-2.0-only
"""Where the simulator is, and which one it is."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

from pacelab.errors import RunError

ROOT = Path(__file__).resolve().parents[3]
DEFAULT_PROGRAM = ROOT / "build" / "sim" / "meshpace-sim"


def program() -> Path:
    """The simulator: $MESHPACE_SIM, or the one that ``make build`` makes."""
    path = Path(os.environ.get("MESHPACE_SIM", DEFAULT_PROGRAM))
    if not path.is_file():
        raise RunError(f"{path}: the simulator is not there; run make build")
    return path


@functools.lru_cache(maxsize=1)
def _hash_of(path: Path, _inode: int, _bytes: int, _mtime_ns: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def present_hash() -> str:
    """SHA-256 of the simulator as it is on disk now."""
    path = program()
    stat = path.stat()
    return _hash_of(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@functools.cache
def program_hash() -> str:
    """SHA-256 of this process's simulator: as it was when somebody first asked.

    A campaign has one. What a simulator gives that was built meanwhile is not its own.
    """
    return present_hash()
