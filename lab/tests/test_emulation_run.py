# SPDX-License-Identifier: GPL-2.0-only
"""Short emulated runs, and what they leave behind; skipped where nothing can be emulated.

A run whose radio was late shows nothing: it is skipped, never passed.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from pacelab import scenario
from pacelab.emulation import netns, run_folder
from pacelab.emulation.available import unavailable
from pacelab.emulation.emulate import emulate
from pacelab.errors import InconclusiveError
from pacelab.experiment import runner

REASON = unavailable()
pytestmark = [
    pytest.mark.emulates,
    pytest.mark.skipif(REASON is not None, reason=REASON or ""),
]

# What has not begun or ended after so long never will.
PATIENCE_S = 30.0
RUN = [sys.executable, "-m", "pacelab", "emulate"]
TEXT = """
duration_s = 60.0
[mesh]
hops = 2
[gateway]
law = "gap"
[[flow]]
from = "B"
to = "A"
"""


def emulated(document: dict[str, Any]) -> dict[str, Any]:
    there = scenario.resolve(document, "here", emulated=True)
    try:
        return emulate(there, [1])
    except InconclusiveError as error:
        pytest.skip(str(error))


def traces() -> set[str]:
    """What runs leave on the machine: namespaces, folders, pins."""
    found = set(netns.MOUNTED.glob(f"{run_folder.PREFIX}*"))
    found |= set(run_folder.RUNS.glob("*-*")) | set(run_folder.PINS.glob(f"{run_folder.PREFIX}*"))
    return {str(path) for path in found}


@pytest.fixture(autouse=True)
def cleared() -> None:
    """What killed runs left is gone before a test looks: its own run would clear it midway."""
    run_folder.clear_dead_runs()


@pytest.mark.measured
def test_reno_over_two_hops_is_as_fast_as_simulated() -> None:
    """The whole way: namespaces, radio, wired part, knobs, iperf3, counters, result."""
    document = {
        "duration_s": 12.0,
        "warmup_s": 4.0,
        "wired": {"delay_ms": 10.0},
        "mesh": {"hops": 2},
        "flow": [{"from": "B", "to": "A"}],
    }
    before = traces()
    result = emulated(document)
    job = runner.make_job(scenario.resolve(document, "here"), 1, use_cache=False)
    both = result["runs"][0], runner.execute(job)
    # Over the seconds after the warm-up: one in which the machine stood still has no say.
    here, simulated = (median(one["flows"][0]["delivered_bytes"][4:]) for one in both)
    assert 0.85 < here / simulated < 1.15
    assert result["runs"][0]["flows"][0]["most_cwnd_segments"] == 64
    assert sum(result["runs"][0]["flows"][0]["delivered_bytes"][4:]) == pytest.approx(
        result["runs"][0]["flows"][0]["goodput_bytes"], rel=0.01
    )
    assert traces() == before


@pytest.mark.measured
def test_the_gateway_paces_and_the_page_loads() -> None:
    """The real gateway beside real HTTP; its interval and the pages are in the result."""
    result = emulated(
        {
            "duration_s": 12.0,
            "warmup_s": 4.0,
            "wired": {"delay_ms": 5.0},
            "mesh": {"hops": 2},
            "gateway": {"law": "gap"},
            "flow": [
                {"from": "B1", "to": "A"},
                {"from": "B2", "to": "A", "traffic": "http", "objects": 3, "object_bytes": 2000},
            ],
        }
    )
    bulk, page = result["flows"]
    assert bulk["pacing"]["interval_ms"] > 1
    assert bulk["goodput_kbps"]["mean"] > 100
    assert page["pages"] > 0
    assert page["page_load_s"]["mean"] > 0
    assert result["gateway"]["super_packets"] == 0


@pytest.mark.measured
def test_flows_and_radios_begin_and_end_when_the_scenario_says_so() -> None:
    """Else who comes and who dies would be measured at another time, or not at all. The radio is
    that of the days, whose packets wait in ns-3."""
    result = emulated(
        {
            "duration_s": 12.0,
            "warmup_s": 1.0,
            "radio": {
                "model": "sinr",
                "standard": "802.11n",
                "path_loss_exponent": 3.3,
                "sense_dbm": -89.0,
                "rts_cts": False,
                "queueing": "fq_codel",
            },
            "mesh": {"topology": "chain", "hops": 3, "spacing_m": 25.0},
            "flow": [
                {"from": "B1", "to": "A"},
                {"from": "B2", "to": "RL2", "start_s": 3.0, "stop_s": 9.0},
            ],
            "outage": [{"node": "A", "at_s": 6.0, "for_s": 100.0}],
        }
    )
    dies, comes = (flow["delivered_bytes"] for flow in result["runs"][0]["flows"])
    assert min(dies[2:6]) > 100_000
    # What was delivered to its radio in time may be counted by the next reading.
    assert dies[6] < dies[5] / 2
    assert sum(dies[7:]) == 0
    assert sum(comes[:3]) == 0
    assert min(comes[5:9]) > 100_000
    assert sum(comes[10:]) == 0
    assert 0 < result["radio_core"] < 1


def started(write: Callable[[str], str], until: str) -> "subprocess.Popen[str]":
    """An emulated run in a process of its own, up to where its log of that name exists."""
    process = subprocess.Popen([*RUN, write(TEXT)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE_S
    while not list(run_folder.RUNS.glob(f"{process.pid}-*/{until}")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    return process


def children(pid: int) -> list[int]:
    found = []
    for task in Path("/proc", str(pid), "task").glob("*/children"):
        found += [int(word) for word in task.read_text().split()]
    return found


def alive(pid: int) -> bool:
    status = Path("/proc", str(pid), "status")
    return status.exists() and "\nState:\tZ" not in status.read_text()


def test_killed_its_children_die_and_the_next_run_clears_away(write: Callable[[str], str]) -> None:
    """Else a killed run would leave a real-time process, a gateway and namespaces behind."""
    before = traces()
    process = started(write, "*iperf3.log")
    mine = children(process.pid)
    assert len(mine) >= 3
    process.kill()
    process.communicate()
    deadline = time.monotonic() + PATIENCE_S
    while any(map(alive, mine)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, mine))
    assert traces() > before
    run_folder.clear_dead_runs()
    assert traces() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing(write: Callable[[str], str], number: int) -> None:
    before = traces()
    process = started(write, "*iperf3.log")
    mine = children(process.pid)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert not any(map(alive, mine))
    assert traces() == before


def test_a_run_that_lives_is_left_alone() -> None:
    """Else two runs at a time would take each other's namespaces away."""
    folder = run_folder.RunFolder()
    try:
        name = folder.add_namespace("IG")
        code = "from pacelab.emulation.run_folder import clear_dead_runs; clear_dead_runs()"
        subprocess.run([sys.executable, "-c", code], check=True)
        assert (netns.MOUNTED / name).exists()
        assert folder.path.exists()
    finally:
        folder.remove()
    assert not folder.path.exists()


@pytest.mark.measured
@pytest.mark.parametrize("law", ["gap", "map", pytest.param("even", marks=pytest.mark.smoke)])
def test_json_of_a_paced_sender(tmp_path: Path, law: str) -> None:
    """--json has the form of pacelab run, and lag_ms; the real sender hears of the gateway."""
    text = TEXT.replace("60.0", "8.0\nwarmup_s = 3.0\nwired.delay_ms = 5")
    text = text.replace('from = "B"\nto = "A"', 'from = "A"\nto = "B"\nlaw = "gap"')
    text = text.replace('"gap"', f'"{law}"')
    file = tmp_path / "short.toml"
    file.write_text(text)
    done = subprocess.run([*RUN, str(file), "--json"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {"flows", "aggregate_kbps", "jain", "links", "runs", "lag_ms", "versions"} <= set(result)
    assert result["flows"][0]["goodput_kbps"]["mean"] > 100
    assert result["flows"][0]["pacing"]["interval_ms"] > 1
    assert result["gateway"]["options_written"] > 0
