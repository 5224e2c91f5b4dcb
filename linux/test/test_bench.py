# SPDX-License-Identifier: GPL-2.0-only
"""What benches measure is kept as data, with its commit and its command. Needs no root."""

import json
from pathlib import Path

import pytest
from harness import bench


def test_figures_are_kept_where_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a page would show what somebody has typed."""
    monkeypatch.setattr("sys.argv", ["/somewhere/bench_gateway.py"])
    figures = bench.Figures("gateway", "What it costs")
    figures.note("nfqueue", "a packet", "ns", [3.0, 1.0, 2.0], "4")
    figures.keep([])
    assert not list(tmp_path.iterdir())
    figures.keep(["--record", str(tmp_path / "cost")])
    kept = json.loads((tmp_path / "cost" / "gateway.json").read_text())
    (row,) = kept["rows"]
    assert (row["variant"], row["value"], row["n"], row["wanted"]) == ("nfqueue", 2.0, 3, "4")
    assert kept["command"].startswith(".venv/bin/python linux/test/bench_gateway.py --record ")
    assert kept["schema"] == 1
    assert kept["law"]


def test_a_wrong_option_ends_a_bench_before_it_measures() -> None:
    with pytest.raises(SystemExit) as error:
        bench.folder_of(["--recrd", "x"])
    assert error.value.code == 2
