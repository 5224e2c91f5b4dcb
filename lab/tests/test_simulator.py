# SPDX-License-Identifier: GPL-2.0-only
"""pacelab with the real simulator."""

import json
from collections.abc import Callable

import pytest

from pacelab import cli
from pacelab.experiment.definition import SCENARIOS

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
def test_several_gateways_and_radios(capsys: pytest.CaptureFixture[str]) -> None:
    """Else a random mesh with five gateways could not be run, or a flow took another one."""
    file = str(SCENARIOS / "map-fig10.toml")
    settings = (*SHORT, "--set", "gateway.law=gap")
    assert cli.main(["run", file, *settings]) == cli.DONE
    first = capsys.readouterr().out
    assert cli.main(["run", file, *settings]) == cli.DONE
    assert capsys.readouterr().out == first
    (run,) = json.loads(first)["runs"]
    assert [flow["via"] for flow in run["flows"]] == [f"IG{i}" for i in range(1, 6)]
    assert all(flow["pacing"]["samples"] > 0 for flow in run["flows"])


@pytest.mark.usefixtures("real")
def test_a_host_behind_two_gateways_is_refused(
    write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a wired host would have two places; only the simulator knows which gateway is near."""
    file = write(
        '[mesh]\ntopology = "nodes"\n'
        + "".join(
            f'[[node]]\nname = "{i}"\nx_m = {i}00\ny_m = 0\ngateway = {str(i in (2, 8)).lower()}\n'
            for i in (2, 4, 6, 8)
        )
        + '[[flow]]\nfrom = "B"\nto = "4"\n[[flow]]\nfrom = "B"\nto = "6"\n'
    )
    assert cli.main(["run", file]) == cli.USAGE
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert 'wired host "B"' in error
    assert "via" in error


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
@pytest.mark.parametrize("topology", ["chain", "parallel"])
@pytest.mark.parametrize("model", ["range", "sinr"])
def test_map_runs_on_both_radios(
    model: str, topology: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the law map would lack inputs that only one radio, or one direction, has."""
    # Neighbours 4 dB above what is sensed, which a node two hops away falls short of.
    radio = {"range": "", "sinr": 'model = "sinr"\nrts_cts = false\ntx_power_dbm = 31.0\n'}
    ends = ("A", "A") if topology == "chain" else ("A1", "A2")
    file = write(
        f'duration_s = 15.0\nwarmup_s = 5.0\n[mesh]\ntopology = "{topology}"\nhops = 3\n'
        f"[radio]\n{radio[model]}[map]\nassumed_exponent = {4.0 if model == 'range' else 3.0}\n"
        f'[gateway]\nlaw = "map"\n[[flow]]\nfrom = "B1"\nto = "{ends[0]}"\n'
        f'[[flow]]\nfrom = "{ends[1]}"\nto = "B2"\nlaw = "map"\n'
    )
    assert cli.main(["run", file, "--json"]) == cli.DONE
    flows = json.loads(capsys.readouterr().out)["flows"]
    assert [flow["law"] for flow in flows] == ["map", "map"]
    h_cs = {"range": 3, "sinr": 2}[model]
    assert [flow["pacing"]["h_cs"] for flow in flows] == [h_cs, h_cs]
    assert all(flow["pacing"]["samples"] > 50 for flow in flows)
    assert all(flow["goodput_kbps"]["mean"] > 50 for flow in flows)


@pytest.mark.usefixtures("real")
def test_a_weak_signal_leaves_nodes_unreachable(
    write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a mesh without links would be simulated as one that loses everything."""
    file = write('[radio]\nmodel = "sinr"\n[mesh]\nhops = 2\n[[flow]]\nfrom = "B"\nto = "A"\n')
    assert cli.main(["run", file, "--json"]) == cli.USAGE
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert '"RL1" cannot be reached' in error
    assert "place nodes nearer" in error


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
