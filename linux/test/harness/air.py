# SPDX-License-Identifier: GPL-2.0-only
"""A radio as in lossy.py, whose rate, queue and losses concern every IP packet: UDP too."""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from harness import lossy
from harness.namespace import Namespace


@dataclass(frozen=True)
class Radio(lossy.Radio):
    """As lossy.Radio."""

    @contextlib.contextmanager
    def between(self, a: Namespace, a_name: str, b: Namespace, b_name: str) -> Iterator[None]:
        """Makes the two devices, brings them up and carries frames until left."""
        with contextlib.ExitStack() as stack:
            fds = []
            for namespace, name in ((a, a_name), (b, b_name)):
                fds.append(lossy._tap(namespace, name))
                stack.callback(os.close, fds[-1])
            process = subprocess.Popen(
                [sys.executable, "-m", "harness.air", json.dumps(asdict(self)), *map(str, fds)],
                pass_fds=fds,
                cwd=Path(__file__).parents[1],
            )
            stack.callback(lossy._end, process)
            yield


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
