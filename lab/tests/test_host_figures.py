# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of hosts and persons: what is drawn is what was measured, and says what it is."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from made_up import alone, flow, page, person, run, scenario
from pacelab.results import figures
from pacelab.results.figures import outcome_figure
from pacelab.scenario.schema import Table

PICTURE: Table = {
    "id": "p",
    "title": "",
    "measure": "goodput",
    "systems": None,
    "variants": None,
    "hosts": None,
    "at": None,
    "log": False,
}


def _outcome(results: dict[str, Table]) -> Table:
    points = [
        {"variant": "", "system": system, "value": None, "result": result}
        for system, result in results.items()
    ]
    return {"title": "Somebody comes", "systems": list(results), "points": points}


def _figure(outcome: Table, **own: Any) -> Any:
    return outcome_figure(outcome, PICTURE | own)


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


def _lines(axis: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axis.get_lines()}


def _field(far: float) -> Table:
    """N1 is there for 40 s, N2 from 10 to 30 s; of two runs N2 gets twice as much in the second."""
    made = scenario(
        [flow("FTP 1", "N1"), flow("FTP 2", "N2", start_s=10.0, stop_s=30.0)], "N1", "N2"
    )
    runs = [run([[1e6] * 40, [0.0] * 10 + [far * k] * 20 + [0.0] * 10], seed=k) for k in (1.0, 2.0)]
    solo = {"N1": [alone([2e6] * 40)] * 2, "N2": [alone([4e5] * 40)] * 2}
    return {"scenario": made, "runs": runs, "solo": solo}


def test_goodput_over_time_beside_each_hosts_part() -> None:
    """Else a newcomer would not see who comes, what each gets, and what it should get."""
    figure = _figure(_outcome({"CUBIC": _field(1e5), "even": _field(2e5)}), kind="over-time")
    axes = figure.axes
    assert [axis.get_title(loc="left") for axis in axes] == ["CUBIC", "even"]
    assert [t.get_text() for t in axes[0].texts] == ["N2 comes", "N2 leaves"]
    lines = _lines(axes[0])
    assert lines["N2 gets"].get_ydata()[20] == pytest.approx(1.5e5 * 8 / 1e3)
    assert lines["N1 gets"].get_ydata()[20] == pytest.approx(8000)
    dashed = [li.get_ydata() for li in axes[0].get_lines() if li.get_linestyle() == "--"]
    near, far = (np.asarray(own, float) for own in dashed if len(own))
    assert near[[0, 20, 39]] == pytest.approx([16_000, 8_000, 16_000])
    assert far[[10, 20, 29]] == pytest.approx([1600] * 3)
    assert np.isnan(far[[9, 30]]).all()
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["N1 gets", "N2 gets", "its 1/n part of what it gets alone"]
    assert "2 runs" in axes[0].get_xlabel()


@pytest.mark.parametrize("duration_s", [0.5, 1.5, 2.0, 3.01])
def test_goodput_over_so_short_a_time(duration_s: float) -> None:
    """Else a run shorter than what is meant over would end in a traceback, and one whose last
    second is cut would end in a fall that nobody had."""
    count = math.ceil(duration_s)
    bins = [1e6] * int(duration_s) + [0.0] * (count - int(duration_s))
    made = scenario([flow("FTP 1", "N1")], "N1")
    result = {"scenario": made, "runs": [run([bins], duration_s=duration_s)]}
    for kind in ("over-time", "time"):
        (axis,) = _figure(_outcome({"off": result}), kind=kind).axes
        (line,) = [own for label, own in _lines(axis).items() if label in ("N1 gets", "FTP 1")]
        assert line.get_ydata()[1:-1] == pytest.approx([8000.0] * (int(duration_s) - 2))
        assert len(line.get_ydata()) == int(duration_s)


def test_words_of_events_stand_beside_each_other() -> None:
    """Else who comes within a few seconds of another could not be read."""
    flows = [flow(f"FTP {i}", f"N{i}", start_s=5.0 + 2 * i) for i in range(1, 4)]
    made = scenario(flows, "N1", "N2", "N3")
    result = {"scenario": made, "runs": [run([[1.0] * 100] * 3)]}
    (axis,) = _figure(_outcome({"off": result}), kind="over-time").axes
    figure = axis.figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axis.texts]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_persons_are_called_by_their_names() -> None:
    """Else a reader of the scenario would look for N1."""
    ann = person("Ann", "N1", 20, delivered_bytes=[1e5] * 20, start_s=5.0)
    result = {"scenario": scenario([], "N1"), "runs": [run([], [ann])]}
    (axis,) = _figure(_outcome({"off": result}), kind="over-time").axes
    assert "Ann gets" in _lines(axis)
    assert [t.get_text() for t in axis.texts] == ["Ann comes"]


def _loads(*loads: float | None) -> Table:
    pages = [page(10.0 + i, load) for i, load in enumerate(loads)]
    return {
        "scenario": scenario([], "N1"),
        "runs": [run([], [person("Ann", "N1", 100, pages=pages)])],
    }


def test_load_times_as_a_distribution() -> None:
    """Else the pages that never came would make a system look quick."""
    outcome = _outcome({"BBR": _loads(3.0, None, 1.0, None), "even": _loads(1.0, 2.0)})
    (axis,) = _figure(outcome, kind="distribution").axes
    lines = _lines(axis)
    bbr = lines["BBR (50.0% never)"]
    assert bbr.get_xdata().tolist() == [0, 1, 3]
    assert bbr.get_ydata().tolist() == [0, 25, 50]
    assert lines["even"].get_ydata().tolist() == [0, 50, 100]
    assert axis.get_legend() is not None


@pytest.mark.parametrize("log", [False, True])
def test_a_system_without_any_page_is_left_out(log: bool) -> None:
    outcome = _outcome({"off": _loads(), "never": _loads(None), "even": _loads(1.0, 2.0)})
    (axis,) = _figure(outcome, kind="distribution", log=log).axes
    assert {"never (100.0% never)", "even"} <= set(_lines(axis))
    assert "off" not in _lines(axis)


def test_what_a_name_holds_is_no_formula() -> None:
    """Else two dollars in it would end all that was run in a traceback; and where formulas are off,
    powers along an axis have to be read without them."""
    name = "pays 5$, gets 6_$"
    outcome = _outcome({name: _loads(0.2, 30.0), "even": _loads(1.0, 2.0)})
    figure = _figure(outcome, kind="distribution", log=True)
    figure.canvas.draw()
    (axis,) = figure.axes
    assert name in [text.get_text() for text in axis.get_legend().get_texts()]
    labels = [text.get_text() for text in axis.get_xticklabels()]
    assert {"1", "10"} <= set(labels)
    assert not any("$" in label for label in labels)


def _interval_lines(figure: Any) -> list[bool]:
    """Of each bar of a figure whether a line shows its interval."""
    bars = [c for axis in figure.axes for c in axis.containers if hasattr(c, "errorbar")]
    drawn = [c.errorbar[2][0].get_segments() for c in bars]
    return [len(segment) > 0 for segments in drawn for segment in segments]


def test_nothing_is_drawn_of_nothing() -> None:
    """Else a figure without an interval would look exact, and what was late would carry nothing."""
    known, single = {"mean": 9.0, "ci95": 2.0}, {"mean": 5.0, "ci95": None}

    def result(**flows: Table) -> Table:
        own = [{"name": name, "goodput_kbps": value} for name, value in flows.items()]
        return {"flows": own, "aggregate_kbps": known, "jain": {"mean": 1.0}}

    figure, axis = plt.subplots()
    figures.bars(axis, {"off": result(near=single), "on": result(far=known, near=single)})
    assert _interval_lines(figure) == [False, True, True, False, True]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["near", "far", "all"]
    assert [round(bar.get_x() + bar.get_width() / 2) for bar in axis.patches] == [0, 2, 1, 0, 2]
    case = {"name": "chain", "law": "gap"}
    late = {**case, "simulated": result(), "emulated": None}
    figure = figures.comparison_figure({"comparison": [late, {**late, "emulated": result()}]})
    bars = [c for c in figure.axes[0].containers if hasattr(c, "errorbar")]
    assert [len(of_side) for of_side in bars] == [2, 1]
    plt.close("all")


@pytest.mark.filterwarnings("error")
def test_a_run_of_many_flows_has_a_picture() -> None:
    """Else their names lie on each other, and a list of them leaves no room for what they got."""
    flows = [flow(f"transfer {n}", "N1") for n in range(40)]
    got = [f | {"goodput_kbps": {"mean": 100.0, "ci95": 1.0}} for f in flows]
    runs = [run([[1e5] * 40 for _ in flows])]
    picture = figures.result_figure({"scenario": scenario(flows, "N1"), "flows": got, "runs": runs})
    picture.canvas.draw()
    left, right = picture.axes
    names = [label.get_window_extent() for label in left.get_xticklabels()]
    assert all(a.x1 <= b.x1 and not a.overlaps(b) for a, b in pairwise(names))
    heights = [axis.get_window_extent().height for axis in (left, right)]
    assert min(heights) > 0.5 * picture.bbox.height
