# SPDX-License-Identifier: GPL-2.0-only
"""
Traces of a sender (core/test/traces/sender): its segments cross a path of one bottleneck, at whose
end each is acknowledged. Losses, SACKs and what the gateway signals are drawn from the seed.

usage, in linux/test: python -m harness.sender_source CORE_REPLAY_SENDER    makes them again
"""

import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.namespace import run

MS, S = 1_000_000, 1_000_000_000
WRAP = 1 << 32
ROOT = Path(__file__).parents[3]


@dataclass
class Setting:
    """What a trace is of. All that is random is drawn from the seed."""

    law: str = "even"
    hops: int = 4
    mss: int = 1000
    packets: int = 60
    first: int = 5000  # sequence number
    service_ms: float = 12.0  # of a packet, at the bottleneck
    wired_ms: int = 0  # RTT_wired, which each ACK tells; 0: no gateway tells
    limit: tuple[int, int, int] = (0, 0, 0)  # bytes/s, told of packets from and until
    silent: tuple[int, int] = (0, 0)  # packets of whose ACKs nothing is told, from and until
    ack_loss: float = 0.0
    sack: float = 0.0  # a segment is lost, and its ACK repeats the latest; it is sent again
    pause_ms: int = 0  # after half of the packets


CATALOGUE = {
    "steady": Setting(wired_ms=40),
    "cap-goes-stale": Setting(wired_ms=20, limit=(20_000, 12, 30), silent=(30, 60), service_ms=130),
    "wired-goes-stale": Setting(law="gap", wired_ms=60, silent=(24, 50), service_ms=150),
    "lost-acks": Setting(law="gap", hops=3, wired_ms=30, ack_loss=0.3, sack=0.15),
    "wrap": Setting(first=WRAP - 20_500, wired_ms=40, sack=0.05),
    "map": Setting(law="map", hops=6, packets=40, service_ms=20),
    "pause": Setting(packets=40, pause_ms=130_000, service_ms=25, wired_ms=10),
}


def of_seed(seed: int) -> Setting:
    """What the random trace of a seed is of."""
    chance = random.Random(seed)
    packets = chance.randint(5, 120)
    at = sorted(chance.randint(0, packets) for _ in range(4))
    return Setting(
        law=chance.choice(("even", "even", "gap", "map")),
        hops=chance.randint(1, 8),
        mss=chance.choice((536, 1000, 1460)),
        packets=packets,
        first=chance.choice((1, WRAP - chance.randrange(1, 60_000))),
        service_ms=chance.choice((2.0, 12.0, 200.0)),
        wired_ms=chance.choice((0, 20, 300)),
        limit=(chance.choice((0, 3000, 200_000)), at[0], at[2]),
        silent=(at[1], at[3]),
        ack_loss=chance.choice((0.0, 0.2)),
        sack=chance.choice((0.0, 0.1)),
        pause_ms=chance.choice((0, 0, 5000, 130_000)),
    )


def _told(made: Setting, packet: int) -> str:
    """What the ACK of a packet tells: one of four what its flow may have, the others RTT_wired."""
    if made.silent[0] <= packet < made.silent[1]:
        return ""
    limit, begin, end = made.limit
    shares = begin <= packet < end and limit > 0
    if shares and packet % 4 == 0:
        return f" rate={limit}"
    return f" wired={made.wired_ms * 1000}" if made.wired_ms else ""


def make(made: Setting, seed: int) -> str:
    """The trace, without outcomes."""
    chance = random.Random(seed)
    events: list[tuple[int, str]] = []
    now = free = acked = 0
    for packet in range(made.packets):
        now += chance.randrange(int(2 * made.service_ms * MS))
        if made.pause_ms and packet == made.packets // 2:
            now = max(now, free) + made.pause_ms * MS
        seq = (made.first + packet * made.mss) % WRAP
        end = (seq + made.mss) % WRAP
        events.append((now, f"send {seq} {made.mss}"))
        free = max(free, now) + int(made.service_ms * MS)
        back = free + made.wired_ms * MS + chance.randrange(MS)
        if chance.random() < made.sack:
            block = f"opt=sack:{end}-{(end + made.mss) % WRAP}"
            events.append((back, f"hear ack={(made.first + acked * made.mss) % WRAP} {block}"))
            events.append((back + MS, f"send {seq} {made.mss}"))
            back = free = back + int(made.service_ms * MS) + MS
        acked = packet + 1
        if chance.random() >= made.ack_loss:
            events.append((back, f"hear ack={end}{_told(made, packet)}"))
    events.sort(key=lambda event: event[0])
    head = f"0 set law={made.law} hops={made.hops} kbps=11000 mss={made.mss}\n"
    return head + "".join(f"{at} {event}\n" for at, event in events)


def main(program: str) -> None:
    folder = ROOT / "core/test/traces/sender"
    with tempfile.NamedTemporaryFile("w", suffix=".trace") as bare:
        for seed, (name, setting) in enumerate(CATALOGUE.items()):
            head = f"# {name}: made by linux/test/harness/sender_source.py\n"
            Path(bare.name).write_text(head + make(setting, seed))
            (folder / f"{name}.trace").write_text(run(program, bare.name))


if __name__ == "__main__":
    main(*sys.argv[1:])
