# SPDX-License-Identifier: GPL-2.0-only
"""
The gateway's BPF programs in a kernel without BTF, which interprets them, on a processor of 32 bits
that wants aligned accesses: Debian's for MIPS under QEMU (vm/README.md), as small routers have it.
"""

import itertools
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import replay

VM = Path(__file__).parent / "vm"
COMPILER = replay.ROOT / "build/vm/compilers/mipsel/cc"
PROGRAMS = ("mp_to_mesh", "mp_from_mesh", "mp_gate")
REPLAYS = {"replay-at-ticks": ["-DREPLAY_AT_TICKS"], "replay-at-once": []}
LIMIT_S = 400
# Flows that begin faster than this kernel finds memory for them; packets of each.
BURST, ROUNDS = 100, 40
# What runs in the machine: results in /out/result, replayed traces by the names of the traces.
SCRIPT = """
set -e
test ! -e /sys/kernel/btf
pins=/sys/fs/bpf/pins
mkdir $pins
bpftool prog loadall replay.o $pins pinmaps $pins/maps
bpftool prog show >/out/result/programs
for trace in traces/*; do
    ./replay-at-ticks $pins -s $trace >/out/result/${trace##*/}
done
./replay-at-once $pins burst >/out/result/burst
"""

# It takes a whole processor.
pytestmark = pytest.mark.alone


@dataclass(frozen=True)
class Session:
    """The machine, once it is off: how its script ended, and its results by name."""

    status: int
    complaints: str
    results: dict[str, str]


def prepare() -> None:
    done = subprocess.run(
        [VM / "mipsel-setup.sh"], capture_output=True, text=True, timeout=900, check=False
    )
    assert not done.returncode, f"no kernel for MIPS to run: {done.stderr.strip()}"


def burst() -> str:
    packets = (
        f"{number + 1}000000 down {flow + 1}:5001-1:80 A seq={1000 * turn} ack=7 len=1000\n"
        for number, (turn, flow) in enumerate(itertools.product(range(ROUNDS), range(BURST)))
    )
    return "0 set law=even hops=2 kbps=11000\n" + "".join(packets)


def fill(folder: Path) -> None:
    """What the machine is given."""
    (folder / "traces").mkdir(parents=True)
    for trace in replay.TRACES:
        shutil.copy(trace, folder / "traces" / trace.stem)
    replay.with_test_clock(replay.gateway_object(), folder / "replay.o")
    for name, flags in REPLAYS.items():
        replay.build_for_bpf(folder / name, "-static", *flags, compiler=str(COMPILER))
    (folder / "burst").write_text(burst())
    (folder / "run").write_text(SCRIPT)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    prepare()
    given, out = (tmp_path_factory.mktemp("mipsel") / name for name in ("given", "out"))
    fill(given)
    done = subprocess.run(
        [VM / "mipsel.sh", "-t", str(LIMIT_S), "-o", out, given],
        capture_output=True,
        text=True,
        timeout=LIMIT_S + 60,
        check=False,
    )
    results = {file.name: file.read_text() for file in out.glob("*")}
    return Session(done.returncode, done.stderr, results)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> replay.Replay:
    return replay.plain(replay.build_plain(tmp_path_factory.mktemp("plain")))


def test_programs_load(session: Session) -> None:
    """Else no router without BTF has a gateway."""
    loaded = session.results.get("programs", "")
    assert all(f"name {name} " in loaded for name in PROGRAMS), session.complaints


@pytest.mark.parametrize("trace", replay.TRACES, ids=lambda path: path.stem)
def test_golden(trace: Path, session: Session, plain: replay.Replay) -> None:
    """They do there what they do elsewhere, to the bit, and keep the same states."""
    replayed = session.results.get(trace.stem)
    assert replayed, session.complaints
    ours = plain(trace)
    assert not replay.difference(replay.events(ours), replay.events(replayed), ("plain", "mipsel"))
    assert ours == replayed, "a state differs that shows later"


def test_flows_for_which_there_is_no_memory_pass(session: Session) -> None:
    """Some begin with a later packet: this kernel has room for few new ones between two ticks."""
    packets = session.results.get("burst", "").splitlines()[1:]
    assert len(packets) == BURST * ROUNDS, session.complaints
    assert all("| passes" in packet for packet in packets)
    begun = [packet.split()[2] for packet in packets if packet.endswith(" new")]
    print(sum(packet.endswith(" new") for packet in packets[:BURST]), "by their first packet")
    assert sorted(begun) == sorted({packet.split()[2] for packet in packets})
    assert session.status == 0
