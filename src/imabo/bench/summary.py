"""The result of a sweep in a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from imabo.bench.play import Row


def regret_table(rows: Iterable[Row]) -> str:
    """Mean cumulative regret ± standard error, a line a problem and a column a method.

    Example:
        >>> print(regret_table([{"problem": "p", "method": "m", "regret": [1.0, 4.0]},
        ...                     {"problem": "p", "method": "m", "regret": [2.0, 6.0]}]))
           m
        p  5 ± 1
    """
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault(row["problem"], {}).setdefault(row["method"], []).append(row["regret"][-1])
    methods = list(dict.fromkeys(method for cells in found.values() for method in cells))
    lines = [["", *methods]]
    for problem, cells in found.items():
        lines.append([problem, *(_cell(cells.get(method, [])) for method in methods)])
    widths = [max(len(line[k]) for line in lines) for k in range(len(methods) + 1)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(values: list[float]) -> str:
    if not values:
        return "-"
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.0f} ± {error:.0f}"
