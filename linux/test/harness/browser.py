# SPDX-License-Identifier: GPL-2.0-only
"""A real browser in a namespace: headless Chromium, told what to do over its DevTools' pipe."""

import base64
import contextlib
import itertools
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.namespace import Namespace

PATIENCE_S = 60.0
# It runs as root in a namespace, on a machine without a display; and asks nobody for updates.
WORDS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio"),
    *("--no-first-run", "--disable-default-apps", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
)


class Tab:
    """One page of the browser; `problems` and `asked` are of all that it has loaded."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.problems: list[str] = []
        self.asked: list[str] = []
        found = self.tell("Target.createTarget", url="about:blank")
        attached = self.tell("Target.attachToTarget", targetId=found["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(f"{domain}.enable")

    def _receive(self, within_s: float) -> dict[str, Any] | None:
        end = time.monotonic() + within_s
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            more = os.read(self._from, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        self._note(found.get("method", ""), found.get("params", {}))
        return found

    def _note(self, method: str, about: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.problems.append(about["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.problems.append(json.dumps(about["args"]))

    def tell(self, method: str, **parameters: object) -> dict[str, Any]:
        """Gives an order and returns what came of it."""
        number = next(self._numbers)
        order: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._to, json.dumps(order).encode() + b"\0")
        while True:
            answer = self._receive(PATIENCE_S)
            assert answer is not None, f"{method}: no answer"
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                found: dict[str, Any] = answer["result"]
                return found

    def wait(self, seconds: float) -> None:
        """Lets the page go on, and hears what it says."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._receive(left)

    def size(self, width: int, height: int, dark: bool = False, script: bool = True) -> None:
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])
        self.tell("Emulation.setScriptExecutionDisabled", value=not script)

    def open(self, url: str) -> None:
        self.tell("Page.navigate", url=url)
        self.wait(1)

    def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        found = self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not self.value(expression):
            assert time.monotonic() < end, f"never: {expression}"
            self.wait(0.2)

    def picture(self, file: Path) -> None:
        shot = self.tell("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def chromium(namespace: Namespace) -> Iterator[Tab]:
    """A browser with a profile of its own, which ends with the block."""
    orders, answers = os.pipe(), os.pipe()
    os.set_inheritable(orders[0], True)
    os.set_inheritable(answers[1], True)
    # DevTools read orders from descriptor 3 and write answers to 4.
    shell = f'exec "$@" 3<&{orders[0]} 4>&{answers[1]}'
    with tempfile.TemporaryDirectory() as profile:
        command = ["ip", "netns", "exec", namespace.name, "chromium", *WORDS]
        process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command, f"--user-data-dir={profile}"],
            pass_fds=(orders[0], answers[1]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(orders[0])
        os.close(answers[1])
        try:
            yield Tab(orders[1], answers[0])
        finally:
            # The end of its orders is its end.
            os.close(orders[1])
            os.close(answers[0])
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
