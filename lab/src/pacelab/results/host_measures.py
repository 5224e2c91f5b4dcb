# SPDX-License-Identifier: GPL-2.0-only
"""The measures of hosts and persons: a value a run, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pacelab.results import felt, guarantee
from pacelab.results.guarantee import Field, field_of
from pacelab.results.runs import Run
from pacelab.scenario.schema import Table

Names = Sequence[str] | None


@dataclass(frozen=True)
class HostMeasure:
    """``of`` takes a scenario, a run, its solo series by hosts, names of hosts or persons or None.

    ``solo``: it needs solo runs. What else there is, is as a Measure has it.
    """

    label: str
    of: Callable[[Table, Run, Mapping[str, Table], Names], float | None]
    digits: int = 0
    absolute: bool = False
    percent: bool = False
    solo: bool = False


def _share(label: str, of: felt.Felt) -> HostMeasure:
    return HostMeasure(label, _felt(of), 3, absolute=True, percent=True)


def _felt(of: felt.Felt) -> Callable[[Table, Run, Mapping[str, Table], Names], float | None]:
    return lambda _scenario, run, _solos, names: of(run, names)


def _field(
    of: Callable[[Field], float | None],
) -> Callable[[Table, Run, Mapping[str, Table], Names], float | None]:
    return lambda scenario, run, solos, names: of(field_of(scenario, run, solos, names))


def _windows(what: str, of: Callable[[Field], float | None]) -> HostMeasure:
    label = f"{what} of a 1/n of what the host gets alone"
    return HostMeasure(label, _field(of), 3, absolute=True, percent=True, solo=True)


HOST_MEASURES = {
    "guarantee_least": _windows("least goodput over 10 s,", guarantee.least),
    "guarantee_median": _windows("median goodput over 10 s,", guarantee.middle),
    "guarantee_missed": _windows("share of 10 s windows under 0.9", guarantee.missed),
    "time_to_share_s": HostMeasure(
        "from arrival to 0.8 of its part, s", _field(guarantee.time_to_share_s), 1, solo=True
    ),
    "time_to_recover_s": HostMeasure(
        "from a departure until the others have 0.8 of their parts, s",
        lambda scenario, run, solos, names: guarantee.time_to_recover_s(
            scenario, run, field_of(scenario, run, solos, names)
        ),
        1,
        solo=True,
    ),
    "nash": HostMeasure(
        "mean log of goodput by what the host gets alone",
        _field(guarantee.nash),
        2,
        absolute=True,
        solo=True,
    ),
    "host_goodput": HostMeasure(
        "goodput of a host with bulk demand, kbit/s",
        lambda scenario, run, _solos, names: guarantee.host_goodput_kbps(scenario, run, names),
    ),
    "page_load_p50_s": HostMeasure(
        "median load time of a page, s", _felt(felt.page_quantile("load_s", 0.5)), 2
    ),
    "page_load_p95_s": HostMeasure(
        "load time of a page, 95% quantile, s", _felt(felt.page_quantile("load_s", 0.95)), 2
    ),
    "first_byte_p50_s": HostMeasure(
        "median time to a page's first byte, s", _felt(felt.page_quantile("first_byte_s", 0.5)), 2
    ),
    "first_byte_p95_s": HostMeasure(
        "time to a page's first byte, 95% quantile, s",
        _felt(felt.page_quantile("first_byte_s", 0.95)),
        2,
    ),
    "pages_unloaded": _share("share of pages that never loaded", felt.pages_unloaded),
    "call_mos": HostMeasure("score of calls, MOS", _felt(felt.call_mos), 2, absolute=True),
    "call_loss": _share("share of calls' packets lost", felt.call_loss),
    "video_kbps": HostMeasure("bit rate of video, kbit/s", _felt(felt.video_kbps)),
    "video_stall_share": _share("share of time that video stands still", felt.video_stall_share),
    "lookups_3s": _share("share of look-ups done within 3 s", felt.done_soon("lookups")),
    "handshakes_3s": _share("share of handshakes done within 3 s", felt.done_soon("handshakes")),
}


def solos_of_run(result: Table, index: int) -> dict[str, Table]:
    """The solo series of a result that belong to one of its runs, by hosts; none without them."""
    return {host: series[index] for host, series in result.get("solo", {}).items()}


def host_values(name: str, result: Table, names: Names = None) -> list[float | None]:
    """The measure of each run of a result, in their order; None where a run has none.

    A host without solo runs in the result has no part, so without any a measure of parts is None.
    """
    of = HOST_MEASURES[name].of
    return [
        of(result["scenario"], run, solos_of_run(result, i), names)
        for i, run in enumerate(result["runs"])
    ]
