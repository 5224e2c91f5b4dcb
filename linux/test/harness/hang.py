# SPDX-License-Identifier: GPL-2.0-only
"""Ways in which a process hangs: stopped, frozen with its cgroup, one of its threads stopped."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_PTRACE_DETACH, _PTRACE_SEIZE, _PTRACE_INTERRUPT = 17, 0x4206, 0x4207
_WALL = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long

Hang = Callable[[int], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """SIGSTOP, as of a process that is debugged, or whose memory is swapped out."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _freezer() -> tuple[Path, str, str, str]:
    """A cgroup of our own: its folder, the file that freezes it, and what is written there."""
    first = Path("/sys/fs/cgroup/freezer")
    if first.is_dir():
        return first / f"mp{os.getpid()}", "freezer.state", "FROZEN", "THAWED"
    second = Path("/sys/fs/cgroup")
    if (second / "cgroup.procs").exists():
        return second / f"mp{os.getpid()}", "cgroup.freeze", "1", "0"
    pytest.skip("no freezer: neither /sys/fs/cgroup/freezer nor cgroup2 at /sys/fs/cgroup")


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Its cgroup is frozen, as by `docker pause` or `systemctl freeze`."""
    folder, file, freeze, thaw = _freezer()
    folder.mkdir()
    try:
        (folder / "cgroup.procs").write_text(str(pid))
        (folder / file).write_text(freeze)
        try:
            yield
        finally:
            (folder / file).write_text(thaw)
            (folder.parent / "cgroup.procs").write_text(str(pid))
    finally:
        folder.rmdir()


def _ptrace(request: int, thread: int) -> None:
    if _libc.ptrace(request, thread, None, None) < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"ptrace({request:#x}): {os.strerror(errno)}")


def thread_of(pid: int, *names: str) -> int:
    """The thread of one of these names; the main thread has the program's."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() in names:
            return int(task.name)
    raise RuntimeError(f"process {pid} has no thread {' or '.join(names)}")


def thread_stopped(*names: str) -> Hang:
    """One thread stands still, as in a deadlock; of several names the one that there is."""

    @contextlib.contextmanager
    def hang(pid: int) -> Iterator[None]:
        thread = thread_of(pid, *names)
        _ptrace(_PTRACE_SEIZE, thread)
        try:
            _ptrace(_PTRACE_INTERRUPT, thread)
            os.waitpid(thread, _WALL)
            yield
        finally:
            _ptrace(_PTRACE_DETACH, thread)

    return hang
