"""Which problems there are, by name."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from imabo.errors import MissingData
from imabo_bench import plugins
from imabo_bench.problems import (
    frontier,
    hotpotqa,
    hotpotqa_tokens,
    hpobench_rf,
    lcbench,
    rbv2,
    routing,
    situations,
    tables,
    toy,
)
from imabo_bench.problems.base import Problem
from imabo_bench.problems.family import Data, Family
from imabo_bench.problems.names import Name, check_variants, split, unknown_family, unknown_variant
from imabo_bench.problems.table import PLAIN
from imabo_bench.problems.wrappers import wrapper_of
from imabo_bench.problems.yahpo import UNIFORM_INTS, Surrogate, tasks


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
    others = plugins.offered(plugins.PROBLEMS, _FAMILIES)
    if parts.family not in [*_FAMILIES, *others]:
        raise unknown_family(name, [*_FAMILIES, *others])
    own = list(itertools.takewhile(lambda variant: wrapper_of(variant) is None, parts.variants))
    wanted = parts._replace(variants=tuple(own))
    problem = _family(parts.family).open(wanted, data)
    if parts.family in others:
        plugins.named(others[parts.family], wanted.text, problem.name)
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
    families = [*_FAMILIES, *plugins.offered(plugins.PROBLEMS, _FAMILIES)]
    return [f"{family}/{one}" for family in families for one in _family(family).names(data)]


def _family(name: str) -> Family:
    own = _FAMILIES.get(name)
    return own or plugins.load(plugins.offered(plugins.PROBLEMS, _FAMILIES)[name], Family)


def _stored(family: str) -> Family:
    return Family(tables.INSTANCES[family], lambda name, _: tables.open_table(name), None)


def _surrogate(kind: type[Surrogate], examples: Sequence[str]) -> Family:
    def instances(data: Data) -> Sequence[str]:
        try:
            return tasks(kind.locate(data), kind.task_name)
        except MissingData:
            return examples

    def opened(name: Name, data: Data) -> Problem:
        variants = check_variants(name, (UNIFORM_INTS,))
        return kind(name.instance, data=data, uniform_ints=UNIFORM_INTS in variants)

    return Family(instances, opened, None)


def _kr_vs_kp(name: Name, _data: Data) -> Problem:
    from imabo_bench.problems.krvskp import KrVsKp

    return KrVsKp(name.instance)


def _rf_grid(name: Name, _data: Data) -> Problem:
    from imabo_bench.problems.rf_grid import RfGrid

    return RfGrid(is_plain=PLAIN in name.variants)


_FAMILIES: dict[str, Family] = {
    toy.FAMILY: Family(toy.NAMES, lambda name, _: toy.open_toy(name), None),
    tables.MLP: _stored(tables.MLP),
    tables.NAS: _stored(tables.NAS),
    hpobench_rf.FAMILY: Family(hpobench_rf.instances, hpobench_rf.open_forest, None),
    "rf-grid": Family(("credit-g",), _rf_grid, (PLAIN,)),
    "kr-vs-kp": Family(("lr", "svm"), _kr_vs_kp),
    hotpotqa.FAMILY: Family(hotpotqa.FIFTHS, lambda name, _: hotpotqa.HotpotQA(name.instance)),
    hotpotqa_tokens.FAMILY: Family(
        hotpotqa.FIFTHS, lambda name, _: hotpotqa_tokens.HotpotTokens(name.instance)
    ),
    routing.FAMILY: Family(routing.INSTANCES, lambda name, _: routing.Routing(name.instance)),
    frontier.FAMILY: Family(
        frontier.INSTANCES, lambda name, _: frontier.open_frontier(name.instance)
    ),
    situations.FAMILY: Family(
        situations.INSTANCES, lambda name, _: situations.open_situation(name), None
    ),
    lcbench.LCBench.family: _surrogate(lcbench.LCBench, lcbench.PAPER),
    rbv2.RBv2XGBoost.family: _surrogate(rbv2.RBv2XGBoost, rbv2.EXAMPLES),
}
