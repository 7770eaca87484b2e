"""The figures there are: their names, their captions, and how each is drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from imabo.errors import InvalidSetting
from imabo.insight.drawings.base import Drawing
from imabo.insight.drawings.of_arms import draw_arms, draw_descent, draw_parallel
from imabo.insight.drawings.of_budgets import (
    draw_budgets,
    draw_frontier,
    draw_limits,
    draw_spend,
)
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
    """A figure's title and what it shows.

    ``is_research`` marks those that take knowing how imabo works inside.
    """

    title: str
    about: str
    is_research: bool = False


_DRAWN: Final = "Means of few rewards are drawn towards the others'."

# How it is drawn, its title, and what it shows.
_FIGURES: Final[dict[str, tuple[Callable[..., Drawing], str, str]]] = {
    "reward": (
        draw_reward,
        "Reward over time",
        "The mean of the rewards as they arrived, with its 95% band, against serving at random.",
    ),
    "growth": (
        draw_growth,
        "Configurations in play",
        "How many configurations are in play, against how many the policy wants by then.",
    ),
    "traffic": (
        draw_traffic,
        "Share of traffic",
        "Which values the requests were served with.",
    ),
    "arms": (
        draw_arms,
        "Best configurations",
        f"Their mean rewards with 95% intervals. {_DRAWN}",
    ),
    "effects": (
        draw_effects,
        "Effect of each parameter",
        "The mean reward with each value or range of numbers; larger points rest on more rewards.",
    ),
    "importance": (
        draw_importance,
        "Which parameters matter",
        "The share of the differences between configurations that each parameter explains alone.",
    ),
    "parallel": (
        draw_parallel,
        "Configurations in parallel coordinates",
        f"Each line is a configuration, coloured by its mean reward. {_DRAWN}",
    ),
    "descent": (
        draw_descent,
        "Descent of the configurations",
        f"Which was made from which: lines lead from a parent to its child. {_DRAWN}",
    ),
    "feedback": (
        draw_feedback,
        "Feedback delay",
        "The share of requests whose feedback has come, by the time since they were served.",
    ),
    "cost": (
        draw_cost,
        "Cost and gain of exploring",
        "Estimated reward lost against always serving the best configuration, and won against "
        "serving at random.",
    ),
    "frontier": (
        draw_frontier,
        "What the reward costs",
        "The mean reward of each configuration against what its requests use, with 95% intervals. "
        "The line is the best that any budget buys, mixing configurations where that is better.",
    ),
    "budgets": (
        draw_budgets,
        "What another budget would buy",
        "The mean reward of the best mix within each budget, by what is known now.",
    ),
    "spend": (
        draw_spend,
        "Spend over time",
        "What a request used on average, as it was reported, against what it may use.",
    ),
    "limits": (
        draw_limits,
        "Requests above the limits",
        "The share of the requests above each limit, against what is allowed (dashed).",
    ),
}
FIGURES: Final = tuple(_FIGURES)
OF_SIGNALS: Final = ("frontier", "budgets", "spend", "limits")  # where signals are declared
RESEARCH: Final = ("growth", "parallel", "descent")  # for those who know how it works inside


def caption(name: str) -> Caption:
    """The title of a figure and what it shows, whatever the study.

    Example:
        >>> caption("growth").title
        'Configurations in play'
    """
    check_one_of("the figure", name, FIGURES)
    return Caption(*_FIGURES[name][1:], is_research=name in RESEARCH)


def figures_of(snapshot: StudySnapshot) -> tuple[str, ...]:
    """The figures that say something of a study: without signals, not those of budgets.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> set(FIGURES) - set(figures_of(insight.read(study))) == set(OF_SIGNALS)
        True
    """
    used = snapshot.used
    left_out = OF_SIGNALS if used is None else () if used.limits else ("limits",)
    return tuple(name for name in FIGURES if name not in left_out)


def options_of(name: str) -> tuple[str, ...]:
    """The options that a figure takes.

    Example:
        >>> options_of("traffic")
        ('parameter', 'axis')
    """
    check_one_of("the figure", name, FIGURES)
    return tuple(inspect.signature(_FIGURES[name][0]).parameters)[1:]


def figure(name: str, snapshot: StudySnapshot, **options: Any) -> dict[str, Any]:
    """A figure as JSON-safe values: ``name``, ``title``, ``about``, and Plotly's data and layout.

    The layout has no colours of text or background; whoever shows the figure sets them. Text of
    users is escaped, as Plotly reads a little HTML.

    Args:
        name: One of ``insight.FIGURES``.
        snapshot: From ``insight.read``.
        **options: ``baseline`` (an arm's id) for ``reward``; ``by`` and ``limit`` for ``arms``;
            ``parameter`` for ``traffic``; ``signal`` for ``frontier``, ``budgets`` and ``spend``;
            ``axis`` (``"time"`` or ``"requests"``) for figures of the past: ``reward``,
            ``traffic``, ``growth``, ``cost``, ``spend`` and ``limits``.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> insight.figure("growth", insight.read(study))["title"]
        'Configurations in play'
    """
    known, draw = caption(name), _FIGURES[name][0]
    allowed = options_of(name)
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
