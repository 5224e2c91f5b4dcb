# SPDX-License-Identifier: GPL-2.0-only
"""What `make packages` makes, compiled in two folders: the same bytes, and programs that run."""

import shutil
from pathlib import Path

import pytest
from harness.debian import PACKAGING, STORE, run
from harness.replay import ROOT

ARCHITECTURES = ("amd64", "arm64")
# Eight compilations, on two cores.
LIMIT_S = 3000
SOURCES = (
    *("CHANGELOG.md", "LICENSE", "core/include", "docs/operate", "packaging"),
    *("linux/Cargo.toml", "linux/Cargo.lock", "linux/bpf", "linux/crates"),
)
# What runs programs for arm64 here; Debian's libraries for them are where they were compiled.
FOREIGN = ("qemu-aarch64-static", "-L", str(STORE / "root"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.alone,
    pytest.mark.skipif(
        not shutil.which("mmdebstrap") or not shutil.which(FOREIGN[0]),
        reason="no mmdebstrap or qemu-aarch64-static; run scripts/setup.sh test",
    ),
]


def made(store: Path) -> dict[str, Path]:
    return {file.name: file for file in (*store.glob("*.deb"), *store.glob("*.tar.gz"))}


@pytest.fixture(scope="module")
def packages() -> dict[str, Path]:
    """Those of this checkout, by their names."""
    for old in made(STORE).values():
        old.unlink()
    run(PACKAGING / "packages.sh", *ARCHITECTURES, limit_s=LIMIT_S)
    found = made(STORE)
    assert len(found) == 2 * len(ARCHITECTURES)
    return found


def test_the_same_bytes_in_another_folder(packages: dict[str, Path], tmp_path: Path) -> None:
    """Else nobody can tell whether a package is of the commit that it says."""
    for source in SOURCES:
        place = tmp_path / source
        place.parent.mkdir(parents=True, exist_ok=True)
        run("cp", "-r", ROOT / source, place)
    store = tmp_path / "build/packages"
    store.mkdir(parents=True)
    # The compilers are the same ones; what they make is not shared.
    for name in ("root", "root.stamp"):
        (store / name).symlink_to(STORE / name)
    time = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    packages_sh = tmp_path / "packaging/packages.sh"
    run(packages_sh, *ARCHITECTURES, limit_s=LIMIT_S, settings={"SOURCE_DATE_EPOCH": time})
    for name, other in made(store).items():
        assert other.read_bytes() == packages[name].read_bytes(), name
    assert made(store).keys() == packages.keys()


def program(packages: dict[str, Path], architecture: str, folder: Path, kind: str) -> Path:
    """The program in a package."""
    if kind == "deb":
        package = next(
            file for name, file in packages.items() if name.endswith(f"_{architecture}.deb")
        )
        run("dpkg-deb", "-x", package, folder)
        return folder / "usr/bin/meshpace"
    package = next(
        file for name, file in packages.items() if name.endswith(f"-{architecture}.tar.gz")
    )
    run("tar", "-xf", package, "-C", folder)
    return next(folder.glob("*/meshpace"))


@pytest.mark.parametrize("kind", ["deb", "archive"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_program_runs(
    packages: dict[str, Path], architecture: str, kind: str, tmp_path: Path
) -> None:
    """Else a package is for another processor, or lacks libraries."""
    found = program(packages, architecture, tmp_path, kind)
    runner = FOREIGN if architecture == "arm64" else ()
    version = run(PACKAGING / "version.sh").strip()
    assert run(*runner, found, "--version").strip() == f"meshpace {version}"
    if kind == "archive":
        assert "INTERP" not in run("readelf", "--wide", "--segments", found)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_lintian_finds_no_error(packages: dict[str, Path], architecture: str) -> None:
    """Else Debian's own tools complain of the package, for a reason."""
    package = next(file for name, file in packages.items() if name.endswith(f"_{architecture}.deb"))
    print(run("lintian", "--allow-root", "--fail-on", "error", package))
