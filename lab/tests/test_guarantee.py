# SPDX-License-Identifier: GPL-2.0-only
"""The 1/n guarantee, times to share and to recover, Nash welfare: of runs whose answer is known."""

import math
from typing import Any

import pytest

from made_up import alone, flow, person, run, scenario
from pacelab.results.guarantee import field_of, unserved, window_ratios
from pacelab.results.host_measures import host_values
from pacelab.results.hosts import host_series
from pacelab.results.measures import Selection, measured, run_values
from pacelab.scenario.schema import Table

MBIT = 125_000.0  # bytes a second


def _result(made: Table, one: Table, solos: dict[str, Table]) -> Table:
    return {
        "scenario": made,
        "runs": [one],
        "solo": {host: [series] for host, series in solos.items()},
    }


def _value(name: str, result: Table, *hosts: str) -> float | None:
    (value,) = host_values(name, result, list(hosts) or None)
    return value


def _near_and_far(near: list[float], far: list[float], **keys: Any) -> Table:
    """Alone near has 30 Mbit/s and far 6; n is 2 while far is there."""
    flows = [flow("FTP 1", "N1"), flow("FTP 2", "N2", **keys)]
    solos = {"N1": alone([30 * MBIT] * len(near)), "N2": alone([6 * MBIT] * len(far))}
    made = scenario(flows, "N1", "N2")
    return _result(made, run([[b * MBIT for b in near], [b * MBIT for b in far]]), solos)


def test_the_least_of_all_windows_and_hosts() -> None:
    """Else a host that is starved for ten seconds, or at a place where 1/n is little, would do."""
    near, far = [15.0] * 60, [3.0] * 30 + [0.6] * 10 + [3.0] * 20
    result = _near_and_far(near, far)
    assert _value("guarantee_least", result) == pytest.approx(0.2)
    assert _value("guarantee_least", result, "N1") == pytest.approx(1.0)
    # 46 windows of each host begin from 5 s on; a window of far misses with two bad seconds, for
    # then 8.4 of 10 parts are left: from 22 to 38.
    assert _value("guarantee_missed", result) == pytest.approx(17 / 92)
    assert _value("guarantee_missed", result, "N2") == pytest.approx(17 / 46)


def test_the_first_seconds_do_not_count() -> None:
    """Else a slow start would be a broken promise; or one that takes 6 s none."""
    assert _value("guarantee_least", _near_and_far([15.0] * 30, [0.0] * 5 + [3.0] * 25)) == 1.0
    late = _value("guarantee_least", _near_and_far([15.0] * 30, [0.0] * 6 + [3.0] * 24))
    assert late == pytest.approx(0.9)


def test_the_warm_up_does_not_count() -> None:
    result = _near_and_far([15.0] * 40, [0.0] * 20 + [3.0] * 20)
    result["runs"][0]["warmup_s"] = 20.0
    assert _value("guarantee_least", result) == 1.0


def test_a_window_in_which_n_changes_has_the_mean_of_both_parts() -> None:
    """Else the near host would be held to its part of before, or of after, far's arrival."""
    near = [30.0] * 20 + [15.0] * 20
    result = _near_and_far(near, [0.0] * 20 + [3.0] * 20, start_s=20.0)
    field = field_of(result["scenario"], result["runs"][0], _solos(result), None)
    assert window_ratios(field)["N1"] == pytest.approx([1.0] * 26)
    assert len(window_ratios(field)["N2"]) == 6  # from 25 on


def _solos(result: Table) -> dict[str, Table]:
    return {host: series[0] for host, series in result["solo"].items()}


def test_a_host_that_ends_or_dies_has_no_window_across_its_end() -> None:
    """Else who is gone would be said to starve, and its part would be kept from the others."""
    near = [15.0] * 20 + [30.0] * 20
    gone = {"stop_s": 20.0}
    assert _value("guarantee_least", _near_and_far(near, [3.0] * 20 + [0.0] * 20, **gone)) == 1.0
    dead = _near_and_far(near, [3.0] * 20 + [0.0] * 20)
    dead["scenario"]["outages"] = [{"node": "N2", "at_s": 20.0, "for_s": 20.0}]
    assert _value("guarantee_least", dead) == 1.0
    # The others have all that it had: 15 of 30 Mbit/s is half of their part.
    dead["runs"][0]["flows"][0]["delivered_bytes"] = [15 * MBIT] * 40
    assert _value("guarantee_least", dead) == pytest.approx(0.5)


def test_a_host_that_is_never_served_counts_nowhere() -> None:
    """Else nobody could keep a promise to a place where the radio does not reach; it is told."""
    result = _near_and_far([15.0] * 30, [0.0] * 30)
    result["solo"]["N2"] = [alone([0.0] * 30)]
    for name in ("guarantee_least", "time_to_share_s", "nash"):
        assert _value(name, result, "N2") is None
    assert _value("guarantee_least", result) == 1.0
    assert unserved(result["scenario"], result["runs"][0], _solos(result)) == ["N2"]


def test_behind_a_relay_that_has_died_nobody_has_a_part() -> None:
    """Else what happens to be under way at its death would be what is promised from then on."""
    result = _near_and_far([15.0] * 60, [3.0] * 40 + [0.0] * 20)
    result["solo"]["N2"] = [alone([6 * MBIT] * 40 + [1 * MBIT] + [0.0] * 19)]
    # The last window that counts has 4 s of before, and what was under way, which n = 2 halves.
    assert _value("guarantee_least", result, "N2") == pytest.approx(12 / 12.5)
    result["scenario"]["flows"][0]["stop_s"] = 40.0
    assert _value("time_to_recover_s", result, "N2") is None


def test_without_solo_runs_there_is_no_part() -> None:
    result = _near_and_far([15.0] * 30, [3.0] * 30)
    del result["solo"]
    assert host_values("guarantee_least", result) == [None]
    assert measured("guarantee_least", {"result": result}) is None
    assert _value("host_goodput", result, "N2") == pytest.approx(3000.0)


def test_a_transfer_that_is_over_sooner_when_alone() -> None:
    """Else what is left of it in the field would have a part of nothing, and always enough."""
    solo = alone([6 * MBIT] * 20 + [0.0] * 20, [1] * 20 + [0] * 20)
    result = _near_and_far([15.0] * 40, [3.0] * 30 + [1.5] * 10)
    result["solo"]["N2"] = [solo]
    assert _value("guarantee_least", result, "N2") == pytest.approx(0.5)


def test_persons_who_want_nothing_leave_their_part_to_the_others() -> None:
    """Else who reads a page would count as who loads one."""
    wants = [1] * 10 + [0] * 30
    ann = person("Ann", "N3", 40, wants=wants)
    made = scenario([flow("FTP 1", "N1")], "N1", "N3")
    got = [15 * MBIT] * 10 + [30 * MBIT] * 30
    one = run([got], [ann])
    result = _result(made, one, {"N1": alone([30 * MBIT] * 40)})
    assert _value("guarantee_least", result) == pytest.approx(1.0)
    assert _value("guarantee_least", result, "Ann") is None  # no bulk demand, no part
    assert host_series(made, one)["N3"].active.sum() == 10  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("far", "waits"),
    [
        ([3.0] * 20, 3.0),
        ([0.0] * 4 + [3.0] * 16, 7.0),  # seconds 4 to 7 are the first three good ones
        ([0.0, 0.0, 3.0, 0.0] + [2.4] * 16, 7.0),  # one good second is no share
        ([1.0] * 20, 20.0),
    ],
    ids=["at once", "late", "a burst", "never: all the time that it stays"],
)
def test_time_to_share(far: list[float], waits: float) -> None:
    """Else who never gets its share would be left out, and the system that starves it look best."""
    result = _near_and_far([15.0] * 40, [0.0] * 20 + far, start_s=20.0)
    assert _value("time_to_share_s", result, "N2") == pytest.approx(waits)
    assert _value("time_to_share_s", result, "N1") is None  # it was there from the beginning


@pytest.mark.parametrize(
    ("near", "waits"), [([30.0] * 20, 3.0), ([15.0] * 6 + [30.0] * 14, 8.0), ([15.0] * 20, 20.0)]
)
@pytest.mark.parametrize("how", ["leaves", "dies", "falls silent"])
def test_time_to_recover(near: list[float], waits: float, how: str) -> None:
    """Else air that the dead have left could stay empty unseen."""
    keys: dict[str, Table] = {
        "leaves": {"stop_s": 20.0},
        "dies": {},
        "falls silent": {"idle_at_s": 20.0, "idle_s": 100.0},
    }
    result = _near_and_far([15.0] * 20 + near, [3.0] * 20 + [0.0] * 20, **keys[how])
    if how == "dies":
        result["scenario"]["outages"] = [{"node": "N2", "at_s": 20.0, "for_s": 99.0}]
    assert _value("time_to_recover_s", result) == pytest.approx(waits)
    assert _value("time_to_recover_s", result, "N2") is None  # it is the one who has gone


def test_nobody_recovers_where_nobody_goes() -> None:
    assert _value("time_to_recover_s", _near_and_far([15.0] * 30, [3.0] * 30)) is None


def test_nash_welfare() -> None:
    """Else equal parts, a sum that starves one, and nothing at all could not be told apart."""
    equal = _value("nash", _near_and_far([15.0] * 30, [3.0] * 30))
    assert equal == pytest.approx(-math.log(2))
    greedy = _value("nash", _near_and_far([28.0] * 30, [0.2] * 30))
    assert greedy is not None
    assert greedy < -math.log(2)
    starved = _value("nash", _near_and_far([30.0] * 30, [0.0] * 30))
    assert starved is not None
    assert -math.inf < starved < greedy


def test_runs_pair_by_seed() -> None:
    """Else a run without a value would shift all that follow."""
    result = _near_and_far([15.0] * 30, [3.0] * 30)
    short = _near_and_far([15.0] * 8, [3.0] * 8)
    result["runs"].append(short["runs"][0])
    for host, series in short["solo"].items():
        result["solo"][host] += series
    found = run_values("guarantee_least", {"result": result}, Selection(hosts=["N2"]))
    assert found == [pytest.approx(1.0), None]
    mean = measured("guarantee_least", {"result": result})
    assert mean is not None
    assert mean["mean"] == pytest.approx(1.0)
