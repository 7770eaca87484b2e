"""``POST /v1/feedback``: from a completion's id to the reward of its pull."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from imabo.defaults import DEFAULT_PREFIX
from imabo.engine.requests import Reward
from imabo.errors import ImaboError, InvalidReward, Unavailable, UnknownPull
from imabo.gateway.answering import document, refused, refused_by_imabo
from imabo.gateway.asking import unknown_pull
from imabo.gateway.keeping import Lines
from imabo.gateway.relay import Parts
from imabo.space.scalars import show

_MOST: Final = 65_536  # bytes of a feedback
_MOST_SCORES: Final = 50
_FIELDS: Final = ("id", "reward", "scores", "comment")
_PULL: Final = re.compile(
    r"(?:(?:chatcmpl|cmpl)-)?((?:default-)?[A-Za-z0-9]{1,64}-[1-9][0-9]{0,17})"
)
_DEFAULT: Final = re.compile(r"(?:(?:chatcmpl|cmpl)-)?(default-[0-9a-f]{16})")


class Feedback:
    """Takes feedback for completions that came through this gateway, or another of its studies."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        path = parts.settings.feedback_file
        self._file = None if path is None else Lines(path)

    async def answer(self, request: Request) -> Response:
        """Tell the reward, and say what became of it."""
        if (refusal := await self._parts.guard.refusal(request.scope)) is not None:
            return refusal
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST:
                return refused(413, "too_large", f"the feedback is longer than {_MOST} bytes")
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            return refused(400, "invalid_json", "the body is no JSON that can be read")
        if (wrong := _wrong(said)) is not None:
            return refused(422, "invalid_request", wrong)
        if (pull_id := pull_of(said["id"])) is None:
            words = (
                f"the id {show(said['id'])[:200]} is not one that this gateway gave a completion"
            )
            return refused(404, "unknown_pull", f"{words}; send the answer's id, or x-imabo-pull")
        if pull_id.startswith(DEFAULT_PREFIX):
            return document(await self._kept(said, _dropped(pull_id)))
        done: dict[str, Any] = {"object": "feedback", "status": "told", "pull": pull_id}
        try:
            study = await self._parts.studies.study_of(pull_id)
            if study is not None and not self._parts.guard.allows(request.scope, study):
                raise unknown_pull(pull_id)
            told = self._told(study, pull_id, said)
            if told is None and study is not None:
                await self._parts.studies.require(study, pull_id)
            elif told is not None:
                await self._parts.studies.tell(study, told)
        except UnknownPull as error:
            return refused_by_imabo(error)
        except ImaboError as error:
            done |= {"status": "refused", "code": error.code}
            return _with_kept(refused_by_imabo(error), await self._kept(said, done))
        if study is not None:
            done["study"] = study
        if told is None:
            done["status"] = "noted"
        elif told.reward is not None:
            done["reward"] = float(told.reward)
        if told is not None and said.get("scores"):
            done["signals"] = list(told.signals or ())
        return document(await self._kept(said, done))

    def _told(self, study: str | None, pull_id: str, said: Mapping[str, Any]) -> Reward | None:
        """What to tell the study, in one piece; None where it is only a comment."""
        reward, scores = said.get("reward"), said.get("scores") or {}
        if study is None:
            if reward is None and scores:
                why = "which study the pull is of, and so the weights of its scores, is not known"
                raise Unavailable("imabo does not answer", why, "send the feedback again later")
            return None if reward is None else Reward(reward, pull_id)
        declared = self._parts.studies.declared(study).signals
        signals = {name: score for name, score in scores.items() if name in declared}
        weights = self._parts.settings.weights(study)
        if reward is None and weights and set(weights) <= set(scores) <= {*weights, *signals}:
            reward = sum(weights[name] * scores[name] for name in weights) / sum(weights.values())
        if reward is None and scores and not signals:
            raise InvalidReward(
                f"the feedback has no reward, and the scores {', '.join(scores)[:200]}",
                f"study {study!r} declares no such signals, and no route of it has weights for "
                "just these",
                "send a reward, or all scores of [routes.NAME.scores] together",
            )
        if reward is None and not signals:
            return None
        return Reward(reward, pull_id, signals=signals or None)

    async def _kept(self, said: Mapping[str, Any], done: dict[str, Any]) -> dict[str, Any]:
        """Add a comment or scores to the file, where there is one; ``kept`` says whether it was."""
        if said.get("comment") or said.get("scores"):
            line = {**done, **said, "pull": done["pull"]}
            done["kept"] = self._file is not None and await self._file.add(line)
        return done


def pull_of(completion: str) -> str | None:
    """The pull that a completion's id stands for; None where it is not one of a gateway.

    Example:
        >>> pull_of("chatcmpl-k3f9x2-15"), pull_of("chatcmpl-9aX3kQ"), pull_of("k3f9x2-15")
        ('k3f9x2-15', None, 'k3f9x2-15')
    """
    found = _DEFAULT.fullmatch(completion) or _PULL.fullmatch(completion)
    return None if found is None else found[1]


def _with_kept(response: Response, done: Mapping[str, Any]) -> Response:
    """A refusal that says whether the comment was kept all the same."""
    if "kept" not in done:
        return response
    answer = document(
        {**json.loads(bytes(response.body)), "kept": done["kept"]}, response.status_code
    )
    if "retry-after" in response.headers:
        answer.headers["retry-after"] = response.headers["retry-after"]
    return answer


def _dropped(pull_id: str) -> dict[str, Any]:
    is_fallback = _DEFAULT.fullmatch(pull_id) is None
    why = (
        "the upstream of its arm failed and the fallback answered"
        if is_fallback
        else "imabo did not answer in time and the route's default was served"
    )
    return {
        "object": "feedback",
        "status": "dropped",
        "pull": pull_id,
        "why": f"{why}, so no arm is to be credited",
    }


def _wrong(said: object) -> str | None:
    """What is wrong with a feedback; None where nothing is."""
    if not isinstance(said, dict):
        return "the feedback must be an object with an id and a reward"
    for name in said:
        if name not in _FIELDS:
            return f"the feedback has {show(name)[:200]}; it takes {', '.join(_FIELDS)}"
    if not isinstance(said.get("id"), str) or len(said["id"]) > 200:
        return "id must be the id of a completion"
    reward = said.get("reward")
    if reward is not None and not _is_number(reward):
        return f"reward is {show(reward)[:200]}; it must be a number"
    scores = said.get("scores", {})
    if not isinstance(scores, dict) or len(scores) > _MOST_SCORES:
        return f"scores must be an object of at most {_MOST_SCORES} numbers"
    if not all(_is_number(score) for score in scores.values()):
        return "scores must be numbers"
    if not isinstance(said.get("comment", ""), str):
        return "comment must be a text"
    if reward is None and not scores and not said.get("comment"):
        return "the feedback says nothing: send a reward, scores or a comment"
    return None


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
