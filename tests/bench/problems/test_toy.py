"""The toy functions: values worked out by hand, and optima that a search does not beat."""

from __future__ import annotations

import math

import numpy as np
import pytest

from imabo.errors import InvalidSetting
from imabo.space import Config
from imabo_bench.problems.toy import NAMES, Toy


def at(toy: Toy, x: float) -> float:
    return toy.mean(dict.fromkeys(toy.space.names, x))


@pytest.mark.parametrize(
    ("function", "x", "value"),
    [
        ("sin1", 0.0, 0.5),  # (0 + 1) / 2
        ("garland", 0.5, 0.75 + 0.25 * (1 - math.sqrt(abs(math.sin(30.0))))),
        ("garland", math.pi / 6, 4 * (math.pi / 6) * (1 - math.pi / 6)),  # sin(10 pi) = 0
        ("rastrigin", 0.0, 1.0),
        ("rastrigin", 1.0, 1.0 - 1.0 / 40.0),
        ("rastrigin", 0.5, 1.0 + (10.0 * (-2.0) - 0.25) / 40.0),
    ],
)
@pytest.mark.parametrize("dim", [1, 4])
def test_values_of_table_toy_functions(function: str, x: float, value: float, dim: int) -> None:
    """On the diagonal the normalised function (eq. toy-normalization) is its profile."""
    assert at(Toy(function, dim=dim), x) == pytest.approx(value, abs=1e-6)


def test_a_separable_function_is_the_average_of_its_profile() -> None:
    """Off the diagonal: rastrigin at (0, 1) is the average of 1 and 1 - 1/40."""
    toy = Toy("rastrigin", dim=2)
    assert toy.mean({"x1": 0.0, "x2": 1.0}) == pytest.approx(1.0 - 1.0 / 80.0)


def test_the_two_modes_of_gaussian() -> None:
    """At a mode the nearer bump gives its height, the farther one exp(-1 / 0.35^2) of its own."""
    far = math.exp(-1.0 / 0.35**2)
    toy = Toy("gaussian")
    assert at(toy, 1 - 1 / (2 * math.pi)) == pytest.approx(0.9 + 0.6 * far)
    assert at(toy, 1 / (2 * math.pi)) == pytest.approx(0.6 + 0.9 * far)


@pytest.mark.parametrize("function", NAMES)
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_no_draw_beats_the_optimum(function: str, dim: int) -> None:
    toy = Toy(function, dim=dim)
    rng = np.random.default_rng(0)
    best = max(toy.mean(toy.space.sample(rng)) for _ in range(2000))
    assert best <= toy.optimum
    assert toy.optimum - best < (0.2 if dim < 4 else 0.7)


def test_known_optima() -> None:
    assert Toy("rastrigin").optimum == pytest.approx(1.0)
    assert Toy("garland").optimum == pytest.approx(4 * (math.pi / 6) * (1 - math.pi / 6))
    assert Toy("sin1").optimum == pytest.approx(0.975599, abs=1e-6)


def test_noise() -> None:
    rng = np.random.default_rng(0)
    config: Config = dict.fromkeys(Toy("sin1").space.names, 0.0)
    noisy = [Toy("sin1").draw(config, rng) for _ in range(4000)]
    assert np.mean(noisy) == pytest.approx(0.5, abs=0.05)
    assert np.std(noisy) == pytest.approx(0.7, abs=0.03)
    assert Toy("sin1", sigma=0).draw(config, rng) == 0.5
    flips = [Toy("gaussian").draw(config, rng) for _ in range(200)]
    assert set(flips) <= {0.0, 1.0}


def test_only_coin_flips_have_a_reward_range() -> None:
    assert Toy("gaussian").reward_range == (0.0, 1.0)
    assert Toy("sin1").reward_range is None


@pytest.mark.parametrize(
    ("toy", "name"),
    [
        (Toy("sin1"), "toy/sin1"),
        (Toy("garland", dim=2), "toy/garland:d2"),
        (Toy("sin1", sigma=0.1), "toy/sin1:s0.1"),
        (Toy("sin1", dim=1, sigma=2), "toy/sin1:d1:s2.0"),
        (Toy("gaussian", sigma=0.1), "toy/gaussian"),  # a coin flip has no sigma
    ],
)
def test_the_name_says_what_is_not_usual(toy: Toy, name: str) -> None:
    assert toy.name == name


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"function": "sin2"}, "use toy/sin1"),
        ({"function": "sin1", "dim": 0}, "dim is 0"),
        ({"function": "sin1", "sigma": -0.5}, "sigma is -0.5"),
        ({"function": "sin1", "sigma": math.nan}, "sigma is nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments: dict[str, object], what: str) -> None:
    with pytest.raises(InvalidSetting, match=what):
        Toy(**arguments)  # type: ignore[arg-type]
