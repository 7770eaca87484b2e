"""Laws that hold for every space."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Mapping

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from imabo.space import Choice, Config, Float, Int, Parameter, Scalar, Space
from tests.space.strategies import configs_of, parameters, random_spaces

SEEDS = st.integers(0, 2**32 - 1)


def same(one: Mapping[str, Scalar], other: Mapping[str, Scalar]) -> bool:
    """Equal in order, value and type."""
    return [(k, type(v), v) for k, v in one.items()] == [(k, type(v), v) for k, v in other.items()]


def brute_force(space: Space) -> list[Config]:
    """All allowed configurations by trying every subset of parameters with all their values."""
    options = [[None, *((v,) for v in p.values())] for p in space.parameters.values()]
    found = []
    for row in itertools.product(*options):
        config = {n: v[0] for n, v in zip(space.names, row, strict=True) if v is not None}
        if space.allows(config):
            found.append(config)
    return found


@settings(deadline=None)
@given(random_spaces(), SEEDS)
def test_a_sample_is_already_canonical_and_allowed(space: Space, seed: int) -> None:
    config = space.sample(np.random.default_rng(seed))
    assert same(space.validate(config), config)
    assert not space.is_forbidden(config)


@settings(deadline=None)
@given(random_spaces(), st.data())
def test_decode_undoes_encode(space: Space, data: st.DataObject) -> None:
    config = data.draw(configs_of(space))
    units, mask = space.encode(config)
    assert units.shape == mask.shape == (len(space),)
    assert ((units >= 0) & (units <= 1)).all()
    assert [n for n, on in zip(space.names, mask, strict=True) if on] == list(config)
    assert (units[~mask] == 0.5).all()
    assert same(space.decode(units), config)


@settings(deadline=None)
@given(parameters(), st.data())
def test_any_valid_value_survives_the_unit_interval(p: Parameter, data: st.DataObject) -> None:
    value: object
    if isinstance(p, Int):
        value = p.low + p.step * data.draw(st.integers(0, p.n_values - 1))
    elif isinstance(p, Float) and p.step is None:
        value = data.draw(st.floats(p.low, p.high))
    else:
        value = p.from_unit(data.draw(st.floats(0, 1)))
    canonical = p.validate(value)
    assert p.from_unit(p.to_unit(canonical)) == canonical
    assert p.validate(canonical) == canonical
    if isinstance(p, Float):
        assert isinstance(value, float)
        assert isinstance(canonical, float)
        kept = 1e-11 * value if p.log else 1e-13 * (p.high - p.low)
        assert abs(canonical - value) <= kept


@settings(deadline=None)
@given(random_spaces(), SEEDS)
def test_every_point_of_the_cube_is_valid_unless_forbidden(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 2, len(space)).astype(float)
    for units in (rng.random(len(space)), corner):
        config = space.decode(units)
        assert space.allows(config) != space.is_forbidden(config)


@settings(deadline=None)
@given(random_spaces(), SEEDS)
def test_a_cell_holds_its_point_and_decodes_to_one_value(space: Space, seed: int) -> None:
    units = np.random.default_rng(seed).random((4, len(space)))
    lower, upper = space.cells(units)
    assert (lower <= units).all()
    assert (units <= upper).all()
    assert (lower >= 0).all()
    assert (upper <= 1).all()
    for j, p in enumerate(space.parameters.values()):
        alone = p.cells(units[:, j])
        assert np.array_equal(alone[0], lower[:, j])
        assert np.array_equal(alone[1], upper[:, j])
        for u, lo, hi in zip(units[:, j], lower[:, j], upper[:, j], strict=True):
            if p.n_values is None:
                assert lo == hi == u
            elif p.n_values <= 10**6:
                assert p.from_unit(lo + 0.01 * (hi - lo)) == p.from_unit(u)
                assert p.from_unit(hi - 0.01 * (hi - lo)) == p.from_unit(u)


@settings(deadline=None)
@given(random_spaces(), st.data())
def test_identity_ignores_key_order_and_numeric_type(space: Space, data: st.DataObject) -> None:
    config = data.draw(configs_of(space))
    shuffled: dict[str, object] = {}
    for name in data.draw(st.permutations(list(config))):
        value = config[name]
        if type(value) is float and value.is_integer():
            shuffled[name] = int(value)
        elif type(value) is int and float(value) == value:
            shuffled[name] = data.draw(st.sampled_from([float(value), value]))
        elif type(value) is bool:
            shuffled[name] = np.bool_(value)
        else:
            shuffled[name] = value
    assert space.identity(space.validate(shuffled)) == space.identity(config)
    again = json.loads(space.identity(config))
    assert list(again) == sorted(config)
    assert same(space.validate(again), config)


@settings(deadline=None)
@given(random_spaces(), st.data())
def test_identities_differ_exactly_when_configs_differ(space: Space, data: st.DataObject) -> None:
    one, other = data.draw(configs_of(space)), data.draw(configs_of(space))
    assert (space.identity(one) == space.identity(other)) == same(one, other)


@settings(deadline=None)
@given(random_spaces())
def test_a_space_survives_json_repr_pickle_and_copy(space: Space) -> None:
    text = json.dumps(space.to_dict())
    names = {"Space": Space, "Float": Float, "Int": Int, "Choice": Choice}
    for again in (
        Space.from_dict(json.loads(text)),
        eval(repr(space), names),
        pickle.loads(pickle.dumps(space)),
        copy.deepcopy(space),
    ):
        assert again == space
        assert hash(again) == hash(space)
        assert again.names == space.names
        assert json.dumps(again.to_dict()) == text
        for p, q in zip(space.parameters.values(), again.parameters.values(), strict=True):
            assert pickle.loads(pickle.dumps(p)) == p == q


@settings(max_examples=60, deadline=None)
@given(random_spaces(max_parameters=4, small=True))
def test_count_and_listing_agree_with_brute_force(space: Space) -> None:
    expected = brute_force(space)
    listed = list(space.configs())
    assert space.n_configs == len(listed) == len(expected)
    identities = {space.identity(config) for config in listed}
    assert len(identities) == len(listed)
    assert identities == {space.identity(config) for config in expected}
    assert all(same(space.validate(config), config) for config in listed)
    assert listed == list(space.configs())
