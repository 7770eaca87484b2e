"""The same data through Optuna's public TPE sampler: its suggestions follow our densities.

With one candidate, a suggestion is a draw from the density of the good trials; with thousands, it
is nearly the best point of the ratio. Scott's rule is what Optuna's multivariate mode used before
release 5; since then both of its modes use the distance to the neighbours.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from imabo.density import Parzen
from imabo.density.parzen import Bandwidth, Bools, Ints
from imabo.density.truncated import Floats
from tests.loops import first

optuna = pytest.importorskip("optuna")

OPTUNA_5 = int(optuna.__version__.split(".")[0]) >= 5
MULTIVARIATE_RULE: Bandwidth = "neighbours" if OPTUNA_5 else "scott"
Float, Int, Categorical = (
    optuna.distributions.FloatDistribution,
    optuna.distributions.IntDistribution,
    optuna.distributions.CategoricalDistribution,
)

SPACE: dict[str, Any] = {
    "x": Float(-2.0, 6.0),
    "rate": Float(1e-4, 1.0, log=True),
    "depth": Int(1, 9),
    "units": Int(1, 64, log=True),
    "share": Float(0.0, 2.0, step=0.25),
    "kind": Categorical(["a", "b", "c"]),
}
# Good trials first. Values of a good ordered parameter are distinct: equal ones have no defined
# order, and with it no defined width, in Optuna.
TRIALS: list[tuple[float, float, int, int, float, str]] = [
    (-1.5, 2e-4, 1, 1, 0.0, "a"),
    (-1.0, 5e-4, 2, 3, 0.25, "a"),
    (0.5, 1e-3, 5, 4, 0.75, "b"),
    (0.9, 7e-3, 4, 9, 1.0, "a"),
    (3.0, 3e-1, 9, 50, 2.0, "c"),
    (5.5, 9e-1, 7, 64, 1.75, "b"),
    (5.9, 2e-2, 6, 20, 1.25, "c"),
    (2.0, 5e-2, 3, 12, 1.5, "b"),
    (4.0, 1e-1, 8, 33, 0.5, "c"),
    (1.5, 6e-1, 5, 6, 1.0, "c"),
]
N_GOOD = 5
GOOD_WEIGHTS = np.array([1.0, 2.0, 1.0, 0.5, 3.0])


def scale(name: str, value: Any) -> tuple[float, float, float]:
    """A value's place in the unit interval, and the edges of its cell."""
    distribution = SPACE[name]
    if isinstance(distribution, Categorical):
        k = len(distribution.choices)
        unit = (distribution.choices.index(value) + 0.5) / k
        return unit, unit, unit
    half = (distribution.step or 0.0) / 2
    to: Callable[[float], float] = math.log if distribution.log else float
    low, high = to(distribution.low - half), to(distribution.high + half)
    unit, lo, hi = ((to(v) - low) / (high - low) for v in (value, value - half, value + half))
    return unit, lo, hi


def ours(names: list[str], rows: slice, rule: Bandwidth, weights: Floats | None = None) -> Parzen:
    keys = list(SPACE)
    units = np.array([[scale(n, row[keys.index(n)])[0] for n in names] for row in TRIALS[rows]])
    sizes = [len(getattr(SPACE[n], "choices", ())) for n in names]
    categories: Ints = np.array(sizes, dtype=np.int64)
    mask: Bools = np.ones(units.shape, dtype=bool)
    return Parzen.fit(units, mask, categories, bandwidth=rule, weights=weights)


def values_of(name: str) -> list[Any]:
    distribution = SPACE[name]
    if isinstance(distribution, Categorical):
        return list(distribution.choices)
    n = round((distribution.high - distribution.low) / distribution.step) + 1
    return [distribution.low + i * distribution.step for i in range(n)]


def marginal(density: Parzen, names: list[str], points: list[dict[str, Any]]) -> Floats:
    """Probability (density, where continuous) of points that give only some of the names."""
    lo, hi = np.zeros((len(points), len(names))), np.zeros((len(points), len(names)))
    mask = np.zeros(lo.shape, dtype=bool)
    for i, point in enumerate(points):
        for name, value in point.items():
            j = names.index(name)
            _, lo[i, j], hi[i, j] = scale(name, value)
            mask[i, j] = True
    return np.asarray(np.exp(density.log_density(lo, hi, mask)))


def suggestions(
    names: list[str], count: int, *, multivariate: bool, candidates: int, seed: int
) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        # Old and new releases call different ones of these arguments experimental or deprecated.
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(
            multivariate=multivariate,
            n_startup_trials=0,
            n_ei_candidates=candidates,
            gamma=lambda n: N_GOOD,
            weights=lambda n: GOOD_WEIGHTS[:n],
            constant_liar=False,  # open trials must not change the densities
            seed=seed,
        )
    space = {name: SPACE[name] for name in names}
    study = optuna.create_study(sampler=sampler)
    keys = list(SPACE)
    for loss, row in enumerate(TRIALS):
        params = {name: row[keys.index(name)] for name in names}
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=space, value=float(loss))
        )
    # One open trial asked for suggestions again and again: the study stays as it is.
    trial = study.ask()
    frozen = study.trials[trial.number]
    if multivariate:
        return [dict(sampler.sample_relative(study, frozen, space)) for _ in range(count)]
    return [
        {name: sampler.sample_independent(study, frozen, name, space[name]) for name in names}
        for _ in range(count)
    ]


def assert_same_distribution(
    density: Parzen, names: list[str], drawn: list[dict[str, Any]]
) -> None:
    for name in names:
        j = names.index(name)
        seen = [point[name] for point in drawn]
        if getattr(SPACE[name], "step", 1) is None:
            lo, hi = np.zeros((len(seen), len(names))), np.zeros((len(seen), len(names)))
            hi[:, j] = [scale(name, value)[0] for value in seen]
            mask = np.zeros(lo.shape, dtype=bool)
            mask[:, j] = True
            below = np.exp(density.log_density(lo, hi, mask))
            assert kstest(below, "uniform").pvalue > 0.001, name
        else:
            values = values_of(name)
            counts = np.array([sum(s == value for s in seen) for value in values])
            expected = marginal(density, names, [{name: value} for value in values])
            assert counts.sum() == len(drawn)
            assert expected.sum() == pytest.approx(1.0)
            assert pooled_pvalue(counts, len(drawn) * expected) > 0.001, name


def pooled_pvalue(counts: Any, expected: Floats) -> float:
    """Chi-square after joining the rarest cells, so that each expects at least five."""
    order = np.argsort(expected)
    split = int(np.searchsorted(np.cumsum(expected[order]), 5.0)) + 1
    rare, rest = order[:split], order[split:]
    joined = np.append(np.asarray(counts)[rest], np.asarray(counts)[rare].sum())
    model = np.append(expected[rest], expected[rare].sum())
    return float(chisquare(joined, model * joined.sum() / model.sum()).pvalue)


@pytest.mark.parametrize("count", first(1, [600, 3000]))
def test_multivariate_suggestions_are_draws_from_our_density(count: int) -> None:
    names = list(SPACE)
    if not OPTUNA_5:
        names.remove("units")  # older releases gave log-scaled integers a continuous density
    drawn = suggestions(names, count, multivariate=True, candidates=1, seed=1)
    density = ours(names, slice(N_GOOD), MULTIVARIATE_RULE, GOOD_WEIGHTS)
    assert_same_distribution(density, names, drawn)

    # And jointly: one kernel gives all coordinates of a point.
    pairs = list(itertools.product(values_of("kind"), values_of("depth")))
    counts = [sum((p["kind"], p["depth"]) == pair for p in drawn) for pair in pairs]
    expected = marginal(density, names, [{"kind": a, "depth": b} for a, b in pairs])
    assert pooled_pvalue(counts, len(drawn) * expected) > 0.001
    independent = [
        float(np.prod(marginal(density, names, [{"kind": a}, {"depth": b}]))) for a, b in pairs
    ]
    assert pooled_pvalue(counts, len(drawn) * np.array(independent)) < 1e-6


@pytest.mark.skipif(not OPTUNA_5, reason="Optuna 5 changed the rule of its univariate mode")
@pytest.mark.parametrize("count", first(1, [300, 1500]))
def test_univariate_suggestions_are_draws_from_our_density(count: int) -> None:
    names = list(SPACE)
    drawn = suggestions(names, count, multivariate=False, candidates=1, seed=2)
    for name in names:
        density = ours([name], slice(N_GOOD), "neighbours", GOOD_WEIGHTS)
        assert_same_distribution(density, [name], [{name: p[name]} for p in drawn])


def test_the_comparison_tells_the_two_rules_apart() -> None:
    other: Bandwidth = "scott" if OPTUNA_5 else "neighbours"
    drawn = suggestions(["x", "kind"], 3000, multivariate=True, candidates=1, seed=3)
    density = ours(["x", "kind"], slice(N_GOOD), other, GOOD_WEIGHTS)
    with pytest.raises(AssertionError, match="x"):
        assert_same_distribution(density, ["x", "kind"], drawn)


def log_ratio(names: list[str], rule: Bandwidth, points: list[dict[str, Any]]) -> Floats:
    good = ours(names, slice(N_GOOD), rule, GOOD_WEIGHTS)
    bad = ours(names, slice(N_GOOD, None), rule, GOOD_WEIGHTS)
    return np.asarray(np.log(marginal(good, names, points)) - np.log(marginal(bad, names, points)))


def dense(name: str) -> list[Any]:
    low, high = (SPACE[name].low, SPACE[name].high) if name in ("x", "rate") else (0, 0)
    if name == "x":
        return list(np.linspace(low, high, 401))
    if name == "rate":
        return list(np.geomspace(low, high, 401))
    return values_of(name)


@pytest.mark.parametrize(
    "names", [["x", "kind"], ["rate", "depth"], ["depth", "share", "kind"]], ids="-".join
)
def test_multivariate_suggestions_from_many_candidates_are_at_our_best_ratio(
    names: list[str],
) -> None:
    chosen = suggestions(names, 3, multivariate=True, candidates=5000, seed=4)
    grid = [
        dict(zip(names, values, strict=True))
        for values in itertools.product(*(dense(name) for name in names))
    ]
    everywhere = log_ratio(names, MULTIVARIATE_RULE, grid)
    reached = log_ratio(names, MULTIVARIATE_RULE, chosen)
    assert reached.min() > everywhere.max() - 0.02
    assert np.median(everywhere) < everywhere.max() - 0.5  # most points would not pass


@pytest.mark.skipif(not OPTUNA_5, reason="Optuna 5 changed the rule of its univariate mode")
@pytest.mark.parametrize("name", list(SPACE))
def test_univariate_suggestions_from_many_candidates_are_at_our_best_ratio(name: str) -> None:
    chosen = suggestions([name], 3, multivariate=False, candidates=5000, seed=5)
    everywhere = log_ratio([name], "neighbours", [{name: value} for value in dense(name)])
    reached = log_ratio([name], "neighbours", chosen)
    assert reached.min() > everywhere.max() - 0.01
    assert np.median(everywhere) < everywhere.max() - 0.1
