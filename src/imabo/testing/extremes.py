"""Active sets with rewards at the ends of what is accepted, and beyond; the contracts run on them.

Every function builds its value afresh, like those of ``imabo.testing.situations``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from imabo.arms import ActiveSet, Tally, usable_totals
from imabo.drift import remember
from imabo.magnitude import LARGEST, NARROWEST
from imabo.testing.situations import conditional_space, distinct_configs

N_ARMS: Final = 15
Ends = tuple[float, float] | None

# The i-th reward of a study, for rewards without a range.
REWARDS: Final[Mapping[str, Callable[[int], float]]] = {
    "tiny": lambda i: 1e-300 * (i % 3),
    "the smallest there are": lambda i: 5e-324 * (i % 2),
    "as large as can be": lambda i: LARGEST,
    "large, both signs": lambda i: LARGEST * (-1.0) ** i,
    "large and hardly different": lambda i: LARGEST * (1.0 - 1e-15 * (i % 3)),
    "all equal": lambda i: 0.1,
    "one outlier": lambda i: -LARGEST if i == 21 else math.sin(i),
    "one outlier, then little": lambda i: LARGEST if i == 0 else 1e-100 * math.sin(i),
    "of all magnitudes": lambda i: (-1.0) ** i * 10.0 ** (i * 37 % 120 - 60),
    "falling from one end to the other": lambda i: LARGEST if i < 30 else -LARGEST,
}
RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "the widest range": (-LARGEST, LARGEST),
    "the narrowest range": (0.0, NARROWEST),
    "a range far from zero": (LARGEST * (1.0 - 1e-15), LARGEST),
}


def _set_of(reward: Callable[[int], float], ends: Ends = None) -> ActiveSet:
    """Arms with up to four rewards each, pending pulls and, of every other kind, a memory."""
    space = conditional_space()
    configs, rewards, number = distinct_configs(space, N_ARMS), [], 0
    for row in range(N_ARMS):
        rewards.append([reward(number + i) for i in range(1 + row % 4)])
        number += 1 + row % 4
    arms = ActiveSet.from_rewards(
        space, list(zip(configs, rewards, strict=True)), pending=[0, 2, 1], reward_range=ends
    )
    arms.put_memory(remember(arms))
    arms.count_pull(3)
    arms.count_reward(3, reward(number), was_pending=True)
    arms.admit(N_ARMS + 1, distinct_configs(space, N_ARMS + 1)[-1])
    return arms


def _in_range(ends: tuple[float, float]) -> Callable[[], ActiveSet]:
    low, high = ends
    shares = (0.0, 1.0, 0.25, 1.0, 0.5)
    return lambda: _set_of(lambda i: min(low + (high - low) * shares[i % 5], high), ends)


def _from_before(ends: Ends, total: float, squares: float) -> Callable[[], ActiveSet]:
    """Counters as a database has them that took a reward which is refused today."""

    def build() -> ActiveSet:
        arms = ActiveSet(conditional_space(), reward_range=ends)
        configs = distinct_configs(arms.space, N_ARMS)
        for row, config in enumerate(configs):
            is_large = row % 5 == 2
            arms.admit(
                row + 1,
                config,
                tally=Tally(3, 2, 1, total if is_large else 1.0, squares if is_large else 0.75),
            )
        counts = arms.totals._replace(n_pulls=3 * N_ARMS, n_rewards=2 * N_ARMS, n_pending=N_ARMS)
        arms.totals = usable_totals(counts._replace(reward_sum=total))
        arms.put_memory(remember(arms))
        return arms

    return build


EXTREMES: Final[Mapping[str, Callable[[], ActiveSet]]] = {
    **{name: lambda of=of: _set_of(of) for name, of in REWARDS.items()},  # type: ignore[misc]
    **{name: _in_range(ends) for name, ends in RANGES.items()},
    "1e155 from before": _from_before(None, 1e155, math.inf),
    "sums beyond all numbers from before": _from_before(None, -math.inf, math.inf),
    "a range to 1e308 from before": _from_before((0.0, 1e308), 1e308, math.inf),
    "a range without a width from before": _from_before((0.0, 5e-324), 5e-324, 0.0),
}
