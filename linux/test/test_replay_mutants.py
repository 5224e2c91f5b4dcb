# SPDX-License-Identifier: GPL-2.0-only
"""
Whether the traces would notice: the BPF programs with one deliberate change each, of which some
trace in core/test/traces has to bring out something else, or another state. With --full.
"""

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import replay
from harness.namespace import run

pytestmark = pytest.mark.alone


@dataclass(frozen=True)
class Mutant:
    """What is changed where; the text is there once."""

    name: str
    file: str
    old: str
    new: str


ENDPOINT = "core/include/meshpace/endpoint"
LAW = "core/include/meshpace/law"
MUTANTS = (
    Mutant("Karn", f"{ENDPOINT}/sent.h", "slot->t1_tick |= MP_SENT_AGAIN;", ";"),
    Mutant(
        "part again", f"{ENDPOINT}/sent.h", "again || mp_sent_part_again(sent, end, ack)", "again"
    ),
    Mutant(
        "tries", f"{ENDPOINT}/dupack.h", "#define MP_LOCAL_TRIES 3u", "#define MP_LOCAL_TRIES 2u"
    ),
    Mutant(
        "police",
        f"{ENDPOINT}/police.h",
        "cap_bytes_per_s + cap_bytes_per_s / 16",
        "cap_bytes_per_s",
    ),
    Mutant(
        "signalled again", f"{ENDPOINT}/police.h", "notified->waits = 1;", "notified->waits = 0;"
    ),
    Mutant(
        "unanswered",
        f"{ENDPOINT}/unanswered.h",
        "return flow->since_ns && now_ns <",
        "return now_ns <",
    ),
    Mutant("shared", f"{LAW}/search.h", "if (search->shared) {", "if (false) {"),
    Mutant(
        "turns",
        f"{ENDPOINT}/feedback.h",
        "#define MP_FEEDBACK_TURNS 4u",
        "#define MP_FEEDBACK_TURNS 5u",
    ),
    Mutant(
        "damping", f"{LAW}/search.h", "MP_SEARCH_DAMPING_Q16 6554", "MP_SEARCH_DAMPING_Q16 6553"
    ),
    Mutant("rounding", "core/include/meshpace/arith/ewma.h", "MP_ONE_Q16 / 2) >> 16", "0) >> 16"),
    Mutant(
        "sequence", "core/include/meshpace/arith/seq.h", "((a - b) & 0x80000000u) != 0", "a < b"
    ),
)


def mutated(mutant: Mutant, folder: Path) -> Path:
    """The BPF programs of a copy of their sources with the change."""
    for part in ("core/include", "linux/bpf"):
        shutil.copytree(replay.ROOT / part, folder / part)
    path = folder / mutant.file
    text = path.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.file} is another; the mutant has to follow"
    path.write_text(text.replace(mutant.old, mutant.new))
    libbpf = next(replay.BUILT.glob("libbpf-sys-*/out/include"))
    flags = ["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-ffreestanding"]
    asm = f"/usr/include/{platform.machine()}-linux-gnu"
    includes = [f"-I{folder}/core/include", f"-I{libbpf}", "-idirafter", asm]
    out = folder / "mutant.o"
    source = folder / "linux/bpf/gateway.bpf.c"
    run("clang", *flags, *includes, "-c", str(source), "-o", str(out))
    return out


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_change_is_noticed(mutant: Mutant, tmp_path: Path) -> None:
    noticed, plain = [], replay.plain(replay.build_plain(tmp_path))
    with replay.in_bpf(mutated(mutant, tmp_path), tmp_path) as bpf:
        for trace in replay.TRACES:
            if bpf(trace) != plain(trace):
                noticed.append(trace.stem)
    print(f"{mutant.name}: noticed by {', '.join(noticed)}")
    assert noticed
