"""A study as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from imabo.errors import MissingExtra
from imabo.insight.arm_table import ArmRow, arm_table
from imabo.insight.assets import SCRIPT, STYLE
from imabo.insight.drawings import FIGURES, figure
from imabo.insight.estimates import Interval
from imabo.insight.key_figures import Overview, overview
from imabo.insight.snapshot import StudySnapshot, config_text

MOST_ROWS: Final = 100

# Nothing may be fetched, whatever a study contains.
_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
_COLUMNS: Final = ("arm", "mean", "95% interval", "rewards", "pulls", "share", "state", "origin")


def report(snapshot: StudySnapshot) -> str:
    """The key figures, all figures and the arms of a study as one HTML page to send around.

    It opens without a network, in light and in dark. Needs ``pip install "imabo[plot]"``.

    Args:
        snapshot: From ``insight.read``.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("a & b", Space(x=Float(0, 1)), seed=0)
        >>> "<h1>a &amp; b</h1>" in insight.report(insight.read(study))
        True
    """
    made = [figure(name, snapshot) for name in FIGURES]
    key = overview(snapshot)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(snapshot.name)}</title><style>{STYLE}</style></head><body>",
        f"<header><h1>{escape(snapshot.name)}</h1>{_line(key)}</header>",
        f"<main>{_key_figures(key)}{_best(key)}",
        *map(_figure, made),
        _table(snapshot),
        "</main>",
        f'<script type="application/json" id="figures">{script_json(made)}</script>',
        f"<script>{plotly_script()}</script><script>{SCRIPT}</script>",
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
    r"""JSON that may stand in a script tag: nothing in it can end the tag or start a comment.

    Example:
        >>> script_json("</script>")
        '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _line(key: Overview) -> str:
    said = f"{key.state}; created {_time(key.created_at)}, last heard of {_time(key.last_at)}"
    return f'<p class="soft">{escape(said)}</p>'


def _key_figures(key: Overview) -> str:
    shown = [
        ("pulls", f"{key.n_pulls:,}"),
        ("rewards", f"{key.n_rewards:,}"),
        ("pending", f"{key.n_pending:,}"),
        ("expired", f"{key.n_expired:,}"),
        ("arms in play", f"{key.n_active:,} of {key.n_arms:,}"),
        ("recent mean reward", _with_interval(key.recent_mean, key.recent_interval)),
        ("serving at random", _with_interval(key.random_mean, key.random_interval)),
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
