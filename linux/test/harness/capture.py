# SPDX-License-Identifier: GPL-2.0-only
"""Captures on an interface of a namespace, with the kernel's timestamps and VLAN tags."""

import ctypes
import itertools
import select
import socket
import struct
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from harness.namespace import Namespace

_ETH_P_ALL = 3
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 26, 33, 35
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_AUXDATA = 263, 6, 8
_VLAN_VALID, _VLAN_TPID_VALID = 0x10, 0x40
_BUFFER = 256 << 20
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16

# A worker of the kernel switches its stamps on and off, which a busy machine lets wait; packets
# that come before get theirs as they are read (sock_recv_timestamp). This socket keeps them on.
_STAMPED = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
_STAMPED.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


@dataclass(frozen=True)
class Frame:
    """A captured frame: kernel time, whether it left here, its bytes (VLAN tag put back)."""

    time_ns: int
    outgoing: bool
    data: bytes


@dataclass(frozen=True)
class Segment:
    """A TCP segment as a plain parser sees it."""

    time_ns: int
    source: str
    source_port: int
    target: str
    target_port: int
    seq: int
    ack: int
    flags: int
    payload: int
    options: bytes

    @property
    def pure_ack(self) -> bool:
        return self.payload == 0 and self.flags & (SYN | FIN | RST | ACK) == ACK


class Capture:
    """
    Takes every frame that comes in or goes out until stopped; nothing may be missed. With `late`
    the kernel keeps them until then, so that the taking does not disturb what is measured.
    """

    def __init__(
        self, namespace: Namespace, interface: str, snap: int = 65600, late: bool = False
    ) -> None:
        self.frames: list[Frame] = []
        self._snap = snap
        self._late = late
        self._stop = threading.Event()
        self._socket = namespace.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._socket.setblocking(False)
        self._socket.bind((interface, _ETH_P_ALL))
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        if self._late:
            self._stop.wait()
            # From now on nothing more is let in, or taking might never end.
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _nothing())
        # Once stopped, what is in the buffer is still taken.
        while True:
            stopping = self._stop.is_set()
            select.select([self._socket], [], [], 0.05)
            while self._take_one():
                pass
            if stopping:
                return

    def _take_one(self) -> bool:
        try:
            data, control, _, address = self._socket.recvmsg(self._snap, 256)
        except OSError:  # nothing there, or the interface went away
            return False
        stamp, tag = 0, b""
        for level, kind, value in control:
            if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                seconds, nanoseconds = struct.unpack("qq", value)
                stamp = seconds * 1_000_000_000 + nanoseconds
            elif level == _SOL_PACKET and kind == _PACKET_AUXDATA:
                tag = _vlan_tag(value)
        if tag:
            data = data[:12] + tag + data[12:]
        self.frames.append(Frame(stamp, address[2] == socket.PACKET_OUTGOING, data))
        return True

    def stop(self) -> list[Frame]:
        """Ends the capture; raises when the kernel had to drop frames of it."""
        if self._thread.is_alive():
            self._stop.set()
            self._thread.join()
            statistics = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
            self._socket.close()
            _, dropped = struct.unpack("II", statistics)
            if dropped:
                raise RuntimeError(f"capture lost {dropped} of {len(self.frames)} frames")
        return self.frames

    def quiet(self, seconds: float, at_most_s: float = 60.0) -> None:
        """Waits until nothing has come for so long."""
        end = time.monotonic() + at_most_s
        count, since = -1, time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < seconds:
            if len(self.frames) != count:
                count, since = len(self.frames), time.monotonic()
            time.sleep(0.05)

    def __enter__(self) -> "Capture":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.stop()
        except RuntimeError:
            if kind is None:
                raise


_RETURN_NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0), 8)


def _nothing() -> bytes:
    """A struct sock_fprog of one instruction, which refuses every packet."""
    return struct.pack("HP", 1, ctypes.addressof(_RETURN_NOTHING))


def _vlan_tag(auxdata: bytes) -> bytes:
    """The tag that the kernel took out of the frame; empty when there was none."""
    status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", auxdata)
    if not status & _VLAN_VALID:
        return b""
    return struct.pack("!HH", tpid if status & _VLAN_TPID_VALID else 0x8100, tci)


def segment(frame: Frame) -> Segment | None:
    """The TCP segment in a well-formed, untagged frame; None when it is something else."""
    data, kind = frame.data, frame.data[12:14]
    if kind == b"\x08\x00" and data[23] == 6:
        start, end = 14 + (data[14] & 15) * 4, 14 + int.from_bytes(data[16:18])
        source, target = (socket.inet_ntop(socket.AF_INET, data[n : n + 4]) for n in (26, 30))
    elif kind == b"\x86\xdd" and data[20] == 6:
        start, end = 54, 54 + int.from_bytes(data[18:20])
        source, target = (socket.inet_ntop(socket.AF_INET6, data[n : n + 16]) for n in (22, 38))
    else:
        return None
    sport, dport, seq, ack, offset, flags = struct.unpack_from("!HHIIBB", data, start)
    header = (offset >> 4) * 4
    return Segment(
        time_ns=frame.time_ns,
        source=source,
        source_port=sport,
        target=target,
        target_port=dport,
        seq=seq,
        ack=ack,
        flags=flags,
        payload=end - start - header,
        options=data[start + 20 : start + header],
    )


def segments(frames: Iterable[Frame], port: int, sent_by: bool) -> list[Segment]:
    """The segments from (sent_by) or to a port, in the order of capture."""
    found = (segment(frame) for frame in frames)
    return [s for s in found if s and port == (s.source_port if sent_by else s.target_port)]


def gaps_us(flow: Iterable[Segment]) -> list[float]:
    """Times between successive data segments of one flow."""
    times = [s.time_ns for s in flow if s.payload]
    return [(b - a) / 1e3 for a, b in itertools.pairwise(times)]


def median_gap_us(flow: Iterable[Segment]) -> float:
    return median(gaps_us(flow))
