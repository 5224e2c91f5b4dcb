# SPDX-License-Identifier: GPL-2.0-only
"""The radio of all nodes, the routes over it, and the wires behind the gateways."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pacelab.scenario.schema import Model, Where, one_of

# How packets wait for a radio.
Queueing = Literal["fifo", "fq_codel", "codel", "yang"]

Standard = Literal["802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax"]

ControlRate = one_of(1.0, 2.0, 5.5, 11.0, 6.0, 12.0, 24.0)
DataRate = one_of(1.0, 2.0, 5.5, 11.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0)
BroadcastRate = one_of(0.0, 1.0, 2.0, 5.5, 11.0, 6.0, 12.0, 24.0)


class Radio(Model):
    """``[radio]``: of every node."""

    model: Literal["range", "sinr"] = Field(default="range", description="radio model; see below")
    standard: Standard = Field(default="802.11b", description="see below")
    data_mbps: Annotated[float, DataRate] = Field(
        default=11.0, description="bit rate of data frames; 802.11g: 54 unless stated"
    )
    control_mbps: Annotated[float, ControlRate] = Field(
        default=1.0, description="bit rate of control frames; 802.11g: 6 unless stated"
    )
    broadcast_mbps: Annotated[float, BroadcastRate] = Field(
        default=0.0, description="bit rate of broadcast frames; 0: as control frames"
    )
    rts_cts: bool = Field(default=True, description="announce every data frame by RTS/CTS")
    tx_range_m: float = Field(default=250.0, gt=0, le=1e5, description="range of decoding")
    cs_range_m: float = Field(
        default=550.0, gt=0, le=1e5, description="range of sensing and interference"
    )
    queue_packets: int = Field(default=50, ge=1, le=100_000, description="interface queue")
    rules: Literal["802.11", "ns-2"] = Field(
        default="802.11",
        description="of medium access and reception; ns-2: the seven keys from `interference` on",
    )
    cts_ignores_nav: bool = Field(default=False, description="an RTS is answered despite the NAV")
    interference: Literal["additive", "pairwise"] = Field(
        default="additive", description="interferers add up, or count each by itself (ns-2)"
    )
    missed_frames_deafen: bool = Field(
        default=False,
        description="ns-2's rule: a frame that is missed keeps from later ones to its end",
    )
    cts_when_idle: bool = Field(
        default=False, description="ns-2's rule: an RTS is answered only if nothing is sensed"
    )
    cts_waits_for_data: bool = Field(
        default=False, description="ns-2's rule: who sent a CTS is silent until the data's end"
    )
    nav_reset: bool = Field(
        default=True, description="an RTS that nothing follows gives its NAV up; ns-2: it does not"
    )
    eifs_in_nav: bool = Field(
        default=False, description="ns-2's rule: DIFS follow EIFS, which nothing cuts short"
    )
    always_back_off: bool = Field(
        default=False,
        description="ns-2's rule: a random backoff before every frame, idle medium or not",
    )
    queueing: Queueing = Field(default="fifo", description="at every mesh node; see below")
    radios: int = Field(default=1, ge=1, le=2, description="of each node, on channels of their own")
    data_attempts: int = Field(
        default=0,
        ge=0,
        le=100,
        description="data frames without ACK until one is dropped; 0: 4 with RTS/CTS, else 7",
    )
    path_loss_exponent: float = Field(
        default=3.0, ge=1, le=10, description="of sinr: log-distance loss, free space up to 1 m"
    )
    tx_power_dbm: float = Field(
        default=16.0, ge=-120, le=120, description="of sinr: transmit power"
    )
    sense_dbm: float = Field(
        default=-82.0, ge=-93.5, le=0, description="of sinr: carrier-sense threshold of every PHY"
    )
    lock_dbm: float = Field(
        default=0.0,
        ge=-93.5,
        le=0,
        description="of sinr: weakest frame that a receiver locks on; 0: see below",
    )
    fading: Literal["none", "nakagami"] = Field(
        default="none", description="of sinr: anew for each frame; see below"
    )
    shadowing_db: float = Field(
        default=0.0,
        ge=0,
        le=30,
        description="of sinr: standard deviation of a link's, drawn by `topology_seed`",
    )
    capture: bool = Field(
        default=False,
        description="of sinr: a receiver leaves a preamble for a stronger one; see below",
    )
    rate_control: Literal["minstrel", "fixed"] = Field(
        default="fixed",
        description="of 802.11n and later: who chooses the bit rate; see below",
    )
    mcs: int = Field(
        default=4, ge=0, le=11, description="of 802.11n and later: bit rate of data frames, fixed"
    )
    channel_mhz: Annotated[int, one_of(20, 40, 80)] = Field(
        default=20, description="of 802.11n and later: width of the channel"
    )
    aggregation: bool = Field(default=True, description="of 802.11n and later: A-MPDU")
    aql_us: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        description="of fq_codel, 802.11n and later: airtime the MAC holds for a neighbour; 0: any",
    )


class PlacedRadio(Radio):
    """The radio as the simulator takes it: with what draws its links."""

    topology_seed: int


class Routing(Model):
    """``[routing]``."""

    protocol: Literal["static", "aodv", "olsr"] = "static"
    metric: Literal["hops", "etx"] = Field(
        default="hops", description="of olsr: what a short route has few of; etx: transmissions"
    )
    hello_s: float = Field(
        default=2.0, ge=0.1, le=100, description="of olsr: between two HELLOs of a node"
    )
    tc_s: float = Field(
        default=5.0, ge=0.1, le=100, description="of olsr: between two TCs of a node"
    )
    search_pause_s: float = Field(
        default=0.0,
        ge=0,
        le=1e5,
        description="of aodv: after a search for a route that failed, before the next; ns-2: 10",
    )


class Wired(Model):
    """``[wired]``."""

    mbps: float = Field(default=10.0, gt=0, le=1e5, description="bit rate of each wired link")
    delay_ms: float = Field(
        default=40.0, ge=0, le=10_000, description="one-way delay of each wired link"
    )


# What `rules` sets, where a key is not stated itself.
RULES: dict[str, dict[str, Any]] = {
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
    "lock_dbm": "sinr",
    "fading": "sinr",
    "shadowing_db": "sinr",
    "capture": "sinr",
}

# Standards with aggregates, and bit rates that an MCS names.
AGGREGATING = ("802.11n", "802.11ac", "802.11ax")

# Keys that mean something to some standards only, and bit rates that only some have.
STANDARD_KEYS = {
    "data_mbps": ("802.11b", "802.11g"),
    "control_mbps": ("802.11b", "802.11g"),
    "broadcast_mbps": ("802.11b", "802.11g"),
    "rate_control": AGGREGATING,
    "mcs": AGGREGATING,
    "channel_mhz": AGGREGATING,
    "aggregation": AGGREGATING,
    "aql_us": AGGREGATING,
}
DATA_MBPS = {
    "802.11b": (11.0, 5.5, 2.0, 1.0),
    "802.11g": (54.0, 48.0, 36.0, 24.0, 18.0, 12.0, 9.0, 6.0),
}
# Of control and broadcast frames: in 802.11g the mandatory OFDM rates.
CONTROL_MBPS = {"802.11b": (1.0, 2.0, 5.5, 11.0), "802.11g": (6.0, 12.0, 24.0)}
# What the range radio knows.
RANGE_STANDARDS = ("802.11b", "802.11g")
# Of one stream. VHT-MCS 9 does not fill whole symbols over 20 MHz (IEEE 802.11-2020, 21.5).
MOST_MCS = {"802.11n": 7, "802.11ac": 9, "802.11ax": 11}
MOST_MHZ = {"802.11n": 40, "802.11ac": 80, "802.11ax": 80}
# What a receiver has to notice (IEEE 802.11-2020, 17.3.10.6), and ns-3's default.
LOCK_DBM = -82.0
# mac80211's IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H, include/net/cfg80211.h.
AQL_US = 12000.0


def completed_radio(stated: Radio, where: Where) -> Radio:
    """With the defaults that rules and standard have; checks what only some radios know."""
    rules = {k: v for k, v in RULES[stated.rules].items() if not stated.stated(k)}
    radio = stated.model_copy(update=rules)
    for key, model in MODEL_KEYS.items():
        if stated.stated(key) and radio.model != model:
            raise where.at(key).error(
                f'has no meaning with model "{radio.model}"; remove it, or set model = "{model}"'
            )
    if radio.cs_range_m < radio.tx_range_m:
        raise where.at("cs_range_m").error("is less than tx_range_m; give at least that")
    if radio.cts_ignores_nav and radio.cts_when_idle:
        raise where.at("cts_when_idle").error("excludes cts_ignores_nav; set one of them")
    _check_standard(stated, where)
    if stated.lock_dbm and stated.lock_dbm < stated.sense_dbm:
        raise where.at("lock_dbm").error("is below sense_dbm; give at least that")
    return radio.model_copy(update=_rates(stated) | _today(stated, where))


def _today(stated: Radio, where: Where) -> dict[str, Any]:
    """What the standards with aggregates have unless stated; who states an mcs fixes it."""
    if stated.standard not in AGGREGATING:
        return {"lock_dbm": stated.lock_dbm or stated.sense_dbm}
    today: dict[str, Any] = {"lock_dbm": stated.lock_dbm or max(stated.sense_dbm, LOCK_DBM)}
    if not stated.stated("capture"):
        today["capture"] = True
    if not stated.stated("rate_control") and not stated.stated("mcs"):
        today["rate_control"] = "minstrel"
    if stated.stated("mcs") and stated.rate_control == "minstrel":
        raise where.at("mcs").error(
            'has no meaning with rate_control = "minstrel"; remove it, or set "fixed"'
        )
    if stated.queueing == "fq_codel" and not stated.stated("aql_us"):
        today["aql_us"] = AQL_US
    if stated.aql_us and stated.queueing != "fq_codel":
        raise where.at("aql_us").error(
            f'has no meaning with queueing "{stated.queueing}"; remove it, or set "fq_codel"'
        )
    return today


def _rates(stated: Radio) -> dict[str, float]:
    """The bit rates that a standard has unless others are stated."""
    rates: dict[str, float] = {}
    if stated.standard in DATA_MBPS and not stated.stated("data_mbps"):
        rates["data_mbps"] = DATA_MBPS[stated.standard][0]
    slow = stated.standard == "802.11g" and stated.model == "range"
    if slow and not stated.stated("control_mbps"):
        rates["control_mbps"] = CONTROL_MBPS[stated.standard][0]
    return rates


def _check_standard(radio: Radio, where: Where) -> None:
    standard = radio.standard
    if radio.model == "range" and standard not in RANGE_STANDARDS:
        raise where.at("standard").error(
            f'"{standard}" is not simulated with model "range"; set model = "sinr"'
        )
    for key, standards in STANDARD_KEYS.items():
        if radio.stated(key) and standard not in standards:
            raise where.at(key).error(
                f"has no meaning with {standard}, only with {' and '.join(standards)}; remove it"
            )
    if radio.stated("data_mbps"):
        check_data_rate(radio.data_mbps, standard, where.at("data_mbps"))
    _check_control(radio, where)
    if standard in AGGREGATING:
        _check_aggregating(radio, where)


def _check_aggregating(radio: Radio, where: Where) -> None:
    """MCS and width of the channel."""
    standard = radio.standard
    if radio.channel_mhz > MOST_MHZ[standard]:
        raise where.at("channel_mhz").error(
            f"{standard} has no such channels; give at most {MOST_MHZ[standard]}"
        )
    most = MOST_MCS[standard]
    if standard == "802.11ac" and radio.channel_mhz == 20:
        most -= 1
    if radio.mcs > most:
        raise where.at("mcs").error(f"{standard} has none such of one stream; give at most {most}")


def check_data_rate(mbps: float, standard: str, where: Where) -> None:
    """That a standard has a bit rate."""
    rates = DATA_MBPS[standard]
    if mbps not in rates:
        ready = ", ".join(f"{rate:g}" for rate in rates)
        raise where.error(f"{standard} has no such bit rate; use {ready}")


def _check_control(radio: Radio, where: Where) -> None:
    """Bit rates of control and broadcast frames."""
    for key in ("control_mbps", "broadcast_mbps"):
        if not radio.stated(key):
            continue
        if radio.standard == "802.11g" and radio.model != "range":
            raise where.at(key).error(
                'has no meaning with 802.11g and model "sinr", which has 6 Mbit/s; remove it'
            )
        mbps = getattr(radio, key)
        if mbps and mbps not in CONTROL_MBPS[radio.standard]:
            ready = ", ".join(f"{rate:g}" for rate in CONTROL_MBPS[radio.standard])
            raise where.at(key).error(f"{radio.standard} has no such basic bit rate; use {ready}")
