"""The engine of a study: a view in memory, decisions made from it, a store that commits them.

``Study`` is its public face. The engine is not thread-safe; the study holds a lock around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar

from imabo.arms import ActiveSet, ArmState, Restart
from imabo.checks import checked_time
from imabo.errors import KeyConflict, NothingToServe, RewardConflict, UnknownStudy
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new
from imabo.policies.base import Decision, Expand, Policy, Rounds, Serve
from imabo.randomness import Draws
from imabo.space import Space
from imabo.stores.base import (
    ArmRecord,
    Change,
    NewArm,
    NewPull,
    PullRecord,
    Rewarded,
    Snapshot,
    StaleView,
    Store,
)

_CROWDED: Final = 20  # decisions in turn after one that was stale, before hoping again
_EXPIRY_SLACK: Final = 0.02  # a pull may outstay its window by this share of it, at most
_SHORTEST_TICK: Final = 2.0**-20  # seconds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """One call of ``ask``: how many pulls, the caller's key for it, and what to store with them."""

    count: int = 1
    key: str | None = None
    context: Any = None


class Proposer(Protocol):
    """Has proposals ready, so that no request waits for an oracle."""

    @property
    def n_ready(self) -> int:
        """How many proposals wait to be taken."""

    def take(self, view: ActiveSet, space_version: int) -> Proposal | None:
        """A proposal that is not an arm of the view yet, or None when none is ready."""


@dataclass(frozen=True, slots=True)
class Served:
    """The pulls of a request; they are not new when its key was known already."""

    pulls: list[PullRecord]
    is_new: bool = True


@dataclass(slots=True)
class _Draft:
    """What decisions in a row will write, and what they share; ``n_left`` are still to come."""

    n_left: int = 1
    is_loose: bool = False
    rounds: Rounds | None = None
    pulls: list[NewPull] = field(default_factory=list)
    arms: list[NewArm] = field(default_factory=list)
    beliefs: dict[str, Any] | None = None
    mark_at: int | None = None


class Engine:
    """Keeps the view of one study in step with its store, and decides.

    A write that the store refuses because another process was faster (``StaleView``) is decided
    again in a turn of its own, where nobody is faster. After a write that fails in any other way,
    the view is read again: the store may have it or not.
    """

    view: ActiveSet
    space_version: int
    n_arms: int
    _seq: int
    _last_at: float
    _expiry_due: float
    _is_torn: bool

    def __init__(
        self,
        store: Store,
        snapshot: Snapshot,
        policy: Policy,
        oracle: Oracle,
        clock: Callable[[], float],
    ) -> None:
        self.store = store
        self.record = snapshot.study
        self.policy = policy
        self.oracle = oracle
        self.clock = clock
        self.proposer: Proposer | None = None
        self._crowded = 0
        self._take(snapshot)

    def now(self) -> float:
        """The clock's time, never before the last write: expiry needs pulls in order of time."""
        return max(checked_time(self.clock()), self._last_at)

    @property
    def seq(self) -> int:
        """The ``seq`` of the view."""
        return self._seq

    # --- asking ---------------------------------------------------------------------------------

    def serve(self, requests: Sequence[Request]) -> list[Served | KeyConflict]:
        """Decide the pulls of all requests one after the other and commit them together.

        A request whose key is known gets the pulls that it got the first time.
        """
        if self.is_shared and not self._is_torn:
            served = self._serve_loosely(requests)
            if served is not None:
                return served
            return self._in_turn(lambda now: self._serve(requests, now))
        return self._retrying(lambda now: self._serve(requests, now))

    @property
    def is_shared(self) -> bool:
        """Whether the view may be a moment old when pulls of known arms are decided from it.

        So it is in services, where every process hears of the others' changes within a second. New
        arms are always decided in turn.
        """
        return self.proposer is not None

    def _serve(self, requests: Sequence[Request], now: float) -> list[Served | KeyConflict]:
        keys = [request.key for request in requests if request.key is not None]
        known = self.store.keyed(self.record.name, keys) if keys else {}
        draft = _Draft(n_left=sum(request.count for request in requests))
        served = self._decide_all(requests, known, draft, now)
        if draft.pulls:
            self._commit_pulls(draft, now)
        return served

    def _serve_loosely(self, requests: Sequence[Request]) -> list[Served | KeyConflict] | None:
        """Serve from the view as it is, taking all keys to be new; None when that does not do."""
        now = self.now()
        draft = _Draft(n_left=sum(request.count for request in requests), is_loose=True)
        try:
            served = self._decide_all(requests, {}, draft, now)
            placed = self.store.serve_known(
                self.record.name, token=self.record.token, at=now, pulls=draft.pulls
            )
        except StaleView:
            self._take_back(draft)
            return None
        except BaseException:
            self._recover()
            raise
        self._is_torn = False
        self._last_at = max(self._last_at, placed.at)
        if placed.seq == self._seq + 1:
            self._seq = placed.seq  # nobody else wrote: the view is the newest
        else:
            _renumber(served, placed.first - draft.pulls[0].number, placed.at)
        return served

    def _decide_all(
        self,
        requests: Sequence[Request],
        known: dict[str, list[PullRecord]],
        draft: _Draft,
        now: float,
    ) -> list[Served | KeyConflict]:
        served: list[Served | KeyConflict] = []
        for request in requests:
            before = None if request.key is None else known.get(request.key)
            if before is None:
                made = self._decide(request, draft, now)
                if request.key is not None:
                    known[request.key] = made
                served.append(Served(made))
            elif len(before) == request.count:
                served.append(Served(before, is_new=False))
            else:
                served.append(_key_conflict(request, len(before)))
        return served

    def _commit_pulls(self, draft: _Draft, now: float) -> None:
        try:
            self._seq = self.store.serve(
                self.record.name,
                seq=self._seq,
                at=now,
                pulls=draft.pulls,
                arms=draft.arms,
                mark_at=draft.mark_at,
                beliefs=draft.beliefs,
            )
        except StaleView:
            if not draft.arms and draft.mark_at is None:
                # Nothing but counts to take back: cheaper than reading the whole study again.
                self._take_back(draft)
            raise
        self._last_at = now
        self._is_torn = False

    def _take_back(self, draft: _Draft) -> None:
        for pull in draft.pulls:
            self.view.take_back_pull(self.view.row_of(pull.arm))
        self._is_torn = False

    def follow(self, arm: int, reason: str, proposal: Proposal | None, context: Any) -> int:
        """Serve what a log says was served, admitting the arm when it came with a proposal.

        For the logs of services, whose proposals were made in the background, from views that the
        log does not have. Returns the id of the arm.
        """
        return self._retrying(lambda now: self._follow(arm, reason, proposal, context, now))

    def _follow(
        self, arm: int, reason: str, proposal: Proposal | None, context: Any, now: float
    ) -> int:
        view, draft = self.view, _Draft()
        self._is_torn = True
        number = view.totals.n_pulls + 1
        if self.policy.decide(view, Draws(self.record.seed, number)).mark:
            draft.mark_at = view.totals.n_pulls
            view.mark()
        if proposal is not None:
            draft.arms.append(self._new_arm(proposal, now))
            row: int | None = self._admit(draft.arms[-1])
        else:
            row = view.row_of(arm)
        if row is None:
            raise LookupError(f"arm {arm} when there were {self.n_arms}")
        view.count_pull(row)
        served = int(view.ids[row])
        draft.pulls.append(NewPull(number, served, reason, context=context))
        self._commit_pulls(draft, now)
        return served

    def _decide(self, request: Request, draft: _Draft, now: float) -> list[PullRecord]:
        view = self.view
        self._is_torn = True  # until the store has what the view is about to show
        made = []
        for part in range(request.count):
            number = view.totals.n_pulls + 1
            draws = Draws(self.record.seed, number)
            rounds = draft.rounds or self.policy.rounds(view, draft.n_left)
            draft.rounds, draft.n_left = rounds, draft.n_left - 1
            decision = rounds.decide(draws)
            if draft.is_loose and self._needs_turn(decision):
                raise StaleView
            if decision.mark:
                draft.mark_at = view.totals.n_pulls
                draft.rounds = None
                view.mark()
            if isinstance(decision, Expand):
                row, reason = self._expand(decision, draws, now, draft, rounds)
            else:
                row, reason = decision.row, "index"
            view.count_pull(row)
            arm = int(view.ids[row])
            draft.pulls.append(NewPull(number, arm, reason, request.key, part, request.context))
            made.append(
                PullRecord(number, arm, reason, "pending", now, None, None, request.context)
            )
        return made

    def _needs_turn(self, decision: Decision) -> bool:
        """Whether a decision changes more than counts, so that it must rest on the newest view."""
        if decision.mark or isinstance(decision, Serve):
            return decision.mark
        if decision.source == "warmup" or self.proposer is None or not self.view.n_servable:
            return True
        return bool(self.proposer.n_ready) and not self.view.exhausted

    def _expand(
        self, decision: Expand, draws: Draws, now: float, draft: _Draft, rounds: Rounds
    ) -> tuple[int, str]:
        """Admit an arm, or serve one if there is no other; returns its row and the reason."""
        view = self.view
        reason = "warmup" if decision.source == "warmup" else "expand"
        if decision.source == "warmup":
            proposal: Proposal | Exhausted | None = draw_new(view, draws.rng)
            if isinstance(proposal, Proposal):
                proposal = replace(proposal, origin="warmup")
        elif self.proposer is not None:
            proposal, reason = self._ready(self.proposer, draws)
            if proposal is None:
                return rounds.serve(draws).row, reason
        else:
            proposal = self.oracle.propose(view, self.policy.scores(view), draws.rng)
        if isinstance(proposal, Proposal):
            proposal = replace(proposal, config=view.space.validate(proposal.config))
            if proposal.config in view:
                # An oracle of the user's own that repeats itself: keep the schedule going.
                proposal = draw_new(view, draws.rng)
        if isinstance(proposal, Proposal):
            draft.rounds = None
            draft.arms.append(self._new_arm(proposal, now))
            row = self._admit(draft.arms[-1])
            if proposal.beliefs is not None:
                draft.beliefs = view.put_beliefs(proposal.beliefs)
            return row, reason
        if not view.n_servable:
            raise NothingToServe(
                f"study {self.record.name!r} has no arm to serve",
                "all its arms are paused or retired and its space has no other configuration",
                "resume an arm, or widen the space with update_space()",
            )
        return rounds.serve(Draws(draws.seed, draws.number)).row, "index"

    def _ready(self, proposer: Proposer, draws: Draws) -> tuple[Proposal | Exhausted | None, str]:
        """What is ready and why it would be served; None where a known arm must do."""
        if self.view.exhausted:
            return Exhausted(), "index"
        ready = proposer.take(self.view, self.space_version)
        if ready is not None:
            return ready, "prepared"
        if self.view.n_servable:
            return None, "waiting"
        return draw_new(self.view, draws.rng), "expand"

    # --- telling --------------------------------------------------------------------------------

    def reward_many(
        self, rewards: Sequence[tuple[int, float]]
    ) -> list[Rewarded | RewardConflict | None]:
        """Record rewards; None stands for a pull that there is not."""
        now = self.now()
        try:
            done = self.store.reward_many(self.record.name, rewards, at=now)
        except BaseException:
            self._recover()
            raise
        recorded = [(rewards[i], d) for i, d in enumerate(done) if isinstance(d, Rewarded)]
        if not recorded:
            return done
        fresh = [item for item in recorded if item[1].fresh]
        seq = max(item[1].seq for item in recorded)
        is_newest = seq == self._seq + bool(fresh)
        if self._is_torn or not (is_newest or self.is_shared):
            self.refresh()
        elif fresh:
            self._seq, self._last_at = seq if is_newest else self._seq, now
            for (_, reward), did in sorted(fresh, key=lambda item: item[0][0]):
                row = self.view.row_of(did.arm)
                self.view.count_reward(row, reward, was_pending=did.was_pending)
        return done

    def expire_due(self) -> None:
        """Expire what was past its window at the last tick, when there may be something."""
        if self.record.window_s is not None:
            now = self.now()
            if now >= self._expiry_due:
                self.expire_before(math.floor(now / self._tick) * self._tick - self.record.window_s)

    def expire_before(self, before: float) -> int:
        """Expire the pulls that were served before a time and are still pending."""
        now = self.now()
        try:
            done = self.store.expire(self.record.name, before=before, at=now)
        except BaseException:
            self._recover()
            raise
        self._expiry_due = self._due(
            now if done.oldest_pending_at is None else done.oldest_pending_at
        )
        if done.seq == self._seq + bool(done.counts) and not self._is_torn:
            if done.counts:
                self._seq, self._last_at = done.seq, now
            for arm, n in done.counts.items():
                self.view.count_expired(self.view.row_of(arm), n)
        else:
            self.refresh()
        return sum(done.counts.values())

    @property
    def _tick(self) -> float:
        """Pulls expire at multiples of this many seconds: not one by one, and whoever looks.

        A power of two keeps the arithmetic exact, so that a study that was closed and opened again
        expires the same pulls at the same requests as one that was not.
        """
        share = _EXPIRY_SLACK * (self.record.window_s or 0.0)
        return max(math.ldexp(1.0, math.frexp(share)[1] - 1), _SHORTEST_TICK)

    def _due(self, oldest: float) -> float:
        """The first tick at which a pull that was served then is past its window."""
        if self.record.window_s is None:
            return math.inf
        return (math.floor((oldest + self.record.window_s) / self._tick) + 1) * self._tick

    # --- changes by hand ------------------------------------------------------------------------

    def update_space(self, space: Space) -> None:
        """Move on to another space, retiring arms and bringing back others as it allows."""
        self._retrying(lambda now: self._update_space(space, now))
        self.refresh()

    def _update_space(self, space: Space, now: float) -> None:
        self.refresh()
        wanted = space.to_dict()
        if self.view.space.to_dict() == wanted:
            return
        snapshot = self.store.load(self.record.name)
        states = states_under(space, snapshot.arms)
        n_arms = sum(states.get(arm.id, (arm.state, None))[0] != "retired" for arm in snapshot.arms)
        totals = snapshot.totals
        restart = Restart(totals.n_pulls, totals.n_rewards, totals.n_pending, n_arms)
        change = Change("space", {"space": wanted}, states, space=wanted, restart=restart)
        self._is_torn = True  # until it is read again
        self.store.change(self.record.name, change, seq=snapshot.seq, at=now)

    def add_arm(self, config: Mapping[str, object]) -> int:
        """Admit a configuration by hand, or make it active again; returns the arm's id."""
        return self._retrying(lambda now: self._add_arm(config, now))

    def _add_arm(self, config: Mapping[str, object], now: float) -> int:
        valid = self.view.space.validate(config)
        row = self.view.row_of_config(valid)
        if row is not None:
            known = int(self.view.ids[row])
            self._put_state(known, "active", now)
            return known
        new = self._new_arm(Proposal(valid, origin="manual"), now)
        self._commit(Change("arm", {"arm": new.id, "config": valid}, arms=[new]), now)
        self._admit(new)
        return new.id

    def put_state(self, arm: int, state: ArmState) -> None:
        """Set the state of an arm that the space allows."""
        self._retrying(lambda now: self._put_state(arm, state, now))

    def _put_state(self, arm: int, state: ArmState, now: float) -> None:
        row = self.view.row_of(arm)
        if row is None and state != "retired":
            return  # the space does not allow the arm, so it stays out of service
        current = self._lasting_state(arm) if row is None else self.view.state_of(row)
        if current in (state, None):
            return
        self._commit(Change("state", {"arm": arm, "state": state}, {arm: (state, None)}), now)
        if row is not None:
            self.view.put_state(row, state)

    def _commit(self, change: Change, now: float) -> None:
        self._seq = self.store.change(self.record.name, change, seq=self._seq, at=now)
        self._last_at = now

    def _lasting_state(self, arm: int) -> ArmState | None:
        """What an arm that the space does not allow goes back to when it is allowed again."""
        for known in self.store.load(self.record.name).arms:
            if known.id == arm:
                return known.retired_from or known.state
        return None

    # --- the view -------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Bring the view up to date with what other processes wrote."""
        snapshot = self.store.load(self.record.name, since=self._seq)
        if snapshot.study.token != self.record.token:
            raise UnknownStudy(
                f"study {self.record.name!r} was deleted",
                "another study has its name now",
                "open the study again",
            )
        if self._is_torn or snapshot.space_version != self.space_version:
            self._take(self.store.load(self.record.name))
        elif snapshot.seq != self._seq:
            self._merge(snapshot)

    def _retrying(self, action: Callable[[float], T]) -> T:
        if self._is_torn:
            self.refresh()
        try:
            if not self._crowded:
                try:
                    return action(self.now())
                except StaleView:
                    # Others write a lot: hoping to be the fastest is a waste for a while.
                    self._crowded = _CROWDED
            self._crowded -= 1
        except BaseException:
            self._recover()
            raise
        return self._in_turn(action)

    def _in_turn(self, action: Callable[[float], T]) -> T:
        try:
            with self.store.turn(self.record.name):
                self.refresh()
                done = action(self.now())
                # The store has it when the turn ends well; until then the view is ahead of it.
                is_torn, self._is_torn = self._is_torn, True
            self._is_torn = is_torn
            return done
        except BaseException:
            self._recover()
            raise

    def _recover(self) -> None:
        """Read the view again after a failure: now if the store answers, else at the next call.

        Without an answer now, the old ``seq`` (or the torn view) tells the next call to do it.
        """
        with suppress(Exception):
            self.refresh()

    def _take(self, snapshot: Snapshot) -> None:
        """Build the view from a whole snapshot."""
        oldest = snapshot.oldest_pending_at
        self.view = ActiveSet(
            Space.from_dict(snapshot.space),
            reward_range=snapshot.study.reward_range,
            has_window=snapshot.study.window_s is not None,
        )
        self.n_arms = 0
        self.space_version = snapshot.space_version
        self._last_at = snapshot.last_at
        self._expiry_due = self._due(snapshot.last_at if oldest is None else oldest)
        self._merge(snapshot)
        self._is_torn = False

    def _merge(self, snapshot: Snapshot) -> None:
        view = self.view
        for arm in snapshot.arms:
            self.n_arms = max(self.n_arms, arm.id)
            row = view.row_of(arm.id)
            if row is not None:
                view.put_tally(row, arm.tally)
                view.put_state(row, arm.state)
            elif arm.retired_from is None and view.space.allows(arm.config):
                config = view.space.validate(arm.config)
                row = view.admit(
                    arm.id, config, state=arm.state, mutated=arm.mutated, tally=arm.tally
                )
                # Known by its form in this space (which may round it), served as it was admitted.
                view.configs[row] = dict(arm.config)
        if snapshot.beliefs is not None:
            view.load_beliefs(snapshot.beliefs)
        view.totals = snapshot.totals
        view.restart = snapshot.restart
        view.marked_at = snapshot.marked_at
        self._last_at = max(self._last_at, snapshot.last_at)
        self._seq = snapshot.seq

    def _new_arm(self, proposal: Proposal, now: float) -> NewArm:
        return NewArm(
            id=self.n_arms + 1,
            config=proposal.config,
            identity=self.view.space.identity(proposal.config),
            origin=proposal.origin,
            parent=proposal.parent,
            mutated=proposal.mutated,
            admitted_at=now,
        )

    def _admit(self, new: NewArm) -> int:
        self.n_arms += 1
        return self.view.admit(new.id, new.config, mutated=new.mutated)


def states_under(
    space: Space, arms: Sequence[ArmRecord]
) -> dict[int, tuple[ArmState, ArmState | None]]:
    """The states of the arms that another space would change (see ``Change.states``).

    Arms that it does not allow are retired, and arms that an earlier space retired come back.
    """
    states: dict[int, tuple[ArmState, ArmState | None]] = {}
    for arm in arms:
        allowed = space.allows(arm.config)
        if arm.state != "retired" and not allowed:
            states[arm.id] = ("retired", arm.state)
        elif arm.retired_from is not None and allowed:
            states[arm.id] = (arm.retired_from, None)
    return states


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
