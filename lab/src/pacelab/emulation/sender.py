# SPDX-License-Identifier: GPL-2.0-only
"""The real sender: ``meshpace sender on`` for mesh ends whose flows the law paces.

The congestion control that it registers is the whole machine's, so one run at a time has it, with
one path for all flows.
"""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from pacelab.emulation.mesh import MESH_INTERFACE
from pacelab.emulation.plan import paced_senders, radio_toml
from pacelab.emulation.processes import in_namespace
from pacelab.emulation.programs import MESHPACE
from pacelab.emulation.ready import Port, Ready
from pacelab.emulation.run_folder import RUNS, RunFolder, provide_bpffs
from pacelab.errors import InconclusiveError, InputError, RunError
from pacelab.scenario.models import Scenario

NAME = "meshpace"
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def _options(scenario: Scenario, ports: list[Port], folder: Path) -> list[str]:
    """The law and the path of all paced senders, whose ports these are."""
    laws = {flow.law for flow in scenario.flows} - {"off"}
    if len(laws) > 1:
        raise InputError(
            "flow.law: senders with different laws are not emulated: Linux has one congestion "
            "control meshpace a machine; give all the same"
        )
    law = laws.pop()
    options = ["--law", law, "--hops", str(ports[0]["hops"]), "--mbps", str(ports[0]["mbps"])]
    if law != "map":
        return options
    file = folder / "sender.toml"
    lines = radio_toml([port["radio_here"] for port in ports], "flow.law")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [*options, "--config", str(file)]


class Sender:
    """The congestion control, on until ``off``."""

    def __init__(self, scenario: Scenario, ready: Ready, folder: RunFolder) -> None:
        senders = paced_senders(scenario)
        mine = [port for port in ready["ports"] if port["node"] in senders]
        if len({port["hops"] for port in mine}) > 1:
            raise InputError(
                "flow.law: paced senders at different distances are not emulated: Linux has one "
                "congestion control meshpace a machine; place them equally far"
            )
        self._folder = folder
        self._lock = open(RUNS / "sender.lock", "a", encoding="utf-8")  # noqa: SIM115
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise RunError(
                "meshpace sender: another emulated run has it; wait for its end"
            ) from None
        if NAME in AVAILABLE.read_text(encoding="ascii").split():
            self._lock.close()
            raise InconclusiveError(
                "meshpace sender: this machine's own is on, and it can have one only; "
                "turn it off: meshpace sender off"
            )
        provide_bpffs()
        self._namespaces = [folder.namespaces[sender] for sender in sorted(set(senders))]
        netns = folder.namespaces[senders[0]]
        command = [str(MESHPACE), "sender", "on", "--mesh", MESH_INTERFACE]
        done = subprocess.run(
            [*in_namespace(netns), *command, *_options(scenario, mine, folder.path)],
            env=folder.sender_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            self._lock.close()
            lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise RunError(f"meshpace sender: {lines[-1].removeprefix('meshpace: ')}")

    def ask(self) -> list[subprocess.Popen[str]]:
        """Begins to ask for the flows that it paces, each mesh end for its own; see
        ``gateway.answer``."""
        return [
            subprocess.Popen(
                [*in_namespace(netns), str(MESHPACE), "sender", "status", "--json"],
                env=self._folder.sender_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for netns in self._namespaces
        ]

    def off(self) -> None:
        """Takes it off the machine."""
        self._folder.switch_sender_off()
        self._lock.close()
