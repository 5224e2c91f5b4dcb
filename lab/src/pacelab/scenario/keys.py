# SPDX-License-Identifier: GPL-2.0-only
"""The scenario format: every key with its type, default and range.

The tables below are the one place where a key is defined; validation, defaults and
the reference in docs/research/scenarios.md follow from them.
"""

from __future__ import annotations

from pacelab.errors import nearest
from pacelab.scenario.schema import Key, Table, Where, check_table

# How packets wait for a radio.
QUEUEING = ("fifo", "fq_codel", "codel", "yang")

RADIO = {
    "model": Key(str, "range", choices=("range", "sinr"), help="radio model; see below"),
    "standard": Key(
        str, "802.11b", choices=("802.11b", "802.11g", "802.11n", "802.11ac"), help="see below"
    ),
    "data_mbps": Key(
        float,
        11.0,
        choices=(1.0, 2.0, 5.5, 11.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0),
        help="bit rate of data frames; 802.11g: 54 unless stated",
    ),
    "control_mbps": Key(
        float,
        1.0,
        choices=(1.0, 2.0, 5.5, 11.0, 6.0, 12.0, 24.0),
        help="bit rate of control frames; 802.11g: 6 unless stated",
    ),
    "broadcast_mbps": Key(
        float,
        0.0,
        choices=(0.0, 1.0, 2.0, 5.5, 11.0, 6.0, 12.0, 24.0),
        help="bit rate of broadcast frames; 0: as control frames",
    ),
    "rts_cts": Key(bool, True, help="announce every data frame by RTS/CTS"),
    "tx_range_m": Key(float, 250.0, above=0, most=1e5, help="range of decoding"),
    "cs_range_m": Key(float, 550.0, above=0, most=1e5, help="range of sensing and interference"),
    "queue_packets": Key(int, 50, least=1, most=100_000, help="interface queue"),
    "rules": Key(
        str,
        "802.11",
        choices=("802.11", "ns-2"),
        help="of medium access and reception; ns-2: the seven keys from `interference` on",
    ),
    "cts_ignores_nav": Key(bool, False, help="an RTS is answered despite the NAV"),
    "interference": Key(
        str,
        "additive",
        choices=("additive", "pairwise"),
        help="interferers add up, or count each by itself (ns-2)",
    ),
    "missed_frames_deafen": Key(
        bool, False, help="ns-2's rule: a frame that is missed keeps from later ones to its end"
    ),
    "cts_when_idle": Key(
        bool, False, help="ns-2's rule: an RTS is answered only if nothing is sensed"
    ),
    "cts_waits_for_data": Key(
        bool, False, help="ns-2's rule: who sent a CTS is silent until the data's end"
    ),
    "nav_reset": Key(
        bool, True, help="an RTS that nothing follows gives its NAV up; ns-2: it does not"
    ),
    "eifs_in_nav": Key(bool, False, help="ns-2's rule: DIFS follow EIFS, which nothing cuts short"),
    "always_back_off": Key(
        bool, False, help="ns-2's rule: a random backoff before every frame, idle medium or not"
    ),
    "queueing": Key(str, "fifo", choices=QUEUEING, help="at every mesh node; see below"),
    "radios": Key(int, 1, least=1, most=2, help="of each node, on channels of their own"),
    "data_attempts": Key(
        int,
        0,
        least=0,
        most=100,
        help="data frames without ACK until one is dropped; 0: ns-2's, 4 with RTS/CTS, else 7",
    ),
    "path_loss_exponent": Key(
        float, 3.0, least=1, most=10, help="of sinr: log-distance loss, free space up to 1 m"
    ),
    "tx_power_dbm": Key(float, 16.0, least=-120, most=120, help="of sinr: transmit power"),
    "sense_dbm": Key(
        float, -82.0, least=-93.5, most=0, help="of sinr: carrier-sense threshold of every PHY"
    ),
    "mcs": Key(int, 4, least=0, most=8, help="of 802.11n, 802.11ac: bit rate of data frames"),
    "aggregation": Key(bool, True, help="of 802.11n, 802.11ac: A-MPDU"),
}

# What `rules` sets, where a key is not stated itself.
RULES: dict[str, Table] = {
    "802.11": {},
    "ns-2": {
        "interference": "pairwise",
        "missed_frames_deafen": True,
        "cts_when_idle": True,
        "cts_waits_for_data": True,
        "nav_reset": False,
        "eifs_in_nav": True,
        "always_back_off": True,
    },
}

# Keys that mean something to one radio model only.
MODEL_KEYS = {
    "tx_range_m": "range",
    "cs_range_m": "range",
    "rules": "range",
    "cts_ignores_nav": "range",
    "interference": "range",
    "missed_frames_deafen": "range",
    "cts_when_idle": "range",
    "cts_waits_for_data": "range",
    "nav_reset": "range",
    "eifs_in_nav": "range",
    "always_back_off": "range",
    "path_loss_exponent": "sinr",
    "tx_power_dbm": "sinr",
    "sense_dbm": "sinr",
}

# Keys that mean something to some standards only, and bit rates that only some have.
STANDARD_KEYS = {
    "data_mbps": ("802.11b", "802.11g"),
    "control_mbps": ("802.11b", "802.11g"),
    "broadcast_mbps": ("802.11b", "802.11g"),
    "mcs": ("802.11n", "802.11ac"),
    "aggregation": ("802.11n", "802.11ac"),
}
DATA_MBPS = {
    "802.11b": (11.0, 5.5, 2.0, 1.0),
    "802.11g": (54.0, 48.0, 36.0, 24.0, 18.0, 12.0, 9.0, 6.0),
}
# Of control and broadcast frames: in 802.11g the mandatory OFDM rates.
CONTROL_MBPS = {"802.11b": (1.0, 2.0, 5.5, 11.0), "802.11g": (6.0, 12.0, 24.0)}
# What the range radio knows.
RANGE_STANDARDS = ("802.11b", "802.11g")
MOST_MCS = {"802.11n": 7, "802.11ac": 8}  # one stream, 20 MHz

ROUTING = {
    "protocol": Key(str, "static", choices=("static", "aodv", "olsr")),
    "hello_s": Key(float, 2.0, least=0.1, most=100, help="of olsr: between two HELLOs of a node"),
    "tc_s": Key(float, 5.0, least=0.1, most=100, help="of olsr: between two TCs of a node"),
    "search_pause_s": Key(
        float,
        0.0,
        least=0,
        most=1e5,
        help="of aodv: after a search for a route that failed, before the next; ns-2: 10",
    ),
}

WIRED = {
    "mbps": Key(float, 10.0, above=0, most=1e5, help="bit rate of each wired link"),
    "delay_ms": Key(float, 40.0, least=0, most=10_000, help="one-way delay of each wired link"),
}

MESH = {
    "topology": Key(
        str,
        "chain",
        choices=("chain", "parallel", "cross", "grid", "random", "nodes"),
    ),
    "hops": Key(int, 8, least=1, most=100, help="of each chain"),
    "spacing_m": Key(float, 200.0, above=0, most=1e5, help="between neighbours"),
    "rows": Key(int, 3, least=1, most=30, help="of grid"),
    "columns": Key(int, 7, least=2, most=30, help="of grid: nodes in each row"),
    "nodes": Key(int, 20, least=2, most=300, help="of random: how many, with the gateways"),
    "gateways": Key(int, 1, least=1, most=100, help="of random: how many"),
    "width_m": Key(float, 1000.0, above=0, most=1e5, help="of random: the area's"),
    "height_m": Key(float, 1000.0, above=0, most=1e5, help="of random: the area's"),
    "reach_m": Key(
        float,
        0.0,
        least=0,
        most=1e5,
        help="of random: neighbours stand as near; 0: tx_range_m, of range only",
    ),
    "topology_seed": Key(int, 1, least=0, most=2**31 - 1, help="of random: which of many"),
}

NODE = {
    "name": Key(str, required=True),
    "x_m": Key(float, required=True, least=-1e7, most=1e7),
    "y_m": Key(float, required=True, least=-1e7, most=1e7),
    "gateway": Key(bool, False, help="whether it is a gateway; at least one is"),
}

CLIENT = {
    "name": Key(str, required=True),
    "x_m": Key(float, required=True, least=-1e6, most=1e6, help="where it sets out"),
    "y_m": Key(float, required=True, least=-1e6, most=1e6, help="where it sets out"),
    "to_x_m": Key(float, required=True, least=-1e6, most=1e6, help="where it turns round"),
    "to_y_m": Key(float, required=True, least=-1e6, most=1e6, help="where it turns round"),
    "speed_mps": Key(float, 1.0, least=0, most=100, help="how fast it walks; 0: it stands"),
    "start_s": Key(float, 0.0, least=0, most=1e6, help="when it sets out"),
}

LINK = {
    "between": Key(list, required=True, help='two mesh nodes, such as ["IG", "RL1"]'),
    "mbps": Key(
        float,
        required=True,
        choices=(1.0, 2.0, 5.5, 11.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0),
        help="bit rate of data frames, both ways; else data_mbps",
    ),
}

GATEWAY = {
    "law": Key(str, "off", choices=("off", "gap", "map", "shaper", "even")),
    "sender_law": Key(
        str,
        "off",
        choices=("off", "gap", "ap", "map", "even"),
        help="of wireless senders of TCP whose flow states none",
    ),
    "goodput_control": Key(bool, True, help="throttle fast wired-to-wireless flows"),
    "local_retransmission": Key(bool, True, help="the gateway answers duplicate ACKs itself"),
    "release": Key(
        str,
        "nfqueue",
        choices=("nfqueue", "fq"),
        help="how packets wait; fq fixes departures on arrival",
    ),
    "delay_bound_s": Key(
        float, 0.5, least=0, most=60, help="RTT samples above are discarded; 0: none (papers)"
    ),
    "rate_kbps": Key(float, 0.0, least=0, most=1e6, help="of shaper: payload rate of each flow"),
    "bucket": Key(int, 1, least=1, most=10_000, help="of shaper: packets that may leave together"),
    "queueing": Key(
        str, "", choices=("", *QUEUEING), help="at gateways while the law is off; empty: the mesh's"
    ),
    "link_rates": Key(
        str,
        "single",
        choices=("single", "known", "piggybacked"),
        help="what laws know of the bit rates of a path's links; see below",
    ),
    "omit": Key(
        str,
        "",
        choices=(
            "",
            "fast",
            "damping",
            "arrived",
            "binds",
            "least",
            "cut",
            "waits",
            "silence",
            "probes",
            "lossy",
            "told",
        ),
        help="of even: a part that is left out, also by senders; see below",
    ),
}

# Defaults of [gateway] that a law has for itself.
LAW_DEFAULTS: dict[str, Table] = {
    "shaper": {"goodput_control": False, "local_retransmission": False}
}

MAP = {
    "assumed_exponent": Key(
        float, 3.0, least=1, most=10, help="path-loss exponent that the law map assumes (MAP: 3)"
    ),
    "positions": Key(bool, False, help="the law map knows where the path's nodes stand"),
    "least_h_cs": Key(int, 1, least=1, most=32, help="H_cs is at least this (MAP's text: 2)"),
    "past_end": Key(bool, False, help="OID is of h + 1 hops where H_cs reaches h"),
}

TCP = {
    "variant": Key(str, "newreno", choices=("newreno", "vegas", "cubic", "bbr", "westwood")),
    "sack": Key(bool, True, help="selective acknowledgements"),
    "delayed_ack": Key(
        int,
        1,
        least=1,
        most=64,
        words=("thinning",),
        help="an ACK every so many segments; thinning: 1 to 4, see below",
    ),
    "delayed_ack_s": Key(
        float, 0.2, least=0.001, most=60, help="a segment waits no longer for its ACK"
    ),
    "byte_counting": Key(bool, False, help="the window grows by bytes acknowledged (RFC 3465)"),
    "advertised_window": Key(int, 64, least=1, most=10_000, help="segments"),
    "segment_bytes": Key(int, 1460, least=100, most=1460, help="payload of a segment"),
    "initial_window": Key(int, 2, least=1, most=1000, help="segments"),
    "min_rto_s": Key(float, 0.2, least=0.001, most=60, help="least RTO - SRTT, as in Linux"),
}

FLOW = {
    "name": Key(str, help="default: FTP 1, FTP 2, ..."),
    "from": Key(str, required=True, help="a node, or a wired host B, B1, B2, ..."),
    "to": Key(str, required=True, help="a node, or a wired host"),
    "traffic": Key(
        str,
        "ftp",
        choices=("ftp", "cbr", "files", "http"),
        help="see below; files: simulated only, http: emulated only",
    ),
    "law": Key(
        str,
        "off",
        choices=("off", "gap", "ap", "map", "shaper", "even"),
        help="of a wireless sender",
    ),
    "via": Key(str, "", help="gateway of its wired end; default: the nearest in hops"),
    "start_s": Key(float, 0.0, least=0, help="when it begins"),
    "stop_s": Key(float, 0.0, least=0, help="when its sender breaks it off; 0: never"),
    "rate_kbps": Key(float, 0.0, least=0, most=1e6, help="of cbr, and of the law shaper: payload"),
    "bucket": Key(int, 1, least=1, most=10_000, help="of shaper: packets that may leave together"),
}

# Of ftp: the application has nothing to send for a while.
IDLE = {
    "idle_at_s": Key(
        float, 0.0, least=0, most=1e6, help="of ftp: when its application has nothing more to send"
    ),
    "idle_s": Key(float, 0.0, least=0, most=1e6, help="of ftp: for how long; 0: never"),
}

HTTP = {
    "objects": Key(int, 30, least=1, most=1000, help="of http: files of a page"),
    "object_bytes": Key(int, 10_000, least=1, most=10**9, help="of http: size of each"),
}

FILES = {
    "file_bytes": Key(
        float, 30_000.0, least=1, most=1e9, help="of files: mean size, of a Pareto law"
    ),
    "pareto_shape": Key(float, 1.5, least=1.01, most=1000, help="of files: shape of that law"),
    "pause_s": Key(
        float,
        1.0,
        least=0,
        most=1e6,
        help="of http: after a page; of files: after a file, mean of an exponential law",
    ),
    "one_connection": Key(bool, False, help="of files: all over one, else each has its own"),
}

# Keys that mean something to some traffic only.
TRAFFIC_KEYS = {
    **dict.fromkeys(HTTP, ("http",)),
    **dict.fromkeys(FILES, ("files",)),
    **dict.fromkeys(IDLE, ("ftp",)),
    "pause_s": ("http", "files"),
}

PING = {
    "from": Key(str, required=True, help="who asks: a node, or a wired host"),
    "to": Key(str, required=True, help="who answers: a node, or a wired host"),
    "interval_s": Key(float, 0.2, least=0.001, most=1e6, help="between two requests"),
    "start_s": Key(float, 0.0, least=0, most=1e6, help="when the first is sent"),
}

OUTAGE = {
    "node": Key(str, required=True, help="a mesh node, whose radios neither send nor receive"),
    "at_s": Key(float, required=True, least=0, most=1e6, help="from when on"),
    "for_s": Key(float, required=True, above=0, most=1e6, help="for how long"),
}

TOP = {
    "title": Key(str, "Untitled"),
    "duration_s": Key(float, 110.0, above=0, most=1e6, help="of the simulation"),
    "warmup_s": Key(float, 10.0, least=0, most=1e6, help="what happens before does not count"),
}

SECTIONS: dict[str, dict[str, Key]] = {
    "radio": RADIO,
    "routing": ROUTING,
    "wired": WIRED,
    "mesh": MESH,
    "gateway": GATEWAY,
    "map": MAP,
    "tcp": TCP,
}
LISTS: dict[str, dict[str, Key]] = {
    "node": NODE,
    "client": CLIENT,
    "link": LINK,
    "flow": {**FLOW, **IDLE, **HTTP, **FILES, **TCP},
    "ping": PING,
    "outage": OUTAGE,
}

# Tables that other modules define (pacelab.experiment).
FOREIGN = frozenset({"experiment"})


def check_document(document: Table, file: str) -> Table:
    """A scenario document with checked values; sections complete, lists as given.

    Flows keep only the keys that they state: the rest comes from ``[tcp]``.
    """
    where = Where(file)
    known = {*TOP, *SECTIONS, *LISTS, *FOREIGN}
    for name in document:
        if name not in known:
            raise where.at(name).error(f"unknown key; {nearest(name, known)}")
    checked = check_table({k: v for k, v in document.items() if k in TOP}, TOP, where)
    for name, keys in SECTIONS.items():
        checked[name] = check_table(document.get(name, {}), keys, where.at(name))
    for name, keys in LISTS.items():
        entries = document.get(name, [])
        if not isinstance(entries, list):
            raise where.at(name).error(f"is not a list of tables; write [[{name}]]")
        checked[name] = [
            check_table(entry, keys, where.at(name, str(i)), defaults=name != "flow")
            for i, entry in enumerate(entries)
        ]
    return checked
