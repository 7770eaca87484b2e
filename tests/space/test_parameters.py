"""Float, Int and Choice one by one, against values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from imabo.errors import InvalidConfig, InvalidSpace
from imabo.space import Choice, Float, Int, Parameter


def test_linear_float_maps_straight() -> None:
    p = Float(-1, 3)
    assert (p.low, p.high) == (-1.0, 3.0)
    assert p.to_unit(0.0) == 0.25
    assert p.from_unit(0.25) == 0.0
    assert p.from_unit(0.0) == -1.0
    assert p.from_unit(1.0) == 3.0
    assert p.n_values is None
    assert not p.unordered


def test_log_float_maps_powers_of_ten_evenly() -> None:
    p = Float(1e-4, 1.0, log=True)
    assert [p.from_unit(u) for u in (0, 0.25, 0.5, 0.75, 1)] == [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    assert p.to_unit(0.01) == pytest.approx(0.5, abs=1e-15)


def test_grid_floats_are_the_exact_decimals() -> None:
    p = Float(0, 1, step=0.1)
    assert list(p.values()) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert p.n_values == 11
    assert p.from_unit(3.5 / 11) == 0.3
    assert p.to_unit(0.3) == 3.5 / 11
    assert p.from_unit(1.0) == 1.0
    assert list(Float(-0.15, 0.15, step=0.15).values()) == [-0.15, 0.0, 0.15]


def test_linear_int_gives_every_value_an_equal_cell() -> None:
    p = Int(3, 6)
    assert [p.from_unit(u) for u in (0.0, 0.24, 0.25, 0.5, 0.75, 0.99, 1.0)] == [
        3, 3, 4, 5, 6, 6, 6,
    ]  # fmt: skip
    assert [p.to_unit(v) for v in (3, 4, 5, 6)] == [0.125, 0.375, 0.625, 0.875]


def test_int_with_step_counts_in_steps() -> None:
    p = Int(0, 12, step=4)
    assert list(p.values()) == [0, 4, 8, 12]
    assert p.to_unit(8) == 0.625
    assert p.from_unit(0.6) == 8


def test_log_int_cells_lie_between_the_halves() -> None:
    p = Int(1, 8, log=True)
    # The scale runs from log 0.5 to log 8.5; value 2 owns log 1.5 to log 2.5.
    span = math.log(8.5 / 0.5)
    lower, upper = p.cells(np.array([p.to_unit(2)]))
    assert lower[0] == pytest.approx(math.log(1.5 / 0.5) / span)
    assert upper[0] == pytest.approx(math.log(2.5 / 0.5) / span)
    assert p.to_unit(2) == pytest.approx(math.log(2 / 0.5) / span)
    edge = math.log(2.5 / 0.5) / span
    assert (p.from_unit(edge - 1e-9), p.from_unit(edge + 1e-9)) == (2, 3)
    ends = p.cells(np.array([0.0, 1.0]))
    assert (ends[0][0], ends[1][1]) == (0.0, 1.0)


def test_choice_cells_are_equal_and_positions_are_their_centres() -> None:
    p = Choice("a", None, True, 1)
    assert [p.to_unit(v) for v in ("a", None, True, 1)] == [0.125, 0.375, 0.625, 0.875]
    assert p.from_unit(0.7) is True
    assert p.from_unit(0.8) == 1
    assert p.from_unit(1.0) == 1
    lower, upper = p.cells(np.array([0.0, 0.3, 1.0]))
    assert lower.tolist() == [0.0, 0.25, 0.75]
    assert upper.tolist() == [0.25, 0.5, 1.0]
    assert p.unordered
    assert not Choice("a", "b", ordered=True).unordered


@pytest.mark.parametrize(
    "p",
    [
        Int(0, 10**15),
        Int(-(10**14), 10**14, step=2),
        Int(1, 10**12, log=True),
        Int(10**11, 10**12, log=True),
    ],
)
def test_huge_integer_ranges_go_to_the_unit_interval_and_back(p: Int) -> None:
    rng = np.random.default_rng(0)
    values = [p.low, p.low + p.step, p.high - p.step, p.high]
    values += [p.low + p.step * int(i) for i in rng.integers(0, p.n_values, 2000)]
    assert [p.from_unit(p.to_unit(v)) for v in values] == values


def test_a_range_of_two_neighbouring_floats_keeps_both() -> None:
    low, high = 0.1, float(np.nextafter(0.1, 1))
    for log in (False, True):
        p = Float(low, high, log=log)
        assert [p.from_unit(p.to_unit(v)) for v in (low, high)] == [low, high]
        assert {p.from_unit(u) for u in np.linspace(0, 1, 101)} == {low, high}


def test_a_constant_has_one_value_and_the_whole_interval() -> None:
    for p in (Float(0.3, 0.3), Float(2, 2, log=True), Float(1, 1, step=0.5), Int(4, 4), Choice(7)):
        assert p.n_values == 1
        value = p.from_unit(0.0)
        assert p.from_unit(1.0) == value
        assert p.from_unit(p.to_unit(value)) == value
        assert [edge.tolist() for edge in p.cells(np.array([0.4]))] == [[0.0], [1.0]]
    one = Int(4, 4, log=True)
    assert one.from_unit(one.to_unit(4)) == 4
    assert [edge.tolist() for edge in one.cells(np.array([0.4]))] == [[0.0], [1.0]]


def test_float_noise_is_not_a_new_value() -> None:
    assert Float(0, 1).validate(0.1 + 0.2) == 0.3
    assert Float(0, 1, step=0.1).validate(0.1 + 0.2) == 0.3
    assert Float(1e-3, 1, log=True).validate(0.1 + 0.2) == 0.3
    assert math.copysign(1, Float(-1, 1).validate(-0.0)) == 1


def test_values_come_back_as_plain_python() -> None:
    cases: list[tuple[Parameter, Any, object]] = [
        (Int(1, 5), 3.0, 3),
        (Int(1, 5), np.int8(3), 3),
        (Int(1, 5), np.float32(3), 3),
        (Float(0, 5), 3, 3.0),
        (Float(0, 5), np.float32(0.5), 0.5),
        (Float(0, 5), np.int64(2), 2.0),
        (Choice("a", "b"), np.str_("b"), "b"),
        (Choice(True, 1), np.bool_(True), True),
        (Choice(True, 1), 1.0, 1),
        (Choice(1.0, 2.0), 1, 1.0),
    ]
    for p, given, expected in cases:
        value = p.validate(given)
        assert (type(value), value) == (type(expected), expected)


@pytest.mark.parametrize(
    ("p", "value", "reason"),
    [
        (Int(1, 5), True, "whole number"),
        (Int(1, 5), "3", "whole number is needed, not a str"),
        (Int(1, 5), 3.5, "not a whole number"),
        (Int(1, 5), 6, r"outside \[1, 5\]"),
        pytest.param(Int(1, 5), 10**5000, "<int> is not allowed: it is outside", id="5001 digits"),
        (Int(1, 5), math.inf, "infinity"),
        (Int(0, 10, step=5), 4, "nearest values on the grid are 0 and 5"),
        (Int(0, 10), np.timedelta64(3, "s"), "timedelta64"),
        (Float(0, 1), math.nan, "NaN"),
        (Float(0, 1), False, "number is needed, not a bool"),
        (Float(0, 1), None, "number is needed, not a NoneType"),
        (Float(0, 1), 1.5, r"outside \[0.0, 1.0\]"),
        (Float(0, 1), [0.5], "type list"),
        (Float(0, 1), 1 + 0j, "type complex"),
        (Float(0, 1), np.array(0.5), "type ndarray"),
        (Float(0, 1, step=0.25), 0.3, r"nearest values on the grid are 0\.25 and 0\.5"),
        (Choice("a", 1), True, "not one of the listed values"),
        (Choice("a", 1), "b", "not one of the listed values"),
        (Choice("a", 1), "\ud800", "surrogate"),
        (Choice("a", 1), {}, "type dict"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason(p: Parameter, value: object, reason: str) -> None:
    with pytest.raises(InvalidConfig, match=reason):
        p.validate(value)


BAD: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (Float, (1, 0), {}, "swap the bounds"),
    (Float, (math.nan, 1), {}, "NaN"),
    (Float, (0, math.inf), {}, "infinity"),
    (Float, (False, 1), {}, "low=False"),
    (Float, ("0", 1), {}, "low='0'"),
    (Float, (0, 1e301), {}, "beyond 1e300"),
    (Float, (0, 1), {"log": True}, "above 0"),
    (Float, (1e-300, 1e10), {"log": True}, "300 powers of ten"),
    (Float, (0, 1), {"log": 1}, "log=1"),
    (Float, (1, 2), {"log": True, "step": 0.5}, "contradict"),
    (Float, (0, 1), {"step": 0}, "above 0"),
    (Float, (0, 1), {"step": -0.1}, "above 0"),
    (Float, (0, 1), {"step": 0.3}, r"are 0\.9 and 1\.2"),
    (Float, (0, 1), {"step": 1e-17}, "too fine"),
    (Float, (1e16, 1e16 + 64), {"step": 1}, "too fine"),
    (Int, (1.5, 3), {}, "whole number"),
    (Int, (1, True), {}, "high=True"),
    (Int, (5, 1), {}, "swap the bounds"),
    (Int, (1, 6), {"step": 2}, "are 5 and 7"),
    (Int, (1, 6), {"step": 0}, "at least 1"),
    (Int, (1, 6), {"step": None}, "step=None"),
    (Int, (0, 6), {"log": True}, "starts at 1"),
    (Int, (1, 7), {"log": True, "step": 2}, "contradict"),
    (Int, (0, 2**60), {}, r"2\*\*50"),
    (Int, (1, 2**43), {"log": True}, r"2\*\*42"),
    (Int, (0, 10**5000), {}, "beyond the largest float"),
    (Choice, (), {}, "no values"),
    (Choice, (1, 1.0), {}, "1.0 twice"),
    (Choice, (0.0, -0.0), {}, "twice"),
    (Choice, ("a", "a"), {}, "'a' twice"),
    (Choice, (["a", "b"],), {}, "separate arguments"),
    (Choice, (math.nan,), {}, "NaN"),
    (Choice, ("a",), {"ordered": "yes"}, "ordered='yes'"),
    (Choice, ("a",), {"when": "model"}, "mapping"),
    (Choice, ("a",), {"when": {"model": []}}, "lists no values"),
    (Choice, ("a",), {"when": {"": "x"}}, "not empty"),
    (Choice, ("a",), {"when": {3: "x"}}, "named 3"),
    (Choice, ("a",), {"when": {"model": {"x": 1}}}, "type dict"),
]


@pytest.mark.parametrize(("kind", "args", "kwargs", "message"), BAD)
def test_a_senseless_parameter_is_refused_with_the_reason(
    kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidSpace, match=message):
        kind(*args, **kwargs)


def test_parameters_are_values() -> None:
    assert Float(0, 1) == Float(0.0, 1.0)
    assert hash(Float(0, 1)) == hash(Float(0.0, 1.0))
    assert Float(0, 1) != Float(0, 1, step=0.5)
    assert Float(1, 2) != Int(1, 2)
    assert Int(1, 2) != "Int(1, 2)"
    assert Choice(True) != Choice(1)
    assert Choice("a", "b") != Choice("b", "a")
    assert Choice("a", "b") != Choice("a", "b", ordered=True)
    assert Int(1, 2, when={"m": [1, 2]}) == Int(1, 2, when={"m": (2, 1, 1.0)})
    assert Int(1, 2, when={"m": 1}) != Int(1, 2, when={"m": True})
    assert Int(1, 2, when={}) == Int(1, 2)


def test_parameters_cannot_be_changed() -> None:
    p = Int(1, 2, when={"m": "x"})
    with pytest.raises(AttributeError, match="immutable"):
        p.low = 0
    with pytest.raises(AttributeError, match="immutable"):
        del p.low
    with pytest.raises(TypeError):
        p.when["m"] = ("y",)  # type: ignore[index]


def test_the_repr_is_what_one_would_type() -> None:
    assert repr(Float(0, 1)) == "Float(0.0, 1.0)"
    assert repr(Float(0, 1, step=0.5)) == "Float(0.0, 1.0, step=0.5)"
    assert repr(Int(1, 8, log=True, when={"m": ["a"]})) == "Int(1, 8, log=True, when={'m': 'a'})"
    assert repr(Choice("a", 1, ordered=True)) == "Choice('a', 1, ordered=True)"
