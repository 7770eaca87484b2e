"""The active set: the columns every decision is made from."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from imabo.admitted import Arm as Arm
from imabo.admitted import ArmState as ArmState
from imabo.admitted import Group as Group
from imabo.admitted import Origin as Origin
from imabo.admitted import PullState as PullState
from imabo.beliefs import Beliefs as Beliefs  # beside the columns that show them
from imabo.counters import Restart as Restart
from imabo.counters import Tally as Tally
from imabo.counters import Totals as Totals
from imabo.counters import usable_totals as usable_totals
from imabo.facts import Pull as Pull
from imabo.magnitude import usable_range, usable_squares, usable_sum
from imabo.memory import LEAST_SPACING, Memory
from imabo.space import Config, Space
from imabo.spending import Spending

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Number = TypeVar("Number", float, Floats)

_LONGEST_NUMBER: Final = 18  # digits; more would not fit a database's integer
_DTYPES: Final = {"Floats": np.float64, "Ints": np.int64, "Bools": np.bool_}


def make_id(token: str, number: int) -> str:
    """The id of a study's pull: the study's token and the pull's number."""
    return f"{token}-{number}"


def number_of(token: str, pull_id: object) -> int | None:
    """The number in a pull's id, or None when the id is not one of this study.

    Example:
        >>> number_of("k3f9x2", "k3f9x2-15"), number_of("k3f9x2", "k3f9x2-015")
        (15, None)
    """
    if not isinstance(pull_id, str):
        return None
    start, _, digits = pull_id.rpartition("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER
    return int(digits) if start == token and plain and digits[0] != "0" else None


class ActiveSet:
    """The arms that the current space allows, one row an arm, in columns.

    Policies and oracles receive it as their only view of the study; its arrays are read-only. The
    study updates one row at a time, whatever the number of past pulls. Rows of paused and retired
    arms stay (what they taught is still true, and they must not be proposed again), but are not
    ``servable``.

    Columns, each of length ``len(arms)``: ``ids``, ``n_pulls``, ``n_rewards``, ``n_pending``,
    ``means`` (rewards mapped to [0, 1]; NaN before the first), ``servable``, ``units`` and ``mask``
    (the configurations in the unit cube and which coordinates are active), ``mutated`` (the
    coordinate whose mutation produced the arm, or -1), ``prior_means`` and ``prior_counts`` (what
    the oracle's model last said of each arm, see ``Beliefs``; 0 where it said nothing).
    ``model_state`` is what that model wanted to start from next time; None before it said anything.
    ``n_now`` and ``sums_now`` are the number and the sum of the rewards that still speak of now, as
    far as the study's ``memory`` tells; without one, all of them. Arms that only a control served
    (``n_spare``) are retired from the start, and not ``in`` the set: an oracle may propose them.

    Example:
        >>> from imabo import Float, Space
        >>> arms = ActiveSet.from_rewards(
        ...     Space(x=Float(0, 1)), [({"x": 0.2}, [0.0, 1.0]), ({"x": 0.7}, [1.0])])
        >>> arms.means.tolist(), arms.totals.n_rewards
        ([0.5, 1.0], 3)
    """

    # The columns: these names, and no others, are annotated here.
    ids: Ints
    n_pulls: Floats
    n_rewards: Floats
    n_pending: Floats
    reward_sums: Floats
    reward_squares: Floats
    marked_rewards: Floats
    marked_sums: Floats
    means: Floats
    kept_rewards: Floats
    kept_sums: Floats
    servable: Bools
    retired: Bools
    mutated: Ints
    prior_means: Floats
    prior_counts: Floats
    units: Floats
    mask: Bools

    def __init__(
        self,
        space: Space,
        *,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        has_window: bool = False,
    ) -> None:
        self.space = space
        self.reward_range = reward_range
        self.has_window = has_window
        self.totals, self.restart, self.marked_at = Totals(), Restart(), 0
        self.model_state: Mapping[str, Any] | None = None
        self.believed_at = 0
        self.skill = 1.0
        self.memory: Memory | None = None
        self.spending: Spending | None = None  # with an objective
        self.configs: list[Config] = []
        self.n_servable = self.n_retired = self.n_unrewarded = 0
        self._low, self._scale = 0.0, 1.0
        if reward_range is not None:
            low, high = usable_range(reward_range)
            self._low, self._scale = low, 1.0 / (high - low)
        self._n_configs = space.n_configs
        self._moment_due_at = LEAST_SPACING
        self._rows: dict[int, int] = {}
        self._spare: set[int] = set()  # rows that only the control served
        self._identities: dict[str, int] = {}
        self._columns: dict[str, NDArray[Any]] = {}
        self._is_admitting = False
        self._allocate(16)

    @classmethod
    def from_rewards(
        cls,
        space: Space,
        arms: Sequence[tuple[Config, Sequence[float]]],
        *,
        pending: Sequence[int] = (),
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        has_window: bool = False,
    ) -> ActiveSet:
        """Build an active set by hand, to try a policy or an oracle on it without a study."""
        built = cls(space, reward_range=reward_range, has_window=has_window)
        for number, (config, rewards) in enumerate(arms, start=1):
            row = built.admit(number, space.validate(config))
            waiting = pending[number - 1] if number <= len(pending) else 0
            built.count_pull(row, len(rewards) + waiting)
            for reward in rewards:
                built.count_reward(row, float(reward), was_pending=True)
        return built

    # --- reading -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.configs)

    def __contains__(self, config: object) -> bool:
        row = self.row_of_config(config) if isinstance(config, dict) else None
        return row is not None and not self.is_spare(row)

    def row_of(self, arm: int) -> int | None:
        """The row of an arm, or None when the current space does not allow that arm."""
        return self._rows.get(arm)

    def config_of(self, arm: int) -> Config:
        """The configuration of an arm that the current space allows."""
        return self.configs[self._rows[arm]]

    def row_of_config(self, config: Config) -> int | None:
        """The row of a (validated) configuration, or None when it is not an arm here."""
        return self._identities.get(self.space.identity(config))

    def state_of(self, row: int) -> ArmState:
        """The state of a row."""
        return "retired" if self.retired[row] else "active" if self.servable[row] else "paused"

    def is_spare(self, row: int) -> bool:
        """Whether only the control served an arm: an oracle may still propose it."""
        return row in self._spare

    @property
    def n_spare(self) -> int:
        """How many of them there are."""
        return len(self._spare)

    @property
    def n_growing(self) -> int:
        """|M_t| of the growth schedule: the arms that are not retired."""
        return len(self.configs) - self.n_retired

    @property
    def exhausted(self) -> bool:
        """Whether every configuration of a finite space is an arm already."""
        return self._n_configs is not None and len(self) - self.n_spare >= self._n_configs

    @property
    def n_reachable(self) -> float:
        """How many configurations are served or may still be admitted; infinite without an end."""
        if self._n_configs is None:
            return math.inf
        return max(self.n_servable + max(self._n_configs - (len(self) - self.n_spare), 0), 1)

    @property
    def overall_mean(self) -> float:
        """Mean of all rewards on the unit scale; 0.5 before the first."""
        totals = self.totals
        return self.to_unit(totals.reward_sum / totals.n_rewards) if totals.n_rewards else 0.5

    @property
    def n_now(self) -> Floats:
        """How many rewards of each arm still speak of now."""
        return self.n_rewards if self.memory is None else self.kept_rewards

    @property
    def sums_now(self) -> Floats:
        """Their sums, on the unit scale."""
        return self.unit_sums() if self.memory is None else self.kept_sums

    @property
    def level(self) -> float:
        """``overall_mean`` of the rewards that speak of now."""
        if self.memory is None or self.memory.since is None:
            return self.overall_mean
        return self.memory.level

    @property
    def growth_start(self) -> Restart:
        """Where the growth schedule starts: when the space last changed, or all of the world."""
        since = None if self.memory is None else self.memory.since
        if since is None or since["n_pulls"] < self.restart.n_pulls:
            return self.restart
        return Restart(**{key: int(since[key]) for key in Restart.__slots__})

    @property
    def noticed_at(self) -> int:
        """Rewards of the study when it last noticed a change; 0 before it did."""
        since = None if self.memory is None else self.memory.since
        return 0 if since is None else int(since["noticed"])

    @property
    def is_moment(self) -> bool:
        """Whether the memory should keep the counters as they are now."""
        return self.totals.n_rewards >= self._moment_due_at

    def to_unit(self, reward: Number) -> Number:
        """A reward mapped to [0, 1] by the study's range (as it is when the range is open)."""
        return (reward - self._low) * self._scale

    def from_unit(self, value: float) -> float:
        """The inverse of ``to_unit``."""
        return self._low + value / self._scale

    def known_means(self) -> Floats:
        """``means``, with the overall mean in place of arms that have no reward yet."""
        if not self.n_unrewarded:
            return self.means
        return np.where(self.n_rewards > 0, self.means, self.overall_mean)

    def unit_sums(self) -> Floats:
        """Sum of each arm's rewards on the unit scale."""
        return (self.reward_sums - self._low * self.n_rewards) * self._scale

    def variances(self) -> Floats:
        """Empirical variance of each arm's rewards on the unit scale (0 where there are none)."""
        n = np.maximum(self.n_rewards, 1.0)
        spread = self.reward_squares / n - (self.reward_sums / n) ** 2
        return np.maximum(spread, 0.0) * self._scale**2

    # --- updating (the study only) --------------------------------------------------------------

    def admit(
        self,
        arm: int,
        config: Config,
        *,
        state: ArmState = "active",
        mutated: str | None = None,
        tally: Tally | None = None,
        is_spare: bool = False,
    ) -> int:
        """Add a row for an arm; returns its row."""
        row = len(self.configs)
        if row == len(self._columns["ids"]):
            self._allocate(2 * row)
        self.configs.append(config)
        self._rows[arm] = row
        self._identities[self.space.identity(config)] = row
        columns = self._columns
        columns["ids"][row] = arm
        columns["units"][row], columns["mask"][row] = self.space.encode(config)
        names = self.space.names
        columns["mutated"][row] = names.index(mutated) if mutated in names else -1
        self.n_unrewarded += 1
        if self.spending is not None:
            self.spending.admit(row, config)
        self._expose()
        if tally is not None:
            self.put_tally(row, tally)
        self.put_state(row, state, is_spare=is_spare)
        return row

    def put_tally(self, row: int, tally: Tally) -> None:
        """Overwrite the counters of a row with the store's."""
        columns = self._columns
        self.n_unrewarded += int(columns["n_rewards"][row] > 0) - int(tally.n_rewards > 0)
        columns["n_pulls"][row] = tally.n_pulls
        columns["n_rewards"][row] = tally.n_rewards
        columns["n_pending"][row] = tally.n_pending
        columns["reward_sums"][row] = usable_sum(tally.reward_sum, tally.n_rewards)
        columns["reward_squares"][row] = usable_squares(tally.reward_squares, tally.n_rewards)
        columns["marked_rewards"][row] = tally.marked_rewards
        columns["marked_sums"][row] = usable_sum(tally.marked_sum, tally.marked_rewards)
        self._refresh_mean(row)

    def put_state(self, row: int, state: ArmState, *, is_spare: bool = False) -> None:
        """Set whether a row can be served and whether it counts in the growth schedule."""
        columns = self._columns
        self.n_servable += int(state == "active") - int(columns["servable"][row])
        self.n_retired += int(state == "retired") - int(columns["retired"][row])
        (self._spare.add if is_spare else self._spare.discard)(row)
        columns["servable"][row] = state == "active"
        columns["retired"][row] = state == "retired"

    def count_pull(self, row: int | None, n: int = 1) -> None:
        """An arm was served n times; with -1, it was not after all."""
        if row is not None:
            self._columns["n_pulls"][row] += n
            self._columns["n_pending"][row] += n
        t = self.totals
        self.totals = Totals(t.n_pulls + n, t.n_rewards, t.n_pending + n, t.reward_sum)

    def count_reward(self, row: int | None, reward: float, *, was_pending: bool) -> None:
        """A pull got its reward; ``row`` is None for an arm that the space no longer allows."""
        t = self.totals
        self.totals = Totals(
            t.n_pulls, t.n_rewards + 1, t.n_pending - was_pending, t.reward_sum + reward
        )
        if row is None:
            return
        columns = self._columns
        if not columns["n_rewards"].item(row):
            self.n_unrewarded -= 1
        columns["n_rewards"][row] += 1
        columns["n_pending"][row] -= was_pending
        columns["reward_sums"][row] += reward
        columns["reward_squares"][row] += reward * reward
        self._refresh_mean(row)

    def count_expired(self, row: int | None, n: int) -> None:
        """Pulls of an arm left their window without a reward."""
        t = self.totals
        self.totals = Totals(t.n_pulls, t.n_rewards, t.n_pending - n, t.reward_sum)
        if row is not None:
            self._columns["n_pending"][row] -= n

    def mark(self) -> None:
        """Remember the counters as they are now, for policies that start afresh in phases."""
        self._columns["marked_rewards"][:] = self._columns["n_rewards"]
        self._columns["marked_sums"][:] = self._columns["reward_sums"]
        self.marked_at = self.totals.n_pulls

    def put_beliefs(self, beliefs: Beliefs) -> dict[str, Any]:
        """Set what a model expects of every row; returns the document that a store keeps."""
        document = beliefs.document(self.ids.tolist()) | {"rewards": self.totals.n_rewards}
        self.load_beliefs(document)
        return document

    def load_beliefs(self, document: Mapping[str, Any]) -> None:
        """Put a document back: arms without a row are ignored, rows that it does not name get 0."""
        means, counts = self._columns["prior_means"], self._columns["prior_counts"]
        means[:] = counts[:] = 0.0
        said = zip(document["arms"], document["means"], document["counts"], strict=True)
        for arm, mean, count in said:
            row = self._rows.get(arm)
            if row is not None:
                means[row], counts[row] = mean, count
        # Neither is in what earlier versions wrote.
        self.believed_at, self.skill = document.get("rewards", 0), document.get("skill", 1.0)
        # A copy: nobody who looks at the view can change what the store has.
        self.model_state = copy.deepcopy(document["state"])
        if self.spending is not None:
            self.spending.load(document["state"].get("uses", {}), document["arms"], self._rows)

    def put_memory(self, memory: Memory) -> dict[str, Any]:
        """Set what still speaks of now; returns the document that a store keeps."""
        self.memory, self._moment_due_at = memory, memory.due_at
        n, totals = self.n_rewards, self.unit_sums()
        kept, sums = memory.own_of_all(n, totals)
        is_usable = np.isfinite(sums)  # as in ``_refresh_kept``
        self._columns["kept_rewards"][: len(n)] = np.where(is_usable, kept, n)
        self._columns["kept_sums"][: len(n)] = np.where(is_usable, sums, totals)
        return memory.document(self.ids.tolist())

    def load_memory(self, document: Mapping[str, Any]) -> None:
        """Put a document back."""
        is_bounded = self.reward_range is not None
        self.put_memory(Memory.from_document(document, self._rows, is_bounded))

    def _refresh_kept(self, row: int, n: float, reward_sum: float) -> None:
        if self.memory is None:
            return
        total = (reward_sum - self._low * n) * self._scale
        kept, kept_sum = self.memory.own(row, n, total) if n else (0.0, 0.0)
        if not math.isfinite(kept_sum):  # by what a database from before holds
            kept, kept_sum = n, total
        self._columns["kept_rewards"][row] = kept
        self._columns["kept_sums"][row] = kept_sum

    def _refresh_mean(self, row: int) -> None:
        n, total = self._columns["n_rewards"].item(row), self._columns["reward_sums"].item(row)
        self._columns["means"][row] = self.to_unit(total / n) if n else math.nan
        self._refresh_kept(row, n, total)

    def _allocate(self, capacity: int) -> None:
        for name, kind in ActiveSet.__annotations__.items():
            shape = (capacity, len(self.space)) if name in ("units", "mask") else (capacity,)
            column: NDArray[Any] = np.zeros(shape, dtype=_DTYPES[kind])
            if name == "means":
                column[:] = math.nan
            old = self._columns.get(name)
            if old is not None:
                column[: len(old)] = old
            self._columns[name] = column
        self._expose()

    @contextmanager
    def admitting(self) -> Iterator[None]:
        """Add many rows; nobody looks at the view before they are all there."""
        self._is_admitting = True
        try:
            yield
        finally:
            self._is_admitting = False
            self._expose()

    def _expose(self) -> None:
        # Read-only windows on the rows in use; made again only when a row is added.
        if self._is_admitting:
            return
        n = len(self.configs)
        for name, column in self._columns.items():
            window = column[:n]
            window.flags.writeable = False
            setattr(self, name, window)
