"""What every oracle is: a pure function from the active set to a new configuration."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from imabo.arms import ActiveSet, Beliefs, Floats, Origin
from imabo.space import Config

_TRIES = 100  # P0 draws before a finite space is listed instead
_MOST_TRIES = 2_000  # the same where it cannot be: the continuum may be one rare branch
_LISTABLE = 5_000  # a space of at most this many configurations is listed whole


@dataclass(frozen=True, slots=True)
class Proposal:
    """A configuration that is not yet an arm.

    ``parent`` (an arm's id) and ``mutated`` (a parameter's name) say what a local oracle changed.
    ``beliefs`` are what a model expects: one entry for each row of the active set that the proposal
    was made from, in the order of the rows, and one more, last, for the proposed configuration. The
    study keeps them with the new arm and shows them in the active set until the next ones come
    (``prior_means``, ``prior_counts``, ``model_state``); None leaves the earlier ones.
    """

    config: Config
    origin: Origin = "oracle"
    parent: int | None = None
    mutated: str | None = None
    beliefs: Beliefs | None = None


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Every configuration of the space is an arm already."""


class Oracle(ABC):
    """Proposes the next configuration to admit.

    Subclass it as a frozen dataclass with ``propose``. Like a policy, an oracle has no state, does
    no input or output, and its fields are JSON-safe. It never returns an arm that exists.
    """

    @abstractmethod
    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """A new configuration, given the arms and the policy's index of each (``scores``)."""


def draw_new(arms: ActiveSet, rng: np.random.Generator) -> Proposal | Exhausted:
    """A P0 draw that is not yet an arm."""
    if arms.exhausted:
        return Exhausted()
    for _ in range(_MOST_TRIES if arms.space.n_configs is None else _TRIES):
        config = arms.space.sample(rng)
        if config not in arms:
            return Proposal(config, origin="baseline")
    pool = fresh_pool(arms, rng)
    return Proposal(pool[int(rng.integers(len(pool)))], "baseline") if pool else Exhausted()


def draw_elsewhere(arms: ActiveSet, row: int, rng: np.random.Generator) -> Proposal | None:
    """A P0 draw with other parameters active than an arm has; None where none is new."""
    active = arms.configs[row].keys()
    for _ in range(_TRIES):
        config = arms.space.sample(rng)
        if config.keys() != active and config not in arms:
            return Proposal(config, origin="baseline")
    return None


def fresh_pool(arms: ActiveSet, rng: np.random.Generator) -> list[Config]:
    """Configurations that are not arms, to choose from: all of a small space, else P0 draws.

    Where P0 hardly ever draws a new one, the first of a list. A continuum cannot be listed.
    """
    space, n_configs = arms.space, arms.space.n_configs
    if n_configs is None or n_configs > _LISTABLE:
        drawn = (space.sample(rng) for _ in range(_TRIES))
        pool = {space.identity(config): config for config in drawn if config not in arms}
        if pool or any(p.n_values is None for p in space.parameters.values()):
            return list(pool.values())
    unseen = (config for config in space.configs() if config not in arms)
    is_small = n_configs is not None and n_configs <= _LISTABLE
    return list(unseen if is_small else itertools.islice(unseen, _TRIES))
