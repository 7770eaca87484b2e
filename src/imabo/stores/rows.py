"""Rows of a database as the records of the contract, and values as the JSON that rows hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from imabo.arms import Ints, Restart, Tally, Totals
from imabo.space import Config
from imabo.stores.base import (
    ArmRecord,
    LogEntry,
    Milestone,
    NewPull,
    PullRecord,
    Snapshot,
    StudyRecord,
)


def dump(value: object) -> str:
    """A value as compact JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def dump_or_none(value: object) -> str | None:
    """A value as JSON; None stays None."""
    return None if value is None else dump(value)


def numbered(pulls: Sequence[NewPull], first: int) -> list[NewPull]:
    """Pulls that count on from a number, whatever theirs was."""
    return [
        pull if pull.number == number else replace(pull, number=number)
        for number, pull in enumerate(pulls, start=first)
    ]


def to_snapshot(name: str, facts: Sequence[Any], arms: Sequence[ArmRecord]) -> Snapshot:
    """A study, from its columns.

    Args:
        name: Its name.
        facts: Token, seed, policy, oracle, ends of the rewards, window, time of creation, seq; four
            totals, marked_at, last_at; the first space; version, space and the four counts of its
            restart; the beliefs, the memory and the time of the oldest pending pull.
        arms: Its arms.
    """
    token, seed, policy, oracle, low, high, window_s, created_at, seq, *rest = facts
    *totals, marked_at, last_at, first, version, space = rest[:9]
    *restart, beliefs, memory, oldest = rest[9:]
    return Snapshot(
        study=StudyRecord(
            name=name,
            token=token,
            seed=int(seed),
            space=json.loads(first),
            policy=json.loads(policy),
            oracle=json.loads(oracle),
            reward_range=None if low is None else (low, high),
            window_s=window_s,
            created_at=created_at,
        ),
        seq=seq,
        space_version=version,
        space=json.loads(space),
        restart=Restart(*restart),
        totals=Totals(*totals),
        marked_at=marked_at,
        arms=arms,
        last_at=last_at,
        oldest_pending_at=oldest,
        beliefs=None if beliefs is None else json.loads(beliefs),
        memory=None if memory is None else json.loads(memory),
    )


class ArmRows(Sequence[ArmRecord]):
    """Arms as the rows that a database gave, each made into a record when it is looked at.

    Those who look at whole columns, as figures do, need no records; there may be thousands.

    Args:
        rows: For each arm its own columns and then those of its tally, as ``ArmRows.COLUMNS``.
        known: Configurations by the arms' ids that need not be read from the rows.

    Example:
        >>> row = (1, '{"x":0.5}', "oracle", "active", None, None, None, 9.0)
        >>> arms = ArmRows([(*row, 3, 2, 1, 1.5, 1.2, 0, 0.0)])
        >>> arms.column("n_pulls"), arms.configs(), arms[0].tally.n_rewards
        ([3], [{'x': 0.5}], 2)
    """

    COLUMNS: Final = (
        *("id", "config", "origin", "state", "retired_from", "parent", "mutated", "admitted_at"),
        *("n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares"),
        *("marked_rewards", "marked_sum"),
    )

    def __init__(
        self, rows: Sequence[Sequence[Any]], known: Mapping[int, Config] | None = None
    ) -> None:
        self._rows = rows
        self._known = known or {}
        self._records: list[ArmRecord | None] = [None] * len(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> ArmRecord: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ArmRecord]: ...
    def __getitem__(self, place: int | slice) -> ArmRecord | Sequence[ArmRecord]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        record = self._records[place]
        if record is None:
            row = self._rows[place]
            known = self._known.get(row[0])
            config = json.loads(row[1]) if known is None else dict(known)
            record = self._records[place] = _arm(row, config)
        return record

    def __iter__(self) -> Iterator[ArmRecord]:
        if None in self._records:
            for place, config in enumerate(self.configs()):
                if self._records[place] is None:
                    self._records[place] = _arm(self._rows[place], dict(config))
        return (record for record in self._records if record is not None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))

    def column(self, name: str) -> list[Any]:
        """One column of ``COLUMNS``, an entry for each arm."""
        place = self.COLUMNS.index(name)
        return [row[place] for row in self._rows]

    def configs(self) -> list[Config]:
        """The configurations; do not change them."""
        unknown = [row for row in self._rows if row[0] not in self._known]
        if not unknown:
            return [self._known[row[0]] for row in self._rows]
        # One call for all of them: most of the cost of so short a text is the call.
        read = iter(json.loads(f"[{','.join([row[1] for row in unknown])}]"))
        return [self._known[row[0]] if row[0] in self._known else next(read) for row in self._rows]

    def updated(self, newer: ArmRows, known: Mapping[int, Config]) -> ArmRows:
        """These arms with the newer rows of some of them, and with arms that came in since."""
        if not self:
            return ArmRows(newer._rows, known)
        rows = {row[0]: row for row in self._rows}
        rows.update((row[0], row) for row in newer._rows)
        return ArmRows([rows[arm] for arm in sorted(rows)], known)


def _arm(row: Sequence[Any], config: Config) -> ArmRecord:
    arm, _, origin, state, retired_from, parent, mutated, admitted_at, *tally = row
    return ArmRecord(
        id=arm,
        config=config,
        origin=origin,
        state=state,
        retired_from=retired_from,
        parent=parent,
        mutated=mutated,
        admitted_at=admitted_at,
        tally=Tally(*tally),
    )


class PullCounts(Sequence[int]):
    """The pulls of arm 1, 2, 3, ... as a database has them, read when they are looked at.

    Equal to a tuple of the same numbers. ``numpy.asarray`` gives them without a copy.

    Args:
        text: A list of whole numbers as JSON, without spaces.

    Example:
        >>> counts = PullCounts("[3,1,2]")
        >>> counts == (3, 1, 2), sum(counts), len(PullCounts("[]"))
        (True, 6, 0)
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _array(self) -> Ints:
        inside = self._text[1:-1]
        found = np.fromstring(inside, dtype=np.int64, sep=",") if inside else np.empty(0, np.int64)
        found.flags.writeable = False
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._array, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...
    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        if isinstance(place, slice):
            return tuple(self._array[place].tolist())
        return int(self._array[place])

    def __iter__(self) -> Iterator[int]:
        return iter(self._array.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | PullCounts) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def to_pull(row: Sequence[Any]) -> PullRecord:
    """A pull, from its columns."""
    number, arm, reason, state, served_at, reward, rewarded_at, context = row
    facts = None if context is None else json.loads(context)
    return PullRecord(number, arm, reason, state, served_at, reward, rewarded_at, facts)


def to_change(row: Sequence[Any]) -> LogEntry:
    """A change by hand, from its columns in the log."""
    seq, kind, at, data = row
    return LogEntry(seq, kind, at, data=json.loads(data))


def to_milestone(row: Sequence[Any]) -> Milestone:
    """A milestone, from its columns."""
    at, n_pulls, n_rewards, n_pending, reward_sum, reward_squares, n_active, arm_pulls = row
    return Milestone(
        at=at,
        n_pulls=n_pulls,
        n_rewards=n_rewards,
        n_pending=n_pending,
        reward_sum=reward_sum,
        reward_squares=reward_squares,
        n_active=n_active,
        arm_pulls=PullCounts(arm_pulls),
    )
