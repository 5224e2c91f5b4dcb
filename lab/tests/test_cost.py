# SPDX-License-Identifier: GPL-2.0-only
"""What is said before a campaign of today's radio: how long it will take."""

import math
from typing import Any

import pytest

from pacelab.experiment.cost import START_S, cpu_s
from pacelab.experiment.cost_sinr import HEARD_S, PACKET_S, SHORTER_AGGREGATES
from pacelab.scenario import resolve

FAR = {"from": "B", "to": "A"}
NEAR = {"from": "B1", "to": "RL3"}


def _cost(*flows: dict[str, Any], hops: int = 4, **more: Any) -> float:
    """Of a chain of 802.11n with rate control, 25 m from node to node, without the start."""
    radio = {"model": "sinr", "standard": "802.11n", "path_loss_exponent": 3.3, "sense_dbm": -89.0}
    radio |= {"rts_cts": False} | more.pop("radio", {})
    mesh = {"hops": hops, "spacing_m": 25.0} | more.pop("mesh", {})
    document = {"duration_s": 60.0, "radio": radio, "mesh": mesh, "flow": list(flows), **more}
    return cpu_s(resolve(document, "test")) - START_S


def test_who_is_not_there_costs_nothing() -> None:
    """Else an arrival at half time would be announced like a whole run."""
    whole = _cost(FAR)
    assert _cost({**FAR, "start_s": 30.0}) == pytest.approx(whole / 2)
    assert _cost({**FAR, "stop_s": 15.0}) == pytest.approx(whole / 4)
    assert _cost({**FAR, "idle_at_s": 20.0, "idle_s": 15.0}) == pytest.approx(whole * 3 / 4)
    person = {"node": "A", "does": ["download"], "pause_at_s": 20.0, "pause_s": 15.0}
    assert _cost(person=[person]) == pytest.approx(whole * 3 / 4)


def test_relays_are_taken_where_they_are() -> None:
    """Else a chain would count as one hop over a link that carries next to nothing: three hops with
    aggregates for three queues, each packet at each."""
    one, three = _cost(FAR, hops=1), _cost(FAR, hops=3)
    heard = (PACKET_S + 4 * HEARD_S) / (PACKET_S + 2 * HEARD_S)  # by four nodes, not two
    queues = 1 + SHORTER_AGGREGATES * math.log2(3)
    assert three == pytest.approx(one * heard * queues / math.sqrt(3), rel=1e-6)


def test_a_channel_carries_no_more_than_it_can() -> None:
    """Else a crowd would be announced at a hundred times what it takes."""
    calls = [_cost(person=[{"node": "A", "does": ["call"]}] * count) for count in (1, 2, 60, 120)]
    assert calls[0] < calls[1] < calls[2] < 1.3 * _cost(*[FAR] * 30)
    assert calls[3] < 1.3 * calls[2]


def test_faster_links_carry_more() -> None:
    """Else 80 MHz, or a fixed rate, would be announced as 20 MHz with rate control are."""
    fixed = [_cost(NEAR, radio={"rate_control": "fixed", "mcs": mcs}) for mcs in (1, 4, 7)]
    assert fixed[0] < fixed[1] < fixed[2]
    assert fixed[1] < _cost(NEAR) <= fixed[2]  # 17 dB are for more than MCS 4
    assert _cost(NEAR) < _cost(NEAR, radio={"channel_mhz": 40})


def test_out_of_reach_nothing_comes() -> None:
    """Else a mesh whose links are too long would end at an error before it ran."""
    assert _cost(FAR, mesh={"spacing_m": 500.0}) == 0.0
