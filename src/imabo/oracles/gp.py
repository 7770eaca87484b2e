"""GP: a Gaussian process of the reward surface chooses the next arm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats, Ints
from imabo.gaussian.charges import Charges
from imabo.gaussian.surface import Surface
from imabo.oracles.base import (
    Exhausted,
    Oracle,
    Proposal,
    draw_elsewhere,
    draw_new,
    fresh_pool,
)
from imabo.oracles.local import try_unseen
from imabo.oracles.mutate import Mutate
from imabo.oracles.neighbours import mutate
from imabo.settings import check_count, check_number
from imabo.space import Space

_LEADERS = 3  # arms that are mutated
_REFINED = 5  # candidates that are mutated again, in each round of refinement
_REFINEMENTS = 2
_ONE_MORE = 0.4  # chance that a mutation changes another parameter as well, again and again
_PAIRS = 0.3  # share of the refinements that change two
_UNSLOPED = 0.4  # share of the proposals that do not count on what other ends were like
_ELSEWHERE = 0.25  # share where a space has branches that is for those the best arm is not in
_NO_PARENT = -1


@dataclass(frozen=True, slots=True)
class GP(Oracle):
    """Fit a Gaussian process to the arms and propose where it could be highest; the default.

    Arms teach about their neighbours, so it finds good regions in fewer requests than the oracles
    of the paper, and with its proposal it says what it expects of every arm: ``policies.Informed``
    counts that as rewards. It takes tens of milliseconds a proposal; where that is too long, use
    ``Mutate``.

    The kernel handles numbers, ordered and unordered choices and parameters that are not active;
    the noise of each arm's mean is known from its rewards, and it learns how the ends of ranges do,
    on which three of five proposals count. Of a pool (mutations of the leading
    arms in one or several parameters, P0 draws, and mutations of the best of those) the
    configuration of highest mean + ``kappa`` standard deviations is proposed. Arms whose first
    reward is still out count as seen, so that a burst of requests spreads. Where a space has
    branches (parameters with a ``when``), a quarter of the proposals are P0 draws in branches that
    the best arm is not in, unless there is a budget to keep. For rewards without a
    range it weighs its model against arms that are unrelated: while that is the better explanation,
    ``Mutate`` proposes and little is expected of any arm. After ``update_space``,
    half of the proposals go to values that no arm has, while there are any. With more than 1,000
    arms the model rests on 1,000 of them: those with the most rewards and an even part of the rest.

    Args:
        kappa: Standard deviations above the mean that count in the ranking, at least 0.
        epsilon: Share of proposals drawn from P0, in [0, 1]; above 0, the theorem's coverage
            condition holds.
        mutations: Changes of the leading arms in the pool, at least 0.
        draws: P0 draws in the pool, at least 1.
        startup: Below this many arms with a reward, draw from P0.

    Example:
        >>> from imabo import Float, Space
        >>> from imabo.arms import ActiveSet
        >>> tried = [({"x": i / 12}, [1.0 - (i / 12 - 0.71) ** 2] * 90) for i in range(12)]
        >>> arms = ActiveSet.from_rewards(Space(x=Float(0, 1)), tried)
        >>> proposal = GP(epsilon=0).propose(arms, arms.means, np.random.default_rng(0))
        >>> 0.6 < proposal.config["x"] < 0.8
        True
    """

    kappa: float = 2.0
    epsilon: float = 0.05
    mutations: int = 300
    draws: int = 100
    startup: int = 10

    def __post_init__(self) -> None:
        check_number("kappa", self.kappa, 0.0, np.inf, closed=True)
        check_number("epsilon", self.epsilon, 0.0, 1.0, closed=True)
        check_count("mutations", self.mutations)
        check_count("draws", self.draws, least=1)
        check_count("startup", self.startup)

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """The candidate that could be highest, with what to expect of it and of every arm."""
        if arms.exhausted:
            return Exhausted()
        if np.count_nonzero(arms.n_rewards > 0) < max(self.startup, 2):
            return draw_new(arms, rng)
        surface = Surface(arms)
        charges = None if arms.spending is None else Charges(arms, scores)
        proposal = self._choose(arms, scores, surface, charges, rng)
        if isinstance(proposal, Exhausted):
            return proposal
        units, mask = arms.space.encode(proposal.config)
        beliefs = surface.beliefs(units[None], mask[None])
        if charges is not None:
            uses = charges.state(units[None], mask[None])
            beliefs = replace(beliefs, state={**beliefs.state, "uses": uses})
        return replace(proposal, beliefs=beliefs)

    def _choose(
        self,
        arms: ActiveSet,
        scores: Floats,
        surface: Surface,
        charges: Charges | None,
        rng: np.random.Generator,
    ) -> Proposal | Exhausted:
        if rng.random() < self.epsilon:
            return draw_new(arms, rng)
        if surface.certainty < 1.0 and rng.random() >= surface.certainty:
            return Mutate().propose(arms, scores, rng)
        return (
            try_unseen(arms, rng)
            or (_on_another_branch(arms, surface, rng) if charges is None else None)
            or self._highest(arms, surface, charges, rng)
            or draw_new(arms, rng)
        )

    def _highest(
        self, arms: ActiveSet, surface: Surface, charges: Charges | None, rng: np.random.Generator
    ) -> Proposal | None:
        parents = surface.leaders(_LEADERS)
        parents = rng.choice(parents, self.mutations) if len(parents) else parents
        changes = rng.geometric(1.0 - _ONE_MORE, len(parents))
        local = mutate(arms, arms.units[parents], arms.mask[parents], changes, rng)
        drawn = [arms.space.encode(arms.space.sample(rng))[0] for _ in range(self.draws)]
        slope = not (surface.has_ends and rng.random() < _UNSLOPED)
        pool = _Pool(arms.space, surface, self.kappa, np.array(drawn), charges, slope=slope)
        pool.add(np.vstack([local, drawn]), np.append(parents, _nobody(self.draws)))
        for _ in range(_REFINEMENTS):
            best = np.repeat(pool.highest()[:_REFINED], self.mutations // (3 * _REFINED))
            changes = 1 + (rng.random(len(best)) < _PAIRS)
            pool.add(
                mutate(arms, pool.units[best], pool.mask[best], changes, rng), pool.parents[best]
            )
        for place in pool.highest():
            config = arms.space.decode(pool.units[place])
            if config not in arms and not arms.space.is_forbidden(config):
                parent = int(pool.parents[place])
                return Proposal(
                    config, parent=None if parent == _NO_PARENT else int(arms.ids[parent])
                )
        return self._of_the_rest(arms, surface, charges, rng)

    def _of_the_rest(
        self, arms: ActiveSet, surface: Surface, charges: Charges | None, rng: np.random.Generator
    ) -> Proposal | None:
        """The best of what a finite space has left, when the pool held nothing new."""
        left = fresh_pool(arms, rng)
        if not left:
            return None
        points = np.array([arms.space.encode(config)[0] for config in left])
        pool = _Pool(arms.space, surface, self.kappa, points, charges)
        pool.add(points, _nobody(len(left)))
        return Proposal(left[int(pool.highest()[0])])


class _Pool:
    """Candidates and how high each could be: its mean + kappa standard deviations; eq. (upper).

    A candidate counts as no more uncertain than the middle one of ``usual`` points. Otherwise the
    corners of the space, which are far from everything, are proposed before anything is known.
    With ``charges``, it is how high the reward could be, less what the candidate would use. Without
    the ``slope``, what the model says of corners does not count: see ``Surface.predict``.
    """

    def __init__(
        self,
        space: Space,
        surface: Surface,
        kappa: float,
        usual: Floats,
        charges: Charges | None = None,
        *,
        slope: bool = True,
    ) -> None:
        self._space, self._surface, self._kappa, self._charges = space, surface, kappa, charges
        self._slope = slope
        self.units: Floats = np.empty((0, len(space)))
        self.mask: Bools = np.empty((0, len(space)), dtype=np.bool_)
        self.parents: Ints = np.empty(0, dtype=np.int64)
        self._upper: Floats = np.empty(0)
        _, variances = surface.predict(*space.settle(usual), slope=slope)
        self._most = float(np.median(variances))

    def add(self, points: Floats, parents: Ints) -> None:
        """Take in points of the unit cube, with the rows of the arms they descend from."""
        units, mask = self._space.settle(points)
        means, variances = self._surface.predict(units, mask, slope=self._slope)
        self.units, self.mask = np.vstack([self.units, units]), np.vstack([self.mask, mask])
        self.parents = np.append(self.parents, parents)
        spread = np.sqrt(np.minimum(variances, self._most))
        upper = means + self._kappa * spread
        if self._charges is not None:
            upper = self._surface.to_unit(upper) - self._charges.charge(units, mask)
        self._upper = np.append(self._upper, upper)

    def highest(self) -> Ints:
        """Places in the pool, the highest first."""
        return np.argsort(-self._upper, kind="stable")


def _on_another_branch(
    arms: ActiveSet, surface: Surface, rng: np.random.Generator
) -> Proposal | None:
    """A draw where other parameters are active than in the best arm, for some of the proposals.

    The best arm teaches nothing about parameters that it does not have: the model expects of such a
    branch what the few arms drawn in it were like, and a good place in it would stay unseen.
    """
    if not arms.space.is_conditional or rng.random() >= _ELSEWHERE:
        return None
    leaders = surface.leaders(1)
    return draw_elsewhere(arms, int(leaders[0]), rng) if len(leaders) else None


def _nobody(count: int) -> Ints:
    return np.full(count, _NO_PARENT)
