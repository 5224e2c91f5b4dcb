# SPDX-License-Identifier: GPL-2.0-only
"""A radio as in lossy.py, whose rate, queue and losses concern every IP packet: UDP too."""

import contextlib
import ctypes
import json
import os
import signal
import sys
from dataclasses import dataclass
from typing import ClassVar

from harness import lossy


@dataclass(frozen=True)
class Radio(lossy.Radio):
    """As lossy.Radio."""

    MODULE: ClassVar[str] = "harness.air"


def is_ip(frame: bytes) -> bool:
    """Whether a frame takes air: not the ARP and the like of the test's network."""
    neighbours = frame[20:21] == b"\x3a"
    return frame[12:14] == b"\x08\x00" or (frame[12:14] == b"\x86\xdd" and not neighbours)


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(lossy._PR_SET_PDEATHSIG, signal.SIGKILL)
    # A late process would blur what the tests measure; without the right to it, go on as it is.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    lossy.is_tcp = is_ip  # in this process, which is the radio and nothing else
    lossy._carry(Radio(**json.loads(sys.argv[1])), [int(fd) for fd in sys.argv[2:]])
