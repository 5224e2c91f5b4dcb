# SPDX-License-Identifier: GPL-2.0-only
"""Runs the module's campaign by SEM, twice, in a folder that looks to SEM like an ns-3 tree.

usage: sem_campaign.py PROGRAM: meshpace-chain as it was built against the wheel. Status 0: the
table has a rate in each place, laws differ, the second call finds all runs of the first, and what
cannot be run is refused in one line.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGN = ROOT / "contrib" / "meshpace" / "examples" / "meshpace_campaign.py"
LAWS = ["even", "gap", "off"]


def tree(folder: Path, program: Path) -> Path:
    """What SEM asks of an ns-3 tree: a build program, and the list of what it has built."""
    folder.mkdir()
    (folder / "ns3").write_text("# All is built.\n")
    built = f"ns3_runnable_programs = [{str(program)!r}]\n"
    (folder / f".lock-ns3_{sys.platform}_build").write_text(built)
    return folder


def campaign(ns3: Path, results: Path) -> list[str]:
    """The lines of the table that a short campaign prints."""
    short = ["--runs", "2", "--hops", "2", "--duration", "2"]
    command = [sys.executable, str(CAMPAIGN), str(ns3), str(results), *short]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.splitlines()


def refuses(*arguments: str) -> None:
    """What cannot be run is one line, and status 2."""
    command = [sys.executable, str(CAMPAIGN), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def main() -> None:
    """Judges the table."""
    program = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        refuses(folder, f"{folder}/results")
        ns3 = tree(Path(folder, "ns-3"), program)
        results = Path(folder, "results")
        refuses(str(ns3), str(results), "--hops", "1")
        table = campaign(ns3, results)
        print("\n".join(table))
        rows = [line.split()[-3:] for line in table[2:]]
        assert [law for law, *_ in rows] == LAWS, rows
        assert all(float(rate) > 0 for _, *rates in rows for rate in rates), rows
        assert len({tuple(rates) for _, *rates in rows}) == len(LAWS), rows
        made = sorted(results.glob("data/*"))
        assert len(made) == 2 * len(LAWS), made
        assert campaign(ns3, results) == table
        assert sorted(results.glob("data/*")) == made, "runs were made again"


if __name__ == "__main__":
    main()
