# SPDX-License-Identifier: GPL-2.0-only
"""repeat.py: what failed is told, at a first attempt and to the end, and kept."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("repeat.py")
FLAKY = """
import pathlib, pytest
@pytest.mark.flaky(reruns=1)
def test_flaky():
    again = pathlib.Path(__file__).with_suffix(".again")
    first = not again.exists()
    again.touch()
    assert not first
def test_steady():
    pass
"""


def repeat(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False
    )


def figures(folder: Path) -> dict[tuple[str, str], list[float]]:
    rows = json.loads((folder / "repeat.json").read_text())["rows"]
    return {(row["variant"], row["figure"]): row["values"] for row in rows}


def test_a_first_attempt_that_failed_is_listed_though_the_round_held(tmp_path: Path) -> None:
    """Else who reads only the outcome takes a test that fails each other time for a sound one."""
    file = tmp_path / "test_made_up.py"
    file.write_text(FLAKY)
    done = repeat("--record", str(tmp_path), "2", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("held, 2 passed") == 2
    (line,) = [line for line in done.stdout.splitlines() if "first attempt" in line]
    assert "test_made_up.py::test_flaky: assert not True" in line
    kept = figures(tmp_path)
    assert kept["all", "share of rounds that failed"] == [0, 0]
    assert kept["flaky", "share of rounds in which it failed at the first attempt"] == [1, 0]


def test_a_round_that_failed_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "test_made_up.py"
    file.write_text("def test_never():\n    assert 'the reason' == ''\n")
    done = repeat("--record", str(tmp_path), "1", str(file))
    assert done.returncode == 1
    assert "round 1 of 1: FAILED, 1 failed" in done.stdout
    assert "the reason" in done.stdout
    assert figures(tmp_path)["all", "share of rounds that failed"] == [1]


@pytest.mark.parametrize("words", [(), ("0",), ("often",)])
def test_wrong_usage(words: tuple[str, ...]) -> None:
    done = repeat(*words)
    assert done.returncode == 2
    assert "ROUNDS" in done.stderr.splitlines()[-1]
