# SPDX-License-Identifier: GPL-2.0-only
"""Transfers at random: keys, and what they resolve to."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from pacelab.scenario import resolve
from pacelab.scenario.flows import Flow

GATEWAY = '[[node]]\nname = "IG"\nx_m = 0\ny_m = 0\ngateway = true\n'
ONE = f'{GATEWAY}[[node]]\nname = "A"\nx_m = 9\ny_m = 0\n'

BAD = {
    "of one": ("[transfers]\nhosts = 1\n", "give 2 or more"),
    "of fewer": ("[transfers]\nhosts = -1\n", "at least 0"),
    "between nobody": (f'[mesh]\ntopology = "nodes"\n{ONE}[transfers]\nhosts = 2\n', "give nodes"),
}


@pytest.mark.parametrize(("text", "remedy"), BAD.values(), ids=BAD.keys())
def test_bad_transfers_are_one_line(text: str, remedy: str, refusal: Callable[[str], str]) -> None:
    """Else a mistake would end in a traceback, or draw something else."""
    error = refusal(text)
    assert "transfers.hosts" in error
    assert remedy in error
    assert "\n" not in error.strip()


def _drawn(seed: int, **more: Any) -> list[Flow]:
    document = {
        "mesh": {"topology": "chain", "hops": 4},
        "duration_s": 100.0,
        "transfers": {"hosts": 4, "seed": seed},
        **more,
    }
    return resolve(document, "test").flows


def test_they_are_the_same_for_every_system_and_others_of_another_seed() -> None:
    """Else systems would be compared over different transfers, or these would be no random ones."""
    assert _drawn(1) == _drawn(1, gateway={"law": "even"})
    assert len({repr(_drawn(seed)) for seed in range(1, 21)}) == 20


def test_each_has_a_node_and_a_wired_host_of_its_own() -> None:
    """Else two that share them would be one host, and have one part."""
    for seed in range(1, 51):
        flows = _drawn(seed)
        ends = [end for flow in flows for end in (flow.from_, flow.to)]
        assert 2 <= len(flows) <= 4
        assert len(set(ends)) == 2 * len(flows)
        assert "IG" not in ends


def test_what_the_file_states_stays_and_keeps_its_ends() -> None:
    """Else nobody could be put beside them, or would share the other end of one."""
    own = {"name": "own", "from": "B1", "to": "A"}
    flows = _drawn(3, flow=[own], ping=[{"from": "B2", "to": "A"}])
    assert flows[0].name == "own"
    assert len(flows) > 2
    drawn = [end for flow in flows[1:] for end in (flow.from_, flow.to)]
    assert not {"B1", "B2"} & set(drawn)


def test_all_kinds_are_drawn_as_often_as_documented() -> None:
    """Else what is rare would be tried by nobody."""
    flows = [flow for seed in range(1, 1001) for flow in _drawn(seed)]
    kinds = {
        "up": Counter(flow.from_[0] != "B" for flow in flows),
        "opaque": Counter(flow.opaque for flow in flows),
        "bbr": Counter(flow.variant == "bbr" for flow in flows),
        "late": Counter(flow.start_s > 0 for flow in flows),
        "ends": Counter(flow.stop_s > 0 for flow in flows),
        "pauses": Counter(flow.idle_s > 0 for flow in flows),
    }
    shares = {kind: counts[True] / len(flows) for kind, counts in kinds.items()}
    wanted = {"up": 1 / 3, "opaque": 1 / 4, "bbr": 1 / 2, "late": 1 / 2, "ends": 1 / 3}
    assert shares == pytest.approx({**wanted, "pauses": 1 / 3}, abs=0.05)
    for flow in flows:
        end_s = flow.stop_s or 100.0
        assert flow.start_s <= 40.0
        assert end_s - flow.start_s >= 20.0
        if flow.idle_s:
            assert flow.start_s + 20.0 <= flow.idle_at_s <= 70.0
