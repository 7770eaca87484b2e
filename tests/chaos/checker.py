"""The checker: what the clients know, against what the database has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime

from imabo.arms import make_id
from imabo.documents import to_datetime
from imabo.stores import Store, open_store
from imabo.stores.base import PullRecord
from imabo.testing.audit import audit
from tests.chaos.direct import Row, read_pulls
from tests.chaos.history import Asked, History, Pulled, Told


def check(history: History, url: str, *, is_shared: bool = False) -> list[str]:
    """All that is wrong, nothing when all is well. The servers must be gone."""
    found = list(history.contradictions)
    with closing(open_store(url)) as store:
        for name in store.names():
            found += [
                f"audit of {name}: {violation}"
                for violation in audit(store, name, is_shared=is_shared)
            ]
            found += [f"study {name}: {what}" for what in _Comparison(history, store, url, name)]
        known = {pull["id"] for asked in history.asks for pull in asked.pulls or ()}
        found += [
            f"history: pull {pull} was never handed out" for pull in history.tolds.keys() - known
        ]
    return found


def stamp(at: datetime) -> str:
    """A time as the API shows it."""
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"


class _Comparison:
    """One study, on both sides."""

    def __init__(self, history: History, store: Store, url: str, name: str) -> None:
        snapshot = store.load(name)
        self._token = snapshot.study.token
        self._configs = {arm.id: arm.config for arm in snapshot.arms}
        self._rows = read_pulls(url, name)
        self._pulls: dict[str, PullRecord] = {}
        after = 0
        while page := store.pulls(name, after=after):
            self._pulls |= {make_id(self._token, pull.number): pull for pull in page}
            after = page[-1].number
        self._asks = [asked for asked in history.asks if asked.study == name]
        self._tolds, self._costs = history.tolds, history.costs
        self._handed_out = {pull["id"]: asked for asked in self._asks for pull in asked.pulls or ()}

    def __iter__(self) -> Iterator[str]:
        yield from self._check_rows()
        yield from self._check_keys()
        yield from self._check_handed_out()
        for pull, record in self._pulls.items():
            yield from _check_reward(pull, record.reward, self._tolds.get(pull, Told()))
            cost, told = record.signals.get("cost"), self._costs.get(pull, Told())
            yield from (f"signal: {what}" for what in _check_reward(pull, cost, told))

    def _check_rows(self) -> Iterator[str]:
        """The table itself has what the store says."""
        told = [(pull.number, pull.arm, pull.state, pull.reward) for pull in self._pulls.values()]
        if told != [(row.number, row.arm, row.state, row.reward) for row in self._rows]:
            yield "the store and its table differ"
        if [pull.signals for pull in self._pulls.values()] != [row.values for row in self._rows]:
            yield "the store and its table differ in signals"

    def _check_keys(self) -> Iterator[str]:
        """Every key that was sent has its pulls or none; no other pull has a key."""
        by_key: dict[str, list[Row]] = {}
        n_keyless = 0
        for row in self._rows:
            if row.key is None:
                n_keyless += 1
            else:
                by_key.setdefault(row.key, []).append(row)
        for asked in self._asks:
            if asked.key is not None:
                yield from self._check_key(asked, by_key.pop(asked.key, []))
        for key in by_key:
            yield f"key {key} was never sent"
        keyless = [asked for asked in self._asks if asked.key is None]
        least = sum(asked.count for asked in keyless if asked.pulls is not None)
        most = sum(asked.count for asked in keyless)
        if not least <= n_keyless <= most:
            yield f"{n_keyless} pulls have no key, but {least} to {most} were asked for"

    def _check_key(self, asked: Asked, rows: list[Row]) -> Iterator[str]:
        rows.sort(key=lambda row: row.part)
        ids = [make_id(self._token, row.number) for row in rows]
        if [row.part for row in rows] != list(range(asked.count if rows else 0)):
            yield f"key {asked.key} has the parts {rows} of {asked.count}"
        if asked.pulls is not None and ids != [pull["id"] for pull in asked.pulls]:
            yield f"key {asked.key} has {ids} and was answered {asked.pulls}"

    def _check_handed_out(self) -> Iterator[str]:
        n_handed_out = 0
        for asked in self._asks:
            for pull in asked.pulls or ():
                n_handed_out += 1
                record = self._pulls.get(pull["id"])
                if record is None:
                    yield f"pull {pull['id']} was acknowledged and is not there"
                elif (shown := self._shown(pull, record)) != pull:
                    yield f"pull {pull} was acknowledged and is {shown}"
        if n_handed_out != len(self._handed_out):
            yield "one pull was handed out to two asks"

    def _shown(self, pull: Pulled, record: PullRecord) -> Pulled:
        return pull | {
            "arm": record.arm,
            "config": self._configs.get(record.arm),
            "reason": record.reason,
            "context": record.context,
            "served_at": stamp(to_datetime(record.served_at)),
        }


def _check_reward(pull: str, reward: float | None, told: Told) -> Iterator[str]:
    """Acknowledged: there. Refused: not there, but another. Sent, without an answer: either."""
    if told.acknowledged and told.acknowledged != {reward}:
        yield f"pull {pull}: {told.acknowledged} was acknowledged and {reward} is there"
    if told.refused and (reward is None or reward in told.refused):
        yield f"pull {pull}: {told.refused} was refused and {reward} is there"
    if reward is not None and reward not in told.sent:
        yield f"pull {pull}: {reward} is there and was never sent"
