"""P0: the frequencies of draws against what each scale promises."""

from __future__ import annotations

import math
from collections import Counter as Tally

import numpy as np
from scipy import stats

from imabo.space import Choice, Float, Int, Scalar, Space

N = 6000


def draws(space: Space, name: str, seed: int = 0) -> list[Scalar]:
    rng = np.random.default_rng(seed)
    return [space.sample(rng)[name] for _ in range(N)]


def fits(values: list[Scalar], expected: dict[Scalar, float]) -> bool:
    """Chi-square of the observed frequencies against expected probabilities."""
    tally = Tally(values)
    assert set(tally) <= set(expected)
    observed = [tally[value] for value in expected]
    return bool(stats.chisquare(observed, [N * p for p in expected.values()]).pvalue > 1e-3)


def test_choices_integers_and_grids_are_uniform() -> None:
    space = Space(
        c=Choice("a", "b", None), i=Int(-2, 4), s=Int(0, 12, step=4), g=Float(0, 0.4, step=0.1)
    )
    assert fits(draws(space, "c"), dict.fromkeys(("a", "b", None), 1 / 3))
    assert fits(draws(space, "i"), dict.fromkeys(range(-2, 5), 1 / 7))
    assert fits(draws(space, "s"), dict.fromkeys((0, 4, 8, 12), 1 / 4))
    assert fits(draws(space, "g"), dict.fromkeys((0.0, 0.1, 0.2, 0.3, 0.4), 1 / 5))


def test_log_integers_are_log_uniform() -> None:
    span = math.log(20.5 / 0.5)
    expected: dict[Scalar, float] = {
        v: math.log((v + 0.5) / (v - 0.5)) / span for v in range(1, 21)
    }
    values = draws(Space(n=Int(1, 20, log=True)), "n")
    assert fits(values, expected)
    assert not fits(values, dict.fromkeys(range(1, 21), 1 / 20))


def test_continuous_floats_are_uniform_on_their_scale() -> None:
    space = Space(x=Float(-1, 3), y=Float(1e-5, 1e-1, log=True))
    x = [float(str(v)) for v in draws(space, "x")]
    y = [math.log10(float(str(v))) for v in draws(space, "y")]
    assert stats.kstest(x, stats.uniform(-1, 4).cdf).pvalue > 1e-3
    assert stats.kstest(y, stats.uniform(-5, 4).cdf).pvalue > 1e-3


def test_each_decision_of_a_conditional_tree_is_uniform() -> None:
    # Uniform at each decision, not over leaves: "x" is half of all, though it has one leaf of 4.
    space = Space(a=Choice("x", "y"), b=Int(1, 3, when={"a": "y"}))
    rng = np.random.default_rng(3)
    leaves: list[Scalar] = [space.identity(space.sample(rng)) for _ in range(N)]
    expected: dict[Scalar, float] = {'{"a":"x"}': 1 / 2}
    expected |= {f'{{"a":"y","b":{b}}}': 1 / 6 for b in (1, 2, 3)}
    assert fits(leaves, expected)


def test_forbidden_combinations_leave_the_rest_in_proportion() -> None:
    space = Space(a=Int(1, 2), b=Int(1, 3), forbid=[{"a": 1, "b": [2, 3]}])
    rng = np.random.default_rng(4)
    pairs: list[Scalar] = [space.identity(space.sample(rng)) for _ in range(N)]
    left = [(1, 1), (2, 1), (2, 2), (2, 3)]
    assert fits(pairs, {f'{{"a":{a},"b":{b}}}': 1 / 4 for a, b in left})


def test_the_same_stream_gives_the_same_draws() -> None:
    space = Space(a=Int(1, 10), b=Float(0, 1), forbid=[{"a": list(range(1, 9))}])
    assert draws(space, "b", seed=5)[:50] == draws(space, "b", seed=5)[:50]
    assert draws(space, "b", seed=5)[:50] != draws(space, "b", seed=6)[:50]
