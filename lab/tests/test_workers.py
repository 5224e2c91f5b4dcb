# SPDX-License-Identifier: GPL-2.0-only
"""Where runs happen makes no difference: one worker, two, a Dask scheduler started separately."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pacelab.experiment import runner
from pacelab.experiment.campaign import run_all
from pacelab.scenario import resolve
from pacelab.scenario.schema import Table

DOCUMENT: Table = {
    "duration_s": 6.0,
    "warmup_s": 2.0,
    "routing": {"protocol": "aodv"},
    "mesh": {"topology": "parallel", "hops": 3},
    "gateway": {"law": "gap"},
    "flow": [{"from": "B", "to": "A1"}, {"from": "A2", "to": "B", "law": "gap"}],
}
PATIENCE_S = 60.0


def _jobs() -> list[runner.Job]:
    laws = ({**DOCUMENT, "gateway": {"law": law}} for law in ("off", "gap"))
    scenarios = [resolve({**d, "flow": [d["flow"][0]]}, "test") for d in laws]
    scenarios.append(resolve(DOCUMENT, "test"))
    return [runner.make_job(s, seed, use_cache=False) for s in scenarios for seed in (1, 2)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A scheduler and two workers as processes of their own; the scheduler's address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    host, port = address.removeprefix("tcp://").split(":")
    commands = [["scheduler", "--host", host, "--port", port, "--no-dashboard"]]
    commands += [["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]] * 2
    environment = {**os.environ, "PACELAB_CACHE": str(tmp_path / "elsewhere")}
    with (tmp_path / "dask.log").open("wb") as log:
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                cwd=tmp_path,
                env=environment,
                stdout=log,
                stderr=log,
            )
            for command in commands
        ]
    try:
        _wait_for_workers(address, 2, tmp_path / "dask.log")
        yield address
    finally:
        # Not asked to end: a worker whose scheduler goes may wait for it without a limit.
        for process in started:
            process.kill()
            process.wait()


def _wait_for_workers(address: str, count: int, log: Path) -> None:
    from distributed import Client

    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            with Client(address, timeout=2) as client:
                client.wait_for_workers(count, timeout=max(deadline_s - time.monotonic(), 1))
                return
        except (OSError, TimeoutError):
            assert time.monotonic() < deadline_s, log.read_text(errors="replace")[-2000:]
            time.sleep(0.3)


@pytest.mark.usefixtures("real")
def test_two_seeds_are_the_same_wherever_they_run(cluster: str) -> None:
    """Else a figure would depend on the machine, or on how many runs go on beside one."""
    one = run_all(_jobs(), workers=1)
    assert len({str(run["flows"]) for run in one}) == len(one), "every run is one of its own"
    assert run_all(_jobs(), workers=2) == one
    assert run_all(_jobs(), scheduler=cluster) == one


def test_what_was_made_elsewhere_is_kept_here(double: Callable[[], int], cluster: str) -> None:
    """Else a campaign that goes on later, here or on other machines, would begin anew."""
    jobs = [runner.make_job(resolve(DOCUMENT, "test"), seed) for seed in (1, 2, 3)]
    runs = run_all(jobs, scheduler=cluster)
    assert double() == 3
    assert [runner.cached(job) for job in jobs] == runs
    assert run_all(jobs, workers=1) == runs
    assert double() == 3
