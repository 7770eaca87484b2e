"""A study as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from imabo.documents import chance_text
from imabo.errors import MissingExtra
from imabo.insight.arm_table import ArmRow, arm_table
from imabo.insight.drawings import FIGURES, figure
from imabo.insight.estimates import Interval, RandomEstimate, random_estimate
from imabo.insight.grouping import config_text
from imabo.insight.key_figures import Overview, overview
from imabo.insight.snapshot import StudySnapshot

MOST_ROWS: Final = 100

# Nothing may be fetched, whatever a study contains.
_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
_COLUMNS: Final = ("arm", "mean", "95% interval", "rewards", "pulls", "share", "state", "origin")


def report(snapshot: StudySnapshot) -> str:
    """The key figures, all figures and the arms of a study as one HTML page to send around.

    It opens without a network, in light and in dark. Needs ``pip install "imabo[plot]"``.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("a & b", Space(x=Float(0, 1)), seed=0)
        >>> "<h1>a &amp; b</h1>" in insight.report(insight.read(study))
        True
    """
    made = [figure(name, snapshot) for name in FIGURES]
    key = overview(snapshot)
    said = f"{key.state}; created {_time(key.created_at)}, last heard of {_time(key.last_at)}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(snapshot.name)}</title><style>{_STYLE}</style></head><body>",
        f'<header><h1>{escape(snapshot.name)}</h1><p class="soft">{escape(said)}</p></header>',
        f"<main>{_key_figures(key, random_estimate(snapshot))}{_best(key)}",
        *map(_figure, made),
        _table(snapshot),
        "</main>",
        f'<script type="application/json" id="figures">{script_json(made)}</script>',
        f"<script>{plotly_script()}</script><script>{_SCRIPT}</script>",
        "</body></html>",
    ]
    return "\n".join(parts)


def plotly_script() -> str:
    """Plotly's browser script, from the installed package."""
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtra(
            "Plotly is not installed",
            "the report's figures are drawn with it",
            'install it with: pip install "imabo[plot]"',
        ) from error
    return str(get_plotlyjs())


def script_json(value: object) -> str:
    """JSON that may stand in a script tag: nothing in it can end the tag or start a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _key_figures(key: Overview, at_random: RandomEstimate) -> str:
    shown = [
        ("pulls", f"{key.n_pulls:,}"),
        ("rewards", f"{key.n_rewards:,}"),
        ("pending", f"{key.n_pending:,}"),
        ("expired", f"{key.n_expired:,}"),
        ("arms in play", f"{key.n_active:,} of {key.n_arms:,}"),
        ("recent mean reward", _with_interval(key.recent_mean, key.recent_interval)),
        ("serving at random", str(at_random)),
        ("feedback rate", "–" if key.feedback_rate is None else f"{key.feedback_rate:.1%}"),
        ("pulls per minute", _number(key.pulls_per_minute)),
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
    said = f"Arm {key.best.arm}: mean {_with_interval(key.best.mean, key.best.interval)}, "
    said += f"{key.best.n_rewards:,} rewards"
    if key.best.since is not None:
        said += f" since a change noticed at {_time(key.best.since)}"
    said += f", plain mean {_number(key.best.observed)}"
    if key.best.chance is not None:
        said += f"; the best of the active arms: {chance_text(key.best.chance)}"
    return (
        f'<section class="best"><h2>Best</h2><p>{escape(said)}</p>'
        f"<pre>{escape(config)}</pre></section>"
    )


def _figure(made: dict[str, Any]) -> str:
    name = escape(made["name"])
    height = int(made["layout"].get("height", 380))
    return (
        f'<section><h2>{escape(made["title"])}</h2><p class="soft">{escape(made["about"])}</p>'
        f'<div class="plot" data-figure="{name}" style="min-height:{height}px"></div></section>'
    )


def _table(snapshot: StudySnapshot) -> str:
    table = arm_table(snapshot, sort="n_pulls", limit=MOST_ROWS)
    head = "".join(f'<th scope="col">{name}</th>' for name in (*_COLUMNS, "configuration"))
    body = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in table.rows)
    note = ""
    if len(table.rows) < table.n:
        note = f'<p class="soft">The {len(table.rows)} most served of {table.n:,} arms.</p>'
    return (
        f'<section><h2>Arms</h2>{note}<div class="scroll" tabindex="0"><table><thead><tr>{head}'
        f"</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _cells(row: ArmRow) -> Iterable[str]:
    name = f"{row.id} ★" if row.is_best else str(row.id)
    yield f'<th scope="row">{name}</th>'
    for value in (
        _number(row.mean),
        "–" if row.mean is None else f"{_number(row.low)} to {_number(row.high)}",
        f"{row.n_rewards:,}",
        f"{row.n_pulls:,}",
        f"{row.share:.1%}",
        row.state,
        row.origin,
    ):
        yield f"<td>{escape(value)}</td>"
    yield f'<td class="config">{escape(config_text(row.config, 400))}</td>'


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
.plot { min-width: 0; overflow: hidden; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums;
  width: 100%; }
th, td { padding: 0.35rem 0.55rem; text-align: right; white-space: nowrap; }
thead th { background: var(--panel); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
td.config { text-align: left; white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
@media print { section { break-inside: avoid; } }
"""

_SCRIPT: Final = """
const figures = JSON.parse(document.getElementById("figures").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
function themed(layout) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const made = structuredClone(layout);
  made.paper_bgcolor = made.plot_bgcolor = "rgba(0,0,0,0)";
  made.font = { color: colour("--ink"), family: "system-ui, sans-serif", size: 12 };
  for (const key of Object.keys(made)) {
    if (/^[xy]axis\\d*$/.test(key)) {
      made[key].gridcolor = colour("--grid");
      made[key].linecolor = colour("--line");
    }
  }
  made.hoverlabel = { bgcolor: colour("--panel"), font: { color: colour("--ink") } };
  made.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"),
    activecolor: colour("--ink") };
  return made;
}
function draw() {
  for (const place of document.querySelectorAll("[data-figure]")) {
    const figure = figures.find((one) => one.name === place.dataset.figure);
    if (!figure.data.length) {
      place.textContent = "Nothing to show yet.";
      place.style.minHeight = "2rem";
      continue;
    }
    Plotly.react(place, structuredClone(figure.data), themed(figure.layout),
      { responsive: true, displaylogo: false });
  }
}
draw();
dark.addEventListener("change", draw);
"""
