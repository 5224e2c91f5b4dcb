# SPDX-License-Identifier: GPL-2.0-only
"""
`meshpace try`: a gateway that observes paces for a while and observes again by itself, whatever
becomes of who asked for it, and of the gateway.
"""

import contextlib
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import air, net
from harness.gateway import Gateway, Table, host, until
from harness.schema import valid
from harness.traces import Traces, left_behind
from harness.transfer import LOAD_BYTES_PER_S, Result, Transfer, bounded, window

COMMENTED = """# what the village's gateway does
mesh = "mesh0"     # the bridge
wired = ["eth0"]
release = "observe" # until we have tried it
"""
RADIO = air.Radio(delay_ms=5.0, kbps=5000, queue=50)
STALL_S = 1.0
# The next start takes away what a gateway that was killed had wait in the kernel: its sender's
# time-out of 1 s, and one more where the copy is lost too.
KILLED_S = 3.0
# Fifteen windows of 3 s, in which a host is at work, and what they may begin late.
TELLS_S = 48.0


@contextlib.contextmanager
def observing(
    network: net.Network, tmp_path: Path, text: str = COMMENTED, **more: object
) -> Iterator[Gateway]:
    """A gateway as after `meshpace setup`: the configuration alone says what it does."""
    gateway = Gateway(network.gateway, tmp_path, "observe", {})
    configure(gateway, text, more)
    gateway._words = []
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.end()
        print("\n".join(gateway.log[-60:]))


def configure(gateway: Gateway, text: str, more: Table) -> None:
    gateway.configure(more)
    lines = gateway.file.read_text().splitlines()
    law = [line for line in lines if not line.startswith("law") or "law" in more]
    gateway.file.write_text(text + "\n".join(law) + "\n")


def request(gateway: Gateway, words: object) -> Any:
    """What the command sends, for times that it does not allow."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(gateway.directory / "run" / "mesh0.requests"))
        client.sendall(json.dumps(words).encode() + b"\n")
        return json.loads(client.recv(1 << 16))


def begin(gateway: Gateway, seconds: int) -> None:
    assert "done" in request(gateway, {"try": {"seconds": seconds}})
    until(lambda: released(gateway) == "htb")


def status(gateway: Gateway) -> Any:
    """None while the program starts again."""
    shown = gateway.call("status", "--json")
    return valid(json.loads(shown.stdout)) if shown.returncode == 0 else None


def released(gateway: Gateway) -> str:
    now = status(gateway)
    return str(now["release"]) if now else ""


def observes_again(gateway: Gateway) -> Any:
    """What the gateway tells of the try that is over."""
    return until(lambda: (status(gateway) or {}).get("latest_try"))


def got_bytes(gateway: Gateway) -> int:
    """What all hosts got so far, as the day's report has it."""
    shown = gateway.call("report", "--json")
    return sum(host["got_bytes"] for host in json.loads(shown.stdout)["hosts"])


def load(network: net.Network) -> Transfer:
    """A download that goes on meanwhile."""
    options = window(64 * 1024) | bounded()
    return Transfer(network.wired, network.host, net.host4(0), options=options)


def passed(result: Result, stall_s: float = STALL_S) -> None:
    print(result)
    assert result.intact
    assert result.received_bytes > 100_000
    assert result.stall_s < stall_s


def test_it_paces_and_then_observes_by_itself(network: net.Network, tmp_path: Path) -> None:
    """The transfers under way go on, nothing stands still, and nothing is left behind."""
    clean = Traces.of(network.gateway)
    with observing(network, tmp_path) as gateway:
        pid = gateway.pid
        with load(network) as run:
            before = until(lambda: got_bytes(gateway))
            begin(gateway, 8)
            now = status(gateway)
            assert 0 < now["try"]["left_s"] <= 8
            assert "observes again" in gateway.call("status").stdout
            ended = observes_again(gateway)
            passed(run.finish())
        assert ended["why"] == "its time is over"
        assert not ended["retreated"]
        assert released(gateway) == "observe"
        assert got_bytes(gateway) > before + LOAD_BYTES_PER_S, "the day's history goes on"
        assert gateway.pid == pid
        assert gateway.alive
        assert "mph" not in network.gateway.run("ip", "-o", "link")
        gateway.logged("observes again: its time is over")
        assert gateway.stop() == 0
    assert left_behind(network.gateway, clean) == {}


def test_who_asked_may_be_killed(network: net.Network, tmp_path: Path) -> None:
    """The gateway keeps the time. The command says what comes, and needs no terminal."""
    with observing(network, tmp_path) as gateway:
        command = gateway._command("try", "2m")
        client = subprocess.Popen(
            command, env=gateway._environment, stdout=subprocess.PIPE, text=True
        )
        assert client.stdout
        assert client.stdout.readline() == "mesh0 is paced for 2 min 0 s, then observed again.\n"
        assert "It ends by itself" in client.stdout.readline()
        until(lambda: released(gateway) == "htb")
        client.kill()
        client.wait()
        left_s = until(lambda: status(gateway))["try"]["left_s"]
        time.sleep(2)
        assert until(lambda: status(gateway))["try"]["left_s"] < left_s
        again = gateway.call("try", "5m")
        assert again.returncode == 2
        assert "a try goes on for another" in again.stderr
        stopped = gateway.call("try", "--stop")
        assert stopped.returncode == 0, stopped.stderr
        assert "The gateway on mesh0 observes again: it was stopped" in stopped.stdout
        assert "there is nothing to compare" in stopped.stdout
        assert released(gateway) == "observe"


def test_who_was_told_that_it_failed_gets_no_try(network: net.Network, tmp_path: Path) -> None:
    """Who asked a gateway that stands still has left by the time that it goes on."""
    with observing(network, tmp_path) as gateway:
        gateway.send(signal.SIGSTOP)
        asked = gateway.call("try", "2m")
        assert asked.returncode == 1
        assert "does not answer" in asked.stderr
        gateway.send(signal.SIGCONT)
        gateway.fresh_status()
        # One thread takes requests in their order: it has looked at the earlier one.
        stopped = gateway.call("try", "--stop")
        assert stopped.returncode == 2, stopped.stdout
        assert "no try goes on" in stopped.stderr


def test_it_is_called_as_before(network: net.Network, tmp_path: Path) -> None:
    """Else pidof, ps and who watches by name take it for gone once a try has begun."""
    with observing(network, tmp_path) as gateway:
        names = [Path(f"/proc/{gateway.pid}/{file}") for file in ("comm", "cmdline")]
        before = [file.read_bytes() for file in names]
        begin(gateway, 60)
        assert [file.read_bytes() for file in names] == before
        assert before[0] == b"meshpace\n"


def test_a_gateway_that_is_killed_observes_when_it_is_started(
    network: net.Network, tmp_path: Path
) -> None:
    """Nobody but the process knew of the try."""
    with observing(network, tmp_path) as gateway, load(network) as run:
        begin(gateway, 600)
        gateway.kill()
        time.sleep(1)
        gateway.start()
        now = gateway.status()
        assert now["release"] == "observe"
        assert "try" not in now
        assert "mph" not in network.gateway.run("ip", "-o", "link")
        gateway.send(signal.SIGHUP)
        gateway.logged("configuration read again")
        passed(run.finish(), KILLED_S)


def test_it_may_be_killed_at_any_moment(network: net.Network, tmp_path: Path) -> None:
    """Also while it starts again in its own process, before, between and after the two."""
    clean = Traces.of(network.gateway)
    with observing(network, tmp_path) as gateway, load(network) as run:
        for after_s in (0.0, 0.15, 0.3, 0.6, 1.0, 1.5):
            with contextlib.suppress(OSError):
                request(gateway, {"try": {"seconds": 600}})
            time.sleep(after_s)
            gateway.kill()
            time.sleep(0.3)
            gateway.start()
            now = gateway.status()
            assert now["release"] == "observe", after_s
            assert "try" not in now
            assert "mph" not in network.gateway.run("ip", "-o", "link")
        # And told to end while it starts again.
        request(gateway, {"try": {"seconds": 600}})
        time.sleep(0.3)
        gateway.send(signal.SIGHUP)
        gateway.send(signal.SIGTERM)
        gateway.wait()
        passed(run.finish(), KILLED_S)
        gateway.clean()
        assert left_behind(network.gateway, clean) == {}


def test_it_stays_where_that_is_wanted(network: net.Network, tmp_path: Path) -> None:
    """In the middle of a try and without one; only the value in the file is another."""
    with observing(network, tmp_path) as gateway:
        begin(gateway, 10)
        stay = gateway.call("try", "--stay")
        assert stay.returncode == 0, stay.stderr
        assert stay.stdout.splitlines() == [
            f'{gateway.file} now says release = "auto".',
            "the gateway goes on pacing.",
        ]
        assert gateway.file.read_text().startswith(COMMENTED.replace('"observe"', '"auto"'))
        time.sleep(10)
        assert released(gateway) == "htb"
        assert "try" not in until(lambda: status(gateway))
        refused = gateway.call("try", "--stop")
        assert refused.returncode == 2
        assert 'write release = "observe" into' in refused.stderr
        gateway.kill()
        gateway.start()
        assert gateway.status()["release"] == "htb"
        assert gateway.stop() == 0
    with observing(network, tmp_path) as gateway:
        assert gateway.call("try", "--stay").returncode == 0
        until(lambda: released(gateway) == "htb")


def test_where_nothing_is_paced_nothing_stays(network: net.Network, tmp_path: Path) -> None:
    """Else it would say that it paces from now on, with a file that says so; or end a trace."""
    with observing(network, tmp_path, law="off") as gateway:
        before = gateway.file.read_text()
        refused = gateway.call("try", "--stay")
        assert refused.returncode == 2, refused
        assert 'law = "off" paces nothing' in refused.stderr
        assert gateway.file.read_text() == before


def test_a_file_that_was_read_again_changes_what_stays(
    network: net.Network, tmp_path: Path
) -> None:
    """A reload takes no release, so `try --stay` begins to pace, and does not say that it does."""
    with observing(network, tmp_path) as gateway:
        gateway.file.write_text(gateway.file.read_text().replace('"observe"', '"auto"'))
        gateway.send(signal.SIGHUP)
        gateway.logged("release takes effect at the next start")
        gateway.logged("configuration read again")
        assert released(gateway) == "observe"
        assert gateway.call("try", "--stay").returncode == 0
        until(lambda: released(gateway) == "htb")


def test_a_token_that_others_may_read_ends_no_gateway(network: net.Network, tmp_path: Path) -> None:
    """A start would refuse it, so a try is refused before it, and so is a reload."""
    token = tmp_path / "token"
    token.write_text("00112233445566778899aabbccddeeff")
    token.chmod(0o600)
    web = {"listen": "127.0.0.1:9871", "token_file": str(token)}
    with observing(network, tmp_path, web=web) as gateway:
        token.chmod(0o644)
        for words in (("try", "2m"), ("config", "check", str(gateway.file))):
            done = gateway.call(*words)
            assert done.returncode == 2, done
            assert "chmod 600" in done.stderr
        gateway.send(signal.SIGHUP)
        gateway.logged("the old configuration stays: web.token_file")
        assert gateway.alive
        assert released(gateway) == "observe"


def test_what_cannot_be_done_is_said_in_a_line(network: net.Network, tmp_path: Path) -> None:
    """And nothing has changed."""
    with observing(network, tmp_path) as gateway:
        for words, says in {
            ("try", "1m"): "write 10m or 2h",
            ("try", "5m", "--stop"): "--stop",
            ("try", "--mesh", "nomesh"): "no gateway is running on nomesh",
            ("try", "--stop"): "no try goes on",
        }.items():
            done = gateway.call(*words)
            assert done.returncode in (1, 2), done
            assert says in done.stderr
            assert done.stderr.count("\n") == 1
        # A file that is wrong by now would leave the network without a gateway.
        before = gateway.file.read_text()
        gateway.file.write_text("laws = 3\n")
        done = gateway.call("try", "2m")
        assert done.returncode == 2
        assert "laws" in done.stderr
        gateway.file.write_text(before)
        for junk in (b"\n", b"{}\n", b"x" * 9000, b'{"try":{"seconds":-1}}\n'):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(gateway.directory / "run" / "mesh0.requests"))
                client.sendall(junk)
        assert gateway.alive
        assert released(gateway) == "observe"
        mode = (gateway.directory / "run" / "mesh0.requests").stat().st_mode
        assert mode & 0o777 == 0o600
    # The line that the command line goes over says nothing.
    gateway = Gateway(network.gateway, tmp_path, "observe", {"law": "even"}).start()
    try:
        done = gateway.call("try", "--stay")
        assert done.returncode == 2
        assert "started with --observe or --release" in done.stderr
    finally:
        gateway.end()


def test_a_file_that_is_wrong_at_the_end_leaves_packets_passing(
    network: net.Network, tmp_path: Path
) -> None:
    """The program cannot start again then: nothing is paced, and it goes on when it can."""
    with observing(network, tmp_path) as gateway, load(network) as run:
        begin(gateway, 4)
        text = gateway.file.read_text()
        gateway.file.write_text("laws = 3\n")
        now = until(lambda: (s := status(gateway)) and s["release"] == "observe" and s)
        assert "laws" in now["state"]
        gateway.file.write_text(text)
        until(lambda: (s := status(gateway)) and s["state"] == "ready" and s)
        assert "mph" not in network.gateway.run("ip", "-o", "link")
        passed(run.finish())


def downloads(network: net.Network, stack: contextlib.ExitStack) -> list[Transfer]:
    hosts = enumerate(network.hosts)
    return [stack.enter_context(Transfer(network.wired, one, net.host4(n))) for n, one in hosts]


def test_it_retreats_where_pacing_makes_it_worse(tmp_path: Path) -> None:
    """The links' bit rates are stated a hundredth of what they are: every host gets too little."""
    wrong = [host(net.host4(n), 0.05) for n in (0, 1)]
    with net.over_radio(RADIO, hosts=2) as network, contextlib.ExitStack() as stack:
        gateway = stack.enter_context(observing(network, tmp_path, law="gap", host=wrong))
        downloads(network, stack)
        time.sleep(TELLS_S + 4)
        begin(gateway, 600)
        ended = until(lambda: (status(gateway) or {}).get("latest_try"), 2 * TELLS_S)
        assert ended["retreated"], ended
        assert ended["why"].startswith("pacing made it worse: 2 of 2 hosts at work")
        assert released(gateway) == "observe"
        gateway.logged("observes again: pacing made it worse")
        for row in ended["hosts"]:
            assert row["worse"]
            assert row["paced"]["goodput_kbps"] < row["observed"]["goodput_kbps"] / 2
        assert "pacing made it worse" in gateway.call("status").stdout


@pytest.mark.long
def test_it_does_not_retreat_where_hosts_leave_and_traffic_ends(tmp_path: Path) -> None:
    with net.over_radio(RADIO, hosts=2) as network, contextlib.ExitStack() as stack:
        gateway = stack.enter_context(observing(network, tmp_path, law="even"))
        runs = downloads(network, stack)
        time.sleep(TELLS_S + 4)
        begin(gateway, 150)
        time.sleep(TELLS_S)
        network.hosts[1].ip("link", "set", "eth0", "down")
        time.sleep(TELLS_S)
        runs[0].finish()
        ended = until(lambda: (status(gateway) or {}).get("latest_try"), 90)
        assert ended["why"] == "its time is over", ended
        assert ended["all"]["tells"]
