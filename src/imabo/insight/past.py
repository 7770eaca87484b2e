"""The counters of a study at points of its past, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from imabo.arms import Floats
from imabo.magnitude import usable_squares, usable_sum
from imabo.stores.base import Milestone, Snapshot

if TYPE_CHECKING:
    from imabo.insight.arm_columns import Arms
    from imabo.insight.used import Used


@dataclass(frozen=True, eq=False)
class History:
    """The counters of a study at points of its past, in columns.

    The first point is the study's creation, the last one now; between them its milestones.
    """

    at: Floats
    n_pulls: Floats
    n_rewards: Floats
    n_pending: Floats
    sums: Floats
    squares: Floats
    n_active: Floats
    arm_pulls: Sequence[Sequence[int]]
    signals: Sequence[Mapping[str, Sequence[float]] | None] = ()

    def __len__(self) -> int:
        return len(self.at)

    @property
    def kept(self) -> dict[float, Sequence[int]]:
        """The pulls of each arm at the milestones, by the number of pulls at that point."""
        return dict(zip(self.n_pulls[1:-1].tolist(), self.arm_pulls[1:-1], strict=True))

    @cached_property
    def by_arm(self) -> Floats:
        """The pulls of each arm (columns) at each point (rows)."""
        n_arms = max(map(len, self.arm_pulls))
        table = np.zeros((len(self), n_arms))
        for row, pulls in zip(table, self.arm_pulls, strict=True):
            row[: len(pulls)] = np.asarray(pulls)
        return table

    def pulls_at(self, at: Floats | Sequence[float]) -> Floats:
        """How many pulls there were at some times, interpolated between the points."""
        return np.asarray(np.interp(np.asarray(at, dtype=np.float64), self.at, self.n_pulls))

    def recent(self, counts: Floats, share: float = 0.1) -> int:
        """The last point after which at least this share of a growing count came."""
        before = np.flatnonzero(counts <= (1.0 - share) * counts[-1])
        return int(before[-1]) if len(before) else 0


def history_of(
    loaded: Snapshot,
    arms: Arms,
    used: Used | None,
    milestones: Sequence[Milestone],
    since: History | None,
) -> History:
    """The past of a study, from what its store kept and the counters as they are now."""
    totals = loaded.totals
    created_at = min(loaded.study.created_at, loaded.last_at)
    past = [one for one in milestones if one.n_pulls < totals.n_pulls]
    # What a milestone says never changes, so it need not be read from its text again.
    known = {} if since is None else since.kept

    def points(name: str, now: float, first: float = 0.0) -> Floats:
        return np.array([first, *map(attrgetter(name), past), now], dtype=np.float64)

    n_rewards = points("n_rewards", totals.n_rewards)
    at = points("at", loaded.last_at, created_at)
    return History(
        # In order, also where a clock ran ahead for a while: nothing came after what followed it.
        at=np.minimum.accumulate(at[::-1])[::-1],
        n_pulls=points("n_pulls", totals.n_pulls),
        n_rewards=n_rewards,
        n_pending=points("n_pending", totals.n_pending),
        sums=usable_sum(points("reward_sum", totals.reward_sum), n_rewards),
        squares=usable_squares(points("reward_squares", arms.squares.sum()), n_rewards),
        n_active=points("n_active", (arms.states != "retired").sum()),
        arm_pulls=[
            (),
            *(known.get(one.n_pulls, one.arm_pulls) for one in past),
            tuple(arms.n_pulls.astype(int).tolist()),
        ],
        signals=[{}, *(one.signals for one in past), {} if used is None else used.totals],
    )
