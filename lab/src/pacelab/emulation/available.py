# SPDX-License-Identifier: GPL-2.0-only
"""Whether runs can be emulated here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pacelab.emulation.programs import MESH, MESHPACE

TOOLS = {
    "ip": "iproute2",
    "iperf3": "iperf3",
    "curl": "curl",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "chrt": "util-linux",
}
TUN = Path("/dev/net/tun")


def unavailable() -> str | None:
    """Why nothing can be emulated here, in one line; None when it can."""
    if os.geteuid() != 0:
        return "emulation needs root, for network namespaces and real-time scheduling"
    for program in (MESH, MESHPACE):
        if not program.exists():
            return f"{program}: is not there; run make build"
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            return f"{tool}: is not there; install the package {package}"
    if not TUN.exists():
        return f"{TUN}: is not there; load the module tun"
    if not _works("unshare", "--net", "--", "true"):
        return "no network namespaces can be made here; it needs CAP_SYS_ADMIN"
    if not _works("chrt", "--fifo", "40", "true"):
        return "no real-time scheduling here; it needs CAP_SYS_NICE, and a cgroup that allows it"
    return None


def _works(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
