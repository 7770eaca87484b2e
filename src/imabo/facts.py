"""What a study is and how far it has come: the part of its face that only reads."""

from __future__ import annotations

from datetime import datetime

from imabo.arms import ActiveSet
from imabo.documents import to_datetime
from imabo.engine import Engine
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.space import Space


class Facts:
    """Properties of a study, read from its engine."""

    _engine: Engine

    @property
    def name(self) -> str:
        """The study's name."""
        return self._engine.replica.record.name

    @property
    def space(self) -> Space:
        """The current space."""
        return self._engine.replica.view.space

    @property
    def view(self) -> ActiveSet:
        """The arms in columns, as policies and oracles see them.

        For oracles of your own and for diagnosis; do not change it. It is the study's own and moves
        on with the next ``ask`` or ``tell``.
        """
        return self._engine.replica.view

    @property
    def token(self) -> str:
        """What the ids of the study's pulls start with; unique among all studies."""
        return self._engine.replica.record.token

    @property
    def seq(self) -> int:
        """Number of the last change of the study that its view has."""
        return self._engine.replica.seq

    @property
    def space_version(self) -> int:
        """Number of the current space, from 1."""
        return self._engine.replica.space_version

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._engine.decisions.policy

    @property
    def oracle(self) -> Oracle:
        """The oracle."""
        return self._engine.decisions.oracle

    @property
    def seed(self) -> int:
        """The seed of every decision."""
        return self._engine.replica.record.seed

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Ends of the rewards, or None when they have none."""
        return self._engine.replica.record.reward_range

    @property
    def window_s(self) -> float | None:
        """How long a pull may stay pending."""
        return self._engine.replica.record.window_s

    @property
    def created_at(self) -> datetime:
        """When the study was created."""
        return to_datetime(self._engine.replica.record.created_at)

    @property
    def n_arms(self) -> int:
        """Arms admitted so far, retired ones included."""
        return self._engine.replica.n_arms

    @property
    def n_pulls(self) -> int:
        """Requests served so far."""
        return self._engine.replica.view.totals.n_pulls

    @property
    def n_rewards(self) -> int:
        """Rewards received so far."""
        return self._engine.replica.view.totals.n_rewards

    @property
    def n_pending(self) -> int:
        """Pulls that wait for a reward."""
        return self._engine.replica.view.totals.n_pending

    @property
    def n_expired(self) -> int:
        """Pulls whose window passed without a reward."""
        return self._engine.replica.view.totals.n_expired

    def __len__(self) -> int:
        """Number of pulls."""
        return self.n_pulls

    def __bool__(self) -> bool:
        """A study is a thing, not a collection: true even before its first pull."""
        return True

    def __repr__(self) -> str:
        return (
            f"<Study {self.name!r}: {self.n_arms} arms, {self.n_pulls} pulls, "
            f"{self.n_rewards} rewards>"
        )
