# SPDX-License-Identifier: GPL-2.0-only
"""Traffic of files: keys, statistics, and the simulator's transfers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pacelab import cli
from pacelab.results.transfers import flow_transfers, scenario_transfers
from pacelab.scenario import load

FLOW = '[[flow]]\nfrom = "B"\nto = "A"\ntraffic = "files"\n'

BAD = {
    "files of ftp": ('[[flow]]\nfrom = "B"\nto = "A"\nfile_bytes = 9.0\n', "file_bytes", '"files"'),
    "pages of files": (f"{FLOW}objects = 3\n", "flow.0.objects", '"http"'),
    "a pause of ftp": ('[[flow]]\nfrom = "B"\nto = "A"\npause_s = 1.0\n', "pause_s", '"files"'),
    "a law without a mean": (f"{FLOW}pareto_shape = 1.0\n", "pareto_shape", "at least"),
    "thick ACKs": (f'{FLOW}delayed_ack = "thick"\n', "flow.0.delayed_ack", 'or "thinning"'),
    "bytes of cubic": (
        f'{FLOW}variant = "cubic"\nbyte_counting = true\n',
        "byte_counting",
        "vegas",
    ),
    "reno with SACK": (f'{FLOW}variant = "reno"\n', "flow.0.variant", "sack = false"),
    "RACK without SACK": (f"{FLOW}sack = false\nrack = true\n", "flow.0.rack", "remove it"),
}


@pytest.mark.parametrize(("text", "key", "remedy"), BAD.values(), ids=BAD.keys())
def test_bad_keys_are_one_line(
    text: str, key: str, remedy: str, refusal: Callable[[str], str]
) -> None:
    """Else a key without a meaning would be taken for one that has an effect."""
    error = refusal(text)
    assert key in error
    assert remedy in error


def test_thinning_is_a_value_of_delayed_ack(write: Callable[[str], str]) -> None:
    flow = load(write(f'[tcp]\ndelayed_ack = "thinning"\ndelayed_ack_s = 0.1\n{FLOW}')).flows[0]
    assert (flow.delayed_ack, flow.delayed_ack_s) == ("thinning", 0.1)


def test_statistics_of_transfers() -> None:
    """Else the mean would be over bytes, or over seeds of unequal length, not over transfers."""
    fast: Any = {"transfers": [[10_000, 1.0], [10_000, 0.5]], "unfinished": 1}  # 80, 160 kbit/s
    slow: Any = {"transfers": [[10_000, 2.0]], "unfinished": 0}  # 40 kbit/s
    none: Any = {"transfers": [], "unfinished": 1}
    flow = flow_transfers([fast, slow])
    assert flow["transfers"] == 3
    assert flow["unfinished"] == 1
    assert flow["transfer_kbps"]["mean"] == pytest.approx((120 + 40) / 2)
    runs: Any = [{"flows": [fast, slow]}, {"flows": [fast, none]}, {"flows": [{}]}]
    both = scenario_transfers(runs[:2])
    assert both["transfer_kbps"]["mean"] == pytest.approx((160 + 120) / 2)
    assert both["transfer_jain"]["mean"] == pytest.approx((0.8 + 0.5) / 2)
    assert scenario_transfers(runs[2:]) == {}


def test_batches_give_one_run_an_interval() -> None:
    short: Any = {"transfers": [[1, 1.0]], "unfinished": 0}
    steady: Any = {"transfers": [[10_000, 1.0]] * 30, "unfinished": 0}
    assert flow_transfers([steady])["transfer_kbps"]["ci95"] == pytest.approx(0)
    assert flow_transfers([short])["transfer_kbps"]["ci95"] is None


@pytest.mark.usefixtures("double")
def test_the_table_tells_of_transfers(
    write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", write(FLOW * 2), "--seeds", "2"]) == cli.DONE
    out = capsys.readouterr().out
    assert "FILES 1: 240 ± 0 kbit/s a transfer, 4 transfers, 1 unfinished" in out
    assert "transfers together: 420 ± 0 kbit/s, Jain 0.980 ± 0.000" in out


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("one_connection", [False, True])
def test_files_go_through_and_are_the_same_under_every_law(
    one_connection: bool, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else systems would be compared over different files, or a law would lose them."""
    sizes = []
    for law in ("off", "gap"):
        file = write(
            f'duration_s = 40.0\nwarmup_s = 0.0\n[mesh]\nhops = 2\n[gateway]\nlaw = "{law}"\n'
            f"[tcp]\ndelayed_ack = 2\n{FLOW}pause_s = 0.2\none_connection = "
            f"{str(one_connection).lower()}\n"
        )
        assert cli.main(["run", file, "--json"]) == cli.DONE
        result = json.loads(capsys.readouterr().out)
        flow = result["runs"][0]["flows"][0]
        done = sum(size for size, _ in flow["transfers"])
        assert done == flow["goodput_bytes"] or (
            flow["unfinished"] and done < flow["goodput_bytes"]
        )
        assert result["transfer_kbps"]["mean"] == result["flows"][0]["transfer_kbps"]["mean"]
        sizes.append([size for size, _ in flow["transfers"]])
        if law == "gap":
            assert flow["pacing"]["samples"] > len(flow["transfers"])
    count = min(map(len, sizes))
    assert count > 10
    assert sizes[0][:count] == sizes[1][:count]
