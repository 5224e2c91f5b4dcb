# SPDX-License-Identifier: GPL-2.0-only
"""Emulation without a run: what Linux is told, what becomes of counters, what is refused."""

import os
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacelab import scenario
from pacelab.cli import main
from pacelab.emulation import emulate, plan, run, validate
from pacelab.emulation.processes import Processes
from pacelab.emulation.programs import MESHPACE
from pacelab.emulation.ready import Port, RadioKeys
from pacelab.emulation.series import Series, quantiles_ms
from pacelab.emulation.tcp_info import TcpSocket
from pacelab.emulation.traffic import Ftp, Place
from pacelab.errors import InconclusiveError
from pacelab.results import tables
from pacelab.results.comparison import comparison_rows
from pacelab.results.measures import measured
from pacelab.results.stats import Interval
from pacelab.scenario.flows import Flow
from pacelab.scenario.models import Scenario

Document = dict[str, Any]
CHAIN: Document = {
    "mesh": {"hops": 3},
    "gateway": {
        "law": "gap",
        "goodput_control": False,
        "delay_bound_s": 0.25,
        "delay_bound_means": 4,
    },
    "flow": [{"from": "B", "to": "A", "advertised_window": 32}],
}
RADIO: RadioKeys = {
    "sense_dbm": -92.5,
    "antenna_dbi": 0.0,
    "path_loss_exponent": 3.0,
    "tx_power_dbm": 13.12,
    "signal_dbm": -82.7,
    "frequency_mhz": 2412,
    "base_mbps": 1.0,
    "cw": 31,
    "slot_us": 20,
    "rts_cts": False,
}
HOST: Port = {
    "node": "A",
    "side": "mesh",
    "netns": "mpe-a",
    "interface": "mesh0",
    "address": "10.1.0.3",
    "routes": [],
    "hops": 3,
    "mbps": 11.0,
    "radio_here": RADIO,
    "radio_at_gateway": RADIO,
}


def resolved(**changes: Any) -> Scenario:
    return scenario.resolve({**CHAIN, **changes}, "chain", emulated=True)


def test_the_gateways_configuration_is_the_scenarios() -> None:
    """Else the real gateway would run another law than the simulated one."""
    text = plan.gateway_toml(resolved(), [HOST])
    assert tomllib.loads(text) == {
        "law": "gap",
        "goodput_control": False,
        "local_retransmission": True,
        "delay_bound_ms": 250.0,
        "delay_bound_means": 4,
        "host": [{"address": "10.1.0.3", "hops": 3, "mbps": 11.0}],
    }


def test_evens_shares_are_switched_with_the_simulated_ones() -> None:
    """Else a comparison without them would have them on one side."""
    law = {"law": "even", "goodput_control": False, "fairness": "air"}
    there = tomllib.loads(plan.gateway_toml(resolved(gateway=law), [HOST]))
    assert (there["law"], there["shares"], there["fairness"]) == ("even", False, "air")
    assert "goodput_control" not in there


def test_what_hosts_may_have_is_what_they_have_simulated() -> None:
    node = HOST["node"]
    law = {"law": "even", "host_weight": {node: 2.5}, "host_least_kbps": {node: 300.0}}
    text = plan.gateway_toml(resolved(gateway={**law, "least_kbps": 64.0}), [HOST])
    there = tomllib.loads(text)
    (host,) = there["host"]
    assert (host["weight"], host["least_kbps"], there["least_kbps"]) == (2.5, 300.0, 64.0)


def test_a_gateway_may_find_its_release_itself() -> None:
    """As by default; simulated, where the first one always works, it is that."""
    there = resolved(gateway={"law": "even"})
    plan.check(there)
    assert there.gateway.release == "auto"
    assert scenario.resolve({**CHAIN, "gateway": {"law": "even"}}, "c").gateway.release == "htb"


@pytest.mark.parametrize("release", ["auto", "htb", "nfqueue", "fq"])
def test_runs_without_a_law_are_the_same_by_each_release(release: str) -> None:
    """So a campaign makes them once."""
    document = {**CHAIN, "gateway": {"law": "off", "release": release}}
    assert scenario.resolve(document, "chain").gateway.release == "nfqueue"


@pytest.mark.parametrize("variant", ["newreno", "cubic", "bbr"])
def test_a_law_of_the_gateways_takes_any_wired_sender(variant: str) -> None:
    """The law paces what a sender lets out, whatever decides on its window."""
    flow = {"from": "B", "to": "A", "variant": variant}
    there = resolved(gateway={"law": "even"}, flow=[flow])
    plan.check(there)
    (planned,) = plan.flow_plans(there)
    assert planned.congestion_control == plan.CONGESTION_CONTROLS[variant]


@pytest.mark.parametrize("law", ["gap", "map", "even"])
def test_the_real_gateway_takes_the_configuration(tmp_path: Path, law: str) -> None:
    """Else a key that it has renamed would only show in a run."""
    file = tmp_path / "gateway.toml"
    text = plan.gateway_toml(resolved(gateway={"law": law}), [HOST])
    assert ("radio" in tomllib.loads(text)) == (law == "map")
    file.write_text(text)
    program = MESHPACE
    done = subprocess.run([program, "config", "check", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_scenarios_window_bounds_the_sender_and_no_buffer_does() -> None:
    """Else an emulated sender could have more or less in flight than a simulated one."""
    assert int(plan.sysctls(resolved(), "A")["net.ipv4.tcp_rmem"].split()[1]) > 2 * 32 * 1460
    assert "cwnd lock 32 " in " ".join(plan.route_words(resolved().flows[0]))


def test_sack_and_acknowledgements_are_the_scenarios() -> None:
    flow = {"from": "B", "to": "A", "sack": False, "delayed_ack": 2}
    there = resolved(flow=[flow])
    assert plan.sysctls(there, "B")["net.ipv4.tcp_sack"] == "0"
    assert "quickack" not in plan.route_words(there.flows[0])
    assert "quickack" in plan.route_words(resolved().flows[0])


def test_timestamps_are_the_scenarios_and_leave_room_for_themselves() -> None:
    """Linux counts them in what it advertises; else an emulated segment would carry less."""
    flow = {"from": "B", "to": "A", "timestamps": True, "segment_bytes": 1000}
    there = resolved(flow=[flow, {**flow, "segment_bytes": 1000}])
    assert plan.sysctls(there, "A")["net.ipv4.tcp_timestamps"] == "1"
    assert plan.sysctls(resolved(), "A")["net.ipv4.tcp_timestamps"] == "0"
    assert "advmss 1012 " in " ".join(plan.route_words(there.flows[0]))
    full = resolved(flow=[{**flow, "segment_bytes": 1460}])
    assert "advmss 1460 " in " ".join(plan.route_words(full.flows[0]))


def test_datagrams_have_no_part_in_tcps_knobs() -> None:
    """Else a cbr flow beside a BBR one would be refused, or take its window away."""
    cbr = {"from": "B", "to": "A", "traffic": "cbr", "rate_kbps": 100.0}
    both = resolved(flow=[cbr, {"from": "B", "to": "A", "variant": "bbr", "sack": False}])
    plan.check(both)
    assert plan.sysctls(both, "A")["net.ipv4.tcp_sack"] == "0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[flow]]\nfrom = "B"\nto = "A"\nvariant = "vegas"', "flow.0.variant"),
        ('[[flow]]\nfrom = "A"\nto = "B"\nlaw = "ap"', "flow.0.law"),
        ('[[flow]]\nfrom = "A"\nto = "B"\nlaw = "gap"\nvariant = "bbr"', "flow.0.variant"),
        ('[[flow]]\nfrom = "A"\nto = "B"\nlaw = "even"\nvariant = "cubic"', "flow.0.variant"),
        (
            '[[flow]]\nfrom = "A"\nto = "B"\nlaw = "gap"\nlive_departures = true',
            "flow.0.live_departures",
        ),
        ('[[flow]]\nfrom = "B"\nto = "A"\nreceiver = "early"', "flow.0.receiver"),
        ('[[flow]]\nfrom = "B"\nto = "A"\ndelayed_ack = 4', "flow.0.delayed_ack"),
        ('[[flow]]\nfrom = "B"\nto = "A"\ndelayed_ack = "thinning"', "flow.0.delayed_ack"),
        ('[[flow]]\nfrom = "B"\nto = "A"\ndelayed_ack_s = 0.1', "flow.0.delayed_ack_s"),
        ('[[flow]]\nfrom = "B"\nto = "A"\nbyte_counting = true', "flow.0.byte_counting"),
        ('[[flow]]\nfrom = "B"\nto = "A"\ntraffic = "files"', "flow.0.traffic"),
        (
            '[[flow]]\nfrom = "B"\nto = "A"\ntimestamps = true\n[[flow]]\nfrom = "B1"\nto = "A"',
            "flow.1.timestamps",
        ),
        ('[gateway]\nrelease = "fq"\n[[flow]]\nfrom = "B"\nto = "A"', "gateway.release"),
        ('[radio]\nqueueing = "codel"\n[[flow]]\nfrom = "B"\nto = "A"', "radio.queueing"),
        (
            '[radio]\nmodel = "sinr"\nstandard = "802.11n"\n[[flow]]\nfrom = "B"\nto = "A"',
            "radio.queueing",
        ),
        (
            '[radio]\nqueueing = "fq_codel"\n[routing]\nprotocol = "aodv"\n'
            '[[flow]]\nfrom = "B"\nto = "A"',
            "radio.queueing",
        ),
        ('[[flow]]\nfrom = "B"\nto = "A"\nidle_at_s = 5.0\nidle_s = 5.0', "flow.0.idle_s"),
        ('[[flow]]\nfrom = "B"\nto = "A"\nopaque = true', "flow.0.opaque"),
        ('[[person]]\nnode = "A"\ndoes = ["web"]', "person"),
        (
            '[[ping]]\nfrom = "B"\nto = "A"\n[[flow]]\nfrom = "B"\nto = "A"',
            "ping",
        ),
        (
            '[[flow]]\nfrom = "B"\nto = "A"\n[[flow]]\nfrom = "B1"\nto = "A"\nsack = false',
            "flow.1.sack",
        ),
    ],
)
def test_what_linux_cannot_do_is_one_line(
    text: str, words: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a run would silently measure something else than the scenario says."""
    assert main(["emulate", write(text)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"pacelab: {words}: ")
    assert printed.count("\n") == 1


def test_http_is_not_simulated(
    write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write('[[flow]]\nfrom = "B"\nto = "A"\ntraffic = "http"')
    assert main(["run", file]) == 2
    assert "pacelab emulate" in capsys.readouterr().err


def test_unavailable_is_one_line_and_status_1(
    write: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["emulate", write('[[flow]]\nfrom = "B"\nto = "A"')]) == 1
    printed = capsys.readouterr().err
    assert "needs root" in printed
    assert printed.count("\n") == 1


def late(*_: object) -> Document:
    raise InconclusiveError("the radio was late")


def test_a_late_run_is_77(
    write: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a run that shows nothing would pass, or fail."""
    monkeypatch.setattr(emulate, "unavailable", lambda: None)
    monkeypatch.setattr(emulate, "emulate_once", late)
    assert main(["emulate", write('[[flow]]\nfrom = "B"\nto = "A"')]) == 77
    assert capsys.readouterr().err == "pacelab: the radio was late\n"


@pytest.mark.parametrize(("p99", "is_late"), [(4.99, False), (5.01, True)])
def test_lag_is_judged_by_its_99th_percentile(p99: float, is_late: bool) -> None:
    result: Any = {"lag_ms": {"p50": 0.1, "p99": p99, "max": 40.0}}
    if is_late:
        with pytest.raises(InconclusiveError):
            run.check_lag(result, resolved(), 1)
    else:
        run.check_lag(result, resolved(), 1)


def test_a_counters_bins_add_up() -> None:
    series = Series()
    for time_s, value in ((0.5, 0), (1.05, 100), (1.95, 1000), (3.05, 3000)):
        series.add(time_s, value)
    assert sum(series.bins(3.0)) == round(series.at(3.0))
    assert series.at(0.2) == 0
    assert series.at(1.5) == pytest.approx(550)
    assert series.between(1.05, 1.95) == 900
    assert series.bins(6.0)[4:] == [0, 0]


def test_quantiles_are_the_simulators() -> None:
    assert quantiles_ms([0.003, 0.001, 0.002]) == {"mean": 2.0, "p50": 2.0, "p95": 2.0}
    assert quantiles_ms([]) is None


def entry(law: str, goodput_ratio: float | None, interval_ratio: float | None) -> Document:
    value = None if goodput_ratio is None else {"mean": goodput_ratio, "ci95": None}
    return {"name": "chain", "law": law, "judged": True, "goodput_ratio": value,
            "interval_ratio": interval_ratio}  # fmt: skip


@pytest.mark.parametrize(
    ("entries", "word"),
    [
        ([entry("off", 1.0, None), entry("gap", 0.86, 1.14)], "confirmed"),
        ([entry("off", 0.84, None)], "failed"),
        ([entry("gap", 1.0, 1.2)], "failed"),
        ([entry("off", None, None)], "inconclusive"),
    ],
)
def test_the_comparisons_verdict(entries: list[Document], word: str) -> None:
    assert validate.verdict(validate.judge(entries)) == word


def test_a_ratio_has_the_intervals_of_both() -> None:
    value = validate.ratio({"mean": 90.0, "ci95": 9.0}, {"mean": 100.0, "ci95": 0.0})
    assert value
    assert value["mean"] == pytest.approx(0.9)
    assert value["ci95"] == pytest.approx(0.09)


def test_a_ratio_to_nothing_is_inconclusive() -> None:
    """Else two sides that carry nothing would stand as a failure, and as NaN in the JSON."""
    nothing: Interval = {"mean": 0.0, "ci95": 0.0}
    some: Interval = {"mean": 9.0, "ci95": 1.0}
    assert validate.ratio(nothing, nothing) is None
    flows = [{"pacing": {"rate_pps": 100.0}, "rtt_ms": None}]
    simulated = {"aggregate_kbps": nothing, "flows": flows}
    unpaced = [{"flows": [{"pacing": {"rate_pps": 0.0}}]}]
    emulated = {"aggregate_kbps": some, "flows": flows, "runs": unpaced, "lag_ms": {"p99": 0.5}}
    scenario = next(validate.cases(quick=True)).scenario
    entry = validate.compare(validate.Case("c", "gap", scenario, True), simulated, emulated)
    assert validate.verdict(validate.judge([entry])) == "inconclusive"
    _, ((_, _, _, ratio, interval, *_),) = comparison_rows({"comparison": [entry]})
    assert (ratio, interval) == ("-", "-")


@pytest.mark.parametrize("counted", [3, None])
def test_a_kernel_that_counts_no_timeouts_had_not_none(counted: int | None, tmp_path: Path) -> None:
    """Before Linux 6.7 nobody counts them: else such a machine would seem never to have had one."""
    flow = Flow.model_validate({"from": "B", "to": "A", "name": "FTP"})
    own = plan.FlowPlan("FTP", "B", "A", 5201, "down", "cubic", flow)
    ftp = Ftp(own, Place({}, {}, Processes(tmp_path), tmp_path))
    for time_s, timeouts in ((1.0, 0), (2.0, counted)):
        known = None if counted is None else timeouts
        ftp.sample(time_s, {"A": [], "B": [TcpSocket(4000, 5201, 0, 0, known, 1, 0, 10)]})
    result = ftp.result(0.5, 3.0)
    assert result["timeouts"] == counted
    point = {"result": {"runs": [{"flows": [{"name": "FTP", **result}]}]}}
    value = measured("timeouts", point)
    assert (value and value["mean"]) == counted
    assert tables.count_text(result["timeouts"], 1) == ("-" if counted is None else "3.0")


def test_a_visitor_whose_pages_never_came_is_shown() -> None:
    """Else the worst figure would be the one that a table leaves out."""
    lost = {"name": "visitor", "pages": 0, "page_load_s": None}
    assert tables._pages({"flows": [lost, {"name": "FTP"}]}) == "visitor: no page was loaded\n"
