"""Asks, rewards and history."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from imabo.checks import checked_request
from imabo.documents import pull_document
from imabo.engine.requests import Request as AskRequest
from imabo.errors import ImaboError, UnknownPull
from imabo.server.context import (
    body_of,
    decoded,
    find_study,
    for_study,
    json_answer,
    parts_of,
    pull_study,
    query_of,
    study_name,
)
from imabo.server.operations import Operation
from imabo.server.problems import document, outward, unknown_pull
from imabo.server.wire import (
    AskBody,
    PageAnswer,
    PageQuery,
    PullAnswer,
    PullsAnswer,
    RewardBody,
    RewardsAnswer,
    RewardsBody,
)


async def ask(request: Request) -> Response:
    """Ask which configurations to serve; the pulls are committed before they are answered."""
    name = study_name(request)
    body, _ = await body_of(request, AskBody, is_optional=True)
    # Checked here, because one that is refused must not hold up the others of its group.
    wanted = checked_request(AskRequest(body.count, body.key, body.context))
    asked = await parts_of(request).commits.ask(name, wanted)
    parts_of(request).metrics.n_asks += len(asked.pulls)
    pulls = [pull_document(pull, name) for pull in asked.pulls]
    return json_answer({"pulls": pulls}, 201 if asked.is_new else 200)


async def reward(request: Request) -> Response:
    """Report the reward of a pull; again with the same value changes nothing."""
    pull_id = decoded(request.path_params["pull"])
    body, _ = await body_of(request, RewardBody)
    name = await pull_study(request, pull_id)
    (error,) = await parts_of(request).commits.tell(name, [(pull_id, body.reward)])
    if error is not None:
        raise _shown(error, pull_id)
    parts_of(request).metrics.n_rewards += 1
    return Response(status_code=204)


async def reward_many(request: Request) -> Response:
    """Report the rewards of many pulls; one that is refused does not hold up the others."""
    body, _ = await body_of(request, RewardsBody)
    by_study: dict[str, list[int]] = {}
    problems: list[ImaboError | None] = [None] * len(body.rewards)
    for place, item in enumerate(body.rewards):
        name = await find_study(request, item.pull)
        if name is None:
            problems[place] = unknown_pull(item.pull)
        else:
            by_study.setdefault(name, []).append(place)
    commits = parts_of(request).commits
    told = [
        commits.tell(name, [(body.rewards[i].pull, body.rewards[i].reward) for i in places])
        for name, places in by_study.items()
    ]
    answers = await asyncio.gather(*told, return_exceptions=True)
    for places, answer in zip(by_study.values(), answers, strict=True):
        if isinstance(answer, ImaboError):
            answer = [answer] * len(places)
        elif isinstance(answer, BaseException):
            raise answer
        for place, error in zip(places, answer, strict=True):
            problems[place] = error
    results: list[dict[str, Any]] = []
    for item, error in zip(body.rewards, problems, strict=True):
        if error is None:
            results.append({"pull": item.pull, "status": "recorded"})
        else:
            problem = document(outward(_shown(error, item.pull)))
            results.append({"pull": item.pull, "status": "refused", "problem": problem})
    parts_of(request).metrics.n_rewards += sum(error is None for error in problems)
    return json_answer({"results": results})


async def read_pull(request: Request) -> Response:
    """A pull as it stands now."""
    pull_id = decoded(request.path_params["pull"])
    name = await pull_study(request, pull_id)
    registry = parts_of(request).registry
    try:
        pull = await for_study(request, name, lambda: registry.study(name).pull(pull_id))
    except ImaboError as error:
        raise _shown(error, pull_id) from None
    return json_answer(pull_document(pull, name))


async def history(request: Request) -> Response:
    """A page of the history, in the order the pulls were served."""
    name, query = study_name(request), query_of(request, PageQuery)
    registry = parts_of(request).registry
    page = await for_study(
        request, name, lambda: registry.study(name).pulls(query.after, query.limit)
    )
    pulls = [pull_document(pull, name) for pull in page]
    last = int(page[-1].id.rpartition("-")[2]) if len(page) == query.limit else None
    return json_answer({"pulls": pulls, "next": last})


def _shown(error: ImaboError, pull_id: str) -> ImaboError:
    return unknown_pull(pull_id) if isinstance(error, UnknownPull) else error


OPERATIONS = [
    Operation(
        "POST",
        "/v1/studies/{study}/pulls",
        ask,
        "writer",
        {201: PullsAnswer, 200: PullsAnswer},
        ("unknown_study", "key_conflict", "nothing_to_serve", "invalid_setting", "missing_extra"),
        AskBody,
        needs_body=False,
    ),
    Operation(
        "PUT",
        "/v1/pulls/{pull}/reward",
        reward,
        "writer",
        {204: None},
        ("unknown_pull", "reward_conflict", "invalid_reward"),
        RewardBody,
    ),
    Operation("POST", "/v1/rewards", reward_many, "writer", {200: RewardsAnswer}, body=RewardsBody),
    Operation("GET", "/v1/pulls/{pull}", read_pull, "reader", {200: PullAnswer}, ("unknown_pull",)),
    Operation(
        "GET",
        "/v1/studies/{study}/pulls",
        history,
        "reader",
        {200: PageAnswer},
        ("unknown_study", "invalid_setting"),
        query=PageQuery,
    ),
]
