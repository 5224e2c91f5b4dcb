# SPDX-License-Identifier: GPL-2.0-only
"""The program under test: bin/meshpace, started and ended in a namespace of its own."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.namespace import Namespace

# What takes longer will never come, on a busy machine either. An emulated one asks for a multiple:
# its kernel checks the programs for 5 s alone, for 14 s and more while a transfer keeps it busy.
PATIENCE_S = 40.0 * float(os.environ.get("MESHPACE_TEST_PATIENCE", "1"))
PROGRAM = Path(__file__).parents[3] / "bin" / "meshpace"
Table = Mapping[str, object]


def toml(config: Table) -> str:
    """A configuration file: plain keys, then tables, then arrays of tables."""
    plain, tables = [], []
    for key, value in config.items():
        if isinstance(value, Mapping):
            tables.append(f"[{key}]\n{toml(value)}")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            tables += [f"[[{key}]]\n{toml(one)}" for one in value]
        else:
            plain.append(f"{key} = {json.dumps(value)}\n")
    return "".join(plain + tables)


def host(address: str, mbps: float, hops: int = 1) -> dict[str, object]:
    """A [[host]] of the configuration."""
    return {"address": address, "hops": hops, "mbps": mbps}


def mbps_for(interval_ms: float, rtt_ms: float = 0.0, hops: int = 1) -> float:
    """
    Bit rate for which the law's interval is so long when round trips do not vary: with the
    transmission times of a full segment and of its ACK, GAP eq. (4), which below four hops
    counts those there are.
    """
    per_hop_ms = interval_ms / min(hops, 4)
    transmission_ms = 2 * per_hop_ms - rtt_ms / hops
    return round((1500 - 52) * 8 / (transmission_ms * 1e3), 4)


class Gateway:
    """`meshpace gateway` on mesh0 (or another one) of a namespace, with a private run directory."""

    def __init__(
        self,
        namespace: Namespace,
        directory: Path,
        release: str,
        config: Table,
        *words: str,
        mesh: str = "mesh0",
    ) -> None:
        self.mesh = mesh
        self.namespace = namespace
        self.directory = directory
        self.release = release
        self.file = directory / f"{mesh}.toml"
        self.configure(config)
        self._words = ["--release", release, "--wired", "eth0", *words]
        self.log: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def configure(self, config: Table) -> None:
        """Where a test asks for no law it is about what all laws share, reckoned by the papers'."""
        self.config: Table = {"law": "gap", **config}
        self.file.write_text(toml(self.config))

    @property
    def _environment(self) -> dict[str, str]:
        run = self.directory / "run"
        run.mkdir(exist_ok=True)
        return {**os.environ, "MESHPACE_RUN": str(run)}

    def _command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace.name, str(PROGRAM), *words]

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Runs another command of meshpace beside the gateway."""
        return subprocess.run(
            self._command(*words),
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def watch(self, *words: str, until: str, times: int) -> str:
        """What a command that goes on prints, ended by Ctrl-C once a text came so often."""
        process = subprocess.Popen(
            self._command(*words), env=self._environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout
        shown, patience = "", threading.Timer(PATIENCE_S, process.kill)
        patience.start()
        while shown.count(until) < times:
            line = process.stdout.readline()
            assert line, f"it ended, or not within {PATIENCE_S} s:\n{shown}"
            shown += line
        process.send_signal(signal.SIGINT)
        shown += process.communicate()[0]
        patience.cancel()
        return shown

    def attach(self, *words: str, terminal: int) -> "subprocess.Popen[bytes]":
        """A command of meshpace that has a terminal."""
        return subprocess.Popen(
            self._command(*words),
            env=self._environment,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )

    @property
    def attached(self) -> str:
        """How the programs are attached, where the kernel can do either."""
        return "clsact" if self.release == "htb" else "tcx"

    @property
    def let_go(self) -> str:
        """The counter of TCP over IPv4 that this release let go."""
        return "released_ipv4" if self.release == "nfqueue" else "left_ipv4"

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *words: str) -> "Gateway":
        """Starts it and waits until everything is attached."""
        command = self._command(
            "gateway", "--mesh", self.mesh, "--config", str(self.file), *self._words, *words
        )
        self._process = subprocess.Popen(
            command, env=self._environment, stderr=subprocess.PIPE, text=True
        )
        self.log = []
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        self.logged("ready:")
        return self

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr
        for line in process.stderr:
            self.log.append(line.rstrip())

    def logged(self, text: str, within_s: float = PATIENCE_S) -> str:
        """Waits for a line of the log that contains the text."""
        return str(
            until(lambda: next((line for line in self.log if text in line), ""), within_s, self)
        )

    def send(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9: nothing is put back."""
        self.send(signal.SIGKILL)
        self._wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        self.send(signal.SIGTERM)
        return self._wait()

    def _wait(self) -> int:
        assert self._process
        assert self._reader
        assert self._process.stderr
        try:
            return self._process.wait(PATIENCE_S)
        finally:
            if self._process.poll() is not None:
                self._reader.join(5)
                self._process.stderr.close()

    def wait(self) -> int:
        """Waits for an end that somebody else brings about."""
        return self._wait()

    def become(self, other: "Gateway") -> None:
        """From now on this object stands for the other's process."""
        self._process, self._reader, self.log = other._process, other._reader, other.log

    def clean(self) -> "subprocess.CompletedProcess[str]":
        return self.call("gateway", "--clean", "--mesh", self.mesh)

    def end(self) -> None:
        """Whatever the state: no process and no trace afterwards."""
        if self.alive:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop()
        if self.alive:
            self.kill()

    def status(self) -> dict[str, Any]:
        """
        As `meshpace status --json` has it. Asked without a program: to enter a namespace takes the
        kernel seconds where every core is busy, and would count as the gateway's.
        """
        with socket.socket(socket.AF_UNIX) as asks, asks.makefile() as answer:
            asks.settimeout(PATIENCE_S)
            asks.connect(str(self.directory / "run" / f"{self.mesh}.sock"))
            found: dict[str, Any] = json.load(answer)
        return found

    def fresh_status(self) -> dict[str, Any]:
        """Status as of now: the gateway looks at its tables once a second."""
        before = self.status()["uptime_s"]

        def later() -> dict[str, Any] | None:
            found = self.status()
            return found if found["uptime_s"] > before else None

        found: dict[str, Any] = until(later, PATIENCE_S, self)
        return found

    def flow(self, mesh_port: int, direction: str = "down") -> dict[str, Any] | None:
        """One flow of status, known by the mesh host's port."""
        for flow in self.status()["flows"]:
            if flow["direction"] == direction and flow["mesh"].endswith(f":{mesh_port}"):
                found: dict[str, Any] = flow
                return found
        return None

    def before_all_others(self) -> None:
        """
        Its threads run before all other work, as the radio does: what is measured is when packets
        leave where the program is let run, not whom else the machine serves.
        """
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(PermissionError, ProcessLookupError):
                os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(10))

    def cpu_s(self) -> float:
        """Processor time of all the daemon's threads so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_kib(self) -> int:
        """Resident memory of the daemon."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise RuntimeError("no VmRSS")

    def memlock_kib(self) -> int:
        """Memory of the BPF maps that the daemon holds."""
        maps = {}
        for file in Path(f"/proc/{self.pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):
                lines = (line.split(":\t", 1) for line in file.read_text().splitlines())
                fields = {line[0]: line[1] for line in lines if len(line) == 2}
                if "map_id" in fields:
                    maps[fields["map_id"]] = int(fields["memlock"])
        return sum(maps.values()) // 1024


def until(
    found: "Callable[[], Any]", within_s: float = PATIENCE_S, gateway: "Gateway | None" = None
) -> Any:
    """Asks again until the answer is true; fails with the gateway's log when it never is."""
    end = time.monotonic() + within_s
    while True:
        answer = found()
        if answer:
            return answer
        dead = gateway is not None and not gateway.alive
        if dead or time.monotonic() > end:
            log = "\n".join(gateway.log[-20:]) if gateway else ""
            why = "the gateway ended" if dead else f"not within {within_s} s"
            raise TimeoutError(f"{why}\n{log}")
        time.sleep(0.05)
