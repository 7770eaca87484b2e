"""The result of a sweep in a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from imabo.errors import InvalidSetting
from imabo_bench.play import Row

BEGIN: Final = "<!-- table:begin -->"
END: Final = "<!-- table:end -->"


def regret_table(rows: Iterable[Row]) -> str:
    """Mean cumulative regret ± standard error, a line a problem and a column a method.

    Example:
        >>> print(regret_table([{"problem": "p", "method": "m", "regret": [1.0, 4.0]},
        ...                     {"problem": "p", "method": "m", "regret": [2.0, 6.0]}]))
           m
        p  5 ± 1
    """
    found = _by_problem(rows)
    methods = list(dict.fromkeys(method for cells in found.values() for method in cells))
    lines = [["", *methods]]
    for problem, cells in found.items():
        lines.append([problem, *(_cell(cells.get(method, [])) for method in methods)])
    widths = [max(len(line[k]) for line in lines) for k in range(len(methods) + 1)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown_table(rows: Iterable[Row], methods: Sequence[str]) -> str:
    """The same for some methods as a Markdown table, with the lowest mean of each line in bold.

    Example:
        >>> print(markdown_table([{"problem": "p", "method": "m", "regret": [4.0]},
        ...                       {"problem": "p", "method": "m", "regret": [6.0]},
        ...                       {"problem": "p", "method": "n", "regret": [9.0]}], ["n", "m"]))
        | problem | `n` | `m` |
        |---|---|---|
        | `p` | 9 ± nan | **5 ± 1** |
    """
    lines = [f"| problem | {' | '.join(f'`{method}`' for method in methods)} |"]
    lines.append("|---" * (len(methods) + 1) + "|")
    for problem, cells in _by_problem(row for row in rows if row["method"] in methods).items():
        lowest = min(cells, key=lambda method: float(np.mean(cells[method])))
        shown = [_cell(cells.get(method, [])) for method in methods]
        shown[methods.index(lowest)] = f"**{shown[methods.index(lowest)]}**"
        lines.append(f"| `{problem}` | {' | '.join(shown)} |")
    return "\n".join(lines)


def fill_table(page: Path, table: str) -> None:
    """Put a table between the marks of a page, in place of what is there.

    Raises:
        InvalidSetting: If the page does not have both marks, in order.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InvalidSetting(
            f"{str(page)!r} has no place for a table",
            f"it goes between the lines {BEGIN} and {END}",
            "add them where it should be",
        )
    page.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", encoding="utf-8")


def _by_problem(rows: Iterable[Row]) -> dict[str, dict[str, list[float]]]:
    """Final regrets by problem and method."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault(row["problem"], {}).setdefault(row["method"], []).append(row["regret"][-1])
    return found


def _cell(values: list[float]) -> str:
    if not values:
        return "-"
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.0f} ± {error:.0f}"
