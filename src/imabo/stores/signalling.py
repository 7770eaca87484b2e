"""What all stores do with signals: which of them are new, the sums of the arms, the banks.

A pull keeps ``[value, time, seq]`` for each of its signals. An arm keeps ``[n, sum, squares]`` of
each signal and, under the name of each limit, ``[n, sum]`` of what its requests used of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from imabo.errors import ImaboError
from imabo.objective import Constraint, Objective
from imabo.spending import ON_BUDGET, BankRule, bank_rule, lately_after, lately_key, moved
from imabo.stores.refusals import signal_conflict
from imabo.stores.rules import RewardCount, Rewarded

OfPull: TypeAlias = dict[str, list[float]]
OfArm: TypeAlias = dict[str, list[float]]
Banks: TypeAlias = dict[str, float]
_BySignal: TypeAlias = dict[str, list[tuple[str, float | None, BankRule | None]]]
_Parts: TypeAlias = tuple[tuple[Constraint, ...], _BySignal]


@dataclass(frozen=True, slots=True)
class Report:
    """What became known of a pull: its reward, some of its signals, or both; all or none of it."""

    number: int
    reward: float | None = None
    signals: Mapping[str, float] = field(default_factory=dict)


class Reported(NamedTuple):
    """What a report did: to the reward, if it had one, and which of its signals were new."""

    arm: int
    rewarded: Rewarded | None
    fresh: Mapping[str, float]


class Reports(NamedTuple):
    """What several reports did: each of them (None: there is no such pull), and to the study."""

    found: Sequence[Reported | ImaboError | None]
    seq: int
    banks: Mapping[str, float]


class Goal:
    """The budgets and limits of a study with their banks, as its row has them.

    Args:
        signals: The signals as a document, or None.
        objective: The objective, likewise.
        banks: The banks by the names of their constraints, and what budgets lately used.

    Example:
        >>> goal = Goal(None, Objective(budgets={"cost": 2.0}).document(), {})
        >>> goal.use({"cost": 6.0})
        >>> {name: round(bank, 2) for name, bank in goal.banks.items()}
        {'cost': 2.03, 'cost lately': 1.0}
    """

    def __init__(
        self,
        signals: Mapping[str, Any] | None,
        objective: Mapping[str, Any] | None,
        banks: Mapping[str, float] | None,
    ) -> None:
        self.banks: Banks = dict(banks or {})
        self.constraints, self._by_signal = _parts(signals, objective)

    @classmethod
    def read(cls, signals: str | None, objective: str | None, banks: str | None) -> Goal:
        """From the columns of a study's row, which are JSON."""
        goal = cls(None, None, None if banks is None else json.loads(banks))
        goal.constraints, goal._by_signal = _read_parts(signals, objective)
        return goal

    def use(self, uses: Mapping[str, float]) -> None:
        """A request was served that uses this, by the names of constraints; eq. (bank)."""
        for one in self.constraints:
            if one.name in uses:
                self._move(one.name, uses[one.name], bank_rule(one))

    def learn(self, arm: OfArm, name: str, value: float) -> None:
        """A request of an arm said what a signal was."""
        n, total, squares = arm.get(name, (0, 0.0, 0.0))
        arm[name] = [n + 1, total + value, squares + value * value]
        for named, above, rule in self._by_signal.get(name, ()):
            use = value
            if above is not None:  # as ``Constraint.use`` has it
                use = 1.0 if value > above else 0.0
                count, used = arm.get(named, (0, 0.0))
                arm[named] = [count + 1, used + use]
            if rule is not None:
                self._move(named, use, rule)

    def _move(self, name: str, use: float, rule: BankRule) -> None:
        banks, key = self.banks, rule[4]
        banks[name] = moved(banks.get(name, 0.0), use, rule)
        if key is not None:
            banks[key] = lately_after(banks.get(key, ON_BUDGET), use, rule[3])


def _parts(signals: Mapping[str, Any] | None, objective: Mapping[str, Any] | None) -> _Parts:
    """The constraints, and those of each signal with how their banks move when it is reported.

    Of each its name, the value of a limit, and that. It is None for a price list: what it says was
    used when the request was served.
    """
    if objective is None:
        return (), {}
    constraints = Objective.restore(objective).constraints
    known = {name for name, one in (signals or {}).items() if one.get("known") is not None}
    by_signal: _BySignal = {}
    for one in constraints:
        rule = None if one.signal in known else bank_rule(one)
        by_signal.setdefault(one.signal, []).append((one.name, one.above, rule))
    return constraints, by_signal


@lru_cache(256)  # they hardly ever change, and every report needs them
def _read_parts(signals: str | None, objective: str | None) -> _Parts:
    return _parts(*(None if text is None else json.loads(text) for text in (signals, objective)))


class ReportCount(RewardCount):
    """What reports for pulls of one study do, for a database that is told of them all at once.

    Args:
        seq: The study's, before.
        total: The sum of all its rewards, before.
        told: The pulls: the columns of ``Told``, then the signals of the pull and of its arm.
        at: The time of the reports.
        goal: The study's; its banks are moved.
    """

    def __init__(
        self, seq: int, total: float, told: Iterable[Sequence[Any]], at: float, goal: Goal
    ) -> None:
        rows = list(told)
        super().__init__(seq, total, [row[:6] for row in rows])
        self._at, self._goal = at, goal
        self._of_pulls: dict[int, OfPull] = {row[0]: json.loads(row[6] or "{}") for row in rows}
        self._of_arms: dict[int, OfArm] = {row[1]: json.loads(row[7] or "{}") for row in rows}
        self.pulls: dict[int, OfPull] = {}  # those with new signals
        self.arms: dict[int, OfArm] = {}

    @property
    def is_news(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.fresh or self.pulls)

    def report(self, reports: Sequence[Report]) -> list[Reported | ImaboError | None]:
        """Count reports in order of their numbers; says for each, as given, what became of it."""
        found: list[Reported | ImaboError | None] = [None] * len(reports)
        for place in sorted(range(len(reports)), key=lambda place: reports[place].number):
            if reports[place].number in self._pulls:
                found[place] = self._report(reports[place])
        return found

    def _report(self, report: Report) -> Reported | ImaboError:
        number = report.number
        pull, known = self._pulls[number], self._of_pulls[number]
        for name, value in report.signals.items():
            if name in known and known[name][0] != value:
                return signal_conflict(number, name, known[name][0], value)
        rewarded = None
        if report.reward is not None:
            told = self._add(pull, report.reward)
            if isinstance(told, ImaboError):
                return told
            rewarded = told
        fresh = {name: one for name, one in report.signals.items() if name not in known}
        arm = self._of_arms[pull.arm]
        for name, value in fresh.items():
            known[name] = [value, self._at, self._seq + 1]
            self._goal.learn(arm, name, value)
        if fresh:
            self.pulls[number], self.arms[pull.arm] = known, arm
        return Reported(pull.arm, rewarded, fresh)


def used_by(arms: Iterable[Mapping[str, Sequence[float]] | None]) -> dict[str, list[float]]:
    """What requests of several arms used together: how many said so, and the sum, by name.

    Example:
        >>> used_by([{"cost": [2, 3.0, 5.0]}, None, {"cost": [1, 4.0, 16.0], "s > 2": [1, 1.0]}])
        {'cost': [3, 7.0], 's > 2': [1, 1.0]}
    """
    found: dict[str, list[float]] = {}
    for signals in arms:
        for name, (n, total, *_) in (signals or {}).items():
            known = found.setdefault(name, [0, 0.0])
            known[0] += n
            known[1] += total
    return found


def values_of(signals: OfPull | None) -> dict[str, float]:
    """The signals of a pull by name."""
    return {name: one[0] for name, one in (signals or {}).items()}


def told_at(signals: OfPull | None, seq: int) -> dict[str, float]:
    """Those that came with one change of the study."""
    return {name: one[0] for name, one in (signals or {}).items() if one[2] == seq}


def kept_banks(
    old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, banks: Mapping[str, float]
) -> Banks:
    """The banks after the objective changed: those of budgets that are as they were.

    Example:
        >>> old = Objective(budgets={"cost": 2.0, "tokens": 100.0}).document()
        >>> new = Objective(budgets={"cost": 3.0, "tokens": 100.0}).document()
        >>> kept_banks(old, new, {"cost": 5.0, "tokens": -1.0})
        {'tokens': -1.0}
    """
    if old is None or new is None:
        return {}
    was, is_now = Objective.restore(old).constraints, Objective.restore(new).constraints
    same = [one.name for one in is_now if one in was]
    kept = (key for name in same for key in (name, lately_key(name)))
    return {key: banks[key] for key in kept if key in banks}
