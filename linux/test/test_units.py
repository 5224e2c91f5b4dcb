# SPDX-License-Identifier: GPL-2.0-only
"""The systemd units: how closed they are, and that the program works inside what they leave."""

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from harness import net
from harness.confined import UNITS, command, values
from harness.gateway import PATIENCE_S, PROGRAM, Gateway, until
from harness.lossy import Radio
from harness.sender import NAME, Sender, registered
from harness.transfer import Transfer

GATEWAY, SENDER = UNITS / "meshpace.service", UNITS / "meshpace-sender.service"
# systemd's own measure, from 0, all is closed, to 10.
MOST_EXPOSED = 3.0

pytestmark = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="no systemd-analyze; install systemd"
)


@pytest.mark.parametrize("unit", [GATEWAY, SENDER], ids=lambda unit: unit.stem)
def test_exposure(unit: Path) -> None:
    words = ["security", "--offline=true", "--no-pager", str(unit)]
    shown = subprocess.run(
        ["systemd-analyze", *words], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"Overall exposure level for .*: ([0-9.]+)", shown)
    assert found, shown
    assert float(found[1]) <= MOST_EXPOSED, shown


def test_neither_takes_the_others_notes() -> None:
    """Both have one folder; the one that stops must not have it removed."""
    for unit in (GATEWAY, SENDER):
        assert values(unit, "RuntimeDirectory") == ["meshpace"]
        assert values(unit, "RuntimeDirectoryMode") == ["0700"]
        assert values(unit, "RuntimeDirectoryPreserve") == ["yes"]


class Confined(Gateway):
    """The gateway as its unit runs it."""

    def _command(self, *words: str) -> list[str]:
        # `ip netns exec` would hide the mount of bpffs, and a unit may not mount one.
        entered = ["nsenter", f"--net=/run/netns/{self.namespace.name}"]
        return [*entered, *command(GATEWAY, str(PROGRAM), *words)]


@pytest.mark.alone  # its pins are on the machine's own bpffs, where others look for traces
def test_the_gateway_works_confined(network: net.Network, tmp_path: Path) -> None:
    """Sets up, carries, reads its configuration again, answers, puts back; within its memory."""
    config = {"law": "even", "metrics": "127.0.0.1:9871"}
    gateway = Confined(network.gateway, tmp_path, "nfqueue", config)
    try:
        gateway.start()
        for address in (net.host4(0), net.host6(0)):
            transfer = Transfer(network.wired, network.host, address, 1_000_000)
            assert transfer.start().wait().intact
        gateway.send(signal.SIGHUP)
        gateway.logged("configuration read again")
        assert gateway.fresh_status()["release"] == "nfqueue"
        limit_kib = int(values(GATEWAY, "MemoryMax")[0].removesuffix("M")) * 1024
        print(f"{gateway.memory_kib()} KiB, tables {gateway.memlock_kib()} KiB")
        assert gateway.memory_kib() + gateway.memlock_kib() < limit_kib / 2
        threads = len(list(Path(f"/proc/{gateway.pid}/task").iterdir()))
        assert threads < int(values(GATEWAY, "TasksMax")[0]) / 2
        assert gateway.stop() == 0
    finally:
        gateway.end()
    print("\n".join(gateway.log))
    assert not [line for line in gateway.log if "permitted" in line or "ermission" in line]
    assert "NFQUEUE" not in network.gateway.run("iptables", "-t", "mangle", "-S")


@pytest.mark.alone
def test_a_try_begins_and_ends_confined(network: net.Network, tmp_path: Path) -> None:
    """The program starts again in the same process, with no more rights than before."""
    gateway = Confined(network.gateway, tmp_path, "observe", {"law": "even", "release": "observe"})
    gateway._words = ["--wired", "eth0"]
    try:
        gateway.start()
        pid = gateway.pid
        begun = subprocess.Popen(
            gateway._command("try", "2m"), env=gateway._environment, stdout=subprocess.DEVNULL
        )
        until(lambda: gateway.call("status").stdout.count("a try: paces"))
        assert gateway.status()["release"] != "observe"
        gateway.send(signal.SIGHUP)
        gateway.logged("configuration read again")
        assert gateway.call("try", "--stop").returncode == 0
        assert begun.wait(PATIENCE_S) == 0
        assert gateway.status()["release"] == "observe"
        assert gateway.pid == pid
        assert gateway.stop() == 0
    finally:
        gateway.end()
        print("\n".join(gateway.log))
    assert not [line for line in gateway.log if "permitted" in line or "ermission" in line]


class ConfinedSender(Sender):
    """The sender as its unit runs it."""

    def command(self, *words: str, user: int = 0) -> list[str]:
        entered = super().command(*words, user=user)
        program = entered.index("sender") - 1
        return [*entered[:program], *command(SENDER, *entered[program:])]


@pytest.mark.sender
def test_the_sender_works_confined(tmp_path: Path) -> None:
    with (
        net.over_radio(Radio(delay_ms=2.0)) as network,
        ConfinedSender(network.host, tmp_path) as sender,
        sender.following(),
        Transfer(network.host, network.wired, net.WIRED4, congestion=NAME) as run,
    ):
        until(lambda: sender.flow(run.sender_port), PATIENCE_S)
    assert not registered()
