# SPDX-License-Identifier: GPL-2.0-only
"""
The gateway's flow table, read straight from the kernel as often as wanted: `status` tells what it
was at the daemon's latest look, once a second. Names and places of its fields come from BTF.
"""

import contextlib
import ctypes
import json
import os
import re
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from harness import bpf
from harness.gateway import Gateway, until
from harness.namespace import run

_LOOKUP_ELEM, _GET_NEXT_KEY, _MAP_GET_FD_BY_ID = 1, 4, 14
_UNDER_ITS_LOCK = 4  # BPF_F_LOCK: what was written together is read together
# struct mp_flow_key: addresses of the mesh and of the wired side, their ports, the direction.
_KEY = struct.Struct("!16s16sHH4s")
_DOWN, _UP = struct.pack("=I", 0), struct.pack("=I", 1)
# Of an RTT sample (core/, MP_TICK_SHIFT).
_TICK_NS = 1 << 6
# The papers' N and alpha.
WINDOW, ALPHA = 50, 0.7
# The law's window is full of samples of how the flow goes now.
SETTLED = WINDOW + 10
_LOOK_S = 0.005


class _Attributes(ctypes.Structure):
    """The part of union bpf_attr that these calls read: a map's id alone, or map, key, value."""

    _fields_ = (
        ("map", ctypes.c_uint32),
        ("key", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
    )


def _bpf(command: int, attributes: _Attributes) -> int:
    """The answer of bpf(2); -1 where there is no such key."""
    try:
        return bpf.call(command, attributes)
    except FileNotFoundError:
        return -1


@dataclass(frozen=True)
class Look:
    """What the table held of a flow at a time: the interval in force and what it comes of."""

    time_ns: int
    interval_us: float
    cov: float
    samples: int
    rtts_ms: tuple[float, ...]  # the law's window, the oldest first

    @property
    def rtt_ms(self) -> float:
        return mean(self.rtts_ms)

    @property
    def own_cov(self) -> float:
        """GAP eq. (5), computed here."""
        return stdev(self.rtts_ms) / self.rtt_ms

    def lawful_ms(self, delay_ms: Callable[[float], float]) -> float:
        """
        What the interval must be where a round trip means such a delay: GAP eq. (2) over the whole
        window, before which no sample counts any more, and eq. (6).
        """
        smoothed = delay_ms(self.rtts_ms[0])
        for rtt_ms in self.rtts_ms[1:]:
            smoothed = ALPHA * smoothed + (1 - ALPHA) * delay_ms(rtt_ms)
        return smoothed * (1 + 2 * self.own_cov)


class Layout:
    """Where fields are in a struct, from BTF as bpftool prints it."""

    def __init__(self, struct_name: str, btf_id: int) -> None:
        types = json.loads(run("bpftool", "-j", "btf", "dump", "id", str(btf_id)))["types"]
        self._types: dict[int, dict[str, Any]] = {one["id"]: one for one in types}
        self._root = next(one for one in types if one["name"] == struct_name)
        self.size = int(self._root["size"])

    def offset(self, path: str) -> int:
        """In bytes, of a field like "estimate.window.sum"."""
        inside, offset = self._root, 0
        for name in path.split("."):
            member = next(one for one in inside["members"] if one["name"] == name)
            offset += int(member["bits_offset"]) // 8
            inside = self._types[member["type_id"]]
        return offset


def shown_map(pid: int, name: str) -> dict[str, Any]:
    """What bpftool shows of this process's map of that name; other gateways run beside."""
    mine = set()
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        # A descriptor may be closed meanwhile.
        with contextlib.suppress(OSError):
            mine |= {int(n) for n in re.findall(r"^map_id:\s*(\d+)", file.read_text(), re.M)}
    shown = json.loads(run("bpftool", "-j", "map", "show"))
    table: dict[str, Any]
    (table,) = (one for one in shown if one["id"] in mine and one.get("name") == name)
    return table


class FlowTable:
    """Of a gateway that runs; opened anew when it is started anew."""

    def __init__(self, gateway: Gateway) -> None:
        shown = shown_map(gateway.pid, "mp_flows")
        layout = Layout("mp_flow", shown["btf_id"])
        self._interval = layout.offset("at.interval_ns")
        self._cov = layout.offset("at.estimate.cov_q16")
        self._samples = layout.offset("at.estimate.samples")
        self._next = layout.offset("at.estimate.window.next")
        self._rtts = layout.offset("at.estimate.window.rtt_ticks")
        self._echoes = [layout.offset(f"at.echo.{name}") for name in ("base_ns", "rtt_ns")]
        self._value = ctypes.create_string_buffer(layout.size)
        self._fd = _bpf(_MAP_GET_FD_BY_ID, _Attributes(map=shown["id"]))

    def __enter__(self) -> "FlowTable":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def _keys(self) -> Iterator[bytes]:
        key, following = None, ctypes.create_string_buffer(_KEY.size)
        while True:
            attributes = _Attributes(map=self._fd, value=ctypes.addressof(following))
            attributes.key = ctypes.addressof(key) if key else 0
            if _bpf(_GET_NEXT_KEY, attributes) < 0:
                return
            yield following.raw
            key = ctypes.create_string_buffer(following.raw, _KEY.size)

    def find(self, mesh_port: int, *, up: bool = False) -> bytes | None:
        """The key of the flow to this port of the mesh, or from it."""
        for key in self._keys():
            _, _, port, _, direction = _KEY.unpack(key)
            if port == mesh_port and direction == (_UP if up else _DOWN):
                return key
        return None

    def echoes_ms(self, key: bytes) -> tuple[float, float]:
        """Of an upload: the least time from an acknowledgement to its echo, and the latest."""
        self._load(key)
        least, latest = (self._read("=Q", offset) / 1e6 for offset in self._echoes)
        return least, latest

    def look(self, key: bytes) -> Look:
        begin = time.time_ns()
        self._load(key)
        ticks = struct.unpack_from(f"={WINDOW}I", self._value, self._rtts)
        oldest = self._read("=H", self._next)
        return Look(
            time_ns=begin,
            interval_us=self._read("=Q", self._interval) / 1e3,
            cov=self._read("=I", self._cov) / 65536,
            samples=self._read("=I", self._samples),
            rtts_ms=tuple(one * _TICK_NS / 1e6 for one in ticks[oldest:] + ticks[:oldest]),
        )

    def _load(self, key: bytes) -> None:
        held = ctypes.create_string_buffer(key, _KEY.size)
        attributes = _Attributes(map=self._fd, key=ctypes.addressof(held), flags=_UNDER_ITS_LOCK)
        attributes.value = ctypes.addressof(self._value)
        if _bpf(_LOOKUP_ELEM, attributes) < 0:
            raise KeyError("the gateway has forgotten the flow")

    def _read(self, form: str, offset: int) -> int:
        return int(struct.unpack_from(form, self._value, offset)[0])

    def watch(self, key: bytes, seconds: float) -> list[Look]:
        """Looks, again and again."""
        looks, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            looks.append(self.look(key))
            time.sleep(_LOOK_S)
        return looks

    def settled(self, mesh_port: int, within_s: float = 20.0) -> bytes:
        """The flow's key, once it has so many samples that its beginning is forgotten."""
        key: bytes = until(lambda: self.find(mesh_port), within_s)
        until(lambda: self.look(key).samples > SETTLED, within_s)
        return key
