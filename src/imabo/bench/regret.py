"""Regret on the paper's toy functions: a quick look at whether the engine learns as it should.

Run it with ``make bench-toy``; ``python -m imabo.bench.regret --help`` lists its options.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from imabo import Study, oracles
from imabo.bench.toy import NAMES, Toy
from imabo.oracles.base import Oracle

_SERVING_AT_RANDOM = "random serving"
_ORACLES: dict[str, Oracle] = {
    "IMOSS-Random": oracles.Random(),
    "IMOSS-TPE": oracles.TPE(),
    "IMOSS-Mutate": oracles.Mutate(),
}
# The reference implementation's mean regrets (uniform, TPE and KLxPE oracle), 50 seeds, T = 5,000.
_REFERENCE = {
    "sin1": (1329, 1329, 1045),
    "garland": (1426, 1449, 1345),
    "rastrigin": (1308, 1312, 1074),
    "gaussian": (1417, 1068, 1241),
}


def cumulative_regret(name: str, method: str, seed: int, rounds: int) -> float:
    """Regret of one run; the noise of a seed is the same for every method (paired runs)."""
    toy = Toy(name)
    optimum = toy.optimum
    noise = np.random.default_rng([seed, 1])
    lost = 0.0
    if method == _SERVING_AT_RANDOM:
        draws = np.random.default_rng([seed, 2])
        return sum(optimum - toy.mean(toy.space.sample(draws)) for _ in range(rounds))
    study = Study.create(
        name, toy.space, oracle=_ORACLES[method], seed=seed, reward_range=toy.reward_range
    )
    for _ in range(rounds):
        pull = study.ask()
        lost += optimum - toy.mean(pull.config)
        study.tell(pull.id, toy.draw(pull.config, noise))
    return lost


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every method on every function and print the table."""
    parser = argparse.ArgumentParser(prog="python -m imabo.bench.regret", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5000, help="requests a run (default 5000)")
    parser.add_argument("--seeds", type=int, default=20, help="runs a method (seeds 0, 1, ...)")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args(arguments)
    methods = [_SERVING_AT_RANDOM, *_ORACLES]
    print(
        f"Cumulative regret at T = {options.rounds}, d = 4, sigma = 0.7, seeds 0 to "
        f"{options.seeds - 1}: mean ± standard error.\n"
        "In brackets: the reference implementation's mean (50 seeds, T = 5,000).\n"
    )
    print(f"{'':10}" + "".join(f"{method:>24}" for method in methods))
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in NAMES:
            runs = itertools.product([name], methods, range(options.seeds), [options.rounds])
            regrets = np.array(list(pool.map(cumulative_regret, *zip(*runs, strict=True))))
            cells = []
            for k, row in enumerate(regrets.reshape(len(methods), -1)):
                spread = row.std(ddof=1) / np.sqrt(len(row)) if len(row) > 1 else float("nan")
                known = f" ({_REFERENCE[name][k - 1]})" if k else ""
                cells.append(f"{row.mean():.0f} ± {spread:.0f}{known}")
            print(f"{name:10}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
