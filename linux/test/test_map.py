# SPDX-License-Identifier: GPL-2.0-only
"""The law `map`: its interval is MAP's for the radio it is told of; what is not told is named."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median

import pytest
from conftest import StartGateway
from harness import net
from harness.flow_table import FlowTable
from harness.gateway import PATIENCE_S, Gateway, host, toml, until
from harness.lossy import Radio
from harness.mesh_law import MapRadio
from harness.sender import Sender
from harness.transfer import Transfer, window
from test_spacing import spacing

TOLERANCE = 0.02
WINDOW = window(128 * 1024)
SECONDS = 3.0
# Round trips of which queueing is more than MAP's estimate of the link layer's own time; so long
# that a busy machine hardly varies them.
RADIO, HOPS, MBPS = Radio(delay_ms=20.0), 24, 100.0
# Without CoV the interval would be a tenth shorter or more.
RESTLESS, LEAST_COV = Radio(delay_ms=20.0, swing_ms=4.0), 0.05
STRONG = MapRadio(signal_dbm=-60.0)
# H_cs is 2: the node two hops away senses no more. Its RTS and CTS count.
WEAK = MapRadio(signal_dbm=-80.0, rts_cts=True)
# So slow that what is left for queueing is below 0, which counts as none.
SLOW_MBPS = 11.0


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(RADIO, quickack=True) as made:
        yield made


def check_law(
    gateway: Gateway, transfer: Transfer, radio: MapRadio, mbps: float, least_cov: float = 0.0
) -> None:
    """At every look the interval in force is MAP's for the round trips in the law's window."""
    with FlowTable(gateway) as table:
        looks = table.watch(table.settled(transfer.receiver_port), SECONDS)
    shares = [
        look.interval_us / 1e3 / look.lawful_ms(lambda rtt: radio.interval_ms(rtt, 0, HOPS, mbps))
        for look in looks
    ]
    cov = median(look.own_cov for look in looks)
    print(f"{radio}: CoV {cov:.4f}, {len(looks)} intervals {min(shares)} to {max(shares)} of MAP's")
    assert cov >= least_cov
    assert (min(shares), max(shares)) == pytest.approx((1, 1), abs=TOLERANCE)


@pytest.mark.measured
@pytest.mark.parametrize(
    ("radio", "mbps"),
    [(STRONG, MBPS), (WEAK, MBPS), (STRONG, SLOW_MBPS)],
    ids=["strong", "weak", "slow"],
)
def test_spacing_is_map_s_interval(
    mesh: net.Network, start: StartGateway, radio: MapRadio, mbps: float
) -> None:
    """In force as the equations have it, reported, and kept on the wire."""
    table = [host(net.host4(0), mbps, HOPS)]
    gateway = start(mesh, law="map", host=table, radio=radio.table)
    gateway.before_all_others()
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=WINDOW) as transfer:
        port = transfer.receiver_port
        check_law(gateway, transfer, radio, mbps)
        measured = spacing(mesh, gateway, port, SECONDS)
        assert measured.share == pytest.approx(1, abs=TOLERANCE)
        told = surroundings(gateway)
    assert (told["h_cs"], told["h_cs_by"]) == (radio.h_cs, "signal")
    assert told["signal_dbm"] == {"value": radio.signal_dbm, "by": "config"}


@pytest.mark.measured
def test_map_s_interval_grows_with_cov(start: StartGateway) -> None:
    """Round trips vary by what the radio makes them, and the interval is longer by 1 + 2 CoV."""
    table = [host(net.host4(0), MBPS, HOPS)]
    with net.over_radio(RESTLESS) as network:
        gateway = start(network, law="map", host=table, radio=STRONG.table)
        gateway.before_all_others()
        with Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as transfer:
            check_law(gateway, transfer, STRONG, MBPS, LEAST_COV)


def surroundings(gateway: Gateway) -> dict[str, object]:
    hosts = {one["address"]: one for one in gateway.fresh_status()["hosts"]}
    found: dict[str, object] = hosts[net.host4(0)]["surroundings"]
    return found


@pytest.mark.measured
@pytest.mark.sender
def test_a_sender_s_interval_is_map_s(mesh: net.Network, tmp_path: Path) -> None:
    """The same of a wireless sender, and its status tells what it works with."""
    file = tmp_path / "radio.toml"
    file.write_text(toml({"law": "map", "radio": WEAK.table}))
    with (
        Sender(mesh.host, tmp_path).on(HOPS, MBPS, "--config", str(file)) as sender,
        Transfer(mesh.host, mesh.wired, net.WIRED4, congestion="meshpace") as transfer,
    ):
        sender.settled(transfer.sender_port)
        rows = [sender.flows()[transfer.sender_port] for _ in range(100)]
        rtt_ms = mean(row["rtt_ms"] - (row["rtt_wired_ms"] or 0) for row in rows)
        cov = mean(row["cov"] for row in rows)
        interval_ms = mean(row["interval_us"] for row in rows) / 1e3
        found = interval_ms / WEAK.interval_ms(rtt_ms, cov, HOPS, MBPS)
        print(f"rtt {rtt_ms:.3f} ms, CoV {cov:.4f}, interval {interval_ms:.3f}: {found:.4f}")
        assert found == pytest.approx(1, abs=TOLERANCE)
        path = sender.status()["path"]
    assert (path["law"], path["h_cs"]) == ("map", WEAK.h_cs)
    assert (path["signal_dbm"], path["signal_by"]) == (-80.0, "config")
    assert (path["base_mbps"], path["cw"], path["slot_us"]) == (11.0, 4, 9)
    assert path["rts_cts"] is True


@pytest.mark.sender
def test_gap_tells_nothing_of_map(mesh: net.Network, tmp_path: Path) -> None:
    """--law goes over the file; and under gap nothing of the link reaches the kernel."""
    file = tmp_path / "radio.toml"
    file.write_text(toml({"law": "map", "radio": WEAK.table}))
    with Sender(mesh.host, tmp_path).on(3, 11.0, "--config", str(file), "--law", "gap") as sender:
        path = sender.status()["path"]
    assert (path["law"], path["h_cs"], path["signal_dbm"], path["cw"]) == ("gap", None, None, None)


@pytest.mark.sender
def test_a_sender_has_no_law_off(network: net.Network, tmp_path: Path) -> None:
    with Sender(network.host, tmp_path) as sender:
        done = sender.call("on", "--mesh", "eth0", "--law", "off")
    assert done.returncode == 2
    assert "meshpace sender off" in done.stderr


def test_what_nobody_tells_is_named(network: net.Network, start: StartGateway) -> None:
    """On a mesh interface without Wi-Fi: at the start, in status, by doctor; four hops remain."""
    gateway = start(network, law="map", host=[host(net.host4(0), 5.0, 6)])
    for lack in ("signal of the next hop", "transmit power", "contention window", "RTS threshold"):
        gateway.logged(f"law map: {lack}")
    assert "as GAP" in gateway.logged("law map: signal")
    with Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as transfer:
        until(lambda: gateway.flow(transfer.receiver_port), PATIENCE_S, gateway)
        told = surroundings(gateway)
    assert (told["h_cs"], told["h_cs_by"]) == (3, "assumed")
    assert told["signal_dbm"] is None
    done = gateway.call("doctor", "--mesh", "mesh0", "--json")
    found = {one["found"]: one for one in json.loads(done.stdout) if one["what"] == "law map"}
    assert found["signal of the next hop unknown"]["grade"] == "note"
    assert "as GAP" in found["signal of the next hop unknown"]["cost"]
    assert "carrier-sense threshold not stated" in found
    # The configuration tells: nothing is left to say about it.
    gateway.configure({"radio": {**STRONG.table, "sense_dbm": -95, "tx_power_dbm": 20}})
    done = gateway.call("doctor", "--mesh", "mesh0", "--config", str(gateway.file), "--json")
    lines = [one for one in json.loads(done.stdout) if one["what"] == "law map"]
    assert [one["grade"] for one in lines] == ["ok"], lines
    assert "signal -60 dBm (configured)" in lines[0]["found"]


def test_a_reload_changes_the_law(mesh: net.Network, start: StartGateway) -> None:
    """From gap to map and back while a flow is under way; distances are read again too."""
    entry = host(net.host4(0), SLOW_MBPS, HOPS)
    gateway = start(mesh, host=[entry])
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=WINDOW) as transfer:
        port = transfer.receiver_port

        def interval_ms() -> float:
            """Without its 1 + 2 CoV: round trips vary on a busy machine."""
            flow = gateway.flow(port)
            return flow["interval_us"] / 1e3 / (1 + 2 * flow["cov"]) if flow else 0.0

        until(lambda: interval_ms() > 0, PATIENCE_S, gateway)
        assert "surroundings" not in gateway.fresh_status()["hosts"][0]
        told = {"law": "map", "radio": STRONG.table}
        gateway.configure({**told, "host": [entry]})
        gateway.send(signal.SIGHUP)
        # Seven hops of 1.09 ms, and no queueing.
        until(lambda: 7.6 < interval_ms() < 9, PATIENCE_S, gateway)
        assert gateway.status()["law"] == "map"
        # The second node is so far that it does not sense: two hops of three.
        gateway.configure({**told, "host": [{**entry, "hop_m": [50, 300]}]})
        gateway.send(signal.SIGHUP)
        until(lambda: 3.2 < interval_ms() < 4, PATIENCE_S, gateway)
        found = surroundings(gateway)
        assert (found["distances"], found["distances_m"]) == ("hops", [50.0, 350.0])
        assert found["h_cs"] == 2
        gateway.configure({"host": [entry]})
        gateway.send(signal.SIGHUP)
        until(lambda: gateway.status()["law"] == "gap", PATIENCE_S, gateway)
        assert "surroundings" not in gateway.fresh_status()["hosts"][0]
        assert transfer.finish().intact
