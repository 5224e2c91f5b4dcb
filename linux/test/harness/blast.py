# SPDX-License-Identifier: GPL-2.0-only
"""For benchmarks: TCP by two processes that do nothing but system calls, and frames alone."""

import contextlib
import ctypes
import itertools
import multiprocessing
import os
import socket
import time
from collections.abc import Iterator

from harness.namespace import Namespace

_CHUNK = 1 << 16


def _swallow(server: socket.socket, client: socket.socket) -> None:
    client.close()  # inherited; held open here, the connection would never end
    connection, _ = server.accept()
    buffer = bytearray(_CHUNK)
    while connection.recv_into(buffer):
        pass


def _feed(client: socket.socket, seconds: float) -> None:
    data, end = bytes(_CHUNK), time.monotonic() + seconds
    while time.monotonic() < end:
        client.send(data)


def acked_bytes(client: socket.socket) -> int:
    """tcpi_bytes_acked of struct tcp_info (linux/tcp.h)."""
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int.from_bytes(info[120:128], "little")


@contextlib.contextmanager
def blast(
    sender: Namespace,
    receiver: Namespace,
    address: str,
    seconds: float,
    options: dict[tuple[int, int], int | bytes] | None = None,
) -> Iterator[socket.socket]:
    """A connection that sends for so long; its sending socket, for acked_bytes."""
    server = receiver.socket(socket.AF_INET, socket.SOCK_STREAM)
    client = sender.socket(socket.AF_INET, socket.SOCK_STREAM)
    with server, client:
        server.bind((address, 0))
        server.listen(1)
        for (level, option), value in (options or {}).items():
            client.setsockopt(level, option, value)
        client.connect((address, server.getsockname()[1]))
        work = [
            multiprocessing.Process(target=_swallow, args=(server, client)),
            multiprocessing.Process(target=_feed, args=(client, seconds)),
        ]
        for process in work:
            process.start()
        server.close()
        yield client
        client.close()
        for process in work[::-1]:
            process.join()


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_char_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """struct msghdr: one vector, and no address."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vector", ctypes.POINTER(_Vector)),
        ("vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """struct mmsghdr"""

    _fields_ = (("header", _Header), ("sent", ctypes.c_uint32))


_libc = ctypes.CDLL(None, use_errno=True)
_BATCH = 64
# Packets on their way at most: enough to keep a queue busy, far from filling it.
_WINDOW = 2000


def _batches(frames: list[bytes]) -> list[ctypes.Array[_Message]]:
    vectors = [_Vector(frame, len(frame)) for frame in frames]
    headers = [_Header(vector=ctypes.pointer(vector), vectors=1) for vector in vectors]
    messages = [_Message(header) for header in headers]
    groups = [messages[at : at + _BATCH] for at in range(0, len(messages), _BATCH)]
    return [(_Message * len(group))(*group) for group in groups]


def packets_per_s(
    sender: Namespace, gateway: Namespace, frames: list[bytes], seconds: float
) -> float:
    """Frames from the wired side, over and over, as fast as the gateway forwards them."""
    with gateway.inside():
        counters = os.open("/proc/thread-self/net/dev", os.O_RDONLY)

    def forwarded() -> int:
        lines = os.pread(counters, 1 << 14, 0).split(b"\n")
        return int(next(line for line in lines if b"mesh0:" in line).split(b":")[1].split()[9])

    out = sender.socket(socket.AF_PACKET, socket.SOCK_RAW)
    try:
        out.bind(("eth0", 0))
        first = sent = forwarded()
        began = time.monotonic()
        batches = itertools.cycle(_batches(frames))
        while time.monotonic() < began + seconds:
            if sent - forwarded() > _WINDOW:
                continue
            batch = next(batches)
            done = _libc.sendmmsg(out.fileno(), batch, len(batch), 0)
            if done < 0:
                raise OSError(ctypes.get_errno(), "sendmmsg")
            sent += done
        return (forwarded() - first) / (time.monotonic() - began)
    finally:
        out.close()
        os.close(counters)
