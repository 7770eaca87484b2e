"""One bounded read of a study: everything that the read models are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from imabo.arms import Floats, Ints, Restart, Totals
from imabo.errors import InvalidSetting, NoRewards, UnknownArm
from imabo.insight.estimates import mean_intervals
from imabo.insight.grouping import Grouping, grouping_of, value_text
from imabo.insight.sampling import Sample, sample_pulls
from imabo.policies.base import Policy
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo.stores.base import ArmRecord, LogEntry, Milestone, Snapshot, StudyRecord

if TYPE_CHECKING:
    from imabo.study import Study

MOST_CHANGES: Final = 1000  # the newest changes by hand that are read


@dataclass(frozen=True, eq=False)
class Arms:
    """The arms of a study in columns, in order of admission: arm 1 is row 0.

    Rewards are in the study's own units; ``means`` is NaN before the first reward.
    """

    records: Sequence[ArmRecord]
    reward_range: tuple[float, float] | None

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def n_pulls(self) -> Floats:
        """Pulls of each arm."""
        return _column(record.tally.n_pulls for record in self.records)

    @cached_property
    def n_rewards(self) -> Floats:
        """Rewards of each arm."""
        return _column(record.tally.n_rewards for record in self.records)

    @cached_property
    def n_pending(self) -> Floats:
        """Pulls of each arm that wait for a reward."""
        return _column(record.tally.n_pending for record in self.records)

    @cached_property
    def sums(self) -> Floats:
        """Sum of each arm's rewards."""
        return _column(record.tally.reward_sum for record in self.records)

    @cached_property
    def squares(self) -> Floats:
        """Sum of the squares of each arm's rewards."""
        return _column(record.tally.reward_squares for record in self.records)

    @cached_property
    def ids(self) -> Ints:
        """The arms' ids."""
        return np.array([record.id for record in self.records], dtype=np.int64)

    @cached_property
    def means(self) -> Floats:
        """The mean reward of each arm, NaN without one."""
        n = self.n_rewards
        return np.where(n > 0, self.sums / np.maximum(n, 1.0), np.nan)

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the interval of each arm's mean (see ``Study.best``)."""
        return mean_intervals(self.n_rewards, self.sums, self.squares, self.reward_range)

    @cached_property
    def admitted_at(self) -> Floats:
        """When each arm came in."""
        return _column(record.admitted_at for record in self.records)

    @cached_property
    def states(self) -> np.ndarray:
        """The state of each arm, as text."""
        return np.array([record.state for record in self.records], dtype=np.str_)

    @cached_property
    def origins(self) -> np.ndarray:
        """How each arm came in, as text."""
        return np.array([record.origin for record in self.records], dtype=np.str_)

    @cached_property
    def configs(self) -> list[Config]:
        """Their configurations."""
        return [record.config for record in self.records]

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
        return np.lexsort((self.ids, -keys))[:limit].astype(np.int64)


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

    def __len__(self) -> int:
        return len(self.at)

    @cached_property
    def by_arm(self) -> Floats:
        """The pulls of each arm (columns) at each point (rows)."""
        n_arms = max(map(len, self.arm_pulls))
        table = np.zeros((len(self), n_arms))
        for row, pulls in zip(table, self.arm_pulls, strict=True):
            row[: len(pulls)] = pulls
        return table

    def pulls_at(self, at: Floats | Sequence[float]) -> Floats:
        """How many pulls there were at some times, interpolated between the points."""
        return np.asarray(np.interp(np.asarray(at, dtype=np.float64), self.at, self.n_pulls))

    def recent(self, counts: Floats, share: float = 0.1) -> int:
        """The last point after which at least this share of a growing count came."""
        before = np.flatnonzero(counts <= (1.0 - share) * counts[-1])
        return int(before[-1]) if len(before) else 0


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a study at one moment, read once; the read models are functions of it.

    Make one with ``insight.read``. It never changes, so several figures of one ``Facts`` agree.

    Attributes:
        study: What the study was created with.
        policy: Its policy.
        space: The space at that moment, the version ``space_version``.
        seq: The number of the last change that it has.
        totals: Counts over all pulls.
        restart: Where the policy's growth schedule starts.
        last_at: The time of the last thing that happened, by the study's clock.
        arms: Every arm, in columns.
        history: Counters of the past.
        changes: The newest changes by hand.
        sample: Pulls from all over the past, a bounded number.
        best_arm: The arm that ``Study.best`` recommends, or None without rewards.
    """

    study: StudyRecord
    policy: Policy
    space: Space
    space_version: int
    seq: int
    totals: Totals
    restart: Restart
    last_at: float
    arms: Arms
    history: History
    changes: Sequence[LogEntry]
    sample: Sample
    best_arm: int | None

    @property
    def name(self) -> str:
        """The study's name."""
        return self.study.name

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Ends of the rewards, or None when they have none."""
        return self.study.reward_range

    def grouping(self, name: str) -> Grouping:
        """The arms in groups by their values of a parameter of the space."""
        if name not in self._groupings:
            parameter = self.space.parameters[name]
            self._groupings[name] = grouping_of(name, parameter, self.arms.configs)
        return self._groupings[name]

    @cached_property
    def _groupings(self) -> dict[str, Grouping]:
        return {}

    @cached_property
    def space_changes(self) -> list[tuple[int, float, float]]:
        """Version, time and number of pulls of each change of the space that is still known."""
        entries = [entry for entry in self.changes if entry.kind == "space"]
        first = self.space_version - len(entries) + 1
        pulls = self.history.pulls_at([entry.at for entry in entries])
        if entries:
            pulls[-1] = self.restart.n_pulls
        return [
            (first + i, entry.at, float(n))
            for i, (entry, n) in enumerate(zip(entries, pulls, strict=True))
        ]


def read(study: Study) -> Facts:
    """Everything that the figures of a study need, in a bounded number of short queries.

    Use it before the functions of this package. The cost grows with the number of arms (and so with
    the square root of the number of pulls, say), never with the number of pulls itself.

    Args:
        study: An open study, on any store.

    Example:
        >>> from imabo import Float, Space, Study
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> read(study).totals.n_pulls
        0
    """
    from imabo.study import Study  # here, because a study offers this package's figures itself

    if not isinstance(study, Study):
        raise InvalidSetting(
            f"study is {show(study)}",
            "it must be a Study on a store of its own",
            "open it with Study.open(name, store=...)",
        )
    store = study.store
    try:
        best: int | None = study.best().arm
    except NoRewards:
        best = None
    # The snapshot last: so it has all that the milestones have.
    changes = store.changes(study.name, limit=MOST_CHANGES)
    milestones = store.milestones(study.name)
    snapshot = store.load(study.name)
    # The study's own space object has counted its configurations already.
    is_same = study.space_version == snapshot.space_version
    arms = Arms(sorted(snapshot.arms, key=lambda arm: arm.id), snapshot.study.reward_range)
    return Facts(
        study=snapshot.study,
        policy=study.policy,
        space=study.space if is_same else Space.from_dict(snapshot.space),
        space_version=snapshot.space_version,
        seq=snapshot.seq,
        totals=snapshot.totals,
        restart=snapshot.restart,
        last_at=snapshot.last_at,
        arms=arms,
        history=_history(snapshot, arms, milestones),
        changes=tuple(changes),
        sample=sample_pulls(store, study.name, snapshot.totals.n_pulls),
        best_arm=best,
    )


def _history(snapshot: Snapshot, arms: Arms, milestones: Sequence[Milestone]) -> History:
    totals = snapshot.totals
    now = Milestone(
        at=snapshot.last_at,
        n_pulls=totals.n_pulls,
        n_rewards=totals.n_rewards,
        n_pending=totals.n_pending,
        reward_sum=totals.reward_sum,
        reward_squares=float(arms.squares.sum()) if len(arms) else 0.0,
        n_active=int((arms.states != "retired").sum()) if len(arms) else 0,
        arm_pulls=tuple(arms.n_pulls.astype(int).tolist()),
    )
    created_at = min(snapshot.study.created_at, snapshot.last_at)
    start = Milestone(created_at, 0, 0, 0, 0.0, 0.0, 0, ())
    past = [one for one in milestones if one.n_pulls < totals.n_pulls]
    points = [start, *past, now]
    return History(
        at=_column(point.at for point in points),
        n_pulls=_column(point.n_pulls for point in points),
        n_rewards=_column(point.n_rewards for point in points),
        n_pending=_column(point.n_pending for point in points),
        sums=_column(point.reward_sum for point in points),
        squares=_column(point.reward_squares for point in points),
        n_active=_column(point.n_active for point in points),
        arm_pulls=[point.arm_pulls for point in points],
    )


def _column(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)


def config_text(config: Mapping[str, object], limit: int = 200) -> str:
    """A configuration on one line, for people.

    Example:
        >>> config_text({"model": "small", "top_k": 3})
        'model = small, top_k = 3'
    """
    text = ", ".join(f"{name} = {value_text(value)}" for name, value in config.items())
    return text if len(text) <= limit else text[: limit - 1] + "…"
