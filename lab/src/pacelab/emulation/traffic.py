# SPDX-License-Identifier: GPL-2.0-only
"""Flows by real programs, counted where the bytes arrive."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.emulation.netns import call
from pacelab.emulation.plan import HEADER_BYTES, FlowPlan
from pacelab.emulation.processes import Processes
from pacelab.emulation.series import Series, quantiles_ms
from pacelab.emulation.tcp_info import TcpSocket
from pacelab.results.runs import Counted

FOREVER_S = "86400"  # iperf3's limit; what ends it is the run
UDP_HEADER_BYTES = 28
PARALLEL_CONNECTIONS = 6  # a browser's, to one host
CURL_WORDS = [
    *("--silent", "--show-error", "--fail"),
    *("--parallel", "--parallel-max", str(PARALLEL_CONNECTIONS)),
    *("--output", "/dev/null", "--write-out", "%{size_download}\\n"),
]

Sockets = dict[str, list[TcpSocket]]


@dataclass(frozen=True)
class Place:
    """Where a run takes place: namespaces and addresses by node, its processes and folder."""

    namespaces: dict[str, str]
    addresses: dict[str, str]
    processes: Processes
    folder: Path


class Traffic(ABC):
    """One flow. Times are seconds since the run began."""

    def __init__(self, plan: FlowPlan, place: Place) -> None:
        self.plan = plan
        self.place = place
        self.delivered = Series()
        self.expected_to_end: list[subprocess.Popen[str]] = []

    @abstractmethod
    def listen(self) -> None:
        """Starts what has to be there before the flow begins."""

    @abstractmethod
    def begin(self) -> None:
        """Starts the flow."""

    @abstractmethod
    def stop(self) -> None:
        """Ends the flow before the run does."""

    @abstractmethod
    def sample(self, time_s: float, sockets: Sockets) -> None:
        """Reads the counters."""

    @abstractmethod
    def result(self, begin_s: float, end_s: float) -> Counted:
        """What a flow of this kind reports beside its goodput."""

    def _start(self, node: str, command: list[str], **options: Any) -> subprocess.Popen[str]:
        return self.place.processes.start(
            Path(command[0]).name, command, netns=self.place.namespaces[node], **options
        )


class Iperf(Traffic):
    """A flow of iperf3's; its own report, which crosses the paced queue, is not used."""

    def listen(self) -> None:
        self._start(self.plan.receiver, ["iperf3", "-4", "-s", "-p", str(self.plan.port)])

    def _send(self, *words: str) -> None:
        address = self.place.addresses[self.plan.receiver]
        command = ["iperf3", "-c", address, "-p", str(self.plan.port), "-t", FOREVER_S, "-i", "0"]
        self._client = self._start(self.plan.sender, [*command, *words])

    def stop(self) -> None:
        # What its socket still holds goes out, as far as the receiver stays to take it.
        self.expected_to_end = [self._client]
        self._client.terminate()


class Ftp(Iperf):
    """A bulk transfer."""

    def __init__(self, plan: FlowPlan, place: Place) -> None:
        super().__init__(plan, place)
        self.retransmits, self.timeouts = Series(), Series()
        self.counts_timeouts = True
        self.rtts: list[tuple[float, float]] = []
        self.most_cwnd_segments = 0
        self.sender_port = 0

    def begin(self) -> None:
        self._send("-C", self.plan.congestion_control)

    def sample(self, time_s: float, sockets: Sockets) -> None:
        # iperf3's control connection has the same port and carries next to nothing.
        port = self.plan.port
        there = [s for s in sockets[self.plan.receiver] if s.local_port == port]
        here = [s for s in sockets[self.plan.sender] if s.remote_port == port]
        if there:
            self.delivered.add(time_s, max(s.received_bytes for s in there))
        if here:
            data = max(here, key=lambda s: s.acked_bytes)
            self.sender_port = data.local_port
            self.retransmits.add(time_s, data.retransmits)
            self.counts_timeouts = data.timeouts is not None
            self.timeouts.add(time_s, data.timeouts or 0)
            self.most_cwnd_segments = max(self.most_cwnd_segments, data.cwnd_segments)
            if data.rtt_us:
                self.rtts.append((time_s, data.rtt_us / 1e6))

    def result(self, begin_s: float, end_s: float) -> Counted:
        timeouts = round(self.timeouts.between(begin_s, end_s))
        return {
            "retransmits": round(self.retransmits.between(begin_s, end_s)),
            "timeouts": timeouts if self.counts_timeouts else None,
            "rtt_ms": quantiles_ms([rtt for t, rtt in self.rtts if begin_s <= t <= end_s]),
            "most_cwnd_segments": self.most_cwnd_segments,
        }


class Cbr(Iperf):
    """Datagrams at a constant rate, counted by rules of iptables at both ends."""

    def __init__(self, plan: FlowPlan, place: Place) -> None:
        super().__init__(plan, place)
        self.sent = Series()
        self._asked_s = -1.0

    def listen(self) -> None:
        super().listen()
        for node, chain in ((self.plan.receiver, "INPUT"), (self.plan.sender, "OUTPUT")):
            words = ["-p", "udp", "--dport", str(self.plan.port)]
            self._iptables(node, "-A", chain, *words)

    def _iptables(self, node: str, *words: str) -> str:
        netns = self.place.namespaces[node]
        return call("ip", "netns", "exec", netns, "iptables", "-w", *words)

    def begin(self) -> None:
        payload = self.plan.flow.segment_bytes
        # As long on the wire as a TCP segment with this payload.
        datagram = payload + HEADER_BYTES - UDP_HEADER_BYTES
        rate_bps = round(self.plan.flow.rate_kbps * 1e3 * datagram / payload)
        self._send("-u", "-b", str(rate_bps), "-l", str(datagram))

    def _counted(self, node: str, chain: str) -> int:
        """Payload in the packets that a rule of iptables has counted."""
        for line in self._iptables(node, "-nvxL", chain).splitlines():
            if re.search(rf"\bdpt:{self.plan.port}\b", line):
                packets, octets = (int(word) for word in line.split()[:2])
                return octets - HEADER_BYTES * packets
        return 0

    def sample(self, time_s: float, sockets: Sockets) -> None:  # noqa: ARG002
        if time_s - self._asked_s >= 0.5:
            self._asked_s = time_s
            self.delivered.add(time_s, self._counted(self.plan.receiver, "INPUT"))
            self.sent.add(time_s, self._counted(self.plan.sender, "OUTPUT"))

    def result(self, begin_s: float, end_s: float) -> Counted:
        sent = round(self.sent.between(begin_s, end_s))
        return {"retransmits": 0, "timeouts": 0, "rtt_ms": None, "sent_bytes": sent}


@dataclass(frozen=True)
class Page:
    """A page load: when it began, how long it took."""

    begin_s: float
    load_s: float


class Http(Traffic):
    """A visitor of web pages: curl loads a page's objects from Python's HTTP server, then reads."""

    OBJECT = "object"

    def __init__(self, plan: FlowPlan, place: Place) -> None:
        super().__init__(plan, place)
        self.pages: list[Page] = []
        self.failed: list[float] = []
        self._process: subprocess.Popen[str] | None = None
        self._next_s: float | None = None
        self._is_over = False
        self._began_s = 0.0
        self._done: list[tuple[float, str]] = []

    def listen(self) -> None:
        folder = self.place.folder / f"http-{self.plan.port}"
        folder.mkdir()
        (folder / self.OBJECT).write_bytes(b"\0" * self.plan.flow.object_bytes)
        words = ["-m", "http.server", str(self.plan.port), "--protocol", "HTTP/1.1"]
        self._start(self.plan.sender, [sys.executable, *words, "--directory", str(folder)])

    def begin(self) -> None:
        self._next_s = 0.0

    def stop(self) -> None:
        # The page that is loading is loaded.
        self._next_s, self._is_over = None, True

    def sample(self, time_s: float, sockets: Sockets) -> None:  # noqa: ARG002
        if self._process and self._done:
            self._loaded(self._process, *self._done.pop())
        if self._next_s is not None and time_s >= self._next_s:
            self._load(time_s)

    def _load(self, time_s: float) -> None:
        server = f"http://{self.place.addresses[self.plan.sender]}:{self.plan.port}"
        process = self._start(
            self.plan.receiver,
            ["curl", *CURL_WORDS, f"{server}/{self.OBJECT}?[1-{self.plan.flow.objects}]"],
            stdout=subprocess.PIPE,
        )
        began = time.monotonic()
        self.delivered.add(time_s, self.delivered.latest)

        def wait() -> None:
            text, _ = process.communicate()
            self._done.append((time.monotonic() - began, text))

        self._process, self._began_s, self._next_s = process, time_s, None
        self.expected_to_end = [process]
        threading.Thread(target=wait, daemon=True).start()

    def _loaded(self, process: subprocess.Popen[str], load_s: float, sizes: str) -> None:
        end_s = self._began_s + load_s
        self.delivered.add(end_s, self.delivered.latest + sum(map(int, sizes.split())))
        if process.returncode == 0:
            self.pages.append(Page(self._began_s, load_s))
        else:
            self.failed.append(self._began_s)
        self.place.processes.forget(process)
        self._process, self.expected_to_end = None, []
        self._next_s = None if self._is_over else end_s + self.plan.flow.pause_s

    def result(self, begin_s: float, end_s: float) -> Counted:
        loads = [p.load_s for p in self.pages if begin_s <= p.begin_s < end_s]
        return {
            "retransmits": 0,
            "timeouts": 0,
            "rtt_ms": None,
            "page_loads_s": [round(one, 4) for one in loads],
            "pages_failed": sum(begin_s <= t < end_s for t in self.failed),
        }


def make_traffic(plan: FlowPlan, place: Place) -> Traffic:
    """The programs of a flow."""
    kinds: dict[str, type[Traffic]] = {"ftp": Ftp, "cbr": Cbr, "http": Http}
    return kinds[plan.flow.traffic](plan, place)
