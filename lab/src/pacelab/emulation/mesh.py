# SPDX-License-Identifier: GPL-2.0-only
"""The radio: ``meshpace-mesh``, and the routes that it asks for in the namespaces."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from pathlib import Path

from pacelab.emulation.plan import gateway_name, linux_nodes, route_words, tcp_flows
from pacelab.emulation.processes import GRACE_S, Processes
from pacelab.emulation.programs import MESH
from pacelab.emulation.ready import Neighbour, Port, Ready, Report
from pacelab.emulation.run_folder import RunFolder
from pacelab.errors import InputError, RunError
from pacelab.scenario.flows import Flow
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

MESH_INTERFACE, WIRED_INTERFACE = "mesh0", "wan0"
READY_WITHIN_S = 30.0


def _as_simulated(scenario: Scenario) -> Table:
    """The scenario for the radio, which wants to know who talks to whom, not what is said."""
    flows = [
        flow.model_copy(update={"traffic": "ftp"}) if flow.traffic == "http" else flow
        for flow in scenario.flows
    ]
    return scenario.model_copy(update={"flows": flows}).as_dict()


class Mesh:
    """The radio and the wired part, in real time. ``ready`` is what it said when it began."""

    def __init__(
        self, scenario: Scenario, seed: int, folder: RunFolder, processes: Processes
    ) -> None:
        file = folder.path / "scenario.json"
        file.write_text(json.dumps(_as_simulated(scenario)), encoding="utf-8")
        gateway = gateway_name(scenario)
        ports = []
        for node in linux_nodes(scenario):
            interface = WIRED_INTERFACE if node in scenario.wired_hosts else MESH_INTERFACE
            ports += ["--port", f"{node}={folder.namespaces[node]}:{interface}"]
        if scenario.wired_hosts:
            ports += ["--wired", f"{folder.namespaces[gateway]}:{WIRED_INTERFACE}"]
        self._processes = processes
        self._process = processes.start(
            "meshpace-mesh",
            [str(MESH), str(file), "--seed", str(seed), *ports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.ready: Ready = json.loads(self._line(READY_WITHIN_S))

    def _line(self, within_s: float) -> str:
        """Its next line; an error when it ends instead: InputError if it refuses the scenario."""
        stream = self._process.stdout
        assert stream is not None
        readable, _, _ = select.select([stream], [], [], within_s)
        line = stream.readline() if readable else ""
        if line:
            return line
        if not readable:
            raise RunError(f"meshpace-mesh: not a word within {within_s:g} s; run it again")
        status = self._process.wait(GRACE_S)
        words = self._processes.last_words(self._process).removeprefix("meshpace-mesh: ")
        raise (InputError if status == 2 else RunError)(f"emulated mesh: {words}")

    def run_begins(self) -> None:
        """Outages are counted from now on."""
        self._process.send_signal(signal.SIGUSR2)

    def warmup_is_over(self) -> None:
        """Counters of lag and links begin anew."""
        self._process.send_signal(signal.SIGUSR1)

    def cpu_s(self) -> float:
        """What it has cost so far, all its threads, CPU s."""
        stat = Path("/proc", str(self._process.pid), "stat").read_text(encoding="ascii")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self) -> Report:
        """Ends it; its report: ``lag_ms``, ``links``."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        report: Report = json.loads(self._line(GRACE_S))
        self._process.wait(GRACE_S)
        self._processes.forget(self._process)
        return report


def addresses(ready: Ready) -> dict[str, str]:
    """The address of each node; the gateway's is that in the mesh."""
    ports = sorted(ready["ports"], key=lambda port: port["side"] == "mesh")
    return {port["node"]: port["address"] for port in ports}


def configure(ready: Ready, scenario: Scenario) -> None:
    """Neighbours and routes of all namespaces, with TCP's knobs on those between flows' ends."""
    commands: dict[str, list[str]] = {}
    where = addresses(ready)
    for port in ready["ports"]:
        lines = commands.setdefault(port["netns"], [])
        lines += _port_commands(port, ready["neighbours"])
    for port in ready["ports"]:
        lines = commands[port["netns"]]
        for flow in tcp_flows(scenario):
            ends = (flow.from_, flow.to)
            if port["node"] in ends:
                peer = ends[1 - ends.index(port["node"])]
                lines += _flow_route(port, ready["gateway"], peer, where, scenario, flow)
    for netns, lines in commands.items():
        done = subprocess.run(
            ["ip", "-n", netns, "-batch", "-"],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            words = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise RunError(f"ip in {netns}: {words[0]}")


def _port_commands(port: Port, neighbours: list[Neighbour]) -> list[str]:
    interface = port["interface"]
    # A super packet would be one packet to the gateway's law and to the radio's queue.
    lines = [f"link set dev {interface} gso_max_segs 1"]
    for other in neighbours if port["side"] == "mesh" else []:
        if other["address"] != port["address"]:
            lines.append(
                f"neigh replace {other['address']} lladdr {other['mac']} dev {interface} "
                "nud permanent"
            )
    for route in port["routes"]:
        lines.append(f"route replace {_via(route['address'], route['via'], interface)}")
    if port.get("default_via"):
        lines.append(f"route replace default via {port['default_via']} dev {interface} onlink")
    return lines


def _via(address: str, via: str, interface: str) -> str:
    hop = "" if via == address else f" via {via}"
    return f"{address}{hop} dev {interface}{' onlink' if hop else ''}"


def _flow_route(
    port: Port, gateway: str, peer: str, where: dict[str, str], scenario: Scenario, flow: Flow
) -> list[str]:
    """The host route of a flow's end to its other end, over the interface that leads there."""
    to_wired = peer in scenario.wired_hosts
    if port["node"] == gateway and to_wired != (port["side"] == "wired"):
        return []
    hops = {route["address"]: route["via"] for route in port["routes"]}
    via = hops.get(where[peer]) or port.get("default_via") or where[peer]
    way = _via(where[peer], via, port["interface"])
    return [f"route replace {way} {' '.join(route_words(flow))}"]
