"""Filling a table row by row: shows progress, survives a kill, says how the table was made."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from imabo.arms import Ints

SAVE_EVERY_S = 10.0
_EMPTY = -1  # rows that are still to be computed
_PACKAGES = ("numpy", "scipy", "scikit-learn")


def fill(
    shape: tuple[int, int],
    row: Callable[[int], Sequence[int]],
    partial: Path,
    settings: Mapping[str, Any],
) -> Ints:
    """Compute every row, going on from ``partial`` where a run with equal settings was stopped.

    Args:
        shape: Number of rows, and of counts in each.
        row: Computes one row.
        partial: Where unfinished work is kept; it is removed at the end.
        settings: What the counts depend on; other settings start afresh.
    """
    stamp = json.dumps(settings, sort_keys=True)
    counts = _resume(partial, stamp, shape)
    missing = np.flatnonzero((counts == _EMPTY).any(axis=1))
    start = saved_at = time.monotonic()
    for done, index in enumerate(missing.tolist(), start=1):
        counts[index] = row(index)
        now = time.monotonic()
        if now - saved_at >= SAVE_EVERY_S or done == len(missing):
            _save(partial, counts=counts, stamp=np.array(stamp))
            saved_at = now
            left = (now - start) / done * (len(missing) - done)
            at = len(counts) - len(missing) + done
            print(f"{partial.stem}: {at} of {len(counts)} rows, {left:.0f} s left", file=sys.stderr)
    partial.unlink(missing_ok=True)
    return counts


def _resume(partial: Path, stamp: str, shape: tuple[int, int]) -> Ints:
    counts: Ints = np.full(shape, _EMPTY, dtype=np.int64)
    if partial.is_file():
        with np.load(partial) as stored:
            if stored["stamp"].item() == stamp:
                counts = stored["counts"]
    return counts


def write(folder: Path, stem: str, right: Ints, asked: int, settings: Mapping[str, Any]) -> None:
    """Write a finished table, and beside it how it was made.

    Args:
        folder: Where both files go.
        stem: Their name without the ending.
        right: Right answers of each model.
        asked: Number of examples that each model was asked.
        settings: How the models were trained.
    """
    _save(folder / f"{stem}.npz", right=right.astype(np.int16), asked=np.array(asked))
    versions = {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
    about = {**settings, "asked": asked, "versions": versions}
    (folder / f"{stem}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _save(path: Path, **arrays: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Write beside and rename, so that a kill leaves the old file or the new one."""
    beside = path.with_suffix(".tmp")
    with beside.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    os.replace(beside, path)
