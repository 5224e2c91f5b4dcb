# SPDX-License-Identifier: GPL-2.0-only
"""Minimal Debians in folders, to install packages in (packaging/root.sh makes them)."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.replay import ROOT

PACKAGING = ROOT / "packaging"
# Where those are kept that others are copies of.
STORE = ROOT / "build/packages"
# Behind others that run beside, which measure.
BEHIND = ("nice", "-n", "10")
PATIENCE_S = 600
# Beyond a minimal Debian: what shows manual pages, and what the units are for.
READERS = ("man-db", "systemd")
# What changes whatever is installed: package managers' notes, caches, logs, what a boot makes.
VOLATILE = (
    "dev",
    "proc",
    "run",
    "sys",
    "tmp",
    "var/cache",
    "var/lib/apt",
    "var/lib/dpkg",
    "var/log",
)
# A mount namespace and processes of its own, which end with its first.
APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private")
ENTER = """
set -e
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$root.run" "$root/run"
exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
"""


def run(
    *words: str | Path, limit_s: float = PATIENCE_S, settings: dict[str, str] | None = None
) -> str:
    """A command to its end, with further settings in its environment; what it prints."""
    done = subprocess.run(
        [*BEHIND, *words],
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
        env={**os.environ, **(settings or {})},
    )
    assert not done.returncode, f"{words[0]}: {done.stderr.strip()} {done.stdout.strip()}"
    return done.stdout


class Debian:
    """A root file system in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def try_run(self, *words: str, network: bool = False) -> subprocess.CompletedProcess[str]:
        apart = [*APART, *([] if network else ["--net"])]
        return subprocess.run(
            [*BEHIND, *apart, "sh", "-c", ENTER, "debian", self.folder, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def run(self, *words: str, network: bool = False) -> str:
        """A command in it, to its end; what it prints. Without network it sees a loopback only."""
        done = self.try_run(*words, network=network)
        assert not done.returncode, f"{words}: {done.stderr.strip()} {done.stdout.strip()}"
        return done.stdout

    def apt(self, *words: str, network: bool = False) -> str:
        return self.run("apt-get", "-y", "-q", *words, network=network)

    def files(self) -> dict[str, str]:
        """Every path that stays, with its size and kind (a link: where it leads)."""
        found = {}
        for top, folders, files in os.walk(self.folder):
            inside = Path(top).relative_to(self.folder)
            folders[:] = [name for name in folders if str(inside / name) not in VOLATILE]
            for name in [*folders, *files]:
                path = Path(top, name)
                shown = os.readlink(path) if path.is_symlink() else str(path.is_dir())
                found[str(inside / name)] = shown
        return found


@contextmanager
def fresh(suite: str, folder: Path) -> Iterator[Debian]:
    """A Debian of this suite as it came, in `folder`."""
    kept = STORE / f"{suite}-minimal"
    architecture = run("dpkg", "--print-architecture").strip()
    run(PACKAGING / "root.sh", kept, suite, architecture, *READERS)
    root = folder / "root"
    (folder / "root.run").mkdir()
    # A copy, and no overlay: a test that is killed leaves files, but nothing mounted.
    run("cp", "-a", kept, root)
    try:
        # By which it finds what this machine finds.
        (root / "etc/resolv.conf").unlink(missing_ok=True)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        yield Debian(root)
    finally:
        shutil.rmtree(root)
