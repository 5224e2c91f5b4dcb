# SPDX-License-Identifier: GPL-2.0-only
"""
The package in a Debian that systemd has booted, in a Debian's kernel under QEMU (vm/README.md):
installed, set up, reloaded, tried, killed, hung, upgraded, stopped and purged, its units do what
documents say. Debian 12 in `make test`; 13, and 12 for arm64, take longer.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from harness.debian import fresh, run
from harness.packed import needs_of, newer, pack, packed_for_arm64
from harness.replay import ROOT

VM = Path(__file__).parent / "vm"
MEMORY_MIB = 1024
LIMIT_S, PREPARE_S = 900, 2400
# What the machine has beyond a minimal Debian: its kernel's modules are loaded as they are needed.
NEEDED = ("kmod", "iptables")

pytestmark = [
    # It takes a whole processor.
    pytest.mark.alone,
    pytest.mark.skipif(
        not shutil.which("mmdebstrap") or not shutil.which("qemu-system-x86_64"),
        reason="no mmdebstrap or qemu-system-x86_64; run scripts/setup.sh test",
    ),
]


class Seen(dict[str, str]):
    """What the machine's script saw, by names; and what it said."""

    said: str

    def __missing__(self, name: str) -> str:
        pytest.fail(f"the script did not get so far as {name}:\n{self.said}")

    def unit(self, name: str) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self[f"unit.{name}"].splitlines())


@dataclass(frozen=True)
class Machine:
    """A Debian in a folder, to be booted, and the package that is installed there."""

    debian: Path
    kernel: str
    deb: Path


@contextmanager
def debian_here(suite: str, kernel: str, folder: Path) -> Iterator[Machine]:
    """Of this machine's architecture; Debian 13 by the kernel that 12 has from it."""
    run(VM / "setup.sh", kernel)
    deb = pack(ROOT, folder / "packed").deb
    with fresh(suite, folder) as made:
        made.apt("update", network=True)
        made.apt("install", *NEEDED, network=True)
        made.apt("satisfy", needs_of(deb), network=True)
        modules = ROOT / f"build/vm/{kernel}/lib/modules"
        shutil.copytree(modules, made.folder / "usr/lib/modules", dirs_exist_ok=True)
        yield Machine(made.folder, kernel, deb)


@contextmanager
def debian_for_arm64(_folder: Path) -> Iterator[Machine]:
    run(VM / "arm64-setup.sh", limit_s=PREPARE_S)
    yield Machine(ROOT / "build/vm/arm64/root", "arm64", packed_for_arm64())


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(partial(debian_here, "bookworm", "6.1"), id="debian-12"),
        pytest.param(
            partial(debian_here, "trixie", "6.12"), id="debian-13", marks=pytest.mark.long
        ),
        pytest.param(debian_for_arm64, id="debian-12-arm64", marks=pytest.mark.long),
    ],
)
def machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    with request.param(tmp_path_factory.mktemp("booted")) as made:
        yield made


@pytest.fixture(scope="module")
def seen(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    out = tmp_path_factory.mktemp("out")
    shutil.copy(machine.deb, out / "meshpace.deb")
    newer(machine.deb, out)
    shutil.copy(VM / "inside/booted.sh", out)
    options = ("-p", "-k", machine.kernel, "-m", str(MEMORY_MIB), "-t", str(LIMIT_S), "-o", out)
    done = subprocess.run(
        [VM / "run.sh", *options, "-b", machine.debian, "sh", "-c", "sh $OUT/booted.sh"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S + 60,
        check=False,
    )
    files = [file for file in out.iterdir() if file.is_file() and file.suffix != ".deb"]
    seen = Seen({file.name: file.read_text() for file in files})
    seen.said = done.stdout + done.stderr
    print(seen.said)
    assert not done.returncode, seen.said
    return seen


def test_an_installed_package_starts_nothing(seen: Seen) -> None:
    assert (seen.unit("installed")["ActiveState"], seen.unit("installed")["UnitFileState"]) == (
        "inactive",
        "disabled",
    )


def test_setup_has_it_observe_now_and_after_each_boot(seen: Seen) -> None:
    assert "The gateway runs, now and after each boot." in seen["setup"]
    unit = seen.unit("observes")
    assert (unit["ActiveState"], unit["UnitFileState"], unit["NRestarts"]) == (
        "active",
        "enabled",
        "0",
    )
    assert "release observe" in seen["status.observes"]
    assert "qdisc htb" not in seen["kernel.observes"]


def test_a_configuration_that_is_wrong_changes_nothing(seen: Seen) -> None:
    """It is told in one line, and the gateway goes on by the one before."""
    complaints = [line for line in seen["journal"].splitlines() if "nonsense" in line]
    print(complaints)
    assert len(complaints) == 1
    assert seen.unit("reloaded")["MainPID"] == seen.unit("observes")["MainPID"]


def test_a_try_ends_and_what_stays_stays(seen: Seen) -> None:
    """By the unit, with all that is closed to it: the kernel holds packets, in a qdisc of ours."""
    assert "release htb" in seen["status.tries"]
    assert "release observe" in seen["status.tried"]
    assert 'now says release = "auto"' in seen["stay"]
    assert "release htb" in seen["status.paces"]
    assert "qdisc htb" in seen["kernel.paces"]


@pytest.mark.parametrize(("name", "restarts"), [("killed", "1"), ("hung", "2")])
def test_it_is_started_anew(seen: Seen, name: str, restarts: str) -> None:
    """Who is killed at once, who hangs by the watchdog."""
    assert seen.unit(name)["ActiveState"] == "active"
    assert seen.unit(name)["NRestarts"] == restarts
    assert "release htb" in seen[f"status.{name}"]


def test_an_upgrade_goes_on_as_configured(seen: Seen) -> None:
    assert seen.unit("upgraded")["ActiveState"] == "active"
    assert "release htb" in seen["status.upgraded"]


def test_nothing_stays_of_one_that_is_stopped(seen: Seen) -> None:
    """But the lock, which nobody holds."""
    assert seen.unit("stopped")["ActiveState"] == "inactive"
    assert seen.unit("stopped")["Result"] == "success"
    left = set(seen["kernel.stopped"].splitlines()) - set(seen["kernel.before"].splitlines())
    assert left <= {"/run/meshpace:", "mesh0.lock", ""}


def test_a_sender_begins_when_there_is_a_route(seen: Seen) -> None:
    """At boot the route comes later than the unit."""
    assert "no default route; name the interface to the mesh with --mesh IF" in seen["journal"]
    assert "congestion control: meshpace" in seen["kernel.sends"]
    assert "congestion control: cubic" in seen["kernel.sent"]


def test_legacy_iptables_begins_with_the_unit(seen: Seen) -> None:
    """Whose kernel modules nobody has loaded, and whose lock nobody has made."""
    assert "NFQUEUE" not in seen["modules.legacy"]
    assert "release nfqueue" in seen["status.legacy"]
    assert "NFQUEUE" in seen["rules.legacy"]


def test_nothing_stays_of_one_that_is_purged(seen: Seen) -> None:
    assert seen.unit("purged")["ActiveState"] == "inactive"
    left = set(seen["kernel.after"].splitlines()) - set(seen["kernel.before"].splitlines())
    assert not left
    assert not seen["left"]
