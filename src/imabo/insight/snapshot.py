"""One bounded read of a study: everything that the read models are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from imabo.arms import Restart, Totals, usable_totals
from imabo.errors import InvalidSetting, NoRewards
from imabo.events import drift_event
from imabo.insight.arm_columns import Arms
from imabo.insight.compared import lift_of
from imabo.insight.estimates import P0_ORIGINS
from imabo.insight.grouping import Grouping, Groupings
from imabo.insight.labelling import labels
from imabo.insight.past import History, history_of
from imabo.insight.sampling import Sample, last_pull_at, sample_pulls
from imabo.insight.used import Used, used_of
from imabo.lifting import LiftReport
from imabo.magnitude import usable_range
from imabo.policies.base import Policy
from imabo.recommend import Best, present
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo.stores.base import ArmRecord, LogEntry, Snapshot, StudyRecord
from imabo.stores.rows import ArmRows

if TYPE_CHECKING:
    from imabo.study import Study

MOST_CHANGES: Final = 1000  # the newest changes that are read
MOST_FIRST: Final = 2000  # the newest arms drawn from P0 whose first reward is read


@dataclass(frozen=True, eq=False)
class StudySnapshot:
    """What is known of a study at one moment, read once; the read models are functions of it.

    Make one with ``insight.read``. It never changes, so several figures of one snapshot agree.

    Attributes:
        study: What the study was created with.
        policy: Its policy.
        space: The space at that moment, the version ``space_version``.
        seq: The number of the last change that it has.
        totals: Counts over all pulls.
        restart: Where the policy's growth schedule starts.
        last_at: The time of the last thing that happened, by the study's clock.
        last_pull_at: When the last request was served, None before the first: what operators do,
            rewards and expiry are no traffic.
        arms: Every arm, in columns.
        history: Counters of the past.
        changes: The newest changes, by hand and of the world.
        sample: Pulls from all over the past, a bounded number.
        best: What ``Study.best`` recommends, or None without rewards.
        first_rewards: Of the newest 2,000 arms that were drawn from P0, by their ids, the reward of
            the pull that admitted each; those that came. Which are left out depends on no reward.
        groupings: The arms' values of the space's parameters, in groups.
        random_rewards: Rewards of a random control; see ``Study.random_rewards``.
        lift: What ``Study.lift`` says, None without a control.
        used: What requests use, beside what they may; None where no signals are declared.
    """

    study: StudyRecord
    policy: Policy
    space: Space
    space_version: int
    seq: int
    totals: Totals
    restart: Restart
    last_at: float
    last_pull_at: float | None
    arms: Arms
    history: History
    changes: Sequence[LogEntry]
    sample: Sample
    best: Best | None
    first_rewards: Mapping[int, float]
    groupings: Groupings
    random_rewards: tuple[int, float, float] = (0, 0.0, 0.0)
    lift: LiftReport | None = None
    used: Used | None = None

    @property
    def name(self) -> str:
        """The study's name."""
        return self.study.name

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Ends of the rewards, or None when they have none."""
        return self.arms.reward_range

    @property
    def best_arm(self) -> int | None:
        """The recommended arm, or None without rewards."""
        return None if self.best is None else self.best.arm

    def grouping(self, name: str) -> Grouping:
        """The arms in groups by their values of a parameter of the space."""
        return self.groupings.of(name)

    def labels(self, configs: Sequence[Config]) -> list[str]:
        """Names of some of its configurations, by what sets them apart from all of its arms."""
        return labels(configs, varying=self.groupings.varying)

    @cached_property
    def space_changes(self) -> list[tuple[int, float, float]]:
        """Version, time and number of pulls of each change of the space that is still known."""
        found = self._changes("space")
        first = self.space_version - len(found) + 1
        changes = [(first + i, entry.at, n) for i, (entry, n) in enumerate(found)]
        return [*changes[:-1], (*changes[-1][:2], float(self.restart.n_pulls))] if changes else []

    @cached_property
    def upheavals(self) -> list[tuple[float, float]]:
        """Time and number of pulls of each change of the world that restarted the growth."""
        return [
            (entry.at, n)
            for entry, n in self._changes("drift")
            if all((entry.data or {}).get(key) is None for key in ("arm", "parameter"))
        ]

    @cached_property
    def drifts(self) -> list[tuple[str, float, float]]:
        """Words, time and number of pulls of each change of the world that is still known."""
        return [
            (str(drift_event(self.study, entry.at, entry.data or {})), entry.at, n)
            for entry, n in self._changes("drift")
        ]

    def _changes(self, kind: str) -> list[tuple[LogEntry, float]]:
        """The changes of a kind, with about how many pulls there were."""
        entries = [entry for entry in self.changes if entry.kind == kind]
        pulls = self.history.pulls_at([entry.at for entry in entries])
        return list(zip(entries, pulls.tolist(), strict=True))


def read(study: Study, since: StudySnapshot | None = None) -> StudySnapshot:
    """Everything that the figures of a study need, in a bounded number of short queries.

    Use it before the functions of this package. The cost grows with the number of arms (and so with
    the square root of the number of pulls, say), never with the number of pulls itself.

    Args:
        study: An open study, on any store.
        since: What was read of it before. The result is the same with it or without, and costs less
            with it: only the arms that changed since are read.

    Example:
        >>> from imabo import Float, Space, Study
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> snapshot = read(study)
        >>> _ = study.ask()
        >>> snapshot.totals.n_pulls, read(study, since=snapshot).totals.n_pulls
        (0, 1)
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
        best: Best | None = study.best()
    except NoRewards:
        best = None
    # The counters last: so they have all that the milestones have.
    changes = store.changes(study.name, limit=MOST_CHANGES)
    milestones = store.milestones(study.name)
    loaded = store.load(study.name, since=0 if since is None else since.seq)
    if since is not None and since.study.token != loaded.study.token:
        since, loaded = None, store.load(study.name)  # another study of that name
    # The study's own space object has counted its configurations already.
    is_same = study.space_version == loaded.space_version
    space = study.space if is_same else Space.from_dict(loaded.space)
    ends = loaded.study.reward_range
    arms = Arms(
        _records(study, loaded, since),
        None if ends is None else usable_range(ends),
        study.read(present),
    )
    used = used_of(study, loaded.study, arms)
    if since is None or (since.space_version, len(since.arms)) != (loaded.space_version, len(arms)):
        groupings = Groupings(space, arms.configs)
    else:
        groupings = since.groupings  # arms never leave, so they are the same ones
    return StudySnapshot(
        study=loaded.study,
        policy=study.policy,
        space=space,
        space_version=loaded.space_version,
        seq=loaded.seq,
        totals=usable_totals(loaded.totals),
        restart=loaded.restart,
        last_at=loaded.last_at,
        last_pull_at=last_pull_at(store, study.name, loaded.totals.n_pulls, milestones),
        arms=arms,
        history=history_of(
            loaded, arms, used, milestones, None if since is None else since.history
        ),
        changes=tuple(changes),
        sample=sample_pulls(store, study.name, loaded.totals.n_pulls),
        best=best,
        first_rewards=_first_rewards(study, arms, since),
        random_rewards=study.random_rewards(),
        lift=lift_of(study),
        groupings=groupings,
        used=used,
    )


def _records(study: Study, loaded: Snapshot, since: StudySnapshot | None) -> Sequence[ArmRecord]:
    """Every arm in order of its id, those that did not change from before."""
    new = loaded.arms
    before = ArmRows([]) if since is None else since.arms.records
    if isinstance(new, ArmRows) and isinstance(before, ArmRows):
        # The study's view has read the configurations already, and they never change.
        known = study.read(lambda view: dict(zip(view.ids.tolist(), view.configs, strict=True)))
        return before.updated(new, known)
    by_id = {arm.id: arm for arm in [*before, *new]}
    return [by_id[arm] for arm in sorted(by_id)]


def _first_rewards(study: Study, arms: Arms, since: StudySnapshot | None) -> dict[int, float]:
    """See ``StudySnapshot.first_rewards``; a reward never changes, so each is read once."""
    drawn = np.flatnonzero(np.isin(arms.origins, P0_ORIGINS))[-MOST_FIRST:]
    before: Mapping[int, float] = {} if since is None else since.first_rewards
    ids = arms.ids[drawn[arms.n_rewards[drawn] > 0]].tolist()
    unknown = [arm for arm in ids if arm not in before]
    found = {**before, **(study.store.first_rewards(study.name, unknown) if unknown else {})}
    return {arm: found[arm] for arm in ids if arm in found}
