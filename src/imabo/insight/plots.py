"""The figures of a study in a notebook; needs the extra ``plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imabo.errors import MissingExtra
from imabo.insight.drawings import figure
from imabo.insight.snapshot import read

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from imabo.study import Study


class Plots:
    """The figures of a study as Plotly figures; each call reads the study anew.

    Get it as ``study.plot``.

    Args:
        study: An open study.

    Example:
        >>> from imabo import Float, Space, Study
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> study.tell(study.ask().id, 0.5)
        >>> figure = study.plot.arms(limit=5)
        >>> figure.layout.title.text, len(figure.data[0].x)
        ('Best configurations', 1)
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def _draw(self, name: str, **options: Any) -> go.Figure:
        try:
            import plotly.graph_objects as go
        except ImportError as error:
            raise MissingExtra(
                "Plotly is not installed",
                "the figures of a study are drawn with it",
                'install it with: pip install "imabo[plot]"',
            ) from error
        made = figure(name, read(self._study), **options)
        drawn = go.Figure(made["data"], made["layout"])
        drawn.update_layout(title={"text": made["title"], "subtitle": {"text": made["about"]}})
        return drawn.update_layout(margin_t=100)

    def reward(self, baseline: int | None = None, axis: str = "time") -> go.Figure:
        """Reward over time (or ``axis="requests"``), against serving at random and an arm."""
        return self._draw("reward", baseline=baseline, axis=axis)

    def growth(self, axis: str = "time") -> go.Figure:
        """The active set against the policy's schedule."""
        return self._draw("growth", axis=axis)

    def traffic(self, parameter: str | None = None, axis: str = "time") -> go.Figure:
        """The share of traffic of each value of a parameter, the first choice by default."""
        return self._draw("traffic", parameter=parameter, axis=axis)

    def arms(self, by: str = "low", limit: int = 8) -> go.Figure:
        """The best arms with their intervals."""
        return self._draw("arms", by=by, limit=limit)

    def effects(self) -> go.Figure:
        """The mean reward with each value or range of each parameter."""
        return self._draw("effects")

    def importance(self) -> go.Figure:
        """Which parameters matter."""
        return self._draw("importance")

    def parallel(self) -> go.Figure:
        """The arms in parallel coordinates."""
        return self._draw("parallel")

    def descent(self) -> go.Figure:
        """Which arm was made from which."""
        return self._draw("descent")

    def feedback(self) -> go.Figure:
        """How long feedback takes."""
        return self._draw("feedback")

    def cost(self, axis: str = "time") -> go.Figure:
        """What exploring has cost and gained."""
        return self._draw("cost", axis=axis)

    def frontier(self, signal: str | None = None) -> go.Figure:
        """Reward against a signal, that of the first budget by default, with the frontier."""
        return self._draw("frontier", signal=signal)

    def budgets(self, signal: str | None = None) -> go.Figure:
        """What another budget of a signal would buy."""
        return self._draw("budgets", signal=signal)

    def spend(self, signal: str | None = None, axis: str = "time") -> go.Figure:
        """What requests used of a signal over time, against its budget."""
        return self._draw("spend", signal=signal, axis=axis)

    def limits(self, axis: str = "time") -> go.Figure:
        """The share of requests above each limit over time."""
        return self._draw("limits", axis=axis)
