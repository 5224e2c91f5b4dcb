# SPDX-License-Identifier: GPL-2.0-only
"""What the program's build makes for other processors: BPF objects in their byte order."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.replay import ROOT

PACKAGE = ROOT / "linux/crates/meshpace"
BUILDS = ROOT / "build/cargo/release/build"
LIMIT_S = 300
# Rust's names of some that OpenWrt has: target, processor, byte order.
TARGETS = (
    ("mips-unknown-linux-musl", "mips", "big"),
    ("mipsel-unknown-linux-musl", "mips", "little"),
    ("armv7-unknown-linux-musleabihf", "arm", "little"),
)
ORDERS = {1: "little", 2: "big"}
# This machine's own headers of the kernel, which are the same for all processors but for <asm/...>.
OWN = ("/usr/include", f"/usr/include/{os.uname().machine}-linux-gnu")
# What the processors' headers do, in other words: they ask what their C compilers define.
BYTE_ORDER = """
#if defined(__MIPSEB__)
#include <linux/byteorder/big_endian.h>
#elif defined(__MIPSEL__)
#include <linux/byteorder/little_endian.h>
#else
#error "no byte order"
#endif
"""


def elf_order(file: bytes) -> str:
    """As its header says (EI_DATA)."""
    assert file[:4] == b"\x7fELF"
    return ORDERS[file[5]]


def build(out: Path, target: str, processor: str, order: str, **settings: str) -> str:
    """The program's build script, as cargo runs it for a target; what it complains of."""
    scripts = BUILDS.glob("meshpace-*/build-script-build")
    script = max(scripts, key=lambda file: file.stat().st_mtime, default=None)
    assert script, "the program is not built; run `make build`"
    given = {
        "PATH": os.environ["PATH"],
        "OUT_DIR": str(out),
        "CARGO_MANIFEST_DIR": str(PACKAGE),
        "TARGET": target,
        "HOST": f"{os.uname().machine}-unknown-linux-gnu",
        "OPT_LEVEL": "2",
        "DEBUG": "false",
        "CARGO_CFG_TARGET_ARCH": processor,
        "CARGO_CFG_TARGET_ENDIAN": order,
        "CARGO_CFG_TARGET_OS": "linux",
        "CARGO_CFG_TARGET_ENV": "musl",
        "CARGO_CFG_TARGET_VENDOR": "unknown",
        # The law alone is compiled by it, which needs nothing of a C library.
        "TARGET_CC": "clang",
        "TARGET_CFLAGS": "-ffreestanding -nostdlibinc",
        "AR": "ar",
        **settings,
    }
    done = subprocess.run(
        [script],
        cwd=PACKAGE,
        env=given,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr


def toolchain(folder: Path, processor: str) -> Path:
    """The kernel's headers as a toolchain for this processor has them."""
    for place in OWN:
        for part in ("linux", "asm", "asm-generic"):
            if (Path(place) / part).is_dir():
                shutil.copytree(Path(place) / part, folder / part, dirs_exist_ok=True)
    if processor == "mips":
        (folder / "asm/byteorder.h").write_text(BYTE_ORDER)
    return folder


@pytest.mark.parametrize(("target", "processor", "order"), TARGETS, ids=lambda word: word)
def test_an_object_has_its_target_s_byte_order(
    target: str, processor: str, order: str, tmp_path: Path
) -> None:
    """Else the kernel of a router with another byte order refuses the programs."""
    headers = toolchain(tmp_path / "headers", processor)
    assert not build(tmp_path, target, processor, order, MESHPACE_KERNEL_HEADERS=str(headers))
    for program in ("gateway", "sender"):
        assert elf_order((tmp_path / f"{program}.bpf.o").read_bytes()) == order
    # And the law, which the daemon calls, is for the same processor.
    subprocess.run(["ar", "x", "liblaw.a"], cwd=tmp_path, check=True)
    [law] = tmp_path.glob("*law.o")
    assert elf_order(law.read_bytes()) == order


def test_headers_are_those_of_the_target_s_compiler(tmp_path: Path) -> None:
    """Else those of the machine that compiles are taken, or none are found."""
    kernel = toolchain(tmp_path / "headers", "mips")
    header = kernel / "linux/bpf.h"
    header.write_text(header.read_text() + '\n#warning "of the toolchain"\n')
    flags = f"-ffreestanding -nostdlibinc -isystem {kernel}"
    complaint = build(tmp_path, *TARGETS[0], TARGET_CFLAGS=flags)
    assert "of the toolchain" in complaint, complaint


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"MESHPACE_KERNEL_HEADERS": "/nowhere"}, "MESHPACE_KERNEL_HEADERS names"),
        ({"TARGET_CC": "/nowhere/cc"}, "a C compiler for the target is needed"),
    ],
    ids=["headers", "compiler"],
)
def test_what_is_missing_is_said(settings: dict[str, str], says: str, tmp_path: Path) -> None:
    """Else who builds for another processor does not know what to install."""
    assert says in build(tmp_path, *TARGETS[0], **settings)
