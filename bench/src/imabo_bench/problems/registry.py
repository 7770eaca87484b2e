"""Which problems there are, by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from imabo.errors import MissingData
from imabo_bench.problems import hotpotqa, hpobench_rf, lcbench, rbv2, situations, tables, toy
from imabo_bench.problems.base import Problem
from imabo_bench.problems.names import (
    Name,
    check_variants,
    split,
    unknown_family,
    unknown_instance,
    unknown_variant,
)
from imabo_bench.problems.table import PLAIN
from imabo_bench.problems.wrappers import wrapper_of
from imabo_bench.problems.yahpo import UNIFORM_INTS, Surrogate, tasks

Data = Path | str | None


class _Family(NamedTuple):
    instances: Callable[[Data], Sequence[str]]
    open: Callable[[Name, Data], Problem]


def open_problem(name: str, *, data: Path | str | None = None) -> Problem:
    """Open a problem by its name.

    Args:
        name: ``family/instance``, with variants after colons: ``toy/sin1:d2``. Every problem has
            the variants ``grid<n>`` (continuous axes on n values), ``noise<sigma>`` (Gaussian
            noise) and ``flip`` (coin flips), after its own.
        data: Folder of the data sets that imabo does not ship; None: the one that the
            environment variable IMABO_DATA names.

    Raises:
        InvalidSetting: For a name that does not exist, with those that do.
        MissingData: For a data set that was not found, with where to get it.
        MissingExtra: For a library that is not installed.

    Example:
        >>> open_problem("toy/sin1").space.names
        ('x1', 'x2', 'x3', 'x4')
    """
    parts = split(name)
    family = _FAMILIES.get(parts.family)
    if family is None:
        raise unknown_family(name, list(_FAMILIES))
    own = list(itertools.takewhile(lambda variant: wrapper_of(variant) is None, parts.variants))
    problem = family.open(parts._replace(variants=tuple(own)), data)
    for variant in parts.variants[len(own) :]:
        wrap = wrapper_of(variant)
        if wrap is None:
            raise unknown_variant(parts.family, variant, ())
        problem = wrap(problem)
    return problem


def problem_names(data: Path | str | None = None) -> list[str]:
    """Every family with its instances, without variants.

    Families that need data which is not there are listed with the instances of the paper, or a
    few examples.

    Example:
        >>> problem_names()[:4]
        ['toy/sin1', 'toy/garland', 'toy/rastrigin', 'toy/gaussian']
    """
    return [
        f"{family}/{instance}"
        for family, entry in _FAMILIES.items()
        for instance in entry.instances(data)
    ]


def _stored(family: str) -> _Family:
    return _Family(lambda _: tables.INSTANCES[family], lambda name, _: tables.open_table(name))


def _surrogate(kind: type[Surrogate], examples: Sequence[str]) -> _Family:
    def instances(data: Data) -> Sequence[str]:
        try:
            return tasks(kind.locate(data), kind.task_name)
        except MissingData:
            return examples

    def opened(name: Name, data: Data) -> Problem:
        variants = check_variants(name, (UNIFORM_INTS,))
        return kind(name.instance, data=data, uniform_ints=UNIFORM_INTS in variants)

    return _Family(instances, opened)


def _kr_vs_kp(name: Name, _data: Data) -> Problem:
    from imabo_bench.problems.krvskp import KrVsKp

    _check_instance(name, _KR_VS_KP)
    check_variants(name, ())
    return KrVsKp(name.instance)


def _rf_grid(name: Name, _data: Data) -> Problem:
    from imabo_bench.problems.rf_grid import RfGrid

    _check_instance(name, _RF_GRID)
    return RfGrid(is_plain=PLAIN in check_variants(name, (PLAIN,)))


def _hotpotqa(name: Name, _data: Data) -> Problem:
    _check_instance(name, hotpotqa.FIFTHS)
    check_variants(name, ())
    return hotpotqa.HotpotQA(name.instance)


def _check_instance(name: Name, known: Sequence[str]) -> None:
    if name.instance not in known:
        raise unknown_instance(name.family, name.instance, known)


_KR_VS_KP = ("lr", "svm")
_RF_GRID = ("credit-g",)
_FAMILIES: dict[str, _Family] = {
    toy.FAMILY: _Family(lambda _: toy.NAMES, lambda name, _: toy.open_toy(name)),
    tables.MLP: _stored(tables.MLP),
    tables.NAS: _stored(tables.NAS),
    hpobench_rf.FAMILY: _Family(hpobench_rf.instances, hpobench_rf.open_forest),
    "rf-grid": _Family(lambda _: _RF_GRID, _rf_grid),
    "kr-vs-kp": _Family(lambda _: _KR_VS_KP, _kr_vs_kp),
    hotpotqa.FAMILY: _Family(lambda _: hotpotqa.FIFTHS, _hotpotqa),
    situations.FAMILY: _Family(
        lambda _: situations.INSTANCES, lambda name, _: situations.open_situation(name)
    ),
    lcbench.LCBench.family: _surrogate(lcbench.LCBench, lcbench.PAPER),
    rbv2.RBv2XGBoost.family: _surrogate(rbv2.RBv2XGBoost, rbv2.EXAMPLES),
}
