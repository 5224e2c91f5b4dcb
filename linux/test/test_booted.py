# SPDX-License-Identifier: GPL-2.0-only
"""
The package's units in a Debian 12 that systemd has booted, in its kernel under QEMU (vm/README.md):
set up, reloaded, tried, killed, stopped, hung, upgraded and purged, they do what documents say.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.debian import Debian, fresh, run
from harness.packed import Packed, give, newer, pack
from harness.replay import ROOT

VM = Path(__file__).parent / "vm"
KERNEL, MEMORY_MIB = "6.1", 1024
LIMIT_S = 600
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


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    return pack(ROOT, tmp_path_factory.mktemp("packed") / "out")


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory, packed: Packed) -> Iterator[Debian]:
    with fresh("bookworm", tmp_path_factory.mktemp("booted")) as made:
        made.apt("update", network=True)
        made.apt("install", *NEEDED, network=True)
        give(made, packed.deb, "meshpace.deb")
        made.apt("install", "/meshpace.deb", network=True)
        modules = ROOT / f"build/vm/{KERNEL}/lib/modules"
        shutil.copytree(modules, made.folder / "usr/lib/modules", dirs_exist_ok=True)
        yield made


@pytest.fixture(scope="module")
def seen(debian: Debian, packed: Packed, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    run(VM / "setup.sh", KERNEL)
    out = tmp_path_factory.mktemp("out")
    newer(packed.deb, out)
    shutil.copy(VM / "inside/booted.sh", out)
    options = ("-p", "-k", KERNEL, "-m", str(MEMORY_MIB), "-t", str(LIMIT_S), "-o", str(out))
    done = subprocess.run(
        [VM / "run.sh", *options, "-b", debian.folder, "sh", "-c", "sh $OUT/booted.sh"],
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
