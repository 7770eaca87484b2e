"""Beliefs: what a model expects of the arms."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from imabo.errors import InvalidSetting
from imabo.memory import Floats
from imabo.space.scalars import show


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """What a model expects of the arms, apart from what each arm's own rewards say.

    An oracle with a model returns them with its proposal; a policy may use them as prior counts.

    Args:
        means: The expected mean reward of each arm, on the unit scale.
        counts: How many rewards that expectation is worth, at least 0 (nothing known).
        state: JSON-safe; what the model starts from next time (see ``ActiveSet.model_state``).
        skill: Share of what tells arms apart that the model knew without their own rewards, in
            [0, 1].

    Example:
        >>> beliefs = Beliefs(np.array([0.5, 0.75]), np.array([0.0, 3.0]), {"scale": 0.1})
        >>> beliefs.document([1, 2])
        {'arms': [1, 2], 'means': [0.5, 0.75], 'counts': [0.0, 3.0], 'state': {'scale': 0.1}, \
'skill': 1.0}
    """

    means: Floats
    counts: Floats
    state: Mapping[str, Any]
    skill: float = 1.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Beliefs):
            return NotImplemented
        return (
            np.array_equal(self.means, other.means)
            and np.array_equal(self.counts, other.counts)
            and self.state == other.state
            and self.skill == other.skill
        )

    def document(self, arms: Sequence[int]) -> dict[str, Any]:
        """These beliefs about these arms as a store keeps them; refuses what it could not."""
        try:
            state = json.loads(json.dumps(dict(self.state), allow_nan=False))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise _refused(f"state is {show(self.state)}", "it must be a JSON-safe dict") from error
        (skill,) = _checked_column("skill", [self.skill], 1, 0.0)
        return {
            "arms": list(arms),
            "means": _checked_column("means", self.means, len(arms), -math.inf),
            "counts": _checked_column("counts", self.counts, len(arms), 0.0),
            "state": state,
            "skill": min(skill, 1.0),
        }


def _checked_column(name: str, values: object, n: int, low: float) -> list[float]:
    """One finite number an arm, as Python's own floats."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refused(f"{name} is {show(values)}", "it must be an array of numbers") from error
    if column.shape != (n,):
        why = f"there are {n} arms, the proposed one included"
        raise _refused(f"{name} has the shape {column.shape}", why)
    wrong = column[~(np.isfinite(column) & (column >= low))]
    if len(wrong):
        kind = "finite" if low < 0.0 else "finite and at least 0"
        raise _refused(f"{name} has the value {float(wrong[0])!r}", f"each must be {kind}")
    numbers: list[float] = column.tolist()
    return numbers


def _refused(what: str, why: str) -> InvalidSetting:
    fix = "correct the oracle: one number for each row of the active set, the proposed one last"
    return InvalidSetting(f"the beliefs of a proposal cannot be used: {what}", why, fix)
