# SPDX-License-Identifier: GPL-2.0-only
"""Network namespaces and commands inside the machine of run.sh.

The gateway is the machine's own (first) namespace, as on a real gateway; everything else lives in
namespaces of its own. Nothing is tidied up: the machine is thrown away.
"""

import subprocess
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
GATEWAY = ""  # the first namespace


class Failed(Exception):
    """A scenario did not show what it must show."""


def command_in(namespace: str, arguments: Sequence[str]) -> list[str]:
    """The command line that runs `arguments` in `namespace`."""
    return ["ip", "netns", "exec", namespace, *arguments] if namespace else list(arguments)


def run(namespace: str, line: str, check: bool = True) -> str:
    """Runs a command line without quotes in a namespace and returns its standard output."""
    done = subprocess.run(
        command_in(namespace, line.split()), capture_output=True, text=True, timeout=60
    )
    if check and done.returncode != 0:
        raise Failed(f"{namespace or 'gateway'}: {line}: {done.stderr.strip()}")
    return done.stdout


def until(what: str, probe: Callable[[], T], limit_s: float, step_s: float = 0.2) -> T:
    """Probes until the answer is true, and returns it; Failed when `limit_s` are over."""
    end = time.monotonic() + limit_s
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failed(f"not within {limit_s:g} s: {what}")
        time.sleep(step_s)


def namespace(name: str) -> None:
    run(GATEWAY, f"ip netns add {name}")
    run(name, "ip link set lo up")


def veth(a: str, a_name: str, b: str, b_name: str) -> None:
    """A cable between two namespaces. Super packets are taken apart where they are sent."""
    run(GATEWAY, f"ip link add {a_name} netns {a or '1'} type veth peer {b_name} netns {b or '1'}")
    for space, name in ((a, a_name), (b, b_name)):
        run(space, f"ethtool -K {name} tso off gso off")
        run(space, f"ip link set {name} up")


def wired_side() -> None:
    """A server behind the gateway: eth0 192.0.2.1 -- 192.0.2.2 in namespace `server`."""
    namespace("server")
    veth(GATEWAY, "eth0", "server", "eth0")
    run(GATEWAY, "ip address add 192.0.2.1/24 dev eth0")
    run("server", "ip address add 192.0.2.2/24 dev eth0")
    run("server", "ip route add default via 192.0.2.1")
    run(GATEWAY, "sysctl -qw net.ipv4.ip_forward=1")
