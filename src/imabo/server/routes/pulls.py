"""Asks, rewards and history."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from imabo.documents import pull_document
from imabo.engine.asks import checked_request
from imabo.engine.requests import Request, Reward
from imabo.errors import ImaboError, UnknownPull, UnknownStudy
from imabo.server.context import Context, respond
from imabo.server.problems import document, outward, unknown_pull
from imabo.server.wire import (
    AskBody,
    KeyReward,
    KeyRewardBody,
    PageQuery,
    PullReward,
    RewardBody,
    RewardsBody,
)
from imabo.server.wire_signals import KeySignalBody, SignalBody


async def ask(context: Context) -> Response:
    """Ask which configurations to serve; the pulls are committed before they are answered."""
    name, parts = context.study, context.parts
    body, _ = await context.checked_body(AskBody, is_optional=True)
    # Checked here, because one that is refused must not hold up the others of its group.
    asked = await parts.commits.ask(
        name, checked_request(Request(body.count, body.key, body.context))
    )
    parts.metrics.n_asks += len(asked.pulls)
    pulls = [pull_document(pull, name) for pull in asked.pulls]
    return respond({"pulls": pulls}, 201 if asked.is_new else 200)


async def reward(context: Context) -> Response:
    """Report the reward of a pull; again with the same value changes nothing."""
    pull_id, parts = context.params["pull"], context.parts
    body, _ = await context.checked_body(RewardBody)
    name = await context.study_of(pull_id)
    told: tuple[str, float] | Reward = (pull_id, body.reward)
    if body.signals is not None:
        told = Reward(body.reward, pull_id, signals=body.signals)
    (error,) = await parts.commits.tell(name, [told])
    if error is not None:
        raise _shown(error, pull_id)
    parts.metrics.n_rewards += 1
    return Response(status_code=204)


async def reward_by_key(context: Context) -> Response:
    """Report the reward of a pull by the key of its ask; again with the same value changes nothing.

    It never asks: a key that no ask used is refused.
    """
    body, _ = await context.checked_body(KeyRewardBody)
    told = Reward(body.reward, key=context.params["key"], part=body.part, signals=body.signals)
    (error,) = await context.parts.commits.tell(context.study, [told])
    if error is not None:
        raise error
    context.parts.metrics.n_rewards += 1
    return Response(status_code=204)


async def signal(context: Context) -> Response:
    """Report a signal of a pull; again with the same value changes nothing."""
    pull_id, name = context.params["pull"], context.params["signal"]
    body, _ = await context.checked_body(SignalBody)
    study = await context.study_of(pull_id)
    told = Reward(None, pull_id, signals={name: body.value})
    (error,) = await context.parts.commits.tell(study, [told])
    if error is not None:
        raise _shown(error, pull_id)
    return Response(status_code=204)


async def signal_by_key(context: Context) -> Response:
    """Report a signal of a pull by the key of its ask; the same value again changes nothing."""
    name = context.params["signal"]
    body, _ = await context.checked_body(KeySignalBody)
    told = Reward(None, key=context.params["key"], part=body.part, signals={name: body.value})
    (error,) = await context.parts.commits.tell(context.study, [told])
    if error is not None:
        raise error
    return Response(status_code=204)


async def reward_many(context: Context) -> Response:
    """Report the rewards of many pulls; one that is refused does not hold up the others."""
    body, _ = await context.checked_body(RewardsBody)
    by_study: dict[str, list[int]] = {}
    problems: list[ImaboError | None] = [None] * len(body.rewards)
    for place, item in enumerate(body.rewards):
        try:
            if isinstance(item, KeyReward):
                name = context.visible(item.study)
            else:
                name = await context.study_of(item.pull)
            by_study.setdefault(name, []).append(place)
        except (UnknownPull, UnknownStudy) as error:
            problems[place] = error
    told: list[asyncio.Future[list[ImaboError | None]]] = []
    for name, places in by_study.items():
        told.append(context.parts.commits.tell(name, [_told(body.rewards[i]) for i in places]))
    answers = await asyncio.gather(*told, return_exceptions=True)
    for places, answer in zip(by_study.values(), answers, strict=True):
        if isinstance(answer, ImaboError):
            answer = [answer] * len(places)
        elif isinstance(answer, BaseException):
            raise answer
        for place, refused in zip(places, answer, strict=True):
            problems[place] = refused
    context.parts.metrics.n_rewards += sum(
        problem is None and item.reward is not None
        for item, problem in zip(body.rewards, problems, strict=True)
    )
    results: list[dict[str, Any]] = []
    for item, problem in zip(body.rewards, problems, strict=True):
        named = item.model_dump(exclude={"reward", "signals"})
        if problem is None:
            results.append(named | {"status": "recorded"})
        else:
            if isinstance(item, PullReward):
                problem = _shown(problem, item.pull)
            shown = document(outward(problem))
            results.append(named | {"status": "refused", "problem": shown})
    return respond({"results": results})


def _told(item: PullReward | KeyReward) -> tuple[str, float] | Reward:
    if isinstance(item, KeyReward):
        return Reward(item.reward, key=item.key, part=item.part, signals=item.signals)
    if item.signals is not None or item.reward is None:
        return Reward(item.reward, item.pull, signals=item.signals)
    return item.pull, item.reward


async def read_key(context: Context) -> Response:
    """The pulls of a key as they stand now: one, or as many as its ask was for."""
    name, key = context.study, context.params["key"]
    pulls = await context.with_study(lambda study: study.pulls_of(key))
    return respond({"pulls": [pull_document(pull, name) for pull in pulls]})


async def read_pull(context: Context) -> Response:
    """A pull as it stands now."""
    pull_id, registry = context.params["pull"], context.parts.registry
    name = await context.study_of(pull_id)
    try:
        pull = await context.for_study(name, lambda: registry.study(name).pull(pull_id))
    except ImaboError as error:
        raise _shown(error, pull_id) from None
    return respond(pull_document(pull, name))


async def history(context: Context) -> Response:
    """A page of the history, in the order the pulls were served."""
    name, query = context.study, context.checked_query(PageQuery)
    page = await context.with_study(lambda study: study.pulls(query.after, query.limit))
    last = int(page[-1].id.rpartition("-")[2]) if len(page) == query.limit else None
    return respond({"pulls": [pull_document(pull, name) for pull in page], "next": last})


def _shown(error: ImaboError, pull_id: str) -> ImaboError:
    return unknown_pull(pull_id) if isinstance(error, UnknownPull) else error
