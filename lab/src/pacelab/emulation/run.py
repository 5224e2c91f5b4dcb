# SPDX-License-Identifier: GPL-2.0-only
"""One emulated run: set up, let flows go, count, take down."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable

from pacelab.emulation.gateway import Gateway
from pacelab.emulation.mesh import Mesh, addresses, configure
from pacelab.emulation.netns import write_sysctls
from pacelab.emulation.plan import check, flow_plans, linux_nodes, paced_senders, sysctls
from pacelab.emulation.processes import Processes
from pacelab.emulation.ready import Report
from pacelab.emulation.run_folder import RunFolder
from pacelab.emulation.sender import Sender
from pacelab.emulation.series import BIN_S
from pacelab.emulation.tcp_info import TcpSockets
from pacelab.emulation.traffic import Place, Traffic, make_traffic
from pacelab.emulation.watch import Watch
from pacelab.emulation.window import bind_to_windows
from pacelab.errors import InconclusiveError
from pacelab.interrupts import terminated_as_interrupted
from pacelab.results.runs import Run, RunFlow
from pacelab.scenario.models import Scenario

SAMPLE_S = 0.1
ASK_S = 1.0
MOST_LAG_MS = 5.0
SETTLE_S = 0.3
NS3_VERSION = "3.44"

# Called each second with the second that ended and every flow's goodput in it, kbit/s.
Live = Callable[[int, list[float]], None]


def _nobody(_second: int, _kbps: list[float]) -> None:
    pass


class _Run:
    """What a run consists of while it lasts."""

    def __init__(
        self, scenario: Scenario, seed: int, folder: RunFolder, processes: Processes
    ) -> None:
        self.scenario, self.folder, self.processes = scenario, folder, processes
        for node in linux_nodes(scenario):
            write_sysctls(folder.add_namespace(node), sysctls(scenario, node))
        self.mesh = Mesh(scenario, seed, folder, processes)
        ready = self.mesh.ready
        configure(ready, scenario)
        paced = scenario.gateway.law != "off"
        gateway = Gateway(scenario, ready, folder, processes) if paced else None
        self.sender = Sender(scenario, ready, folder) if paced_senders(scenario) else None
        place = Place(folder.namespaces, addresses(ready), processes, folder.path)
        plans = flow_plans(scenario)
        bind_to_windows(plans, place.namespaces, place.addresses)
        self.traffic = [make_traffic(plan, place) for plan in plans]
        self.watch = Watch(gateway, self.sender, plans)
        self.sockets = {node: TcpSockets(netns) for node, netns in folder.namespaces.items()}
        self.radio_core = 0.0

    def go(self, live: Live) -> None:
        """Lets the flows go for the scenario's duration, and reads counters."""
        for one in self.traffic:
            one.listen()
        time.sleep(SETTLE_S)
        begun_cpu_s = self.mesh.cpu_s()
        began = time.monotonic()
        self.mesh.run_begins()
        due = self._what_is_due()
        asked_s, second = -ASK_S, 0
        while (now_s := time.monotonic() - began) < self.scenario.duration_s:
            while due and due[0][0] <= now_s:
                due.pop(0)[1]()
            self._sample(now_s)
            if now_s - asked_s >= ASK_S:
                self.watch.ask(now_s)
                asked_s = now_s
            if now_s >= second + 1:
                self.processes.check(*(p for one in self.traffic for p in one.expected_to_end))
                live(second, self._kbps(second))
                second += 1
            spent_s = time.monotonic() - began - now_s
            time.sleep(max(SAMPLE_S - spent_s, 0.001))
        self._sample(time.monotonic() - began)
        self.radio_core = (self.mesh.cpu_s() - begun_cpu_s) / (time.monotonic() - began)
        self.watch.collect()

    def _what_is_due(self) -> list[tuple[float, Callable[[], None]]]:
        """What happens when, in order: flows begin and stop, the warm-up ends."""
        due = [(self.scenario.warmup_s, self.mesh.warmup_is_over)]
        for one in self.traffic:
            due.append((float(one.plan.flow.start_s), one.begin))
            if one.plan.flow.stop_s:
                due.append((float(one.plan.flow.stop_s), one.stop))
        return sorted(due, key=lambda entry: entry[0])

    def _sample(self, now_s: float) -> None:
        sockets = {node: one.read() for node, one in self.sockets.items()}
        for one in self.traffic:
            one.sample(now_s, sockets)

    def _kbps(self, second: int) -> list[float]:
        return [t.delivered.between(second, second + 1) * 8 / 1e3 for t in self.traffic]

    def end(self) -> None:
        """Takes everything down, whatever state it is in."""
        for one in getattr(self, "sockets", {}).values():
            one.close()


def _flow_result(run: _Run, traffic: Traffic) -> RunFlow:
    scenario, plan = run.scenario, traffic.plan
    begin_s, end_s = scenario.warmup_s, scenario.duration_s
    ports = {p["node"]: p for p in run.mesh.ready["ports"] if p["side"] == "mesh"}
    hops = [ports[end]["hops"] for end in (plan.sender, plan.receiver) if end in ports]
    goodput_bytes = round(traffic.delivered.between(begin_s, end_s))
    return {
        "name": plan.name,
        "from": plan.sender,
        "to": plan.receiver,
        "direction": plan.direction,
        "hops": sum(hops),
        "law": scenario.gateway.law if plan.direction == "down" else plan.flow.law,
        "goodput_bytes": goodput_bytes,
        "delivered_bytes": traffic.delivered.bins(end_s),
        "local_retransmits": run.watch.local_retransmits(plan, begin_s, end_s),
        "pacing": run.watch.pacing(plan, begin_s, end_s),
        **traffic.result(begin_s, end_s),
    }


def _result(run: _Run, seed: int, report: Report) -> Run:
    scenario = run.scenario
    flows = [_flow_result(run, one) for one in run.traffic]
    return {
        "seed": seed,
        "duration_s": scenario.duration_s,
        "warmup_s": scenario.warmup_s,
        "bin_s": BIN_S,
        "flows": flows,
        "links": report["links"],
        "gateway": run.watch.counters[-1][1] if run.watch.counters else None,
        "lag_ms": report["lag_ms"],
        "radio_core": round(run.radio_core, 3),
        "versions": {"ns3": NS3_VERSION, "linux": platform.release()},
    }


def emulate_once(scenario: Scenario, seed: int, live: Live = _nobody) -> Run:
    """One run in real time; its result has the form of the simulator's, and ``lag_ms``.

    Raises InconclusiveError when the radio was late, RunError when a program failed.
    """
    check(scenario)
    with terminated_as_interrupted(), contextlib.ExitStack() as stack:
        folder = RunFolder()
        stack.callback(folder.remove)
        processes = Processes(folder.path)
        stack.callback(processes.end)
        run = _Run(scenario, seed, folder, processes)
        stack.callback(run.end)
        if run.sender:
            stack.callback(run.sender.off)
        run.go(live)
        result = _result(run, seed, run.mesh.end())
    check_lag(result, scenario, seed)
    return result


def check_lag(result: Run, scenario: Scenario, seed: int) -> None:
    """InconclusiveError when the radio was late in the measured part."""
    lag_ms = result["lag_ms"]["p99"]
    if lag_ms > MOST_LAG_MS:
        raise InconclusiveError(
            f'"{scenario.title}", seed {seed}: inconclusive: the radio was late, lag p99 '
            f"{lag_ms:g} ms, more than {MOST_LAG_MS:g}; run it on a machine with less to do"
        )
