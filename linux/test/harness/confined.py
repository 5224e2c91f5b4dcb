# SPDX-License-Identifier: GPL-2.0-only
"""
Runs a program as a systemd unit would: its system calls, address families and capabilities are
those that the unit allows. Where no systemd runs that is the nearest to trying the unit itself.

usage: confined.py UNIT PROGRAM [ARGUMENT]...
"""

import ctypes
import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

UNITS = Path(__file__).parents[3] / "packaging" / "systemd"
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_EQUAL = 4


class _Compare(ctypes.Structure):
    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


def values(unit: Path, key: str) -> list[str]:
    """Of each line of the unit that sets the key, in order."""
    lines = (line.strip() for line in unit.read_text().splitlines())
    return [line.split("=", 1)[1] for line in lines if line.startswith(f"{key}=")]


def _expanded(name: str) -> set[str]:
    """The system calls of a group of systemd's, or the one that is named."""
    if not name.startswith("@"):
        return {name}
    shown = subprocess.check_output(["systemd-analyze", "syscall-filter", name], text=True)
    found: set[str] = set()
    for line in shown.splitlines()[1:]:
        word = line.split("#")[0].strip()
        if word:
            found |= _expanded(word)
    return found


def allowed(unit: Path) -> set[str]:
    """The system calls that the unit's lines leave, read as systemd reads them."""
    found: set[str] = set()
    for line in values(unit, "SystemCallFilter"):
        names = {call for word in line.lstrip("~").split() for call in _expanded(word)}
        found = found - names if line.startswith("~") else found | names
    return found


def _filter(calls: set[str], families: list[str]) -> None:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_REFUSE)))
    for name in calls:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:  # another architecture's
            continue
        of_families = families if name == "socket" else [""]
        for family in of_families:
            count, compared = 0, _Compare()
            if family:
                count = 1
                compared = _Compare(0, _EQUAL, int(getattr(socket, family)), 0)
            if library.seccomp_rule_add_array(
                context, ctypes.c_uint32(_ALLOW), number, count, ctypes.byref(compared)
            ):
                raise OSError(f"seccomp: {name}")
    if library.seccomp_load(context):
        raise OSError("seccomp_load")


def command(unit: Path, *words: str) -> list[str]:
    """The command line that runs these words confined."""
    capabilities = values(unit, "CapabilityBoundingSet")[0].lower().split()
    bounding = ",".join(["-all", *("+" + one.removeprefix("cap_") for one in capabilities)])
    limits = ["setpriv", "--no-new-privs", f"--bounding-set={bounding}", "--inh-caps=-all"]
    return [*limits, sys.executable, str(Path(__file__)), str(unit), *words]


def main() -> None:
    unit, program = Path(sys.argv[1]), sys.argv[2:]
    os.umask(int(values(unit, "UMask")[0], 8))
    _filter(allowed(unit), values(unit, "RestrictAddressFamilies")[0].split())
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
