"""The page itself: HTML with everything inlined; whatever comes from the rows is escaped."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from imabo.errors import MissingExtra
from imabo_bench.report.assets import DRESS, SCRIPT, STYLE
from imabo_bench.report.data import Split, Spread
from imabo_bench.report.figures import Looks
from imabo_bench.report.rows import Results
from imabo_bench.report.sections import Drawing, Section
from imabo_bench.report.tables import Overview, Standing

# Nothing may be fetched, whatever a row says.
POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
ALIKE: Final = 0.05  # a p value from which a method is marked as no different from the best

HOW_TO_READ: Final = """
<details><summary>How to read the tables</summary>
<p><b>Cumulative regret</b> is the reward lost against always serving the optimum, mean ± sample
standard deviation over seeds; <b>error</b> is the standard error of that mean. <b>Average</b> is
regret per round played, <b>simple</b> the regret of the recommendation at the end, and
<b>rho-regret</b> is against the top quantile of P0 instead of the optimum.</p>
<p><b>p</b> is a two-sided paired t-test of the average regret against the best method, on the
seeds both ran; it is not corrected for looking at many methods. <b>Ratio</b> is the mean average
regret over the best method's. <b>Oracle calls</b> counts proposals asked for, <b>µs</b> is the
method's own time for a decision.</p>
<p><b>Best-arm gap</b> and <b>cost of other arms</b> add up to the average regret, against the best
arm of the whole run. <b>Pulls off the best arm</b> and <b>loss per such pull</b> are against the
best arm so far, so that in each run their product is at most that cost.</p></details>
"""
COLUMNS: Final = (
    "method",
    "seeds",
    "cumulative regret",
    "error",
    "p",
    "ratio",
    "average",
    "simple",
    "rho-regret",
    "arms",
    "oracle calls",
    "µs",
)
SPLIT_COLUMNS: Final = (
    "method",
    "average regret",
    "best-arm gap",
    "cost of other arms",
    "pulls off the best arm",
    "loss per such pull",
)


def plotly_script() -> str:
    """Plotly's browser script, from the installed package.

    Raises:
        MissingExtra: If Plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtra(
            "Plotly is not installed",
            "the report's figures are drawn with it",
            "install it with: pip install imabo-bench",
        ) from error
    return str(get_plotlyjs())


def figures_json(drawings: Iterable[Drawing]) -> str:
    """The figures by name, safe inside a script element."""
    figures = {drawing.name: _compact(drawing.figure) for drawing in drawings}
    text = json.dumps(figures, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def render_page(
    results: Results, sections: Sequence[Section], overview: Overview, looks: Looks
) -> str:
    """The whole page as one HTML document.

    Args:
        results: The runs with their manifest and notes.
        sections: One for each problem.
        overview: Ratios over all problems.
        looks: How methods are drawn.
    """
    drawings = [drawing for section in sections for drawing in section.drawings]
    body = [
        _header(results, sections),
        _contents(sections),
        _overview(overview, sections, looks),
        *(_section(section, looks) for section in sections),
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Benchmark report</title><style>{STYLE}</style></head><body>",
            *body,
            f'<script type="application/json" id="figures">{figures_json(drawings)}</script>',
            f"<script>{plotly_script()}</script>",
            f"<script>{DRESS}{SCRIPT}</script></body></html>\n",
        ]
    )


def _header(results: Results, sections: Sequence[Section]) -> str:
    runs = results.runs
    seeds = sorted({run.seed for run in runs})
    problems = list(dict.fromkeys(run.problem for run in runs))
    methods = sorted({run.method for run in runs})
    facts = {
        "problems": ", ".join(problems),
        "methods": ", ".join(methods),
        "rounds": ", ".join(f"{rounds:,}" for rounds in sorted({run.rounds for run in runs})),
        "seeds": f"{len(seeds)} ({seeds[0]} to {seeds[-1]})" if len(seeds) > 1 else str(seeds[0]),
        "feedback": ", ".join(sorted({run.delay or "at once" for run in runs})),
    }
    shown = "".join(
        f"<dt>{escape(str(name))}</dt><dd>{_value(value)}</dd>"
        for name, value in [*facts.items(), *results.manifest.items()]
    )
    count = f"{len(runs):,} runs of {len(methods)} methods on {len(problems)} problems"
    return (
        f"<header><h1>Benchmark report</h1><p>{count}.</p><dl class='facts'>{shown}</dl>"
        f"{_notes(results.notes)}{HOW_TO_READ}"
        '<div class="bar"><label><input type="checkbox" id="log-rounds">logarithmic rounds axis'
        "</label></div></header>"
    )


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{escape(str(k))} {_value(v)}" for k, v in value.items())
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        items = "".join(f"<li>{_value(item)}</li>" for item in value)
        return f"<details><summary>{len(value)} in all</summary><ul>{items}</ul></details>"
    if isinstance(value, list):
        return ", ".join(escape(str(item)) for item in value)
    return escape(str(value))


def _contents(sections: Sequence[Section]) -> str:
    links = "".join(
        f'<li><a href="#{section.anchor}">{escape(section.group.title)}</a></li>'
        for section in sections
    )
    return (
        '<nav aria-label="Contents"><h2>Contents</h2>'
        f'<ul><li><a href="#overview">Overview</a></li>{links}</ul></nav>'
    )


def _overview(overview: Overview, sections: Sequence[Section], looks: Looks) -> str:
    anchors = {section.group.title: section.anchor for section in sections}
    head = "".join(
        f'<th scope="col"><a href="#{anchors[title]}">{escape(title)}</a></th>'
        for title in overview.titles
    )
    rows = []
    for method in overview.methods:
        cells = [_ratio_cell(overview.standings.get((title, method))) for title in overview.titles]
        mean = overview.geometric_means[method]
        count = overview.n_ratios[method]
        shown = "–" if mean is None else f"{mean:.2f}"
        few = f" <span class='soft'>of {count}</span>" if count < len(overview.titles) else ""
        rows.append(
            f"<tr>{_method_cell(method, looks)}<td><b>{shown}</b>{few}</td>{''.join(cells)}</tr>"
        )
    return (
        '<section id="overview"><h2>Overview</h2><p>Average regret over that of the best method '
        "of each problem: 1.00 is the best. ≈ marks what a paired t-test does not tell from the "
        f"best (p ≥ {ALIKE}). The geometric mean is over the problems that a method ran on and "
        "whose best regret is positive; “of n” says when that is not all of them, and such "
        "means are not comparable.</p>"
        f'<div class="scroll matrix"><table><thead><tr><th scope="col">method</th>'
        f'<th scope="col">geometric mean</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _ratio_cell(line: Standing | None) -> str:
    if line is None:
        return '<td class="soft">not run</td>'
    if line.ratio is None:
        return '<td class="soft">no ratio</td>'
    alike = "≈ " if line.p_value is not None and line.p_value >= ALIKE else ""
    shown = f"<b>{line.ratio:.2f}</b>" if line.is_best else f"{alike}{line.ratio:.2f}"
    return f'<td style="--shade: {0.5 / line.ratio**2:.3f}">{shown}</td>'


def _section(section: Section, looks: Looks) -> str:
    group = section.group
    exact = "exact" if group.runs[0].is_exact else "best of many draws"
    feedback = " or ".join(delay or "at once" for delay in group.delays)
    lead = f"{group.rounds:,} rounds; optimum {group.optimum:.4f} ({exact}); feedback {feedback}."
    figures = "".join(
        f"<figure><h4>{escape(drawing.title)}</h4>"
        f'<div class="plot" id="{drawing.name}" role="img" '
        f'aria-label="{escape(f"{drawing.title}, {group.title}")}"></div>'
        f"<figcaption>{escape(drawing.caption)}</figcaption></figure>"
        for drawing in section.drawings
    )
    return (
        f'<section id="{section.anchor}"><h2>{escape(group.title)}</h2>'
        f'<p class="soft">{escape(lead)}</p>{_notes(section.notes)}'
        f"{_table(COLUMNS, [_standing_row(line, looks) for line in section.standings])}"
        "<h3>Where the regret comes from</h3>"
        f"{_table(SPLIT_COLUMNS, [_split_row(split, looks) for split in section.splits])}"
        f'<div class="figures">{figures}</div></section>'
    )


def _table(columns: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _standing_row(line: Standing, looks: Looks) -> str:
    cells = [
        str(line.average.count),
        _spread(line.regret),
        _number(line.regret.error),
        "best" if line.is_best else _p_value(line.p_value),
        "–" if line.ratio is None else f"{line.ratio:.2f}",
        _spread(line.average),
        _spread(line.simple),
        _spread(line.rho_regret),
        _number(line.arms),
        _number(line.oracle_calls),
        _number(line.us_per_decision),
    ]
    return _row(line.method, cells, looks, is_best=line.is_best)


def _split_row(split: Split, looks: Looks) -> str:
    cells = [
        _number(split.average),
        _number(split.best_gap),
        _number(split.cost),
        f"{split.off_best:.1%}",
        _number(split.loss_off_best),
    ]
    return _row(split.method, cells, looks)


def _row(method: str, cells: Sequence[str], looks: Looks, is_best: bool = False) -> str:
    shown = "".join(f"<td>{cell}</td>" for cell in cells)
    kind = ' class="best"' if is_best else ""
    return f"<tr{kind}>{_method_cell(method, looks)}{shown}</tr>"


def _method_cell(method: str, looks: Looks) -> str:
    key = f'<span class="key" style="background:{looks[method].colour}"></span>'
    return f'<th scope="row">{key}{escape(method)}</th>'


def _notes(notes: Iterable[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def _spread(spread: Spread) -> str:
    if spread.std is None:
        return _number(spread.mean)
    return f"{_number(spread.mean)} ± {_number(spread.std)}"


def _number(value: float | None) -> str:
    """Three or four digits that count, without exponents for usual sizes."""
    if value is None or math.isnan(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value and abs(value) < 0.0001:
        return f"{value:.1e}"
    digits = next(d for d, limit in ((0, 100), (1, 10), (2, 1), (4, 0)) if abs(value) >= limit)
    return f"{value:.{digits}f}"


def _p_value(value: float | None) -> str:
    if value is None:
        return "–"
    return "&lt; 0.001" if value < 0.001 else f"{value:.3f}"


def _compact(value: Any) -> Any:
    """Six digits are more than a picture shows; NaN has no place in JSON."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _compact(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_compact(item) for item in value]
    return value
