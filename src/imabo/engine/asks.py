"""Requests: checked once, their pulls decided from the view one after the other, and committed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Protocol

from imabo.arms import ActiveSet, Pull, make_id
from imabo.checks import MAX_COUNT, checked_text
from imabo.control import Rollout, coin_of, drawn
from imabo.documents import own_key
from imabo.drift import remember
from imabo.engine.drafts import Draft
from imabo.engine.replica import Replica
from imabo.engine.requests import Asked, CheckedRequest, Request
from imabo.errors import InvalidSetting, KeyConflict, NothingToServe
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new
from imabo.policies.base import Decision, Draws, Expand, Policy, Rounds, Serve
from imabo.settings import check_count
from imabo.space.scalars import show
from imabo.stores.base import NewPull, Placed, PullRecord, StaleView

_LONGEST_CONTEXT: Final = 16_384  # bytes as JSON
_chance: Final = random.SystemRandom()


class Proposer(Protocol):
    """Has proposals ready, so that no request waits for an oracle."""

    @property
    def n_ready(self) -> int:
        """How many proposals wait to be taken."""

    def take(self, view: ActiveSet, space_version: int) -> Proposal | None:
        """A proposal that is not an arm of the view yet, or None when none is ready."""


class Asks:
    """Takes requests, decides their pulls and has the replica commit them.

    With a proposer, in services, the view may be a moment old when pulls of known arms are decided
    from it: every process hears of the others' changes within a second. New arms are always decided
    in turn.

    Args:
        replica: The study.
        policy: Decides which arm is served, and when a new one is due.
        oracle: Proposes new arms, unless there is a proposer.

    Attributes:
        proposer: What has proposals ready, in services; it takes the oracle's place.
        watches: Whether the policy wants changes to be looked for.
    """

    def __init__(self, replica: Replica, policy: Policy, oracle: Oracle) -> None:
        self._replica = replica
        self.policy = policy
        self.oracle = oracle
        self.proposer: Proposer | None = None
        self.watches = policy.watches

    def serve(self, requests: Sequence[CheckedRequest]) -> list[Asked | KeyConflict]:
        """Decide the pulls of all requests one after the other and commit them together.

        A request whose key is known gets the pulls that it got the first time.
        """
        replica, coins = self._replica, Coins(None if self.proposer else self._replica.record.seed)
        if self.proposer is not None and not replica.is_torn:
            served = replica.loosely(lambda now: self._serve(requests, now, coins, is_loose=True))
            if served is not None:
                return served
            if not replica.store.turns_hold_all:
                return replica.in_turn(lambda now: self._serve(requests, now, coins))
            replica.refresh()
        return replica.retrying(lambda now: self._serve(requests, now, coins))

    def follow(self, new: NewPull, proposal: Proposal | None) -> int:
        """Serve what a log says was served, admitting the arm when it came with a proposal.

        For the logs of services, whose proposals were made in the background, from views that the
        log does not have. Returns the id of the arm.
        """
        return self._replica.retrying(lambda now: self._follow(new, proposal, now))

    def _serve(
        self,
        requests: Sequence[CheckedRequest],
        now: float,
        coins: Coins,
        *,
        is_loose: bool = False,
    ) -> list[Asked | KeyConflict]:
        """Decide and commit; loosely, all keys are taken to be new."""
        replica, draft = self._replica, Draft(is_loose)
        keys = [] if is_loose else [one.key for one in requests if one.key and one.part is None]
        known = replica.store.keyed(replica.record.name, keys) if keys else {}
        n_left = sum(one.count for one in requests)
        deciding = _Deciding(self, replica, draft, n_left, now, coins)
        made: dict[str, range] = {}  # keys of these requests, and where their pulls are
        found: list[tuple[range | list[PullRecord], bool]] = []
        try:
            for place, request in enumerate(requests):
                key = request.key
                before = None if key is None else made.get(key) or known.get(key)
                if before is None:
                    places = deciding.decide(request, place)
                    if key is not None:
                        made[key] = places
                    found.append((places, True))
                else:
                    found.append((before, False))
            placed = replica.commit(draft, now) if draft.pulls else None
        except StaleView:
            replica.take_back(draft)
            raise
        answers: list[Asked | KeyConflict] = []
        for request, (pulls, is_new) in zip(requests, found, strict=True):
            if len(pulls) != request.count:
                answers.append(_key_conflict(request, len(pulls)))
            elif isinstance(pulls, range) and placed is not None:
                answers.append(Asked(self._new(draft, pulls, placed), is_new))
            else:
                answers.append(Asked(replica.shown([*pulls]), is_new))
        return answers

    def _new(self, draft: Draft, places: range, placed: Placed) -> list[Pull]:
        """Pulls of the draft, under the numbers and at the time that the store gave them."""
        replica, made = self._replica, []
        served_at = datetime.fromtimestamp(placed.at, UTC)
        for place in places:
            new = draft.pulls[place]
            key = None if new.key is None else own_key(new.key)
            made.append(
                Pull(
                    id=make_id(replica.record.token, placed.first + place),
                    arm=new.arm,
                    config=dict(replica.view.config_of(new.arm)),
                    reason=new.reason,
                    served_at=served_at,
                    context=new.context,
                    key=key,
                    part=0 if key is None else new.part,
                    group=new.group,
                    propensity=new.propensity,
                )
            )
        return made

    def _follow(self, new: NewPull, proposal: Proposal | None, now: float) -> int:
        replica, draft = self._replica, Draft()
        deciding = _Deciding(self, replica, draft, 1, now, Coins(replica.record.seed))
        view = replica.ahead()
        number = view.totals.n_pulls + 1
        deciding.remember()
        is_control = new.group == "control"
        if not is_control and self.policy.decide(view, Draws(replica.record.seed, number)).mark:
            deciding.mark()
        if proposal is None:
            row = view.row_of(new.arm)
        elif is_control:
            row = replica.admit_spare(proposal.config, draft, now)
        else:
            row = replica.admit(proposal, draft, now)
        if row is None:
            raise LookupError(f"arm {new.arm} when there were {replica.n_arms}")
        view.count_pull(row)
        uses = None if view.spending is None else view.spending.serve(row)
        served = int(view.ids[row])
        draft.pulls.append(replace(new, number=number, arm=served, uses=uses))
        replica.commit(draft, now)
        return served


class Coins:
    """The coins of requests that are served together: one for each pull, however often it is tried.

    In a service (``seed`` is None) several processes decide at once, and none knows the number that
    the store will give a pull; so each pull has a coin of its own, and keeps it when it must be
    decided again: otherwise those that need a second try would get a second chance.
    """

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._flipped: dict[tuple[int, int], float] = {}

    def of(self, place: int, part: int, number: int) -> float:
        """The coin of a part of a request, whose pull would have that number."""
        if self._seed is not None:
            return coin_of(self._seed, number)
        flipped = self._flipped.get((place, part))
        if flipped is None:
            flipped = self._flipped[place, part] = _chance.random()
        return flipped


class _Deciding:
    """Decisions in a row, which are put into a draft and into the view; ``n_left`` are to come.

    In a loose draft, whatever needs a turn is ``StaleView``.
    """

    def __init__(
        self, asks: Asks, replica: Replica, draft: Draft, n_left: int, now: float, coins: Coins
    ) -> None:
        self._coins = coins
        self._policy, self._oracle, self._proposer = asks.policy, asks.oracle, asks.proposer
        self._watches = asks.watches
        self._replica = replica
        self._draft = draft
        self._n_left = n_left
        self._now = now
        self._rounds: Rounds | None = None
        self.view = replica.view

    def decide(self, request: CheckedRequest, place: int) -> range:
        """Decide the pulls of a request, the ``place``-th; where they are in the draft."""
        view, rollout = self._replica.ahead(), self._replica.rollout
        draft = self._draft
        first = len(draft.pulls)
        asked = request.context, request.context_json
        for part in range(request.count) if request.part is None else (request.part,):
            number = view.totals.n_pulls + 1
            self.remember()
            group, propensity, coin = None, None, 0.0
            if rollout is not None:
                coin = self._coins.of(place, part, number)
                group, propensity = rollout.group(coin)
            if group == "control" and rollout is not None:
                row, reason = self._control(rollout, coin), "control"
            else:
                row, reason = self._tuned(number)
            view.count_pull(row)
            uses = None if view.spending is None else view.spending.serve(row)
            arm, key = int(view.ids[row]), request.key
            draft.pulls.append(
                NewPull(number, arm, reason, key, part, *asked, group, propensity, uses)
            )
        return range(first, len(draft.pulls))

    def _tuned(self, number: int) -> tuple[int, str]:
        """What the policy decides: a row, and why."""
        draws = Draws(self._replica.record.seed, number)
        rounds = self._rounds or self._policy.rounds(self.view, self._n_left)
        self._rounds, self._n_left = rounds, self._n_left - 1
        decision = rounds.decide(draws)
        if self._draft.is_loose and self._needs_turn(decision):
            raise StaleView
        if decision.mark:
            self.mark()
        if isinstance(decision, Expand):
            return self._expand(decision, draws, rounds)
        return decision.row, "index"

    def _control(self, rollout: Rollout, coin: float) -> int:
        """The row of what the control serves a request with."""
        # Rounds in a row count on seeing every pull.
        self._rounds, self._n_left = None, self._n_left - 1
        view = self.view
        if rollout.arm is not None:
            row = view.row_of(rollout.arm)
            if row is None:  # a view from before the space that allows it
                raise StaleView
            return row
        config = drawn(view.space, coin)
        row = view.row_of_config(config)
        if row is not None:
            return row
        if self._draft.is_loose:
            raise StaleView
        return self._replica.admit_spare(config, self._draft, self._now)

    def remember(self) -> None:
        """Keep the counters of this moment when another one is due."""
        if self._watches and self.view.is_moment:
            if self._draft.is_loose:
                raise StaleView
            self._draft.memory = self.view.put_memory(remember(self.view))
            self._rounds = None

    def mark(self) -> None:
        """Start a phase of the policy."""
        self._draft.mark_at = self.view.totals.n_pulls
        self._rounds = None
        self.view.mark()

    def _needs_turn(self, decision: Decision) -> bool:
        """Whether a decision changes more than counts, so that it must rest on the newest view."""
        if decision.mark or isinstance(decision, Serve):
            return decision.mark
        if decision.source == "warmup" or self._proposer is None or not self.view.n_servable:
            return True
        return bool(self._proposer.n_ready) and not self.view.exhausted

    def _expand(self, decision: Expand, draws: Draws, rounds: Rounds) -> tuple[int, str]:
        """Admit an arm, or serve one if there is no other; returns its row and the reason."""
        view = self.view
        reason = "warmup" if decision.source == "warmup" else "expand"
        if decision.source == "warmup":
            proposal: Proposal | Exhausted | None = draw_new(view, draws.rng)
            if isinstance(proposal, Proposal):
                proposal = replace(proposal, origin="warmup")
        elif self._proposer is not None:
            proposal, reason = self._ready(self._proposer, draws)
            if proposal is None:
                return rounds.serve(draws).row, reason
        else:
            proposal = self._oracle.propose(view, self._policy.scores(view), draws.rng)
        if isinstance(proposal, Proposal):
            proposal = replace(proposal, config=view.space.validate(proposal.config))
            if proposal.config in view:
                # An oracle of the user's own that repeats itself: keep the schedule going.
                proposal = draw_new(view, draws.rng)
        if isinstance(proposal, Proposal):
            self._rounds = None
            n_rows = len(view)
            row = self._replica.admit(proposal, self._draft, self._now)
            beliefs = proposal.beliefs
            if beliefs is not None:
                if len(view) == n_rows:  # the arm has a row, and what is expected of it
                    means, counts = beliefs.means[:-1], beliefs.counts[:-1]
                    beliefs = replace(beliefs, means=means, counts=counts)
                self._draft.beliefs = view.put_beliefs(beliefs)
            return row, reason
        if not view.n_servable:
            what = f"study {self._replica.record.name!r} has no arm to serve"
            why = "all its arms are paused or retired and its space has no other configuration"
            raise NothingToServe(what, why, "resume an arm, or widen the space with update_space()")
        return rounds.serve(Draws(draws.seed, draws.number)).row, "index"

    def _ready(self, proposer: Proposer, draws: Draws) -> tuple[Proposal | Exhausted | None, str]:
        """What is ready and why it would be served; None where a known arm must do."""
        if self.view.exhausted:
            return Exhausted(), "index"
        ready = proposer.take(self.view, self._replica.space_version)
        if ready is not None:
            return ready, "prepared"
        if self.view.n_servable:
            return None, "waiting"
        return draw_new(self.view, draws.rng), "expand"


def _key_conflict(request: CheckedRequest, count: int) -> KeyConflict:
    what = f"the key {request.key!r} was used to ask for {count} and now for {request.count} pulls"
    why = "a key stands for one request, which gets the same pulls when it is repeated"
    return KeyConflict(what, why, "repeat the request as it was, or use a new key")


def checked_request(request: Request) -> CheckedRequest:
    """A request whose count, key and context a store can hold; the engine takes no other."""
    if isinstance(request, CheckedRequest):
        return request
    count, key, context = request.count, request.key, request.context
    if type(count) is not int or not 0 < count <= MAX_COUNT:
        check_count("count", count, least=1)
        if count > MAX_COUNT:
            why = f"one call gives at most {MAX_COUNT}"
            raise InvalidSetting(f"count is {show(count)}", why, "ask again")
    if key is not None:
        checked_text("key", key)
    text = None if context is None else _written(context)
    return CheckedRequest(count, key, context, text)


def _written(context: object) -> str:
    try:
        text = json.dumps(context, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
        if size <= _LONGEST_CONTEXT:
            return text
        why = f"it takes {size} bytes as JSON, and {_LONGEST_CONTEXT} are the most"
    except (TypeError, ValueError, RecursionError) as error:
        why = f"it cannot be written as JSON ({error})"
    raise InvalidSetting(
        f"context is {show(context)}", why, "store it elsewhere and pass a reference to it"
    )
