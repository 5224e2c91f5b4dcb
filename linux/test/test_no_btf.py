# SPDX-License-Identifier: GPL-2.0-only
"""
The gateway where the kernel has no BTF, as stock OpenWrt's: whole tests of release by htb, in a
mount namespace in which it cannot be read. In a kernel built without are programs alone:
test_mipsel.py.
"""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HIDDEN = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
PACED = ["test_auto.py::test_the_kernel_holds_packets", "test_htb.py::test_nothing_stays"]
# By the clock.
MEASURED = ["test_htb.py::test_gaps_are_the_interval[2.0]"]
LIMIT_S = 300


def hidden(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", HIDDEN, "hidden", *words],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


# Namespaces of its tests have the names of other workers' first.
@pytest.mark.alone
def test_a_download_is_paced_and_nothing_stays(full: bool) -> None:
    """Else what stock OpenWrt has would be too little."""
    assert not hidden("ls", "/sys/kernel/btf").stdout
    tests = [*PACED, *(MEASURED if full else [])]
    done = hidden(sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *tests)
    print(done.stdout + done.stderr)
    assert not done.returncode
    assert f"{len(tests)} passed" in done.stdout


def test_doctor_says_who_needs_it() -> None:
    """The sender, and not the gateway."""
    said = hidden(HERE.parents[1] / "bin/meshpace", "doctor").stdout
    assert "MISSING" not in said
    sender = next(line for line in said.splitlines() if "sender" in line)
    assert sender.startswith("note")
    assert "BTF" in sender
