# SPDX-License-Identifier: GPL-2.0-only
"""Another program's callbacks on the machine's sockets (callbacks.c): put on and taken off."""

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from harness.namespace import run

SOURCE = Path(__file__).with_name("callbacks.c")
PIN = Path("/sys/fs/bpf/meshpace-test-callbacks")
CONNECT, RTT, PARSE, LENGTH = 3, 12, 13, 14


def _root_cgroup() -> str:
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    return next(fields[1] for fields in mounts if fields[2] == "cgroup2")


def seen() -> dict[int, int]:
    """Callbacks so far, by their number in linux/bpf.h."""
    shown = json.loads(run("bpftool", "-j", "map", "dump", "name", "mp_seen"))
    return {one["formatted"]["key"]: one["formatted"]["value"] for one in shown}


@contextlib.contextmanager
def watching(port: int, folder: Path) -> Iterator[None]:
    """The program counts what concerns connections to this port."""
    built = folder / "callbacks.o"
    asm = f"/usr/include/{platform.machine()}-linux-gnu"
    flags = ["-O2", "-g", "-target", "bpf", f"-DPORT={port}", "-idirafter", asm]
    run("clang", *flags, "-c", str(SOURCE), "-o", str(built))
    words = [_root_cgroup(), "sock_ops", "pinned", str(PIN)]
    run("bpftool", "prog", "load", str(built), str(PIN), "type", "sockops")
    try:
        run("bpftool", "cgroup", "attach", *words, "multi")
        yield
    finally:
        run("bpftool", "cgroup", "detach", *words, check=False)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(PIN)
