# SPDX-License-Identifier: GPL-2.0-only
"""
The traces in core/test/traces, by name: what each is of.

usage, in linux/test: python -m harness.trace_catalogue [NAME...]    makes them again, all or some
"""

import sys
import tempfile
from pathlib import Path

from harness import replay
from harness.trace_source import Setting, Source

EVEN = "law=even hops=4 kbps=11000"

CATALOGUE = {
    "chain": Setting(packets=30),
    "oncoming": Setting(hops=(4, 4), down=1, up=1, packets=16),
    "near-far": Setting(hops=(1, 6), down=2, packets=18),
    "reordering": Setting(reorder=0.2, packets=24),
    "loss": Setting(loss=0.06, packets=30),
    "sack": Setting(settings=f"{EVEN} copies=1", loss=0.08, reorder=0.05, packets=26),
    "local-retransmission": Setting(settings=f"{EVEN} copies=1", loss=0.1, packets=26),
    "wrap": Setting(wraps=True, down=1, up=1, packets=18),
    # One address, several machines behind it; ports that are used again.
    "nat": Setting(
        hops=(3,),
        down=3,
        packets=6,
        reuse=True,
        extra=((700, "alias 2 1"), (900, "cap 1 down 60000 0")),
    ),
    "uploads": Setting(
        settings=f"{EVEN} option=1", hops=(4, 2), down=0, up=2, packets=16, asks=True
    ),
    "uploads-capped": Setting(
        settings=f"{EVEN} option=2",
        hops=(3,),
        down=0,
        up=2,
        packets=30,
        extra=((100, "cap 1 up 20000 10000"), (500, "cap 1 up 0 0")),
    ),
    "udp": Setting(
        settings=f"{EVEN} unanswered=8000",
        hops=(2, 5),
        packets=8,
        udp=24,
        extra=((500, "cap 1 down 3000 0"), (1500, "cap 1 down 0 0")),
    ),
    "datagrams-capped": Setting(
        settings=EVEN,
        hops=(2,),
        down=0,
        up=1,
        packets=12,
        udp=60,
        extra=((100, "cap 1 up 3000 3000"), (1500, "cap 1 up 0 0")),
    ),
    "host-leaves": Setting(
        settings=f"{EVEN} unanswered=20000", hops=(3, 3), down=2, packets=26, leaves_ms=250
    ),
    "route-breaks": Setting(settings=EVEN, packets=26, breaks_ms=(200, 3500)),
    "strangers": Setting(
        settings=f"{EVEN} unanswered=1500", hops=(2,), packets=12, forged=0.3, udp=10
    ),
    "forged": Setting(hops=(3,), down=1, up=1, packets=12, forged=0.5),
    "capped": Setting(
        hops=(2,),
        down=2,
        packets=20,
        extra=((100, "cap 1 down 40000 0"), (600, "cap 1 down 90000 0")),
    ),
    "marked": Setting(
        hops=(2,),
        down=1,
        up=1,
        ecn=True,
        packets=30,
        extra=((50, "cap 1 up 8000 0"), (60, "cap 1 down 9000 0")),
    ),
    "gap": Setting(
        settings="law=gap hops=4 kbps=11000", hops=(4, 8), down=2, packets=16, loss=0.03
    ),
    "ap": Setting(settings="law=ap hops=3 kbps=2000", hops=(3,), packets=20),
    "map": Setting(settings="law=map hops=5 kbps=11000", hops=(5,), packets=20),
    "nfqueue": Setting(
        settings=f"{EVEN} stamp=0", down=1, packets=24, ecn=True, extra=((150, "mark 1:5001-1:80"),)
    ),
    "goodput-control": Setting(
        settings="law=gap hops=4 kbps=11000",
        hops=(4, 4),
        down=2,
        packets=16,
        extra=((200, "floor 1:5001-1:80 30000000"), (400, "floor 1:5001-1:80 0")),
    ),
    "ipv6": Setting(v6=True, down=1, up=1, hops=(4, 2), packets=14, udp=4),
    "super-packets": Setting(supers=True, packets=30),
    # Its search ends where shares of the air begin, and begins anew from what arrives.
    "shared": Setting(
        hops=(2, 4),
        down=2,
        packets=90,
        extra=(
            (150, "set shared=1"),
            (150, "cap 1 down 60000 0"),
            (150, "cap 2 down 30000 0"),
            (1500, "set shared=0"),
            (1500, "cap 1 down 0 0"),
            (1500, "cap 2 down 0 0"),
        ),
    ),
}


def main(names: list[str]) -> None:
    folder = replay.ROOT / "core/test/traces"
    with tempfile.TemporaryDirectory() as build:
        plain = replay.build_plain(Path(build))
        for name in names or CATALOGUE:
            setting = CATALOGUE[name]
            setting.kind = name
            head = f"# {name}: made by linux/test/harness/trace_catalogue.py\n"
            seed = 1 + list(CATALOGUE).index(name)
            (folder / f"{name}.trace").write_text(head + Source(setting, seed, plain).run())


if __name__ == "__main__":
    main(sys.argv[1:])
