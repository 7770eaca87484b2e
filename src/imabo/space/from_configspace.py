"""ConfigSpace's hyperparameters, conditions and forbidden clauses as ours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from imabo.errors import InvalidConfig, InvalidSpace, MissingExtra
from imabo.space.base import Parameter
from imabo.space.choices import Choice
from imabo.space.floats import Float
from imabo.space.ints import Int
from imabo.space.scalars import Scalar, show, value_key

Listed: TypeAlias = dict[str, list[Scalar]]  # name to the values that count

MOST_LISTED = 10_000  # values that an inequality may be spelled out to
MOST_CLAUSES = 1_000  # clauses that nested "and" and "or" may be multiplied out to


def convert(cs: object) -> tuple[dict[str, Parameter], list[Listed]]:
    """Turn a ``ConfigurationSpace`` into parameters with their conditions, and clauses."""
    try:
        import ConfigSpace
    except ImportError:
        raise MissingExtra(
            "from_configspace needs the package ConfigSpace",
            "it is not installed",
            'run pip install "imabo[configspace]"',
        ) from None
    if not isinstance(cs, ConfigSpace.ConfigurationSpace):
        raise InvalidSpace(
            f"from_configspace got {show(cs)}",
            "it reads a ConfigSpace.ConfigurationSpace",
            "pass one, or use Space.from_dict for plain values",
        )
    plain: dict[str, Parameter] = {name: _parameter(item) for name, item in cs.items()}
    when: dict[str, Listed] = {}
    for condition in cs.conditions:
        child = condition.child.name
        when[child] = _both(when.get(child, {}), _condition(condition, plain))
        for parent, values in when[child].items():
            if not values:
                raise InvalidSpace(
                    f"hyperparameter {child!r} depends on {parent!r}",
                    "no value satisfies all its conditions, so it can never be active",
                    "remove the hyperparameter or correct the condition",
                )
    parameters = {
        name: parameter.with_when(when[name]) if name in when else parameter
        for name, parameter in plain.items()
    }
    clauses = [listed for item in cs.forbidden_clauses for listed in _forbidden(item, plain)]
    return parameters, clauses


def _parameter(item: Any) -> Parameter:
    from ConfigSpace import hyperparameters as known

    try:
        if isinstance(item, known.UniformFloatHyperparameter):
            return Float(item.lower, item.upper, log=item.log)
        if isinstance(item, known.UniformIntegerHyperparameter):
            return Int(item.lower, item.upper, log=item.log)
        if isinstance(item, known.CategoricalHyperparameter):
            if not np.allclose(item.probabilities, item.probabilities[0]):
                raise _unsupported(item, "P0 gives every category the same weight", "drop weights")
            return Choice(*item.choices)
        if isinstance(item, known.OrdinalHyperparameter):
            return Choice(*item.sequence, ordered=True)
        if isinstance(item, known.Constant):
            return Choice(item.value)
    except InvalidSpace as error:
        raise InvalidSpace(
            f"hyperparameter {item.name!r}: {error.what}", error.why, error.fix
        ) from None
    raise _unsupported(
        item,
        "only uniform, categorical, ordinal and constant hyperparameters can be read",
        "replace it by a uniform one",
    )


def _condition(item: Any, parameters: Mapping[str, Parameter]) -> Listed:
    """Read a condition as the values that each parent has to have."""
    from ConfigSpace import conditions as known

    if isinstance(item, known.AndConjunction):
        listed: Listed = {}
        for component in item.components:
            listed = _both(listed, _condition(component, parameters))
        return listed
    if isinstance(item, known.OrConjunction):
        raise _unsupported(
            item, "conditions joined by 'or' cannot be expressed", "join them by 'and' only"
        )
    parent = item.parent.name
    if isinstance(item, known.EqualsCondition | known.InCondition):
        return {parent: _legal(item, parameters[parent])}
    if isinstance(
        item, known.NotEqualsCondition | known.GreaterThanCondition | known.LessThanCondition
    ):
        return {parent: _spell_out(item, parent, parameters[parent], item.satisfied_by_value)}
    raise _unsupported(item, "this kind of condition cannot be read", "use equality conditions")


def _forbidden(item: Any, parameters: Mapping[str, Parameter]) -> list[Listed]:
    """Read a forbidden clause as one or more of ours ("or" gives several)."""
    from ConfigSpace import forbidden as known

    if isinstance(item, known.ForbiddenOrConjunction):
        return [listed for part in item.components for listed in _forbidden(part, parameters)]
    if isinstance(item, known.ForbiddenAndConjunction):
        parts = [_forbidden(part, parameters) for part in item.components]
        if np.prod([len(part) for part in parts], dtype=float) > MOST_CLAUSES:
            raise _unsupported(item, "it multiplies out to too many clauses", "split it up")
        joined = []
        for combination in itertools.product(*parts):
            listed: Listed = {}
            for part in combination:
                listed = _both(listed, part)
            joined.append(listed)
        return [listed for listed in joined if all(listed.values())]  # an empty one never matches
    if isinstance(item, known.ForbiddenEqualsClause | known.ForbiddenInClause):
        name = item.hyperparameter.name
        return [{name: _legal(item, parameters[name])}]
    kinds = (
        known.ForbiddenGreaterThanClause,
        known.ForbiddenGreaterThanEqualsClause,
        known.ForbiddenLessThanClause,
        known.ForbiddenLessThanEqualsClause,
    )
    if isinstance(item, kinds):
        name = item.hyperparameter.name
        values = _spell_out(item, name, parameters[name], item.is_forbidden_value)
        return [{name: values}] if values else []
    raise _unsupported(
        item,
        "a relation between two hyperparameters is not a list of values",
        "forbid the combinations of values instead",
    )


def _legal(item: Any, parameter: Parameter) -> list[Scalar]:
    """Write the value or the values of an item the way the parameter does."""
    try:
        values = item.values if hasattr(item, "values") else [item.value]
        return [parameter.validate(value) for value in values]
    except InvalidConfig as error:
        raise _unsupported(item, f"{error.what}: {error.why}", error.fix) from None


def _spell_out(
    item: object, name: str, parameter: Parameter, test: Callable[[dict[str, Any]], bool]
) -> list[Scalar]:
    """List the values of a parameter for which a test of the source library holds."""
    if parameter.n_values is None or parameter.n_values > MOST_LISTED:
        raise _unsupported(
            item,
            f"{name!r} has too many values to write the inequality as a list",
            f"compare only hyperparameters of at most {MOST_LISTED} values",
        )
    return [value for value in parameter.values() if test({name: value})]


def _both(one: Listed, other: Listed) -> Listed:
    """Join two requirements by "and"; a name in both keeps the values they share."""
    joined = dict(one)
    for name, values in other.items():
        if name in joined:
            keys = {value_key(value) for value in values}
            joined[name] = [value for value in joined[name] if value_key(value) in keys]
        else:
            joined[name] = values
    return joined


def _unsupported(item: object, why: str, fix: str) -> InvalidSpace:
    return InvalidSpace(f"{show(item, 200)} cannot be converted", why, fix)
