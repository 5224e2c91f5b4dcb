# SPDX-License-Identifier: GPL-2.0-only
"""Network namespaces: made, entered for the length of a call, removed."""

import contextlib
import itertools
import os
import re
import socket
import subprocess
from pathlib import Path

from pacelab.emulation.netns import MOUNTED, inside

_serial = itertools.count()


def run(*command: str, check: bool = True) -> str:
    """Runs a command and returns what it printed; a failure names the command and its words."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


class Namespace:
    """A network namespace of this process: its name carries the process id."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.name = f"mp{os.getpid()}-{label}-{next(_serial)}"
        run("ip", "netns", "add", self.name)
        try:
            self.ip("link", "set", "lo", "up")
            # An address is usable at once; nothing but the tests' own packets is on the links.
            self.sysctl("net.ipv6.conf.default.accept_dad", "0")
            self.sysctl("net.ipv6.conf.default.router_solicitations", "0")
        except BaseException:
            self.remove()
            raise

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """The calling thread, and it alone, is in the namespace."""
        return inside(self.name)

    def socket(self, family: int, kind: int, protocol: int = 0) -> socket.socket:
        """A socket of the namespace: it stays there whoever uses it."""
        with self.inside():
            return socket.socket(family, kind, protocol)

    def ip(self, *words: str) -> str:
        return run("ip", "-n", self.name, *words)

    def run(self, *command: str, check: bool = True) -> str:
        return run("ip", "netns", "exec", self.name, *command, check=check)

    def sysctl(self, key: str, value: str) -> None:
        # A name of an interface has no dot here, so every dot is a slash.
        with self.inside():
            Path("/proc/sys", key.replace(".", "/")).write_text(value)

    def mac(self, interface: str) -> bytes:
        with self.inside(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
            s.bind((interface, 0))
            address = s.getsockname()[4]
            assert isinstance(address, bytes)
            return address

    def remove(self) -> None:
        run("ip", "netns", "del", self.name, check=False)


def remove_stale() -> None:
    """Removes the namespaces of test processes that were killed."""
    for path in MOUNTED.glob("mp*-*"):
        owner = re.match(r"mp(\d+)-", path.name)
        if owner and not Path("/proc", owner[1]).exists():
            run("ip", "netns", "del", path.name, check=False)


def obstacle() -> str | None:
    """Why no namespaces can be had here; None when they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        probe = Namespace("probe")
    except (RuntimeError, OSError) as error:
        return f"no network namespaces here: {error}"
    probe.remove()
    return None
