# SPDX-License-Identifier: GPL-2.0-only
"""`meshpace sender` on and off: who may, what new and established flows have, what stays."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import net
from harness.capture import Capture, median_gap_us, segments
from harness.gateway import until
from harness.lossy import Radio
from harness.namespace import Namespace, run
from harness.sender import NAME, PINS, Sender, registered
from harness.traces import Traces, left_behind
from harness.transfer import Transfer

pytestmark = pytest.mark.sender

HOPS, MBPS = 8, 20.0
NOBODY = 65534
MANY = 1000
DEFAULT = "net.ipv4.tcp_congestion_control"
SYSCTLS = [DEFAULT, "net.ipv4.tcp_tso_rtt_log", "net.ipv4.tcp_allowed_congestion_control"]


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(Radio(delay_ms=2.0)) as made:
        yield made


@pytest.fixture
def sender(mesh: net.Network, tmp_path: Path) -> Iterator[Sender]:
    """Not on yet."""
    with Sender(mesh.host, tmp_path) as made:
        yield made


@dataclass(frozen=True)
class Host:
    """What `sender` changes on its host and on the machine, BPF objects apart (Traces)."""

    sysctls: dict[str, str]
    link: str
    cgroups: str
    registered: bool

    @classmethod
    def of(cls, namespace: Namespace) -> "Host":
        link = json.loads(namespace.ip("-d", "-j", "link", "show", "eth0"))[0]
        sysctls = {}
        for key in SYSCTLS:
            with contextlib.suppress(FileNotFoundError):
                sysctls[key] = read_sysctl(namespace, key)
        cgroups = run("bpftool", "-j", "cgroup", "tree", check=False)
        return cls(sysctls, f"{link['gso_max_segs']} {link['gso_max_size']}", cgroups, registered())


def read_sysctl(namespace: Namespace, key: str) -> str:
    with namespace.inside():
        return Path("/proc/sys", key.replace(".", "/")).read_text().strip()


def chosen(namespace: Namespace) -> str:
    """The congestion control that a new flow gets by itself."""
    with namespace.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def choose(namespace: Namespace, name: str) -> None:
    with namespace.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def upload(network: net.Network, size: int | None = None) -> Transfer:
    return Transfer(network.host, network.wired, net.WIRED4, size, congestion=NAME)


def gap_us(network: net.Network, transfer: Transfer) -> float:
    """Median gap of some hundred packets from now on."""
    was = transfer.received
    with Capture(network.host, "eth0", snap=128) as capture:
        until(lambda: transfer.received > was + 300_000)
    return median_gap_us(segments(capture.stop(), transfer.sender_port, sent_by=True))


@pytest.mark.measured
def test_off_in_mid_transfer(mesh: net.Network, sender: Sender) -> None:
    """Established flows go on at their pace, new ones get the old control, nothing is left."""
    bpf, host, default = Traces.of(mesh.gateway), Host.of(mesh.host), chosen(mesh.host)
    sender.on(HOPS, MBPS, "--default")
    assert chosen(mesh.host) == NAME
    with upload(mesh, 2_000_000) as transfer:
        sender.settled(transfer.sender_port)
        paced = gap_us(mesh, transfer)
        sender.off()
        assert Host.of(mesh.host) == host
        assert chosen(mesh.host) == default
        with pytest.raises(FileNotFoundError):
            choose(mesh.host, NAME)
        assert gap_us(mesh, transfer) == pytest.approx(paced, rel=0.2)
        assert transfer.running
        plain = Transfer(mesh.host, mesh.wired, net.WIRED4, 300_000, congestion=default)
        assert plain.start().wait().intact
        assert transfer.wait().intact
    assert Host.of(mesh.host) == host
    assert not left_behind(mesh.gateway, bpf)


@pytest.mark.measured
def test_on_again_takes_new_settings(mesh: net.Network, sender: Sender) -> None:
    """Also for flows under way; what was there before the first time is put back."""
    host, bpf = Host.of(mesh.host), Traces.of(mesh.gateway)
    sender.on(HOPS, MBPS)
    with upload(mesh) as transfer:
        before = sender.settled(transfer.sender_port)["interval_us"]
        sender.on(HOPS, MBPS / 4)
        samples = sender.flows()[transfer.sender_port]["samples"]
        after = sender.settled(transfer.sender_port, samples + 60)["interval_us"]
    # At eight hops twice the round trip's share and a packet's transmission, which is now 4x.
    assert after - before == pytest.approx(2 * 3 * 1448 * 8 / MBPS, rel=0.25)
    sender.off()
    assert Host.of(mesh.host) == host
    assert not left_behind(mesh.gateway, bpf)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_stays_when_a_follower_ends(
    mesh: net.Network, sender: Sender, how: signal.Signals
) -> None:
    """Pinned, not held by a process; a later `on` and `off` find it, `off` twice does no harm."""
    host, bpf = Host.of(mesh.host), Traces.of(mesh.gateway)
    with sender.following() as process:
        process.send_signal(how)
        process.wait(10)
    assert registered()
    assert upload(mesh, 300_000).start().wait().intact
    sender.on(HOPS, MBPS)
    with upload(mesh) as transfer:
        assert sender.settled(transfer.sender_port)["interval_us"] > 0
    sender.off()
    sender.off()
    assert Host.of(mesh.host) == host
    assert not left_behind(mesh.gateway, bpf)


def test_a_route_or_an_unprivileged_program_can_choose_it(
    mesh: net.Network, sender: Sender
) -> None:
    sender.on(HOPS, MBPS)
    assert chosen(mesh.host) != NAME
    mesh.host.ip("route", "change", "default", "via", net.GATEWAY_MESH4, "congctl", NAME)
    with mesh.wired.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.bind((net.WIRED4, 0))
        server.listen()
        with mesh.host.socket(socket.AF_INET, socket.SOCK_STREAM) as by_route:
            by_route.connect(server.getsockname())
            assert by_route.getsockname()[1] in sender.flows()
    program = f"import socket; socket.socket().setsockopt(6, 13, {NAME.encode()!r})"
    user = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "/usr/bin/python3", "-c", program]
    run("nsenter", f"--net=/run/netns/{mesh.host.name}", *user)


@pytest.mark.parametrize("words", [("on", "--mesh", "eth0"), ("off",), ("status",)])
def test_an_unprivileged_user_is_refused(sender: Sender, words: tuple[str, ...]) -> None:
    refused = sender.call(*words, user=NOBODY)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.count("\n") == 1
    assert "not permitted" in refused.stderr
    assert "root" in refused.stderr
    assert not registered()


WRONG = {
    "no command": (),
    "unknown command": ("start",),
    "unknown option": ("on", "--fast"),
    "unknown interface": ("on", "--mesh", "nowhere0"),
    "no hops": ("on", "--mesh", "eth0", "--hops", "0"),
    "no number": ("on", "--mesh", "eth0", "--mbps", "fast"),
    "no rate": ("on", "--mesh", "eth0", "--mbps", "0"),
    "off has no options": ("off", "--mesh", "eth0"),
}


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_wrong_use_is_told_from_failure(sender: Sender, words: tuple[str, ...]) -> None:
    wrong = sender.call(*words)
    assert wrong.returncode == 2
    assert wrong.stderr
    assert "panicked" not in wrong.stderr
    assert not registered()


def test_without_a_default_route_it_asks_for_the_interface(
    mesh: net.Network, sender: Sender
) -> None:
    for family in ("-4", "-6"):
        mesh.host.ip(family, "route", "del", "default")
    wrong = sender.call("on")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "--mesh" in wrong.stderr


def test_somebody_removes_the_pin_by_which_flows_are_shown(
    mesh: net.Network, sender: Sender
) -> None:
    """They are paced as before; status says the remedy, and not that there are none."""
    sender.on(HOPS, MBPS)
    (PINS / "sockets").unlink()
    with upload(mesh) as transfer:
        assert gap_us(mesh, transfer) > 1000  # several transmissions; unpaced they come at once
        shown = sender.call("status", "--json")
    assert (shown.returncode, shown.stdout, shown.stderr.count("\n")) == (1, "", 1)
    assert "meshpace sender off" in shown.stderr
    sender.off()
    assert not registered()


@pytest.mark.parametrize("pin", ["congestion_control", "sockops"])
def test_what_is_there_by_half_is_installed_again(
    mesh: net.Network, sender: Sender, pin: str
) -> None:
    """As where `on` was killed in the middle: else it says that it is on, and paces nobody."""
    sender.on(HOPS, MBPS)
    for path in PINS.glob(f"{pin}*"):
        path.unlink()
    assert not sender.status()["on"]
    sender.on(HOPS, MBPS)
    with upload(mesh) as transfer:
        assert sender.settled(transfer.sender_port)["interval_us"] > 0
    sender.off()
    assert not registered()


def test_on_that_fails_leaves_nothing(
    mesh: net.Network, sender: Sender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where `ip` is busybox's: else it says that it failed, and is on."""
    before = Host.of(mesh.host)
    other = tmp_path / "ip"
    other.write_text("#!/bin/sh\necho unrecognized option: j >&2\nexit 1\n")
    other.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path), prepend=":")
        failed = sender.call("on", "--mesh", "eth0")
    assert failed.returncode == 1
    assert "unrecognized option" in failed.stderr
    assert not registered()
    assert not sender.status()["on"]
    assert Host.of(mesh.host) == before


def settings_map() -> int:
    words = ["bpftool", "-j", "map", "show", "pinned", str(PINS / "settings")]
    shown = subprocess.run(words, check=True, capture_output=True, text=True)
    number: int = json.loads(shown.stdout)["id"]
    return number


def test_what_another_version_has_installed_is_replaced(sender: Sender) -> None:
    """As before an upgrade: else old programs go on by settings that they may not understand."""
    sender.on(HOPS, MBPS)
    (own,) = PINS.glob("object-*")
    before = settings_map()
    own.rename(own.with_name("object-0123456789abcdef"))
    sender.on(HOPS, MBPS)
    assert own.exists()
    assert settings_map() != before
    assert sender.status()["on"]
    after = settings_map()
    sender.on(HOPS, MBPS)
    assert settings_map() == after, "its own stays"
    sender.off()
    assert not registered()


def test_the_default_of_another_version_is_replaced(mesh: net.Network, sender: Sender) -> None:
    """Else new flows go on with its programs, by settings that nobody sets, and are not shown."""
    sender.on(HOPS, MBPS, "--default")
    (own,) = PINS.glob("object-*")
    own.rename(own.with_name("object-0123456789abcdef"))
    sender.on(HOPS, MBPS)
    assert chosen(mesh.host) == NAME
    with (
        mesh.wired.socket(socket.AF_INET, socket.SOCK_STREAM) as server,
        mesh.host.socket(socket.AF_INET, socket.SOCK_STREAM) as by_default,
    ):
        server.bind((net.WIRED4, 0))
        server.listen()
        by_default.connect(server.getsockname())
        with server.accept()[0] as accepted:
            for _ in range(20):
                by_default.sendall(bytes(1448))
                accepted.recv(1448, socket.MSG_WAITALL)
        shown = sender.flow(by_default.getsockname()[1])
    assert shown
    assert shown["samples"] > 0
    sender.off()
    assert not registered()


def test_a_follower_outlives_its_interface(mesh: net.Network, tmp_path: Path) -> None:
    """One that is made anew has the law's settings again, and packets one at a time."""

    def segments_at_a_time(device: str) -> int:
        return int(json.loads(mesh.host.ip("-d", "-j", "link", "show", device))[0]["gso_max_segs"])

    add = ("link", "add", "mesh9", "type", "veth", "peer", "name", "peer9")
    mesh.host.ip(*add)
    with Sender(mesh.host, tmp_path, mesh="mesh9") as sender, sender.following() as follower:
        until(lambda: segments_at_a_time("mesh9") == 1)
        mesh.host.ip("link", "del", "mesh9")
        with pytest.raises(subprocess.TimeoutExpired):
            follower.wait(6)
        mesh.host.ip(*add)
        assert segments_at_a_time("mesh9") > 1
        until(lambda: segments_at_a_time("mesh9") == 1, 15)
        assert follower.poll() is None


def test_a_follower_finds_another_gateway(mesh: net.Network, tmp_path: Path) -> None:
    """Without a route neighbours count as beyond it; and another gateway may be further away."""
    add = ("link", "add", "mesh9", "type", "veth", "peer", "name", "peer9")
    mesh.host.ip(*add)
    for device in ("mesh9", "peer9"):
        mesh.host.ip("link", "set", device, "up")
    mesh.host.ip("address", "add", "10.9.9.1/24", "dev", "mesh9")
    route = ("route", "replace", "default", "dev", "mesh9", "metric", "5", "via")
    with Sender(mesh.host, tmp_path, mesh="mesh9") as sender, sender.following() as follower:
        for gateway in ("10.9.9.2", "10.9.9.3"):
            mesh.host.ip(*route, gateway)
            _says(follower, f"the gateway is now {gateway}")
        mesh.host.ip("route", "del", "default", "dev", "mesh9", "metric", "5")
        with pytest.raises(subprocess.TimeoutExpired):
            follower.wait(6)
        mesh.host.ip(*route, "10.9.9.2")
        _says(follower, "the gateway is now 10.9.9.2")


def _says(process: "subprocess.Popen[str]", words: str) -> None:
    """Reads on until it does."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"never said: {words}")


def test_a_thousand_flows_are_shown(
    mesh: net.Network, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of IPv4 and IPv6; those of another network namespace, and those without the law, are not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sender.on(HOPS, MBPS)
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        mine: set[int] = set()
        for family, address in ((socket.AF_INET, net.WIRED4), (socket.AF_INET6, net.WIRED6)):
            listener = stack.enter_context(mesh.wired.socket(family, socket.SOCK_STREAM))
            listener.bind((address, 0))
            listener.listen(MANY)
            for number in range(MANY // 2):
                one = stack.enter_context(mesh.host.socket(family, socket.SOCK_STREAM))
                if number:
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME.encode())
                one.connect(listener.getsockname()[:2])
                if number:
                    mine.add(one.getsockname()[1])
        assert sender.flows().keys() == mine
        monkeypatch.setattr(sender, "namespace", mesh.wired)
        assert not sender.flows()


def test_off_is_not_ended_by_another(mesh: net.Network, sender: Sender, tmp_path: Path) -> None:
    """As of a unit, whose follower the first one has ended: else that ends with 143."""
    before = Host.of(mesh.host)
    sender.on(HOPS, MBPS)
    began, slow = tmp_path / "began", tmp_path / "ip"
    slow.write_text(f'#!/bin/sh\ntouch {began}\nsleep 1\nexec {shutil.which("ip")} "$@"\n')
    slow.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    with subprocess.Popen(sender.command("off"), env={**sender.environment, "PATH": path}) as first:
        until(began.exists)
        assert sender.call("off").returncode == 0
        assert first.wait() == 0
    assert not registered()
    assert Host.of(mesh.host) == before


def test_off_and_status_where_it_is_not_on(sender: Sender) -> None:
    assert sender.status() == {"on": False, "flows": []}
    assert sender.call("off").returncode == 0
