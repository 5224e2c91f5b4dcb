# SPDX-License-Identifier: GPL-2.0-only
"""What an operator does: configure, reload, ask, get it wrong."""

import json
import re
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import PATIENCE_S, PROGRAM, Gateway, host, mbps_for, toml, until
from harness.namespace import Namespace
from harness.traces import Traces, left_behind
from harness.transfer import Transfer, window

SEGMENT = 1448  # payload of a packet with timestamps


def one_line(text: str) -> str:
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    return lines[0]


def paced_by(gateway: Gateway, port: int) -> float:
    """The bit rate in Mbit/s by which a flow has got an interval; 0 while it has none."""
    flow = gateway.flow(port)
    return float(flow["mbps"]) if flow and flow["interval_us"] else 0.0


def test_a_reload_takes_effect(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, host=[host(net.host4(0), 5.5)])
    with Transfer(network.wired, network.host, net.host4(0), options=window(65536)) as transfer:
        port = transfer.receiver_port
        until(lambda: paced_by(gateway, port) == 5.5, PATIENCE_S, gateway)
        gateway.configure({"host": [host(net.host4(0), 2.0)]})
        gateway.send(signal.SIGHUP)
        until(lambda: paced_by(gateway, port) == 2.0, PATIENCE_S, gateway)
        assert transfer.finish().intact


def test_a_bad_file_changes_nothing(network: net.Network, start: StartGateway) -> None:
    """The old configuration stays in force, and the log says what is wrong where."""
    gateway = start(network, host=[host(net.host4(0), 5.5)])
    gateway.file.write_text("mesh_iface = 'x'\n")
    gateway.send(signal.SIGHUP)
    line = gateway.logged("mesh_iface")
    assert gateway.file.name in line
    with Transfer(network.wired, network.host, net.host4(0), options=window(65536)) as transfer:
        until(lambda: paced_by(gateway, transfer.receiver_port), PATIENCE_S, gateway)
        assert paced_by(gateway, transfer.receiver_port) == 5.5
        assert transfer.finish().intact


@pytest.fixture
def idle(network: net.Network, tmp_path: Path) -> Gateway:
    """The program in a gateway's namespace, not running."""
    return Gateway(network.gateway, tmp_path, "nfqueue", {})


BAD = {
    "unknown key": ("hosts = 3\n", "hosts"),
    "unknown key in a table": ("[default_path]\nhop = 3\n", "hop"),
    "wrong type": ('law = "gap"\nmax_flows = "many"\n', "line 2"),
    "unknown law": ('law = "warp"\n', "warp"),
    "unknown release": ('release = "soon"\n', "soon"),
    "bad address": ('[[host]]\naddress = "10.1.0.300"\nhops = 1\nmbps = 1.0\n', "10.1.0.300"),
    "bad prefix": ('[[host]]\naddress = "10.1.0.0/40"\nhops = 1\nmbps = 1.0\n', "10.1.0.0/40"),
    "one host twice": (
        '[[host]]\naddress = "10.1.0.2"\nhops = 1\n[[host]]\naddress = "10.1.0.2"\nhops = 2\n',
        "twice",
    ),
    "no interface's name": ('mesh = "../x"\n', "mesh: "),
    "mesh and Internet at once": ('mesh = "mesh0"\nwired = ["mesh0"]\n', "both"),
    "negative rate": ('[[host]]\naddress = "10.1.0.2"\nhops = 1\nmbps = -1.0\n', "mbps"),
    "zero flows": ("max_flows = 0\n", "max_flows"),
    "bad metrics address": ('metrics = "everywhere"\n', "line 1"),
    "no TOML": ("mesh = = 3\n", "line 1"),
    "unknown key of the radio": ('law = "map"\n[radio]\nsignal = -60\n', "signal"),
    "threshold out of range": ("[radio]\nsense_dbm = 82\n", "radio.sense_dbm"),
    "loss below 0": ("[radio]\ncable_db = -3\n", "radio.cable_db"),
    "signal that means unknown": ("[radio]\nsignal_dbm = 0\n", "radio.signal_dbm"),
    "slot of another unit": ("[radio]\nslot_us = 9000\n", "radio.slot_us"),
    "window of the wrong type": ('[radio]\ncw = "15"\n', "line 2"),
    "node without a place": ('[[node]]\naddress = "self"\nx_m = 1\n', "node self"),
    "node without a name": ('[[node]]\naddress = "roof"\nx_m = 1\ny_m = 1\n', "roof"),
    "nodes without this box": ('[[node]]\naddress = "fd00::2"\nx_m = 1\ny_m = 1\n', "self"),
    "latitude out of range": (
        '[[node]]\naddress = "self"\nlatitude = 95\nlongitude = 1\n',
        "latitude",
    ),
    "way over an unknown node": (
        '[[host]]\naddress = "10.1.0.2"\nway = ["10.1.0.3"]\n',
        "10.1.0.3",
    ),
    "page without an address": ('[web]\ntoken_file = "/etc/meshpace/token"\n', "web.listen"),
    "page for all without a token": ('[web]\nlisten = "0.0.0.0:9871"\n', "web.token_file"),
    "page for others without a token": ('[web]\nlisten = "10.1.0.1:9871"\n', "web.token_file"),
    "page of no address": ('[web]\nlisten = "gateway:9871"\n', "line 2"),
    "unknown key of the page": ('[web]\nlisten = "127.0.0.1:1"\nuser = "x"\n', "user"),
    "hop of no length": ('[[host]]\naddress = "10.1.0.2"\nhop_m = [50, 0]\n', "hop_m"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused(idle: Gateway, what: str) -> None:
    """Exit 2 and one line that names file and key, from `config check` and from the gateway."""
    text, name = BAD[what]
    idle.file.write_text(text)
    checked = idle.call("config", "check", str(idle.file))
    assert checked.returncode == 2, checked
    line = one_line(checked.stderr)
    assert name in line
    assert idle.file.name in line
    begun = idle.call("gateway", "--mesh", "mesh0", "--config", str(idle.file))
    assert begun.returncode == 2
    assert name in one_line(begun.stderr)


def test_a_good_file_passes(idle: Gateway) -> None:
    idle.file.write_text(
        toml(
            {
                "mesh": "mesh0",
                "wired": ["eth0"],
                "law": "gap",
                "release": "nfqueue",
                "goodput_control": False,
                "local_retransmission": True,
                "option": "always",
                "delay_bound_ms": 500,
                "delay_bound_means": 4,
                "max_flows": 1000,
                "idle_timeout_s": 60,
                "retransmit_cache_mib": 8,
                "metrics": "127.0.0.1:9870",
                "default_path": {"hops": 2, "mbps": 5.5},
                "host": [
                    {**host("10.1.0.0/24", 11.0, 4), "hop_m": [80, 120.5]},
                    {"address": "fd00::2", "way": ["02:00:00:00:00:01", "fd00::2"]},
                ],
                "radio": {"sense_dbm": -95, "antenna_dbi": 2.1, "rts_cts": False, "cw": 31},
                "node": [
                    {"address": "self", "latitude": 51.34, "longitude": 12.37},
                    {"address": "02:00:00:00:00:01", "latitude": 51.341, "longitude": 12.37},
                    {"address": "fd00::2", "latitude": 51.342, "longitude": 12.371},
                ],
            }
        )
    )
    checked = idle.call("config", "check", str(idle.file))
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gateway"], "--mesh"),
        (["gateway", "--mesh", "nowhere"], "nowhere"),
        (["gateway", "--mesh", "mesh0", "--release", "fast"], "fast"),
        (["gateway", "--mesh", "mesh0", "--config", "/nonexistent.toml"], "/nonexistent.toml"),
        (["config", "check", "/nonexistent.toml"], "/nonexistent.toml"),
        (["florw"], "florw"),
        (["gateway", "--mesch", "mesh0"], "--mesch"),
        (["gateway", "--mesh", "mesh0", "--law", "warp"], "possible values: gap, map, even, off"),
        (["gateway", "--mesh", "mesh0", "--config"], "--config <FILE>"),
        (["config", "check"], "<FILE>"),
        (["sender", "on", "--hops", "256"], "1..=255"),
        (["sender", "on", "--mbps", "-3"], "-3 is out of range"),
        (["sender", "on", "--mbps", "fast"], "no number"),
    ],
    ids=str,
)
def test_wrong_usage(idle: Gateway, words: list[str], says: str) -> None:
    before = Traces.of(idle.namespace)
    done = idle.call(*words)
    assert done.returncode == 2
    assert says in one_line(done.stderr)
    assert not done.stdout
    assert not left_behind(idle.namespace, before)


def test_a_second_gateway_is_refused(network: net.Network, start: StartGateway) -> None:
    gateway = start(network)
    second = gateway.call("gateway", "--mesh", "mesh0", "--release", "observe")
    assert second.returncode == 1
    assert "mesh0" in one_line(second.stderr)
    assert gateway.alive
    assert gateway.status()["release"] == gateway.release


def test_who_cannot_start_ends_nobody(network: net.Network, start: StartGateway) -> None:
    """With --replace, too: by what it would be refused is known before the other is ended."""
    gateway = start(network)
    network.gateway.ip("link", "add", "br9", "type", "bridge")
    try:
        network.gateway.ip("link", "set", "mesh0", "master", "br9")
        begun = gateway.call("gateway", "--mesh", "mesh0", "--release", "htb", "--replace")
        assert begun.returncode == 2, begun
        assert "br9" in begun.stderr
        assert gateway.alive
    finally:
        network.gateway.ip("link", "del", "br9")


def test_a_trace_that_cannot_be_written_ends_nobody(
    network: net.Network, start: StartGateway
) -> None:
    """With --replace, too."""
    gateway = start(network)
    words = ("gateway", "--mesh", "mesh0", "--replace", "--record", "/nowhere/trace")
    begun = gateway.call(*words)
    assert begun.returncode == 2, begun
    assert "--record /nowhere/trace: No such file" in one_line(begun.stderr)
    assert gateway.alive


def test_a_wired_interface_need_not_be_there(network: net.Network, tmp_path: Path) -> None:
    """It is shown, and nothing is done on it."""
    gateway = Gateway(network.gateway, tmp_path, "observe", {}, "--wired", "ppp9")
    try:
        gateway.start().logged("wired: no interface 'ppp9'")
        assert gateway.status()["wired"] == ["eth0", "ppp9"]
    finally:
        gateway.end()


def test_status_without_a_gateway(idle: Gateway) -> None:
    for words in (["status"], ["status", "--json"], ["status", "--mesh", "mesh0"]):
        done = idle.call(*words)
        assert done.returncode == 1
        one_line(done.stderr)


FLOW_KEYS = """
    mesh wired direction hops hops_source mbps mbps_source cov interval_us rate_kbps goodput_kbps
    throttled starved packets bytes acked_bytes samples discarded retransmits local_retransmits
    age_s idle_s
"""


def assert_bytes(flow: dict[str, Any]) -> None:
    """All of 400,000, each once but for what TCP says that it has sent again."""
    assert flow["acked_bytes"] == 400_000
    assert 400_000 <= flow["bytes"] <= 400_000 + SEGMENT * flow["retransmits"], flow


def test_what_cannot_be_printed_is_told(idle: Gateway) -> None:
    """Where the answer should have gone, and why it did not."""
    idle.file.write_text("")
    with Path("/dev/full").open("w") as full:
        words = [str(PROGRAM), "config", "check", str(idle.file)]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert one_line(done.stderr) == (
        "meshpace: standard output: No space left on device; make room there"
    )


def test_status_tells_what_is(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, host=[host(net.host4(0), 5.5, hops=3), host("fd00::/16", 2.0)])
    # The paced one first: a flow that has finished is forgotten after 10 s.
    down = Transfer(network.wired, network.host, net.host4(0), 400_000).start()
    assert down.wait().intact
    up = Transfer(network.host, network.wired, net.WIRED6, 400_000).start()
    assert up.wait().intact
    status = gateway.fresh_status()
    assert (status["mesh"], status["wired"]) == ("mesh0", ["eth0"])
    assert (status["law"], status["release"]) == ("gap", gateway.release)
    flows = {flow["direction"]: flow for flow in status["flows"]}
    assert set(flows) == {"down", "up"}
    for flow in flows.values():
        assert not [key for key in FLOW_KEYS.split() if key not in flow]
    assert flows["down"]["mesh"] == f"{net.host4(0)}:{down.receiver_port}"
    assert flows["down"]["wired"] == f"{net.WIRED4}:{down.sender_port}"
    assert (flows["down"]["hops"], flows["down"]["hops_source"]) == (3, "config")
    assert_bytes(flows["down"])
    assert flows["down"]["rtt_wireless_ms"] > 0
    assert flows["up"]["mesh"] == f"[{net.host6(0)}]:{up.sender_port}"
    assert_bytes(flows["up"])
    assert flows["up"]["rtt_wired_ms"] > 0
    printed = gateway.call("status", "--mesh", "mesh0", "--json").stdout
    assert set(json.loads(printed)) == set(status)
    table = gateway.call("status", "--mesh", "mesh0").stdout
    assert net.host4(0) in table


def test_top_is_a_table_that_is_renewed(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, host=[host(net.host4(0), mbps_for(1))])
    with Transfer(network.wired, network.host, net.host4(0), options=window(64 * 1024)) as transfer:
        until(lambda: gateway.flow(transfer.receiver_port), PATIENCE_S, gateway)
        shown = gateway.watch("top", "--mesh", "mesh0", "--flows", until="RTT ms", times=3)
        hosts = gateway.watch("top", "--mesh", "mesh0", until="bounded by", times=3)
    tables = shown.count("RTT ms")
    assert shown.count(f":{transfer.receiver_port}") == tables, shown
    assert hosts.count(f"\n{net.host4(0)} ") == hosts.count("bounded by"), hosts


def test_hops_from_the_ttl(network: net.Network, start: StartGateway) -> None:
    """Nobody configured the host: its packets come with TTL 62, so it is three hops away."""
    network.host.sysctl("net.ipv4.ip_default_ttl", "62")
    gateway = start(network)
    run = Transfer(network.wired, network.host, net.host4(0), 300_000).start()
    assert run.wait().intact
    gateway.fresh_status()
    flow = gateway.flow(run.receiver_port)
    assert flow
    assert (flow["hops"], flow["hops_source"]) == (3, "ttl")
    assert (flow["mbps"], flow["mbps_source"]) == (11.0, "default")


def test_the_cache_is_bounded(network: net.Network, start: StartGateway) -> None:
    """With room for one megabyte the daemon stays small, and transfers arrive."""
    gateway = start(network, retransmit_cache_mib=1, host=[host(net.host4(0), mbps_for(1))])
    run = Transfer(network.wired, network.host, net.host4(0), 3_000_000).start()
    assert run.wait().intact
    assert gateway.memory_kib() < 25 * 1024


def test_doctor(network: net.Network, start: StartGateway) -> None:
    gateway = start(network)
    for words in (["doctor", "--json"], ["doctor", "--mesh", "mesh0", "--json"]):
        done = gateway.call(*words)
        assert done.returncode in (0, 1), done.stderr
        json.loads(done.stdout)
    told = gateway.call("doctor", "--mesh", "mesh0").stdout
    assert re.search(r"release htb +ifb, sch_tbf and sch_htb are there", told), told
    compiled = Path("/proc/sys/net/core/bpf_jit_enable").read_text().strip() != "0"
    said = "programs run compiled" if compiled else "programs are interpreted"
    assert re.search(f"eBPF speed +{said}", told), told


def listening(namespace: Namespace) -> list[str]:
    """TCP sockets that listen in a namespace, from its own /proc."""
    rows = namespace.run("cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines()
    return [row for row in rows if " 0A " in row]


SAMPLE = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z_]+="([^"\\]|\\.)*",?)*\})? \S+$')


def test_metrics_are_off_by_default(network: net.Network, start: StartGateway) -> None:
    start(network)
    assert not listening(network.gateway)


def test_metrics_can_be_read(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, metrics="127.0.0.1:9870")
    run = Transfer(network.wired, network.host, net.host4(0), 300_000).start()
    assert run.wait().intact
    assert gateway.alive
    with (
        network.gateway.inside(),
        urllib.request.urlopen("http://127.0.0.1:9870/metrics", timeout=5) as answer,
    ):
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/plain")
        text = answer.read().decode()
    samples = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert samples
    for line in samples:
        assert SAMPLE.match(line), line
        float(line.rsplit(" ", 1)[1])
    typed = re.findall(
        r"^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$", text, re.MULTILINE
    )
    assert {line.split("{")[0].split(" ")[0] for line in samples} <= {name for name, _ in typed}


def test_a_clock_that_is_not_the_kernel_s_is_refused(
    network: net.Network, start: StartGateway
) -> None:
    """In a time namespace the programs would take the daemon for one that hangs, and pass all."""
    gateway = start(network)
    command = gateway._command("gateway", "--mesh", "mesh0", "--replace")
    away = ("unshare", "--time", "--fork", "--monotonic", "100000")
    begun = subprocess.run(
        [*away, *command],
        env=gateway._environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert begun.returncode == 2, begun
    assert "is 100000 s from the kernel's" in one_line(begun.stderr)
    assert gateway.alive
