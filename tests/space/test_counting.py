"""Numbers of configurations, and draws where nearly everything is forbidden."""

from __future__ import annotations

import itertools
import time
from collections import Counter as Tally

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from imabo.errors import InvalidSpace
from imabo.space import Choice, Float, Int, Parameter, Space
from tests.space.strategies import random_spaces


def test_a_plain_product_is_counted_at_once() -> None:
    start = time.process_time()
    assert Space({f"p{i}": Int(1, 1000) for i in range(10)}).n_configs == 10**30
    assert time.process_time() - start < 1


def test_conditions_are_counted_by_class_of_value() -> None:
    # a in 1..1000: for the two listed values b has 10 values, for the other 998 it is inactive.
    space = Space(a=Int(1, 1000), b=Int(1, 10, when={"a": [3, 7]}), c=Int(1, 5))
    assert space.n_configs == (998 + 2 * 10) * 5


def test_clauses_are_counted_by_class_of_value() -> None:
    # Of 10^6 pairs, 2 * 3 are forbidden.
    space = Space(a=Int(1, 1000), b=Int(1, 1000), forbid=[{"a": [1, 2], "b": [5, 6, 7]}])
    assert space.n_configs == 10**6 - 6


def test_overlapping_clauses_are_not_counted_twice() -> None:
    # Inclusion and exclusion: 100 - 10 - 10 + 1.
    space = Space(a=Int(1, 10), b=Int(1, 10), forbid=[{"a": 1}, {"b": 1}])
    assert space.n_configs == 81


def test_a_continuum_that_is_never_active_does_not_make_a_space_infinite() -> None:
    space = Space(
        a=Choice("x", "y"),
        b=Choice(1, 2, when={"a": "x"}),
        c=Float(0, 1, when={"b": 2}),
        forbid=[{"b": 2}],
    )
    assert space.n_configs == 2
    assert list(space.configs()) == [{"a": "x", "b": 1}, {"a": "y"}]
    assert Space(a=Choice("x"), c=Float(0, 1, when={"a": "x"})).n_configs is None


def test_a_star_of_many_linked_children_is_counted_at_once() -> None:
    # Each of 40 children is forbidden one value under "y", and inactive under "z".
    children: dict[str, Parameter] = {
        f"c{i}": Int(1, 5, when={"hub": ["x", "y"]}) for i in range(40)
    }
    clauses = [{"hub": "y", name: 3} for name in children]
    start = time.process_time()
    space = Space({"hub": Choice("x", "y", "z"), **children}, forbid=clauses)
    assert space.n_configs == 5**40 + 4**40 + 1
    assert time.process_time() - start < 2


def test_a_long_chain_of_clauses_is_counted_at_once() -> None:
    # Words of 60 letters over {1, 2} without two neighbouring 1s: a Fibonacci number.
    names = [f"p{i}" for i in range(60)]
    clauses = [{a: 1, b: 1} for a, b in itertools.pairwise(names)]
    space = Space({name: Int(1, 2) for name in names}, forbid=clauses)
    fibonacci = [1, 2]
    while len(fibonacci) <= 60:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert space.n_configs == fibonacci[60]


def entangled() -> Space:
    """Pairwise different values for 17 parameters of 20 values: out of reach of the count."""
    names = [f"p{i}" for i in range(17)]
    clauses = [
        {a: value, b: value} for i, a in enumerate(names) for b in names[:i] for value in range(20)
    ]
    return Space({name: Int(0, 19) for name in names}, forbid=clauses)


@pytest.mark.slow
def test_past_the_bound_the_count_is_unknown_and_nothing_hangs() -> None:
    start = time.process_time()
    space = entangled()
    assert space.n_configs is None
    assert len(set(next(space.configs()).values())) == 17
    assert time.process_time() - start < 10


def test_a_chain_of_conditions_as_deep_as_the_stack_does_not_fail() -> None:
    space = Space(
        {"p0": Int(1, 2), **{f"p{i}": Int(1, 2, when={f"p{i - 1}": 1}) for i in range(1, 2000)}}
    )
    config = space.sample(np.random.default_rng(0))
    assert space.validate(config) == config
    assert space.n_configs in (2001, None)


def test_draws_end_and_are_uniform_when_next_to_nothing_is_allowed() -> None:
    # Only 12 of 10^12 configurations are left, so rejection would never meet one.
    most = list(range(3, 1001))
    space = Space(
        {f"p{i}": Int(1, 1000) for i in range(4)},
        forbid=[*({f"p{i}": most} for i in range(4)), {"p0": 1, "p1": 1}],
    )
    assert space.n_configs == 12
    rng = np.random.default_rng(1)
    drawn = Tally(space.identity(space.sample(rng)) for _ in range(1200))
    assert set(drawn) == {space.identity(config) for config in space.configs()}
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-3


def test_exact_draws_follow_p0_of_what_is_left_on_log_scales_and_grids() -> None:
    # The rest of n is {1, 2, 3}, whose cells on the log scale are log 3, log(5/3), log(7/5) long.
    space = Space(
        n=Int(1, 10**6, log=True),
        x=Float(0, 1),
        blocker=Choice(*range(1000)),
        forbid=[{"blocker": list(range(1, 1000))}, {"n": list(range(4, 5000))}],
    )
    rng = np.random.default_rng(2)
    drawn = [space.sample(rng) for _ in range(2000)]
    assert all(space.allows(config) and config["blocker"] == 0 for config in drawn)
    lengths = np.log([1.5 / 0.5, 2.5 / 1.5, 3.5 / 2.5, (10**6 + 0.5) / 4999.5])
    bins = Tally(min(int(str(config["n"])), 4) for config in drawn)
    observed = [bins[1], bins[2], bins[3], bins[4]]
    assert stats.chisquare(observed, 2000 * lengths / lengths.sum()).pvalue > 1e-3
    assert stats.kstest([float(str(config["x"])) for config in drawn], "uniform").pvalue > 1e-3


@settings(max_examples=40, deadline=None)
@given(random_spaces(max_parameters=4, small=True), st.integers(0, 10**6))
def test_exact_draws_are_always_allowed(space: Space, seed: int) -> None:
    total = space.n_configs
    assert total
    # A blocker with one allowed value in 100,000 forces the exact way of drawing.
    blocked = Space(
        {**space.parameters, "blocker": Int(0, 10**5)},
        forbid=[*space.forbid, {"blocker": list(range(1, 1000))}],
    )
    assert blocked.n_configs == total * (10**5 + 1 - 999)
    config = blocked.sample(np.random.default_rng(seed))
    assert blocked.validate(config) == config


def test_an_empty_space_behind_many_clauses_is_refused() -> None:
    # Three parameters, pairwise different, two values: impossible.
    clauses = [{a: v, b: v} for a, b in ("ab", "bc", "ac") for v in (1, 2)]
    with pytest.raises(InvalidSpace, match="exclude every configuration"):
        Space(a=Int(1, 2), b=Int(1, 2), c=Int(1, 2), forbid=clauses)
