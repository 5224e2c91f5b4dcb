# SPDX-License-Identifier: GPL-2.0-only
"""
Downloads by real QUIC: the server and the client that ngtcp2 comes with, Debian's packages, which
have CUBIC and BBR. scripts/setup.sh unpacks the server; installed it would run as a service.
"""

import contextlib
import hashlib
import random
import select
import socket
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.capture import Frame
from harness.gateway import PATIENCE_S, until
from harness.namespace import Namespace, run

SERVER = Path(__file__).parents[3] / "build" / "quic" / "usr" / "sbin" / "gtlsserver"
PORT = 4433
_NAME = "file"


class Download:
    """
    A file of seeded random bytes, from the namespace that serves it. words: options of the client;
    served: of the server; dialled: by whom the client reaches it. What both ends print is in the
    folder.
    """

    def __init__(
        self,
        server: Namespace,
        client: Namespace,
        address: str,
        folder: Path,
        *words: str,
        congestion: str = "cubic",
        size: int = 1 << 26,
        seed: int = 1,
        served: tuple[str, ...] = (),
        dialled: tuple[str, int] | None = None,
    ) -> None:
        self.size = size
        self._dialled = dialled or (address, PORT)
        self._served_by = served
        self._ends = server, client
        self._address, self._congestion, self._words = address, congestion, words
        self._folder = folder / f"quic{seed}"
        self._file = self._folder / "got" / _NAME
        data = random.Random(seed).randbytes(size)
        self._digest = hashlib.sha256(data).digest()
        for name in ("served", "got"):
            (self._folder / name).mkdir(parents=True)
        (self._folder / "served" / _NAME).write_bytes(data)

    def _program(self, end: Namespace, *command: str) -> "subprocess.Popen[bytes]":
        with (self._folder / Path(command[0]).name).open("wb") as printed:
            words = ("ip", "netns", "exec", end.name, *command)
            return subprocess.Popen(words, stdout=printed, stderr=subprocess.STDOUT)

    def _served(self) -> bool:
        """Whether the server listens: else the client's first packet waits for its time-out."""
        return f":{PORT}" in self._ends[0].run("ss", "-Huln", f"sport = :{PORT}")

    def start(self) -> "Download":
        if not SERVER.exists():
            raise RuntimeError("QUIC's server is not there; run `scripts/setup.sh test`")
        key, certificate = self._folder / "key.pem", self._folder / "certificate.pem"
        run(
            *("openssl", "req", "-x509", "-nodes", "-subj", "/CN=quic", "-newkey", "ec"),
            *("-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", str(key), "-out", str(certificate)),
        )
        self._server = self._program(
            self._ends[0],
            *(str(SERVER), "--quiet", "--cc", self._congestion, *self._served_by),
            *("--htdocs", str(self._folder / "served")),
            *(self._address, str(PORT), str(key), str(certificate)),
        )
        until(self._served)
        self._client = self._program(
            self._ends[1],
            *("gtlsclient", "--quiet", "--exit-on-all-streams-close"),
            *("--download", str(self._file.parent), *self._words),
            *(self._dialled[0], str(self._dialled[1]), f"https://quic/{_NAME}"),
        )
        return self

    @property
    def received(self) -> int:
        """Bytes that have arrived so far, in order."""
        with contextlib.suppress(FileNotFoundError):
            return self._file.stat().st_size
        return 0

    @property
    def running(self) -> bool:
        return self._client.poll() is None

    @property
    def intact(self) -> bool:
        """Waits for the client's end: whether it has what was served."""
        self._client.wait(self.size * 8e-3 / 1000 + PATIENCE_S)
        return hashlib.sha256(self._file.read_bytes()).digest() == self._digest

    def vanish(self) -> None:
        """The client is gone without a word."""
        self._client.kill()
        self._client.wait()

    def close(self) -> None:
        for process in (self._client, self._server):
            process.kill()
            process.wait()

    def __enter__(self) -> "Download":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


class Translator:
    """
    Between a client and its server, as a NAT that forgets: after `rebind` the server hears the
    client from another port, and what it sends to the one before is lost.
    """

    def __init__(self, namespace: Namespace, address: str, server: str) -> None:
        self._namespace, self._address, self._server = namespace, address, server
        self._inside = self._bound()
        self._outside = self._bound()
        self._unheard: list[socket.socket] = []
        self._client = (address, 0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)

    def _bound(self) -> socket.socket:
        one = self._namespace.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind((self._address, 0))
        one.setblocking(False)
        return one

    @property
    def dialled(self) -> tuple[str, int]:
        return self._address, int(self._inside.getsockname()[1])

    def rebind(self) -> None:
        outside = self._bound()
        self._unheard.append(self._outside)
        self._outside = outside

    def _carry(self) -> None:
        while not self._over.is_set():
            inside, outside = self._inside, self._outside
            select.select([inside, outside], [], [], 0.05)
            with contextlib.suppress(OSError):
                data, self._client = inside.recvfrom(2048)
                outside.sendto(data, (self._server, PORT))
            with contextlib.suppress(OSError):
                inside.sendto(outside.recv(2048), self._client)

    def __enter__(self) -> "Translator":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(5)
        for one in (self._inside, self._outside, *self._unheard):
            one.close()


ECN = 3  # these bits of a traffic class; all of them: "congestion experienced"


@dataclass(frozen=True)
class Datagram:
    """A UDP datagram over IPv4 or IPv6: what a gateway that routes must leave as it is."""

    time_ns: int
    ends: tuple[str, int, str, int]
    traffic_class: int
    ip_bytes: int
    payload: bytes

    @property
    def same(self) -> tuple[object, ...]:
        return self.ends, self.traffic_class, self.payload

    @property
    def told(self) -> tuple[object, ...]:
        """As `same`, of one that speaks ECN and was marked on its way (RFC 3168)."""
        return (
            self.ends,
            self.traffic_class | (ECN if self.traffic_class & ECN else 0),
            self.payload,
        )


def datagram(frame: Frame) -> Datagram | None:
    """The datagram in a well-formed, untagged frame; None when it is something else."""
    data, kind = frame.data, frame.data[12:14]
    if kind == b"\x08\x00" and data[23] == socket.IPPROTO_UDP:
        at, size, traffic_class = 14 + (data[14] & 15) * 4, int.from_bytes(data[16:18]), data[15]
        source, target = (socket.inet_ntop(socket.AF_INET, data[n : n + 4]) for n in (26, 30))
    elif kind == b"\x86\xdd" and data[20] == socket.IPPROTO_UDP:
        at, size = 54, 40 + int.from_bytes(data[18:20])
        traffic_class = int.from_bytes(data[14:16]) >> 4 & 0xFF
        source, target = (socket.inet_ntop(socket.AF_INET6, data[n : n + 16]) for n in (22, 38))
    else:
        return None
    sport, dport = (int.from_bytes(data[n : n + 2]) for n in (at, at + 2))
    ends = (source, sport, target, dport)
    return Datagram(frame.time_ns, ends, traffic_class, size, data[at + 8 : 14 + size])


def datagrams(frames: Iterable[Frame], outgoing: bool) -> list[Datagram]:
    """Those that left, or came, in the order of capture."""
    found = (datagram(frame) for frame in frames if frame.outgoing == outgoing)
    return [one for one in found if one]
