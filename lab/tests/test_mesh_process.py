# SPDX-License-Identifier: GPL-2.0-only
"""meshpace-mesh with real kernels at both ends of a chain; skipped without root or namespaces.

A run whose radio was late (lag p99 above 5 ms) shows nothing: it is skipped, never passed.
"""

import hashlib
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pacelab import scenario
from pacelab.emulation.available import unavailable
from pacelab.emulation.netns import inside
from pacelab.emulation.plan import gateway_name, linux_nodes
from pacelab.emulation.programs import MESH
from pacelab.experiment import runner
from pacelab.scenario.models import Scenario

MOST_LAG_MS = 5.0
# What has not ended after so long never will.
PATIENCE_S = 20.0
TCP_WINDOW_BYTES = 64 * 1460
# Long preamble, 11 and 1 Mbit/s: DIFS, RTS, CTS, 84 bytes of IP, ACK, and SIFS between them.
PING_HOP_MS = (50 + 352 + 10 + 304 + 10 + 192 + (84 + 8 + 28) * 8 / 11 + 10 + 304) / 1e3

REASON = unavailable()
pytestmark = [
    pytest.mark.emulates,
    pytest.mark.skipif(REASON is not None, reason=REASON or ""),
]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def chain(hops: int, source: str = "IG", **tables: dict[str, Any]) -> Scenario:
    """A resolved chain with one flow to its end; from the gateway no wired part blurs it."""
    document = {
        "duration_s": 30.0,
        "warmup_s": 3.0,
        "mesh": {"hops": hops},
        "flow": [{"from": source, "to": "A"}],
        **tables,
    }
    return scenario.resolve(document, "chain")


def interface(node: str, resolved: Scenario) -> str:
    return "wan0" if node in resolved.wired_hosts else "mesh0"


def command(directory: Path, resolved: Scenario, namespaces: Callable[[str], str]) -> list[str]:
    """The words that start a scenario, its namespaces made."""
    assert MESH.is_file(), "build it first: make build"
    file = directory / "scenario.json"
    file.write_text(json.dumps(resolved.as_dict()))
    words = [str(MESH), str(file), "--seed", "1", "--lag", str(directory / "lag")]
    for node in linux_nodes(resolved):
        words += ["--port", f"{node}={namespaces(node)}:{interface(node, resolved)}"]
    if resolved.wired_hosts:
        words += ["--wired", f"{namespaces(gateway_name(resolved))}:wan0"]
    return words


@pytest.fixture
def namespaces() -> Iterator[Callable[[str], str]]:
    """Makes the namespace of a node, once, and names it."""
    made: dict[str, str] = {}

    def name(node: str) -> str:
        if node not in made:
            made[node] = f"mpe{os.getpid()}-{node.lower()}"
            run("ip", "netns", "add", made[node])
        return made[node]

    try:
        yield name
    finally:
        for netns in made.values():
            subprocess.run(["ip", "netns", "del", netns], capture_output=True)


def configure(ready: dict[str, Any]) -> dict[str, str]:
    """Neighbours, routes and TCP as in the simulation; returns the addresses by node."""
    for port in ready["ports"]:
        netns, device = port["netns"], port["interface"]
        lines = []
        for other in ready["neighbours"] if port["side"] == "mesh" else []:
            if other["node"] != port["node"]:
                lines.append(f"neigh replace {other['address']} lladdr {other['mac']} "
                             f"dev {device} nud permanent")  # fmt: skip
        for route in port["routes"]:
            via = "" if route["via"] == route["address"] else f"via {route['via']} onlink"
            lines.append(f"route replace {route['address']} {via} dev {device} quickack 1")
        if "default_via" in port:
            lines.append(f"route replace default via {port['default_via']} dev {device} onlink "
                         "quickack 1")  # fmt: skip
        subprocess.run(
            ["ip", "-n", netns, "-b", "-"], input="\n".join(lines), text=True, check=True
        )
        run("ip", "netns", "exec", netns, "sysctl", "-qw", "net.ipv4.tcp_timestamps=0",
            "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0")  # fmt: skip
    return {
        port["node"]: port["address"]
        for port in sorted(ready["ports"], key=lambda port: port["side"] == "mesh")
    }


class Mesh:
    """A running mesh process and its ends."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.ready = json.loads(self.process.stdout.readline())
        self.address = configure(self.ready)
        self.netns = {port["node"]: port["netns"] for port in self.ready["ports"]}

    def ping(self, source: str, address: str, count: int, *words: str) -> float:
        """Mean RTT in ms; nothing may be lost."""
        text = run("ip", "netns", "exec", self.netns[source], "ping", "-q", "-c", str(count),
                   "-i", "0.1", *words, address)  # fmt: skip
        assert " 0% packet loss" in text
        mean = re.search(r"= [\d.]+/([\d.]+)/", text)
        assert mean is not None
        return float(mean[1])

    def end(self) -> dict[str, Any]:
        """Ends it; skips the test when the radio was late."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        report = dict(json.loads(self.process.stdout.readline()))
        assert self.process.wait(PATIENCE_S) == 0
        print(json.dumps(report))
        if report["lag_ms"]["p99"] > MOST_LAG_MS:
            pytest.skip(f"inconclusive: the radio was late, lag p99 {report['lag_ms']['p99']} ms")
        return report

    def failure(self) -> str:
        """Waits for it to fail by itself; what it says."""
        assert self.process.stderr is not None
        assert self.process.wait(PATIENCE_S) == 1
        return self.process.stderr.read()


Start = Callable[[Scenario], Mesh]


@pytest.fixture
def start(tmp_path: Path, namespaces: Callable[[str], str]) -> Iterator[Start]:
    started: list[Mesh] = []

    def begin(resolved: Scenario) -> Mesh:
        started.append(Mesh(command(tmp_path, resolved, namespaces)))
        return started[-1]

    yield begin
    for mesh in started:
        with mesh.process:
            mesh.process.kill()


def socket_in(netns: str) -> socket.socket:
    """A socket of a namespace, whoever uses it."""
    with inside(netns):
        return socket.socket()


def median_kbps(windows_bytes: Sequence[float]) -> float:
    """Over windows of a second: a second in which the machine or a route stood still has no say."""
    assert len(windows_bytes) >= 4
    return statistics.median(windows_bytes) * 8 / 1e3


def transfer(mesh: Mesh, source: str, size: int) -> tuple[bool, float]:
    """Sends random bytes to A by Reno: whether they are intact, and kbit/s after slow start."""
    with socket_in(mesh.netns["A"]) as listener, socket_in(mesh.netns[source]) as sender:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, TCP_WINDOW_BYTES)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((mesh.address["A"], 5001))
        listener.listen()
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        sender.settimeout(120)
        sender.connect((mesh.address["A"], 5001))
        receiver, _ = listener.accept()
        data = random.Random(1).randbytes(size)
        began = time.monotonic()

        def send() -> None:
            sender.sendall(data)
            sender.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        thread.start()
        receiver.settimeout(60)
        digest = hashlib.sha256()
        windows: Counter[int] = Counter()
        while chunk := receiver.recv(1 << 16):
            digest.update(chunk)
            windows[int(time.monotonic() - began)] += len(chunk)
        thread.join()
        receiver.close()
    intact = hashlib.sha256(data).digest() == digest.digest()
    # The last window is not a whole one.
    return intact, median_kbps([windows[second] for second in range(1, max(windows))])


def simulated_kbps(resolved: Scenario) -> float:
    """As it is taken of a transfer."""
    result = runner.execute(runner.make_job(resolved, 1, use_cache=False))
    assert result["bin_s"] == 1
    return median_kbps(result["flows"][0]["delivered_bytes"][int(result["warmup_s"]) :])


@pytest.mark.measured
@pytest.mark.parametrize("hops", [1, 2, 4])
def test_idle_ping_takes_the_frames_air_time(hops: int, start: Start) -> None:
    """Else the emulated radio would be faster or slower than the simulated one."""
    mesh = start(chain(hops))
    mean = mesh.ping("IG", mesh.address["A"], 20)
    report = mesh.end()
    assert mean == pytest.approx(2 * hops * PING_HOP_MS, rel=0.2)
    assert all(port["sent_frames"] >= 20 for port in report["ports"])


@pytest.mark.measured
@pytest.mark.parametrize(("hops", "size"), [(2, 1_200_000), (4, 800_000)])
def test_reno_is_intact_and_as_fast_as_simulated(hops: int, size: int, start: Start) -> None:
    """Else what the emulation shows would say nothing about the simulation, or be corrupt."""
    mesh = start(chain(hops))
    intact, emulated = transfer(mesh, "IG", size)
    mesh.end()
    expected = simulated_kbps(chain(hops))
    print(f"h={hops} emulated {emulated:.0f} simulated {expected:.0f} kbit/s")
    assert intact
    assert 0.7 < emulated / expected < 1.3


@pytest.mark.measured
def test_wired_part_has_its_delay(start: Start) -> None:
    """Else RTT_wired, which the gateway measures and takes off, would not be the scenario's."""
    mesh = start(chain(1, "B", wired={"mbps": 10.0, "delay_ms": 15.0}))
    gateway = next(port for port in mesh.ready["ports"]
                   if port["side"] == "wired" and port["node"] == "IG")  # fmt: skip
    small = mesh.ping("B", gateway["address"], 10)
    large = mesh.ping("B", gateway["address"], 10, "-s", "1472")
    mesh.end()
    # Three links there and back; IP packets of 84 and 1500 bytes and 2 bytes of PPP each.
    assert 0 <= small - 6 * (15 + 86 * 8 / 10e3) < 1
    assert 0 <= large - 6 * (15 + 1502 * 8 / 10e3) < 1


@pytest.mark.measured
def test_wired_host_sends_through_a_linux_gateway(start: Start) -> None:
    """Else wired hosts and mesh would be emulated, but not connected."""
    resolved = chain(2, "B", wired={"mbps": 10.0, "delay_ms": 5.0})
    mesh = start(resolved)
    intact, emulated = transfer(mesh, "B", 1_200_000)
    report = mesh.end()
    expected = simulated_kbps(resolved)
    print(f"B -> A emulated {emulated:.0f} simulated {expected:.0f} kbit/s")
    assert intact
    assert 0.7 < emulated / expected < 1.3
    assert all(port["sent_frames"] > 100 for port in report["ports"])


@pytest.mark.measured
def test_aodv_finds_routes_and_carries_as_simulated(start: Start) -> None:
    """Else the papers' own routing could not be shown with real kernels.

    A route that AODV takes for broken stops a transfer for seconds, in either world (415 instead of
    698 kbit/s over 9 s was seen): the median leaves that out.
    """
    resolved = chain(4, "B", routing={"protocol": "aodv"}, wired={"mbps": 10.0, "delay_ms": 5.0})
    mesh = start(resolved)
    began = time.monotonic()
    mesh.ping("B", mesh.address["A"], 1, "-W", "5")
    found = time.monotonic() - began
    intact, emulated = transfer(mesh, "B", 1_000_000)
    report = mesh.end()
    expected = simulated_kbps(resolved)
    print(f"route {found:.2f} s, emulated {emulated:.0f} simulated {expected:.0f} kbit/s")
    assert found < 5
    assert intact
    assert 0.7 < emulated / expected < 1.3
    assert all(port["sent_frames"] > 100 for port in report["ports"])


@pytest.mark.measured
def test_aodv_between_mesh_nodes_and_gateway(start: Start) -> None:
    """Else only what the gateway forwards would be routed, not what it and mesh ends begin."""
    resolved = chain(3, routing={"protocol": "aodv"})
    ends = ({"from_": "A", "to": "IG"}, {"from_": "RL2", "to": "A"})
    flows = [resolved.flows[0].model_copy(update=end) for end in ends]
    resolved = resolved.model_copy(update={"flows": flows})
    mesh = start(resolved)
    mesh.ping("A", mesh.address["IG"], 3, "-W", "5")
    mesh.ping("RL2", mesh.address["A"], 3, "-W", "5")
    mesh.ping("IG", mesh.address["RL2"], 3, "-W", "5")
    mesh.end()


def test_goes_with_a_killed_parent(tmp_path: Path, namespaces: Callable[[str], str]) -> None:
    """Else pacelab, killed, would leave a real-time process and its interfaces behind."""
    parent = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys, time\n"
         "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\n"
         "print(p.pid, flush=True); time.sleep(60)", *command(tmp_path, chain(2), namespaces)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert parent.stdout is not None
    first, second = parent.stdout.readline(), parent.stdout.readline()
    pid = int(first if first.strip().isdigit() else second)
    assert "mesh0" in run("ip", "-n", namespaces("IG"), "-br", "link")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + PATIENCE_S
    while Path("/proc", str(pid)).exists() and time.monotonic() < deadline:
        if "\nState:\tZ" in Path("/proc", str(pid), "status").read_text():
            break
        time.sleep(0.05)
    for node in ("IG", "A"):
        assert "mesh0" not in run("ip", "-n", namespaces(node), "-br", "link")


def test_removed_namespace_ends_it(start: Start) -> None:
    """Else a run would go on without one of its ends, and the namespace live on unseen."""
    mesh = start(chain(1))
    run("ip", "netns", "del", mesh.netns["A"])
    text = mesh.failure()
    assert text.count("\n") == 1
    assert mesh.netns["A"] in text


@pytest.mark.parametrize("traffic", [False, True])
def test_removed_interface_ends_it(traffic: bool, start: Start) -> None:
    """Else the reader would spin at real-time priority and stop the machine."""
    mesh = start(chain(1))
    words = ["ip", "netns", "exec", mesh.netns["IG"], "ping", "-q", "-i", "0.002", "-w", "4"]
    with subprocess.Popen([*words, mesh.address["A"]], stdout=subprocess.DEVNULL) as ping:
        if traffic:
            time.sleep(0.3)
        else:
            ping.kill()
        run("ip", "-n", mesh.netns["A"], "link", "del", "mesh0")
        text = mesh.failure()
        ping.kill()
    assert text.count("\n") == 1
    assert mesh.netns["A"] in text


@pytest.mark.parametrize("kind", ["veth", "tap"])
def test_taken_name_is_refused(kind: str, tmp_path: Path, namespaces: Callable[[str], str]) -> None:
    """Else it would take over somebody's interface, or say nothing useful."""
    words = command(tmp_path, chain(1), namespaces)
    add = ["link", "add", "mesh0", "type", "veth"] if kind == "veth" else ["tuntap", "add",
           "mesh0", "mode", "tap"]  # fmt: skip
    run("ip", "-n", namespaces("IG"), *add)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no interface there may have its name" in done.stderr
    assert "mesh0" in run("ip", "-n", namespaces("IG"), "-br", "link")
    assert "mesh0" not in run("ip", "-n", namespaces("A"), "-br", "link")


def test_leaves_nothing_when_killed(start: Start) -> None:
    """Else a second run would find the names taken."""
    mesh = start(chain(1, "B"))
    mesh.process.kill()
    mesh.process.wait()
    for netns in mesh.netns.values():
        assert not re.search("mesh0|wan0", run("ip", "-n", netns, "-br", "link"))


@pytest.mark.measured
def test_signal_ends_the_warm_up(start: Start) -> None:
    """Else lag and drops of the start would count as the measurement's."""
    mesh = start(chain(1))
    mesh.ping("IG", mesh.address["A"], 10)
    mesh.process.send_signal(signal.SIGUSR1)
    time.sleep(0.3)
    report = mesh.end()
    assert 20 <= report["lag_ms"]["samples"] <= 60
    assert all(port["sent_frames"] < 5 for port in report["ports"])


@pytest.mark.parametrize(
    ("leave_out", "what"),
    [("B=", 'node "B" needs a --port'), ("IG=", 'node "IG" needs'), ("wan0", "needs a --wired")],
)
def test_missing_place_is_bad_input(
    leave_out: str, what: str, tmp_path: Path, namespaces: Callable[[str], str]
) -> None:
    """Else a node would silently be nobody."""
    words = command(tmp_path, chain(1, "B"), namespaces)
    place = max(i for i, word in enumerate(words) if leave_out in word)
    done = subprocess.run(words[: place - 1] + words[place + 1 :], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert what in done.stderr


def test_two_radios_are_bad_input(tmp_path: Path, namespaces: Callable[[str], str]) -> None:
    """Else a port would be one of a node's radios, and the other would be nobody's."""
    words = command(tmp_path, chain(1, radio={"radios": 2}), namespaces)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "not emulated" in done.stderr
