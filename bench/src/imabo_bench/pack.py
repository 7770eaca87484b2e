"""Rows made small enough to keep beside the documentation."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from imabo_bench.play import Row

_MANY: Final = 60  # checkpoints: more than a world that stands still has
_KEPT: Final = {100, 300, 500, 1000, 1500, 3000, 5000, 10_000, 18_000}  # and the last
_STRETCH: Final = 50  # rounds by which a world that changes is judged
_DIGITS: Final = 5
_SPREADING: Final = ("width", "error", "proposal_quality", "us_per_decision")  # from run to run ...
_FEWER: Final = 3  # ... by far more than so many digits show
_WHOLE: Final = ("alarms", "spend", "worst_spend")  # lists that are no columns
_OF_STILL: Final = ("average", "rho_regret", "simple", "proposal_quality")  # no claim of changes


def pack(rows: Iterable[Row], out: Path) -> Path:
    """Write rows to OUT/rows.jsonl.gz with few checkpoints and five digits, or three.

    ``imabo bench report OUT`` reads them; curves are coarser, the means of the arms left out.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / "rows.jsonl.gz"
    lines = sorted(json.dumps(thin(row), allow_nan=False) for row in rows)
    # No file name and no time inside: the same rows give the same bytes.
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(("\n".join(lines) + "\n").encode())
    return path


def thin(row: Row) -> Row:
    """A row with few checkpoints and without the means of its arms.

    Example:
        >>> thin({"checkpoints": [10, 100, 120], "regret": [1.0, 2.3456789, 3.0], "seed": 1})
        {'checkpoints': [100, 120], 'regret': [2.3457, 3.0], 'seed': 1}
    """
    times = row["checkpoints"]
    # A world that changes is judged by short stretches, so that all of these stay.
    is_dense = len(times) > _MANY
    kept = {t for t in times if t in _KEPT or (is_dense and t % _STRETCH == 0)} | {times[-1]}
    places = [k for k, t in enumerate(times) if t in kept]
    thinned: Row = {}
    for name, value in row.items():
        if name in _WHOLE:
            thinned[name] = value
        elif isinstance(value, list):
            is_read = name != "arm_means" and not (is_dense and name in _OF_STILL)
            is_column = is_read and len(value) == len(times)
            thinned[name] = [_round(name, value[k]) for k in places] if is_column else []
        else:
            thinned[name] = _round(name, value)
    return thinned


def _round(name: str, value: Any) -> Any:
    digits = _FEWER if name in _SPREADING else _DIGITS
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
