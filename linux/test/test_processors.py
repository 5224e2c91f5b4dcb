# SPDX-License-Identifier: GPL-2.0-only
"""
The law on other processors, which qemu-user runs: big-endian MIPS, and ARM and RISC-V of 32 and 64
bits. Its tests hold there, and traces come out as everywhere, bit for bit.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.namespace import run
from harness.replay import ROOT, TRACES

# Debian's names of architectures, and how ELF and qemu call their processors.
RUNNERS = {"mips": "mips", "armhf": "arm", "arm64": "aarch64", "riscv64": "riscv64"}
HEADS = {
    "mips": ("ELF32", "big endian", "MIPS"),
    "armhf": ("ELF32", "little endian", "ARM"),
    "arm64": ("ELF64", "little endian", "AArch64"),
    "riscv64": ("ELF64", "little endian", "RISC-V"),
}
CORE = ROOT / "core/test"
REFERENCE = ("reference", "reference-map")
# That of the kernel's verifier is of the kernel that runs here.
TESTS = sorted({file.stem for file in CORE.glob("test-*.c")} - {"test-verifier"})
SENDER_TRACES = sorted((CORE / "traces/sender").glob("*.trace"))
HOSTS = {"plain": TRACES, "plain-sender": SENDER_TRACES}
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static")
LIMIT_S = 300

# The byte order is the one thing that differs most; the others are for a release.
OFTEN = {"mips"}

pytestmark = pytest.mark.skipif(
    any(not shutil.which(f"qemu-{runner}-static") for runner in RUNNERS.values()),
    reason="no qemu-user-static; run scripts/setup.sh test",
)


@dataclass(frozen=True)
class Processor:
    """What compiles for it, and runs that."""

    name: str
    folder: Path

    def compile(self, source: Path, out: str, *flags: str | Path) -> Path:
        made = self.folder / out
        compiler = ROOT / f"build/vm/compilers/{self.name}/cc"
        words = (compiler, *FLAGS, f"-I{ROOT / 'core/include'}", "-o", made, source, *flags)
        run(*map(str, words))
        return made

    def run(self, program: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [f"qemu-{RUNNERS[self.name]}-static", program, *words],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.long]) for name in RUNNERS
    ],
)
def processor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Processor:
    compilers = Path(__file__).parent / "vm/compilers.sh"
    done = subprocess.run(
        [compilers, request.param], capture_output=True, text=True, timeout=900, check=False
    )
    assert not done.returncode, f"no compiler for {request.param}: {done.stderr.strip()}"
    made = Processor(request.param, tmp_path_factory.mktemp(request.param))
    for part in REFERENCE:
        made.compile(CORE / f"{part}.c", f"{part}.o", "-c")
    return made


@pytest.mark.parametrize("test", TESTS)
def test_the_law_holds(processor: Processor, test: str) -> None:
    """Else it computes other rates there, or none."""
    parts = [processor.folder / f"{part}.o" for part in REFERENCE]
    program = processor.compile(CORE / f"{test}.c", test, *parts, "-lm")
    head = run("readelf", "--wide", "--file-header", str(program))
    assert all(word in head for word in HEADS[processor.name]), head
    done = processor.run(program)
    assert not done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("host", HOSTS)
def test_golden(processor: Processor, host: str) -> None:
    """Else a gateway or sender does there what it does nowhere else."""
    program = processor.compile(CORE / f"replay/{host}.c", host)
    assert HOSTS[host]
    for trace in HOSTS[host]:
        done = processor.run(program, trace)
        assert (done.returncode, done.stdout) == (0, trace.read_text()), f"{trace}: {done.stderr}"
