"""Hypothesis strategies for spaces and their configurations, for the tests of every layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from imabo.errors import InvalidSpace
from imabo.space import Choice, Config, Float, Int, Parameter, Scalar, Space

SCALARS: st.SearchStrategy[Scalar] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


def _distinct(value: Scalar) -> object:
    return ("bool", value) if isinstance(value, bool) else value


@st.composite
def choices(draw: st.DrawFn, max_values: int = 4) -> Choice:
    values = draw(st.lists(SCALARS, min_size=1, max_size=max_values, unique_by=_distinct))
    return Choice(*values, ordered=draw(st.booleans()))


@st.composite
def ints(draw: st.DrawFn, small: bool = False) -> Int:
    most = 5 if small else draw(st.sampled_from([5, 100, 10**6, 10**15]))
    if draw(st.booleans()):
        low = draw(st.integers(1, min(most, 10**12)))
        return Int(low, low + draw(st.integers(0, min(most, 10**12))), log=True)
    low, step = draw(st.integers(-most, most)), draw(st.integers(1, 4))
    return Int(low, low + step * draw(st.integers(0, min(most, 10**15))), step=step)


@st.composite
def grids(draw: st.DrawFn, small: bool = False) -> Float:
    """Floats on a decimal grid, with bounds written with few digits."""
    digits = draw(st.integers(0, 4))
    first = draw(st.integers(-1000, 1000))
    stride, steps = draw(st.integers(1, 50)), draw(st.integers(0, 4 if small else 300))
    scale: int = 10**digits
    return Float(first / scale, (first + stride * steps) / scale, step=stride / scale)


@st.composite
def continua(draw: st.DrawFn) -> Float:
    """Continuous floats, from tiny ranges to wide ones."""
    if draw(st.booleans()):
        low = draw(st.floats(1e-100, 1e100))
        return Float(low, low * draw(st.floats(1.0, 1e100)), log=True)
    low = draw(st.floats(-1e100, 1e100))
    high = draw(st.one_of(st.floats(low, 1e100), st.just(float(np.nextafter(low, np.inf)))))
    return Float(low, high)


def parameters(small: bool = False) -> st.SearchStrategy[Parameter]:
    """One parameter of any kind; ``small`` leaves out continua and long ranges."""
    if small:
        return st.one_of(choices(), ints(small=True), grids(small=True))
    return st.one_of(choices(), ints(), grids(), continua())


def _some_values(draw: st.DrawFn, parameter: Parameter) -> list[Scalar]:
    units = draw(st.lists(st.floats(0, 1), min_size=1, max_size=3))
    return [parameter.from_unit(u) for u in units]


def _is_narrow(p: Float) -> bool:
    return p.n_values is None and p.high - p.low < 1e-6 * max(abs(p.low), abs(p.high), 1e-300)


@st.composite
def random_spaces(
    draw: st.DrawFn, max_parameters: int = 5, small: bool = False, forbid: bool = True
) -> Space:
    """Spaces with nested conditions and forbidden combinations.

    Args:
        draw: Given by Hypothesis.
        max_parameters: Most parameters, at least 1.
        small: Only finite parameters with few values, so that listing everything is quick.
        forbid: Whether to add forbidden combinations.
    """
    names = draw(st.lists(NAMES, min_size=1, max_size=max_parameters, unique=True))
    decided: dict[str, Parameter] = {}
    for name in names:
        parameter = draw(parameters(small))
        parents = [n for n, p in decided.items() if p.n_values is not None]
        when: dict[str, Any] = {}
        conditional = draw(st.booleans())
        if parents and conditional:
            for parent in draw(st.lists(st.sampled_from(parents), max_size=2, unique=True)):
                when[parent] = _some_values(draw, decided[parent])
        decided[name] = parameter.with_when(when) if when else parameter
    clauses = []
    for _ in range(draw(st.integers(0, 3)) if forbid else 0):
        # A continuum of a few neighbouring floats could be forbidden whole without anyone noticing.
        usable = [n for n, p in decided.items() if not isinstance(p, Float) or not _is_narrow(p)]
        if not usable:
            break
        members = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=3, unique=True))
        clauses.append({name: _some_values(draw, decided[name]) for name in members})
    # Parents need not be declared before their children.
    declared = draw(st.permutations(names))
    try:
        return Space({name: decided[name] for name in declared}, forbid=clauses)
    except InvalidSpace:
        assume(False)  # the clauses excluded everything
        raise


@st.composite
def configs_of(draw: st.DrawFn, space: Space) -> Config:
    """Allowed configurations of a space, drawn from P0."""
    return space.sample(np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
