# SPDX-License-Identifier: GPL-2.0-only
"""
A plugin of pytest (`-p attempts`): which tests failed at their first attempt, and how. A test that
goes by the clock and passes at the second shows a busy machine, or a fault that fails one run in
three; whoever reads only the outcome sees neither.

The lines are also added to the file that ATTEMPTS names, which scripts/test.sh shows at its end.
"""

import os
from collections.abc import Iterator

import pytest

# Of tests that run in another machine (linux/test/test_vm.py): `record_property` brings them here.
PROPERTY = "failed first"


def _how(report: pytest.TestReport) -> str:
    """The line that says what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else report.longreprtext).splitlines()
    return str(lines[0]) if lines else "no reason was kept"


def _lines(stats: dict[str, list[pytest.TestReport]]) -> Iterator[str]:
    failed = {report.nodeid for kind in ("failed", "error") for report in stats.get(kind, [])}
    seen: set[str] = set()
    for report in stats.get("rerun", []):
        if report.nodeid not in seen:
            seen.add(report.nodeid)
            then = "failed to the end" if report.nodeid in failed else "passed later"
            yield f"{report.nodeid} ({report.when}; {then}): {_how(report)}"
    for kind in ("passed", "failed", "skipped"):
        for report in stats.get(kind, []):
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY:
                    yield f"{report.nodeid}: {value}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if hasattr(terminalreporter.config, "workerinput"):
        return  # a worker of pytest-xdist: the process that started it has the reports of all
    lines = list(_lines(terminalreporter.stats))
    if lines:
        terminalreporter.section("failed at the first attempt")
        for line in lines:
            terminalreporter.line(line)
    if file := os.environ.get("ATTEMPTS"):
        with open(file, "a", encoding="utf-8") as kept:
            kept.writelines(f"{line}\n" for line in lines)
