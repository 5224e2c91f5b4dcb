# SPDX-License-Identifier: GPL-2.0-only
"""What sits at an interface's tcx hooks: counted, taken off, and so many that no more is taken."""

import contextlib
import ctypes
import errno
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from harness import bpf
from harness.namespace import Namespace

_PROG_LOAD, _PROG_QUERY, _LINK_CREATE, _LINK_BY_ID, _LINK_DETACH = 5, 16, 28, 30, 34
_SCHED_CLS, _TCX_INGRESS, _TCX_EGRESS = 3, 46, 47
# r0 = -1 (the next program decides); exit
_NOTHING = bytes.fromhex("b7000000ffffffff9500000000000000")


class _Load(ctypes.Structure):
    """The part of union bpf_attr that BPF_PROG_LOAD needs."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("instructions", ctypes.c_char_p),
        ("license", ctypes.c_char_p),
    )


class _Link(ctypes.Structure):
    """The part that BPF_LINK_CREATE needs; the first alone is a link's number or descriptor."""

    _fields_ = (
        ("program", ctypes.c_uint32),
        ("interface", ctypes.c_uint32),
        ("point", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
    )


class _Query(ctypes.Structure):
    """The part that BPF_PROG_QUERY needs."""

    _fields_ = (
        ("interface", ctypes.c_uint32),
        ("point", ctypes.c_uint32),
        ("query_flags", ctypes.c_uint32),
        ("attach_flags", ctypes.c_uint32),
        ("programs", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
    )


def count(namespace: Namespace, interface: str) -> int:
    """How many programs are at an interface by tcx."""
    total = 0
    with namespace.inside():
        index = socket.if_nametoindex(interface)
        for point in (_TCX_INGRESS, _TCX_EGRESS):
            query = _Query(interface=index, point=point)
            bpf.call(_PROG_QUERY, query)
            total += int(query.count)
    return total


def has_tcx(namespace: Namespace, interface: str) -> bool:
    """Whether the kernel has it, as Linux has since 6.6."""
    try:
        count(namespace, interface)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True


def detach(pid: int) -> int:
    """Takes off what a process has attached by tcx, as `bpftool link detach` does; how many."""
    links = set()
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        text = file.read_text()
        if "link_type:\ttcx" in text and "ifindex:\t0\n" not in text:
            links |= set(re.findall(r"^link_id:\s*(\d+)", text, re.MULTILINE))
    with contextlib.ExitStack() as stack:
        # Held, they still exist when the owner gives them up meanwhile.
        held = [bpf.call(_LINK_BY_ID, _Link(int(link))) for link in links]
        for fd in held:
            stack.callback(os.close, fd)
        for fd in held:
            bpf.call(_LINK_DETACH, _Link(fd))
    return len(links)


@contextlib.contextmanager
def no_tcx(namespace: Namespace, interface: str) -> Iterator[None]:
    """All places for programs are taken meanwhile, so that tcx is as good as missing."""
    with contextlib.ExitStack() as stack, namespace.inside():
        index = socket.if_nametoindex(interface)
        try:
            while True:
                load = _Load(_SCHED_CLS, len(_NOTHING) // 8, _NOTHING, b"GPL")
                program = bpf.call(_PROG_LOAD, load)
                stack.callback(os.close, program)
                stack.callback(os.close, bpf.call(_LINK_CREATE, _Link(program, index, _TCX_EGRESS)))
        except OSError as error:
            # EINVAL: a kernel without tcx.
            if error.errno not in (errno.ERANGE, errno.E2BIG, errno.EINVAL):
                raise
        yield
