"""An oracle with a model, and a policy that believes it: a lost digit changes what they decide."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from imabo.arms import ActiveSet, Beliefs, Floats
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new
from imabo.policies.base import Policy


def digest(arms: ActiveSet) -> int:
    """A number that depends on every bit of the beliefs."""
    state = json.dumps(arms.model_state).encode()
    return zlib.crc32(state + arms.prior_means.tobytes() + arms.prior_counts.tobytes())


@dataclass(frozen=True)
class Believer(Oracle):
    """Proposes at random, from a stream that depends on what was believed before.

    ``fault`` spoils the beliefs, once there are so many arms.
    """

    fault: Literal["", "length", "nan", "negative", "state"] = ""
    sound_arms: int = 0

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        own = np.random.default_rng([digest(arms), int(rng.integers(2**32))])
        drawn = draw_new(arms, own)
        if isinstance(drawn, Exhausted) or own.random() < 0.2:
            return drawn  # as an oracle that now and then has nothing to say
        means, counts = own.random(len(arms) + 1), 5 * own.random(len(arms) + 1)
        made = 0 if arms.model_state is None else arms.model_state["made"]
        state = {"made": made + 1, "scales": own.random(3).tolist()}
        if len(arms) >= self.sound_arms:
            if self.fault == "length":
                means = means[1:]
            elif self.fault == "nan":
                means[0] = np.nan
            elif self.fault == "negative":
                counts[-1] = -0.5
            elif self.fault == "state":
                state["rows"] = counts
        return Proposal(drawn.config, beliefs=Beliefs(means, counts, state))


@dataclass(frozen=True)
class Trusting(Policy):
    """Grows with the root of the pulls and serves what is believed to be best."""

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        if arms.n_growing**2 > arms.totals.n_pulls:
            return None
        return "warmup" if len(arms) < 2 else "oracle"

    def scores(self, arms: ActiveSet) -> Floats:
        known = arms.known_means() * arms.n_rewards + arms.prior_means * arms.prior_counts
        return np.asarray((known + 1.0) / (arms.n_rewards + arms.prior_counts + arms.n_pulls + 1.0))
