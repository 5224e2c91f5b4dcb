# SPDX-License-Identifier: GPL-2.0-only
"""
docs/operate/first-hour.md, an operator's tutorial: its commands do what stands there. The
configuration is elsewhere than under /etc, and figures may be others.
"""

import contextlib
import os
import re
import shlex
import subprocess
import time
from pathlib import Path

from harness import air, net
from harness.gateway import PATIENCE_S, PROGRAM, until
from harness.traces import Traces, left_behind
from harness.transfer import Transfer

PAGE = Path(__file__).parents[2] / "docs" / "operate" / "first-hour.md"
FILE = "/etc/meshpace/gateway.toml"
MOST_COMMANDS = 10
# A command is "    # command", and what it prints follows until an empty line.
_BLOCK = re.compile(r"^    # (.+)\n((?:    (?!# ).*\n)*)", re.MULTILINE)
# Fifteen windows of 3 s, and what they may begin late.
TELLS_S = 52.0


def blocks() -> list[tuple[str, str]]:
    """Commands of the page, with what they print."""
    found = _BLOCK.findall(PAGE.read_text())
    return [(command, re.sub("^    ", "", shown, flags=re.MULTILINE)) for command, shown in found]


def plain(text: str) -> list[str]:
    """Lines without what may differ: figures, and how columns are set."""
    text = re.sub(r"\d+(?:\.\d+)*", "N", text)
    text = re.sub(r"(?:N min )?N s\b", "N s", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def as_documented(shown: str, documented: str) -> None:
    lines, expected = plain(shown), plain(documented)
    if expected and expected[-1] == "...":
        expected.pop()
        lines = lines[: len(expected)]
    assert lines == expected, shown


class Operator:
    """Types the page's commands one after the other."""

    def __init__(self, network: net.Network, folder: Path) -> None:
        self._file = folder / "etc" / "gateway.toml"
        self._inside = ["ip", "netns", "exec", network.gateway.name, str(PROGRAM)]
        run = folder / "run"
        run.mkdir()
        self._environment = {**os.environ, "MESHPACE_RUN": str(run)}
        self._blocks = blocks()
        assert len(self._blocks) <= MOST_COMMANDS

    def next(self, begins: str) -> tuple[list[str], str]:
        """The next command, which has to be this one, as it is typed here."""
        command, shown = self._blocks.pop(0)
        assert command.startswith(begins), command
        words = shlex.split(command.removesuffix(" &").replace(FILE, str(self._file)))
        assert words[0] in ("meshpace", "kill", "rm")
        if words[1] == "setup":
            words += ["--config", str(self._file)]
        return words[1:], shown.replace(FILE, str(self._file))

    def start(self, words: list[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self._inside, *words],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def types(self, begins: str) -> None:
        words, documented = self.next(begins)
        process = self.start(words)
        shown = process.communicate(timeout=PATIENCE_S)[0]
        assert process.returncode == 0, shown
        as_documented(shown, documented)

    def sees(self, text: str) -> None:
        """By another status of his own."""

        def there() -> bool:
            return text in self.start(["status"]).communicate(timeout=PATIENCE_S)[0]

        until(there)

    def done(self) -> bool:
        self._file.unlink()
        return not self._blocks


def test_the_first_hour(tmp_path: Path) -> None:
    radio = air.Radio(delay_ms=5.0, kbps=5000, queue=50)
    with net.over_radio(radio, hosts=2) as network, contextlib.ExitStack() as stack:
        network.gateway.ip(
            *("route", "add", "10.9.0.0/16", "via", net.host4(0), "dev", "mesh0", "proto", "babel")
        )
        clean = Traces.of(network.gateway)
        operator = Operator(network, tmp_path)
        operator.types("meshpace setup")
        words, _ = operator.next("meshpace gateway")
        gateway = operator.start(words)
        stack.callback(gateway.kill)
        operator.sees("release observe")
        for n in (0, 1):
            stack.enter_context(Transfer(network.wired, network.hosts[n], net.host4(n), seed=n))
        time.sleep(TELLS_S)
        operator.types("meshpace status")
        words, documented = operator.next("meshpace try 10m")
        tries = operator.start(words)
        stack.callback(tries.kill)
        operator.sees("a try: paces for another")
        stop = operator._blocks.pop(0)
        operator.types("meshpace status")
        time.sleep(TELLS_S)
        operator._blocks.insert(0, stop)
        operator.types("meshpace try --stop")
        as_documented(tries.communicate(timeout=PATIENCE_S)[0], documented)
        operator.types("meshpace try --stay")
        operator.sees("release htb")
        assert operator.next("kill")[0] == ["%1"]
        gateway.terminate()
        assert gateway.wait(PATIENCE_S) == 0
        assert operator.next("rm")[0]
        assert operator.done()
        assert left_behind(network.gateway, clean) == {}
