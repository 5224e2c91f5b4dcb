# SPDX-License-Identifier: GPL-2.0-only
"""
The package for arm64, as an operator gets it, in Debian's kernel for arm64 under QEMU
(vm/README.md): it installs, its programs run compiled, a download is paced and goes on when the
daemon is killed, and nothing stays when the package goes.
"""

import itertools
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest
from harness.debian import PACKAGING, run
from harness.packed import packed_for_arm64

VM = Path(__file__).parent / "vm"
# Setting Debian up; the machine's script: on two busy cores.
PREPARE_S, LIMIT_S = 2400, 1500
RELEASES = ("htb", "nfqueue")
# The emulated machine's milliseconds, beside an interval of forty; packets that are not held come
# back to back.
TOLERANCE = 0.1
# So much less a flow that is held gets than one that is not, at least.
FASTER = 4
SEGMENT = re.compile(r"^(\d+\.\d+) IP .* > 10\.1\.0\.2\.5201: .* length ([1-9]\d*)$", re.MULTILINE)

pytestmark = [
    pytest.mark.long,
    # It takes a whole processor.
    pytest.mark.alone,
    pytest.mark.skipif(
        not shutil.which("mmdebstrap") or not shutil.which("qemu-system-x86_64"),
        reason="no mmdebstrap or qemu-system-x86_64; run scripts/setup.sh test",
    ),
]


@dataclass(frozen=True)
class Session:
    """The machine, once it is off: how its script ended, and what that saw, by names."""

    status: int
    said: str
    seen: dict[str, str]

    def __getitem__(self, name: str) -> str:
        assert name in self.seen, f"the script did not get so far:\n{self.said}"
        return self.seen[name]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    run(VM / "arm64-setup.sh", limit_s=PREPARE_S)
    out = tmp_path_factory.mktemp("arm64")
    shutil.copy(packed_for_arm64(), out / "meshpace.deb")
    shutil.copy(VM / "inside/installed.sh", out)
    machine = [str(VM / "run.sh"), "-p", "-k", "arm64", "-t", str(LIMIT_S), "-o", str(out)]
    done = subprocess.run(
        [*machine, "sh", "-c", "sh $OUT/installed.sh"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S + 60,
        check=False,
    )
    said = done.stdout + done.stderr
    print(said)
    seen = {file.name: file.read_text() for file in out.iterdir() if file.suffix != ".deb"}
    return Session(done.returncode, said, seen)


def rate(received: str) -> list[float]:
    """Bytes a second, of each pair of looks in turn."""
    looks = [tuple(map(float, line.split())) for line in received.splitlines()]
    return [(b - a) / (then - now) for (now, a), (then, b) in itertools.pairwise(looks)]


def test_it_is_installed(session: Session) -> None:
    """Else whoever has a gateway of arm64 has none of ours."""
    assert session["machine"] == "aarch64\n"
    version = run(PACKAGING / "version.sh").strip()
    assert session["version"].strip() == f"meshpace {version}"
    print(session["size"].strip(), "KiB, the program")


def test_doctor_says_that_all_is_well(session: Session) -> None:
    """Else programs do not load there, are interpreted, or packets cannot be held."""
    findings = json.loads(session["doctor"])
    assert not [one for one in findings if one["grade"] == "missing"], findings
    found = {one["what"]: (one["grade"], one["found"]) for one in findings}
    assert found["eBPF speed"] == ("ok", "programs run compiled")
    for what in ("permission", "eBPF programs", "release htb", "release nfqueue", "sender"):
        assert found[what][0] == "ok", (what, found[what])


def test_setup_finds_mesh_and_internet(session: Session) -> None:
    assert "mesh:  mesh0 (Babel has routes on mesh0)" in session["setup"]
    assert "wired: eth0 (the default route via 192.0.2.1)" in session["setup"]
    assert "release observe" in session["status.observed"]
    assert "10.1.0.2" in session["status.observed"]


def flows_of(session: Session, release: str) -> list[dict[str, float]]:
    """The download, as status showed it again and again."""
    looks = [json.loads(session[f"status.{release}.{second}"]) for second in range(10)]
    assert {look["release"] for look in looks} == {release}
    downs = [flow for look in looks for flow in look["flows"] if flow["direction"] == "down"]
    return [flow for flow in downs if flow["mesh"] == "10.1.0.2:5201" and flow["samples"] > 10]


@pytest.mark.parametrize("release", RELEASES)
def test_a_download_is_paced(session: Session, release: str) -> None:
    """Its packets come at the interval that status says, and not faster."""
    intervals_ms = [flow["interval_us"] / 1e3 for flow in flows_of(session, release)]
    times = [float(time) for time, _ in SEGMENT.findall(session[f"packets.{release}"])]
    gaps_ms = [1e3 * (b - a) for a, b in itertools.pairwise(times)]
    assert len(intervals_ms) > 5
    assert len(gaps_ms) > 100
    print(
        f"{release}: median of {len(gaps_ms)} gaps {median(gaps_ms):.2f} ms, of the interval "
        f"{median(intervals_ms):.2f} ms ({min(intervals_ms):.2f} to {max(intervals_ms):.2f})"
    )
    assert median(gaps_ms) == pytest.approx(median(intervals_ms), rel=TOLERANCE)
    # And all together: a late one is not made up for by a burst.
    assert (times[-1] - times[0]) * 1e3 / len(gaps_ms) > (1 - TOLERANCE) * min(intervals_ms)


@pytest.mark.parametrize("release", RELEASES)
def test_it_goes_on_when_the_daemon_is_killed(session: Session, release: str) -> None:
    """In every second, and unheld: as fast as before anything was held."""
    observed, killed = (rate(session[f"received.{n}"]) for n in ("observed", f"killed.{release}"))
    held = 1500e6 / median(flow["interval_us"] for flow in flows_of(session, release))
    print(f"bytes/s: observed {observed}, held {held:.0f}, killed {killed}")
    print(session[f"memory.{release}"])
    assert min(observed) > FASTER * held
    assert min(killed) > FASTER * held


def test_nothing_stays(session: Session) -> None:
    """Though the daemon was killed: removing the package puts back what it had changed."""
    assert session["kernel.after"] == session["kernel.before"]
    before, after = (set(session[f"files.{when}"].splitlines()) for when in ("before", "after"))
    assert after == before
    assert session.status == 0, session.said
