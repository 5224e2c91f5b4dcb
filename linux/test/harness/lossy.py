# SPDX-License-Identifier: GPL-2.0-only
"""
A radio in userspace, since this kernel has no netem: two TAP devices and a process
between them that delays, loses, reorders and, if asked, shares one rate between
both directions. Losses and reordering follow from the seed and concern TCP only.
"""

import contextlib
import ctypes
import fcntl
import heapq
import json
import math
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar

from harness.namespace import Namespace

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_FRAME = 2048
_SWING_S = 0.1
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Radio:
    """
    delay_ms each way, loss and reorder as fractions of the TCP packets of each way;
    a reordered packet comes late_ms after its time. lost_each n: each nth TCP packet of each way
    is lost, too, so that losses are far apart; 0: none. kbps is shared by both ways; what does
    not fit into queue packets is dropped. kbps 0: no limit. hops: how often a packet of an IPv4
    address is sent until it is there, one after the other as where all hear each other; else once.
    """

    delay_ms: float = 0.0
    loss: float = 0.0
    lost_each: int = 0
    reorder: float = 0.0
    late_ms: float = 3.0
    kbps: int = 0
    queue: int = 50
    seed: int = 1
    swing_ms: float = 0.0
    hops: dict[str, int] = field(default_factory=dict)

    # The module whose process carries the frames.
    MODULE: ClassVar[str] = "harness.lossy"

    @contextlib.contextmanager
    def between(self, a: Namespace, a_name: str, b: Namespace, b_name: str) -> Iterator[None]:
        """Makes the two devices, brings them up and carries frames until left."""
        with contextlib.ExitStack() as stack:
            fds = []
            for namespace, name in ((a, a_name), (b, b_name)):
                fds.append(_tap(namespace, name))
                stack.callback(os.close, fds[-1])
            process = subprocess.Popen(
                [sys.executable, "-m", self.MODULE, json.dumps(asdict(self)), *map(str, fds)],
                pass_fds=fds,
                cwd=Path(__file__).parents[1],
            )
            stack.callback(_end, process)
            yield


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _tap(namespace: Namespace, name: str) -> int:
    """A TAP device of the namespace, up. It takes no offloads: every frame is complete."""
    with namespace.inside():
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    namespace.ip("link", "set", name, "up")
    return fd


def is_tcp(frame: bytes) -> bool:
    kind = frame[12:14]
    if kind == b"\x08\x00":
        return len(frame) > 23 and frame[23] == 6
    return kind == b"\x86\xdd" and len(frame) > 20 and frame[20] == 6


class _Air:
    """Frames under way, in order of their arrival times."""

    def __init__(self, radio: Radio) -> None:
        self.radio = radio
        self.hops = {socket.inet_aton(address): hops for address, hops in radio.hops.items()}
        self.chance = [random.Random(f"{radio.seed} {way}") for way in range(2)]
        self.taken = [0, 0]
        self.under_way: list[tuple[float, int, int, bytes]] = []
        self.serial = 0
        self.free_at = 0.0

    def send(self, way: int, frame: bytes, now: float) -> None:
        """Takes a frame that goes way 0 (a to b) or 1."""
        due = now + self._delay_s(now)
        if is_tcp(frame):
            # Two draws a packet, whatever comes of them: the seed alone decides.
            lost = self.chance[way].random() < self.radio.loss
            late = self.chance[way].random() < self.radio.reorder
            if lost or self._is_nth(way) or self._full(now):
                return
            due = self._transmitted(frame, now) + self._delay_s(now)
            if late:
                due += self.radio.late_ms / 1e3
        self.serial += 1
        heapq.heappush(self.under_way, (due, self.serial, way, frame))

    def _is_nth(self, way: int) -> bool:
        self.taken[way] += 1
        return self.radio.lost_each > 0 and self.taken[way] % self.radio.lost_each == 0

    def _delay_s(self, now: float) -> float:
        swing_ms = self.radio.swing_ms * math.sin(2 * math.pi * now / _SWING_S)
        return (self.radio.delay_ms + swing_ms) / 1e3

    def _full(self, now: float) -> bool:
        full_frame_s = 1514 * 8 / (self.radio.kbps * 1e3) if self.radio.kbps else 0.0
        return self.free_at - now > self.radio.queue * full_frame_s > 0

    def _transmitted(self, frame: bytes, now: float) -> float:
        if not self.radio.kbps:
            return now
        hops = max(self.hops.get(end, 1) for end in (frame[26:30], frame[30:34]))
        air_s = hops * len(frame) * 8 / (self.radio.kbps * 1e3)
        self.free_at = max(self.free_at, now) + air_s
        return self.free_at

    def arrived(self, now: float) -> Iterator[tuple[int, bytes]]:
        while self.under_way and self.under_way[0][0] <= now:
            _, _, way, frame = heapq.heappop(self.under_way)
            yield way, frame

    def wait_s(self, now: float) -> float | None:
        return max(0.0, self.under_way[0][0] - now) if self.under_way else None


def _carry(radio: Radio, fds: list[int]) -> None:
    air = _Air(radio)
    while True:
        readable, _, _ = select.select(fds, [], [], air.wait_s(time.monotonic()))
        for way, fd in enumerate(fds):
            if fd not in readable:
                continue
            with contextlib.suppress(BlockingIOError):
                air.send(way, os.read(fd, _FRAME), time.monotonic())
        for way, frame in air.arrived(time.monotonic()):
            # A device that went down takes nothing.
            with contextlib.suppress(OSError):
                os.write(fds[1 - way], frame)


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # A late process would blur what the tests measure; without the right to it, go on as it is.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    _carry(Radio(**json.loads(sys.argv[1])), [int(fd) for fd in sys.argv[2:]])
