# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files: what a good one resolves to, what a bad one is told."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import cli, simulator
from pacelab.errors import InputError
from pacelab.scenario import load, resolve
from pacelab.scenario.document import override, parse_setting
from pacelab.scenario.flows import Tcp
from pacelab.scenario.messages import key_of, table_of
from pacelab.scenario.models import ScenarioFile
from pacelab.scenario.radio import Radio

FLOW = '[[flow]]\nfrom = "B"\nto = "A"\n'
NODES = """[mesh]
topology = "nodes"
[[node]]
name = "IG"
x_m = 0
y_m = 0
gateway = true
[[node]]
name = "A"
x_m = {x}
y_m = 0
gateway = {gateway}
"""

TODAY_RADIO = '[radio]\nmodel = "sinr"\nstandard = "802.11n"\n'

BAD = {
    "CTS rules": (
        "[radio]\ncts_ignores_nav = true\ncts_when_idle = true\n" + FLOW,
        "radio.cts_when_idle",
        "cts_ignores_nav",
    ),
    "a name that no picture can hold": (
        FLOW + 'name = "bell \\u0007"\n',
        "flow.0.name",
        r"control character, '\x07'; remove it",
    ),
    "a name of two lines": (FLOW + 'name = "one\\ntwo"\n', "flow.0.name", "remove it"),
    "a name that no XML has": (FLOW + 'name = "\\uFFFF"\n', "flow.0.name", "remove it"),
    "a node that no picture can hold": (
        FLOW.replace('"A"', '"\\u001B"'),
        "flow.0.to",
        "control character",
    ),
    "a name without end": (
        FLOW + f'name = "{"x" * 5000}"\n',
        "flow.0.name",
        "has 5000 letters; give at most 100",
    ),
    "a wired host without end": (
        FLOW.replace('"B"', f'"B{"1" * 5000}"'),
        "flow.0.from",
        "give at most 100",
    ),
    "a title that no picture can hold": (
        'title = "\\u0000"\n' + FLOW,
        "title",
        "control character",
    ),
    "unknown key": (f"[radio]\ntx_rnge_m = 3.0\n{FLOW}", "radio.tx_rnge_m", 'mean "tx_range_m"?'),
    "unknown section": (f"[radoi]\nx = 1\n{FLOW}", "radoi", 'mean "radio"?'),
    "wrong type": (f'[mesh]\nhops = "many"\n{FLOW}', "mesh.hops", "give a whole number"),
    "boolean for a number": (f"[mesh]\nhops = true\n{FLOW}", "mesh.hops", "give a whole number"),
    "fraction for a count": (f"[mesh]\nhops = 2.5\n{FLOW}", "mesh.hops", "give a whole number"),
    "too small": (f"[mesh]\nhops = 0\n{FLOW}", "mesh.hops", "at least 1"),
    "too large": (f"[mesh]\nhops = 1000000\n{FLOW}", "mesh.hops", "at most 100"),
    "huge": (f"[mesh]\nspacing_m = 1{'0' * 400}\n{FLOW}", "mesh.spacing_m", "finite"),
    "not a number": (f"[wired]\nmbps = nan\n{FLOW}", "wired.mbps", "finite"),
    "infinite": (f"duration_s = inf\n{FLOW}", "duration_s", "finite"),
    "no such choice": (f'[routing]\nprotocol = "ospf"\n{FLOW}', "routing.protocol", "static, aodv"),
    "hello of static": (f"[routing]\nhello_s = 1.0\n{FLOW}", "routing.hello_s", "remove it"),
    "metric of aodv": (
        f'[routing]\nprotocol = "aodv"\nmetric = "etx"\n{FLOW}',
        "routing.metric",
        'protocol "olsr" only',
    ),
    "range of sinr": (
        f'[radio]\nmodel = "sinr"\ntx_range_m = 9.0\n{FLOW}',
        "radio.tx_range_m",
        'no meaning with model "sinr"; remove it',
    ),
    "power of range": (f"[radio]\ntx_power_dbm = 9.0\n{FLOW}", "radio.tx_power_dbm", "remove it"),
    "mcs of 802.11b": ("[radio]\nmcs = 3\n" + FLOW, "radio.mcs", "only with 802.11n and 802.11ac"),
    "bit rate of 802.11n": (
        f'[radio]\nmodel = "sinr"\nstandard = "802.11n"\ndata_mbps = 54.0\n{FLOW}',
        "radio.data_mbps",
        "only with 802.11b and 802.11g",
    ),
    "bit rate of another standard": (
        f"[radio]\ndata_mbps = 54.0\n{FLOW}",
        "radio.data_mbps",
        "use 11, 5.5, 2, 1",
    ),
    "two streams": (
        f'[radio]\nmodel = "sinr"\nstandard = "802.11n"\nmcs = 8\n{FLOW}',
        "radio.mcs",
        "at most 7",
    ),
    "mcs under rate control": (
        f'{TODAY_RADIO}mcs = 3\nrate_control = "minstrel"\n{FLOW}',
        "radio.mcs",
        'set "fixed"',
    ),
    "mcs of wider channels": (
        f'[radio]\nmodel = "sinr"\nstandard = "802.11ac"\nmcs = 9\n{FLOW}',
        "radio.mcs",
        "at most 8",
    ),
    "80 MHz of 802.11n": (
        f'[radio]\nmodel = "sinr"\nstandard = "802.11n"\nchannel_mhz = 80\n{FLOW}',
        "radio.channel_mhz",
        "at most 40",
    ),
    "airtime bound of a fifo": (
        f'[radio]\nmodel = "sinr"\nstandard = "802.11n"\naql_us = 9.0\n{FLOW}',
        "radio.aql_us",
        'set "fq_codel"',
    ),
    "locks below what it senses": (
        f'[radio]\nmodel = "sinr"\nlock_dbm = -90.0\n{FLOW}',
        "radio.lock_dbm",
        "below sense_dbm",
    ),
    "fading of range": (f'[radio]\nfading = "nakagami"\n{FLOW}', "radio.fading", "remove it"),
    "range of 802.11n": (f'[radio]\nstandard = "802.11n"\n{FLOW}', "radio.standard", "sinr"),
    "control rate of 802.11b in 802.11g": (
        f'[radio]\nstandard = "802.11g"\ncontrol_mbps = 1.0\n{FLOW}',
        "radio.control_mbps",
        "use 6, 12, 24",
    ),
    "control rate of 802.11g in 802.11b": (
        f"[radio]\nbroadcast_mbps = 6.0\n{FLOW}",
        "radio.broadcast_mbps",
        "use 1, 2, 5.5, 11",
    ),
    "control rate of sinr's 802.11g": (
        f'[radio]\nmodel = "sinr"\nstandard = "802.11g"\ncontrol_mbps = 6.0\n{FLOW}',
        "radio.control_mbps",
        "remove it",
    ),
    "hears below the noise": (
        f'[radio]\nmodel = "sinr"\nsense_dbm = -95.0\n{FLOW}',
        "radio.sense_dbm",
        "at least -93.5",
    ),
    "unknown node": ('[[flow]]\nfrom = "B"\nto = "RL9"\n', "flow.0.to", 'mean "RL'),
    "to itself": ('[[flow]]\nfrom = "A"\nto = "A"\n', "flow.0.to", "another node"),
    "wired to wired": ('[[flow]]\nfrom = "B"\nto = "B2"\n', "flow.0.to", "mesh node"),
    "no flow": ('title = "x"', "flow", "[[flow]]"),
    "flow without end": ('[[flow]]\nfrom = "B"\n', "flow.0.to", "is missing"),
    "flow as table": ('[flow]\nfrom = "B"\n', "flow", "[[flow]]"),
    "section as value": (f"radio = 3\n{FLOW}", "radio", "table"),
    "two flows of a name": (FLOW.replace("]]", ']]\nname = "x"') * 2, "flow.1.name", "another"),
    "starts after the end": (
        f"duration_s = 20.0\n{FLOW}start_s = 20.0\n",
        "flow.0.start_s",
        "less",
    ),
    "all warm-up": (f"duration_s = 10.0\nwarmup_s = 10.0\n{FLOW}", "warmup_s", "give less"),
    "cs below tx": (f"[radio]\ncs_range_m = 200.0\n{FLOW}", "radio.cs_range_m", "at least"),
    "law of a wired sender": (f'{FLOW}law = "gap"\n', "flow.0.law", "gateway.law"),
    "cbr without a rate": (f'{FLOW}traffic = "cbr"\n', "flow.0.rate_kbps", "kbit/s"),
    "rate of ftp": (f"{FLOW}rate_kbps = 5.0\n", "flow.0.rate_kbps", "remove"),
    "shaper without a rate": (
        f'{FLOW.replace("B", "RL1")}law = "shaper"\n',
        "flow.0.rate_kbps",
        "payload",
    ),
    "bucket without shaper": (f"{FLOW}bucket = 3\n", "flow.0.bucket", "remove it"),
    "departures that no law paces": (
        f"{FLOW}live_departures = true\n",
        "flow.0.live_departures",
        "give it a law",
    ),
    "a liar whose TCP nobody reads": (
        f'{FLOW}receiver = "early"\nopaque = true\n',
        "flow.0.receiver",
        "or opaque",
    ),
    "a liar that thins ACKs": (
        f'{FLOW}receiver = "early"\ndelayed_ack = "thinning"\n',
        "flow.0.receiver",
        "or delayed_ack",
    ),
    "a liar of pages": (
        f'{FLOW}receiver = "early"\ntraffic = "files"\n',
        "flow.0.receiver",
        "remove it",
    ),
    "gateway's shaper without a rate": (
        f'[gateway]\nlaw = "shaper"\n{FLOW}',
        "gateway.rate_kbps",
        "payload",
    ),
    "gateway's rate without shaper": (
        f'[gateway]\nlaw = "gap"\nrate_kbps = 3.0\n{FLOW}',
        "gateway.rate_kbps",
        "remove it",
    ),
    "cake without a rate": (f'[gateway]\nlaw = "cake"\n{FLOW}', "gateway.rate_kbps", "direction"),
    "rates of no host": (f'[gateway]\nlaw = "hosts"\n{FLOW}', "gateway.host_kbps", "A = 4000"),
    "rate of an unknown host": (
        f'[gateway]\nlaw = "hosts"\nhost_kbps = {{ RL77 = 5 }}\n{FLOW}',
        "gateway.host_kbps.RL77",
        'mean "RL7"',
    ),
    "rate of a gateway": (
        f'[gateway]\nlaw = "hosts"\nhost_kbps = {{ IG = 5 }}\n{FLOW}',
        "gateway.host_kbps.IG",
        "but a gateway",
    ),
    "no rate of a host": (
        f'[gateway]\nlaw = "hosts"\nhost_kbps = {{ A = 0 }}\n{FLOW}',
        "gateway.host_kbps",
        "at least 0.001",
    ),
    "rates of hosts without hosts": (
        f"[gateway]\nhost_kbps = {{ A = 5 }}\n{FLOW}",
        "gateway.host_kbps",
        "remove it",
    ),
    "a weight of no host": (
        f'[gateway]\nlaw = "even"\nhost_weight = {{ RL77 = 2 }}\n{FLOW}',
        "gateway.host_weight.RL77",
        "is of no mesh node",
    ),
    "a weight of nothing": (
        f'[gateway]\nlaw = "even"\nhost_weight = {{ A = 0 }}\n{FLOW}',
        "gateway.host_weight",
        "0.01",
    ),
    "a least rate without even": (
        f'[gateway]\nlaw = "gap"\nleast_kbps = 5\n{FLOW}',
        "gateway.least_kbps",
        '"even" only',
    ),
    "fairness without even": (
        f'[gateway]\nlaw = "gap"\nfairness = "air"\n{FLOW}',
        "gateway.fairness",
        "remove it",
    ),
    "gateway's queueing under a law": (
        f'[gateway]\nlaw = "gap"\nqueueing = "codel"\n{FLOW}',
        "gateway.queueing",
        "turn the law off",
    ),
    "link of one": (
        f'[[link]]\nbetween = ["A"]\nmbps = 2.0\n{FLOW}',
        "link.0.between",
        "two nodes",
    ),
    "link of numbers": (
        f"[[link]]\nbetween = [[1], 2]\nmbps = 2.0\n{FLOW}",
        "link.0.between",
        "two nodes",
    ),
    "link to nowhere": (
        f'[[link]]\nbetween = ["A", "RL10"]\nmbps = 2.0\n{FLOW}',
        "link.0.between",
        'mean "RL1"?',
    ),
    "link at a rate of another standard": (
        f'[[link]]\nbetween = ["A", "RL1"]\nmbps = 54.0\n{FLOW}',
        "link.0.mbps",
        "use 11, 5.5, 2, 1",
    ),
    "two rates of a link": (
        '[[link]]\nbetween = ["A", "RL1"]\nmbps = 2.0\n'
        f'[[link]]\nbetween = ["RL1", "A"]\nmbps = 1.0\n{FLOW}',
        "link.1.between",
        "remove one",
    ),
    "link of 802.11n": (
        '[radio]\nmodel = "sinr"\nstandard = "802.11n"\n'
        f'[[link]]\nbetween = ["A", "RL1"]\nmbps = 54.0\n{FLOW}',
        "link.0",
        "one bit rate",
    ),
    "disconnected chain": (f"[mesh]\nspacing_m = 251.0\n{FLOW}", "mesh", "disconnected"),
    "disconnected": (NODES.format(x=251, gateway="false") + FLOW, "node", "disconnected"),
    "no gateway": (
        NODES.format(x=200, gateway="false").replace("gateway = true", "") + FLOW,
        "node",
        "at least one",
    ),
    "node named B": (NODES.format(x=9, gateway="false").replace('"A"', '"B"'), "node.1.name", "B"),
    "no nodes": (f'[mesh]\ntopology = "nodes"\n{FLOW}', "node", "[[node]]"),
    "nodes of a chain": (f'{FLOW}[[node]]\nname = "x"\nx_m = 1\ny_m = 1\n', "node", '"nodes"'),
    "not TOML": ("[radio", "scenario.toml", "not TOML"),
    "empty": ("", "scenario.toml", "empty"),
}


@pytest.mark.parametrize(("text", "key", "remedy"), BAD.values(), ids=BAD.keys())
def test_bad_scenario_is_one_line(
    text: str, key: str, remedy: str, refusal: Callable[[str], str]
) -> None:
    """Else a user would meet a traceback, or not learn where the mistake is."""
    error = refusal(text)
    assert key in error
    assert remedy in error


def test_unreadable_files(tmp_path: Path) -> None:
    """Else a wrong path would give a traceback."""
    binary = tmp_path / "binary.toml"
    binary.write_bytes(bytes(range(256)))
    for path in (tmp_path, tmp_path / "none.toml", binary):
        with pytest.raises(InputError, match=str(path)):
            load(str(path))


def test_defaults_and_layout(write: Callable[[str], str]) -> None:
    """Else a three-line scenario would not mean what docs/research/scenarios.md says."""
    scenario = load(write(FLOW))
    assert [n.name for n in scenario.nodes] == [
        "IG",
        *(f"RL{i}" for i in range(7, 0, -1)),
        "A",
    ]
    assert scenario.nodes[8].x_m == 1600.0
    assert scenario.wired_hosts == ["B"]
    assert scenario.flows[0].name == "FTP 1"
    assert scenario.flows[0].advertised_window == 64


def test_80211g_with_ranges(write: Callable[[str], str]) -> None:
    """Its rates, unless stated, are 54 and 6 Mbit/s; else 802.11b's would be sent in OFDM."""
    text = '[radio]\nstandard = "802.11g"\n[[flow]]\nfrom = "B"\nto = "A"\n'
    radio = load(write(text)).radio
    assert (radio.data_mbps, radio.control_mbps) == (54.0, 6.0)
    stated = load(write(text), {"radio.data_mbps": 24.0, "radio.control_mbps": 12.0}).radio
    assert (stated.data_mbps, stated.control_mbps) == (24.0, 12.0)


def test_parallel_chains_are_figure_5(write: Callable[[str], str]) -> None:
    """Else links and flows would carry other names than in the paper."""
    text = '[mesh]\ntopology = "parallel"\nhops = 5\n[[flow]]\nfrom = "B"\nto = "A1"\n'
    places = {n.name: (n.x_m, n.y_m) for n in load(write(text)).nodes}
    assert len(places) == 11
    assert places["RL4"] == (0.0, 200.0)
    assert places["RL8"] == (0.0, -200.0)
    assert places["A1"] == (-800.0, 200.0)


def test_flow_keys_override_tcp(write: Callable[[str], str]) -> None:
    """Else a flow could not have a TCP of its own; and BBR would collapse with old defaults."""
    text = f'[tcp]\nvariant = "bbr"\n{FLOW}[[flow]]\nfrom = "A"\nto = "B"\nvariant = "cubic"\n'
    first, second = load(write(text)).flows
    assert (first.variant, first.initial_window, first.min_rto_s) == ("bbr", 10, 1.0)
    assert (second.variant, second.initial_window) == ("cubic", 2)


def test_a_law_of_all_wireless_senders(write: Callable[[str], str]) -> None:
    """Else each direction of the same flows would need settings of its own."""
    up = '[[flow]]\nfrom = "A"\nto = "B"\n'
    text = f'{FLOW}{up}{up}law = "ap"\n{up}traffic = "cbr"\nrate_kbps = 9\n'
    scenario = load(write(text), {"gateway.sender_law": "even"})
    assert [flow.law for flow in scenario.flows] == ["off", "even", "ap", "off"]
    assert scenario.as_dict()["gateway"] == load(write(text)).as_dict()["gateway"]


def test_links_and_shapers(write: Callable[[str], str]) -> None:
    """Else links kept one rate, or goodput control throttled what is to be a static rate."""
    text = (
        '[gateway]\nlaw = "shaper"\nrate_kbps = 400\n[[link]]\nbetween = ["IG", "RL7"]\nmbps = 2\n'
        f'{FLOW}[[flow]]\nfrom = "A"\nto = "B"\nlaw = "shaper"\nrate_kbps = 100\nbucket = 4\n'
    )
    scenario = load(write(text))
    assert scenario.as_dict()["links"] == [{"from": "IG", "to": "RL7", "mbps": 2.0}]
    gateway = scenario.gateway
    assert (gateway.goodput_control, gateway.local_retransmission) == (False, False)
    stated = load(write(text), {"gateway.goodput_control": True}).gateway
    assert (stated.goodput_control, stated.local_retransmission) == (True, False)
    assert scenario.flows[1].bucket == 4
    assert load(write(FLOW)).gateway.goodput_control is True


def test_shaping_leaves_the_radios_their_queues(write: Callable[[str], str]) -> None:
    """Else CAKE would be compared over worse queues than others have below it."""
    cake = {"gateway.law": "cake", "gateway.rate_kbps": 5000, "gateway.queueing": "fq_codel"}
    gateway = load(write(FLOW), cake).gateway
    assert (gateway.rate_kbps, gateway.queueing) == (5000, "fq_codel")
    assert (gateway.goodput_control, gateway.local_retransmission) == (False, False)
    rates = {"gateway.law": "hosts", "gateway.host_kbps": {"A": 4000, "RL3": 16000.5}}
    gateway = load(write(FLOW), rates).gateway
    assert gateway.as_dict()["host_kbps"] == {"A": 4000.0, "RL3": 16000.5}


def test_settings(write: Callable[[str], str]) -> None:
    """Else --set would change something else, or nothing."""
    file = write(FLOW + '[[flow]]\nfrom = "A"\nto = "B"\nname = "up.1"\n')
    settings = dict(
        parse_setting(t)
        for t in (
            "mesh.hops=3",
            "flow.up.1.law=gap",
            "flow.0.start_s=1",
            "title=a b",
            "tcp.sack=false",
        )
    )
    scenario = load(file, settings)
    assert len(scenario.nodes) == 4
    assert [f.law for f in scenario.flows] == ["off", "gap"]
    assert scenario.flows[0].start_s == 1.0
    assert scenario.title == "a b"
    assert scenario.flows[1].sack is False


@pytest.mark.parametrize("setting", ["mesh.hps=3", "flow.9.law=gap", "hops", "a.b.c=1", "mesh=3"])
def test_bad_settings(
    setting: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a mistyped --set would be ignored."""
    assert cli.main(["run", write(FLOW), "--set", setting]) == cli.USAGE
    assert capsys.readouterr().err.count("\n") == 1


def test_the_reference_names_every_key() -> None:
    """Else docs/research/scenarios.md would fall behind the format."""
    text = (simulator.ROOT / "docs" / "research" / "scenarios.md").read_text()
    sections = dict(re.findall(r"^## `\[*(.*?)\]*`$(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL))
    for name, field in ScenarioFile.model_fields.items():
        table = table_of(field)
        if table is None:
            assert f"`{name}`" in sections["top level"] or name == "experiment"
            continue
        for key, of in table.model_fields.items():
            from_tcp = name != "tcp" and key in Tcp.model_fields
            assert f"`{key_of(key, of)}`" in sections[name] or from_tcp, f"{name}.{key}"


TODAY = '[radio]\nmodel = "sinr"\nstandard = "802.11ax"\nqueueing = "fq_codel"\nsense_dbm = -89.0\n'


def test_todays_radio_chooses_its_bit_rate(write: Callable[[str], str]) -> None:
    """Else a scenario of today's Wi-Fi would be simulated as no card is, or one rate as several."""
    radio = load(write(TODAY + FLOW)).radio
    assert (radio.rate_control, radio.capture, radio.aql_us, radio.lock_dbm) == (
        "minstrel",
        True,
        12000.0,
        -82.0,
    )
    fixed = load(write(f"{TODAY}mcs = 11\ncapture = false\naql_us = 0.0\nlock_dbm = -89.0\n{FLOW}"))
    radio = fixed.radio
    assert (radio.rate_control, radio.mcs, radio.capture) == ("fixed", 11, False)
    assert (radio.aql_us, radio.lock_dbm) == (0.0, -89.0)
    papers = load(write(FLOW)).radio
    assert (papers.rate_control, papers.capture, papers.aql_us) == ("fixed", False, 0.0)


def test_override_leaves_the_document_alone() -> None:
    """Else the points of an experiment would influence each other."""
    document = {"mesh": {"hops": 2}, "flow": [{"from": "B", "to": "A"}]}
    changed = override(document, {"mesh.hops": 3, "flow.law": "off"}, "test")
    assert document == {"mesh": {"hops": 2}, "flow": [{"from": "B", "to": "A"}]}
    assert len(resolve(changed, "test").nodes) == 4


def test_override_leaves_its_settings_alone() -> None:
    """Else the law that one system of an experiment gives a list of flows becomes another's."""
    settings = {"flow": [{"from": "A", "to": "IG"}]}
    shaped = override(override({}, settings, "here"), {"flow.law": "gap"}, "here")
    also = override({}, settings | {"flow.law": "gap"}, "here")
    assert shaped["flow"][0]["law"] == also["flow"][0]["law"] == "gap"
    assert settings == {"flow": [{"from": "A", "to": "IG"}]}


def test_rules_set_what_is_not_stated() -> None:
    """Else "ns-2" would mean something else in each file, or overrule what a file says."""

    def radio(**stated: object) -> Radio:
        document = {"radio": stated, "flow": [{"from": "B", "to": "A"}]}
        return resolve(document, "test").radio

    plain, rules = radio(), radio(rules="ns-2")
    assert (plain.interference, plain.nav_reset, plain.eifs_in_nav) == ("additive", True, False)
    assert (rules.interference, rules.nav_reset, rules.eifs_in_nav) == ("pairwise", False, True)
    stated = radio(rules="ns-2", nav_reset=True)
    assert (stated.nav_reset, stated.cts_when_idle) == (True, True)
    with pytest.raises(InputError, match="rules"):
        radio(rules="ns-2", model="sinr")
