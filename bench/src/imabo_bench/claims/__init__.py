"""Claims, the paper's and the default's: run what they need, and say which hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TextIO

from imabo.errors import InvalidSetting, MissingData, MissingExtra
from imabo_bench.claims.assistant import ASSISTANT_CLAIMS
from imabo_bench.claims.base import Claim, Evidence, Finding, Runs
from imabo_bench.claims.budgets import BUDGET_CLAIMS
from imabo_bench.claims.control import CONTROL_CLAIMS
from imabo_bench.claims.default import DEFAULT_CLAIMS
from imabo_bench.claims.paper import PAPER_CLAIMS
from imabo_bench.claims.situations import SITUATION_CLAIMS
from imabo_bench.problems import open_problem
from imabo_bench.sweep import Results, Task, sweep, tasks_of

__all__ = ["CLAIMS", "Claim", "Verdict", "choose", "judge", "to_markdown"]

CLAIMS: Final = (
    *PAPER_CLAIMS, *DEFAULT_CLAIMS, *ASSISTANT_CLAIMS, *SITUATION_CLAIMS, *CONTROL_CLAIMS,
    *BUDGET_CLAIMS,
)  # fmt: skip
_QUICK = 7  # the quick version has this many times fewer seeds, at least three
_MARK = {True: "yes", False: "NO", None: "--"}


@dataclass(frozen=True)
class Verdict:
    """A claim, whether it holds here, and the figures that say so."""

    claim: Claim
    status: Literal["met", "not met", "cannot be run here"]
    findings: tuple[Finding, ...]
    why: str = ""

    def __str__(self) -> str:
        lines = [f"{self.claim.id}. {self.status.upper()}: {self.claim.text}"]
        lines += [f"   [{_MARK[finding.holds]}] {finding.words}" for finding in self.findings]
        lines += [f"   {note}" for note in (self.why, self.claim.comment) if note]
        return "\n".join(lines)


def choose(ids: Sequence[str] | None) -> list[Claim]:
    """The claims of these ids, or all."""
    known = {claim.id: claim for claim in CLAIMS}
    unknown = [name for name in ids or () if name not in known]
    if unknown:
        raise InvalidSetting(
            f"there is no claim {unknown[0]!r}",
            f"the claims are {', '.join(known)}",
            "name some of these, or none for all",
        )
    return [known[name] for name in ids] if ids else list(CLAIMS)


def judge(
    claim: Claim,
    results: Results,
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int = 1,
    data: Path | None = None,
    out: TextIO | None = None,
) -> Verdict:
    """Run what the claim needs and is not there yet, then compare.

    With ``seeds`` no runs have more of them; those that have fewer than others keep their share.
    """
    share = 1.0 if seeds is None else min(seeds / max(runs.seeds for runs in claim.runs), 1.0)
    tasks = [task for runs in claim.runs for task in _tasks(runs, quick, share, data)]
    try:
        for name in {task.problem for task in tasks}:
            open_problem(name, data=data)
        sweep(tasks, results, jobs=jobs, out=out)
    except (MissingData, MissingExtra) as error:
        return Verdict(claim, "cannot be run here", (), str(error))
    wanted = {task.key for task in tasks}
    evidence = Evidence([row for row in results.rows() if results.key(row) in wanted])
    findings = tuple(finding for part in claim.parts for finding in part.check(evidence))
    holds = all(finding.holds is not False for finding in findings)
    return Verdict(claim, "met" if holds else "not met", findings)


def _tasks(runs: Runs, quick: bool, share: float, data: Path | None) -> list[Task]:
    tasks = []
    for method in runs.methods:
        fewer = (runs.fewer or {}).get(method)
        seeds = runs.seeds if fewer is None else fewer
        if quick:
            seeds = max(3, seeds // _QUICK) if fewer is None else 1
        seeds = max(round(share * seeds), 1)
        tasks += tasks_of(runs.problems, [method], range(seeds), runs.rounds, runs.delay, data)
    return tasks


def to_markdown(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as a page."""
    lines = [
        "# Claims, run here",
        "",
        "| claim | verdict | parts that hold |",
        "|---|---|---|",
    ]
    for verdict in verdicts:
        decided = [f.holds for f in verdict.findings if f.holds is not None]
        lines.append(
            f"| {verdict.claim.id}. {verdict.claim.text} | **{verdict.status}** "
            f"| {sum(decided)} of {len(decided)} |"
        )
    for verdict in verdicts:
        lines += ["", f"## {verdict.claim.id}. {verdict.status}", "", verdict.claim.text, ""]
        lines += [f"Source: {verdict.claim.source}.", ""]
        lines += [f"- {_MARK[finding.holds]}: {finding.words}" for finding in verdict.findings]
        for note in (verdict.why, verdict.claim.comment):
            lines += ["", note] if note else []
    return "\n".join(lines) + "\n"
