# SPDX-License-Identifier: GPL-2.0-only
"""The command line."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pacelab import __version__
from pacelab.errors import InconclusiveError, InputError, RunError
from pacelab.interrupts import terminated_as_interrupted
from pacelab.results import tables
from pacelab.scenario import load
from pacelab.scenario.document import parse_setting
from pacelab.scenario.schema import Table

if TYPE_CHECKING:
    from pacelab.experiment.definition import Experiment
    from pacelab.results.keep import Target

DONE, FAILED, USAGE, INCONCLUSIVE = 0, 1, 2, 77
OUT = Path("build") / "results"  # of the present folder; results/ is what the project keeps
SECONDS = {"s": 1, "m": 60, "h": 3600}
BUDGET_S = 2 * 3600.0  # of --until-decided, where none is given
INTERRUPTED_TEXT = "pacelab: interrupted; what is done is kept, run it again to go on"


class _Parser(argparse.ArgumentParser):
    """Errors in one line, without the usage."""

    def error(self, message: str) -> None:  # type: ignore[override]
        sys.stderr.write(f"pacelab: {message}; see {self.prog} --help\n")
        raise SystemExit(USAGE)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _duration_s(text: str) -> float:
    """'90s', '30m', '2h' in seconds."""
    number, unit = text[:-1], text[-1:]
    if unit not in SECONDS or not number.isdecimal() or not 0 < int(number) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90s, 30m or 2h")
    return float(int(number) * SECONDS[unit])


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="pacelab", description="Laboratory for TCP pacing in Wi-Fi meshes.")
    parser.add_argument("--version", action="version", version=f"pacelab {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)

    kept = _Parser(add_help=False)
    kept.add_argument(
        "--keep", metavar="GROUP/NAME", help="write the figures into results/GROUP/NAME.json, too"
    )

    runs = _Parser(add_help=False)
    runs.add_argument("--seeds", type=_positive, default=1, metavar="N", help="seeds 1 .. N")
    runs.add_argument("--out", type=Path, metavar="DIR", help="results, figures and report")
    runs.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")

    workers = _Parser(add_help=False)
    workers.add_argument("--jobs", type=_positive, help="runs at a time (default: all cores)")
    workers.add_argument("--scheduler", metavar="ADDR", help="Dask scheduler to run on")
    workers.add_argument("--json", action="store_true", help="print one JSON document")

    run = commands.add_parser("run", parents=[runs, workers, kept], help="simulate scenario files")
    run.add_argument("files", nargs="+", metavar="FILE")
    run.add_argument("--no-cache", action="store_true", help="simulate even what is known")
    run.set_defaults(act=_run)

    emulate = commands.add_parser(
        "emulate", parents=[runs, kept], help="run a scenario with real kernels and gateway"
    )
    emulate.add_argument("file", metavar="FILE")
    emulate.add_argument("--json", action="store_true", help="print one JSON document")
    emulate.set_defaults(act=_emulate)

    check = commands.add_parser(
        "validate", parents=[kept], help="compare the emulation with the simulation"
    )
    check.add_argument("--quick", action="store_true", help="one short run of each case")
    check.add_argument("--seeds", type=_positive, metavar="N", help="emulated runs of each case")
    check.add_argument("--out", type=Path, default=OUT / "validate", metavar="DIR")
    check.add_argument("--json", action="store_true", help="print one JSON document")
    check.set_defaults(act=_validate)

    listing = commands.add_parser("list", help="the experiments and what they cost")
    listing.add_argument("--json", action="store_true", help="print one JSON document")
    listing.set_defaults(act=_list)

    again = commands.add_parser("reproduce", parents=[workers], help="run the papers' experiments")
    again.add_argument("ids", nargs="+", metavar="ID", help='ids from "pacelab list", or all')
    again.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    again.add_argument("--seeds", type=_positive, metavar="N", help="so many seeds of each point")
    for name, what in (
        ("system", "just this system; may be given several times, as what follows"),
        ("variant", "just this variant"),
        ("value", "just this value of what is swept"),
        ("set", "a key of all scenarios, KEY=VALUE"),
    ):
        again.add_argument(f"--{name}", action="append", default=[], dest=f"{name}s", help=what)
    again.add_argument(
        "--until-decided", action="store_true", help="add seeds until each check is decided"
    )
    again.add_argument(
        "--budget",
        type=_duration_s,
        metavar="TIME",
        help="begin no more runs after so long: 90s, 30m, 2h (default with --until-decided: 2h)",
    )
    again.add_argument(
        "--emulated", action="store_true", help="with real kernels and gateway, in real time"
    )
    again.add_argument("--out", type=Path, default=OUT, metavar="DIR")
    again.add_argument(
        "--keep",
        metavar="GROUP[/NAME]",
        help="write results/GROUP/ID.json, or NAME.json, too; with --until-decided the runs, too, "
        "from which a later call goes on",
    )
    again.set_defaults(act=_reproduce)

    pages = commands.add_parser("results", help="make the pages of results/ from its data")
    pages.add_argument("--check", action="store_true", help="write nothing; fail where one differs")
    pages.set_defaults(act=_results)

    report = commands.add_parser("report", help="make the report of a folder of results")
    report.add_argument("folder", type=Path, metavar="DIR")
    report.set_defaults(act=_report)

    demo = commands.add_parser(
        "demo", parents=[kept], help="a mesh before and after, in two minutes"
    )
    demo.add_argument("--seeds", type=_positive, default=1, metavar="N", help="seeds 1 .. N")
    demo.add_argument("--out", type=Path, default=OUT / "demo", metavar="DIR")
    demo.set_defaults(act=_demo)
    return parser


def _folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--out {folder}: cannot be made ({error.strerror}); give another"
        ) from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"--out {folder}: cannot be written to; give another")
    return folder


def _run(arguments: argparse.Namespace) -> int:
    from pacelab.experiment.campaign import run_all
    from pacelab.experiment.runner import make_job
    from pacelab.results.summary import summarize

    settings = dict(parse_setting(text) for text in arguments.settings)
    names = [Path(file).stem for file in arguments.files]
    if arguments.out and len(set(names)) < len(names):
        raise InputError("--out: two files of the same name would share a folder; rename one")
    kept = _kept(arguments)
    scenarios = [load(file, settings) for file in arguments.files]
    if kept and len({scenario.title for scenario in scenarios}) < len(scenarios):
        raise InputError("--keep: two files have the same title, by which figures go; change one")
    out = _folder(arguments.out) if arguments.out else None
    seeds = range(1, arguments.seeds + 1)
    jobs = [
        make_job(scenario, seed, use_cache=not arguments.no_cache)
        for scenario in scenarios
        for seed in seeds
    ]
    runs = run_all(jobs, arguments.jobs, arguments.scheduler)
    count = len(seeds)
    results = [
        summarize(scenario, runs[i * count : (i + 1) * count])
        for i, scenario in enumerate(scenarios)
    ]
    if out:
        from pacelab.results.report import write_report, write_result

        for result, name in zip(results, names, strict=True):
            write_result(result, out, name)
        write_report(out)
    if kept:
        several = len(results) > 1
        titles = [r["scenario"]["title"] for r in results]
        named = [("", t if several else "", r) for t, r in zip(titles, results, strict=True)]
        _keep_results(arguments, kept, titles[0], named)
    if arguments.json:
        _print_json(results[0] if len(results) == 1 else {"results": results})
    else:
        print("\n\n".join(tables.result_table(result) for result in results))
    return DONE


def _emulate(arguments: argparse.Namespace) -> int:
    from pacelab.emulation.emulate import emulate

    settings = dict(parse_setting(text) for text in arguments.settings)
    kept = _kept(arguments)
    scenario = load(arguments.file, settings, emulated=True)
    out = _folder(arguments.out) if arguments.out else None
    result = emulate(scenario, range(1, arguments.seeds + 1))
    if out:
        from pacelab.results.report import write_report, write_result

        write_result(result, out, Path(arguments.file).stem)
        write_report(out)
    if kept:
        _keep_results(arguments, kept, result["scenario"]["title"], [("emulated", "", result)])
    if arguments.json:
        _print_json(result)
    else:
        print(tables.result_table(result))
    return DONE


def _validate(arguments: argparse.Namespace) -> int:
    from pacelab.emulation import validate
    from pacelab.results.report import write_comparison, write_report

    kept = _kept(arguments)
    out = _folder(arguments.out)
    document = validate.validate(quick=arguments.quick, runs=arguments.seeds)
    write_comparison(document, out)
    if kept:
        sides = [
            (side, f"{case['name']}, {case['law']}", case[side])
            for case in document["comparison"]
            for side in ("simulated", "emulated")
            if case[side]
        ]
        _keep_results(arguments, kept, document["title"], sides)
    page = write_report(out)
    if arguments.json:
        _print_json(document)
    else:
        print(f"{validate.table(document)}\nreport: {page}")
    return {"confirmed": DONE, "failed": FAILED, "inconclusive": INCONCLUSIVE}[document["verdict"]]


def _list(arguments: argparse.Namespace) -> int:
    from pacelab.experiment.catalogue import experiment_files, other_names
    from pacelab.experiment.definition import load_experiment

    others = other_names()
    entries: list[Table] = []
    for name, file in experiment_files().items():
        full, quick = load_experiment(file, quick=False), load_experiment(file, quick=True)
        entries.append(
            {
                "id": name,
                "also": [other for other, of in others.items() if of == name],
                "figure": full.about.figure,
                "title": full.title,
                "listed": full.about.listed,
                "runs": full.runs(),
                "cpu_min": round(full.cpu_s() / 60, 1),
                "quick_runs": quick.runs(),
                "quick_cpu_min": round(quick.cpu_s() / 60, 1),
            }
        )
    if arguments.json:
        _print_json({"experiments": entries})
        return DONE
    header = ["id", "runs", "CPU min", "quick", "CPU min", "what"]
    keys = ("id", "runs", "cpu_min", "quick_runs", "quick_cpu_min", "title")
    rows = [[str(entry[key]) for key in keys] for entry in entries]
    of_all = [entry for entry in entries if entry["listed"]]
    sums = [sum(entry[key] for entry in of_all) for key in keys[1:-1]]
    rows.append(["all", *(f"{s:.0f}" for s in sums), ""])
    print(tables.layout(header, rows))
    return DONE


def _print_cost(experiments: Sequence[Experiment]) -> None:
    """What experiments will cost, before they run; on a terminal only."""
    if not sys.stderr.isatty():
        return
    rows = [[e.id, str(e.runs()), f"{e.cpu_s() / 60:.1f}"] for e in experiments]
    if len(rows) > 1:
        total_min = sum(e.cpu_s() for e in experiments) / 60
        rows.append(["all", str(sum(e.runs() for e in experiments)), f"{total_min:.1f}"])
    table = tables.layout(["less what is cached", "runs", "CPU min"], rows)
    print(table, file=sys.stderr)


def _reproduce(arguments: argparse.Namespace) -> int:
    from pacelab.experiment import archive
    from pacelab.experiment.catalogue import find_experiments
    from pacelab.experiment.decide import decide
    from pacelab.experiment.part import Part, parse_value
    from pacelab.experiment.reproduce import Workers, reproduce
    from pacelab.experiment.runner import need_cache
    from pacelab.results.keep import keep, target
    from pacelab.results.pages import RESULTS, write_pages
    from pacelab.results.report import write_outcome, write_report

    if arguments.until_decided and arguments.seeds:
        raise InputError("--seeds: --until-decided finds out how many; leave one of them out")
    if arguments.budget and not arguments.until_decided:
        raise InputError("--budget: is of --until-decided; add that")
    if arguments.emulated and arguments.until_decided:
        raise InputError("--until-decided: is of simulations; leave it out, and give --seeds")
    if arguments.emulated and (arguments.jobs or arguments.scheduler):
        raise InputError("--jobs, --scheduler: emulated runs follow each other; leave them out")
    part = Part(
        seeds=arguments.seeds,
        systems=arguments.systems,
        variants=arguments.variants,
        values=[parse_value(text) for text in arguments.values],
        settings=dict(parse_setting(text) for text in arguments.sets),
    )
    experiments = find_experiments(
        arguments.ids, quick=arguments.quick, part=part, emulated=arguments.emulated
    )
    kept = target(arguments.keep, [e.id for e in experiments]) if arguments.keep else None
    out = _folder(arguments.out)
    workers = Workers(arguments.jobs, arguments.scheduler)
    stored = RESULTS / kept.group / archive.NAME if kept and arguments.until_decided else None
    if arguments.until_decided:
        if stored:
            need_cache()
            if stored.exists():
                archive.take(stored, workers)
        outcomes, jobs = decide(experiments, workers, arguments.budget or BUDGET_S)
    elif arguments.emulated:
        from pacelab.emulation.experiment import reproduce_emulated

        outcomes = reproduce_emulated(experiments)
    else:
        _print_cost(experiments)
        outcomes = reproduce(experiments, workers)
    try:
        if kept:
            for outcome in outcomes:
                keep(outcome, kept, _command(arguments, outcome["id"]))
    finally:  # whatever is wrong with the figures, days of runs are not lost with them
        if stored:
            archive.write(stored, jobs)
    for outcome in outcomes:
        write_outcome(outcome, out)
    page = write_report(out)
    if arguments.json:
        _print_json({"experiments": outcomes})
    else:
        for outcome in outcomes:
            print(f"{tables.outcome_table(outcome)}\nverdict: {outcome['verdict']}\n")
        print(f"report: {page}")
    if kept:
        write_pages()
    return DONE


def _kept(arguments: argparse.Namespace) -> Target | None:
    """Where the figures of runs are kept; what is wrong with that is said before they begin."""
    from pacelab.results.keep import target

    return target(arguments.keep, []) if arguments.keep else None


def _keep_results(
    arguments: argparse.Namespace,
    where: Target,
    title: str,
    results: Sequence[tuple[str, str, Table]],
) -> None:
    from pacelab.results.keep import keep_results
    from pacelab.results.pages import write_pages

    files = getattr(arguments, "files", None) or [getattr(arguments, "file", None)]
    words = ["bin/pacelab", arguments.command, *filter(None, files)]
    words += ["--quick"] if getattr(arguments, "quick", False) else []
    words += ["--seeds", str(arguments.seeds)] if arguments.seeds else []
    words += [w for text in getattr(arguments, "settings", []) for w in ("--set", text)]
    keep_results(results, where, title, shlex.join(words))
    write_pages()


def _command(arguments: argparse.Namespace, experiment: str) -> str:
    """The command that runs one of the experiments of this call again."""
    words = ["bin/pacelab", "reproduce", experiment, *(["--quick"] if arguments.quick else [])]
    words += ["--until-decided"] if arguments.until_decided else []
    words += ["--emulated"] if arguments.emulated else []
    for key, values in (
        ("--seeds", [arguments.seeds] if arguments.seeds else []),
        ("--system", arguments.systems),
        ("--variant", arguments.variants),
        ("--value", arguments.values),
        ("--set", arguments.sets),
    ):
        words += [word for value in values for word in (key, str(value))]
    return shlex.join(words)


def _results(arguments: argparse.Namespace) -> int:
    from pacelab.results.pages import stale_pages, write_pages

    if not arguments.check:
        for page in write_pages():
            print(f"written: {page}")
        return DONE
    stale = stale_pages()
    if stale:
        raise RunError(f"{stale[0]}: is not what the data make; run pacelab results")
    return DONE


def _report(arguments: argparse.Namespace) -> int:
    from pacelab.results.report import write_report

    print(f"report: {write_report(arguments.folder, strict=True)}")
    return DONE


def _demo(arguments: argparse.Namespace) -> int:
    from pacelab.emulation.demo import demo
    from pacelab.results.demo import rows_to_keep
    from pacelab.results.keep import keep_rows
    from pacelab.results.pages import write_pages

    kept = _kept(arguments)
    shown = demo(_folder(arguments.out), arguments.seeds, kept=kept is not None)
    if kept:
        title, both = shown.on["scenario"]["title"], (shown.off, shown.on)
        command = f"bin/pacelab demo --seeds {arguments.seeds}"
        keep_rows(rows_to_keep(*both, kept.tree), kept, title, command, both)
        write_pages()
    print(shown.text)
    return DONE


def _print_json(document: Table) -> None:
    json.dump(document, sys.stdout, indent=1)
    print()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status: 0 done, 1 failed, 2 bad input, 77 inconclusive."""
    arguments = _parser().parse_args(argv)
    try:
        with terminated_as_interrupted():
            status: int = arguments.act(arguments)
        sys.stdout.flush()
    except InputError as error:
        print(f"pacelab: {_one_line(error)}", file=sys.stderr)
        return USAGE
    except RunError as error:
        print(f"pacelab: {_one_line(error)}", file=sys.stderr)
        return FAILED
    except InconclusiveError as error:
        print(f"pacelab: {_one_line(error)}", file=sys.stderr)
        return INCONCLUSIVE
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        print(f"pacelab: {_of_system(error)}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        real_time = arguments.command in ("emulate", "validate", "demo") or getattr(
            arguments, "emulated", False
        )
        print(f"\n{'pacelab: interrupted' if real_time else INTERRUPTED_TEXT}", file=sys.stderr)
        # Threads that are left must not hold up the exit.
        sys.stderr.flush()
        os._exit(FAILED)
    return status


def _of_system(error: OSError) -> str:
    """What the system refuses, and where: a full disk, a file in the place of a folder."""
    where = f"{error.filename}: " if error.filename else ""
    reason = error.strerror or str(error)
    return f"{where}{_one_line(OSError(reason))}; make room there, or give another place"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
