"""Plain values and small sums: what equals what, how values are written, what infinity does."""

from __future__ import annotations

import numpy as np

from imabo.space.base import equal_cells, listed_values
from imabo.space.conditions import matches
from imabo.space.counting import product, total
from imabo.space.scalars import identity, plain, show, sort_key, text_of, value_key


def test_numpy_scalars_become_plain() -> None:
    assert (plain(np.int64(3)), plain(-0.0), plain(np.bool_(True))) == (3, 0.0, True)


def test_one_and_one_point_nought_are_one_value_true_and_one_are_two() -> None:
    assert value_key(1) == value_key(1.0)
    assert value_key(True) != value_key(1)
    assert identity({"b": 1.0, "a": True}) == identity({"a": True, "b": 1}) == '{"a":true,"b":1}'


def test_values_of_any_type_have_an_order_and_a_text() -> None:
    assert sorted(["b", 2, None, 1.5, True], key=sort_key) == [None, True, 1.5, 2, "b"]
    assert listed_values("when['k']", [3, 1, 1.0]) == (1, 3)
    assert [text_of(value) for value in (1.0, True, 0.1, None)] == ["1", "true", "0.1", "null"]
    assert show("x" * 100, limit=12) == "'xxxxxxxx..."


def test_a_parameter_that_is_not_active_matches_nothing() -> None:
    assert matches({"model": "large"}, [("model", frozenset({"large", "huge"}))])
    assert not matches({}, [("model", frozenset({"large"}))])


def test_counts_know_infinity() -> None:
    assert (total([2, 3]), total([2, None])) == (5, None)
    assert (product([2, 3]), product([2, None]), product([None, 0])) == (6, None, 0)


def test_cells_are_equally_wide() -> None:
    lower, upper = equal_cells(np.array([0.0, 0.3, 1.0]), 4)
    assert (lower.tolist(), upper.tolist()) == ([0.0, 0.25, 0.75], [0.25, 0.5, 1.0])
