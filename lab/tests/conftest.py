# SPDX-License-Identifier: GPL-2.0-only
"""What tests share: a cache of their own, a simulator's double, scenario files."""

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import cli, simulator

# A fault of the code fails three times, a busy machine does not. Nothing else is ever run again.
MEASURED = "measured: goes by the clock, which a busy machine may spoil; has two more attempts"
# `make test` leaves the others that are measured to `make test-full` (scripts/test.sh).
SMOKE = "smoke: of what is measured one of the few that are in `make test`, too"
SIMULATES = "simulates: runs the built simulator; who asks for `real` is marked so"
EMULATES = "emulates: runs the mesh in real time with this machine's kernel, as root; stands alone"
DOUBLE = '''#!/usr/bin/env python3
"""Stands for the simulator: goodput depends on scenario and seed alone; counts its runs."""
import json, os, sys
scenario = json.load(open(sys.argv[1])); seed = int(sys.argv[3])
with open(os.environ["DOUBLE_LOG"], "a") as log:
    log.write(f"{seed}\\n")
if scenario["title"] == "fails":
    sys.exit("first line\\nthe radio is on fire")
if scenario["title"] == "asserts":
    sys.exit("NS_ASSERT failed, cond=...\\nNS_FATAL, terminating\\nterminate called")
seconds = int(scenario["duration_s"]); warmup = int(scenario["warmup_s"])
gap = scenario["gateway"]["law"] == "gap"
flows = []
for i, flow in enumerate(scenario["flows"]):
    rate = (80_000 if gap else 60_000 + 20_000 * i) + 100 * seed
    flows.append({
        "name": flow["name"], "from": flow["from"], "to": flow["to"], "direction": "down",
        "hops": 1, "law": "off", "goodput_bytes": rate * (seconds - warmup),
        "delivered_bytes": [rate] * seconds, "retransmits": 1, "timeouts": 0,
        "local_retransmits": 0, "rtt_ms": {"mean": 1.0, "p50": 1.0, "p95": 2.0}, "pacing": None,
        **({"sent_bytes": int(rate * (seconds - warmup) / (0.5 if flow["rate_kbps"] > 700 else 1))}
           if flow["traffic"] == "cbr" else {}),
        **({"transfers": [[30000, 1.0 + i], [60000, 2.0]], "unfinished": seed % 2}
           if flow["traffic"] == "files" else {}),
    })
people = [
    {"name": person["name"], "node": person["node"], "start_s": person["start_s"],
     "stop_s": person["stop_s"] or None, "leaves": person["leaves"], "hops": 1,
     "delivered_bytes": [10_000] * seconds, "wants": [1] * seconds,
     "bulk": [int(bool({"download", "upload"} & set(person["does"])))] * seconds,
     "pages": [], "videos": [], "calls": [], "lookups": [], "handshakes": []}
    for person in scenario.get("people", [])
]
print(json.dumps({
    "seed": seed, "duration_s": scenario["duration_s"], "warmup_s": scenario["warmup_s"],
    "bin_s": 1.0, "flows": flows, "people": people,
    "links": [{"from": "A", "to": "IG", "data_drops": seed, "ack_drops": 0, "other_drops": 0}],
    "gateway": {"max_queue_packets": 1, "throttles": 0}, "versions": {"ns3": "double"},
}))
'''


def pytest_configure(config: pytest.Config) -> None:
    """A script's background job ignores Ctrl-C, and so would all programs that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for marker in (MEASURED, SMOKE, SIMULATES, EMULATES):
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("measured"):
            item.add_marker(pytest.mark.flaky(reruns=2))
        if "real" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.simulates)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Callable[[], int]]:
    """Puts a program in the simulator's place; what that returns tells how often it ran."""

    def put(text: str) -> Callable[[], int]:
        program, log = tmp_path / "double", tmp_path / "double.log"
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        log.touch()
        monkeypatch.setenv("MESHPACE_SIM", str(program))
        monkeypatch.setenv("DOUBLE_LOG", str(log))
        simulator.program_hash.cache_clear()
        return lambda: len(log.read_text().splitlines())

    return put


@pytest.fixture
def double(stand_in: Callable[[str], Callable[[], int]]) -> Callable[[], int]:
    """Puts the double in the simulator's place; call it to learn how often it ran."""
    return stand_in(DOUBLE)


@pytest.fixture
def real() -> Path:
    """The simulator that make build made."""
    simulator.program_hash.cache_clear()
    assert simulator.DEFAULT_PROGRAM.is_file(), "build the simulator first: make build"
    assert "MESHPACE_SIM" not in os.environ
    return simulator.DEFAULT_PROGRAM


@pytest.fixture
def refusal(
    write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """Runs a scenario that is wrong; returns what is said of it, which has to be one line."""

    def refuse(text: str) -> str:
        file = write(text)
        assert cli.main(["run", file]) == cli.USAGE
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert error.startswith(f"pacelab: {file}: ")
        return error

    return refuse


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    """Writes a scenario file and returns its path."""

    def write_file(text: str) -> str:
        file = tmp_path / "scenario.toml"
        file.write_text(text)
        return str(file)

    return write_file
