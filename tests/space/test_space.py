"""Space: validation, conditions, clauses, identity and encoding by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from imabo.errors import InvalidConfig, InvalidSpace
from imabo.space import Choice, Config, Float, Int, Space

ASSISTANT = Space(
    model=Choice("small", "large"),
    temperature=Float(0.0, 1.0),
    top_k=Int(1, 10),
    thinking=Choice(True, False, when={"model": "large"}),
    tokens=Int(256, 8192, log=True, when={"thinking": True}),
    forbid=[{"model": "small", "top_k": [9, 10]}, {"thinking": False, "top_k": 1}],
)
SMALL: Config = {"model": "small", "temperature": 0.5, "top_k": 3}
LARGE: Config = {"model": "large", "temperature": 0.5, "top_k": 3, "thinking": True, "tokens": 300}


def test_the_declared_order_is_the_order_of_the_cube() -> None:
    assert ASSISTANT.names == ("model", "temperature", "top_k", "thinking", "tokens")
    assert list(ASSISTANT.parameters) == list(ASSISTANT.names)
    assert len(ASSISTANT) == 5
    assert "tokens" in ASSISTANT
    assert "nothing" not in ASSISTANT
    assert 3 not in ASSISTANT
    assert ASSISTANT.is_conditional
    assert not Space(x=Int(1, 2)).is_conditional
    with pytest.raises(TypeError):
        ASSISTANT.parameters["x"] = Int(1, 2)  # type: ignore[index]


def test_validate_orders_the_keys_and_makes_values_plain() -> None:
    given = {"top_k": np.int64(3), "temperature": 1, "model": np.str_("small")}
    clean = ASSISTANT.validate(given)
    assert list(clean.items()) == [("model", "small"), ("temperature", 1.0), ("top_k", 3)]
    assert [type(value) for value in clean.values()] == [str, float, int]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "None: a NoneType does not map"),
        ([("model", "small")], "a list does not map"),
        ("model", "a str does not map"),
        (dict([*SMALL.items(), (3, 1)]), "the key 3: names of parameters are strings"),
        ({**SMALL, "modle": 1}, "names 'modle'.*write 'model'"),
        ({**SMALL, "zzz": 1, "yyy": 2}, "names 'yyy'.*use names among"),
        ({"model": "small", "temperature": 0.5}, "'top_k' is missing.*Int\\(1, 10\\)"),
        ({**SMALL, "model": "huge"}, "'model' was given 'huge'.*Choice\\('small', 'large'\\)"),
        ({**SMALL, "top_k": 3.5}, "'top_k' was given 3.5: it is not a whole number"),
        ({**SMALL, "top_k": True}, "'top_k' was given True"),
        ({**SMALL, "temperature": "hot"}, "'temperature' was given 'hot'"),
        ({**SMALL, "temperature": math.nan}, "'temperature' was given nan"),
        ({**SMALL, "tokens": 300}, "'tokens' was given 300: it is not active here"),
        ({**SMALL, "thinking": True}, "'thinking' was given True.*\\{'model': \\('large',\\)\\}"),
        ({**LARGE, "thinking": False}, "'tokens' was given 300: it is not active"),
        ({**SMALL, "top_k": 9}, "is forbidden: it matches the clause .*'top_k': \\(9, 10\\)"),
        ({}, "'model' is missing"),
        ({"model": "huge", "top_k": 99}, "'model' was given"),
        ({"top_k": 99, "model": "huge"}, "'model' was given"),
    ],
)
def test_a_bad_configuration_is_refused_with_the_reason(config: Any, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        ASSISTANT.validate(config)
    assert not ASSISTANT.allows(config)


def test_a_child_of_an_inactive_parent_is_inactive() -> None:
    assert ASSISTANT.validate(SMALL) == SMALL
    assert ASSISTANT.validate(LARGE) == LARGE
    space = Space(
        a=Choice("x", "y"),
        b=Choice(1, 2, when={"a": "y"}),
        c=Choice(1, 2, when={"b": [1, 2]}),
    )
    assert list(space.configs()) == [
        {"a": "x"},
        {"a": "y", "b": 1, "c": 1},
        {"a": "y", "b": 1, "c": 2},
        {"a": "y", "b": 2, "c": 1},
        {"a": "y", "b": 2, "c": 2},
    ]


def test_a_parent_may_be_declared_after_its_child() -> None:
    space = Space(child=Int(1, 2, when={"parent": 2.0}), parent=Int(1, 2))
    assert space.names == ("child", "parent")
    assert space.parameters["child"].when == {"parent": (2,)}
    assert space.decode(np.array([0.9, 0.9])) == {"child": 2, "parent": 2}
    assert list(space.decode(np.array([0.9, 0.9]))) == ["child", "parent"]
    assert space.decode(np.array([0.9, 0.1])) == {"parent": 1}
    assert list(space.validate({"parent": 2, "child": 1})) == ["child", "parent"]


def test_all_conditions_have_to_hold() -> None:
    space = Space(a=Int(0, 2), b=Choice(True, 1), c=Int(5, 5, when={"a": [1, 2], "b": True}))
    assert space.allows({"a": 1, "b": True, "c": 5})
    assert not space.allows({"a": 1, "b": 1, "c": 5})
    assert space.allows({"a": 1, "b": 1})
    assert space.allows({"a": 0, "b": True})
    assert space.n_configs == 6


def test_a_grid_float_can_be_a_parent() -> None:
    space = Space(share=Float(0, 1, step=0.1), k=Int(1, 3, when={"share": [0.3, 0.1 + 0.2, 1]}))
    assert space.parameters["k"].when == {"share": (0.3, 1.0)}
    assert space.n_configs == 9 + 2 * 3


def test_a_clause_matches_only_active_parameters() -> None:
    assert not ASSISTANT.is_forbidden({**SMALL, "top_k": 1})
    assert ASSISTANT.is_forbidden(
        {"model": "large", "temperature": 0.5, "top_k": 1, "thinking": False}
    )
    assert ASSISTANT.forbid == (
        {"model": ("small",), "top_k": (9, 10)},
        {"top_k": (1,), "thinking": (False,)},
    )


def test_one_point_of_a_continuum_can_be_forbidden() -> None:
    space = Space(x=Float(0, 1), forbid=[{"x": 0.5}])
    assert space.n_configs is None
    assert not space.allows({"x": 0.5})
    assert space.allows({"x": 0.25})


BAD: list[tuple[Any, str]] = [
    (lambda: Space(), "no parameters"),
    (lambda: Space([]), "mapping"),  # type: ignore[arg-type]
    (lambda: Space({"": Int(1, 2)}), "not empty"),
    (lambda: Space({3: Int(1, 2)}), "named 3"),  # type: ignore[dict-item]
    (lambda: Space(x=3), "'x' is 3"),  # type: ignore[arg-type]
    (lambda: Space({"x": Int(1, 2)}, x=Int(1, 2)), "declared twice"),
    (lambda: Space(x=Int(1, 2, when={"y": 1})), "no parameter 'y'"),
    (lambda: Space(x=Int(1, 2, when={"x": 1})), "circle: 'x' -> 'x'"),
    (
        lambda: Space(
            a=Int(1, 2, when={"b": 1}), b=Int(1, 2, when={"c": 1}), c=Int(1, 2, when={"a": 1})
        ),
        "circle: 'a' -> 'b' -> 'c' -> 'a'",
    ),
    (lambda: Space(x=Int(1, 2), y=Int(1, 2, when={"x": 3})), "cannot take.*outside"),
    (lambda: Space(x=Choice(True), y=Int(1, 2, when={"x": 1})), "cannot take"),
    (lambda: Space(x=Float(0, 1), y=Int(1, 2, when={"x": 0.5})), "continuum"),
    (lambda: Space(x=Int(1, 2), forbid={"x": 1}), "list of mappings"),  # type: ignore[dict-item]
    (lambda: Space(x=Int(1, 2), forbid=3), "list of mappings"),  # type: ignore[arg-type]
    (lambda: Space(x=Int(1, 2), forbid=[{}]), r"forbid\[0\]"),
    (lambda: Space(x=Int(1, 2), forbid=[{"x": 1}, "x"]), r"forbid\[1\]"),  # type: ignore[list-item]
    (lambda: Space(x=Int(1, 2), forbid=[{"y": 1}]), "names 'y'"),
    (lambda: Space(x=Int(1, 2), forbid=[{"x": "1"}]), "cannot take"),
    (lambda: Space(x=Int(1, 2), forbid=[{"x": []}]), "no values"),
    (lambda: Space(x=Int(1, 2), forbid=[{"x": [1, 2]}]), "exclude every"),
    (
        lambda: Space(x=Int(1, 2), y=Choice(3, 4), forbid=[{"x": [1, 2], "y": 3}, {"y": 4}]),
        "exclude every",
    ),
    (lambda: Space(x=Float(0, 1), y=Choice("a"), forbid=[{"y": "a"}]), "exclude every"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "message"), BAD)
def test_a_senseless_space_is_refused_with_the_reason(build: Any, message: str) -> None:
    with pytest.raises(InvalidSpace, match=message):
        build()


def test_any_name_can_be_used_in_the_mapping_form() -> None:
    space = Space({"learning rate": Float(0, 1), "forbid": Int(1, 2)}, self=Int(1, 2))
    assert space.names == ("learning rate", "forbid", "self")
    assert eval(repr(space), {"Space": Space, "Float": Float, "Int": Int}) == space


def test_identity_is_canonical_json() -> None:
    space = Space(b=Float(0, 2), a=Choice(True, 1, "ä\n"))
    assert space.identity({"b": 1.0, "a": True}) == '{"a":true,"b":1}'
    assert space.identity({"a": 1, "b": -0.0}) == '{"a":1,"b":0}'
    assert space.identity({"a": "ä\n", "b": 0.1}) == '{"a":"\\u00e4\\n","b":0.1}'
    assert Space(z=Int(1, 2)).identity({"n": None, "b": 1e22, "x": 1e-7}) == (
        '{"b":10000000000000000000000,"n":null,"x":1e-07}'
    )


def test_inactive_coordinates_are_masked_and_ignored() -> None:
    units, mask = ASSISTANT.encode(SMALL)
    assert units.tolist() == [0.25, 0.5, 0.25, 0.5, 0.5]
    assert mask.tolist() == [True, True, True, False, False]
    assert units.dtype == np.float64
    assert mask.dtype == np.bool_
    for tail in ([0.0, 0.0], [0.9, 1.0]):
        assert ASSISTANT.decode(np.array([0.25, 0.5, 0.25, *tail])) == SMALL


def test_decode_leaves_forbidden_combinations_to_the_caller() -> None:
    config = ASSISTANT.decode(np.array([0.1, 0.5, 0.99, 0.5, 0.5]))
    assert config == {"model": "small", "temperature": 0.5, "top_k": 10}
    assert ASSISTANT.is_forbidden(config)


def test_spaces_are_equal_by_value_in_declared_order() -> None:
    one = Space(a=Int(1, 2), b=Int(1, 2), forbid=[{"a": 1, "b": 1}, {"a": 2, "b": 2}])
    same = Space(a=Int(1, 2), b=Int(1, 2), forbid=[{"b": 2.0, "a": [2]}, {"a": 1, "b": 1}])
    assert one == same
    assert hash(one) == hash(same)
    assert one != Space(b=Int(1, 2), a=Int(1, 2), forbid=one.forbid)
    assert one != Space(a=Int(1, 2), b=Int(1, 2))
    assert Space(x=Choice(True)) != Space(x=Choice(1))
    assert one != "space"


def test_listing_a_continuum_is_refused() -> None:
    with pytest.raises(InvalidSpace, match="'x' is a continuum"):
        Space(n=Int(1, 2), x=Float(0, 1)).configs()
    with pytest.raises(InvalidSpace, match="continuum"):
        Float(0, 1).values()


def test_listing_is_lazy() -> None:
    space = Space({f"p{i}": Int(1, 1000) for i in range(10)})
    assert next(space.configs()) == dict.fromkeys(space.names, 1)
