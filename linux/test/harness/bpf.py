# SPDX-License-Identifier: GPL-2.0-only
"""bpf(2) itself, and what the kernel says of the programs that are loaded."""

import contextlib
import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROG_TEST_RUN, _PROG_GET_NEXT_ID, _PROG_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD = 10, 11, 13, 15
_ENABLE_STATS = 32
_SYSCALL = {"x86_64": 321, "aarch64": 280}
_libc = ctypes.CDLL(None, use_errno=True)
# More than any kernel's union bpf_attr.
_ATTRIBUTES_BYTES = 512
# struct bpf_prog_info up to run_cnt: where its fields stand that are read here.
_INFO_BYTES, _NAME, _RUN = 208, slice(64, 80), 192


def call(command: int, attributes: ctypes.Structure | ctypes.Array[ctypes.c_char]) -> int:
    """
    The answer of bpf(2), mostly a new descriptor. Some commands write into fields behind those that
    they were given (a query its revision, since Linux 6.6): there has to be room for all of them.
    """
    number, size = _SYSCALL[platform.machine()], ctypes.sizeof(attributes)
    room = ctypes.create_string_buffer(_ATTRIBUTES_BYTES)
    ctypes.memmove(ctypes.addressof(room), ctypes.addressof(attributes), size)
    answer = int(_libc.syscall(number, command, room, size))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    ctypes.memmove(ctypes.addressof(attributes), ctypes.addressof(room), size)
    return answer


def _of(layout: str, *values: int) -> ctypes.Array[ctypes.c_char]:
    """union bpf_attr of a call, of which these are the first fields."""
    packed = struct.pack(layout, *values)
    return ctypes.create_string_buffer(packed, len(packed))


@dataclass(frozen=True)
class Program:
    """A program that is loaded, and so far, while statistics are on, its ns and its runs."""

    number: int
    name: str
    run_ns: int
    runs: int


@contextlib.contextmanager
def descriptor(number: int) -> Iterator[int]:
    """Of a program by its number; OSError with ENOENT where it is gone."""
    fd = call(_PROG_GET_FD_BY_ID, _of("=3I", number, 0, 0))
    try:
        yield fd
    finally:
        os.close(fd)


def _info(number: int) -> Program:
    info = ctypes.create_string_buffer(_INFO_BYTES)
    with descriptor(number) as fd:
        call(_OBJ_GET_INFO_BY_FD, _of("=IIQ", fd, _INFO_BYTES, ctypes.addressof(info)))
    name = info.raw[_NAME].split(b"\0")[0].decode()
    return Program(number, name, *struct.unpack_from("=QQ", info, _RUN))


def programs(names: set[str]) -> Iterator[Program]:
    """Those of these names, in the order in which they were loaded."""
    number = 0
    while True:
        attributes = _of("=3I", number, 0, 0)
        try:
            call(_PROG_GET_NEXT_ID, attributes)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            raise
        (number,) = struct.unpack_from("=I", attributes, 4)
        with contextlib.suppress(FileNotFoundError):  # gone meanwhile
            if (found := _info(number)).name in names:
                yield found


def walked(number: int) -> int | None:
    """Instructions that the verifier walked through for a program; None when it is gone."""
    try:
        with descriptor(number) as fd:
            lines = Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines()
    except FileNotFoundError:
        return None
    return int(next(line for line in lines if line.startswith("verified_insns:")).split()[1])


@contextlib.contextmanager
def statistics() -> Iterator[None]:
    """The kernel counts what programs take."""
    fd = call(_ENABLE_STATS, _of("=I", 0))  # BPF_STATS_RUN_TIME
    try:
        yield
    finally:
        os.close(fd)


def run_alone(number: int, packet: bytes, times: int) -> float:
    """Mean ns of a program on a packet, by BPF_PROG_TEST_RUN, whose own loop is included."""
    data = ctypes.create_string_buffer(packet, len(packet))
    with descriptor(number) as fd:
        attributes = _of(
            "=4IQQ8I", fd, 0, len(packet), 0, ctypes.addressof(data), 0, times, *([0] * 7)
        )
        call(_PROG_TEST_RUN, attributes)
    (mean_ns,) = struct.unpack_from("=I", attributes, 36)
    return float(mean_ns)
