"""Small tables in HTML for notebooks: escaped, without scripts, with the notebook's own looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; every cell is escaped.

    Example:
        >>> table("a <b>", ["x"], [[1]])
        '<table><caption>a &lt;b&gt;</caption><tr><th>x</th></tr><tr><td>1</td></tr></table>'
    """
    lines = [_row("th", head)] if head else []
    lines += [_row("td", row) for row in rows]
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def number(value: float | None) -> str:
    """A number as people read it; a dash for none.

    Example:
        >>> number(0.123456), number(None)
        ('0.123', '–')
    """
    return "–" if value is None else f"{value:.3g}"


def config_text(config: dict[str, object]) -> str:
    """A configuration on one line."""
    shown = (f"{value:.4g}" if isinstance(value, float) else value for value in config.values())
    return ", ".join(f"{name} = {text}" for name, text in zip(config, shown, strict=True))


def _row(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
