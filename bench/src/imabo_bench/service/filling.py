"""Studies with a past, written straight to the store because only the service is of interest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from imabo import Study, oracles, policies
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.stores import open_store
from imabo.stores.base import NewPull, Store
from imabo_bench.timing import SPACE, new_arms

N_ARMS: Final = 100
# The default policy and oracle, but that 100 arms are enough up to 1.2 million pulls.
STEADY: Final = policies.Informed(beta=0.25)

_AT: Final = 1.7e9
_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Past:
    """A study to make: its name, and how many pulls it has, all of them rewarded."""

    name: str
    n_pulls: int
    policy: Policy = STEADY
    oracle: Oracle = field(default_factory=oracles.GP)


def fill(url: str, pasts: Iterable[Past]) -> None:
    """Make studies of 100 arms in a store."""
    store = open_store(url)
    try:
        for past in pasts:
            Study.create(
                past.name, SPACE, policy=past.policy, oracle=past.oracle, store=store, seed=0
            )
            _write(store, past)
    finally:
        store.close()


def _write(store: Store, past: Past) -> None:
    rng = np.random.default_rng(0)
    means = rng.uniform(0.3, 0.8, N_ARMS)
    seq = store.serve(past.name, seq=0, at=_AT, pulls=[], arms=new_arms(N_ARMS, rng))
    for start in range(0, past.n_pulls, _BATCH):
        chosen = rng.integers(0, N_ARMS, min(_BATCH, past.n_pulls - start))
        good = rng.random(len(chosen)) < means[chosen]
        pulls = [NewPull(start + i + 1, int(arm) + 1, "index") for i, arm in enumerate(chosen)]
        rewards = [(pull.number, float(reward)) for pull, reward in zip(pulls, good, strict=True)]
        store.serve(past.name, seq=seq, at=_AT + start, pulls=pulls)
        store.reward_many(past.name, rewards, at=_AT + start)
        seq += 2
