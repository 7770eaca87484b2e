"""What people look at: key figures, figures, the table of arms, a preview, the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from imabo import insight
from imabo.errors import UnknownArm
from imabo.server.context import (
    JsonResponse,
    body_of,
    caller_of,
    decoded,
    for_study,
    json_answer,
    parts_of,
    query_of,
    study_name,
)
from imabo.server.operations import Operation
from imabo.server.problems import Refusal
from imabo.server.wire import SpaceBody
from imabo.server.wire_insight import (
    FigureAnswer,
    FigureQuery,
    FiguresAnswer,
    MeAnswer,
    OverviewAnswer,
    OverviewQuery,
    PreviewAnswer,
    TableAnswer,
    TableQuery,
)
from imabo.space import Space
from imabo.space.scalars import show

T = TypeVar("T")

# The report is a page of its own, which must not act as this server's.
_REPORT_HEADERS: Final = {
    "Content-Security-Policy": "sandbox allow-scripts; default-src 'none'; img-src data: blob:; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'",
    "Content-Disposition": 'attachment; filename="report.html"',
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


async def me(request: Request) -> Response:
    """Who is calling: what the key may do, and on which studies."""
    key = caller_of(request)
    if key is None:
        return json_answer({"role": "admin", "studies": None, "open": True})
    return json_answer({"role": key.role, "studies": key.studies, "open": False})


async def overview(request: Request) -> Response:
    """The key figures of a study."""
    query = query_of(request, OverviewQuery)

    def work(facts: insight.Facts) -> dict[str, Any]:
        found = asdict(insight.overview(facts))
        return found | {"trend": _trend(facts, query.trend)} if query.trend else found

    return await _shared(request, ("overview", query.trend), work)


async def list_figures(request: Request) -> Response:
    """The figures that there are of a study."""
    captions = [{"name": name, **asdict(insight.caption(name))} for name in insight.FIGURES]
    return json_answer(await _looked(request, lambda _: {"figures": captions}))


async def figure(request: Request) -> Response:
    """A figure of a study, as Plotly draws it; the place that shows it sets colours and fonts."""
    query, name = query_of(request, FigureQuery), decoded(request.path_params["figure"])

    def work(facts: insight.Facts) -> dict[str, Any]:
        if name not in insight.FIGURES:
            raise Refusal(
                "not_found",
                f"no figure is named {show(name)}",
                f"there are {', '.join(insight.FIGURES)}",
                "take one of these",
            )
        if name != "reward" or query.baseline is None:
            return insight.figure(name, facts)
        if query.baseline > len(facts.arms):
            raise UnknownArm(
                f"no arm has the id {query.baseline}",
                "arms are numbered from 1",
                "take the id from the study's arms",
            )
        return insight.figure(name, facts, baseline=query.baseline)

    return await _shared(request, ("figure", name, query.baseline), work)


async def table(request: Request) -> Response:
    """The arms with their intervals and their shares of the traffic, sorted and filtered."""
    query = query_of(request, TableQuery)

    def work(facts: insight.Facts) -> dict[str, Any]:
        found = insight.arm_table(
            facts,
            sort=query.sort,
            descending=query.descending,
            states=None if query.states is None else query.states.split(","),
            text=query.text,
            offset=query.offset,
            limit=query.limit,
        )
        return asdict(found)

    return await _shared(request, ("table", query.model_dump_json()), work)


async def preview_space(request: Request) -> Response:
    """What a change of the space would do; nothing is changed."""
    name = study_name(request)
    _, sent = await body_of(request, SpaceBody)

    def work(facts: insight.Facts) -> dict[str, Any]:
        return asdict(insight.preview_space(facts, Space.from_dict(sent["space"])))

    return json_answer(await _looked(request, work, name))


async def report(request: Request) -> Response:
    """Every figure of a study in one HTML file that needs nothing else."""
    html = await _looked(request, insight.report)
    return Response(html, headers=_REPORT_HEADERS, media_type="text/html")


async def _looked(
    request: Request, work: Callable[[insight.Facts], T], name: str | None = None
) -> T:
    """What is made of the facts of a request's study, in a thread."""
    parts, study = parts_of(request), study_name(request) if name is None else name

    def look() -> T:
        return work(parts.insight.facts(parts.registry.study(study)))

    return await for_study(request, study, look)


async def _shared(
    request: Request, key: tuple[object, ...], work: Callable[[insight.Facts], object]
) -> Response:
    """What is made of the facts of a request's study, once for all who ask for the same."""
    parts, name = parts_of(request), study_name(request)

    def make(facts: insight.Facts) -> bytes:
        return bytes(json_answer(work(facts)).body)

    def look() -> bytes:
        return parts.insight.answer(parts.registry.study(name), key, make)

    return JsonResponse(await for_study(request, name, look), 200)


def _trend(facts: insight.Facts, most: int) -> list[float | None]:
    values = insight.reward(facts).rolling
    n = len(values)
    if n <= most:
        return values
    return [values[(n - 1) * (i + 1) // most] for i in range(most)]  # the newest one always


_PATH = "/v1/studies/{study}"
_OPENED = ("unknown_study", "invalid_setting")

OPERATIONS = [
    Operation("GET", "/v1/me", me, "reader", {200: MeAnswer}),
    Operation(
        "GET",
        f"{_PATH}/overview",
        overview,
        "reader",
        {200: OverviewAnswer},
        _OPENED,
        query=OverviewQuery,
    ),
    Operation("GET", f"{_PATH}/figures", list_figures, "reader", {200: FiguresAnswer}, _OPENED),
    Operation(
        "GET",
        f"{_PATH}/figures/{{figure}}",
        figure,
        "reader",
        {200: FigureAnswer},
        (*_OPENED, "not_found", "unknown_arm"),
        query=FigureQuery,
    ),
    Operation(
        "GET", f"{_PATH}/table", table, "reader", {200: TableAnswer}, _OPENED, query=TableQuery
    ),
    Operation(
        "POST",
        f"{_PATH}/space/preview",
        preview_space,
        "reader",
        {200: PreviewAnswer},
        (*_OPENED, "invalid_space"),
        SpaceBody,
    ),
    Operation(
        "GET",
        f"{_PATH}/report",
        report,
        "reader",
        {200: None},
        (*_OPENED, "missing_extra"),
        media={"text/html": {"schema": {"type": "string"}}},
    ),
]
