# SPDX-License-Identifier: GPL-2.0-only
"""
How many instructions the kernel's verifier has to walk through. A program that nears the limit
of a million is refused by the next kernel that looks closer; so growth has to be meant.
"""

import ctypes
import errno
import json
import os
import platform
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net
from harness.sender import Sender

BPF_PROG_GET_FD_BY_ID = 13
_SYSCALL = {"x86_64": 321, "aarch64": 280}
_libc = ctypes.CDLL(None, use_errno=True)

# Walked through by Linux 6.18, 6.12 and 6.1, whichever was most; and room for another compiler.
GATEWAY = {"mp_to_mesh": 214_668, "mp_from_mesh": 186_591}
SENDER = {
    "mp_begin": 65,
    "mp_cong_avoid": 6,
    "mp_list": 360,
    "mp_min_tso_segs": 2,
    "mp_pkts_acked": 79_934,
    "mp_sockops": 519,
    "mp_ssthresh": 3,
    "mp_undo_cwnd": 3,
}
WALKED = GATEWAY | SENDER
ROOM = 1.25


class _Attributes(ctypes.Structure):
    """The part of union bpf_attr that the call reads."""

    _fields_ = (
        ("prog_id", ctypes.c_uint32),
        ("next_id", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
    )


def walked(program: int) -> int | None:
    """Instructions that the verifier walked through for a program; None when it is gone."""
    attributes = _Attributes(prog_id=program)
    fd = _libc.syscall(
        _SYSCALL[platform.machine()],
        BPF_PROG_GET_FD_BY_ID,
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )
    if fd < 0:
        if ctypes.get_errno() == errno.ENOENT:
            return None
        raise OSError(ctypes.get_errno(), "BPF_PROG_GET_FD_BY_ID")
    try:
        lines = Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines()
    finally:
        os.close(fd)
    return int(next(line for line in lines if line.startswith("verified_insns:")).split()[1])


def check(names: Collection[str]) -> None:
    shown = json.loads(subprocess.check_output(["bpftool", "-j", "prog", "show"]))
    for name in names:
        # Other tests' gateways come and go: of several of a name, the one loaded last that stays.
        ids = sorted((one["id"] for one in shown if one.get("name") == name), reverse=True)
        count = next((count for count in map(walked, ids) if count is not None), None)
        assert count is not None, f"{name} is missing"
        print(f"{name} {count}")
        assert count <= WALKED[name] * ROOM, f"{name}: {count}, {WALKED[name]} before"


def test_the_gateway(network: net.Network, start: StartGateway) -> None:
    start(network)
    check(GATEWAY)


@pytest.mark.sender
def test_the_sender(network: net.Network, tmp_path: Path) -> None:
    with Sender(network.host, tmp_path).on(4, 11.0):
        check(SENDER)
