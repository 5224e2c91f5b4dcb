# SPDX-License-Identifier: GPL-2.0-only
"""
What this machine's kernel may lack, in Debian's kernels under QEMU (vm/README.md): release by
sch_fq, hops by 802.11s and batman-adv. One machine a kernel runs its tests in one go; each file
of them is a test here.
"""

import functools
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VM = HERE / "vm"
PYTHON = HERE.parents[1] / ".venv" / "bin" / "python"

# Files and, in the newer kernel, a choice of their tests: both kernels take four minutes.
INSIDE = ["vm/inside/mesh80211s.py", "vm/inside/batman.py", "vm/inside/fq.py"]
NATIVE = ["test_failopen.py", "test_order.py"]
TESTS = {
    "6.1": [*INSIDE, *NATIVE],
    "6.12": INSIDE,
}
# Of the native tests, those of the release that only works in here.
CHOICE = "inside or [fq"
LIMIT_S, FULL_LIMIT_S = 240, 3000


@dataclass(frozen=True)
class Session:
    """A run of pytest inside: what it printed, and what came of each file ("fq": ["passed"...])."""

    status: int
    output: str
    outcomes: dict[str, list[str]]


def prepare(kernel: str) -> None:
    if not shutil.which("qemu-system-x86_64"):
        pytest.skip("no qemu-system-x86_64; install qemu-system-x86")
    done = subprocess.run(
        [VM / "setup.sh", kernel], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.skip(f"no kernel {kernel} to run: {done.stderr.strip()}")


@functools.cache
def session(kernel: str, full: bool) -> Session:
    """Runs the kernel's tests inside; once, whoever asks."""
    prepare(kernel)
    limit = FULL_LIMIT_S if full else LIMIT_S
    options = ["-rA", "-p", "no:cacheprovider", "--release", "fq", "-k", CHOICE]
    if full:
        options.append("--full")
    with tempfile.TemporaryDirectory() as out:
        machine = [str(VM / "run.sh"), "-k", kernel, "-t", str(limit), "-o", out]
        report = ["--junitxml", "/run/out/report.xml"]
        done = subprocess.run(
            [*machine, str(PYTHON), "-m", "pytest", *options, *report, *TESTS[kernel]],
            cwd=HERE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit + 60,
            check=False,
        )
        return Session(done.returncode, done.stdout, outcomes(Path(out, "report.xml")))


def outcomes(report: Path) -> dict[str, list[str]]:
    """The outcomes in a JUnit report, by the file that a test is in."""
    found: dict[str, list[str]] = {}
    if report.exists():
        for case in ET.parse(report).iter("testcase"):
            what = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            file = case.attrib["classname"].split(".")[-1]
            found.setdefault(file, []).append(what[0] if what else "passed")
    return found


Case = tuple[str, str]
CASES = [(kernel, Path(file).stem) for kernel, files in TESTS.items() for file in files]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_inside(case: Case, full: bool) -> None:
    kernel, file = case
    run = session(kernel, full)
    print(run.output)
    assert file in run.outcomes, f"nothing was run (status {run.status})"
    assert set(run.outcomes[file]) == {"passed"}


@pytest.fixture
def machine() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    prepare("6.1")

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [VM / "run.sh", *words], capture_output=True, text=True, timeout=60, check=False
        )

    return run


def test_the_machine_passes_status_and_output_through(
    machine: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> None:
    """And quotes, and the results; without that no test inside could be trusted."""
    script = 'echo "$1"; echo complaint >&2; echo kept >"$OUT/result"; exit 7'
    done = machine("-t", "60", "-o", str(tmp_path), "sh", "-c", script, "sh", "two  'words'")
    assert (done.returncode, done.stdout, done.stderr) == (7, "two  'words'\n", "complaint\n")
    assert (tmp_path / "result").read_text() == "kept\n"


def test_the_machine_keeps_its_time_limit(
    machine: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    assert machine("-t", "2", "true").returncode == 124
