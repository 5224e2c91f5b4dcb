# SPDX-License-Identifier: GPL-2.0-only
"""Real TCP transfers of seeded random bytes: hashes at both ends, rate, longest stall."""

import contextlib
import hashlib
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.namespace import Namespace

_CHUNK = 1 << 16
# Longer than any stall that a test allows: then the transfer has failed.
_PATIENCE_S = 30.0
SO_MAX_PACING_RATE = 47
# What one transfer takes at most where it must not eat the machine; less under emulation.
LOAD_BYTES_PER_S = int(os.environ.get("MESHPACE_TEST_LOAD", 3_000_000))


@dataclass(frozen=True)
class Result:
    """What a transfer came to. `stall_s` is the longest time without a byte arriving."""

    sent_bytes: int
    received_bytes: int
    intact: bool
    seconds: float
    stall_s: float

    @property
    def kbps(self) -> float:
        return self.received_bytes * 8 / 1e3 / self.seconds


class _Way:
    """One direction of a connection: who sends, who receives, what came of it."""

    def __init__(self, out: socket.socket, into: socket.socket, size: int | None, seed: int):
        self.out, self.into, self.size, self.seed = out, into, size, seed
        self.stop = threading.Event()
        self.sent = self.received = 0
        self.sent_digest = self.received_digest = ""
        self.began = self.ended = time.monotonic()
        self.stall_s = 0.0

    def send(self) -> None:
        chance, digest = random.Random(self.seed), hashlib.sha256()
        while not self.stop.is_set() and (self.size is None or self.sent < self.size):
            left = _CHUNK if self.size is None else min(_CHUNK, self.size - self.sent)
            data = chance.randbytes(left)
            digest.update(data)
            self.out.sendall(data)
            self.sent += len(data)
        self.out.shutdown(socket.SHUT_WR)
        self.sent_digest = digest.hexdigest()

    def receive(self) -> None:
        digest, data = hashlib.sha256(), b"first"
        while data:
            data = self.into.recv(_CHUNK)
            now = time.monotonic()
            self.stall_s = max(self.stall_s, now - self.ended)
            self.ended = now
            digest.update(data)
            self.received += len(data)
        self.received_digest = digest.hexdigest()

    def result(self) -> Result:
        return Result(
            sent_bytes=self.sent,
            received_bytes=self.received,
            intact=self.received_digest == self.sent_digest,
            seconds=max(self.ended - self.began, 1e-6),
            stall_s=self.stall_s,
        )


@dataclass
class Transfer:
    """
    Bytes from one namespace to another. `listener` is the address that is dialled; it belongs
    to the receiver, or to the sender when `sender_listens` (a download through a NAT).
    Without a size it goes on until `finish`. With `both_ways` the receiver sends as much.
    """

    sender: Namespace
    receiver: Namespace
    listener: str
    size: int | None = None
    seed: int = 1
    sender_listens: bool = False
    both_ways: bool = False
    congestion: str = "cubic"
    # Options of both sockets, set before they connect: {(level, name): value}.
    options: dict[tuple[int, int], int] = field(default_factory=dict)

    def start(self) -> "Transfer":
        out, into = self._connect()
        self.sender_port, self.receiver_port = (end.getsockname()[1] for end in (out, into))
        self._sockets = [out, into]
        self._errors: list[BaseException] = []
        self._ways = [_Way(out, into, self.size, self.seed)]
        if self.both_ways:
            self._ways.append(_Way(into, out, self.size, self.seed + 1))
        else:
            into.shutdown(socket.SHUT_WR)
        work = [job for way in self._ways for job in (way.send, way.receive)]
        self._threads = [threading.Thread(target=self._do, args=(w,), daemon=True) for w in work]
        for thread in self._threads:
            thread.start()
        return self

    def _connect(self) -> tuple[socket.socket, socket.socket]:
        """The sender's and the receiver's end of a connection."""
        family = socket.AF_INET6 if ":" in self.listener else socket.AF_INET
        ends = (self.sender, self.receiver)
        listens, dials = ends if self.sender_listens else ends[::-1]
        server = listens.socket(family, socket.SOCK_STREAM)
        dialled = dials.socket(family, socket.SOCK_STREAM)
        with contextlib.closing(server):
            for one in (server, dialled):
                self._prepare(one)
            server.bind((self.listener, 0))
            server.listen(1)
            dialled.connect((self.listener, server.getsockname()[1]))
            accepted = server.accept()[0]
        accepted.settimeout(_PATIENCE_S)
        return (accepted, dialled) if self.sender_listens else (dialled, accepted)

    def _prepare(self, one: socket.socket) -> None:
        one.settimeout(_PATIENCE_S)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion.encode())
        for (level, name), value in self.options.items():
            one.setsockopt(level, name, value)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._errors.append(error)

    @property
    def received(self) -> int:
        """Bytes that have arrived so far."""
        return self._ways[0].received

    @property
    def sender_socket(self) -> socket.socket:
        """For what an application may do to it under way."""
        return self._sockets[0]

    @property
    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def finish(self) -> Result:
        """Ends an endless transfer and waits until every byte sent has arrived."""
        for way in self._ways:
            way.stop.set()
        return self.wait()

    def wait(self) -> Result:
        """The first way's result; what went wrong at either end is raised here."""
        return self.wait_all()[0]

    def wait_all(self) -> list[Result]:
        try:
            for thread in self._threads:
                thread.join(300)
                if thread.is_alive():
                    raise TimeoutError(f"no end after {self.received} bytes")
            if self._errors:
                raise self._errors[0]
        finally:
            self.close()
        return [way.result() for way in self._ways]

    def close(self) -> None:
        for way in self._ways:
            way.stop.set()
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> "Transfer":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


def window(bytes_: int) -> dict[tuple[int, int], int]:
    """Options that bound the receiver's window, and so what queues in the gateway."""
    return {(socket.SOL_SOCKET, socket.SO_RCVBUF): bytes_}


def bounded() -> dict[tuple[int, int], int]:
    """Options that bound the sender's rate, where nobody paces: others need the machine, too."""
    return {(socket.SOL_SOCKET, SO_MAX_PACING_RATE): LOAD_BYTES_PER_S}
