"""``imabo bench``: list, run, claims, and what is made from rows."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imabo.errors import InvalidSetting
from imabo.settings import check_count, check_number
from imabo.spelling import closest
from imabo_bench import claims
from imabo_bench.methods import method_names, open_method
from imabo_bench.pack import pack
from imabo_bench.play import Row
from imabo_bench.problems import open_problem, problem_names
from imabo_bench.summary import fill_table, markdown_table, regret_table
from imabo_bench.sweep import DelaySettings, Results, check_seeds, sweep, tasks_of

if TYPE_CHECKING:
    from imabo_bench.report.rows import Run


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``bench`` and its commands to the command line."""
    bench = commands.add_parser(
        "bench", help="measure regret: problems, methods, claims", description=__doc__
    )
    parts = bench.add_subparsers(required=True, metavar="command")
    listing = parts.add_parser("list", help="the problems and methods there are")
    listing.set_defaults(run=list_all)
    running = parts.add_parser(
        "run",
        help="play methods on problems",
        description="Plays every method on every problem with every seed; noise and seeds are "
        "paired. Interrupted, it goes on where it stopped.",
    )
    running.add_argument("--problem", nargs="+", required=True, metavar="P", help="see: list")
    running.add_argument("--method", nargs="+", required=True, metavar="M", help="see: list")
    running.add_argument("--rounds", type=int, default=5000, metavar="T", help="(%(default)s)")
    running.add_argument("--seeds", type=int, default=10, metavar="N", help="seeds 0 to N - 1")
    running.add_argument("--dim", type=int, default=4, help="of toy functions (%(default)s)")
    running.add_argument("--ray", metavar="ADDRESS", help="of a Ray cluster, or local")
    running.add_argument(
        "--delay", choices=["lognormal"], help="feedback comes late, by the problem's own runtime"
    )
    running.add_argument("--feedback-freq", type=float, default=1.0, help="share that comes at all")
    running.add_argument("--window-quantile", type=float, default=0.95, help="of the delays")
    running.set_defaults(run=run)
    judging = parts.add_parser(
        "claims", help="run the paper's claims and the default's, and say which hold"
    )
    judging.add_argument("claim", nargs="*", help="letters; all by default")
    judging.add_argument("--quick", action="store_true", help="few seeds: a smoke test")
    judging.add_argument(
        "--seeds", type=int, metavar="N", help="at most so many of each, where all take too long"
    )
    judging.set_defaults(run=judge)
    for parser in (running, judging):
        parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
        parser.add_argument("--data", type=Path, help="folder of data sets (or IMABO_DATA)")
        parser.add_argument("--out", type=Path, default=Path("bench-results"), help="(%(default)s)")
    for parser in (listing, running, judging):
        parser.add_argument("--json", action="store_true", help="one JSON document")
    packing = parts.add_parser("pack", help="rows of some folders, small enough to commit")
    packing.add_argument("folder", type=Path, nargs="+")
    packing.add_argument("--out", type=Path, required=True, help="folder for rows.jsonl.gz")
    packing.set_defaults(run=pack_rows)
    reporting = parts.add_parser("report", help="one HTML page of a folder of results")
    reporting.add_argument("folder", type=Path)
    reporting.add_argument("--out", type=Path, help="the page (FOLDER/report.html)")
    reporting.add_argument("--png", type=Path, metavar="FOLDER", help="also write the figures")
    reporting.add_argument("--data", type=Path, help="folder of data sets (or IMABO_DATA)")
    reporting.set_defaults(run=report)
    drawing = parts.add_parser("picture", help="regret over the rounds on one problem, as SVG")
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("--problem", required=True, metavar="P")
    drawing.add_argument("--out", type=Path, required=True, help="the SVG file")
    drawing.set_defaults(run=picture)
    tabling = parts.add_parser("table", help="final regret of methods, as Markdown")
    tabling.add_argument("folder", type=Path)
    tabling.add_argument("--method", nargs="+", metavar="M", help="the columns; all by default")
    tabling.add_argument("--into", type=Path, metavar="PAGE", help="a page with marks for it")
    tabling.set_defaults(run=table)
    for parser in (drawing, tabling):
        parser.add_argument("--rounds", type=int, default=5000, metavar="T", help="(%(default)s)")


def list_all(options: argparse.Namespace) -> int:
    """Print the names."""
    if options.json:
        methods = {name: open_method(name).summary for name in method_names()}
        print(json.dumps({"problems": problem_names(), "methods": methods}))
        return 0
    print("problems:")
    for name in problem_names():
        print(f"  {name}")
    print("methods:")
    for name in method_names():
        print(f"  {name:20} {open_method(name).summary}")
    return 0


def run(options: argparse.Namespace) -> int:
    """Play a sweep."""
    for name in ("rounds", "jobs", "dim"):
        check_count(name, getattr(options, name), least=1)
    check_number("feedback-freq", options.feedback_freq, 0.0, 1.0, closed=True)
    check_number("window-quantile", options.window_quantile, 0.0, 1.0, closed=True)
    problems = [_with_dim(name, options.dim) for name in options.problem]
    # Unknown names and missing data are told before anything runs.
    for name in problems:
        open_problem(name, data=options.data)
    for name in options.method:
        open_method(name)
    delay = None
    if options.delay is not None:
        delay = DelaySettings(options.feedback_freq, options.window_quantile)
    tasks = tasks_of(
        problems,
        options.method,
        check_seeds(options.seeds),
        options.rounds,
        delay,
        options.data,
    )
    results = Results(options.out)
    results.write_manifest(
        {
            "problems": problems,
            "methods": options.method,
            "rounds": options.rounds,
            "seeds": options.seeds,
            "delay": None if delay is None else vars(delay),
        }
    )
    sweep(tasks, results, jobs=options.jobs, ray=options.ray)
    wanted = {task.key for task in tasks}
    played = [row for row in results.rows() if results.key(row) in wanted]
    if options.json:
        finals = [
            {name: row[name] for name in ("problem", "method", "seed")}
            | {"regret": row["regret"][-1]}
            for row in played
        ]
        print(json.dumps({"rounds": options.rounds, "rows": str(results.path), "played": finals}))
        return 0
    print(
        f"Cumulative regret at T = {options.rounds}, mean ± standard error, {options.seeds} seeds"
    )
    print(regret_table(played))
    print(f"rows: {results.path}; for a page: imabo bench report {options.out}")
    return 0


def _with_dim(name: str, dim: int) -> str:
    plain = name.startswith("toy/") and ":" not in name
    return f"{name}:d{dim}" if plain and dim != 4 else name


def report(options: argparse.Namespace) -> int:
    """Write the page."""
    from imabo_bench.report import write_report

    if options.data is not None:
        os.environ["IMABO_DATA"] = str(options.data)  # for the landscape of each problem
    print(f"page: {write_report(options.folder, options.out, options.png)}")
    return 0


def picture(options: argparse.Namespace) -> int:
    """Draw one picture."""
    from imabo_bench.report.picture import write_picture

    made = write_picture(
        options.folder, options.out, problem=options.problem, rounds=options.rounds
    )
    print(f"picture: {made}")
    return 0


def table(options: argparse.Namespace) -> int:
    """Print a table of the runs of one length with instant feedback, or put it into a page."""
    from imabo_bench.report.rows import read_results

    runs = read_results(options.folder).runs
    rows: list[Row] = [
        {"problem": run.problem, "method": run.method, "regret": run.regret.tolist()}
        for run in runs
        if run.rounds == options.rounds and not run.delay
    ]
    _require_runs(options, rows, runs)
    methods = options.method or list(dict.fromkeys(row["method"] for row in rows))
    made = markdown_table(rows, methods)
    print(made)
    if options.into is not None:
        fill_table(options.into, made)
    return 0


def _require_runs(options: argparse.Namespace, rows: list[Row], runs: Sequence[Run]) -> None:
    """Refuse to print an empty table; say what there is instead."""
    found: dict[tuple[str, ...], int] = {}
    if not rows:
        for run in runs:
            late = ("with late feedback",) if run.delay else ()
            kind = (f"--rounds {run.rounds}", *late)
            found[kind] = found.get(kind, 0) + 1
        has = ", ".join(f"{n} runs of {' '.join(kind)}" for kind, n in sorted(found.items()))
        lengths = sorted({run.rounds for run in runs if not run.delay})
        raise InvalidSetting(
            f"no run in {str(options.folder)!r} has {options.rounds} rounds and instant feedback",
            f"it has {has or 'no runs at all'}",
            f"pass --rounds {lengths[-1]}" if lengths else "play some with: imabo bench run",
        )
    known = list(dict.fromkeys(row["method"] for row in rows))
    for method in options.method or ():
        if method not in known:
            close = closest(method, known)
            raise InvalidSetting(
                f"no run of {options.rounds} rounds has the method {method!r}",
                f"there are {', '.join(known)}",
                f"write {close!r}" if close else "name some of these",
            )


def pack_rows(options: argparse.Namespace) -> int:
    """Write the rows of some folders once more, small; equal runs once."""
    rows: dict[tuple[object, ...], Row] = {}
    for folder in options.folder:
        results = Results(folder)
        rows |= {results.key(row): row for row in results.rows()}
    print(f"{len(rows)} rows: {pack(rows.values(), options.out)}")
    return 0


def judge(options: argparse.Namespace) -> int:
    """Run and judge claims; 1 when one is not met."""
    check_count("jobs", options.jobs, least=1)
    if options.seeds is not None:
        check_seeds(options.seeds)
    chosen = claims.choose(options.claim)
    results = Results(options.out)
    asked: dict[str, Any] = {"claims": [claim.id for claim in chosen], "quick": options.quick}
    if options.seeds is not None:
        asked["seeds"] = options.seeds
    results.write_manifest(asked)
    verdicts = []
    for claim in chosen:
        print(f"claim {claim.id} ...", file=sys.stderr)
        verdicts.append(
            claims.judge(
                claim,
                results,
                quick=options.quick,
                seeds=options.seeds,
                jobs=options.jobs,
                data=options.data,
            )
        )
        if not options.json:
            print(verdicts[-1], flush=True)
    page = options.out / "claims.md"
    page.write_text(claims.to_markdown(verdicts), encoding="utf-8")
    if options.json:
        print(json.dumps({"page": str(page), "claims": [_plain(one) for one in verdicts]}))
    else:
        print(f"page: {page}")
    return int(any(verdict.status == "not met" for verdict in verdicts))


def _plain(verdict: claims.Verdict) -> dict[str, Any]:
    findings = [{"holds": finding.holds, "words": finding.words} for finding in verdict.findings]
    return {
        "id": verdict.claim.id,
        "text": verdict.claim.text,
        "status": verdict.status,
        "findings": findings,
        "why": verdict.why,
    }
