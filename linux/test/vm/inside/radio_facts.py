# SPDX-License-Identifier: GPL-2.0-only
"""What `iw` prints of a radio and of its next hop, for comparison with what meshpace reads."""

import re
from dataclasses import dataclass

from radios import Station


@dataclass(frozen=True)
class RadioFacts:
    """Of a radio's own, and of the station that is the next hop to a node."""

    tx_power_dbm: float
    frequency_mhz: int
    signal_dbm: float
    mbps: float
    slot_us: int
    hops: int


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, f"no {pattern!r} in:\n{text}"
    return float(found[1])


def by_iw(station: Station, to: str) -> RadioFacts:
    """`iw dev info`, `station get` of the next hop to a node, `mpath dump`."""
    info = station.iw("info")
    rows = [row.split() for row in station.iw("mpath", "dump").splitlines()]
    # "DEST ADDR" and "NEXT HOP" are two words each in the heading.
    column = rows[0].index("HOP_COUNT") - 2
    (path,) = [row for row in rows[1:] if row[0] == to]
    next_hop = station.iw("station", "get", path[1])
    return RadioFacts(
        tx_power_dbm=_number(r"txpower (\S+) dBm", info),
        frequency_mhz=int(_number(r"\((\d+) MHz\)", info)),
        signal_dbm=_number(r"signal avg:\s+(\S+)", next_hop),
        mbps=_number(r"tx bitrate:\s+(\S+) MBit/s", next_hop),
        slot_us=9 if re.search(r"short slot time:\s*yes", next_hop) else 20,
        hops=int(path[column]),
    )
