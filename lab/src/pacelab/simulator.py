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


@functools.cache
def program_hash() -> str:
    """SHA-256 of the simulator."""
    return hashlib.sha256(program().read_bytes()).hexdigest()
