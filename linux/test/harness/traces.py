# SPDX-License-Identifier: GPL-2.0-only
"""What a gateway may leave behind: taken before and after, compared."""

import contextlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import offload
from harness.callbacks import PIN as CALLBACKS_PIN
from harness.namespace import Namespace, run
from harness.sender import PINS as SENDER_PINS

_INTERFACES = ("eth0", "mesh0")
_BPF = Path("/sys/fs/bpf")


@dataclass(frozen=True)
class Traces:
    """The state of a namespace that a gateway touches, and the machine's BPF programs."""

    state: dict[str, str]
    programs: frozenset[str]

    @classmethod
    def of(cls, namespace: Namespace) -> "Traces":
        state = {"qdisc": namespace.run("tc", "qdisc", "show")}
        for interface in _INTERFACES:
            state[f"offloads {interface}"] = str(offload.all_of(namespace, interface))
            for side in ("ingress", "egress"):
                words = ("tc", "filter", "show", "dev", interface, side)
                state[f"filters {interface} {side}"] = namespace.run(*words, check=False)
        for tool in ("iptables-save", "ip6tables-save"):
            state[tool] = _rules(namespace.run(tool))
        state["processes"] = run("ip", "netns", "pids", namespace.name)
        state["pins"] = "\n".join(sorted(str(path) for path in _pins()))
        return cls(state, _programs())

    def left_since(self, before: "Traces") -> dict[str, tuple[str, str]]:
        """What differs now: {what: (before, now)}; empty when everything was put back."""
        return {
            key: (was, self.state[key])
            for key, was in before.state.items()
            if self.state[key] != was
        }

    def orphans_since(self, before: "Traces") -> frozenset[str]:
        """New BPF programs that no process holds."""
        return self.programs - before.programs - _held()


def left_behind(namespace: Namespace, before: Traces) -> dict[str, tuple[str, str]]:
    """
    As left_since, with BPF programs, once the kernel has had time to free what nobody holds.
    One of another test's process may look like an orphan while that ends: not for long.
    """
    orphans: frozenset[str] | None = None
    for _ in range(15):
        now = Traces.of(namespace)
        left, seen = now.left_since(before), now.orphans_since(before)
        orphans = seen if orphans is None else orphans & seen
        if not left and not orphans:
            return {}
        time.sleep(0.2)
    return left | ({"bpf": ("", ", ".join(sorted(orphans or [])))} if orphans else {})


def _pins() -> Iterator[Path]:
    """
    Pinned BPF objects, without those of the sender's tests, which run beside, and those with which
    the kernel fills the file system when somebody mounts it.
    """
    for path in _BPF.rglob("*"):
        others = {SENDER_PINS, CALLBACKS_PIN} & {path, *path.parents}
        if not others and path.suffix != ".debug":
            yield path


def _rules(saved: str) -> str:
    """iptables-save without counters, dates and tables that hold no rule."""
    kept = []
    for table in re.findall(r"^\*.*?^COMMIT", saved, re.MULTILINE | re.DOTALL):
        lines = [re.sub(r"\[\d+:\d+\]", "", line) for line in table.splitlines()]
        if any(line.startswith("-A") or " - " in line for line in lines):
            kept += lines
    return "\n".join(kept)


def _programs() -> frozenset[str]:
    """
    The tc programs of the whole machine, as in fdinfo: `prog_id:7`. Maps need no look: they
    live as long as a program, a process or a pin holds them.
    """
    programs = json.loads(run("bpftool", "-j", "prog", "show") or "[]")
    return frozenset(f"prog_id:{one['id']}" for one in programs if one["type"] == "sched_cls")


def _held() -> set[str]:
    """Programs that some process holds, by their link: another gateway's, no trace of this one."""
    held = set()
    for file in Path("/proc").glob("[0-9]*/fdinfo/*"):
        with contextlib.suppress(OSError):
            found = re.findall(r"^prog_id:\s*(\d+)", file.read_text(), re.MULTILINE)
            held |= {f"prog_id:{number}" for number in found}
    return held
