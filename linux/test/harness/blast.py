# SPDX-License-Identifier: GPL-2.0-only
"""For benchmarks: TCP by two processes that do nothing but system calls, and frames alone."""

import contextlib
import ctypes
import itertools
import multiprocessing
import os
import selectors
import socket
import time
from collections.abc import Iterator

from harness.namespace import Namespace

_CHUNK = 1 << 16


def _swallow(server: socket.socket, clients: list[socket.socket]) -> None:
    for client in clients:
        client.close()  # inherited; held open here, the connection would never end
    with selectors.DefaultSelector() as selector:
        for _ in clients:
            selector.register(server.accept()[0], selectors.EVENT_READ)
        buffer = bytearray(_CHUNK)
        while selector.get_map():
            for key, _ in selector.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                if not connection.recv_into(buffer):
                    selector.unregister(connection)


def _feed(clients: list[socket.socket], seconds: float) -> None:
    data, end = bytes(_CHUNK), time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for client in clients:
            client.setblocking(False)
            selector.register(client, selectors.EVENT_WRITE)
        while time.monotonic() < end:
            for key, _ in selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.send(data)


def acked_bytes(clients: list[socket.socket]) -> int:
    """tcpi_bytes_acked of struct tcp_info (linux/tcp.h), of all together."""
    infos = (one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256) for one in clients)
    return sum(int.from_bytes(info[120:128], "little") for info in infos)


@contextlib.contextmanager
def blast(
    sender: Namespace,
    receiver: Namespace,
    address: str,
    seconds: float,
    options: dict[tuple[int, int], int | bytes] | None = None,
    connections: int = 1,
) -> Iterator[list[socket.socket]]:
    """Connections that send for so long; their sending sockets, for acked_bytes."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(receiver.socket(socket.AF_INET, socket.SOCK_STREAM))
        server.bind((address, 0))
        server.listen(connections)
        clients = []
        for _ in range(connections):
            client = stack.enter_context(sender.socket(socket.AF_INET, socket.SOCK_STREAM))
            for (level, option), value in (options or {}).items():
                client.setsockopt(level, option, value)
            client.connect((address, server.getsockname()[1]))
            clients.append(client)
        work = [
            multiprocessing.Process(target=_swallow, args=(server, clients)),
            multiprocessing.Process(target=_feed, args=(clients, seconds)),
        ]
        for process in work:
            process.start()
        server.close()
        yield clients
        for client in clients:
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


def send_frames(sender: Namespace, frames: list[bytes]) -> None:
    """Each once, as fast as they are taken."""
    with sender.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind(("eth0", 0))
        for batch in _batches(frames):
            done = _libc.sendmmsg(out.fileno(), batch, len(batch), 0)
            if done < len(batch):
                raise OSError(ctypes.get_errno(), f"sendmmsg took {done} of {len(batch)}")


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
