# SPDX-License-Identifier: GPL-2.0-only
"""
What this machine's kernel may lack, in Debian's kernels under QEMU (vm/README.md): hops by 802.11s
and batman-adv. One machine a kernel runs its tests in one go; each file of them is a test here.
"""

import functools
import itertools
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
VM = HERE / "vm"
PYTHON = HERE.parents[1] / ".venv" / "bin" / "python"

HOPS = ["vm/inside/mesh80211s.py", "vm/inside/batman.py"]
# What is counted as sent and passes no program, since 6.4.
RELAYS = ["vm/inside/relays.py"]
# Release where there is no iptables.
NFTABLES = ["vm/inside/nft.py"]
# Programs put back where there is no tcx (6.1).
WATCH = ["test_watch.py"]
WATCH_TESTS = "filters_taken"
# Of these, the cases of release by htb.
FAIL_OPEN = ["test_failopen.py"]
HELD = ["test_auto.py", "test_htb.py"]
NATIVE = [
    *FAIL_OPEN,
    *HELD,
    "test_hang.py",
    "test_order.py",
    "test_integrity.py",
    "test_option.py",
]
HELD_TESTS = "auto or others_take_away or nobody_need or nothing_stays"
# The sender's programs load, carry flows and go again, with and without links of struct_ops.
SENDER = ["test_sender_life.py"]
SENDER_TESTS = "can_choose or it_stays or is_not_on"
# Every program loads, with no more work for the verifier than expected.
VERIFIER = ["test_verifier.py"]


@dataclass(frozen=True)
class Choice:
    """What runs inside by default, in a kernel: files, which of their tests, and which marks."""

    files: list[str]
    tests: str
    marks: str


EVERYTHING = Choice(
    [*HOPS, *RELAYS, *NFTABLES, *WATCH, *NATIVE, *SENDER, *VERIFIER],
    f"inside or htb or auto or verifier or {SENDER_TESTS} or {WATCH_TESTS}",
    "",
)
# What goes by the clock is for --full, which runs everything in both: a slow machine is no place to
# measure. 6.1 is the oldest, without tcx, which 6.12 has.
DEFAULT = {
    "6.1": Choice(
        [*HOPS, *WATCH, *FAIL_OPEN, *HELD, *SENDER, *VERIFIER],
        "inside or every_trace[htb-even or verifier or "
        f"{HELD_TESTS} or {SENDER_TESTS} or {WATCH_TESTS}",
        "not measured",
    ),
    "6.12": Choice(
        [*RELAYS, *HELD, *VERIFIER], f"inside or {HELD_TESTS} or verifier", "not measured"
    ),
}
# An emulated machine carries no more, and is waited for longer.
SETTINGS = ["MESHPACE_TEST_LOAD=200000", "MESHPACE_TEST_PATIENCE=4"]
LIMIT_S, FULL_LIMIT_S = 800, 3000
# A test that pytest -v prints: file, test, and what came of it unless it has not ended.
LINE = r"^(\S+\.py)::(\S+)(?: (PASSED|FAILED|ERROR|SKIPPED|RERUN))?"


@dataclass(frozen=True)
class Session:
    """A run of pytest inside: what it printed, and what came of each test of a file."""

    status: int
    output: str
    outcomes: dict[str, dict[str, str]]


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
    choice = EVERYTHING if full else DEFAULT[kernel]
    options = ["-v", "-rA", "--tb=short", "-p", "no:cacheprovider", "--durations", "0"]
    options += ["--release", "htb", "-k", choice.tests, "-m", choice.marks]
    if full:
        options.append("--full")
    machine = [str(VM / "run.sh"), "-p", "-k", kernel, "-t", str(limit)]
    done = subprocess.run(
        [*machine, "env", *SETTINGS, str(PYTHON), "-m", "pytest", *options, *choice.files],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit + 60,
        check=False,
    )
    return Session(done.returncode, done.stdout, outcomes(done.stdout))


def outcomes(output: str) -> dict[str, dict[str, str]]:
    """
    By file and test, from what pytest prints as it goes (-v): what ended before the machine did
    still counts. Of several attempts the last; of a test that has not ended "unfinished".
    """
    found: dict[str, dict[str, str]] = {}
    for file, test, outcome in re.findall(LINE, output, re.MULTILINE):
        found.setdefault(Path(file).stem, {})[test] = outcome.lower() or "unfinished"
    return found


def inside() -> Iterator[Any]:
    """Each kernel with each file, of which its own are run each time."""
    for kernel, file in itertools.product(DEFAULT, EVERYTHING.files):
        marks = [] if file in DEFAULT[kernel].files else [pytest.mark.long]
        yield pytest.param(kernel, Path(file).stem, marks=marks)


@pytest.mark.alone
@pytest.mark.parametrize(("kernel", "file"), list(inside()))
def test_inside(
    kernel: str, file: str, full: bool, record_property: Callable[[str, object], None]
) -> None:
    run = session(kernel, full)
    print(run.output)
    found = run.outcomes.get(file, {})
    assert found, f"nothing was run (status {run.status})"
    for test in re.findall(rf"^\S*{file}\.py::(\S+) RERUN", run.output, re.MULTILINE):
        # scripts/attempts.py lists it.
        record_property("failed first", test)
    spoilt = {test: what for test, what in found.items() if what not in ("passed", "skipped")}
    assert not spoilt
    skipped = [test for test, what in found.items() if what == "skipped"]
    if skipped:
        pytest.skip(f"inconclusive: {len(skipped)} of {len(found)}")


@pytest.mark.long
@pytest.mark.alone
def test_a_kernel_that_is_too_old_is_said() -> None:
    """Debian 11's; else its users would read "Invalid argument"."""
    prepare("5.10")
    start = "ip link add m0 type dummy; ip link set m0 up; bin/meshpace gateway --mesh m0"
    done = subprocess.run(
        [VM / "run.sh", "-k", "5.10", "-t", "200", "sh", "-c", f"{start}; bin/meshpace doctor"],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=260,
        check=False,
    )
    gateway, *doctor = (done.stderr + done.stdout).splitlines()
    assert re.match(r"meshpace: Linux 5\.10\S* is too old .*; run Linux 5\.15 or newer", gateway)
    assert any("MISSING eBPF programs" in line and "too old" in line for line in doctor)


def test_what_ended_before_the_machine_counts() -> None:
    printed = """
vm/inside/nft.py::test_spacing[2ms] RERUN                       [ 25%]
vm/inside/nft.py::test_spacing[2ms] PASSED                      [ 25%]
vm/inside/nft.py::test_lost[stop] FAILED                        [ 50%]
test_order.py::test_nothing_overtakes[htb] qemu-system-x86_64: terminating on signal 15
"""
    assert outcomes(printed) == {
        "nft": {"test_spacing[2ms]": "passed", "test_lost[stop]": "failed"},
        "test_order": {"test_nothing_overtakes[htb]": "unfinished"},
    }


@pytest.fixture
def machine() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    prepare("6.1")

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [VM / "run.sh", *words], capture_output=True, text=True, timeout=60, check=False
        )

    return run


@pytest.mark.measured
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
