"""What a study has besides rewards: the signals of its requests, and what it may use of them."""

from __future__ import annotations

import threading
from typing import overload

from imabo.engine import Engine
from imabo.engine.requests import Reward
from imabo.objective import Objective, Signal


class StudyGoals:
    """The signals and the objective of ``Study``."""

    _lock: threading.RLock

    def _live(self) -> Engine:
        raise NotImplementedError

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
        with self._lock:
            one = Reward(None, pull_id, key, part, told)
            (refused,) = self._live().rewards.tell_many([one])
        if refused is not None:
            raise refused
