"""Conversions, against the real Optuna and the real ConfigSpace."""

from __future__ import annotations

import sys
from typing import Any

import ConfigSpace
import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from imabo.errors import InvalidSpace, MissingExtra
from imabo.space import Choice, Float, Int, Space

DISTRIBUTIONS: dict[str, optuna.distributions.BaseDistribution] = {
    "x": FloatDistribution(-1.5, 3.0),
    "rate": FloatDistribution(1e-5, 1e-1, log=True),
    "share": FloatDistribution(0.0, 1.0, step=0.05),
    "depth": IntDistribution(2, 20, step=3),
    "width": IntDistribution(1, 4096, log=True),
    "kind": CategoricalDistribution(["a", None, True, 1.5]),
    "fixed": IntDistribution(4, 4),
}


def test_optuna_distributions_become_the_same_parameters() -> None:
    assert Space.from_optuna(DISTRIBUTIONS) == Space(
        x=Float(-1.5, 3.0),
        rate=Float(1e-5, 1e-1, log=True),
        share=Float(0, 1, step=0.05),
        depth=Int(2, 20, step=3),
        width=Int(1, 4096, log=True),
        kind=Choice("a", None, True, 1.5),
        fixed=Int(4, 4),
    )


def test_what_optuna_draws_is_valid_here_and_the_other_way_round() -> None:
    space = Space.from_optuna(DISTRIBUTIONS)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(100):
        params = study.ask(DISTRIBUTIONS).params
        clean = space.validate(params)
        assert list(clean) == list(params)
    rng = np.random.default_rng(0)
    for _ in range(100):
        # Optuna refuses a trial whose parameters its distributions do not contain.
        trial = optuna.trial.create_trial(
            params=space.sample(rng), distributions=DISTRIBUTIONS, value=0.0
        )
        study.add_trial(trial)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "mapping"),
        ({"x": 3}, "'x' is 3"),
        ({"x": CategoricalDistribution([float("nan")])}, "'x'.*NaN"),
        ({"x": IntDistribution(1, 2**60)}, "'x'.*2\\*\\*50"),
    ],
)
def test_what_is_not_an_optuna_space_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidSpace, match=message):
        Space.from_optuna(given)


def source() -> ConfigSpace.ConfigurationSpace:
    """One of everything that can be converted."""
    cs = ConfigSpace.ConfigurationSpace(seed=0)
    kind = ConfigSpace.CategoricalHyperparameter("kind", ["tree", "net", "line"])
    size = ConfigSpace.OrdinalHyperparameter("size", ["s", "m", "l", "xl"])
    layers = ConfigSpace.UniformIntegerHyperparameter("layers", 1, 6)
    rate = ConfigSpace.UniformFloatHyperparameter("rate", 1e-5, 1e-1, log=True)
    width = ConfigSpace.UniformIntegerHyperparameter("width", 8, 512, log=True)
    drop = ConfigSpace.UniformFloatHyperparameter("drop", 0.0, 0.9)
    leaf = ConfigSpace.UniformIntegerHyperparameter("leaf", 1, 9)
    deep = ConfigSpace.CategoricalHyperparameter("deep", [1, 2])
    slope = ConfigSpace.UniformFloatHyperparameter("slope", -1.0, 1.0)
    fixed = ConfigSpace.Constant("fixed", 7)
    cs.add(kind, size, layers, rate, width, drop, leaf, deep, slope, fixed)
    cs.add(
        ConfigSpace.EqualsCondition(rate, kind, "net"),
        ConfigSpace.InCondition(leaf, kind, ["tree"]),
        ConfigSpace.AndConjunction(
            ConfigSpace.InCondition(width, kind, ["net", "line"]),
            ConfigSpace.GreaterThanCondition(width, size, "s"),
        ),
        ConfigSpace.AndConjunction(
            ConfigSpace.GreaterThanCondition(drop, layers, 1),
            ConfigSpace.LessThanCondition(drop, layers, 5),
        ),
        ConfigSpace.NotEqualsCondition(slope, kind, "tree"),
        ConfigSpace.GreaterThanCondition(deep, leaf, 4),
        ConfigSpace.ForbiddenEqualsClause(layers, 6),
        ConfigSpace.ForbiddenAndConjunction(
            ConfigSpace.ForbiddenEqualsClause(kind, "net"),
            ConfigSpace.ForbiddenInClause(size, ["m", "xl"]),
        ),
    )
    return cs


def test_configspace_becomes_the_same_space() -> None:
    space = Space.from_configspace(source())
    assert dict(space.parameters) == {
        "kind": Choice("tree", "net", "line"),
        "size": Choice("s", "m", "l", "xl", ordered=True),
        "layers": Int(1, 6),
        "rate": Float(1e-5, 1e-1, log=True, when={"kind": "net"}),
        "width": Int(8, 512, log=True, when={"kind": ["net", "line"], "size": ["m", "l", "xl"]}),
        "drop": Float(0, 0.9, when={"layers": [2, 3, 4]}),
        "leaf": Int(1, 9, when={"kind": "tree"}),
        "deep": Choice(1, 2, when={"leaf": [5, 6, 7, 8, 9]}),
        "slope": Float(-1, 1, when={"kind": ["net", "line"]}),
        "fixed": Choice(7),
    }
    assert {frozenset(clause.items()) for clause in space.forbid} == {
        frozenset({("layers", (6,))}),
        frozenset({("kind", ("net",)), ("size", ("m", "xl"))}),
    }


def test_what_configspace_draws_is_valid_here_and_the_other_way_round() -> None:
    cs = source()
    space = Space.from_configspace(cs)
    for drawn in cs.sample_configuration(200):
        assert set(space.validate(dict(drawn))) == set(drawn)
    rng = np.random.default_rng(0)
    for _ in range(200):
        # ConfigSpace checks legality, activity and its forbidden clauses here.
        ConfigSpace.Configuration(cs, values=space.sample(rng)).check_valid_configuration()


def test_forbidden_alternatives_and_inequalities_become_several_lists() -> None:
    cs = ConfigSpace.ConfigurationSpace(seed=1)
    a = ConfigSpace.UniformIntegerHyperparameter("a", 1, 6)
    b = ConfigSpace.OrdinalHyperparameter("b", ["s", "m", "l"], default_value="l")
    cs.add(a, b)
    cs.add(
        ConfigSpace.ForbiddenOrConjunction(
            ConfigSpace.ForbiddenGreaterThanClause(a, 4), ConfigSpace.ForbiddenEqualsClause(b, "s")
        )
    )
    space = Space.from_configspace(cs)
    assert space.forbid == ({"a": (5, 6)}, {"b": ("s",)})
    assert space.n_configs == 8
    for drawn in cs.sample_configuration(50):
        assert space.allows(dict(drawn))


def with_parts(*parts: Any) -> ConfigSpace.ConfigurationSpace:
    cs = ConfigSpace.ConfigurationSpace()
    cs.add(*parts)
    return cs


def bad_spaces() -> list[tuple[str, ConfigSpace.ConfigurationSpace]]:
    a = ConfigSpace.UniformIntegerHyperparameter("a", 1, 6)
    b = ConfigSpace.UniformIntegerHyperparameter("b", 1, 6)
    x = ConfigSpace.UniformFloatHyperparameter("x", 0.0, 1.0)
    c = ConfigSpace.CategoricalHyperparameter("c", ["p", "q"])
    either = ConfigSpace.OrConjunction(
        ConfigSpace.EqualsCondition(c, a, 1), ConfigSpace.EqualsCondition(c, b, 1)
    )
    normal = ConfigSpace.NormalFloatHyperparameter("n", mu=0.0, sigma=1.0, lower=-3.0, upper=3.0)
    weighted = ConfigSpace.CategoricalHyperparameter("w", ["p", "q"], weights=[1, 2])
    never = ConfigSpace.AndConjunction(
        ConfigSpace.GreaterThanCondition(c, a, 4), ConfigSpace.LessThanCondition(c, a, 2)
    )
    return [
        ("joined by 'or'", with_parts(a, b, c, either)),
        ("only uniform", with_parts(normal)),
        ("same weight", with_parts(weighted)),
        ("relation between two", with_parts(a, b, ConfigSpace.ForbiddenLessThanRelation(a, b))),
        ("too many values", with_parts(x, c, ConfigSpace.GreaterThanCondition(c, x, 0.5))),
        ("never be active", with_parts(a, c, never)),
    ]


@pytest.mark.parametrize("number", range(6))
def test_what_cannot_be_expressed_is_refused_by_name(number: int) -> None:
    message, cs = bad_spaces()[number]
    with pytest.raises(InvalidSpace, match=message):
        Space.from_configspace(cs)


def test_another_object_is_not_a_configspace() -> None:
    with pytest.raises(InvalidSpace, match="reads a ConfigSpace"):
        Space.from_configspace({"a": (1, 2)})  # type: ignore[arg-type]


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.setitem(sys.modules, "ConfigSpace", None)
    with pytest.raises(MissingExtra, match=r"imabo\[optuna\]"):
        Space.from_optuna({"x": None})  # type: ignore[dict-item]
    with pytest.raises(MissingExtra, match=r"imabo\[configspace\]"):
        Space.from_configspace(None)  # type: ignore[arg-type]
