# SPDX-License-Identifier: GPL-2.0-only
"""pacelab with the real simulator."""

import json
from collections.abc import Callable

import pytest

from pacelab import cli
from pacelab.experiment import SCENARIOS

VILLAGE = str(SCENARIOS / "village.toml")
SHORT = ("--set", "duration_s=20", "--set", "warmup_s=5", "--no-cache", "--json")


@pytest.mark.usefixtures("real")
def test_own_scenario_is_bit_identical_when_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """Else no figure could be reproduced. Nodes at odd places, three flows."""
    texts = []
    for _ in range(2):
        assert cli.main(["run", VILLAGE, *SHORT]) == cli.DONE
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    flows = json.loads(texts[0])["flows"]
    assert [flow["hops"] for flow in flows] == [3, 1, 2]
    assert all(flow["goodput_kbps"]["mean"] > 50 for flow in flows)


@pytest.mark.usefixtures("real")
def test_seeds_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Else intervals over seeds would mean nothing."""
    assert cli.main(["run", VILLAGE, *SHORT, "--seeds", "2"]) == cli.DONE
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert runs[0]["flows"] != runs[1]["flows"]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("variant", ["newreno", "cubic", "bbr", "vegas", "westwood"])
def test_every_variant_runs_both_ways(
    variant: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a TCP variant of the scenario format would crash the simulator."""
    file = write(
        f'duration_s = 15.0\nwarmup_s = 5.0\n[mesh]\nhops = 2\n[tcp]\nvariant = "{variant}"\n'
        '[[flow]]\nfrom = "B"\nto = "A"\n[[flow]]\nfrom = "A"\nto = "B1"\n'
    )
    assert cli.main(["run", file, "--json"]) == cli.DONE
    result = json.loads(capsys.readouterr().out)
    assert result["aggregate_kbps"]["mean"] > 300


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("queueing", ["fifo", "fq_codel", "codel"])
@pytest.mark.parametrize("law", ["off", "gap"])
def test_every_queueing_runs(
    queueing: str, law: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a queue discipline beside the gateway's would crash the simulator."""
    file = write(
        f'duration_s = 12.0\nwarmup_s = 4.0\n[mesh]\nhops = 2\n[radio]\nqueueing = "{queueing}"\n'
        f'[gateway]\nlaw = "{law}"\n[[flow]]\nfrom = "B"\nto = "A"\n'
        '[[flow]]\nfrom = "B"\nto = "RL1"\ntraffic = "cbr"\nrate_kbps = 100.0\n'
    )
    assert cli.main(["run", file, "--json"]) == cli.DONE
    assert json.loads(capsys.readouterr().out)["aggregate_kbps"]["mean"] > 300
