"""The figures there are: their names, their captions, and how each is drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from imabo.errors import InvalidSetting
from imabo.insight.drawings.base import Drawing
from imabo.insight.drawings.of_arms import draw_arms, draw_descent, draw_parallel
from imabo.insight.drawings.of_parameters import draw_effects, draw_importance
from imabo.insight.drawings.of_time import (
    draw_cost,
    draw_feedback,
    draw_growth,
    draw_reward,
    draw_traffic,
)
from imabo.insight.snapshot import StudySnapshot
from imabo.settings import check_one_of
from imabo.space.scalars import show


@dataclass(frozen=True, slots=True)
class Caption:
    """A figure's title and what it shows."""

    title: str
    about: str


# How it is drawn, its title, and what it shows.
_FIGURES: Final[dict[str, tuple[Callable[..., Drawing], str, str]]] = {
    "reward": (
        draw_reward,
        "Reward over time",
        "The mean of the rewards as they arrived, with its 95% band, against serving at random.",
    ),
    "growth": (
        draw_growth,
        "Active arms",
        "How many arms are in play, against how many the policy wants by then.",
    ),
    "traffic": (
        draw_traffic,
        "Share of traffic",
        "Which arms the requests were served with, over time.",
    ),
    "arms": (
        draw_arms,
        "Best arms",
        "The mean reward of the best arms with their 95% intervals.",
    ),
    "effects": (
        draw_effects,
        "Effect of each parameter",
        "The mean reward of the arms with each value or range, weighted by rewards; larger points "
        "rest on more of them.",
    ),
    "importance": (
        draw_importance,
        "Which parameters matter",
        "The share of the differences between arms that each parameter explains alone.",
    ),
    "parallel": (
        draw_parallel,
        "Arms in parallel coordinates",
        "Each line is an arm, coloured by its mean reward.",
    ),
    "descent": (
        draw_descent,
        "Descent of the arms",
        "Which arm was made from which: lines lead from a parent to its child.",
    ),
    "feedback": (
        draw_feedback,
        "Feedback delay",
        "The share of pulls whose reward has come, by the time since they were served.",
    ),
    "cost": (
        draw_cost,
        "Cost and gain of exploring",
        "Estimated reward lost against always serving the best arm, and won against serving at "
        "random.",
    ),
}
FIGURES: Final = tuple(_FIGURES)


def caption(name: str) -> Caption:
    """The title of a figure and what it shows, whatever the study.

    Example:
        >>> caption("growth").title
        'Active arms'
    """
    check_one_of("the figure", name, FIGURES)
    return Caption(*_FIGURES[name][1:])


def figure(name: str, snapshot: StudySnapshot, **options: Any) -> dict[str, Any]:
    """A figure as JSON-safe values: ``name``, ``title``, ``about``, and Plotly's data and layout.

    The layout has no colours of text or background; whoever shows the figure sets them. Text of
    users is escaped, as Plotly reads a little HTML.

    Args:
        name: One of ``insight.FIGURES``.
        snapshot: From ``insight.read``.
        **options: ``baseline`` (an arm's id) for ``reward``; ``by`` and ``limit`` for ``arms``.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> insight.figure("growth", insight.read(study))["title"]
        'Active arms'
    """
    known, draw = caption(name), _FIGURES[name][0]
    allowed = list(inspect.signature(draw).parameters)[1:]
    for option in options:
        if option not in allowed:
            raise InvalidSetting(
                f"the figure {name!r} got the option {show(option)}",
                f"it takes {', '.join(allowed) or 'none'}",
                "leave it out",
            )
    drawing = draw(snapshot, **options)
    about = " ".join([known.about, *drawing.notes])
    return {"name": name, "title": known.title, "about": about,
            "data": drawing.data, "layout": drawing.layout}  # fmt: skip
