"""What somebody changes in a study by hand: its space, its arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from imabo import checks
from imabo.arms import Arm, ArmState
from imabo.documents import to_arm
from imabo.engine.declaring import Settled, checked_settings, settle
from imabo.space import Space
from imabo.stores.base import StudyRecord
from imabo.study_base import StudyBase


class StudyChanges(StudyBase):
    """The changes by hand of ``Study``."""

    def update_space(self, space: Space) -> None:
        """Change the space while the study runs; everything that was learned stays.

        Arms that it does not allow are retired, and come back when a later one allows them. The
        growth schedule restarts, so the new space is explored at once.
        """
        checks.checked_space(space)
        with self._lock:
            self._live().changes.update(space)

    def update(self, /, space: Space | None = None, **settings: object) -> None:
        """Change settings while the study runs, in one transaction; an event says so.

        Every process that has the study follows. What cannot be changed is ``InvalidSetting``,
        which says why: the policy, the oracle and the seed, because all decisions follow from them.

        Args:
            space: As for ``update_space``.
            settings: ``window_s``, which counts from now on for the pulls that still wait; what has
                expired stays expired. ``reward_range``, as long as there is no reward: what is
                learned is on its scale. ``objective``, the budgets and limits, and ``signals``.

        Example:
            >>> from imabo import Float, Space, Study
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0, window_s=60.0)
            >>> study.update(window_s=3600.0)
            >>> str(study.events()[-1])
            'window_s changed from 60.0 to 3600.0'
        """
        wanted = checked_settings(space, settings)
        with self._lock:
            self._live().changes.update(space, wanted)

    def redeclare(
        self,
        record: StudyRecord,
        *,
        any_seed: bool,
        if_changed: str,
        rollout: Mapping[str, Any] | None = None,
    ) -> Settled:
        """For services: what ``create`` does with a study that is there already."""
        how: dict[str, Any] = {"any_seed": any_seed, "if_changed": if_changed}
        with self._lock:
            engine = self._live()
            return settle(engine.replica, engine.changes, record, rollout=rollout, **how)

    def add_arm(self, config: Mapping[str, object]) -> Arm:
        """Admit a configuration by hand, to be served soon; one that is an arm is active again."""
        with self._lock:
            changes = self._live().changes
            return to_arm(changes.arm(changes.add_arm(config)))

    def add_arms(self, configs: Sequence[Mapping[str, object]]) -> list[Arm]:
        """``add_arm`` for each of many configurations, in one transaction; the arms in their order.

        All or none, at most 10,000: one that the space does not allow refuses them all. One that
        comes twice is one arm. Doing it again changes nothing, so it may be retried.

        Example:
            >>> from imabo import Float, Space, Study
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> [arm.id for arm in study.add_arms([{"x": 0.1}, {"x": 0.2}, {"x": 0.1}])]
            [1, 2, 1]
        """
        wanted = checks.checked_configs(configs)
        with self._lock:
            ids = self._live().changes.add_arms(wanted)
            replica = self._live().replica
            records = replica.store.arms(replica.record.name, sorted(set(ids)))
        known = {record.id: to_arm(record) for record in records}
        return [known[arm] for arm in ids]

    def pause(self, arm: Arm | int) -> Arm:
        """Stop serving an arm until ``resume``; the control's is refused, see ``retire``."""
        return self._put_state(arm, "paused")

    def retire(self, arm: Arm | int) -> Arm:
        """Stop serving an arm for good; its rewards still count in what is known.

        The arm of the control is ``InvalidSetting``: it would go on being served. Set another
        control, or end it, with ``update_control`` first.
        """
        return self._put_state(arm, "retired")

    def _put_state(self, arm: Arm | int, state: ArmState) -> Arm:
        with self._lock:
            return to_arm(self._live().changes.change_state(arm, state))
