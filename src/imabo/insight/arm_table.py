"""The arms as rows: the best of them, and a table to sort and to search."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np

from imabo.arms import Bools, Floats, Ints
from imabo.insight.estimates import may_be_highest, number
from imabo.insight.grouping import config_text
from imabo.insight.snapshot import StudySnapshot
from imabo.settings import check_count, check_one_of
from imabo.space import Config
from imabo.stores.records import SPARE

MOST_ROWS: Final = 1000  # of one page of the table
MOST_SHOWN: Final = 50  # arms of the figure
_EQUALS: Final = re.compile(r"\s*=\s*")
_NUMBER: Final = re.compile(r"#\d+")
_LONG: Final = 10_000  # letters of a configuration that are searched
OF_SIGNAL: Final = "signal:"  # what a column of a signal begins with
STATES: Final = ("active", "paused", "retired")
Sort = Literal[
    "id", "sure", "estimate", "mean", "low", "high", "n_pulls", "n_rewards", "n_pending", "share",
    "state", "origin", "parent", "admitted_at",
]  # fmt: skip
SORTS: Final[tuple[str, ...]] = get_args(Sort)


@dataclass(frozen=True, slots=True)
class ArmRow:
    """An arm; ``low`` and ``high`` end the interval of its mean, ``share`` is of all pulls.

    ``mean`` is the plain average of its rewards. ``estimate`` is drawn towards what the other arms
    say, the more the fewer rewards it has; its mean is above ``sure`` with probability 0.9. After
    a change that the study noticed these two and the interval are of now, without what it made
    untrue; ``mean`` and all counts are of everything.
    ``is_best`` marks the arm that ``Study.best`` recommends; ``mutated`` is the parameter in which
    it differs from its parent, where it has one. ``label`` names it by what sets it apart.
    ``is_draw`` marks one that only a random control served: retired, but not because of anyone.
    ``signals`` has the mean of each signal over its requests, by name, where one is known.
    """

    id: int
    config: Config
    origin: str
    state: str
    n_pulls: int
    n_rewards: int
    n_pending: int
    mean: float | None
    low: float | None
    high: float | None
    estimate: float | None
    sure: float | None
    share: float
    parent: int | None
    mutated: str | None
    admitted_at: float
    is_best: bool
    label: str
    is_draw: bool
    signals: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArmTable:
    """A page of the table of arms; ``n`` of all ``n_arms`` arms match."""

    rows: list[ArmRow]
    n: int
    n_arms: int
    offset: int
    limit: int
    sort: str
    descending: bool


@dataclass(frozen=True, slots=True)
class BestArms:
    """The arms that matter most, the best one first, out of ``n_arms``; ``by`` says how chosen."""

    rows: list[ArmRow]
    n_arms: int
    by: str


def arms(snapshot: StudySnapshot, *, by: str = "low", limit: int = 8) -> BestArms:
    """The arms with their means and intervals, the best ones only.

    Args:
        snapshot: From ``insight.read``.
        by: ``"low"`` for the highest lower end of the interval, ``"n_pulls"`` for the most pulls.
        limit: At most so many, from 1 to 50.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> study.tell(study.ask().id, 0.5)
        >>> [row.mean for row in insight.arms(insight.read(study)).rows]
        [0.5]
    """
    check_one_of("by", by, ["low", "n_pulls"])
    check_count("limit", limit, least=1)
    known, limit = snapshot.arms, min(limit, MOST_SHOWN)
    rows = _highest_low(snapshot, limit) if by == "low" else known.best_by(known.n_pulls, limit)
    return BestArms(rows_of(snapshot, rows), len(known), by)


def arm_table(
    snapshot: StudySnapshot,
    *,
    sort: str = "sure",
    descending: bool = True,
    states: Collection[str] | None = None,
    text: str = "",
    offset: int = 0,
    limit: int = 50,
) -> ArmTable:
    """A page of the arms, sorted and filtered.

    The order is total: equal ones come in order of their ids, and arms without a value to sort by
    (no reward, no parent) last, whichever way it goes.

    Args:
        snapshot: From ``insight.read``.
        sort: A column, one of ``insight.SORTS``. ``"sure"`` puts arms first that are surely good,
            ``"mean"`` those with the highest average, lucky with a single reward or not;
            ``"signal:cost"`` sorts by the mean of a signal.
        descending: Whether the largest come first.
        states: Only arms in these states; None for all.
        text: Only arms whose id, origin, state or configuration has all of these words in it,
            capitals or not; ``model=small`` finds a value of a parameter, ``#7`` the arm 7.
        offset: How many of the matching arms to leave out first.
        limit: At most so many rows, from 1 to 1,000.

    Example:
        >>> from imabo import Choice, Space, Study, insight, oracles, policies
        >>> study = Study.create("s", Space(model=Choice("a", "b")), seed=0)
        >>> _ = study.add_arm({"model": "a"}), study.add_arm({"model": "b"})
        >>> table = insight.arm_table(insight.read(study), sort="id", text="model=b")
        >>> [row.config for row in table.rows], table.n, table.n_arms
        ([{'model': 'b'}], 1, 2)
    """
    signals = () if snapshot.used is None else snapshot.used.signals
    check_one_of("sort", sort, [*SORTS, *(f"{OF_SIGNAL}{name}" for name in signals)])
    check_count("offset", offset)
    check_count("limit", limit, least=1)
    limit = min(limit, MOST_ROWS)
    for state in states or ():
        check_one_of("a state", state, STATES)
    matching = np.flatnonzero(_matches(snapshot, states, text))
    # NumPy puts NaN last.
    values = _sort_values(snapshot, sort)[matching]
    order = np.lexsort((snapshot.arms.ids[matching], -values if descending else values))
    rows = rows_of(snapshot, matching[order][offset : offset + limit])
    n_arms = len(snapshot.arms)
    return ArmTable(rows, len(matching), n_arms, offset, limit, sort, bool(descending))


def rows_of(snapshot: StudySnapshot, rows: Ints | Iterable[int]) -> list[ArmRow]:
    """Some arms, by their rows in the columns."""
    known = snapshot.arms
    places = np.array(list(rows), dtype=np.int64)
    n_pulls = max(snapshot.totals.n_pulls, 1)
    found = []
    records = [known.records[row] for row in places.tolist()]
    labels = snapshot.labels([record.config for record in records])
    columns = (*known.intervals_of(places), known.estimates[places], known.sure_of(places))
    cells = zip(places.tolist(), records, labels, *columns, strict=True)
    for row, record, label, low, high, estimate, sure in cells:
        tally = record.tally
        has_mean = tally.n_rewards > 0
        found.append(
            ArmRow(
                id=record.id,
                config=dict(record.config),
                origin=record.origin,
                state=record.state,
                n_pulls=tally.n_pulls,
                n_rewards=tally.n_rewards,
                n_pending=tally.n_pending,
                mean=number(known.means[row]),
                low=number(low) if has_mean else None,
                high=number(high) if has_mean else None,
                estimate=number(estimate),
                sure=number(sure),
                share=tally.n_pulls / n_pulls,
                parent=record.parent,
                mutated=record.mutated,
                admitted_at=record.admitted_at,
                is_best=record.id == snapshot.best_arm,
                label=label,
                is_draw=(record.state, record.retired_from) == SPARE,
                signals={} if snapshot.used is None else snapshot.used.means_of(row),
            )
        )
    return found


def _highest_low(snapshot: StudySnapshot, limit: int) -> Ints:
    """Rows of the arms with the highest lower ends; those that may be served come first."""
    known = snapshot.arms
    rows = np.flatnonzero(known.n_rewards > 0)
    active = rows[known.states[rows] == "active"]
    if len(active) >= limit and known.present is None:
        places = may_be_highest(
            known.n_rewards[active], known.sums[active], snapshot.reward_range, limit
        )
        rows = active[places]
    low = known.intervals_of(rows)[0]
    keys = (known.ids[rows], -known.means[rows], -low, known.states[rows] != "active")
    return rows[np.lexsort(keys)][:limit]


def _sort_values(snapshot: StudySnapshot, sort: str) -> Floats:
    """A number for each arm, NaN where it has no value to sort by."""
    known = snapshot.arms
    if sort.startswith(OF_SIGNAL) and snapshot.used is not None:
        return snapshot.used.means(sort.removeprefix(OF_SIGNAL))
    if sort in ("low", "high"):
        return np.where(known.n_rewards > 0, known.intervals[sort == "high"], np.nan)
    if sort in ("state", "origin"):
        # Alphabetical, so the number is the place of the text among all of them.
        texts = known.states if sort == "state" else known.origins
        return np.unique(texts, return_inverse=True)[1].astype(np.float64)
    names = {"id": "ids", "mean": "means", "share": "n_pulls", "parent": "parents"}
    names["estimate"] = "estimates"
    return np.array(getattr(known, names.get(sort, sort)), dtype=np.float64)


def _matches(snapshot: StudySnapshot, states: Collection[str] | None, text: str) -> Bools:
    known = snapshot.arms
    matching = np.ones(len(known), dtype=np.bool_)
    if states is not None:
        matching &= np.isin(known.states, list(states))
    words = _EQUALS.sub("=", text).casefold().split()
    if words:
        lines = [
            _EQUALS.sub("=", f"{one.id} {one.origin} {one.state} {config_text(one.config, _LONG)}")
            for one in known.records
        ]
        # The page writes numbers so; a configuration may have such a word as well.
        numbered = {word for word in words if _NUMBER.fullmatch(word)}
        found = [
            all(word in line or (word in numbered and word[1:] == str(one.id)) for word in words)
            for one, line in zip(known.records, map(str.casefold, lines), strict=True)
        ]
        matching &= np.array(found, dtype=np.bool_)
    return matching
