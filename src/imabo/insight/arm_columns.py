"""The arms of a study in columns, with what is known of each now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from imabo.arms import Bools, Floats, Ints
from imabo.errors import UnknownArm
from imabo.evaluation import Shrunk, shrink
from imabo.insight.estimates import LEVEL, mean_intervals
from imabo.magnitude import usable_squares, usable_sum
from imabo.recommend import Present
from imabo.space import Config
from imabo.space.scalars import show
from imabo.stores.base import ArmRecord
from imabo.stores.rows import ArmRows

T = TypeVar("T")

_FEW: Final = 500  # arms whose intervals are found together


def _floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _texts(values: list[str]) -> NDArray[np.str_]:
    return np.array(values, dtype=np.str_)


def _column(path: str, of: Callable[[list[Any]], T]) -> cached_property[T]:
    """What all arms have at a path of their records, found when it is looked at."""
    return cached_property(lambda arms: of(arms._values(path)))


class Rewards(NamedTuple):
    """How many rewards each arm has, their sums and the sums of their squares."""

    n: Floats
    sums: Floats
    squares: Floats


@dataclass(frozen=True, eq=False)
class Arms:
    """The arms of a study in columns, in order of admission: arm 1 is row 0.

    Rewards are in the study's own units; ``means`` is NaN before the first reward. ``present`` is
    what is known of them now where that is something else than all their rewards say, because the
    study noticed a change: estimates, intervals and what is sure of an arm are of now.
    """

    records: Sequence[ArmRecord]
    reward_range: tuple[float, float] | None
    present: Present | None = None

    def __len__(self) -> int:
        return len(self.records)

    ids = _column("id", _ints)
    n_pulls = _column("tally.n_pulls", _floats)
    n_rewards = _column("tally.n_rewards", _floats)
    n_pending = _column("tally.n_pending", _floats)
    admitted_at = _column("admitted_at", _floats)
    states = _column("state", _texts)
    origins = _column("origin", _texts)
    parents = _column("parent", list[int | None])

    @cached_property
    def sums(self) -> Floats:
        """Sum of each arm's rewards."""
        return usable_sum(_floats(self._values("tally.reward_sum")), self.n_rewards)

    @cached_property
    def squares(self) -> Floats:
        """Sum of the squares of each arm's rewards."""
        return usable_squares(_floats(self._values("tally.reward_squares")), self.n_rewards)

    @cached_property
    def means(self) -> Floats:
        """The mean reward of each arm, NaN without one."""
        n = self.n_rewards
        return np.where(n > 0, self.sums / np.maximum(n, 1.0), np.nan)

    @cached_property
    def rewards_now(self) -> Rewards:
        """The rewards that speak of now: all of them, or after a change those since it."""
        n, sums, squares = self.n_rewards, self.sums, self.squares
        if self.present is None:
            return Rewards(n, sums, squares)
        rows, places = self._present_rows
        since, totals = np.array([self.present.stretches[i][0] for i in places]).reshape(-1, 2).T
        since = np.rint(since)
        m = np.maximum(n, 1.0)
        variances = np.maximum(squares / m - (sums / m) ** 2, 0.0)
        n, sums, squares = n.copy(), sums.copy(), squares.copy()
        n[rows] = since
        # The mean of none is of no account, and must only be a number.
        means = self._own_units(np.divide(totals, since, out=totals.copy(), where=since > 0.0))
        sums[rows] = since * means
        squares[rows] = since * (variances[rows] + means**2)
        return Rewards(n, sums, squares)

    @cached_property
    def shrunk(self) -> Shrunk:
        """What all arms' rewards together say of each arm's mean; on the unit scale."""
        n, ends = self.n_rewards, self.reward_range
        low, scale = (0.0, 1.0) if ends is None else (ends[0], 1.0 / (ends[1] - ends[0]))
        plain = self.sums / np.maximum(n, 1.0)
        spread = np.maximum(self.squares / np.maximum(n, 1.0) - plain**2, 0.0) * scale**2
        means = np.where(n > 0, (plain - low) * scale, 0.0)
        if ends is not None:
            means = np.clip(means, 0.0, 1.0)
        return shrink(n, n * means, squares=n * (spread + means**2), is_bounded=ends is not None)

    @cached_property
    def estimates_of_all(self) -> Floats:
        """The mean of each arm drawn towards what the others say, NaN without a reward."""
        return np.where(self.n_rewards > 0, self._own_units(self.shrunk.means), np.nan)

    @cached_property
    def estimates(self) -> Floats:
        """The same as it is now: after a change, without what it made untrue."""
        return np.where(self.n_rewards > 0, self._own_units(self._shrunk_now.means), np.nan)

    @cached_property
    def sure(self) -> Floats:
        """What each arm's mean is above with probability 0.9 now, NaN without a reward."""
        return self.sure_of(np.arange(len(self)))

    def sure_of(self, rows: Ints) -> Floats:
        """Those of some rows."""
        known = self._shrunk_now
        found = Shrunk(known.means[rows], known.spreads[rows], known.is_bounded)
        values = self._own_units(found.quantile(0.1))
        return np.where(self.n_rewards[rows] > 0, values, np.nan)

    @cached_property
    def _shrunk_now(self) -> Shrunk:
        if self.present is None:
            return self.shrunk
        rows, places = self._present_rows
        means, spreads = self.shrunk.means.copy(), self.shrunk.spreads.copy()
        means[rows] = self.present.shrunk.means[places]
        spreads[rows] = self.present.shrunk.spreads[places]
        return Shrunk(means, spreads, self.shrunk.is_bounded)

    @cached_property
    def _present_rows(self) -> tuple[Ints, Ints]:
        """Rows of the arms that something else is known of now, and their places in that."""
        ids = np.empty(0, dtype=np.int64) if self.present is None else self.present.ids
        _, rows, places = np.intersect1d(self.ids, ids, assume_unique=True, return_indices=True)
        return rows, places

    def _own_units(self, values: Floats) -> Floats:
        if self.reward_range is None:
            return values
        low, high = self.reward_range
        return np.asarray(low + (high - low) * values)

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the interval of each arm's mean now (see ``Study.best``)."""
        return self._intervals(np.arange(len(self)))

    def intervals_of(self, rows: Ints) -> tuple[Floats, Floats]:
        """Those of some rows: of many arms, only a few are shown."""
        if len(self) <= _FEW or "intervals" in vars(self):
            low, high = self.intervals
            return low[rows], high[rows]
        low, high, is_known = self._ends
        new = rows[~is_known[rows]]
        if len(new):
            low[new], high[new] = self._intervals(new)
            is_known[new] = True  # at last: another thread may look at the same time
        return low[rows], high[rows]

    def intervals_of_all(self, rows: Ints) -> tuple[Floats, Floats]:
        """Those of some rows by all their rewards, also those from before a change."""
        return mean_intervals(
            self.n_rewards[rows], self.sums[rows], self.squares[rows], self.reward_range
        )

    def _intervals(self, rows: Ints) -> tuple[Floats, Floats]:
        low, high = self.intervals_of_all(rows)
        if self.present is not None:
            among, places = self._present_rows
            at = np.minimum(np.searchsorted(among, rows), max(len(among) - 1, 0))
            is_now = among[at] == rows if len(among) else np.zeros(len(rows), dtype=np.bool_)
            ends = self.present.intervals_of(places[at[is_now]], LEVEL)
            low[is_now], high[is_now] = (self._own_units(end) for end in ends)
        return low, high

    @cached_property
    def _ends(self) -> tuple[Floats, Floats, Bools]:
        """The intervals that were found one by one, and which ones those are."""
        return np.empty(len(self)), np.empty(len(self)), np.zeros(len(self), dtype=np.bool_)

    @cached_property
    def signals(self) -> list[Mapping[str, Sequence[float]] | None]:
        """What the requests of each used, by signal and limit; see ``ArmRecord.signals``."""
        found = self._values("signals")
        return [json.loads(one) if isinstance(one, str) else one for one in found]

    @cached_property
    def configs(self) -> Sequence[Config]:
        """Their configurations; do not change them."""
        if isinstance(self.records, ArmRows):
            return self.records.configs()
        return [record.config for record in self.records]

    def _values(self, path: str) -> list[Any]:
        # From rows without making records of them.
        if isinstance(self.records, ArmRows):
            return self.records.column(path.rpartition(".")[2])
        return list(map(attrgetter(path), self.records))

    def row_of(self, arm: object) -> int:
        """The row of an arm; ``UnknownArm`` when there is none."""
        if isinstance(arm, int) and not isinstance(arm, bool):
            row = int(np.searchsorted(self.ids, arm)) if -(2**62) < arm < 2**62 else len(self)
            if row < len(self) and int(self.ids[row]) == arm:
                return row
        raise UnknownArm(
            f"no arm has the id {show(arm)}",
            f"the study has {len(self)} arms, counted from 1",
            "take the id from study.arms()",
        )

    def best_by(self, values: Floats, limit: int) -> Ints:
        """Rows of the ``limit`` highest values, NaN last, equal ones in order of admission."""
        keys = np.where(np.isnan(values), -np.inf, values)
        return np.argsort(-keys, kind="stable")[:limit]
