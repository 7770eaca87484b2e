"""Rows of a database as the records of the contract, and values as the JSON that rows hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from imabo.arms import ArmState, Ints, Origin, Restart, Tally, Totals
from imabo.space import Config
from imabo.stores.base import ArmRecord, KeptLift, Settings, Snapshot, StudyRecord
from imabo.stores.history import (
    LogEntry,
    Milestone,
    OutcomeRecord,
    PullRecord,
    SignalledRecord,
)
from imabo.stores.keys import KeyRecord
from imabo.stores.signalling import told_at, values_of


def dump(value: object) -> str:
    """A value as compact JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def dump_or_none(value: object) -> str | None:
    """A value as JSON; None stays None."""
    return None if value is None else dump(value)


def load_or_none(text: str | None) -> Any:
    """A value from its JSON; None stays None."""
    return None if text is None else json.loads(text)


class StudyHead(NamedTuple):
    """What a write needs to know of its study."""

    id: int
    token: str
    seq: int
    n_pulls: int
    reward_sum: float
    last_at: float
    rollout_seq: int


class StudyRow(NamedTuple):
    """A study; documents are JSON, in rows below as well."""

    id: int
    token: str
    seed: str
    policy: str
    oracle: str
    reward_low: float | None
    reward_high: float | None
    window_s: float | None
    created_at: float
    seq: int
    n_pulls: int
    n_rewards: int
    n_pending: int
    reward_sum: float
    marked_at: int
    last_at: float
    revision: int | None
    rollout_seq: int
    n_tuned: int
    n_control: int
    signals: str | None
    objective: str | None
    banks: str | None


class SpaceRow(NamedTuple):
    """A version of a study's space, with the counts at its restart."""

    version: int
    space: str
    n_pulls: int
    n_rewards: int
    n_pending: int
    n_arms: int


class Beside(NamedTuple):
    """What other tables have of a study: its first space, newer documents, who waits longest."""

    first_space: str
    beliefs: str | None
    memory: str | None
    rollout: str | None
    oldest_pending_at: float | None


def to_snapshot(
    name: str, study: StudyRow, latest: SpaceRow, beside: Beside, arms: Sequence[ArmRecord]
) -> Snapshot:
    """A study, from its rows."""
    low, high = study.reward_low, study.reward_high
    return Snapshot(
        study=StudyRecord(
            name=name,
            token=study.token,
            seed=int(study.seed),
            space=json.loads(beside.first_space),
            policy=json.loads(study.policy),
            oracle=json.loads(study.oracle),
            reward_range=None if low is None or high is None else (low, high),
            window_s=study.window_s,
            created_at=study.created_at,
            revision=study.revision,
            signals=load_or_none(study.signals),
            objective=load_or_none(study.objective),
        ),
        seq=study.seq,
        space_version=latest.version,
        space=json.loads(latest.space),
        restart=Restart(latest.n_pulls, latest.n_rewards, latest.n_pending, latest.n_arms),
        totals=Totals(study.n_pulls, study.n_rewards, study.n_pending, study.reward_sum),
        marked_at=study.marked_at,
        arms=arms,
        last_at=study.last_at,
        oldest_pending_at=beside.oldest_pending_at,
        beliefs=load_or_none(beside.beliefs),
        memory=load_or_none(beside.memory),
        rollout=load_or_none(beside.rollout),
        rollout_seq=study.rollout_seq,
        n_tuned=study.n_tuned,
        n_control=study.n_control,
        banks=load_or_none(study.banks) or {},
    )


def of_study(study: StudyRecord) -> dict[str, Any]:
    """A new study's columns."""
    low, high = study.reward_range or (None, None)
    return {
        "name": study.name,
        "token": study.token,
        "seed": str(study.seed),
        "policy": dump(study.policy),
        "oracle": dump(study.oracle),
        "reward_low": low,
        "reward_high": high,
        "window_s": study.window_s,
        "created_at": study.created_at,
        "last_at": study.created_at,
        "revision": study.revision,
        "signals": dump_or_none(study.signals),
        "objective": dump_or_none(study.objective),
    }


def of_settings(settings: Settings) -> dict[str, Any]:
    """The columns of a study that a change replaces."""
    low, high = settings.reward_range or (None, None)
    columns: dict[str, Any] = {
        "reward_low": low,
        "reward_high": high,
        "window_s": settings.window_s,
    }
    documents = {"signals": settings.signals, "objective": settings.objective}
    columns |= {name: dump_or_none(document) for name, document in documents.items()}
    return columns | {"revision": settings.revision}


def of_space(study: int, space: Mapping[str, Any], restart: Restart) -> dict[str, Any]:
    """The columns of a new version of a space, but its number."""
    return {"study": study, "space": dump(space), **asdict(restart)}


def of_key(key: KeyRecord) -> dict[str, Any]:
    """An access key's columns."""
    return asdict(key) | {"studies": dump_or_none(key.studies)}


def to_key(row: Sequence[Any]) -> KeyRecord:
    """An access key, from the columns of its record."""
    key_id, name, role, studies, *rest = row
    named = None if studies is None else tuple(json.loads(studies))
    return KeyRecord(key_id, name, role, named, *rest)


class ArmRow(NamedTuple):
    """An arm with its counters."""

    id: int
    config: str
    origin: Origin
    state: ArmState
    retired_from: ArmState | None
    parent: int | None
    mutated: str | None
    admitted_at: float
    n_pulls: int
    n_rewards: int
    n_pending: int
    reward_sum: float
    reward_squares: float
    marked_rewards: int
    marked_sum: float
    signals: str | None

    def record(self, config: Config) -> ArmRecord:
        """The arm as a value."""
        counts: Any = self[_TALLY_AT:-1]
        return ArmRecord(
            id=self.id,
            config=config,
            origin=self.origin,
            state=self.state,
            retired_from=self.retired_from,
            parent=self.parent,
            mutated=self.mutated,
            admitted_at=self.admitted_at,
            tally=Tally(*counts),
            signals=load_or_none(self.signals),
        )


_TALLY_AT: Final = ArmRow._fields.index("n_pulls")


def columns(of: type, table: str = "") -> str:
    """The columns that a row or a record is made of, as a statement names them, in order.

    Example:
        >>> columns(SpaceRow)
        'version, space, n_pulls, n_rewards, n_pending, n_arms'
    """
    named = getattr(of, "_fields", None) or [field.name for field in fields(of)]
    named = ['"group"' if name == "group" else name for name in named]  # a word of SQL
    return ", ".join(f"{table}.{name}" if table else name for name in named)


class ArmRows(Sequence[ArmRecord]):
    """Arms as the rows that a database gave, each made into a record when it is looked at.

    Those who look at whole columns, as figures do, need no records; there may be thousands.

    Args:
        rows: For each arm its own columns and then those of its tally, as ``ArmRows.COLUMNS``.
        known: Configurations by the arms' ids that need not be read from the rows.

    Example:
        >>> row = (1, '{"x":0.5}', "oracle", "active", None, None, None, 9.0)
        >>> arms = ArmRows([(*row, 3, 2, 1, 1.5, 1.2, 0, 0.0, None)])
        >>> arms.column("n_pulls"), arms.configs(), arms[0].tally.n_rewards
        ([3], [{'x': 0.5}], 2)
    """

    COLUMNS: Final = ArmRow._fields

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
            record = self._records[place] = ArmRow._make(row).record(config)
        return record

    def __iter__(self) -> Iterator[ArmRecord]:
        if None in self._records:
            for place, config in enumerate(self.configs()):
                if self._records[place] is None:
                    self._records[place] = ArmRow._make(self._rows[place]).record(dict(config))
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
    """A pull, from the columns of its record; the context is JSON."""
    number, arm, reason, state, served_at, reward, rewarded_at, text, *rest, told = row
    rest.append({} if told is None else values_of(json.loads(told)))
    context = load_or_none(text)
    return PullRecord(number, arm, reason, state, served_at, reward, rewarded_at, context, *rest)


def by_key(rows: Iterable[Sequence[Any]]) -> dict[str, list[PullRecord]]:
    """Pulls with keys, each key's in the order of the rows."""
    found: dict[str, list[PullRecord]] = {}
    for pull in map(to_pull, rows):
        if pull.key is not None:
            found.setdefault(pull.key, []).append(pull)
    return found


def to_entry(row: Sequence[Any]) -> LogEntry:
    """An entry of the log, from the columns of its record; the data is JSON."""
    seq, kind, at, pull, arm, reason, reward, text, key, part, *coin = row
    data = load_or_none(text)
    if kind == "ask":
        data = ask_data(data, key, part)
    elif kind in ("tell", "signal") and data is not None:
        if kind == "signal":  # as it was written: a database may round what it reads from JSON
            at = next(when for _, when, told in data.values() if told == seq)
        signals = told_at(data, seq)
        data = {"signals": signals} if signals else None
    return LogEntry(seq, kind, at, pull or None, arm, reason, reward, data, *coin)


def to_outcome(row: Sequence[Any]) -> OutcomeRecord:
    """A reward of a group, from the columns of its record in order."""
    return OutcomeRecord(*row)


def to_lift(row: Sequence[Any]) -> KeptLift:
    """What rewards add up to, from the columns of its record; the document is JSON."""
    since, seq, number, text, signal = row
    return KeptLift(since, seq, number, json.loads(text), signal)


def to_signalled(row: Sequence[Any]) -> SignalledRecord:
    """A request of a group with its signals, from the columns of its record; these are JSON."""
    seq, number, group, propensity, text = row
    return SignalledRecord(seq, number, group, propensity, json.loads(text))


def ask_data(context: object, key: str | None, part: int) -> dict[str, Any] | None:
    """What an ask of the log came with; None when that is nothing."""
    data = {"context": context, "key": key, "part": part or None}
    return {name: value for name, value in data.items() if value is not None} or None


def to_change(row: Sequence[Any]) -> LogEntry:
    """A change by hand, from its columns in the log."""
    seq, kind, at, data = row
    return LogEntry(seq, kind, at, data=json.loads(data))


def to_milestone(row: Sequence[Any]) -> Milestone:
    """A milestone, from the columns of its record; the last are the arms' pulls and signals."""
    *_, arm_pulls, signals = row
    made = Milestone(*row)
    return replace(made, arm_pulls=PullCounts(arm_pulls), signals=load_or_none(signals))
