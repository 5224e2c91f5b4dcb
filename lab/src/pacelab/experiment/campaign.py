# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns: many runs on all cores, or on a Dask cluster elsewhere."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pacelab.errors import InputError, RunError
from pacelab.experiment.runner import UNDER_WAY, Job, cached, execute_by, keep, same_run
from pacelab.results.runs import Run
from pacelab.simulator import program_hash

if TYPE_CHECKING:
    from distributed import Client


class Progress:
    """A line on a terminal's standard error: runs done, time left; silent elsewhere."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.begin_s = time.monotonic()
        self.shown = sys.stderr.isatty() and total > 1

    def advance(self) -> None:
        """One more run is done."""
        self.done += 1
        if self.shown:
            elapsed_s = time.monotonic() - self.begin_s
            left_s = elapsed_s / self.done * (self.total - self.done)
            width = 30
            bar = "#" * (width * self.done // max(self.total, 1))
            sys.stderr.write(
                f"\r[{bar:<{width}}] {self.done}/{self.total} runs, {left_s:4.0f} s left "
            )
            sys.stderr.flush()

    def end(self) -> None:
        """Clears the line."""
        if self.shown:
            sys.stderr.write("\r" + " " * 70 + "\r")
            sys.stderr.flush()


# Whoever speaks of what an interruption leaves undone. Those below "distributed" and "tornado" have
# levels of their own, which the import of distributed sets.
NOISY = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


@contextlib.contextmanager
def connect(jobs: int | None, scheduler: str | None) -> Iterator[Client]:
    """A Dask client: of a cluster on this machine, one thread a core, or of a scheduler elsewhere.

    A thread is enough for a run, whose work is done by the simulator's own process.
    """
    import dask
    from distributed import Client, LocalCluster

    for name in NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    dask.config.set({"distributed.admin.tick.limit": "1h", "distributed.comm.timeouts.connect": 10})
    if scheduler:
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, ValueError, TimeoutError, ImportError):
            raise InputError(
                f"--scheduler {scheduler}: no Dask scheduler answers; start one with dask scheduler"
            ) from None
        with client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=jobs or os.cpu_count() or 1,
            processes=False,
            dashboard_address="127.0.0.1:0",  # its HTTP server: any port, for nobody else
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def threads(workers: int | None, scheduler: str | None) -> int:
    """How many runs are made at a time."""
    if scheduler is None:
        return workers or os.cpu_count() or 1
    with connect(workers, scheduler) as client:
        return max(int(sum(client.nthreads().values())), 1)


def run_all(
    jobs: Sequence[Job], workers: int | None = None, scheduler: str | None = None
) -> list[Run]:
    """The results of all jobs, in their order.

    Raises RunError when some fail, after all others have been made and kept; InputError at once
    when the simulator refuses a scenario.
    """
    names = [same_run(job) for job in jobs]
    unique = dict(zip(names, jobs, strict=True))
    known: dict[str, Run] = {}
    for name, job in unique.items():
        result = cached(job)
        if result is not None:
            known[name] = result
    missing = {name: job for name, job in unique.items() if name not in known}
    if missing:
        progress = Progress(len(missing))
        with connect(workers, scheduler) as client:
            try:
                with UNDER_WAY.ended_if_interrupted():
                    _run_missing(client, missing, known, progress)
            finally:
                progress.end()
    return [known[name] for name in names]


def _run_missing(
    client: Client, missing: dict[str, Job], known: dict[str, Run], progress: Progress
) -> None:
    from distributed import as_completed

    program = program_hash()
    futures = {
        client.submit(execute_by, program, job, key=f"run-{name}", pure=False, retries=0): name
        for name, job in missing.items()
    }
    failed: list[RunError] = []
    try:
        for future in as_completed(futures):
            name = futures[future]
            progress.advance()
            try:
                known[name] = future.result()
            except RunError as error:
                failed.append(error)
            else:
                keep(missing[name], known[name])
    except InputError:
        client.cancel(list(futures))
        raise
    if failed:
        others = f"; {len(failed) - 1} more failed" if len(failed) > 1 else ""
        raise RunError(f"{failed[0]}{others}")
