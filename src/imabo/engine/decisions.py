"""Deciding from the view what to serve: the policy's rounds, and new arms where they are due."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from imabo.arms import ActiveSet
from imabo.drift import is_moment, remember
from imabo.engine.replica import Replica
from imabo.engine.requests import Request
from imabo.errors import NothingToServe
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new
from imabo.policies.base import Decision, Expand, Policy, Rounds, Serve
from imabo.randomness import Draws
from imabo.stores.base import NewArm, NewPull, PullRecord, StaleView


class Proposer(Protocol):
    """Has proposals ready, so that no request waits for an oracle."""

    @property
    def n_ready(self) -> int:
        """How many proposals wait to be taken."""

    def take(self, view: ActiveSet, space_version: int) -> Proposal | None:
        """A proposal that is not an arm of the view yet, or None when none is ready."""


@dataclass(slots=True)
class Draft:
    """What decisions in a row will write, and what they share; ``n_left`` are still to come.

    A loose one takes pulls of known arms only: whatever needs a turn is ``StaleView``.
    """

    n_left: int = 1
    is_loose: bool = False
    rounds: Rounds | None = None
    pulls: list[NewPull] = field(default_factory=list)
    arms: list[NewArm] = field(default_factory=list)
    beliefs: dict[str, Any] | None = None
    memory: dict[str, Any] | None = None
    mark_at: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it has nothing but pulls of known arms, which are easy to take back."""
        return not self.arms and self.mark_at is None and self.memory is None


class Decisions:
    """Decides from the replica's view, which then shows what the draft has and the store has not.

    Args:
        replica: The study.
        policy: Decides which arm is served, and when a new one is due.
        oracle: Proposes new arms, unless there is a proposer.

    Attributes:
        proposer: What has proposals ready, in services; it takes the oracle's place.
    """

    def __init__(self, replica: Replica, policy: Policy, oracle: Oracle) -> None:
        self._replica = replica
        self.policy = policy
        self.oracle = oracle
        self.proposer: Proposer | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the view may be a moment old when pulls of known arms are decided from it.

        So it is in services, where every process hears of the others' changes within a second. New
        arms are always decided in turn.
        """
        return self.proposer is not None

    def decide(self, request: Request, draft: Draft, now: float) -> list[PullRecord]:
        """Decide the pulls of a request, and add them to the draft."""
        replica, view = self._replica, self._replica.view
        replica.is_torn = True  # until the store has what the view is about to show
        made = []
        for part in range(request.count):
            number = view.totals.n_pulls + 1
            draws = Draws(replica.record.seed, number)
            self._remember(draft)
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

    def follow(
        self,
        arm: int,
        reason: str,
        proposal: Proposal | None,
        context: Any,
        draft: Draft,
        now: float,
    ) -> int:
        """Add to the draft what a log says was served (see ``Asks.follow``)."""
        replica, view = self._replica, self._replica.view
        replica.is_torn = True  # as in ``decide``
        number = view.totals.n_pulls + 1
        self._remember(draft)
        if self.policy.decide(view, Draws(replica.record.seed, number)).mark:
            draft.mark_at = view.totals.n_pulls
            view.mark()
        row = view.row_of(arm) if proposal is None else self._admit(proposal, draft, now)
        if row is None:
            raise LookupError(f"arm {arm} when there were {replica.n_arms}")
        view.count_pull(row)
        served = int(view.ids[row])
        draft.pulls.append(NewPull(number, served, reason, context=context))
        return served

    def _remember(self, draft: Draft) -> None:
        """Keep the counters of this moment when another one is due."""
        view = self._replica.view
        if not self.policy.watches or not is_moment(view):
            return
        if draft.is_loose:
            raise StaleView
        draft.memory = view.put_memory(remember(view))
        draft.rounds = None

    def _needs_turn(self, decision: Decision) -> bool:
        """Whether a decision changes more than counts, so that it must rest on the newest view."""
        view = self._replica.view
        if decision.mark or isinstance(decision, Serve):
            return decision.mark
        if decision.source == "warmup" or self.proposer is None or not view.n_servable:
            return True
        return bool(self.proposer.n_ready) and not view.exhausted

    def _expand(
        self, decision: Expand, draws: Draws, now: float, draft: Draft, rounds: Rounds
    ) -> tuple[int, str]:
        """Admit an arm, or serve one if there is no other; returns its row and the reason."""
        view = self._replica.view
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
            row = self._admit(proposal, draft, now)
            if proposal.beliefs is not None:
                draft.beliefs = view.put_beliefs(proposal.beliefs)
            return row, reason
        if not view.n_servable:
            raise NothingToServe(
                f"study {self._replica.record.name!r} has no arm to serve",
                "all its arms are paused or retired and its space has no other configuration",
                "resume an arm, or widen the space with update_space()",
            )
        return rounds.serve(Draws(draws.seed, draws.number)).row, "index"

    def _ready(self, proposer: Proposer, draws: Draws) -> tuple[Proposal | Exhausted | None, str]:
        """What is ready and why it would be served; None where a known arm must do."""
        view = self._replica.view
        if view.exhausted:
            return Exhausted(), "index"
        ready = proposer.take(view, self._replica.space_version)
        if ready is not None:
            return ready, "prepared"
        if view.n_servable:
            return None, "waiting"
        return draw_new(view, draws.rng), "expand"

    def _admit(self, proposal: Proposal, draft: Draft, now: float) -> int:
        draft.arms.append(self._replica.new_arm(proposal, now))
        return self._replica.admit(draft.arms[-1])
