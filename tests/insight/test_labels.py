"""Names of configurations: what sets them apart, short, and each unlike the others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imabo import insight
from imabo.insight import labels
from imabo.insight.labelling import short_number
from imabo.space import Config
from tests.insight.story import SPACE, instant


def test_only_what_differs_is_named() -> None:
    configs: list[Config] = [
        {"model": "large", "use_examples": True, "T": 0.0, "top_k": 5},
        {"model": "large", "use_examples": False, "T": 0.25, "top_k": 5},
    ]
    assert labels(configs) == ["with examples, T = 0", "without examples, T = 0.25"]


def test_a_parameter_that_is_not_active_is_not_named() -> None:
    configs: list[Config] = [
        {"T": 0.5, "model": "small"},
        {"T": 0.1, "model": "large", "tokens": 2048},
        {"T": 0.2, "model": "large", "tokens": 4096},
    ]
    assert labels(configs) == [
        "small, T = 0.5", "large, T = 0.1, tokens = 2,048", "large, T = 0.2, tokens = 4,096",
    ]  # fmt: skip
    # What one alone has does not set it apart beyond the condition that gives it to it.
    assert labels(configs[:2]) == ["small, T = 0.5", "large, T = 0.1"]


def test_texts_that_could_be_of_two_parameters_and_values_without_words_have_their_names() -> None:
    configs: list[Config] = [
        {"writer": "small", "judge": "large", "stop": None, "size": "7"},
        {"writer": "large", "judge": "small", "stop": "x", "size": ""},
    ]
    assert labels(configs) == [
        "writer = small, judge = large, no stop, size = 7",
        "writer = large, judge = small, x, size = ",
    ]


def test_those_that_would_be_alike_say_more() -> None:
    assert labels([{"x": 0.1234}, {"x": 0.1239}, {"x": 0.9}]) == [
        "x = 0.1234", "x = 0.1239", "x = 0.9",
    ]  # fmt: skip
    many: list[Config] = [
        {"a": 1, "b": 1, "c": 1, "d": 1, "e": e, "f": f} for e in (1, 2) for f in (1, 2)
    ]
    wide: list[Config] = [{**config, **dict.fromkeys("abcd", 2)} for config in many[:1]]
    found = labels([*many, *wide])
    assert found[0] == "a = 1, b = 1, c = 1, d = 1, e = 1, f = 1"
    assert found[-1] == "a = 2, b = 2, c = 2, d = 2"


def test_one_alone_is_named_by_all_it_has() -> None:
    assert labels([{"model": "small", "x": 3}]) == ["small, x = 3"]
    assert labels([]) == []


def test_a_model_is_named_even_where_those_shown_agree() -> None:
    configs: list[Config] = [{"T": 0.5, "k": 3, "model": "a"}, {"T": 0.1, "k": 3, "model": "a"}]
    assert labels(configs, varying={"T", "k", "model"}) == ["a, T = 0.5", "a, T = 0.1"]
    assert labels(configs[:1], varying={"k", "model"}) == ["a, k = 3"]


def test_numbers_that_tell_most_apart_come_first() -> None:
    configs: list[Config] = [{"x": 1, "y": y, "z": z} for y, z in ((1, 1), (1, 2), (2, 3))]
    assert labels(configs) == ["z = 1, y = 1", "z = 2, y = 1", "z = 3, y = 2"]


def test_numbers_are_short() -> None:
    shown = [short_number(x) for x in (0.0, -0.5, 1e-7, 123.456, 8192, 1e20)]
    assert shown == ["0", "-0.5", "1e-07", "123", "8,192", "1e+20"]


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(-1, 1), st.text(max_size=3)
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), scalars, min_size=1), max_size=8))
def test_no_two_labels_are_alike(configs: list[Config]) -> None:
    assert len(set(labels(configs))) == len(configs)


def test_the_arms_of_a_study_have_labels_of_their_own_everywhere() -> None:
    study, _ = instant(200)
    snapshot = insight.read(study)
    rows = insight.arm_table(snapshot, limit=1000).rows
    assert len({row.label for row in rows}) == len(rows) == study.n_arms
    models = SPACE.parameters["model"].choices  # type: ignore[attr-defined]
    assert all(row.label.split(", ")[0] in models for row in rows)
    key = insight.overview(snapshot)
    assert key.best is not None
    assert key.best.label.split(", ")[0] == key.best.config["model"]
