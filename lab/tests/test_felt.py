# SPDX-License-Identifier: GPL-2.0-only
"""What people feel: of persons whose pages, calls and videos are known."""

import pytest

from made_up import page, person, run, scenario
from pacelab.results import emodel
from pacelab.results.host_measures import host_values
from pacelab.scenario.schema import Table

S = 100  # length of a run, s


def _value(name: str, *people: Table, hosts: list[str] | None = None) -> float | None:
    made = scenario([], "N1", "N2")
    one = run([], list(people), warmup_s=10.0)
    (value,) = host_values(name, {"scenario": made, "runs": [one]}, hosts)
    return value


def _ann(**own: object) -> Table:
    return person("Ann", "N1", S, **own)


@pytest.mark.parametrize(
    ("delay_ms", "impairment"), [(0, 0.0), (100, 0.0), (200, 3.044), (400, 24.07)]
)
def test_the_delay_impairs_as_g107_has_it(delay_ms: float, impairment: float) -> None:
    """Idd, computed by hand of eq. (7-27): at 200 ms X is 1, at 400 ms 2."""
    assert emodel.delay_impairment(delay_ms) == pytest.approx(impairment, abs=0.01)


def test_losses_impair_as_g107_has_it() -> None:
    """Ie,eff is 0 without loss, half of its greatest at a loss of Bpl percent."""
    assert emodel.loss_impairment(0) == 0
    assert emodel.loss_impairment(0.251) == pytest.approx(95 / 2)


@pytest.mark.parametrize(
    ("r", "score"), [(93.2, 4.41), (90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)]
)
def test_scores_are_those_of_g107s_table(r: float, score: float) -> None:
    """Annex B's table of R and MOS, whose 4.03 is 4.024 by the annex' own formula; and the default
    R of 93.2, which is 4.41."""
    assert emodel.mos(r) == pytest.approx(score, abs=0.0061)


def test_a_score_stays_within_its_scale() -> None:
    assert (emodel.mos(0), emodel.mos(3), emodel.mos(100)) == (1.0, 1.0, 4.5)
    assert emodel.rating(5000, 1.0) == 0


def _heard(sent: int, lost: int, delay_ms: float | None) -> Table:
    return {"sent": sent, "lost": lost, "delay_ms": delay_ms, "delay_p95_ms": delay_ms}


def _call(*windows: tuple[Table, Table]) -> Table:
    own = [{"at_s": 10.0 * (i + 1), "up": u, "down": d} for i, (u, d) in enumerate(windows)]
    return {"at_s": 10.0, "length_s": 10.0 * len(own), "windows": own}


def test_a_call_is_as_good_as_its_worse_direction() -> None:
    """Else who is not heard would be said to hear well."""
    good, silent = _heard(500, 0, 60.0), _heard(500, 500, None)
    assert _value("call_mos", _ann(calls=[_call((good, good))])) == pytest.approx(4.41, abs=0.01)
    assert _value("call_mos", _ann(calls=[_call((good, silent))])) == 1.0
    assert _value("call_loss", _ann(calls=[_call((good, silent))])) == 0.5
    late = _ann(calls=[_call((good, _heard(500, 0, 360.0)))])
    assert _value("call_mos", late) == pytest.approx(emodel.mos(93.2 - 24.07), abs=0.01)


def test_windows_in_which_nobody_spoke_do_not_count() -> None:
    calls = [_call((_heard(500, 0, 60.0), _heard(0, 0, None)))]
    assert _value("call_mos", _ann(calls=calls)) is None
    early = {**calls[0], "windows": [{**calls[0]["windows"][0], "at_s": 0.0}]}
    assert _value("call_loss", _ann(calls=[early])) is None


def test_load_times_of_pages() -> None:
    """Else pages of the warm-up would count, or half a page; and one that never came would be quick
    by not being there."""
    loaded = [page(at, load_s=1.0 + at / 100) for at in (20.0, 30.0, 40.0)]
    early, late = page(5.0, 90.0), page(95.0, 0.1)
    ann = _ann(pages=[early, *loaded, late])
    assert _value("page_load_p50_s", ann) == pytest.approx(1.3)
    assert _value("pages_unloaded", ann) == 0.0
    lost = [page(60.0, None, first_byte_s=0.5), page(50.0, None, first_byte_s=None)]
    ann = _ann(pages=[*loaded, *lost])
    assert _value("pages_unloaded", ann) == pytest.approx(0.4)
    # The one was waited for until the next was asked for, 10 s, the other to the end, 40 s.
    assert _value("page_load_p95_s", ann) == pytest.approx(10 + 0.8 * 30)
    assert _value("first_byte_p50_s", ann) == pytest.approx(0.1)
    assert _value("first_byte_p95_s", ann) == pytest.approx(0.5 + 0.8 * 9.5)


def test_who_leaves_waits_no_longer() -> None:
    """Else a page would be said to hang for as long as the run goes on without its person."""
    ann = _ann(pages=[page(20.0, None)], stop_s=40.0)
    assert _value("page_load_p50_s", ann) == pytest.approx(20.0)
    assert _value("pages_unloaded", _ann(pages=[page(35.0, None)], stop_s=40.0)) is None


def test_persons_are_chosen_by_name_or_by_host() -> None:
    """Else the far one's page would be judged by the near one's."""
    ann = _ann(pages=[page(20.0, 1.0)])
    bob = person("Bob", "N2", S, pages=[page(20.0, 3.0)])
    assert _value("page_load_p50_s", ann, bob) == 2.0
    assert _value("page_load_p50_s", ann, bob, hosts=["Bob"]) == 3.0
    assert _value("page_load_p50_s", ann, bob, hosts=["N1"]) == 1.0


def _video(
    at_s: float, startup_s: float | None, kbps: list[float], *stalls: tuple[float, float]
) -> Table:
    """Segments every 4 s."""
    return {
        "at_s": at_s,
        "startup_s": startup_s,
        "opaque": False,
        "segments": [{"at_s": at_s + 4.0 * i, "kbps": k} for i, k in enumerate(kbps)],
        "stalls": [{"at_s": at, "length_s": length} for at, length in stalls],
    }


def test_video() -> None:
    """Else a video that never began would be one without stalls."""
    plays = _video(20.0, 2.0, [1000.0, 3000.0], (30.0, 4.0), (40.0, 5.0))
    assert _value("video_kbps", _ann(videos=[plays])) == 2000.0
    assert _value("video_stall_share", _ann(videos=[plays])) == pytest.approx(9 / 78)
    never = _video(60.0, None, [])
    both = _ann(videos=[plays, never])
    assert _value("video_kbps", both) == pytest.approx(4000 / 3)
    assert _value("video_stall_share", both) == pytest.approx((9 + 40) / (38 + 40))


def test_a_video_that_began_in_the_warm_up_counts_from_its_end_on() -> None:
    """Else one that goes on all the time would be left out, or its start counted."""
    plays = _video(2.0, 1.0, [100.0, 100.0, 800.0, 600.0], (5.0, 10.0))
    assert _value("video_kbps", _ann(videos=[plays])) == 700.0
    assert _value("video_stall_share", _ann(videos=[plays])) == pytest.approx(5 / 90)
    silent = _video(2.0, 1.0, [100.0])
    assert _value("video_kbps", _ann(videos=[silent])) == 0.0
    assert _value("video_kbps", _ann(videos=[silent], stop_s=15.0)) is None  # too short to tell
    assert _value("video_kbps", _ann(videos=[silent], stop_s=8.0)) is None


@pytest.mark.parametrize("key", ["lookups", "handshakes"])
def test_what_is_done_within_three_seconds(key: str) -> None:
    """Else one that takes for ever would count as one that nobody can know of yet."""
    took = [(5.0, None), (20.0, 0.1), (30.0, 3.0), (40.0, 3.1), (50.0, None), (98.0, None)]
    ann = _ann(**{key: [{"at_s": at, "took_s": t} for at, t in took]})
    assert _value(f"{key}_3s", ann) == 0.5


def test_nobody_feels_nothing() -> None:
    """Else a scenario without persons would have figures of them."""
    for name in ("page_load_p50_s", "pages_unloaded", "call_mos", "call_loss", "video_kbps"):
        assert _value(name, _ann()) is None
    for name in ("video_stall_share", "lookups_3s", "handshakes_3s"):
        assert _value(name, _ann()) is None
