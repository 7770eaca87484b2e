"""How a study shows itself to the tools that people have: frames, files, figures, notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from os import PathLike
from typing import IO, TYPE_CHECKING, Any, Final, cast

from imabo.arms import Arm, Pull
from imabo.columns import (
    Columns,
    Table,
    arrow_of,
    check_table,
    columns_of,
    kinds_of,
    pandas_of,
    parameters_of,
)
from imabo.errors import ImaboError, NoRewards
from imabo.export import export
from imabo.markup import config_text, number, table
from imabo.recommend import Best

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from imabo.insight.plots import Plots
    from imabo.study import Study

_TOP: Final = 5  # arms in a notebook


class StudyFrames:
    """How a study shows itself to the tools that people have."""

    def to_columns(self, table: Table = "pulls") -> Columns:
        """The pulls, the arms or the events as plain lists, a column each.

        A configuration has a column a parameter, named ``config.NAME``; None stands for a parameter
        that is not active. Each signal that is declared has a column ``signal.NAME`` of the pulls;
        ``signals`` has all that a pull has as JSON, and so are its context and an event's data.

        Example:
            >>> from imabo import Float, Space, Study
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> study.tell(study.ask().id, 1.0)
            >>> columns = study.to_columns("arms")
            >>> columns["id"], columns["n_rewards"], len(columns["config.x"])
            ([1], [1], 1)
        """
        study, name = cast("Study", self), check_table(table)
        if name == "events":
            return columns_of(study.events(limit=10_000), name, [])
        arms = study.arms()
        rows: Iterable[Pull | Arm] = arms if name == "arms" else study
        return columns_of(rows, name, parameters_of(study.space.names, arms), study.signals)

    def to_pandas(self, table: Table = "pulls") -> pandas.DataFrame:
        """The pulls, the arms or the events as a DataFrame; see ``to_columns``.

        Needs ``pip install "imabo[pandas]"``.

        Example:
            >>> from imabo import Float, Space, Study
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> study.tell(study.ask().id, 1.0)
            >>> study.to_pandas()["reward"].mean().item()
            1.0
        """
        return pandas_of(self.to_columns(table))

    def to_arrow(self, table: Table = "pulls") -> pyarrow.Table:
        """The pulls, the arms or the events as an Arrow table; see ``to_columns``.

        ``polars.from_arrow`` takes it, and so does every library that speaks Arrow. A parameter
        whose values are of several kinds is JSON. Needs ``pip install "imabo[parquet]"``.
        """
        study, columns = cast("Study", self), self.to_columns(table)
        arms = [] if table == "events" else study.arms()
        return arrow_of(columns, kinds_of(arms, parameters_of(study.space.names, arms)))

    def export(self, target: str | PathLike[str] | IO[Any], format: str | None = None) -> None:  # noqa: A002
        """Write the study to a file: JSON lines (the whole log), CSV or Parquet (a row a pull).

        The lines hold all that happened; ``Study.replay`` reads them. ``target`` is a path or an
        open file; ``format`` (``jsonl``, ``csv``, ``parquet``), what the path ends with.
        """
        study = cast("Study", self)
        export(study, study.store, target, format)

    @property
    def plot(self) -> Plots:
        """The study's figures, as ``study.plot.reward()``; needs ``pip install "imabo[plot]"``."""
        from imabo.insight.plots import Plots

        return Plots(cast("Study", self))

    def _repr_html_(self) -> str:
        """For notebooks: how far the study is, its best arm, and the arms with most rewards."""
        study = cast("Study", self)
        try:
            counts = study.n_pulls, study.n_rewards, study.n_pending, study.n_arms
            return study_html(study.name, counts, study.arms(), study.best)
        except ImaboError:  # closed, say: a notebook must still show the cell
            return table(repr(study), [], [])


def study_html(
    name: str, counts: Sequence[int], arms: Iterable[Arm], best: Callable[[], Best]
) -> str:
    """A study as a notebook shows it, in process or of a service.

    ``counts`` are requests, rewards, those that wait for feedback, and arms.
    """
    head = ["requests", "rewards", "waiting for feedback", "arms"]
    text = table(f"study {name!r}", head, [counts])
    with suppress(NoRewards):
        text += best()._repr_html_()
    top = sorted(arms, key=lambda arm: -arm.n_rewards)[:_TOP]
    rows = [[arm.id, config_text(dict(arm.config)), arm.n_rewards, number(arm.mean), arm.state]
            for arm in top]  # fmt: skip
    head = ["arm", "configuration", "rewards", "plain mean", "state"]
    return text + (table("arms with most rewards", head, rows) if rows else "")
