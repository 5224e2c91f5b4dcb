# SPDX-License-Identifier: GPL-2.0-only
"""Hops over 802.11s, and what the law `map` wants of the radios."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import Gateway, until
from harness.mesh_law import MapRadio
from harness.sender import Sender
from harness.transfer import Transfer, window
from hops import found_hops
from radio_facts import RadioFacts, by_iw
from radios import Mesh80211s, Station, path_table
from reach import reach

# Transmit powers that no driver begins with, of gateway, relay and host, dBm. hwsim's signals are
# 50 dB below what the other sends.
GATEWAY_DBM, RELAY_DBM, HOST_DBM, LOSS_DB = 15, 12, 9, 50
# RTS and CTS go before larger frames, at the gateway alone.
RTS_BYTES = 500


@pytest.fixture(scope="module")
def mesh() -> Iterator[net.Network]:
    powers_mbm = (100 * GATEWAY_DBM, 100 * RELAY_DBM, 100 * HOST_DBM)
    with net.over_radio(Mesh80211s(powers_mbm)) as network:
        reach(network)
        yield network


def test_the_chain_has_two_hops(mesh: net.Network) -> None:
    """Without this the other tests would show nothing."""
    paths = path_table(Station(mesh.gateway, "mesh0"))
    assert paths[Station(mesh.host, "eth0").mac] == 2
    assert sorted(paths.values()) == [1, 2]


def test_the_gateway_finds_them(mesh: net.Network, start: StartGateway) -> None:
    flow = found_hops(mesh, start, "802.11s")
    # hwsim's minstrel begins at 1 Mbit/s and knows nothing above 54.
    assert flow["mbps_source"] == "802.11s"
    assert 1 <= flow["mbps"] <= 54


def _radio(station: Station, *words: str) -> None:
    """`iw phy` of the station's radio."""
    phy = station.namespace.run("cat", f"/sys/class/net/{station.interface}/phy80211/name")
    station.namespace.run("iw", "phy", phy.strip(), *words)


def agreed(by_meshpace: Callable[[], RadioFacts | None], station: Station, to: str) -> RadioFacts:
    """What both say at a time: rate control and averages move on meanwhile."""
    latest: list[object] = []

    def same() -> RadioFacts | None:
        latest[:] = by_iw(station, to), by_meshpace()
        return latest[1] if latest[0] == latest[1] else None  # type: ignore[return-value]

    try:
        found: RadioFacts = until(same, 40)
    except TimeoutError:
        pytest.fail(f"iw and meshpace differ: {latest}")
    print(f"{station.namespace.name}: {found}")
    return found


def _of_gateway(gateway: Gateway) -> Callable[[], RadioFacts | None]:
    def told() -> RadioFacts | None:
        hosts = {one["address"]: one for one in gateway.status()["hosts"]}
        host = hosts.get(net.host4(0))
        around = (host or {}).get("surroundings")
        if not (host and around and around["signal_dbm"] and host["hops_source"] == "802.11s"):
            return None
        drivers = ("signal_dbm", "tx_power_dbm", "frequency_mhz", "slot_us", "base_mbps", "rts_cts")
        assert {around[one]["by"] for one in drivers} == {"driver"}
        return RadioFacts(
            around["tx_power_dbm"]["value"],
            around["frequency_mhz"]["value"],
            around["signal_dbm"]["value"],
            host["mbps"],
            around["slot_us"]["value"],
            host["hops"],
        )

    return told


def test_the_gateway_reads_what_iw_prints(mesh: net.Network, start: StartGateway) -> None:
    """Power, frequency, signal, bit rate, slot and hops; the range follows from the signal."""
    station = Station(mesh.gateway, "mesh0")
    _radio(station, "set", "rts", str(RTS_BYTES))
    gateway = start(mesh, law="map", option="never")
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=window(16 * 1024)):
        told = agreed(_of_gateway(gateway), station, Station(mesh.host, "eth0").mac)
        hosts = {one["address"]: one for one in gateway.status()["hosts"]}
    assert (told.tx_power_dbm, told.frequency_mhz, told.hops) == (GATEWAY_DBM, 2412, 2)
    assert told.signal_dbm == pytest.approx(RELAY_DBM - LOSS_DB, abs=2)
    around = hosts[net.host4(0)]["surroundings"]
    assert around["interface"] == "mesh0"
    signal_dbm = around["signal_dbm"]["value"]
    assert (around["h_cs"], around["h_cs_by"]) == (MapRadio(signal_dbm).h_cs, "signal")
    # hwsim does 802.11g, from 1 Mbit/s on.
    assert (around["base_mbps"]["value"], around["cw"]["value"]) == (1.0, 15)
    assert around["rts_cts"]["value"] is True
    assert not [line for line in gateway.log if "unknown" in line and "law map" in line]


def test_the_sender_reads_what_iw_prints(mesh: net.Network, tmp_path: Path) -> None:
    """The other end of the chain, which goes by the same tables to the gateway."""
    station = Station(mesh.host, "eth0")
    with Sender(mesh.host, tmp_path) as sender:

        def told() -> RadioFacts | None:
            done = sender.call("on", "--mesh", "eth0", "--law", "map")
            assert done.returncode == 0, done.stderr
            path = sender.status()["path"]
            if path["signal_by"] != "driver":
                return None
            return RadioFacts(
                path["tx_power_dbm"],
                path["frequency_mhz"],
                path["signal_dbm"],
                path["mbps"],
                path["slot_us"],
                path["hops"],
            )

        found = agreed(told, station, Station(mesh.gateway, "mesh0").mac)
        path = sender.status()["path"]
    assert (found.tx_power_dbm, found.frequency_mhz, found.hops) == (HOST_DBM, 2412, 2)
    assert found.signal_dbm == pytest.approx(RELAY_DBM - LOSS_DB, abs=2)
    assert (path["law"], path["h_cs"]) == ("map", MapRadio(path["signal_dbm"]).h_cs)
    assert (path["base_mbps"], path["cw"], path["rts_cts"]) == (1.0, 15, False)
