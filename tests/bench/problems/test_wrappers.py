"""Problems made from problems."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.errors import InvalidSetting
from imabo.space import Choice, Config, Float, Int, Space
from imabo_bench.problems import wrappers
from imabo_bench.problems.base import Problem
from imabo_bench.problems.toy import Toy
from imabo_bench.problems.wrappers import Bernoulli, Discretised, Noisy


class Mixed(Problem):
    """One axis of each kind; the mean is 1 where all are largest."""

    name = "mixed/one"

    @property
    def space(self) -> Space:
        return Space(
            kind=Choice("a", "b"),
            rate=Float(0.01, 1.0, log=True),
            share=Float(0.0, 1.0, when={"kind": "b"}),
            few=Int(1, 3),
            units=Int(1, 100),
            width=Int(1, 1000, log=True),
        )

    def mean(self, config: Config) -> float:
        units, width = config["units"], config["width"]
        return float(units == 100) / 2 + float(width == 1000) / 2  # both ends are on the grid

    @property
    def optimum(self) -> float:
        return 1.0

    def runtime(self, config: Config) -> float:
        return float(len(config))


def test_axes_are_discretised_by_their_own_scale() -> None:
    parameters = Discretised(Mixed(), 3).space.parameters
    assert dict(parameters) == {
        "kind": Choice("a", "b"),
        "rate": Choice(0.01, 0.1, 1.0, ordered=True),
        "share": Choice(0.0, 0.5, 1.0, ordered=True, when={"kind": "b"}),
        "few": Int(1, 3),  # it has no more values than the grid
        "units": Choice(1, 51, 100, ordered=True),
        "width": Choice(1, 22, 1000, ordered=True),
    }


def test_the_optimum_of_a_grid_is_the_best_of_its_points() -> None:
    grid = Discretised(Toy("sin1", dim=2), 7)
    assert grid.is_exact
    assert grid.optimum == max(grid.mean(config) for config in grid.space.configs())
    assert grid.optimum < grid.problem.optimum


def test_a_grid_too_large_to_list_is_searched_by_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrappers, "MOST_LISTED", 48)
    monkeypatch.setattr(wrappers, "N_DRAWS", 1000)
    small, large = Discretised(Toy("sin1", dim=1), 48), Discretised(Toy("sin1", dim=2), 7)
    assert (small.is_exact, large.is_exact) == (True, False)
    listed = max(large.mean(config) for config in large.space.configs())
    assert large.optimum == listed  # 1,000 draws meet all 49 points


def test_noise_replaces_the_problems_own() -> None:
    noisy = Noisy(Toy("gaussian", dim=1), 0.5)
    rewards = [noisy.draw({"x1": 0.5}, np.random.default_rng(seed)) for seed in range(2000)]
    assert np.std(rewards) == pytest.approx(0.5, abs=0.03)
    assert noisy.reward_range is None
    assert noisy.optimum == noisy.problem.optimum


def test_coin_flips_cut_the_mean_off_at_0() -> None:
    """Rastrigin is 1 + (10 (cos 9 pi - 1) - 4.5^2) / 40 = -0.00625 at 4.5."""
    flips = Bernoulli(Toy("rastrigin", dim=1))
    assert flips.problem.mean({"x1": 4.5}) == pytest.approx(-0.00625)
    assert flips.mean({"x1": 4.5}) == 0.0
    assert flips.mean({"x1": 0.0}) == flips.optimum == 1.0
    rng = np.random.default_rng(0)
    assert {flips.draw({"x1": 0.0}, rng) for _ in range(20)} == {1.0}
    assert {flips.draw({"x1": 4.5}, rng) for _ in range(20)} == {0.0}


def test_what_is_not_changed_is_the_wrapped_problems() -> None:
    inner = Mixed()
    config = inner.space.sample(np.random.default_rng(0))
    for wrapped in (Noisy(inner, 0.1), Bernoulli(inner)):
        assert wrapped.space == inner.space
        assert wrapped.runtime(config) == len(config)
        assert wrapped.is_exact
    assert Discretised(inner, 3).draw(config, np.random.default_rng(0)) in (0.0, 1.0)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidSetting, match="n_values is 1"):
        Discretised(Mixed(), 1)
    with pytest.raises(InvalidSetting, match="sigma is -1"):
        Noisy(Mixed(), -1)
