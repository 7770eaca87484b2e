"""What a study has besides rewards: the signals of its requests, and what it may use of them."""

from __future__ import annotations

from typing import overload

from imabo.engine.requests import Reward
from imabo.frontier import Frontier, frontier_of
from imabo.objective import Objective, Signal
from imabo.study_base import StudyBase


class StudyGoals(StudyBase):
    """The signals and the objective of ``Study``."""

    @property
    def signals(self) -> dict[str, Signal]:
        """The signals that were declared, by name."""
        found = self._live().replica.record.signals or {}
        return {name: Signal.restore(one) for name, one in found.items()}

    @property
    def objective(self) -> Objective | None:
        """The budgets and limits that are kept; None without any."""
        found = self._live().replica.record.objective
        return None if found is None else Objective.restore(found)

    @overload
    def signal(self, pull_id: str, name: str, value: float) -> None: ...
    @overload
    def signal(self, *, key: str, name: str, value: float, part: int | None = None) -> None: ...
    def signal(
        self,
        pull_id: str | None = None,
        name: str = "",
        value: float | None = None,
        *,
        key: str | None = None,
        part: int | None = None,
    ) -> None:
        """Report a signal of a pull, such as its cost; it is in the store before this returns.

        Before or after the reward, late or never; the pull is named as for ``tell``. The same value
        again changes nothing, another is ``SignalConflict``. A name that was not declared with the
        study, or a value outside of its ends, is ``InvalidSignal``.

        Example:
            >>> from imabo import Choice, Signal, Space, Study
            >>> study = Study.create("s", Space(model=Choice("small", "large")), seed=0,
            ...     signals={"cost": Signal(low=0.0, unit="$")})
            >>> pull = study.ask()
            >>> study.signal(pull.id, "cost", 0.0004)
            >>> study.tell(pull.id, 0.8)
            >>> study.pull(pull.id).signals
            {'cost': 0.0004}
        """
        told: dict[str, float] = {name: value}  # type: ignore[dict-item]  # checked below
        if key is None and part is None:
            self._report(pull_id, None, told)
            return
        with self._lock:
            one = Reward(None, pull_id, key, part, told)
            (refused,) = self._live().rewards.tell_many([one])
        if refused is not None:
            raise refused

    def _report(self, pull_id: object, reward: object, signals: object) -> None:
        with self._lock:
            self._live().rewards.report(pull_id, reward, signals)

    def frontier(self, signal: str | None = None, level: float = 0.95) -> Frontier:
        """Reward against a signal: every arm with intervals, the best mix, and the price now.

        Without a name it is the signal of the first budget. ``frontier.at(budget)`` says what
        another budget would buy, ``frontier.curve()`` what all of them would, with the objective's
        other budgets and limits kept. Means are as ``best`` has them, not flattered by luck.

        Example:
            >>> from imabo import Choice, Objective, Signal, Space, Study
            >>> study = Study.create("s", Space(model=Choice("small", "large")), seed=0,
            ...     signals={"cost": Signal(low=0.0)}, objective=Objective(budgets={"cost": 2.0}))
            >>> for _ in range(50):
            ...     pull = study.ask()
            ...     large = pull.config["model"] == "large"
            ...     reward, cost = (0.9, 3.0) if large else (0.6, 1.0)
            ...     study.tell(pull.id, reward, signals={"cost": cost})
            >>> found = study.frontier()
            >>> [one.use for one in found.arms], round(found.at(2.0).mean, 2)
            ([1.0, 3.0], 0.75)
        """
        with self._lock:
            replica = self._live().replica
            replica.refresh()
            snapshot = replica.store.load(replica.record.name)
            return frontier_of(snapshot, replica.view, signal, level)
