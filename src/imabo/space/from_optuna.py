"""Optuna's distributions as parameters."""

from __future__ import annotations

from collections.abc import Mapping

from imabo.errors import InvalidSpace, MissingExtra
from imabo.space.base import Parameter
from imabo.space.choices import Choice
from imabo.space.floats import Float
from imabo.space.ints import Int
from imabo.space.scalars import show


def convert(distributions: object) -> dict[str, Parameter]:
    """Turn a mapping of Optuna distributions into parameters, in the same order."""
    if not isinstance(distributions, Mapping):
        raise InvalidSpace(
            f"from_optuna got {show(distributions)}",
            "it reads a mapping from names to distributions",
            "pass for instance trial.distributions",
        )
    return {name: _parameter(name, item) for name, item in distributions.items()}


def _parameter(name: object, item: object) -> Parameter:
    try:
        from optuna import distributions as known
    except ImportError:
        raise MissingExtra(
            "from_optuna needs the package optuna",
            "it is not installed",
            'run pip install "imabo[optuna]"',
        ) from None
    try:
        if isinstance(item, known.FloatDistribution):
            return Float(item.low, item.high, log=item.log, step=item.step)
        if isinstance(item, known.IntDistribution):
            return Int(item.low, item.high, log=item.log, step=item.step)
        if isinstance(item, known.CategoricalDistribution):
            return Choice(*item.choices)
    except InvalidSpace as error:
        raise InvalidSpace(
            f"distribution {show(name)}: {error.what}", error.why, error.fix
        ) from None
    raise InvalidSpace(
        f"distribution {show(name)} is {show(item)}",
        "only FloatDistribution, IntDistribution and CategoricalDistribution can be read",
        "replace it by one of them",
    )
