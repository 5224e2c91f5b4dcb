# SPDX-License-Identifier: GPL-2.0-only
"""
Traces (core/test/traces/README.md) of a small mesh that is simulated beside the plain gateway: TCP
flows with losses, reordering and time-outs, UDP, hosts that leave, forged packets. Departures and
drops are those of core/, so that what comes back comes when it would. One seed, one trace.
"""

import heapq
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

MS, S = 1_000_000, 1_000_000_000
WRAP = 1 << 32
TRIES = 5


@dataclass
class Setting:
    """What a trace is of. All that is random is drawn from the seed."""

    kind: str = "chain"
    settings: str = "law=even hops=4 kbps=11000"
    hops: tuple[int, ...] = (4,)
    down: int = 1  # flows, dealt to the hosts in turn
    up: int = 0
    packets: int = 40  # of a flow
    loss: float = 0.0
    reorder: float = 0.0
    forged: float = 0.0
    partial: float = 0.0  # an acknowledgement of a part of a segment before that of all
    copy_loss: float = 0.0  # of what the retransmit cache sends
    ghosts: int = 0  # packets to hosts that nobody has heard of, or of flows that nobody answers
    udp: int = 0
    wraps: bool = False
    v6: bool = False
    ecn: bool = False
    asks: bool = False
    supers: bool = False
    reuse: bool = False  # a second connection under the same ports
    leaves_ms: int = 0  # the last host, for good
    breaks_ms: tuple[int, int] = (0, 0)  # nothing passes the mesh from and until
    extra: tuple[tuple[int, str], ...] = ()  # (ms, line)


@dataclass
class Flow:
    """One direction's data of a connection, its sender and its receiver."""

    name: str
    host: int
    upward: bool
    first: int  # sequence number of the first byte
    packets: int
    mss: int
    other: int  # the other direction's sequence number, of which no data comes
    sent: int = 0  # next packet
    acked: int = 0  # packets acknowledged at the sender
    window: float = 4.0
    dup: int = 0
    timeout_ns: int = S
    timer: int = 0
    recover: int = 0
    came: set[int] = field(default_factory=set)
    expects: int = 0
    pending: int = 0
    over: bool = False
    established: bool = False
    echo: int = 0  # timestamp of the latest acknowledgement that its sender has heard

    def seq(self, packet: int) -> int:
        return (self.first + packet * self.mss) % WRAP


class Source:
    """Writes the lines, as the plain gateway answers them."""

    def __init__(self, setting: Setting, seed: int, plain: Path) -> None:
        self.setting = setting
        self.chance = random.Random(seed)
        self.lines: list[str] = []
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._count = 0
        self.now = 0
        self._air_ns = 0
        words = [str(plain), "-"]
        pipe = subprocess.PIPE
        self._gateway = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def at(self, time_ns: int, do: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (max(time_ns, self.now), self._count, do))

    def say(self, line: str) -> list[str]:
        """An event now; the words of its outcome."""
        assert self._gateway.stdin
        assert self._gateway.stdout
        self._gateway.stdin.write(f"{self.now} {line}\n")
        self._gateway.stdin.flush()
        answer = self._gateway.stdout.readline()
        if not answer:
            raise RuntimeError(f"the plain gateway ends at: {self.now} {line}")
        self.lines.append(answer.rstrip())
        return answer.partition("|")[2].split()

    def run(self) -> str:
        made = self.setting
        self.say(f"set {made.settings}")
        if made.kind in ("caps", "random"):
            self.say(f"host {self.prefix}1 hops={made.hops[0]} kbps=24000")
        for ms, line in made.extra:
            self.at(ms * MS, partial(self._extra, line))
        for n in range(made.down + made.up):
            self.at(self.chance.randrange(50 * MS), partial(self._begin, n, 0))
        for n in range(made.udp):
            self.at(self.chance.randrange(2 * S), partial(self._udp, n))
        for n in range(made.ghosts):
            self.at(self.chance.randrange(2 * S), partial(self._ghost, n))
        while self._queue:
            time_ns, _, do = heapq.heappop(self._queue)
            self.now = time_ns
            do()
        assert self._gateway.stdin
        assert self._gateway.stdout
        self._gateway.stdin.close()
        self._gateway.wait()
        self._gateway.stdout.close()
        return "\n".join(self.lines) + "\n"

    def _extra(self, line: str) -> None:
        self.say(line)

    @property
    def prefix(self) -> str:
        return "6." if self.setting.v6 else ""

    # The mesh.

    def _gone(self, host: int) -> bool:
        made = self.setting
        last = host == len(made.hops) - 1
        broken = made.breaks_ms[0] * MS <= self.now < made.breaks_ms[1] * MS
        return broken or (last and 0 < made.leaves_ms * MS <= self.now)

    def _cross(self, host: int, size: int, begin_ns: int, then: Callable[[], object]) -> None:
        """Through the air, unless it is lost there."""
        made, hops = self.setting, self.setting.hops[host]
        if self._gone(host) or self.chance.random() < made.loss:
            return
        self._air_ns = max(self._air_ns, begin_ns) + size * 8 * min(hops, 4) * 1000 // 11
        jitter = self.chance.randrange(hops * MS // 2)
        late = self.chance.randrange(20 * MS) if self.chance.random() < made.reorder else 0
        self.at(self._air_ns + hops * MS // 2 + jitter + late, then)

    def _wires(self, then: Callable[[], object]) -> None:
        self.at(self.now + 10 * MS + self.chance.randrange(MS), then)

    # Connections.

    def _begin(self, n: int, turn: int) -> None:
        made = self.setting
        host = n % len(made.hops)
        ports = f"{5001 + n}-{1 + n}:80"
        first = (
            WRAP - self.chance.randrange(1, 20000) if made.wraps else self.chance.randrange(WRAP)
        )
        flow = Flow(
            name=f"{self.prefix}{host + 1}:{ports}",
            host=host,
            upward=n >= made.down,
            first=first,
            packets=made.packets,
            mss=self.chance.choice((536, 1220, 1448, 1460)),
            other=self.chance.randrange(WRAP),
        )
        self._syn(flow, turn, 0)

    def _syn(self, flow: Flow, turn: int, tries: int) -> None:
        """The mesh host's SYN, after which data goes its way."""
        if flow.established or tries == TRIES or self._gone(flow.host):
            return
        ask = "+ask" if self.setting.asks else ""
        mesh_seq = flow.first if flow.upward else flow.other
        self._say_up(flow, "S", f"seq={(mesh_seq - 1) % WRAP} opt=scale:7+sackok{ask}")
        self._wires(lambda: self._syn_ack(flow, turn))
        self.at(self.now + S, lambda: self._syn(flow, turn, tries + 1))

    def _syn_ack(self, flow: Flow, turn: int) -> None:
        wired, mesh = (flow.other, flow.first) if flow.upward else (flow.first, flow.other)
        words = self._say_down(
            flow, "SA", f"seq={(wired - 1) % WRAP} ack={mesh} opt=scale:7+sackok"
        )
        if words[0] == "passes":
            self._cross(flow.host, 60, self.now, lambda: self._established(flow, turn))

    def _established(self, flow: Flow, turn: int) -> None:
        if flow.established:
            return
        flow.established = True
        wired, mesh = (flow.other, flow.first) if flow.upward else (flow.first, flow.other)
        self._say_up(flow, "A", f"seq={mesh} ack={wired}")
        self.at(self.now + 11 * MS, lambda: self._push(flow))
        if self.setting.reuse and turn == 0:
            n = int(flow.name.partition(":")[2].partition("-")[0]) - 5001
            self.at(self.now + 4 * S, lambda: self._begin(n, 1))

    def _say_up(self, flow: Flow, flags: str, words: str) -> list[str]:
        ttl = 65 - self.setting.hops[flow.host]
        return self.say(f"up {flow.name} {flags} {words} ttl={ttl}")

    def _say_down(self, flow: Flow, flags: str, words: str) -> list[str]:
        return self.say(f"down {flow.name} {flags} {words}")

    # A sender.

    def _push(self, flow: Flow) -> None:
        while not flow.over and flow.sent < min(flow.packets, flow.acked + int(flow.window)):
            packet = flow.sent
            flow.sent += 1
            self._send(flow, packet)
        if flow.timer == 0 and not flow.over:
            self._set_timer(flow)

    def _set_timer(self, flow: Flow) -> None:
        flow.timer += 1
        timer = flow.timer
        self.at(self.now + flow.timeout_ns, lambda: self._timeout(flow, timer))

    def _timeout(self, flow: Flow, timer: int) -> None:
        if timer != flow.timer or flow.over:
            return
        if flow.timeout_ns >= S << TRIES:
            flow.over = True
            return
        flow.timeout_ns *= 2
        flow.window, flow.dup, flow.recover = 1.0, 0, flow.sent
        self._send(flow, flow.acked)
        self._set_timer(flow)

    def _send(self, flow: Flow, packet: int) -> None:
        if flow.upward:
            if not self._gone(flow.host):
                self._cross(flow.host, flow.mss, self.now, lambda: self._data_up(flow, packet))
        else:
            self._data_down(flow, packet)

    def _ecn(self) -> str:
        return " ecn=2" if self.setting.ecn else ""

    def _data_down(self, flow: Flow, packet: int) -> None:
        super_packet = self.setting.supers and packet + 1 < flow.sent and self.chance.random() < 0.3
        size, segs = (2 * flow.mss, " segs=2") if super_packet else (flow.mss, "")
        last = packet == flow.packets - 1
        words = f"seq={flow.seq(packet)} ack={flow.other} len={size}{segs}{self._ecn()}"
        words += f" opt={self._stamps(flow)}"
        answer = self._say_down(flow, "FA" if last else "A", words)
        self._forge(flow)
        if answer[0] != "passes":
            return
        wait = next((int(word[5:]) for word in answer if word.startswith("wait=")), 0)
        for more in range(2 if super_packet else 1):
            arrives = packet + more
            self._cross(flow.host, flow.mss, self.now + wait, partial(self._arrive, flow, arrives))

    def _data_up(self, flow: Flow, packet: int) -> None:
        last = packet == flow.packets - 1
        words = f"seq={flow.seq(packet)} ack={flow.other} len={flow.mss}{self._ecn()}"
        words += f" opt={self._stamps(flow)}"
        answer = self._say_up(flow, "FPA" if last else "A", words)
        self._forge(flow)
        if answer[0] == "passes":
            self._wires(lambda: self._arrive(flow, packet))

    # A receiver.

    def _arrive(self, flow: Flow, packet: int) -> None:
        fresh = packet == flow.expects
        again = packet in flow.came
        flow.came.add(packet)
        while flow.expects in flow.came:
            flow.expects += 1
        flow.pending += 1
        holes = any(one > flow.expects for one in flow.came)
        if fresh and not holes and flow.pending < 2 and flow.expects < flow.packets:
            pending = flow.expects
            self.at(self.now + 40 * MS, lambda: self._delayed(flow, pending))
            return
        self._acknowledge(flow, packet if again else None)

    def _delayed(self, flow: Flow, expects: int) -> None:
        if flow.pending and flow.expects == expects:
            self._acknowledge(flow, None)

    def _acknowledge(self, flow: Flow, again: int | None) -> None:
        flow.pending = 0
        number = flow.expects
        finished = number == flow.packets
        words = f"seq={flow.other} ack={(flow.seq(number) + finished) % WRAP}"
        options = self._blocks(flow, again)
        stamp = self._clock_ms()
        if flow.upward:
            answer = self._say_down(flow, "A", words + options)
            if answer[0] == "passes":
                heard = partial(self._answered, flow, number, stamp)
                self._cross(flow.host, 40, self.now, heard)
        elif not self._gone(flow.host):
            if number > 0 and self.chance.random() < self.setting.partial:
                part = (flow.seq(number) - self.chance.randrange(1, 2 * flow.mss)) % WRAP
                early = f"seq={flow.other} ack={part}"
                self._cross(flow.host, 40, self.now, partial(self._say_up, flow, "A", early))
            self._cross(
                flow.host, 40, self.now, lambda: self._ack_up(flow, words + options, number)
            )

    def _blocks(self, flow: Flow, again: int | None) -> str:
        blocks = [] if again is None else [(flow.seq(again), flow.seq(again + 1))]
        above = sorted(one for one in flow.came if one > flow.expects)
        for one in above[-2:]:
            blocks.append((flow.seq(one), flow.seq(one + 1)))
        text = "".join(f":{left}-{right}" for left, right in blocks)
        return f" opt={self._stamps(flow)}+sack{text}" if text else f" opt={self._stamps(flow)}"

    def _clock_ms(self) -> int:
        """Of whoever stamps a packet."""
        return self.now // MS + 1

    def _stamps(self, flow: Flow) -> str:
        """Timestamps, as Linux writes them (RFC 7323)."""
        return f"ts:{self._clock_ms()}:{flow.echo}"

    def _ack_up(self, flow: Flow, words: str, number: int) -> None:
        answer = self._say_up(flow, "A", words)
        if "copy" in answer:
            self.at(self.now + 200_000, lambda: self._fill(flow, number))
        if answer[0] in ("passes", "plain"):
            stamp = self._clock_ms()
            self._wires(lambda: self._answered(flow, number, stamp))

    def _fill(self, flow: Flow, number: int) -> None:
        """The cache sends what is missing, at least the packet that is asked for."""
        for packet in range(number, max(flow.came, default=number)):
            if packet == number or packet not in flow.came:
                self._again(flow, packet)

    def _again(self, flow: Flow, packet: int) -> None:
        if packet >= flow.packets:
            return
        self.say(f"again {flow.name} seq={flow.seq(packet)} len={flow.mss}")
        if self.chance.random() >= self.setting.copy_loss:
            self._cross(flow.host, flow.mss, self.now, lambda: self._arrive(flow, packet))

    def _answered(self, flow: Flow, number: int, stamp: int) -> None:
        """The sender hears an acknowledgement of all before a packet."""
        flow.echo = max(flow.echo, stamp)
        if flow.over:
            return
        if number > flow.acked:
            flow.window += 1.0 if flow.window < 32 else 1 / flow.window
            flow.acked, flow.dup, flow.timeout_ns = number, 0, S
            flow.sent = max(flow.sent, number)
            if number < flow.recover:
                self._send(flow, number)
            self._set_timer(flow)
        elif number < flow.sent:
            flow.dup += 1
            if flow.dup == 3 and number >= flow.recover:
                flow.recover, flow.window = flow.sent, max(flow.window / 2, 2)
                self._send(flow, number)
        if flow.acked == flow.packets:
            flow.over = True
            self._end(flow)
            return
        self._push(flow)

    def _end(self, flow: Flow) -> None:
        """The other end finishes, too, or breaks off."""
        how = self.chance.choice(("FA", "R", "A"))
        ack = (flow.seq(flow.packets) + 1) % WRAP
        say = self._say_down if flow.upward else self._say_up
        say(flow, how, f"seq={flow.other} ack={ack}")

    # Others.

    def _udp(self, n: int) -> None:
        host = n % len(self.setting.hops)
        name = f"{self.prefix}{host + 1}:{6000 + n}-1:53"
        size = self.chance.choice((40, 200, 1200))
        if self.chance.random() < 0.7:
            self.say(f"down {name} udp len={size}")
        if not self._gone(host) and self.chance.random() < 0.7:
            self.say(f"up {name} udp len={size}")

    def _ghost(self, n: int) -> None:
        host = self.chance.choice((1, 100 + n % 3))
        segs = self.chance.choice((1, 2, 50))
        name = f"{self.prefix}{host}:{7000 + n % 7}-1:80"
        self.say(f"down {name} A seq={n * 2896} ack=1 len=2896 segs={segs}")

    def _hostile_options(self) -> str:
        """A list that means something here and there, and mostly breaks."""
        chance = self.chance
        kinds, lengths = (0, 1, 1, 2, 3, 5, 8, 19, 29, 30, 254), (2, 3, 4, 8, 10, 40)
        drawn = [
            chance.choice((chance.choice(kinds), chance.choice(lengths), chance.randrange(256)))
            for _ in range(4 * chance.randint(1, 10))
        ]
        return f" opt=hex:{bytes(drawn).hex()}"

    def _forge(self, flow: Flow) -> None:
        """What anybody can send who does not see the connection, or sees it and lies."""
        if self.chance.random() >= self.setting.forged:
            return
        chance = self.chance
        near = (flow.seq(flow.sent) + chance.randrange(-5000, 5000)) % WRAP
        seq = chance.choice((near, chance.randrange(WRAP)))
        ack = chance.choice((near, chance.randrange(WRAP), flow.seq(flow.acked)))
        named = (
            "",
            " opt=md5",
            " opt=mptcp",
            f" opt={self._stamps(flow)}",
            f" opt=sack:{ack}-{near}",
        )
        options = self._hostile_options() if chance.random() < 0.5 else chance.choice(named)
        flags = chance.choice(("R", "RA", "S", "SA", "A", "FA", "F", "-"))
        size = chance.choice((0, 0, 1, 700))
        say = chance.choice((self._say_up, self._say_down))
        say(
            flow,
            flags,
            f"seq={seq} ack={ack} len={size} win={chance.choice((0, 1000, 9))}{options}",
        )


def of_seed(seed: int) -> Setting:
    """What the random trace of a seed is of."""
    chance = random.Random(seed)
    hops = tuple(chance.randint(1, 8) for _ in range(chance.randint(1, 4)))
    law = chance.choice(("even", "even", "even", "gap", "ap", "map"))
    stamp, option, copies = chance.randint(0, 1), chance.randint(0, 2), chance.randint(0, 1)
    unanswered = chance.choice((0, 1500, 8000, 100000))
    settings = (
        f"law={law} hops={chance.randint(0, 6)} kbps={chance.choice((0, 2000, 11000, 54000))} "
        f"stamp={stamp} option={option} copies={copies} unanswered={unanswered}"
    )
    prefix = "6." if (v6 := chance.random() < 0.3) else ""
    extra: list[tuple[int, str]] = []
    for _ in range(chance.randrange(8)):
        ms, host = chance.randrange(3000), chance.randint(1, len(hops))
        flow = f"{prefix}{host}:{5000 + host}-{host}:80"
        rate = chance.choice((0, 3000, 20000, 60000, 400000))
        extra.append(
            (
                ms,
                chance.choice(
                    (
                        f"cap {prefix}{host} down {rate} 0",
                        f"cap {prefix}{host} up {rate} {rate // 2}",
                        f"host {prefix}{host} hops={chance.randint(0, 9)} kbps=24000",
                        f"host {prefix}{host} hops=1 outside={chance.randint(0, 1)}",
                        f"floor {flow} {chance.choice((0, 20 * MS))}",
                        f"alias {prefix}{host} {chance.randint(1, len(hops))}",
                        f"mark {flow}",
                        f"forget {flow} {chance.choice(('down', 'up'))}",
                        f"set shared={chance.randint(0, 1)}",
                        f"set pace={chance.randint(0, 1)}",
                    )
                ),
            )
        )
    return Setting(
        kind="random",
        settings=settings,
        hops=hops,
        down=chance.randint(0, 4),
        up=chance.randint(0, 3),
        packets=chance.randint(3, 60),
        loss=chance.choice((0.0, 0.05)) if chance.random() < 0.5 else 0.0,
        reorder=chance.choice((0.0, 0.1)) if chance.random() < 0.4 else 0.0,
        forged=chance.choice((0.0, 0.15)) if chance.random() < 0.4 else 0.0,
        partial=chance.choice((0.0, 0.2)),
        copy_loss=chance.choice((0.0, 0.7)),
        ghosts=chance.choice((0, 0, 40)),
        udp=chance.randrange(10),
        wraps=chance.random() < 0.3,
        v6=v6,
        ecn=chance.random() < 0.3,
        asks=chance.random() < 0.5,
        supers=chance.random() < 0.2,
        reuse=chance.random() < 0.3,
        leaves_ms=chance.choice((0, 0, 0, 500)),
        breaks_ms=chance.choice(((0, 0), (0, 0), (300, 2500))),
        extra=tuple(extra),
    )
