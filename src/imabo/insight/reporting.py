"""A study as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from imabo.amounts import amount
from imabo.documents import chance_text
from imabo.insight.arm_table import ArmRow, arm_table
from imabo.insight.drawings import RESEARCH, figure, figures_of
from imabo.insight.drawings.svg import svg
from imabo.insight.estimates import Interval
from imabo.insight.grouping import config_text
from imabo.insight.key_figures import Overview, overview
from imabo.insight.snapshot import StudySnapshot
from imabo.objective import Signal

MOST_ROWS: Final = 20  # configurations

# Nothing may be fetched or run, whatever a study contains.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_COLUMNS: Final = ("", "mean", "95% interval", "rewards", "requests", "share", "state")


def report(snapshot: StudySnapshot) -> str:
    """The four answers, all figures and the most served arms as one HTML page to send around.

    It opens without a network, in light and in dark. Its figures are drawings (SVG) in the page, so
    it has no script in it and needs no extra to be made.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("a & b", Space(x=Float(0, 1)), seed=0)
        >>> "<h1>a &amp; b</h1>" in insight.report(insight.read(study))
        True
    """
    made = {name: _drawn(name, snapshot) for name in figures_of(snapshot)}
    key = overview(snapshot)
    said = f"{key.state}; created {_time(key.created_at)}"
    if key.last_pull_at is not None:
        said += f", last request {_time(key.last_pull_at)}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(snapshot.name)}</title><style>{_STYLE}</style></head><body>",
        f'<header><h1>{escape(snapshot.name)}</h1><p class="soft">{escape(said)}</p></header>',
        f"<main>{_answers(key)}{_key_figures(key)}{_best(key)}",
        *(_figure(one) for name, one in made.items() if name not in RESEARCH),
        _table(snapshot),
        "<section><details><summary>How the search works inside</summary>",
        f'<p class="soft">{escape(_inside(snapshot))}</p>',
        *(_figure(made[name]) for name in RESEARCH),
        "</details></section></main></body></html>",
    ]
    return "\n".join(parts)


def _drawn(name: str, snapshot: StudySnapshot) -> dict[str, Any]:
    return figure(name, snapshot, limit=MOST_ROWS) if name == "arms" else figure(name, snapshot)


def _inside(snapshot: StudySnapshot) -> str:
    policy, oracle = (part["type"] for part in (snapshot.study.policy, snapshot.study.oracle))
    return f"The policy {policy} decides what is served, the oracle {oracle} proposes what to try."


def _answers(key: Overview) -> str:
    items = "".join(
        f"<div><dt>{escape(one.question)}</dt><dd>{escape(one.answer)}</dd>"
        f'<dd class="soft">{escape(one.detail)}</dd></div>'
        for one in key.answers
    )
    return f'<dl class="facts answers">{items}</dl>'


def _key_figures(key: Overview) -> str:
    shown = [
        ("requests", f"{key.n_pulls:,}"),
        ("rewards", f"{key.n_rewards:,}"),
        ("waiting for feedback", f"{key.n_pending:,}"),
        ("no feedback in time", f"{key.n_expired:,}"),
        ("configurations in play", f"{key.n_active:,} of {key.n_arms:,}"),
        ("recent mean reward", _with_interval(key.recent_mean, key.recent_interval)),
        ("feedback rate", "–" if key.feedback_rate is None else f"{key.feedback_rate:.1%}"),
        ("requests per minute", _number(key.pulls_per_minute)),
        ("space version", str(key.space_version)),
    ]
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in shown
    )
    return f'<dl class="facts">{items}</dl>'


def _best(key: Overview) -> str:
    if key.best is None:
        return '<section class="best"><h2>Best</h2><p>No reward yet.</p></section>'
    config = json.dumps(key.best.config, indent=2, ensure_ascii=False)
    said = f"{key.best.label} (#{key.best.arm}): mean "
    said += f"{_with_interval(key.best.mean, key.best.interval)}, "
    said += f"{key.best.n_rewards:,} rewards"
    if key.best.since is not None:
        said += f" since a change noticed at {_time(key.best.since)}"
    said += f", plain mean {_number(key.best.observed)}"
    if key.best.chance is not None:
        said += f"; chance that no other is better: {chance_text(key.best.chance)}"
    mixed = ""
    if key.best.mix is not None:
        mixed = f"<p>{escape(_mix(key))}</p>"
    return (
        f'<section class="best"><h2>Best</h2>{mixed}<p>{escape(said)}</p>'
        f"<pre>{escape(config)}</pre></section>"
    )


def _mix(key: Overview) -> str:
    """What to serve within the budget, and how budgets and limits are kept."""
    found = next(one for one in key.answers if one.name == "best")
    kept = ". ".join(f"{goal.text}; {goal.price_text}" for goal in key.goals)
    return f"Within budgets and limits: {found.answer}. {found.detail} {kept}."


def _figure(made: dict[str, Any]) -> str:
    name, drawn = escape(made["name"]), svg(made) or "<p>Nothing to show yet.</p>"
    return (
        f'<section><h2>{escape(made["title"])}</h2><p class="soft">{escape(made["about"])}</p>'
        f'<div class="plot" data-figure="{name}" tabindex="0">{drawn}</div></section>'
    )


def _table(snapshot: StudySnapshot) -> str:
    table = arm_table(snapshot, sort="n_pulls", limit=MOST_ROWS)
    signals = {} if snapshot.used is None else snapshot.used.signals
    titles = ("configuration", *_COLUMNS[1:], *(f"{name}, mean" for name in signals))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in titles)
    body = "".join(f"<tr>{''.join(_cells(row, signals))}</tr>" for row in table.rows)
    note = ""
    if len(table.rows) < table.n:
        note = f'<p class="soft">The {len(table.rows)} most served of {table.n:,}.</p>'
    return (
        f'<section><h2>Configurations</h2>{note}<div class="scroll" tabindex="0"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _cells(row: ArmRow, signals: Mapping[str, Signal]) -> Iterable[str]:
    name = f"#{row.id}{' ★' if row.is_best else ''}"
    config = escape(config_text(row.config, 400))
    yield f'<th scope="row">{escape(row.label)} <span>{name}</span><p>{config}</p></th>'
    for value in (
        _number(row.estimate),
        "–" if row.mean is None else f"{_number(row.low)} to {_number(row.high)}",
        f"{row.n_rewards:,}",
        f"{row.n_pulls:,}",
        f"{row.share:.1%}",
        "control draw" if row.is_draw else row.state,
        *(amount(row.signals.get(name), signal.unit) for name, signal in signals.items()),
    ):
        yield f"<td>{escape(value)}</td>"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _with_interval(mean: float | None, interval: Interval | None) -> str:
    if mean is None or interval is None:
        return "–"
    return f"{_number(mean)} ({_number(interval[0])} to {_number(interval[1])})"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# Inlined, so that the file needs nothing else.
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b2025; --soft: #59626d; --paper: #ffffff;
  --panel: #f5f7f9; --line: #dce1e7; --grid: #e7eaee; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaed; --soft: #a4adb7; --paper: #14171a; --panel: #1d2125; --line: #353c44;
    --grid: #2c3239; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem clamp(0.8rem, 3vw, 2.5rem) 4rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 0.2rem; }
p { margin: 0.2rem 0 0.6rem; max-width: 48rem; }
.soft { color: var(--soft); font-size: 0.9rem; }
section { margin-top: 2.2rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 0.7rem;
  margin: 1.2rem 0 0; }
.facts div { background: var(--panel); border-radius: 8px; padding: 0.6rem 0.8rem; }
.facts dt { color: var(--soft); font-size: 0.85rem; }
.facts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
pre { background: var(--panel); border-radius: 8px; padding: 0.8rem; overflow-x: auto; }
.facts.answers { grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
.answers dd + dd { font-weight: 400; }
.plot { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 40rem; height: auto; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  fill: var(--soft); }
svg .grid { stroke: var(--grid); stroke-width: 1; }
summary { cursor: pointer; font-weight: 600; font-size: 1.2rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums;
  width: 100%; }
th, td { padding: 0.35rem 0.55rem; text-align: right; white-space: nowrap; }
thead th { background: var(--panel); }
thead th:first-child { text-align: left; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody th { text-align: left; white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
tbody th span, tbody th p { font-weight: 400; color: var(--soft); margin: 0; }
@media print { section { break-inside: avoid; } }
"""
