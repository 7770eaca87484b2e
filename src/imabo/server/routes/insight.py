"""What people look at: key figures, figures, the table of arms, a preview, the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, TypeVar

from starlette.responses import Response

from imabo import insight
from imabo.engine.rollouts import check_allowed
from imabo.errors import UnknownArm
from imabo.insight.drawings import options_of
from imabo.server.context import Context, JsonResponse, respond
from imabo.server.problems import Refusal
from imabo.server.wire import SpaceBody
from imabo.server.wire_insight import FigureQuery, OverviewQuery, TableQuery
from imabo.space import Space
from imabo.space.scalars import show
from imabo.study import Study

T = TypeVar("T")

# The report is a page of its own, which must not act as this server's.
_REPORT_HEADERS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "Content-Disposition": 'attachment; filename="report.html"',
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


async def me(context: Context) -> Response:
    """Who is calling: what the key may do, and on which studies."""
    key = context.caller
    if key is None:
        return respond({"role": "admin", "studies": None, "open": True})
    return respond({"role": key.role, "studies": key.studies, "open": False})


async def overview(context: Context) -> Response:
    """The key figures of a study."""
    trend = context.checked_query(OverviewQuery).trend

    def work(facts: insight.StudySnapshot) -> dict[str, Any]:
        found = insight.overview_document(insight.overview(facts))
        return found | {"trend": insight.trend(facts, trend)} if trend else found

    return await _shared(context, ("overview", trend), work)


async def list_figures(context: Context) -> Response:
    """The figures that there are of a study."""

    def work(facts: insight.StudySnapshot) -> dict[str, Any]:
        named = insight.figures_of(facts)
        return {"figures": [{"name": name, **asdict(insight.caption(name))} for name in named]}

    return respond(await _looked(context, work))


async def figure(context: Context) -> Response:
    """A figure of a study, as Plotly draws it; the place that shows it sets colours and fonts."""
    query, name = context.checked_query(FigureQuery), context.params["figure"]
    baseline, asked = query.baseline, query.model_dump()

    def work(facts: insight.StudySnapshot) -> dict[str, Any]:
        if name not in insight.FIGURES:
            raise Refusal(
                "not_found",
                f"no figure is named {show(name)}",
                f"there are {', '.join(insight.FIGURES)}",
                "take one of these",
            )
        if name == "reward" and baseline is not None and baseline > len(facts.arms):
            raise UnknownArm(
                f"no arm has the id {baseline}",
                "arms are numbered from 1",
                "take the id from the study's arms",
            )
        return insight.figure(name, facts, **{key: asked[key] for key in takes})

    # What a figure does not take makes no difference to it.
    takes = [key for key in asked if name in insight.FIGURES and key in options_of(name)]
    key = ("figure", name, *(asked[one] for one in takes))
    return await _shared(context, key, work)


async def table(context: Context) -> Response:
    """The arms with their intervals and their shares of the traffic, sorted and filtered."""
    query = context.checked_query(TableQuery)
    states = None if query.states is None else query.states.split(",")
    settings = query.model_dump(exclude={"states"})

    def work(facts: insight.StudySnapshot) -> dict[str, Any]:
        return asdict(insight.arm_table(facts, states=states, **settings))

    return await _shared(context, ("table", query.model_dump_json()), work)


async def preview_space(context: Context) -> Response:
    """What a change of the space would do; nothing is changed. What it would refuse is refused."""
    _, sent = await context.checked_body(SpaceBody)

    def work(study: Study) -> dict[str, Any]:
        space = Space.from_dict(sent["space"])
        check_allowed(study.rollout, space)
        return asdict(insight.preview_space(context.parts.insight.facts(study), space))

    return respond(await context.with_study(work))


async def report(context: Context) -> Response:
    """Every figure of a study in one HTML file that needs nothing else."""
    html = await _looked(context, insight.report)
    return Response(html, headers=_REPORT_HEADERS, media_type="text/html")


async def _looked(context: Context, work: Callable[[insight.StudySnapshot], T]) -> T:
    """What is made of the facts of a request's study, in a thread."""
    return await context.with_study(lambda study: work(context.parts.insight.facts(study)))


async def _shared(
    context: Context, key: tuple[object, ...], work: Callable[[insight.StudySnapshot], object]
) -> Response:
    """What is made of the facts of a request's study, once for all who ask for the same."""

    def make(facts: insight.StudySnapshot) -> bytes:
        return bytes(respond(work(facts)).body)

    cache = context.parts.insight
    return JsonResponse(await context.with_study(lambda study: cache.answer(study, key, make)))
