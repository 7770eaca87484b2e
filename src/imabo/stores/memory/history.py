"""The past of a study in memory."""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from imabo.stores.history import (
    History,
    LogEntry,
    Milestone,
    OutcomeRecord,
    PullRecord,
    SignalledRecord,
)
from imabo.stores.memory.rows import REWARDED, AllRows, StudyRows
from imabo.stores.rows import ask_data
from imabo.stores.signalling import told_at


class MemoryHistory(History):
    """See ``History``."""

    _all: AllRows

    def spaces(self, name: str) -> list[Mapping[str, Any]]:
        with self._all.lock:
            return list(self._all.study(name).spaces)

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        with self._all.lock:
            study = self._all.study(name)
            kept = (i for i in range(max(after, 0), len(study.arm)) if study.kept(i))
            return [study.pull(i) for i in islice(kept, limit)]

    def pull(self, name: str, number: int) -> PullRecord | None:
        with self._all.lock:
            study = self._all.study(name)
            return study.pull(number - 1) if study.kept(number - 1) else None

    def keyed(self, name: str, keys: Sequence[str]) -> dict[str, list[PullRecord]]:
        with self._all.lock:
            study = self._all.study(name)
            known = {key: study.keyed[key] for key in keys if key in study.keyed}
            return {key: [study.pull(i) for i in places] for key, places in known.items()}

    def declaration(self, name: str) -> Mapping[str, Any] | None:
        with self._all.lock:
            return self._all.study(name).declared

    def first_rewards(self, name: str, arms: Sequence[int]) -> dict[int, float]:
        with self._all.lock:
            study = self._all.study(name)
            places = {arm: study.admitted_by[arm] for arm in arms if arm in study.admitted_by}
            came = {arm: i for arm, i in places.items() if study.state[i] == REWARDED}
            return {arm: study.reward[i] for arm, i in came.items()}

    def outcomes(
        self, name: str, *, after: tuple[int, int] = (0, 0), limit: int = 1000
    ) -> list[OutcomeRecord]:
        with self._all.lock:
            study = self._all.study(name)
            # As they came in is in order of the seq, and of the numbers within one.
            start = bisect_right(
                study.outcomes, after, key=lambda i: (study.rewarded_seq[i], i + 1)
            )
            return [
                OutcomeRecord(
                    study.rewarded_seq[i], i + 1, study.rewarded_at[i], study.reward[i],
                    *study.coins[i],
                )
                for i in study.outcomes[start : start + limit]
            ]  # fmt: skip

    def signalled(
        self, name: str, *, after: tuple[int, int] = (0, 0), limit: int = 1000
    ) -> list[SignalledRecord]:
        with self._all.lock:
            study = self._all.study(name)
            start = bisect_right(study.signalled, (after[0], after[1] - 1))
            newest = (
                (seq, i)
                for seq, i in islice(study.signalled, start, None)
                if study.signalled_seq[i] == seq
            )
            return [
                SignalledRecord(seq, i + 1, *study.coins[i], copy.deepcopy(study.signals[i]))
                for seq, i in islice(newest, limit)
            ]

    def log(self, name: str) -> Iterator[LogEntry]:
        with self._all.lock:
            study = self._all.study(name)
            entries = list(study.events)
            for i in filter(study.kept, range(len(study.arm))):
                pull = study.pull(i)
                data = ask_data(pull.context, pull.key, pull.part)
                what = (pull.number, pull.arm, pull.reason)
                seq, rewarded_at = study.served_seq[i], pull.rewarded_at
                coin = pull.group, pull.propensity
                entries.append(LogEntry(seq, "ask", pull.served_at, *what, None, data, *coin))
                if rewarded_at is not None:
                    seq, reward = study.rewarded_seq[i], pull.reward
                    told = (
                        {"signals": signals}
                        if (signals := told_at(study.signals.get(i), seq))
                        else None
                    )
                    entries.append(
                        LogEntry(seq, "tell", rewarded_at, pull.number, reward=reward, data=told)
                    )
                entries += _signal_entries(study, i, 0 if rewarded_at is None else seq)
        yield from sorted(entries, key=lambda entry: (entry.seq, entry.pull or 0))

    def changes(self, name: str, *, limit: int = 1000) -> list[LogEntry]:
        with self._all.lock:
            newest = (
                entry for entry in reversed(self._all.study(name).events) if entry.kind != "expire"
            )
            return list(islice(newest, limit))[::-1]

    def milestones(self, name: str) -> list[Milestone]:
        with self._all.lock:
            return list(self._all.study(name).milestones.values())


def _signal_entries(study: StudyRows, position: int, rewarded_seq: int) -> list[LogEntry]:
    """The signals of a pull that came without its reward, those of one change together."""
    told = study.signals.get(position, {})
    moments = {int(seq): at for _, at, seq in told.values() if seq != rewarded_seq}
    return [
        LogEntry(seq, "signal", at, position + 1, data={"signals": told_at(told, seq)})
        for seq, at in moments.items()
    ]
