"""Spaces and active sets that a policy or an oracle has to cope with; the contracts run on them.

Every function builds its value afresh, so that a check may compare before and after.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from imabo.arms import ActiveSet, Restart
from imabo.space import Choice, Config, Float, Int, Parameter, Space


def conditional_space() -> Space:
    """Every kind of parameter, a child, a child of a child, and a forbidden combination."""
    return Space(
        model=Choice("small", "large", "huge"),
        temperature=Float(0.0, 1.0),
        top_k=Int(1, 10),
        effort=Choice("low", "medium", "high", ordered=True),
        thinking=Choice(True, False, when={"model": ["large", "huge"]}),
        tokens=Int(256, 8192, log=True, when={"thinking": True}),
        forbid=[{"model": "small", "top_k": [9, 10]}],
    )


def tiny_space() -> Space:
    """Three configurations."""
    return Space(prompt=Choice("a", "b", "c"))


def grid_space() -> Space:
    """Finite, with a condition and a forbidden combination: 22 configurations."""
    return Space(
        a=Choice("x", "y", "z"),
        b=Int(1, 4, log=True),
        c=Float(0.0, 1.0, step=0.5, when={"a": "z"}),
        d=Choice(True, False, when={"a": ["x", "y"]}),
        forbid=[{"a": "x", "b": [3, 4]}, {"a": "z", "b": 1, "c": [0.0, 0.5]}],
    )


def line_space() -> Space:
    """One continuous parameter."""
    return Space(x=Float(0.0, 1.0))


def wide_space() -> Space:
    """Thirty parameters of all kinds."""
    kinds: Sequence[Callable[[], Parameter]] = (
        lambda: Float(-1.0, 1.0),
        lambda: Float(1e-4, 1.0, log=True),
        lambda: Int(0, 100),
        lambda: Choice("a", "b", "c"),
        lambda: Choice(1, 2, 3, ordered=True),
    )
    return Space({f"p{i}": kinds[i % len(kinds)]() for i in range(30)})


def categorical_space() -> Space:
    """Unordered choices only: 81 configurations."""
    return Space({name: Choice("r", "g", "b") for name in "abcd"})


def constant_space() -> Space:
    """One free parameter among some that have a single value."""
    return Space(fixed=Choice("only"), three=Int(3, 3), half=Float(0.5, 0.5), x=Float(0.0, 1.0))


SPACES: Final[Mapping[str, Callable[[], Space]]] = {
    "conditional": conditional_space,
    "tiny": tiny_space,
    "grid": grid_space,
    "line": line_space,
    "wide": wide_space,
    "categorical": categorical_space,
    "constants": constant_space,
}


def distinct_configs(space: Space, n: int, seed: int = 2024) -> list[Config]:
    """Up to n different draws from P0 (fewer when a finite space has fewer)."""
    rng = np.random.default_rng(seed)
    found: dict[str, Config] = {}
    for _ in range(100 * n):
        if len(found) == n:
            break
        config = space.sample(rng)
        found.setdefault(space.identity(config), config)
    return list(found.values())


def noisy_set(
    space: Space, n: int, *, n_rewards: int = 3, pending: Sequence[int] = (), **options: Any
) -> ActiveSet:
    """A set of n arms with Bernoulli rewards, half of them ones (``options`` as ``ActiveSet``)."""
    rng = np.random.default_rng(1)
    configs = distinct_configs(space, n)
    rewards = rng.integers(0, 2, size=(len(configs), n_rewards)).astype(float).tolist()
    return ActiveSet.from_rewards(
        space, list(zip(configs, rewards, strict=True)), pending=pending, **options
    )


def _equal_rewards(value: float) -> ActiveSet:
    space = conditional_space()
    arms = [(config, [value] * 4) for config in distinct_configs(space, 12)]
    return ActiveSet.from_rewards(space, arms)


def _unbounded() -> ActiveSet:
    space, rng = conditional_space(), np.random.default_rng(2)
    arms = [(c, rng.normal(-50.0, 300.0, 5).tolist()) for c in distinct_configs(space, 15)]
    return ActiveSet.from_rewards(space, arms, reward_range=None)


def _in_states(arms: ActiveSet, states: Sequence[str]) -> ActiveSet:
    for row, state in enumerate(states):
        arms.put_state(row, state)  # type: ignore[arg-type]  # plain words keep the tables short
    return arms


def _expired(*, is_late: bool) -> ActiveSet:
    arms = noisy_set(conditional_space(), 12, n_rewards=0, pending=[3] * 12, has_window=True)
    for row in range(len(arms)):
        arms.count_expired(row, 3)
    if is_late:
        arms.count_reward(4, 1.0, was_pending=False)
    return arms


def _restarted() -> ActiveSet:
    arms = noisy_set(conditional_space(), 12)
    arms.restart = Restart(arms.totals.n_pulls, arms.totals.n_rewards, 0, len(arms))
    return arms


def _in_phases() -> ActiveSet:
    arms = noisy_set(conditional_space(), 4, n_rewards=4)
    arms.mark()
    arms.count_pull(2)
    arms.count_reward(2, 1.0, was_pending=True)
    return arms


SITUATIONS: Final[Mapping[str, Callable[[], ActiveSet]]] = {
    "no arm": lambda: ActiveSet(conditional_space()),
    "one arm, never served": lambda: noisy_set(conditional_space(), 1, n_rewards=0),
    "one arm": lambda: noisy_set(conditional_space(), 1),
    "all pending": lambda: noisy_set(conditional_space(), 12, n_rewards=0, pending=[2] * 12),
    "some paused or retired": lambda: _in_states(
        noisy_set(conditional_space(), 15), ["paused", "retired", "active"] * 5
    ),
    "all paused": lambda: _in_states(noisy_set(conditional_space(), 12), ["paused"] * 12),
    "all retired": lambda: _in_states(noisy_set(conditional_space(), 12), ["retired"] * 12),
    "exhausted": lambda: noisy_set(tiny_space(), 3),
    "exhausted, one active": lambda: _in_states(
        noisy_set(tiny_space(), 3), ["paused", "active", "retired"]
    ),
    "exhausted, all paused": lambda: _in_states(noisy_set(tiny_space(), 3), ["paused"] * 3),
    "rewards all 0": lambda: _equal_rewards(0.0),
    "rewards all 1": lambda: _equal_rewards(1.0),
    "rewards without ends": _unbounded,
    "300 arms": lambda: noisy_set(conditional_space(), 300),
    "window open": lambda: noisy_set(
        conditional_space(), 12, n_rewards=1, pending=[1, 2, 3] * 4, has_window=True
    ),
    "all expired": lambda: _expired(is_late=False),
    "late reward": lambda: _expired(is_late=True),
    "restarted": _restarted,
    "in phases": _in_phases,
}


def fingerprint(arms: ActiveSet) -> dict[str, Any]:
    """Everything that an active set shows, to compare before and after (NaN equals NaN)."""
    columns = {k: v.tobytes() for k, v in vars(arms).items() if isinstance(v, np.ndarray)}
    return columns | {
        "configs": [dict(config) for config in arms.configs],
        "space": arms.space.to_dict(),
        "totals": arms.totals,
        "restart": arms.restart,
        "marked_at": arms.marked_at,
        "model_state": copy.deepcopy(arms.model_state),
        "counts": (arms.n_servable, arms.n_retired, arms.n_unrewarded),
    }
