# SPDX-License-Identifier: GPL-2.0-only
"""Several gateways, random meshes, crosses, flows that stop: what they resolve to, what is told."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from pacelab.emulation import plan
from pacelab.errors import InputError
from pacelab.results import summary
from pacelab.scenario import load, resolve, topology
from pacelab.scenario.mesh import Node

RANDOM = '[mesh]\ntopology = "random"\nnodes = 20\ngateways = 5\nwidth_m = 700\nheight_m = 1000\n'
FLOW = '[[flow]]\nfrom = "B"\nto = "N1"\n'
TWO = """[mesh]
topology = "nodes"
[[node]]
name = "G1"
x_m = 0
y_m = 0
gateway = true
[[node]]
name = "M"
x_m = 200
y_m = 0
[[node]]
name = "G2"
x_m = 400
y_m = 0
gateway = true
"""
CLIENT = """[[client]]
name = "C"
x_m = 0
y_m = 100
to_x_m = 400
to_y_m = 100
"""
OLSR = '[routing]\nprotocol = "olsr"\n'
TO_M = '[[flow]]\nfrom = "B"\nto = "M"\n'

BAD = {
    "via to nowhere": (f'{TWO}{TO_M}via = "G3"\n', "flow.0.via", "known: G1, G2"),
    "via no gateway": (f'{TWO}{TO_M}via = "M"\n', "flow.0.via", "no gateway"),
    "two vias of a host": (
        f'{TWO}{TO_M}via = "G1"\n{TO_M}name = "x"\nvia = "G2"\n',
        "flow.1.via",
        "two hosts",
    ),
    "via in the mesh": (
        f'{TWO}[[flow]]\nfrom = "M"\nto = "G1"\nvia = "G2"\n',
        "flow.0.via",
        "no wired end",
    ),
    "two gateways, AODV": (
        f'[routing]\nprotocol = "aodv"\n{TWO}{TO_M}',
        "routing.protocol",
        'use "static"',
    ),
    "two radios, AODV": (
        '[routing]\nprotocol = "aodv"\n[radio]\nradios = 2\n[[flow]]\nfrom = "B"\nto = "A"\n',
        "routing.protocol",
        'use "static"',
    ),
    "two radios, OLSR": (
        f'{OLSR}[radio]\nradios = 2\n[[flow]]\nfrom = "B"\nto = "A"\n',
        "routing.protocol",
        'use "static"',
    ),
    "two gateways by ETX": (
        f'[routing]\nprotocol = "olsr"\nmetric = "etx"\n{TWO}{TO_M}',
        "routing.metric",
        'use "hops"',
    ),
    "via of OLSR": (f'{OLSR}{TWO}{TO_M}via = "G1"\n', "flow.0.via", "remove it"),
    "client on static routes": (f"{TWO}{CLIENT}{TO_M}", "routing.protocol", 'use "olsr"'),
    "known links of OLSR": (
        f'{OLSR}{TWO}[gateway]\nlink_rates = "known"\n{TO_M}',
        "gateway.link_rates",
        "piggybacked",
    ),
    "client under map": (
        f'{OLSR}{TWO}{CLIENT}[gateway]\nlaw = "map"\n{TO_M}',
        "gateway.law",
        'use "gap"',
    ),
    "client that is a sender under map": (
        f'{OLSR}{TWO}{CLIENT}[[flow]]\nfrom = "C"\nto = "B"\nlaw = "map"\n',
        "flow.0.law",
        'use "gap"',
    ),
    "client named as a node": (
        f"{OLSR}{TWO}{CLIENT.replace('C', 'M')}{TO_M}",
        "client.0.name",
        "another name",
    ),
    "client far away": (f"{OLSR}{TWO}{CLIENT.replace('100', '900')}{TO_M}", "node", '"C" has no'),
    "client without a goal": (
        f"{OLSR}{TWO}{CLIENT.replace('to_x_m = 400', '')}{TO_M}",
        "client.0.to_x_m",
        "missing",
    ),
    "three radios": (
        '[radio]\nradios = 3\n[[flow]]\nfrom = "B"\nto = "A"\n',
        "radio.radios",
        "at most 2",
    ),
    "hops of random": (f"{RANDOM}hops = 3\n{FLOW}", "mesh.hops", "remove"),
    "nodes of a chain": (
        '[mesh]\nnodes = 3\n[[flow]]\nfrom = "B"\nto = "A"\n',
        "mesh.nodes",
        "rem",
    ),
    "branches of a chain": (
        '[mesh]\nbranches = [1]\n[[flow]]\nfrom = "B"\nto = "A"\n',
        "mesh.branches",
        "rem",
    ),
    "seven branches": (
        f'[mesh]\ntopology = "tree"\nbranches = [1, 1, 1, 1, 1, 1, 1]\n{FLOW}',
        "mesh.branches",
        "1 to 6",
    ),
    "half a hop": (
        f'[mesh]\ntopology = "tree"\nbranches = [1.5]\n{FLOW}',
        "mesh.branches",
        "number of hops",
    ),
    "which mesh, drawn by nothing": (
        f'[mesh]\ntopology = "tree"\ntopology_seed = 2\n{FLOW}',
        "mesh.topology_seed",
        "remove",
    ),
    "only gateways": (f"{RANDOM.replace('5', '20')}{FLOW}", "mesh.gateways", "give less"),
    "too thin": (f"{RANDOM.replace('1000', '100000')}{FLOW}", "mesh", "more nodes"),
    "stop before start": (
        '[[flow]]\nfrom = "B"\nto = "A"\nstart_s = 5.0\nstop_s = 5.0\n',
        "flow.0.stop_s",
        "give more",
    ),
}


@pytest.mark.parametrize(("text", "key", "remedy"), BAD.values(), ids=BAD.keys())
def test_bad_mesh_is_one_line(
    text: str, key: str, remedy: str, refusal: Callable[[str], str]
) -> None:
    """Else a user would meet a traceback, or not learn where the mistake is."""
    error = refusal(text)
    assert f".toml: {key}: " in error
    assert remedy in error


def _neighbours(nodes: list[Node], reach_m: float) -> dict[str, set[str]]:
    return {
        a.name: {
            b.name
            for b in nodes
            if a is not b and math.dist((a.x_m, a.y_m), (b.x_m, b.y_m)) <= reach_m
        }
        for a in nodes
    }


def test_random_mesh(write: Callable[[str], str]) -> None:
    """Else a random mesh would not be as large, as connected or as repeatable as its file says."""
    nodes = load(write(RANDOM + FLOW)).nodes
    assert [n.name for n in nodes if n.gateway] == [f"IG{i}" for i in range(1, 6)]
    assert [n.name for n in nodes if not n.gateway] == [f"N{i}" for i in range(1, 16)]
    assert all(0 <= n.x_m <= 700 and 0 <= n.y_m <= 1000 for n in nodes)
    assert max(n.y_m for n in nodes) > 700, "over all of the area"
    neighbours = _neighbours(nodes, 250)
    reached, new = {"IG1"}, {"IG1"}
    while new:
        new = set().union(*(neighbours[n] for n in new)) - reached
        reached |= new
    assert len(reached) == 20
    assert load(write(RANDOM + FLOW)).nodes == nodes
    assert load(write(f"{RANDOM}topology_seed = 2\n{FLOW}")).nodes != nodes


def test_a_client_is_a_node_that_walks(write: Callable[[str], str]) -> None:
    """It stands among the nodes where it sets out, and the simulator is told where it goes."""
    scenario = load(write(f"{OLSR}{TWO}{CLIENT}{TO_M.replace('M', 'C')}"))
    assert scenario.nodes[-1] == Node(name="C", x_m=0.0, y_m=100.0)
    assert scenario.as_dict()["clients"] == [
        {"name": "C", "to_x_m": 400.0, "to_y_m": 100.0, "speed_mps": 1.0, "start_s": 0.0}
    ]
    routing = scenario.routing
    assert (routing.protocol, routing.hello_s, routing.tc_s) == ("olsr", 2.0, 5.0)
    assert scenario.wired_hosts == ["B"]


def test_a_mesh_without_use_of_its_gateway(write: Callable[[str], str]) -> None:
    """Flows between mesh nodes need no wired host: DSN 2005's random mesh."""
    text = '[mesh]\ntopology = "random"\nnodes = 120\nwidth_m = 2500\nheight_m = 1000\n'
    scenario = load(write(f'{text}[[flow]]\nfrom = "N3"\nto = "N9"\nlaw = "ap"\n'))
    assert scenario.wired_hosts == []
    assert len(scenario.nodes) == 120
    assert scenario.flows[0].law == "ap"


def test_reach_of_a_random_mesh(write: Callable[[str], str]) -> None:
    """Else nodes that a radio reaches only badly would count as neighbours."""
    nodes = load(write(f"{RANDOM}reach_m = 220\n{FLOW}")).nodes
    assert topology.unreachable(nodes, 220) == []
    assert nodes != load(write(RANDOM + FLOW)).nodes


def test_cross_is_figure_17(write: Callable[[str], str]) -> None:
    """Else four flows would not meet at the gateway over paths of equal length."""
    text = '[mesh]\ntopology = "cross"\nhops = 3\n[[flow]]\nfrom = "B1"\nto = "A1"\n'
    nodes = {n.name: (n.x_m, n.y_m) for n in load(write(text)).nodes}
    assert len(nodes) == 13
    assert nodes["IG"] == (0, 0)
    assert [nodes[f"A{i}"] for i in range(1, 5)] == [(-600, 0), (0, 600), (600, 0), (0, -600)]
    assert (nodes["RL1"], nodes["RL2"], nodes["RL8"]) == ((-400, 0), (-200, 0), (0, -200))


def test_tree(write: Callable[[str], str]) -> None:
    """Else branches would not meet at the gateway, or their ends would have other names."""
    text = '[mesh]\ntopology = "tree"\nbranches = [1, 2, 4]\nspacing_m = 25\n'
    nodes = {
        n.name: (n.x_m, n.y_m)
        for n in load(write(f'{text}[[flow]]\nfrom = "B"\nto = "A3"\n')).nodes
    }
    assert list(nodes) == ["IG", "A1", "RL1", "A2", "RL4", "RL3", "RL2", "A3"]
    assert nodes["A1"] == (-25, 0)
    distances = {name: math.hypot(*place) for name, place in nodes.items()}
    assert [round(distances[f"A{i}"]) for i in (1, 2, 3)] == [25, 50, 100]
    firsts = [nodes[name] for name in ("A1", "RL1", "RL4")]
    for a, b in ((0, 1), (1, 2), (0, 2)):
        assert math.dist(firsts[a], firsts[b]) == pytest.approx(25 * math.sqrt(3), abs=0.02)


def test_shadowing_is_drawn_for_any_mesh(write: Callable[[str], str]) -> None:
    """The simulator is told which mesh of many, and every seed of a run gets the same."""
    text = '[radio]\nmodel = "sinr"\nshadowing_db = 6\n[mesh]\ntopology_seed = 7\n'
    scenario = load(write(f'{text}[[flow]]\nfrom = "B"\nto = "A"\n'))
    assert (scenario.radio.shadowing_db, scenario.radio.topology_seed) == (6.0, 7)


def test_grid(write: Callable[[str], str]) -> None:
    """Else flows along rows and columns would not cross where their names say."""
    text = '[mesh]\ntopology = "grid"\n[[flow]]\nfrom = "R2C1"\nto = "R2C7"\n'
    nodes = load(write(text)).nodes
    places = {n.name: (n.x_m, n.y_m) for n in nodes}
    assert len(places) == 21
    assert (places["R1C1"], places["R1C7"], places["R3C2"]) == ((0, 0), (1200, 0), (200, 400))
    assert [n.name for n in nodes if n.gateway] == ["R1C1"]


def test_emulation_refuses_what_it_has_not(write: Callable[[str], str]) -> None:
    """Else a mesh of several gateways or radios would be emulated as another one."""
    chain = '[[flow]]\nfrom = "B"\nto = "A"\n'
    for text, word in (
        (TWO + TO_M, "gateways"),
        (f"[radio]\nradios = 2\n{chain}", "radios"),
        (f"{chain}idle_s = 20.0\n", "idle_s"),
    ):
        with pytest.raises(InputError, match=word) as error:
            plan.check(load(write(text), emulated=True))
        assert "\n" not in str(error.value)


def _run(bins: list[list[int]]) -> Any:
    return {
        "warmup_s": 10.0,
        "duration_s": 60.0,
        "bin_s": 1.0,
        "flows": [{"goodput_bytes": sum(b[10:]), "delivered_bytes": b} for b in bins],
    }


def test_fairness_is_that_of_the_time_in_which_all_flows_are_there() -> None:
    """Else a flow that has ended would be called starved, and a rate after it unfair."""
    flows = [{"from": "B", "to": "A"}, {"from": "B", "to": "A", "stop_s": 40.5, "start_s": 20.0}]
    scenario = resolve({"duration_s": 60.0, "flow": flows}, "test")
    period_s = summary.shared_period_s(scenario)
    assert period_s == (20.0, 40.5)
    run = _run([[100] * 60, [0] * 20 + [80] * 20 + [40] + [0] * 19])
    assert summary.run_spread(run, period_s) == pytest.approx(0.2)
    assert summary.run_starved_10s(run, period_s) == 0
    assert summary.run_jain(run, period_s) == pytest.approx(180**2 / (2 * (100**2 + 80**2)))
    assert summary.run_jain_10s(run, period_s) == pytest.approx(summary.run_jain(run, period_s))


def test_a_flow_that_gets_nothing_is_starved() -> None:
    """Else the worst case would be a division by zero, or look fair."""
    run = _run([[100] * 60, [0] * 60])
    assert summary.run_spread(run, (10.0, 60.0)) == 1
    assert summary.run_starved_10s(run, (10.0, 60.0)) == 1


def test_flows_that_never_meet_are_judged_by_all_the_time() -> None:
    """Else fairness of flows one after the other would be that of no time at all."""
    flows = [{"from": "B", "to": "A", "stop_s": 30.0}, {"from": "B", "to": "A", "start_s": 40.0}]
    scenario = resolve({"duration_s": 60.0, "flow": flows}, "test")
    assert summary.shared_period_s(scenario) == (10.0, 60.0)
