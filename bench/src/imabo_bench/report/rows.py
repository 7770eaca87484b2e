"""Reading the rows and the manifest of a benchmark folder."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from imabo.arms import Floats
from imabo.errors import MissingData

NUMBERS: Final = (
    "optimum",
    "rho",
    "off_best",
    "loss_off_best",
    "best_gap",
    "us_per_decision",
)
COUNTS: Final = ("seed", "rounds", "played", "n_arms", "n_proposals")
COLUMNS: Final = ("checkpoints", "regret", "average", "rho_regret", "simple", "arms", "rewards")


@dataclass(frozen=True, eq=False)
class Run:
    """One row: a method's run on a problem. Columns have one entry for each checkpoint."""

    problem: str
    method: str
    seed: int
    rounds: int
    played: int
    optimum: float
    is_exact: bool
    checkpoints: Floats
    regret: Floats
    average: Floats
    rho: float
    rho_regret: Floats
    simple: Floats  # NaN before the first reward
    arms: Floats
    rewards: Floats
    proposal_quality: Floats  # empty when the method makes no proposals
    arm_means: Floats
    n_arms: int
    n_proposals: int
    off_best: float
    loss_off_best: float
    best_gap: float
    us_per_decision: float
    delay: str  # empty: feedback came at once

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """What no two rows should share."""
        return (self.problem, self.method, self.seed, self.rounds, self.delay)

    @property
    def average_regret(self) -> float:
        """Regret for each round that was played, R_T / T."""
        return float(self.regret[-1]) / self.played


@dataclass(frozen=True)
class Results:
    """What a folder holds: its runs, its manifest, and what the reader should know of them."""

    runs: list[Run]
    manifest: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def read_results(folder: Path) -> Results:
    """Read ``rows.jsonl`` (or ``rows.jsonl.gz``) and ``manifest.json``.

    Lines that cannot be read (a kill cuts the last one) are left out and noted; of rows for the
    same run the last counts; unknown fields do not matter.

    Raises:
        MissingData: If there is no row at all.
    """
    notes: list[str] = []
    runs: dict[tuple[object, ...], Run] = {}
    n_repeated = 0
    lines = _lines(folder)
    for number, line in enumerate(lines, 1):
        try:
            run = read_run(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            what = (
                "was cut off" if number == len(lines) and not line.endswith(b"}") else "is unusable"
            )
            notes.append(f"Line {number} of the rows {what} and is left out ({_reason(error)}).")
            continue
        n_repeated += run.key in runs
        runs[run.key] = run
    if not runs:
        raise MissingData(
            f"{str(folder)!r} holds no rows",
            "a report is drawn from the file rows.jsonl that a benchmark run writes",
            "name the folder that was given as --out to: imabo bench run",
        )
    if n_repeated:
        notes.append(f"{n_repeated} rows were written twice; the later one counts.")
    return Results(list(runs.values()), _manifest(folder, notes), notes)


def read_run(row: Mapping[str, Any]) -> Run:
    """Check one row and turn its columns into arrays.

    Raises:
        ValueError, TypeError, KeyError: If the row is not what a run writes.
    """
    columns = {name: _column(row[name]) for name in COLUMNS}
    n_checkpoints = len(columns["checkpoints"])
    lengths = {name: len(column) for name, column in columns.items()}
    if not n_checkpoints or set(lengths.values()) != {n_checkpoints}:
        raise ValueError(f"columns of lengths {lengths}")
    quality = _column(row.get("proposal_quality") or [])
    values: dict[str, Any] = {name: int(row[name]) for name in COUNTS}
    values |= {name: float(row[name]) for name in NUMBERS} | columns
    if values["played"] < 1:
        raise ValueError("no round was played")
    return Run(
        problem=str(row["problem"]),
        method=str(row["method"]),
        is_exact=bool(row["is_exact"]),
        arm_means=_column(row["arm_means"]),
        # Without one entry a checkpoint nobody knows when the proposals were made.
        proposal_quality=quality if len(quality) == n_checkpoints else np.empty(0),
        delay=_delay(row.get("delay")),
        **values,
    )


def _column(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _delay(delay: Mapping[str, object] | None) -> str:
    """The settings in words; the window follows from them and differs between problems."""
    if delay is None:
        return ""
    return ", ".join(f"{name} {value}" for name, value in delay.items() if name != "window")


def _lines(folder: Path) -> list[bytes]:
    plain, packed = folder / "rows.jsonl", folder / "rows.jsonl.gz"
    if plain.exists():
        content = plain.read_bytes()
    elif packed.exists():
        content = gzip.decompress(packed.read_bytes())
    else:
        content = b""
    return [line for line in content.split(b"\n") if line.strip()]


def _manifest(folder: Path, notes: list[str]) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        if isinstance(manifest, dict):
            return manifest
        reason = "it is not an object"
    except (OSError, ValueError) as error:
        reason = _reason(error)
    notes.append(f"The manifest could not be read ({reason}); versions and machine are unknown.")
    return {}


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no field {error.args[0]!r}"
    if isinstance(error, FileNotFoundError):
        return "manifest.json is missing"
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "not JSON"
    return str(error)
