"""Serving requests: their pulls are decided one after the other and committed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from imabo.engine.decisions import Decisions, Draft
from imabo.engine.replica import Replica
from imabo.engine.requests import Request, Served
from imabo.errors import KeyConflict
from imabo.oracles.base import Proposal
from imabo.stores.base import PullRecord, StaleView


class Asks:
    """Takes requests, has their pulls decided, and commits these.

    Args:
        replica: The study.
        decisions: What decides.
    """

    def __init__(self, replica: Replica, decisions: Decisions) -> None:
        self._replica = replica
        self._decisions = decisions

    def serve(self, requests: Sequence[Request]) -> list[Served | KeyConflict]:
        """Decide the pulls of all requests one after the other and commit them together.

        A request whose key is known gets the pulls that it got the first time.
        """
        if self._decisions.is_shared and not self._replica.is_torn:
            served = self._serve_loosely(requests)
            if served is not None:
                return served
            if not self._replica.store.turns_hold_all:
                return self._replica.in_turn(lambda now: self._serve(requests, now))
            self._replica.refresh()
        return self._replica.retrying(lambda now: self._serve(requests, now))

    def follow(self, arm: int, reason: str, proposal: Proposal | None, context: Any) -> int:
        """Serve what a log says was served, admitting the arm when it came with a proposal.

        For the logs of services, whose proposals were made in the background, from views that the
        log does not have. Returns the id of the arm.
        """
        return self._replica.retrying(lambda now: self._follow(arm, reason, proposal, context, now))

    def _follow(
        self, arm: int, reason: str, proposal: Proposal | None, context: Any, now: float
    ) -> int:
        draft = Draft()
        served = self._decisions.follow(arm, reason, proposal, context, draft, now)
        self._commit(draft, now)
        return served

    def _serve(self, requests: Sequence[Request], now: float) -> list[Served | KeyConflict]:
        replica = self._replica
        keys = [request.key for request in requests if request.key is not None]
        known = replica.store.keyed(replica.record.name, keys) if keys else {}
        draft = Draft(n_left=sum(request.count for request in requests))
        served = self._decide_all(requests, known, draft, now)
        if draft.pulls:
            self._commit(draft, now)
        return served

    def _serve_loosely(self, requests: Sequence[Request]) -> list[Served | KeyConflict] | None:
        """Serve from the view as it is, taking all keys to be new; None when that does not do."""
        replica = self._replica
        now = replica.now()
        draft = Draft(n_left=sum(request.count for request in requests), is_loose=True)
        try:
            served = self._decide_all(requests, {}, draft, now)
            placed = replica.store.serve_known(
                replica.record.name, token=replica.record.token, at=now, pulls=draft.pulls
            )
        except StaleView:
            self._take_back(draft)
            return None
        except BaseException:
            replica.recover()
            raise
        replica.is_torn = False
        replica.last_at = placed.at
        if placed.seq == replica.seq + 1:
            replica.seq = placed.seq  # nobody else wrote: the view is the newest
        else:
            _renumber(served, placed.first - draft.pulls[0].number, placed.at)
        return served

    def _decide_all(
        self,
        requests: Sequence[Request],
        known: dict[str, list[PullRecord]],
        draft: Draft,
        now: float,
    ) -> list[Served | KeyConflict]:
        served: list[Served | KeyConflict] = []
        for request in requests:
            before = None if request.key is None else known.get(request.key)
            if before is None:
                made = self._decisions.decide(request, draft, now)
                if request.key is not None:
                    known[request.key] = made
                served.append(Served(made))
            elif len(before) == request.count:
                served.append(Served(before, is_new=False))
            else:
                served.append(_key_conflict(request, len(before)))
        return served

    def _commit(self, draft: Draft, now: float) -> None:
        replica = self._replica
        try:
            seq = replica.store.serve(
                replica.record.name,
                seq=replica.seq,
                at=now,
                pulls=draft.pulls,
                arms=draft.arms,
                mark_at=draft.mark_at,
                beliefs=draft.beliefs,
                memory=draft.memory,
                token=replica.record.token,
            )
        except StaleView:
            if draft.is_plain:
                # Nothing but counts to take back: cheaper than reading the whole study again.
                self._take_back(draft)
            raise
        replica.seq, replica.last_at = seq, now
        replica.is_torn = False

    def _take_back(self, draft: Draft) -> None:
        view = self._replica.view
        for pull in draft.pulls:
            view.take_back_pull(view.row_of(pull.arm))
        self._replica.is_torn = False


def _renumber(served: Sequence[Served | KeyConflict], shift: int, at: float) -> None:
    """Give new pulls the numbers and the time that the store gave them."""
    for one in served:
        if isinstance(one, Served) and one.is_new:  # a repetition has the list of the first
            one.pulls[:] = [
                replace(pull, number=pull.number + shift, served_at=at) for pull in one.pulls
            ]


def _key_conflict(request: Request, count: int) -> KeyConflict:
    return KeyConflict(
        f"the key {request.key!r} was used to ask for {count} and now for {request.count} pulls",
        "a key stands for one request, which gets the same pulls when it is repeated",
        "repeat the request as it was, or use a new key",
    )
