"""What a batch of rewards does, decided from the rows that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from imabo.errors import RewardConflict
from imabo.stores.base import Rewarded
from imabo.stores.postgres.statements.terms import columns_of
from imabo.stores.refusals import reward_conflict


class _Sums:
    """An arm's sums as they grow."""

    __slots__ = ("n", "pending", "squares", "total")

    def __init__(self, total: float, squares: float) -> None:
        self.n = self.pending = 0
        self.total, self.squares = total, squares


class Batch:
    """Rewards for pulls of one study.

    Sums are added up here, one reward after the other, as every store and every view does: the
    server would add them in an order of its own, with another last digit.

    Args:
        seq: The study's, before.
        total: The sum of all its rewards, before.
        told: The pulls: number, arm, state, reward, and the two sums of the arm.
    """

    def __init__(self, seq: int, total: float, told: Sequence[Sequence[Any]]) -> None:
        self._seq = seq
        self._total = total
        self._pulls = {number: (arm, state, reward) for number, arm, state, reward, *_ in told}
        self._sums = {arm: _Sums(*sums) for _, arm, _, _, *sums in told}
        self.fresh: dict[int, float] = {}

    def add(self, rewards: Sequence[tuple[int, float]]) -> list[Rewarded | RewardConflict | None]:
        """Count rewards in order of their numbers; says for each, as given, what became of it."""
        found: list[Rewarded | RewardConflict | None] = [None] * len(rewards)
        for place in sorted(range(len(rewards)), key=lambda place: rewards[place][0]):
            number, reward = rewards[place]
            if number in self._pulls:
                found[place] = self._add(number, reward)
        return found

    def _add(self, number: int, reward: float) -> Rewarded | RewardConflict:
        arm, state, recorded = self._pulls[number]
        if state == "rewarded":
            if recorded != reward:
                return reward_conflict(number, recorded, reward)
            return Rewarded(arm, False, False, self._seq + bool(self.fresh))
        was_pending = state == "pending"
        self._pulls[number] = arm, "rewarded", reward
        self.fresh[number] = reward
        self._total += reward
        sums = self._sums[arm]
        sums.n += 1
        sums.pending += was_pending
        sums.total += reward
        sums.squares += reward * reward
        return Rewarded(arm, True, was_pending, self._seq + 1)

    def parameters(self) -> dict[str, Any]:
        """What the statement REWARD takes, apart from the study, the time and the new ``seq``."""
        rows = [
            (arm, sums.n, sums.pending, sums.total, sums.squares)
            for arm, sums in self._sums.items()
            if sums.n
        ]
        return {
            "n_fresh": len(self.fresh),
            "n_was_pending": sum(row[2] for row in rows),
            "total": self._total,
            **columns_of("fresh", list(self.fresh.items()), "number", "reward"),
            **columns_of("sum", rows, "arm", "n", "pending", "total", "squares"),
        }
