# SPDX-License-Identifier: GPL-2.0-only
"""The real gateway: ``meshpace gateway`` in its namespace, asked every second what it does."""

from __future__ import annotations

import json
import os
import subprocess
import time

from pacelab.emulation.mesh import MESH_INTERFACE, WIRED_INTERFACE
from pacelab.emulation.plan import gateway_name, gateway_toml, linux_nodes
from pacelab.emulation.processes import Processes
from pacelab.emulation.programs import MESHPACE
from pacelab.emulation.ready import Ready
from pacelab.emulation.run_folder import RunFolder
from pacelab.errors import RunError
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

READY_WITHIN_S = 40.0


class Gateway:
    """A gateway that is ready."""

    def __init__(
        self, scenario: Scenario, ready: Ready, folder: RunFolder, processes: Processes
    ) -> None:
        node = gateway_name(scenario)
        ends = set(linux_nodes(scenario)) - {node, *scenario.wired_hosts}
        hosts = [port for port in ready["ports"] if port["node"] in ends]
        file = folder.path / "gateway.toml"
        file.write_text(gateway_toml(scenario, hosts), encoding="utf-8")
        self._environment = {"MESHPACE_RUN": str(folder.path)}
        wired = ["--wired", WIRED_INTERFACE] if scenario.wired_hosts else []
        how = ["--release", scenario.gateway.release, "--config", str(file)]
        options = ["--mesh", MESH_INTERFACE, *wired, *how]
        self._processes = processes
        self._process = processes.start(
            "meshpace-gateway",
            [str(MESHPACE), "gateway", *options],
            netns=folder.namespaces[node],
            environment=self._environment,
            # A gateway has its box for itself: other work here must not make packets late.
            realtime=True,
        )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while not any("ready:" in line for line in self._processes.log(self._process)):
            if self._process.poll() is not None:
                words = self._processes.last_words(self._process)
                raise RunError(f"meshpace gateway: {words.removeprefix('meshpace: ')}")
            if time.monotonic() > deadline:
                raise RunError(f"meshpace gateway: not ready within {READY_WITHIN_S:g} s")
            time.sleep(0.05)

    def ask(self) -> subprocess.Popen[str]:
        """Begins to ask for its status; the answer comes on standard output."""
        return subprocess.Popen(
            [str(MESHPACE), "status", "--mesh", MESH_INTERFACE, "--json"],
            env={**os.environ, **self._environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


def answer(question: subprocess.Popen[str]) -> Table | None:
    """The document that was asked for; None when there was none to be had."""
    text, _ = question.communicate()
    return dict(json.loads(text)) if question.returncode == 0 else None
