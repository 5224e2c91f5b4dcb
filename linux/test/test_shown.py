# SPDX-License-Identifier: GPL-2.0-only
"""What is told of a gateway is what documents, dashboards and operators rely on."""

import contextlib
import json
import os
import pty
import re
import signal
import socket
import termios
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.schema import valid
from harness.transfer import Transfer
from test_config import one_line

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "packaging" / "grafana" / "meshpace.json"
METRICS = "127.0.0.1:9873"
# A series' name in a query: all of the gateway's begin so.
SERIES = re.compile(r"\bmeshpace_\w+")


def both(network: net.Network) -> tuple[Transfer, Transfer]:
    return (
        Transfer(network.wired, network.hosts[0], net.host4(0)),
        Transfer(network.hosts[1], network.wired, net.WIRED4),
    )


@pytest.mark.parametrize(
    ("how", "config"),
    [
        ("htb", {"law": "even"}),
        ("observe", {"law": "even"}),
        ("observe", {"law": "off"}),
        ("htb", {"law": "gap"}),
        ("htb", {"law": "map", "radio": {"signal_dbm": -60, "frequency_mhz": 2412}}),
        ("htb", {"law": "even", "shares": False}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_status_is_as_its_schema_says(
    start: StartGateway, how: str, config: dict[str, Any]
) -> None:
    """Else who reads it by the document reads what is not there, or does not see what is."""
    with net.routed(hosts=2) as network:
        group = [{"name": "the school", "addresses": [net.host4(1)]}]
        gateway = start(network, how, group=group, **config)
        valid(gateway.fresh_status())
        down, up = both(network)
        with down, up:
            judged = gateway.status()["shares"] or config["law"] == "off"

            def rows() -> dict[str, Any]:
                hosts = valid(gateway.fresh_status())["hosts"]
                return {row["address"]: row for row in hosts}

            def known() -> bool:
                found = rows()
                return len(found) == 2 and (
                    not judged or all(row["part"] is not None for row in found.values())
                )

            until(known, PATIENCE_S, gateway)
            found = rows()
            assert found[net.host4(0)]["goodput_down_kbps"] > 0
            assert found[net.host4(1)]["goodput_up_kbps"] > 0
            assert found[net.host4(1)]["group"] == "the school"
            assert (found[net.host4(0)]["bounded_by"] != "not judged") == judged
            assert found[net.host4(0)]["active_down"] == judged
            printed = json.loads(gateway.call("status", "--json").stdout)
            assert set(valid(printed)) == set(gateway.status())


def test_who_is_there_and_who_left(network: net.Network, start: StartGateway) -> None:
    """Else an operator takes who has gone for one who starves."""
    gateway = start(network, law="even", host=[host(net.host4(0), 11.0)])

    def row() -> dict[str, Any]:
        rows = valid(gateway.fresh_status())["hosts"]
        return rows[0] if rows else {"bounded_by": ""}

    # What it gets alone is known once it has wanted more for three seconds; this one may never.
    free = ("nothing", "own demand", "not known yet")
    with Transfer(network.wired, network.host, net.host4(0)):
        until(lambda: row()["bounded_by"] in free, PATIENCE_S, gateway)
        assert not row()["underserved"], "alone"
        dies = ("INPUT", "-p", "tcp", "-j", "DROP")
        network.host.run("iptables", "-A", *dies)
        until(lambda: row()["bounded_by"] == "lost route", PATIENCE_S, gateway)
        assert "acknowledged for" in row()["why"]
        assert not row()["underserved"], "who is alone, or has left, has no part that others took"
        network.host.run("iptables", "-D", *dies)


def test_questions(network: net.Network, start: StartGateway) -> None:
    """Who asks nothing has status as before; a question that is none has an error in one line."""
    gateway = start(network, "observe", law="even")
    path = gateway.directory / "run" / "mesh0.ask"

    def ask(question: bytes) -> Any:
        with socket.socket(socket.AF_UNIX) as asks:
            asks.settimeout(PATIENCE_S)
            asks.connect(str(path))
            asks.sendall(question)
            return json.load(asks.makefile())

    assert ask(b"history\n")["hosts"] == []
    for wrong in (b"\n", b"stop\n", b"x" * 100, b"\xff\xfe\n", b"history" + b" " * 100):
        assert "error" in ask(wrong)
    assert gateway.status()["mesh"] == "mesh0"
    told = json.loads(gateway.call("report", "--json").stdout)
    assert (told["release"], told["hosts"]) == ("observe", [])
    assert "nobody" in gateway.call("report").stdout
    path.unlink()
    until(path.exists, PATIENCE_S, gateway)
    gateway.stop()
    assert not path.exists()
    assert "no gateway is running" in one_line(gateway.call("report").stderr)


def test_keys_of_top(network: net.Network, start: StartGateway) -> None:
    """f shows flows, q ends, and the terminal is as it was: also after a signal."""
    gateway = start(network, "observe", law="even")
    with Transfer(network.wired, network.host, net.host4(0)):
        until(lambda: gateway.status()["flows"], PATIENCE_S, gateway)
        for end in (b"q", b"\x03"):
            ours, theirs = pty.openpty()
            before = termios.tcgetattr(theirs)
            process = gateway.attach("top", terminal=theirs)
            shown = b""

            def shows(text: bytes, ours: int = ours) -> bool:
                nonlocal shown
                shown += os.read(ours, 1 << 16)
                return text in shown

            until(lambda: shows(b"bounded by"), PATIENCE_S, gateway)
            os.write(ours, b"f")
            until(lambda: shows(b"RTT ms"), PATIENCE_S, gateway)
            if end == b"q":
                os.write(ours, end)
            else:
                process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
            assert termios.tcgetattr(theirs) == before
            os.close(ours)
            os.close(theirs)


def scrape(gateway: Gateway) -> str:
    with (
        gateway.namespace.inside(),
        urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=5) as answer,
    ):
        return str(answer.read().decode())


def test_the_dashboard_asks_for_what_there_is(start: StartGateway) -> None:
    """Else a panel is empty for ever, and nobody knows that it is wrong."""
    queries = re.findall(r'"expr": "((?:[^"\\]|\\.)*)"', DASHBOARD.read_text())
    asked = {name for query in queries for name in SERIES.findall(query)}
    assert len(asked) > 12
    with net.routed(hosts=2) as network:
        gateway = start(network, law="even", metrics=METRICS)
        down, up = both(network)
        with down, up:
            served: set[str] = set()

            def told() -> bool:
                lines = scrape(gateway).splitlines()
                served.update(SERIES.findall(" ".join(x for x in lines if x[:1] != "#")))
                return asked <= served

            try:
                until(told, PATIENCE_S, gateway)
            except TimeoutError:
                assert not asked - served
            labels = set(re.findall(r'(\w+)="', " ".join(queries).replace("\\", "")))
            assert labels <= {"host", "direction"}


TOKENS = {
    "not there": (None, "make one"),
    "too short": ("00112233445566778899", "128 bits"),
    "no letters": ("0011 2233 4455 6677 8899 aabb ccdd eeff", "128 bits"),
}


@pytest.mark.parametrize("what", TOKENS)
def test_a_token_that_is_none_is_refused(network: net.Network, tmp_path: Path, what: str) -> None:
    """One line, exit 2, and nothing is left of the gateway that did not start."""
    text, says = TOKENS[what]
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
        file.chmod(0o600)
    web = {"listen": "0.0.0.0:9871", "token_file": str(file)}
    gateway = Gateway(network.gateway, tmp_path, "htb", {"law": "even", "web": web})
    words = ("gateway", "--mesh", "mesh0", "--config", str(gateway.file))
    done = gateway.call(*words)
    assert done.returncode == 2, done.stderr
    refusal = done.stderr.strip().splitlines()[-1]
    assert says in refusal
    assert str(file) in refusal
    assert not (tmp_path / "run" / "mesh0.sock").exists()


def test_a_port_that_is_taken_is_told(network: net.Network, tmp_path: Path) -> None:
    """Packets do not wait for it, and figures and page are there once it is free."""
    asked = {"metrics": "127.0.0.1:9870", "web": {"listen": "127.0.0.1:9871"}}
    gateway = Gateway(network.gateway, tmp_path, "observe", asked)

    def opens(port: int) -> bool:
        with network.gateway.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        with contextlib.ExitStack() as stack:
            for port in (9870, 9871):
                family, kind = socket.AF_INET, socket.SOCK_STREAM
                other = stack.enter_context(network.gateway.socket(family, kind))
                other.bind(("127.0.0.1", port))
                other.listen()
            gateway.start()
            for port in (9870, 9871):
                gateway.logged(f'127.0.0.1:{port}": Address already in use')
        until(lambda: opens(9870) and opens(9871), gateway=gateway)
        told = [line for line in gateway.log if "choose another address" in line]
        assert len(told) == 2, "it is said once"
    finally:
        gateway.end()
