# SPDX-License-Identifier: GPL-2.0-only
"""The packages that packaging/ makes of the program that is built."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.debian import PACKAGING, STORE, Debian, run
from harness.gateway import PROGRAM

EPOCH = "1700000000"
CONFIGURATION = "etc/meshpace/gateway.toml"
# Compiling for another architecture and for this one, on two busy cores.
PACKAGES_S = 3000


@dataclass(frozen=True)
class Packed:
    """What packaging/ has made of the program that is built."""

    contents: Path
    deb: Path
    tarball: Path


def pack(checkout: Path, out: Path, **settings: str) -> Packed:
    """By the scripts of a checkout, which may lie anywhere."""
    scripts, contents = checkout / "packaging", out / "contents"
    assert PROGRAM.exists(), f"{PROGRAM.name} is not built; run `make build`"
    out.mkdir()
    program, given = PROGRAM.resolve(), {"SOURCE_DATE_EPOCH": EPOCH, **settings}
    run(scripts / "crates.sh", STORE / "crates")
    run(scripts / "contents.sh", program, program, STORE / "crates", contents, settings=given)
    architecture = run("dpkg", "--print-architecture").strip()
    for kind in ("deb", "tarball"):
        run(scripts / f"{kind}.sh", contents, architecture, out, settings=given)
    return Packed(contents, next(out.glob("*.deb")), next(out.glob("*.tar.gz")))


def packed_for_arm64() -> Path:
    """The package for arm64, as `make packages` compiles it; minutes, when it is not there yet."""
    run(PACKAGING / "packages.sh", "arm64", limit_s=PACKAGES_S)
    return next(STORE.glob("meshpace_*_arm64.deb"))


def needs_of(deb: Path) -> str:
    """What a package depends on and recommends, as `apt satisfy` takes it."""
    fields = run("dpkg-deb", "-f", deb, "Depends", "Recommends")
    return ", ".join(line.split(": ", 1)[1] for line in fields.splitlines())


def version() -> str:
    return run(PACKAGING / "version.sh").strip()


def give(debian: Debian, file: Path, name: str) -> None:
    shutil.copy(file, debian.folder / name)


def newer(deb: Path, folder: Path) -> Path:
    """The same package of a later version, with a line more in its configuration."""
    tree = folder / "newer"
    run("dpkg-deb", "-R", deb, tree)
    control, configuration = tree / "DEBIAN/control", tree / CONFIGURATION
    control.write_text(control.read_text().replace(f"Version: {version()}-1", "Version: 99.0-1"))
    configuration.write_text(configuration.read_text() + "# later\n")
    run("dpkg-deb", "--root-owner-group", "-b", tree, folder / "newer.deb")
    return folder / "newer.deb"
