# SPDX-License-Identifier: GPL-2.0-only
"""Flows: TCP, and what it carries."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from pacelab.scenario.schema import Model, Name, Table


class Tcp(Model):
    """``[tcp]``: of every flow, unless it states its own."""

    variant: Literal["newreno", "reno", "vegas", "cubic", "bbr", "westwood"] = "newreno"
    sack: bool = Field(default=True, description="selective acknowledgements")
    delayed_ack: Annotated[int, Field(ge=1, le=64)] | Literal["thinning"] = Field(
        default=1, description="an ACK every so many segments; thinning: 1 to 4, see below"
    )
    delayed_ack_s: float = Field(
        default=0.2, ge=0.001, le=60, description="a segment waits no longer for its ACK"
    )
    byte_counting: bool = Field(
        default=False, description="the window grows by bytes acknowledged (RFC 3465)"
    )
    advertised_window: int = Field(default=64, ge=1, le=10_000, description="segments")
    segment_bytes: int = Field(default=1460, ge=100, le=1460, description="payload of a segment")
    initial_window: int = Field(default=2, ge=1, le=1000, description="segments")
    min_rto_s: float = Field(
        default=0.2, ge=0.001, le=60, description="least RTO - SRTT, as in Linux"
    )
    timestamps: bool = Field(
        default=False,
        description="of each segment (RFC 7323), whose payload is then 1448 bytes at most",
    )
    rack: bool = Field(
        default=False,
        description=(
            "losses are found by time (RFC 8985), as Linux and QUIC do; and as in today's hosts "
            "a lost SYN is sent again after 1 s (RFC 6298), not 3 (RFC 2988)"
        ),
    )


class Files(Model):
    """Of traffic ``files``."""

    file_bytes: float = Field(
        default=30000.0, ge=1, le=1e9, description="of files: mean size, of a Pareto law"
    )
    pareto_shape: float = Field(
        default=1.5, ge=1.01, le=1000, description="of files: shape of that law"
    )
    pause_s: float = Field(
        default=1.0,
        ge=0,
        le=1e6,
        description="of http: after a page; of files: after a file, mean of an exponential law",
    )
    one_connection: bool = Field(
        default=False, description="of files: all over one, else each has its own"
    )


class Http(Model):
    """Of traffic ``http``."""

    objects: int = Field(default=30, ge=1, le=1000, description="of http: files of a page")
    object_bytes: int = Field(default=10_000, ge=1, le=10**9, description="of http: size of each")


class Idle(Model):
    """Of traffic ``ftp``: its application has nothing to send for a while."""

    idle_at_s: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        description="of ftp: when its application has nothing more to send",
    )
    idle_s: float = Field(default=0.0, ge=0, le=1e6, description="of ftp: for how long; 0: never")


class Receiver(Model):
    """Of traffic ``ftp``: whether its receiver tells what has come."""

    receiver: Literal["honest", "early", "lossless", "splits", "late", "mute"] = Field(
        default="honest",
        description="of ftp: acknowledges what comes; else how it lies, see below",
    )


class Opaque(Model):
    """Of traffic ``ftp``: what the gateway sees of it."""

    opaque: bool = Field(
        default=False, description="of ftp: goes as QUIC does, in datagrams; see People"
    )


class _Own(Model):
    """What a flow has beside its TCP and what belongs to some traffic only."""

    name: Name = Field(default="", description="default: FTP 1, FTP 2, ...")
    from_: Name = Field(alias="from", description="a node, or a wired host B, B1, B2, ...")
    to: Name = Field(description="a node, or a wired host")
    traffic: Literal["ftp", "cbr", "files", "http"] = Field(
        default="ftp", description="see below; files: simulated only, http: emulated only"
    )
    law: Literal["off", "gap", "ap", "map", "shaper", "even"] = Field(
        default="off", description="of a wireless sender"
    )
    via: str = Field(
        default="", description="gateway of its wired end; default: the nearest in hops"
    )
    start_s: float = Field(default=0.0, ge=0, description="when it begins")
    stop_s: float = Field(default=0.0, ge=0, description="when its sender breaks it off; 0: never")
    rate_kbps: float = Field(
        default=0.0, ge=0, le=1e6, description="of cbr, and of the law shaper: payload"
    )
    bucket: int = Field(
        default=1, ge=1, le=10_000, description="of shaper: packets that may leave together"
    )
    live_departures: bool = Field(
        default=False,
        description="of a paced sender: a departure follows the rate until it is due; else it is "
        "fixed when the packet before leaves, as in Linux",
    )


class Flow(Tcp, Files, Http, Idle, Receiver, Opaque, _Own):
    """``[[flow]]``: as the file states it, or completed."""

    @model_serializer(mode="wrap")
    def _without_pages(self, plain: SerializerFunctionWrapHandler) -> Table:
        """Only flows of web pages have pages."""
        table: Table = plain(self)
        if self.traffic == "http":
            return table
        return {key: value for key, value in table.items() if key not in Http.model_fields}


class Transfers(Model):
    """``[transfers]``: hosts that load something at random; way and times are drawn for each."""

    hosts: int = Field(
        default=0, ge=0, le=1000, description="at most so many, at least 2; 0: there are none"
    )
    seed: int = Field(
        default=0, ge=0, le=2**31 - 1, description="which of many; 0: as mesh.topology_seed"
    )


# Variants whose window grows by ACKs unless told otherwise.
BYTE_COUNTING = ("newreno", "reno", "vegas", "westwood")

# Traffic that a law can pace where it begins.
PACED = ("ftp", "files")

# Of a BBR sender that says nothing else: with TCP's old defaults ns-3's BBR collapses.
BBR_DEFAULTS: dict[str, Any] = {"initial_window": 10, "min_rto_s": 1.0}

# Keys that mean something to some traffic only.
TRAFFIC_KEYS = {
    **dict.fromkeys(Http.model_fields, ("http",)),
    **dict.fromkeys(Files.model_fields, ("files",)),
    **dict.fromkeys(Idle.model_fields, ("ftp",)),
    **dict.fromkeys(Opaque.model_fields, ("ftp",)),
    **dict.fromkeys(Receiver.model_fields, ("ftp",)),
    "pause_s": ("http", "files"),
}


def flow_name(name: str | None, traffic: object, index: int) -> str:
    """Its own name, or by its traffic and its place."""
    return f"{str(traffic).upper()} {index + 1}" if name is None else name
