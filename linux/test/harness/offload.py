# SPDX-License-Identifier: GPL-2.0-only
"""Offloads of an interface, by the ethtool ioctl: the ethtool program is not needed."""

import array
import contextlib
import fcntl
import socket
import struct
from collections.abc import Iterator

from harness.namespace import Namespace

_SIOCETHTOOL = 0x8946
# name: (read, write), from linux/ethtool.h
_COMMANDS = {
    "rx-checksum": (0x14, 0x15),
    "tx-checksum": (0x16, 0x17),
    "sg": (0x18, 0x19),
    "tso": (0x1E, 0x1F),
    "gso": (0x23, 0x24),
    "gro": (0x2B, 0x2C),
}
# Later switches depend on earlier ones: segmentation needs scatter-gather and checksums.
SEGMENTATION = ("tso", "gso", "gro")


def _ioctl(namespace: Namespace, interface: str, command: int, value: int) -> int:
    data = array.array("B", struct.pack("II", command, value))
    request = struct.pack("16sP", interface.encode(), data.buffer_info()[0])
    with namespace.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, _SIOCETHTOOL, request)
    return int(struct.unpack("II", data.tobytes())[1])


def get(namespace: Namespace, interface: str, name: str) -> bool:
    return bool(_ioctl(namespace, interface, _COMMANDS[name][0], 0))


def set_(namespace: Namespace, interface: str, on: bool, *names: str) -> None:
    for name in names:
        _ioctl(namespace, interface, _COMMANDS[name][1], int(on))


def all_of(namespace: Namespace, interface: str) -> dict[str, bool]:
    """Every offload that the interface tells of."""
    found = {}
    for name in _COMMANDS:
        with contextlib.suppress(OSError):
            found[name] = get(namespace, interface, name)
    return found


@contextlib.contextmanager
def switched(namespace: Namespace, interface: str, on: bool) -> Iterator[None]:
    """TSO, GSO and GRO on or off for a while."""
    before = {name: get(namespace, interface, name) for name in SEGMENTATION}
    set_(namespace, interface, on, *SEGMENTATION)
    try:
        yield
    finally:
        for name, was in before.items():
            set_(namespace, interface, was, name)
