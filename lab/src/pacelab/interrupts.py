# SPDX-License-Identifier: GPL-2.0-only
"""How a program that is told to end does so: as by Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP end what runs as Ctrl-C does, so that everything is taken down.

    Python allows it in the main thread alone; elsewhere nothing changes.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.signal(n, interrupt) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
