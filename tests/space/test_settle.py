"""Settling points of the unit cube many at a time is decoding and encoding each."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from imabo.space import Choice, Float, Int, Parameter, Space
from tests.space.strategies import random_spaces


def is_exact(parameter: Parameter) -> bool:
    """Whether a value has one place: not so in a log-scaled integer's cell or a continuum."""
    return parameter.n_cells is not None


@given(random_spaces(), st.integers(0, 2**32 - 1))
def test_settling_is_decoding_and_encoding(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = len(space)
    corners = rng.integers(0, 2, (3, d)).astype(float)
    points = np.vstack([rng.random((8, d)), corners, rng.integers(0, 9, (3, d)) / 8])
    before = points.copy()
    units, mask = space.settle(points)
    assert (points == before).all()
    assert units.shape == mask.shape == points.shape
    lower, upper = space.cells(points)
    exact = np.array([is_exact(p) for p in space.parameters.values()])
    for i, point in enumerate(points):
        config = space.decode(point)
        encoded, active = space.encode(config)
        assert (mask[i] == active).all()
        # A choice's places must be equal to the last bit: the kernel compares them so.
        assert (units[i] == encoded)[exact | ~active].all()
        assert (lower[i] <= units[i])[active].all()
        assert (units[i] <= upper[i])[active].all()
        assert space.decode(units[i]) == config


@settings(max_examples=60)
@given(random_spaces(), st.integers(0, 2**32 - 1))
def test_a_configuration_is_settled_already(space: Space, seed: int) -> None:
    config = space.sample(np.random.default_rng(seed))
    encoded, active = space.encode(config)
    units, mask = space.settle(encoded[None])
    assert (mask[0] == active).all()
    assert space.decode(units[0]) == config


def test_no_points_are_settled_to_none() -> None:
    units, mask = Space(x=Float(0, 1), k=Int(1, 9, log=True)).settle(np.empty((0, 2)))
    assert units.shape == mask.shape == (0, 2)


def test_grandchildren_wake_only_with_their_whole_line() -> None:
    space = Space(
        leaf=Float(0, 1, when={"middle": [2, 3]}),
        middle=Int(1, 4, when={"root": "on"}),
        root=Choice("on", "off"),
    )
    points = np.array([[0.3, 0.6, 0.2], [0.3, 0.1, 0.2], [0.3, 0.6, 0.9]])
    units, mask = space.settle(points)
    assert mask.tolist() == [[True, True, True], [False, True, True], [False, False, True]]
    expected = [[0.3, 0.625, 0.25], [0.5, 0.125, 0.25], [0.5, 0.5, 0.75]]
    assert_allclose(units, expected, atol=1e-15)
