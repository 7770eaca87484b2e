"""The toy functions: values worked out by hand, and optima that a search does not beat."""

from __future__ import annotations

import math

import numpy as np
import pytest

from imabo.bench.toy import NAMES, Toy
from imabo.space import Config


def at(toy: Toy, x: float) -> float:
    return toy.mean(dict.fromkeys(toy.space.names, x))


@pytest.mark.parametrize(
    ("name", "x", "value"),
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
def test_values_of_table_toy_functions(name: str, x: float, value: float, dim: int) -> None:
    """On the diagonal the normalised function (eq. toy-normalization) is its profile."""
    assert at(Toy(name, dim=dim), x) == pytest.approx(value, abs=1e-6)


def test_the_two_modes_of_gaussian() -> None:
    """At a mode the nearer bump gives its height, the farther one exp(-1 / 0.35^2) of its own."""
    far = math.exp(-1.0 / 0.35**2)
    toy = Toy("gaussian")
    assert at(toy, 1 - 1 / (2 * math.pi)) == pytest.approx(0.9 + 0.6 * far)
    assert at(toy, 1 / (2 * math.pi)) == pytest.approx(0.6 + 0.9 * far)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_no_draw_beats_the_optimum(name: str, dim: int) -> None:
    toy = Toy(name, dim=dim)
    rng = np.random.default_rng(0)
    best = max(toy.mean(toy.space.sample(rng)) for _ in range(2000))
    assert best <= toy.optimum
    assert toy.optimum - best < (0.2 if dim < 4 else 0.7)


def test_known_optima() -> None:
    assert Toy("rastrigin").optimum == pytest.approx(1.0)
    assert Toy("garland").optimum == pytest.approx(4 * (math.pi / 6) * (1 - math.pi / 6))


def test_noise() -> None:
    rng = np.random.default_rng(0)
    config: Config = dict.fromkeys(Toy("sin1").space.names, 0.0)
    noisy = [Toy("sin1").draw(config, rng) for _ in range(4000)]
    assert np.mean(noisy) == pytest.approx(0.5, abs=0.05)
    assert np.std(noisy) == pytest.approx(0.7, abs=0.03)
    flips = [Toy("gaussian").draw(config, rng) for _ in range(200)]
    assert set(flips) <= {0.0, 1.0}
