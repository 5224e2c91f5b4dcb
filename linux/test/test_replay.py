# SPDX-License-Identifier: GPL-2.0-only
"""
The real BPF programs do with every trace what core/ does, bit for bit, at the trace's own time: the
golden ones and random ones, of which one that differs is shown in as few events as still differ.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import replay
from harness.trace_source import Source, of_seed

RANDOM = 200
# Programs without an owner would look like what another test's gateway has left behind.
pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replay")


@pytest.fixture(scope="module")
def program(folder: Path) -> Path:
    return replay.build_plain(folder)


@pytest.fixture(scope="module")
def bpf(folder: Path) -> Iterator[replay.Replay]:
    with replay.in_bpf(replay.gateway_object(), folder) as made:
        yield made


@pytest.mark.parametrize("trace", replay.TRACES, ids=lambda path: path.stem)
def test_golden(trace: Path, bpf: replay.Replay, program: Path) -> None:
    ours, told = replay.plain(program)(trace), bpf(trace)
    assert not replay.difference(replay.events(ours), replay.events(told))
    assert ours == told, "a state differs that shows later"


def test_random(folder: Path, bpf: replay.Replay, program: Path) -> None:
    for seed in range(RANDOM):
        trace = Source(of_seed(seed), seed, program).run()
        replay.compare(trace, folder, replay.plain(program), bpf)


def test_a_difference_is_shown_in_few_lines(folder: Path, program: Path) -> None:
    """Else nobody finds out of thousands of events what a host does otherwise."""

    def forgets_fin(trace: Path) -> str:
        return replay.plain(program)(trace).replace(" fin", "")

    trace = Source(of_seed(7), 7, program).run()
    with pytest.raises(replay.Differ) as differ:
        replay.compare(trace, folder, replay.plain(program), forgets_fin)
    assert "fin" in str(differ.value)
    assert len((folder / "shrunk.trace").read_text().splitlines()) < 8
