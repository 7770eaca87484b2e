"""Who was served: the share of the requests that each value of a parameter got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.insight.estimates import numbers
from imabo.insight.grouping import INACTIVE, OTHERS, Grouping
from imabo.insight.snapshot import StudySnapshot
from imabo.settings import check_one_of
from imabo.space import Choice

MOST_VALUES: Final = 12  # with a share of their own

Column = list[float | None]


@dataclass(frozen=True, slots=True)
class Share:
    """The pulls that one value, or range, of a parameter got between two points.

    ``place`` is where the value came among all values that were ever served, counted from 0, so
    that it keeps its colour whoever leads; None for what is together or not active.
    """

    label: str
    place: int | None
    counts: Column


@dataclass(frozen=True, slots=True)
class Traffic:
    """Who was served: for each point, the pulls since the point before.

    Attributes:
        pulls: Pulls served by then.
        times: When that was, in seconds since 1970.
        parameter: The parameter whose values are told apart.
        is_range: Whether the shares are of ranges of a number.
        shares: One for each value, in the order of the space; they add up to ``totals``.
        totals: All pulls since the point before.
    """

    pulls: Column
    times: Column
    parameter: str
    is_range: bool
    shares: list[Share]
    totals: Column


def traffic(snapshot: StudySnapshot, parameter: str | None = None) -> Traffic:
    """How the pulls were shared between the values of a parameter, from point to point.

    Args:
        snapshot: From ``insight.read``.
        parameter: Its name; by default the first ``Choice`` of the space, else the first parameter.

    Example:
        >>> from imabo import Choice, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("a", "b")), seed=0)
        >>> _ = study.ask(count=12)
        >>> found = insight.traffic(insight.read(study))
        >>> found.parameter, [share.label for share in found.shares], found.totals
        ('model', ['a', 'b'], [12.0])
    """
    names = snapshot.space.names
    if parameter is None:
        parameter = first_choice(snapshot)
    elif parameter not in names:
        check_one_of("the parameter", parameter, names)
    history, grouped = snapshot.history, snapshot.grouping(parameter)
    # A pull has the arm's values; arms never leave, so the columns are the same ones.
    by_arm, n_groups = history.by_arm, len(grouped.groups)
    served = np.zeros((len(history), n_groups))
    for group in range(n_groups):
        served[:, group] = by_arm[:, np.flatnonzero(grouped.codes == group)].sum(axis=1)
    counts = np.diff(served, axis=0)
    places = _places(grouped)
    shown = [g for g in range(n_groups) if served[-1, g] > 0 and places[g] is not None]
    kept = set(sorted(shown, key=lambda g: -served[-1, g])[:MOST_VALUES])
    shares = [
        Share(grouped.groups[g].label, places[g], numbers(counts[:, g]))
        for g in range(n_groups)
        if g in kept or (grouped.groups[g].label == INACTIVE and places[g] is None)
    ]
    totals = np.diff(history.n_pulls)
    rest = totals - sum((np.array(share.counts) for share in shares), np.zeros(len(totals)))
    if rest.any():
        shares.append(Share(OTHERS, None, numbers(rest)))
    return Traffic(
        pulls=numbers(history.n_pulls[1:]),
        times=numbers(history.at[1:]),
        parameter=parameter,
        is_range=not isinstance(snapshot.space.parameters[parameter], Choice),
        shares=shares,
        totals=numbers(totals),
    )


def first_choice(snapshot: StudySnapshot) -> str:
    """The parameter that people think of first: the first choice, which is mostly the model."""
    parameters = snapshot.space.parameters
    choices = [name for name, one in parameters.items() if isinstance(one, Choice)]
    return choices[0] if choices else next(iter(parameters))


def _places(grouped: Grouping) -> list[int | None]:
    """For each group, how many others came before it; arms keep their order for ever."""
    is_together = [
        group.value is None and group.low is None and group.label in (INACTIVE, OTHERS)
        for group in grouped.groups
    ]
    found, first = np.unique(grouped.codes, return_index=True)
    came = dict(zip(found.tolist(), first.tolist(), strict=True))
    order = [g for g in sorted(came, key=lambda g: came[g]) if not is_together[g]]
    places = {group: place for place, group in enumerate(order)}
    return [places.get(group) for group in range(len(grouped.groups))]
