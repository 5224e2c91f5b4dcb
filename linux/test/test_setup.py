# SPDX-License-Identifier: GPL-2.0-only
"""`meshpace setup`: what it finds, asks, writes, and refuses in one line."""

import contextlib
import os
import pty
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import PATIENCE_S, PROGRAM
from harness.namespace import Namespace

HERE = Path(__file__).parent


@pytest.fixture(name="file")
def configuration(tmp_path: Path) -> Path:
    return tmp_path / "etc" / "gateway.toml"


@contextlib.contextmanager
def box() -> Iterator[Namespace]:
    """A gateway's box before anything is set up: a cable to the Internet, and what a test adds."""
    with net.namespaces("wired", "gw") as (wired, gateway):
        net.wired_side(wired, gateway)
        yield gateway


def command(where: Namespace, file: Path, *words: str) -> list[str]:
    run = ["ip", "netns", "exec", where.name, str(PROGRAM), "setup", "--config", str(file)]
    return [*run, *words]


def environment(file: Path) -> dict[str, str]:
    return {**os.environ, "MESHPACE_RUN": str(file.parents[1] / "run")}


def setup(where: Namespace, file: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Without a terminal."""
    return subprocess.run(
        command(where, file, *words),
        env=environment(file),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def at_terminal(where: Namespace, file: Path, answers: str, *words: str) -> tuple[int, str]:
    """What comes of it, and what is shown, where somebody types this."""
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        command(where, file, *words),
        env=environment(file),
        stdin=inner,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    os.write(outer, answers.encode())
    shown = process.communicate(timeout=PATIENCE_S)[0]
    os.close(inner)
    os.close(outer)
    return process.returncode, shown


def link(where: Namespace, name: str, *kind: str) -> None:
    where.ip("link", "add", name, "type", *kind)
    where.ip("link", "set", name, "up")


def daemon(where: Namespace, name: str, address: str, protocol: str = "babel") -> None:
    """A routing daemon has found a way into the mesh there."""
    where.ip("addr", "add", f"{address}.1/24", "dev", name)
    prefix = f"10.{address.split('.')[1]}.99.0/24"
    where.ip("route", "add", prefix, "via", f"{address}.9", "dev", name, "proto", protocol)


def one_line(done: "subprocess.CompletedProcess[str]", *parts: str) -> None:
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert "panicked" not in done.stderr
    for part in parts:
        assert part in done.stderr, done.stderr


@pytest.mark.parametrize("over", ["itself", "bridge"])
def test_a_mesh_is_found_by_its_daemon_through_what_is_over_it(file: Path, over: str) -> None:
    with box() as gateway:
        link(gateway, "radio0", "veth", "peer", "name", "far0")
        name = "radio0"
        why = "Babel has routes on radio0"
        if over == "bridge":
            link(gateway, "br-mesh", "bridge")
            gateway.ip("link", "set", "radio0", "master", "br-mesh")
            name = "br-mesh"
            why = "Babel has routes on br-mesh; IP packets leave by br-mesh, a bridge over it"
        daemon(gateway, name, "10.7.0")
        done = setup(gateway, file)
        assert done.returncode == 0, done
        assert done.stdout.splitlines()[:3] == [
            f"mesh:  {name} ({why})",
            f"wired: eth0 (the default route via {net.WIRED4})",
            f"{file} is written: the gateway observes, and paces nothing.",
        ]
        text = file.read_text()
        assert f'mesh = "{name}"' in text
        assert "wired = []" in text
        assert 'release = "observe"' in text
        assert oct(file.stat().st_mode & 0o777) == "0o644"
        check = gateway.run(str(PROGRAM), "config", "check", str(file))
        assert "no faults" in check
        again = setup(gateway, file)
        assert f"{file} stays as it is." in again.stdout
        assert file.read_text() == text
        assert list(file.parent.iterdir()) == [file]


def test_what_is_ambiguous_is_asked_for(file: Path) -> None:
    with box() as gateway:
        for n, name in enumerate(("radio0", "radio1")):
            link(gateway, name, "veth", "peer", "name", f"far{n}")
            daemon(gateway, name, f"10.{n + 7}.0", "babel")
        done = setup(gateway, file)
        one_line(done, "radio0", "radio1", "meshpace setup --mesh IF --wired IF")
        assert not file.exists()
        code, shown = at_terminal(gateway, file, "9\nradio0\n2\n")
        assert code == 0, shown
        assert re.search(r"1  radio0: Babel has routes on radio0\n +2  radio1", shown), shown
        assert "'9' is none of 1 to 2." in shown
        assert "mesh:  radio1 (as you say)" in shown
        assert 'mesh = "radio1"' in file.read_text()


def test_a_tunnel_is_offered_and_not_taken(file: Path) -> None:
    with box() as gateway:
        gateway.ip("tuntap", "add", "vpn0", "mode", "tun")
        one_line(setup(gateway, file), "vpn0 is a tunnel (tun); a mesh may be behind it")
        code, shown = at_terminal(gateway, file, "1\n")
        assert code == 0, shown
        assert "No interface tells that it leads into a mesh" in shown
        assert 'mesh = "vpn0"' in file.read_text()


def test_without_a_way_to_the_internet_it_is_asked_for(file: Path) -> None:
    with box() as gateway:
        link(gateway, "radio0", "veth", "peer", "name", "far0")
        daemon(gateway, "radio0", "10.7.0")
        for family in ("-4", "-6"):
            gateway.ip(family, "route", "del", "default")
        one_line(setup(gateway, file), "the Internet is not certain", "--wired IF")
        code, shown = at_terminal(gateway, file, "1\n")
        assert code == 0, shown
        assert "No default route leads elsewhere" in shown
        assert 'wired = ["eth0"]' in file.read_text()
        # Nobody answers: Ctrl-D.
        file.unlink()
        code, shown = at_terminal(gateway, file, "\x04")
        assert code == 2
        assert not file.exists()


def test_what_is_wrong_is_said_in_a_line(file: Path, tmp_path: Path) -> None:
    with box() as gateway:
        link(gateway, "radio0", "veth", "peer", "name", "far0")
        link(gateway, "br-mesh", "bridge")
        gateway.ip("link", "set", "far0", "master", "br-mesh")
        for words, parts in {
            ("--mesh", "nomesh"): ("--mesh nomesh", "no such interface"),
            ("--mesh", "lo"): ("loopback",),
            ("--mesh", "far0"): ("far0 is a port of br-mesh", "--mesh br-mesh"),
            ("--mesh", "eth0", "--wired", "eth0"): ("both",),
            ("--mesh", "radio0", "--wired", "eth7"): ("--wired eth7",),
            ("--mesh", "radio0", "--wired", "lo"): ("loopback",),
            ("--mesh", "x" * 300): ("no such interface",),
            ("--mesh", ""): ("no such interface",),
            ("--mash", "radio0"): ("--mash", "--mesh"),
        }.items():
            one_line(setup(gateway, file, *words), *parts)
            assert not file.exists()
        folder = tmp_path / "folder"
        folder.mkdir()
        done = setup(gateway, folder, "--mesh", "radio0")
        assert done.returncode in (1, 2)
        assert done.stderr.count("\n") == 1
        assert f"{folder}: Is a directory; name a file" in done.stderr
        for options, remedy in {"ro": "--config FILE", "nr_inodes=1": "make room there"}.items():
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
            try:
                done = setup(gateway, folder / "gateway.toml", "--mesh", "radio0", "--no-start")
            finally:
                subprocess.run(["umount", "-l", folder], check=True)
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            assert str(folder / "gateway.toml") in done.stderr
            assert remedy in done.stderr


def test_without_root_it_says_so(file: Path) -> None:
    with box() as gateway:
        # The checkout, and pytest's own folders, may be root's alone.
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            program = shutil.copy(PROGRAM, folder)
            words = command(gateway, file)
            at = words.index(str(PROGRAM))
            nobody = ["setpriv", "--reuid", "65534", "--clear-groups", program]
            words[at : at + 1] = nobody
            done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        one_line(done, "needs root", "sudo meshpace setup")


def test_a_file_that_somebody_changed_stays(file: Path) -> None:
    with box() as gateway:
        link(gateway, "radio0", "veth", "peer", "name", "far0")
        words = ("--mesh", "radio0")
        assert setup(gateway, file, *words).returncode == 0
        ours = file.read_text()
        changed = ours + 'law = "gap" # we prefer it\n'
        file.write_text(changed)
        one_line(setup(gateway, file, *words), "was changed by somebody", "--force")
        assert file.read_text() == changed
        code, shown = at_terminal(gateway, file, "n\n", *words)
        assert (code, file.read_text()) == (0, changed), shown
        # It may be another mesh's, and pace: nothing is started by it.
        assert shown.rstrip().endswith("stays as it is."), shown
        code, shown = at_terminal(gateway, file, "y\n", *words)
        assert (code, file.read_text()) == (0, ours), shown
        assert file.with_name("gateway.toml.old").read_text() == changed
        file.write_text(changed)
        assert setup(gateway, file, *words, "--force").returncode == 0
        assert file.read_text() == ours


def test_a_package_s_file_that_says_nothing_is_no_question(file: Path) -> None:
    """Else who installs a package is asked about a file that he has never seen."""
    sets = (HERE.parents[1] / "docs" / "operate" / "gateway.toml").read_text()
    unset = re.sub(r"^([a-z_]+ = )", r"# \1", sets, flags=re.MULTILINE)  # packaging/contents.sh
    with box() as gateway:
        link(gateway, "radio0", "veth", "peer", "name", "far0")
        file.parent.mkdir()
        file.write_text(unset)
        done = setup(gateway, file, "--mesh", "radio0")
        assert done.returncode == 0, done
        assert 'mesh = "radio0"' in file.read_text()
        assert file.with_name("gateway.toml.old").read_text() == unset


def test_a_gateway_that_runs_goes_on(
    network: net.Network, start: StartGateway, tmp_path: Path
) -> None:
    gateway = start(network, release="observe")
    done = gateway.call("setup", "--mesh", "mesh0", "--config", str(tmp_path / "new.toml"))
    assert done.returncode == 0, done
    assert "A gateway runs on mesh0 already" in done.stdout
    assert gateway.alive


def test_doctor_tells_what_hides_packets(network: net.Network, start: StartGateway) -> None:
    """A shaper and a flowtable on the mesh interface, and a tunnel beside it."""
    box = network.gateway
    box.ip("tuntap", "add", "vpn0", "mode", "tun")
    box.run("tc", "qdisc", "add", "dev", "mesh0", "root", "htb")
    flowtable = "{ hook ingress priority 0; devices = { mesh0 }; }"
    box.run("nft", f"add table inet t; add flowtable inet t f {flowtable}", check=False)
    has_flowtable = "mesh0" in box.run("nft", "list", "flowtables", check=False)
    gateway = start(network, release="observe")
    told = gateway.call("doctor", "--mesh", "mesh0").stdout
    assert re.search(r"MISSING shaper +mesh0 has htb as its root qdisc", told), told
    assert re.search(r"note +tunnel +vpn0 beside mesh0", told), told
    assert re.search(r"ok +ACK filter +none", told), told
    assert "hardware offload" in told
    if has_flowtable:
        assert re.search(r"MISSING flow offload +flowtables are in use, of mesh0", told), told
