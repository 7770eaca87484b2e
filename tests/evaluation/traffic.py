"""Requests with a control: late and lost rewards, and a tuned side that learns from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imabo.evaluation import Outcome
from imabo.evaluation.bets import Floats

Share = Callable[[int], float]
_LATEST: Final = 128  # requests that a reward is late at most
_AT_A_TIME: Final = 100  # studies, to spare the memory


@dataclass(frozen=True)
class Arrivals:
    """Rewards in the order in which they came in, with the truth at the time of their requests."""

    reward: Floats
    control: NDArray[np.bool_]
    share: Floats
    lift: Floats

    def outcomes(self) -> list[Outcome]:
        return [
            Outcome(float(r), bool(c), float(e))
            for r, c, e in zip(self.reward, self.control, self.share, strict=True)
        ]


def arrivals(
    runs: int,
    n_requests: int,
    arms: Sequence[float],
    control: float,
    share: Share,
    *,
    lost: float = 0.5,
    delay: float = 20.0,
    concentration: float | None = None,
    seed: int = 0,
) -> Iterator[Arrivals]:
    """Rewards of many studies: each request serves the arm that leads so far, or one at random.

    Args:
        runs: Number of studies.
        n_requests: Requests of each.
        arms: True means of what the tuned side may serve; one for a side that does not learn.
        control: True mean of the control.
        share: The control's share at each request.
        lost: Part of the feedback that never comes.
        delay: Mean delay of the rest, in requests.
        concentration: Of graded rewards, which are Beta distributed; None for rewards of 0 and 1.
        seed: Of the studies.
    """
    if runs > _AT_A_TIME:
        for start in range(0, runs, _AT_A_TIME):
            yield from arrivals(
                min(_AT_A_TIME, runs - start),
                n_requests,
                arms,
                control,
                share,
                lost=lost,
                delay=delay,
                concentration=concentration,
                seed=seed + start,
            )
        return
    rng = np.random.default_rng([seed, 3])
    k, shape = len(arms), (n_requests, runs)
    means = np.array(arms)
    e = np.array([share(t) for t in range(n_requests)])
    is_control = rng.random(shape) < e[:, None]
    waits = np.minimum(rng.geometric(1.0 / (1.0 + delay), shape), _LATEST - 1)
    comes = rng.random(shape) >= lost
    arm = rng.integers(k, size=shape)
    if k == 1:
        reward = _rewards(rng, np.where(is_control, control, means[0]), concentration)
    else:
        reward = np.empty(shape)
        tries = rng.random(shape) < 0.05
        n, sums = np.ones((runs, k)), np.full((runs, k), 0.5)
        late_n, late_sums = np.zeros((2, _LATEST, runs, k))
        each = np.arange(runs)
        for t in range(n_requests):
            slot = t % _LATEST
            n += late_n[slot]
            sums += late_sums[slot]
            late_n[slot] = late_sums[slot] = 0.0
            leader = np.argmax(sums / n + 0.3 / np.sqrt(n), axis=1)
            arm[t] = np.where(tries[t], arm[t], leader)
            reward[t] = _rewards(
                rng, np.where(is_control[t], control, means[arm[t]]), concentration
            )
            seen = each[comes[t] & ~is_control[t]]
            due = (t + waits[t, seen]) % _LATEST
            late_n[due, seen, arm[t, seen]] += 1.0
            late_sums[due, seen, arm[t, seen]] += reward[t, seen]
    due = np.arange(n_requests)[:, None] + waits
    for run in range(runs):
        order = np.argsort(due[:, run], kind="stable")
        order = order[comes[order, run]]
        yield Arrivals(
            reward[order, run],
            is_control[order, run],
            e[order],
            means[arm[order, run]] - control,
        )


def _rewards(rng: np.random.Generator, means: Floats, concentration: float | None) -> Floats:
    if concentration is None:
        return (rng.random(means.shape) < means).astype(float)
    return rng.beta(concentration * means, concentration * (1.0 - means))
