"""The guardrail: when the tuned side is worse than the control, by more than a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from imabo.evaluation.bets import Floats, log_capital, reach, weights_around
from imabo.evaluation.lift import Lift, Mark
from imabo.evaluation.planning import score_risk, score_variance
from imabo.evaluation.tally import CENTRES, LOWER, Tally
from imabo.settings import check_fraction, check_number, check_one_of, unfit

_GAP: Final = 0.08  # loss beyond the margin, as a part of the range, that it is sharpest for
_SPREAD: Final = 0.3
FIRST: Final = 0.7  # part of the capital that bets from the start on; the rest starts later
EVERY: Final = 1024  # rewards between later starts
EACH: Final = 0.03  # part of the capital of each: 0.3 for every ten


Worse = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guardrail says of a study at some moment.

    Attributes:
        is_worse: Whether the tuned side is surely worse than the control by more than the margin.
        evidence: What bets against "not worse than that" have earned, 1 at the start.
        limit: The evidence at which it is sure.
        upper: Upper end of the lift since the start, at the guardrail's own level, in the study's
            units; None where nothing can be said yet.
    """

    is_worse: bool
    evidence: float
    limit: float
    upper: float | None


@dataclass(frozen=True, slots=True)
class Guardrail:
    """Fires when the tuned side is worse than the control by more than a margin.

    A one-sided test that may be looked at after every reward. While the lift is never below
    -margin, it fires in the first 10,000 rewards with probability at most 1 - level, and with at
    most 0.3 (1 - level) in every 10,000 after that; where there is no loss at all it fires much
    more rarely. Part of the evidence starts anew every 1,024 rewards, so that a side that was good
    for long is still caught soon when it turns bad.

    Args:
        margin: How much worse the tuned side may be, in the study's reward units, or in those of
            the signal; 0 or more.
        level: How sure to be.
        signal: The declared signal to watch in place of the reward, such as ``"latency_s"``.
        worse: Which way a signal is worse: ``"higher"`` (a cost, a latency) or ``"lower"``.

    Example:
        >>> from imabo.evaluation import Lift, Outcome
        >>> rng = np.random.default_rng(1)
        >>> coins = rng.random(3000) < 0.3
        >>> rewards = rng.random(3000) < np.where(coins, 0.7, 0.5)
        >>> outcomes = [Outcome(float(r), bool(c), 0.3) for r, c in zip(rewards, coins)]
        >>> Guardrail(margin=0.02).check(Lift().update(outcomes)).is_worse
        True
        >>> Guardrail(margin=0.02).check(Lift().update(outcomes[:20])).is_worse
        False
    """

    margin: float = 0.02
    level: float = 0.975
    signal: str | None = None
    worse: Worse = "higher"

    def __post_init__(self) -> None:
        check_number("margin", self.margin, 0.0, math.inf, closed=True)
        check_fraction("level", self.level)
        check_one_of("worse", self.worse, ["higher", "lower"])
        signal: object = self.signal
        if signal is not None and not isinstance(signal, str):
            why = "it must be the name of a signal"
            raise unfit("the guardrail's signal", signal, why, 'pass "latency_s", say')

    def check(self, lift: Lift, since: Mark | None = None) -> Verdict:
        """What it says now; after an operator's "go on", of the rewards since then.

        Args:
            lift: The study's lift; of a signal such that lower is worse.
            since: ``lift.mark()`` of the moment from which on rewards count; None is the start.
        """
        limit = 1.0 / (1.0 - self.level)
        if lift.reward_range is None:
            ends = lift.ends(lift.stretch(since), 2.0 * self.level - 1.0)  # its upper end alone
            is_worse = ends is not None and ends[1] < -self.margin
            return Verdict(
                is_worse, limit if is_worse else 1.0, limit, None if ends is None else ends[1]
            )
        width = lift.reward_range[1] - lift.reward_range[0]
        begin = 0 if since is None else since.n
        starts = [(FIRST, since)]
        starts += [
            (EACH, mark)
            for mark in lift.marks
            if mark.ended is None and mark.n % EVERY == 0 and begin < mark.n < lift.total.n
        ]
        evidence = [
            math.log(part) + self._log_capital(lift.stretch(mark), self.margin / width)
            for part, mark in starts
        ]
        total = float(np.logaddexp.reduce(evidence))  # (guardrail)
        upper = self._upper(lift.stretch(since), self.margin / width)
        return Verdict(
            is_worse=total >= math.log(limit),
            evidence=math.exp(min(total, 700.0)),
            limit=limit,
            upper=None if upper is None else width * upper,
        )

    def _log_capital(self, tally: Tally, margin: float) -> float:
        """What bets that the lift is lower have earned if it is -margin; eq. (capital)."""
        if tally.share is None or not tally.n:
            return 0.0
        drift = -tally.n * margin - tally.values[CENTRES]
        weights = guardrail_weights(tally.share, margin)
        return float(log_capital(tally.values[LOWER], np.asarray(drift), weights))

    def _upper(self, tally: Tally, margin: float) -> float | None:
        if tally.share is None or not tally.n:
            return None
        weights = guardrail_weights(tally.share, margin)
        n = np.array([float(tally.n)])
        limit = -math.log(1.0 - self.level)
        far = reach(tally.values[LOWER][None, :], n, weights, limit)
        return min(float(tally.values[CENTRES] / n[0] + far[0]), 1.0)


def guardrail_weights(share: float, margin: float) -> Floats:
    """Weights of bets that are best against a loss of some more than the margin; eq. (weights)."""
    best = (margin + _GAP) / score_variance(share)
    return weights_around(best, score_risk(share), _SPREAD)
