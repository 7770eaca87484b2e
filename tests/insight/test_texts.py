"""What the figures write: numbers for JSON, values and configurations for people, safe texts."""

from __future__ import annotations

import math

import numpy as np

from imabo import Choice, Space
from imabo.insight.drawings.base import safe, whole
from imabo.insight.estimates import number, numbers
from imabo.insight.grouping import ABSENT, Groupings, config_text, numbers_of, value_text, values_of
from imabo.insight.palette import faint


def test_what_is_not_finite_is_null_in_json() -> None:
    assert (number(np.float64(0.5)), number(math.inf), number(math.nan)) == (0.5, None, None)
    assert numbers(np.array([0.5, np.nan])) == [0.5, None]


def test_values_come_in_columns_and_groups() -> None:
    groupings = Groupings(Space(a=Choice("x", "y")), [{"a": "y"}])
    assert (groupings.values["a"], groupings.of("a").codes.tolist()) == (["y"], [1])
    rows = [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    assert values_of(["a", "b"], rows) == {"a": (1, 2), "b": (None, "x")}  # type: ignore[arg-type]


def test_what_is_no_number_has_no_place_on_an_axis() -> None:
    assert np.array_equal(numbers_of([2, ABSENT, True]), [2.0, np.nan, np.nan], equal_nan=True)


def test_values_and_counts_for_people() -> None:
    shown = [value_text(value) for value in (0.1 + 0.2, 12_345, None, True, "a b")]
    assert shown == ["0.3", "12345", "null", "true", "a b"]
    assert config_text({"model": "small", "top_k": 3}) == "model = small, top_k = 3"
    assert whole(6700) == "6,700"


def test_text_of_users_is_text() -> None:
    assert safe("<b>bold</b>") == "&lt;b&gt;bold&lt;/b&gt;"


def test_a_band_has_a_faint_colour() -> None:
    assert faint("#0072B2") == "rgba(0, 114, 178, 0.2)"
