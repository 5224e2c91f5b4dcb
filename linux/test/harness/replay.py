# SPDX-License-Identifier: GPL-2.0-only
"""
Replays traces (core/test/traces) in plain C over core/, and in the real BPF programs; shrinks one
that differs.
"""

import contextlib
import difflib
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.namespace import run

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "build/cargo/release/build"
CORE = Path("core/include")
REPLAY = Path("core/test/replay")
TRACES = sorted((ROOT / "core/test/traces").glob("*.trace"))
BPF_SOURCE = Path("linux/test/harness/replay.c")
# Of mp_limits: a link-layer header, places for flows (replay.c clears as many), the tests' clock,
# no records.
LIMITS = struct.pack("<IIII", 14, 256, 1, 0)

Replay = Callable[[Path], str]


class Differ(AssertionError):
    """Two hosts do not do the same."""


def _compile(
    source: Path, out: Path, *flags: str, compiler: str = "cc", checkout: Path = ROOT
) -> Path:
    words = (compiler, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror")
    folders = (f"-I{checkout / CORE}", f"-I{checkout / REPLAY}")
    run(*words, *folders, *flags, str(checkout / source), "-o", str(out))
    return out


def build_plain(folder: Path) -> Path:
    return _compile(REPLAY / "plain.c", folder / "replay-plain")


def plain(program: Path) -> Replay:
    """
    The gateway over core/ alone; with all states. As on Linux: that departures are fixed on
    arrival, as most traces have it (stamp=1), is the simulator's alone.
    """
    return lambda trace: run(str(program), "-l", "-s", str(trace))


def build_for_bpf(out: Path, *flags: str, compiler: str = "cc", checkout: Path = ROOT) -> Path:
    """What has the BPF programs replay; by a cross compiler for another machine."""
    return _compile(BPF_SOURCE, out, *flags, compiler=compiler, checkout=checkout)


def gateway_object() -> Path:
    """The BPF programs as the gateway carries them, from the latest build."""
    built = list(BUILT.glob("meshpace-*/out/gateway.bpf.o"))
    assert built, "no BPF programs are built; run `make build`"
    return max(built, key=lambda path: path.stat().st_mtime)


def with_test_clock(built: Path, out: Path) -> Path:
    """The same programs, of which the section .rodata.limits says that tests set the clock."""
    data = bytearray(built.read_bytes())
    sections, (count, names_at) = (
        struct.unpack_from("<Q", data, 40)[0],
        struct.unpack_from("<HH", data, 60),
    )

    def section(at: int) -> tuple[int, int, int]:
        head = sections + 64 * at
        return struct.unpack_from("<I", data, head)[0], *struct.unpack_from("<QQ", data, head + 24)

    names = section(names_at)[1]
    for name_at, offset, size in map(section, range(count)):
        name = data[names + name_at : data.index(0, names + name_at)]
        if name == b".rodata.limits":
            assert size <= len(LIMITS), "struct mp_limits is another; LIMITS has to follow"
            data[offset : offset + size] = LIMITS[:size]  # earlier commits have fewer
    out.write_bytes(data)
    return out


@contextlib.contextmanager
def in_bpf(
    built: Path, folder: Path, name: str = "replay", checkout: Path = ROOT
) -> Iterator[Replay]:
    """
    The BPF programs of an object, and what replays in those of its checkout; with all states.
    Root's, in a file system of its own.
    """
    mounted = folder / f"bpf-{name}"
    pins = mounted / "pins"
    # The object names the map of its variables, and so lies in a folder of its own.
    own = folder / f"object-{name}"
    own.mkdir()
    clocked = with_test_clock(built, own / "replay.o")
    program = build_for_bpf(own / "replay-bpf", checkout=checkout)
    mounted.mkdir()
    run("mount", "-t", "bpf", "bpf", str(mounted))
    try:
        pins.mkdir()
        run("bpftool", "prog", "loadall", str(clocked), str(pins), "pinmaps", str(pins / "maps"))
        yield lambda trace: run(str(program), str(pins), "-s", str(trace))
    finally:
        run("umount", str(mounted))
        mounted.rmdir()


def events(replayed: str) -> str:
    """Without the states: a trace again."""
    states = ("# down ", "# up ", "# host ")
    return "".join(line for line in replayed.splitlines(True) if not line.startswith(states))


def difference(a: str, b: str, names: tuple[str, str] = ("plain", "bpf")) -> str:
    """The first few lines in which two replays differ; empty: they do not."""
    lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), *names, n=1, lineterm=""))
    return "\n".join(lines[:12])


def shrink(trace: str, fails: Callable[[str], bool]) -> str:
    """
    The trace with as few lines as still fail, by delta debugging (Zeller and Hildebrandt 2002):
    ever smaller pieces are left out as long as what remains fails.
    """
    lines = trace.splitlines(keepends=True)
    piece = max(len(lines) // 2, 1)
    while True:
        before, at = len(lines), 0
        while at < len(lines):
            rest = lines[:at] + lines[at + piece :]
            if rest and fails("".join(rest)):
                lines = rest
            else:
                at += piece
        if piece == 1 and len(lines) == before:
            return "".join(lines)
        piece = max(piece // 2, 1)


def compare(trace: str, folder: Path, one: Replay, other: Replay) -> None:
    """Raises Differ, with the shortest trace that shows it, where two hosts do not do the same."""

    def differs(text: str) -> bool:
        path = folder / "shrunk.trace"
        path.write_text(text)
        try:
            return one(path) != other(path)
        except RuntimeError:
            return False  # a line that was left out was needed to say what another means

    if not differs(trace):
        return
    (folder / "shrunk.trace").write_text(short := shrink(trace, differs))
    differs(short)
    path = folder / "shrunk.trace"
    raise Differ(f"{short}\n{difference(one(path), other(path))}")
