# SPDX-License-Identifier: GPL-2.0-only
"""The packages: in Debian 12 and 13 they install, start nothing, and leave nothing behind."""

import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.debian import Debian, fresh, run
from harness.gateway import PROGRAM
from harness.packed import CONFIGURATION, Packed, give, needs_of, newer, pack, version
from harness.replay import ROOT

SUITES = ("bookworm", "trixie")
UNITS = ("meshpace.service", "meshpace-sender.service")
PROGRAM_MB = 4.0
# What a package is made of (packaging/contents.sh).
SOURCES = ("CHANGELOG.md", "LICENSE", "docs/operate", "linux/Cargo.*", "linux/crates", "packaging")

pytestmark = [
    # They share what they build.
    pytest.mark.xdist_group("packages"),
    pytest.mark.skipif(
        not shutil.which("mmdebstrap") or not shutil.which("lintian"),
        reason="no mmdebstrap or lintian; run scripts/setup.sh test",
    ),
]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    return pack(ROOT, tmp_path_factory.mktemp("packed") / "out")


@pytest.fixture(scope="module", params=SUITES)
def debian(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Debian]:
    with fresh(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def before(debian: Debian, packed: Packed) -> dict[str, str]:
    """The files of the Debian before anything of ours is in it, but for what the package needs."""
    debian.apt("update", network=True)
    debian.apt("satisfy", needs_of(packed.deb), network=True)
    return debian.files()


@pytest.fixture(scope="module")
def installed(debian: Debian, before: dict[str, str], packed: Packed) -> Debian:
    assert before
    give(debian, packed.deb, "meshpace.deb")
    debian.apt("install", "/meshpace.deb")
    return debian


def test_one_version(packed: Packed) -> None:
    """Else nobody knows which program a package has."""
    assert run("dpkg-deb", "-f", packed.deb, "Version").strip() == f"{version()}-1"
    assert run(PROGRAM, "--version").strip() == f"meshpace {version()}"
    with tarfile.open(packed.tarball) as archive:
        assert {name.split("/")[0].split("-")[1] for name in archive.getnames()} == {version()}


def test_lintian_finds_no_error(packed: Packed) -> None:
    """Else Debian's own tools complain of the package, for a reason."""
    print(run("lintian", "--allow-root", "--fail-on", "error", packed.deb))


def test_the_same_bytes_elsewhere(packed: Packed, tmp_path: Path) -> None:
    """Else nobody can tell whether a package is of the commit that it says."""
    checkout = tmp_path / "a checkout"
    for pattern in SOURCES:
        for source in ROOT.glob(pattern):
            place = checkout / source.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            run("cp", "-r", source, place)
    # As git makes the files for who has umask 077.
    run("chmod", "-R", "go-rwx", checkout)
    other = pack(checkout, tmp_path / "out", TZ="Asia/Kathmandu", LC_ALL="C.UTF-8")
    assert other.deb.read_bytes() == packed.deb.read_bytes()
    assert other.tarball.read_bytes() == packed.tarball.read_bytes()


def test_every_library_has_its_licence(packed: Packed) -> None:
    """Else the package must not be given to anybody."""
    text = (packed.contents / "licences").read_text()
    heads = [line for line in text.splitlines() if line.startswith("==== ")]
    assert {"libbpf-sys", "libc", "clap", "serde"} <= {head.split()[1] for head in heads}
    assert text.count("Permission is hereby granted") > len(heads) / 2
    assert "Redistributions in binary form" in text


def test_the_configuration_changes_nothing(packed: Packed) -> None:
    """Else what is installed would pace, or keep to the defaults of an old version."""
    configuration = packed.contents / "gateway.toml"
    stated = [line for line in configuration.read_text().splitlines() if line[:1] not in ("", "#")]
    assert stated
    assert all(line.startswith("[") for line in stated), stated
    run(PROGRAM, "config", "check", configuration)


def test_documents_lead_somewhere(packed: Packed) -> None:
    """Else who reads them where they are installed finds dead links."""
    pages = sorted((packed.contents / "documents").glob("*.md"))
    assert len(pages) > 5
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
    assert json.loads((packed.contents / "documents/meshpace.json").read_text())["panels"]


def test_a_small_router_has_room(packed: Packed) -> None:
    """Of 16 MB of flash a router's own system takes most."""
    program = packed.contents / "meshpace"
    assert program.stat().st_size <= PROGRAM_MB * 1e6


def test_it_is_all_there(installed: Debian) -> None:
    """Else who installs the package lacks a part of it, in this Debian."""
    assert installed.run("meshpace", "--version").strip() == f"meshpace {version()}"
    told = installed.try_run("meshpace", "doctor")
    print(told.stdout)
    assert told.returncode == 0
    assert "eBPF programs     load" in told.stdout
    assert "--mesh" in installed.run("man", "meshpace-gateway")
    completion = "source /usr/share/bash-completion/completions/meshpace && complete -p meshpace"
    assert "meshpace" in installed.run("bash", "-c", completion)
    installed.run("meshpace", "config", "check", f"/{CONFIGURATION}")
    listed = installed.run("dpkg", "-L", "meshpace").split()
    assert {f"/lib/systemd/system/{unit}" for unit in UNITS} <= {
        path.replace("/usr/lib/systemd", "/lib/systemd") for path in listed
    }


def test_units_are_valid(installed: Debian) -> None:
    """Else systemd refuses one, or leaves out a line of it."""
    said = installed.try_run("systemd-analyze", "verify", *UNITS)
    assert not said.returncode, said.stderr
    ours = [line for line in said.stderr.splitlines() if "meshpace" in line]
    assert not ours


def test_nothing_is_started(installed: Debian, before: dict[str, str]) -> None:
    """Else who only installs the package has a gateway that paces."""
    assert not [p for p in Path("/proc").glob("[0-9]*/root") if runs_in(p, installed)]
    new = installed.files().keys() - before.keys()
    assert not [path for path in new if ".wants/" in path and "meshpace" in path]


def runs_in(root: Path, debian: Debian) -> bool:
    try:
        return root.resolve() == debian.folder
    except OSError:
        return False


# systemctl, and what maintainers' scripts call it by, where no systemd runs.
RECORDER = '#!/bin/sh\necho "${0##*/} $*" >>/called\n'


def test_upgrade_remove_purge(
    installed: Debian, before: dict[str, str], packed: Packed, tmp_path: Path
) -> None:
    """Else an upgrade loses what was configured, or something stays when the package goes."""
    configuration, called = installed.folder / CONFIGURATION, installed.folder / "called"
    changed = configuration.read_text() + '\nmesh = "bat0"\n'
    configuration.write_text(changed)
    kept = {}
    for name in ("systemctl", "deb-systemd-invoke"):
        kept[name] = (installed.folder / "usr/bin" / name).read_bytes()
        (installed.folder / "usr/bin" / name).write_text(RECORDER)
    (installed.folder.with_suffix(".run") / "systemd/system").mkdir(parents=True, exist_ok=True)

    give(installed, newer(packed.deb, tmp_path), "newer.deb")
    installed.apt("install", "/newer.deb", "-o", "Dpkg::Options::=--force-confold")
    assert configuration.read_text() == changed
    calls = called.read_text()
    # What does not run is not started by it.
    assert all(f"deb-systemd-invoke try-restart {unit}" in calls for unit in UNITS), calls
    assert "daemon-reload" in calls

    called.unlink()
    installed.apt("remove", "meshpace")
    assert "deb-systemd-invoke stop meshpace.service meshpace-sender.service" in called.read_text()
    assert not (installed.folder / "usr/bin/meshpace").exists()
    assert configuration.read_text() == changed

    installed.apt("purge", "meshpace")
    for name, content in kept.items():
        (installed.folder / "usr/bin" / name).write_bytes(content)
    for name in ("meshpace.deb", "newer.deb", "called"):
        (installed.folder / name).unlink()
    after = installed.files()
    assert after == before, sorted(after.items() ^ before.items())
