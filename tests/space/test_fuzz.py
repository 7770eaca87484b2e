"""Malformed input of any shape raises our errors and nothing else."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imabo.errors import InvalidConfig, InvalidSpace
from imabo.space import Choice, Float, Int, Space
from tests.space.strategies import random_spaces

ODD = st.sampled_from(
    [
        float("nan"), float("inf"), 10**400, -(2**80), 1e308, 5e-324, "\ud800", "", b"x", 1j,
        np.float64("nan"), np.int64(3), np.str_("a"), np.array([1, 2]), np.array(1), object(),
        np.datetime64("2020-01-01"), np.timedelta64(1, "s"), {1}, frozenset(), (), range(3), int,
    ]
)  # fmt: skip
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), ODD)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.text(max_size=3), st.integers(), st.none()), inner, max_size=3
        ),
    ),
    max_leaves=6,
)
NEAR = st.one_of(
    st.sampled_from([0, 1, 2, 0.5, 1.0, True, None, "a", "x", [1], ["a", "x"], {"a": 1}]), ANYTHING
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "name": st.one_of(st.sampled_from("abx"), ANYTHING),
        "type": st.one_of(st.sampled_from(["float", "int", "choice"]), ANYTHING),
        "low": NEAR,
        "high": NEAR,
        "log": NEAR,
        "step": NEAR,
        "values": st.one_of(st.lists(NEAR, max_size=3), ANYTHING),
        "ordered": NEAR,
        "when": st.one_of(st.dictionaries(st.sampled_from("abx"), NEAR, max_size=2), ANYTHING),
        "extra": NEAR,
    },
)
DOCUMENTS = st.one_of(
    ANYTHING,
    st.fixed_dictionaries(
        {"parameters": st.one_of(st.lists(st.one_of(ENTRIES, NEAR), max_size=3), ANYTHING)},
        optional={"forbid": st.one_of(st.lists(NEAR, max_size=2), ANYTHING), "more": NEAR},
    ),
)


def usable(space: Space) -> None:
    """A space that was accepted has to work."""
    config = space.sample(np.random.default_rng(0))
    assert space.validate(config) == config
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space


@settings(deadline=None)
@given(DOCUMENTS)
def test_any_document_is_read_or_refused(data: Any) -> None:
    with contextlib.suppress(InvalidSpace):
        usable(Space.from_dict(data))


@settings(deadline=None)
@given(random_spaces(small=True), st.data())
def test_a_document_with_one_damaged_place_is_read_or_refused(
    space: Space, data: st.DataObject
) -> None:
    document = json.loads(json.dumps(space.to_dict()))
    place: Any = document
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            if data.draw(st.booleans()):
                del place[key]
            else:
                place[key] = data.draw(NEAR)
            break
        place = place[key]
    with contextlib.suppress(InvalidSpace):
        usable(Space.from_dict(document))


@settings(deadline=None)
@given(st.lists(NEAR, max_size=5), NEAR, st.sampled_from([Float, Int, Choice]))
def test_any_arguments_make_a_parameter_or_are_refused(
    args: list[Any], when: Any, kind: type[Any]
) -> None:
    bounds = [*args, 0, 1][:4] if kind is not Choice else args
    with contextlib.suppress(InvalidSpace):
        parameter = kind(*bounds, when=when)
        assert parameter.validate(parameter.from_unit(0.5)) == parameter.from_unit(0.5)


@settings(deadline=None)
@given(ANYTHING, ANYTHING)
def test_any_arguments_make_a_space_or_are_refused(parameters: Any, forbid: Any) -> None:
    with contextlib.suppress(InvalidSpace):
        usable(Space(parameters, forbid=forbid))
    with contextlib.suppress(InvalidSpace):
        usable(Space(a=Int(1, 3), x=Choice("a", None), forbid=forbid))


@settings(deadline=None)
@given(random_spaces(), st.data())
def test_any_configuration_is_accepted_or_refused(space: Space, data: st.DataObject) -> None:
    names = st.one_of(st.sampled_from(space.names), st.text(max_size=2))
    config = data.draw(st.one_of(ANYTHING, st.dictionaries(names, NEAR, max_size=5)))
    with contextlib.suppress(InvalidConfig):
        clean = space.validate(config)
        assert space.allows(config)
        assert space.validate(clean) == clean
        assert space.decode(space.encode(clean)[0]) == clean


@settings(deadline=None)
@given(random_spaces(), st.data())
def test_one_wrong_value_in_a_good_configuration_is_found(
    space: Space, data: st.DataObject
) -> None:
    config: dict[str, Any] = dict(space.sample(np.random.default_rng(0)))
    name = data.draw(st.sampled_from(list(config)))
    config[name] = object()
    with pytest.raises(InvalidConfig) as caught:
        space.validate(config)
    assert repr(name) in str(caught.value)
