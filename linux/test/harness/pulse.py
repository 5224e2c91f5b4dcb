# SPDX-License-Identifier: GPL-2.0-only
"""How long this machine made everybody wait: what a test must not blame the program for."""

import threading
import time
from pathlib import Path

_BEAT_S = 0.02


class Pulse:
    """
    A thread that wants to run every 20 ms; `worst_s` is the most that it came late, `late_share`
    the part of all time in which it was late.
    """

    def __init__(self) -> None:
        self.worst_s = 0.0
        self._late_s = 0.0
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self) -> None:
        last = time.monotonic()
        while not self._stop.wait(_BEAT_S):
            now = time.monotonic()
            late_s = now - last - _BEAT_S
            self.worst_s = max(self.worst_s, late_s)
            self._late_s += late_s
            last = now

    @property
    def late_share(self) -> float:
        return self._late_s / (time.monotonic() - self._began)

    def __enter__(self) -> "Pulse":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def idle_share(seconds: float) -> float:
    """The share of the processors that nobody used over the next seconds."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    total = sum(b - a for a, b in zip(before, after, strict=True))
    return (after[3] - before[3]) / max(total, 1)


def _ticks() -> list[int]:
    """user, nice, system, idle, ... of all processors."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
