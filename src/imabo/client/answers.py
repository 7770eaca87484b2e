"""From the JSON of the API to what a study shows, and to the errors it raises."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from imabo import errors
from imabo.arms import Pull
from imabo.checks import stored_oracle, stored_policy
from imabo.client.addresses import named
from imabo.client.http import Call, HttpAnswer
from imabo.control import State
from imabo.errors import ImaboError, MissingExtra, Refused, StoreError, Unavailable
from imabo.frontier import Frontier, FrontierArm
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.recommend import Best
from imabo.replay import Checked
from imabo.space import Space
from imabo.space.scalars import show

T = TypeVar("T")

_TRY_AGAIN: Final = (408, 425, 429)  # and all that begin with a 5
_FILES: Final = ("application/x-ndjson", "text/csv", "text/html")

ERRORS: Final[Mapping[str, type[ImaboError]]] = {
    thing.code: thing
    for thing in vars(errors).values()
    if isinstance(thing, type) and issubclass(thing, ImaboError)
}


@dataclass(frozen=True, slots=True)
class RemoteFacts:
    """What a study was and how far it had come when the service answered: one consistent picture.

    ``policy`` and ``oracle`` are rebuilt from their settings; ``document`` is all of it as the
    service wrote it.
    """

    name: str
    space: Space
    space_version: int
    policy_settings: Mapping[str, Any]
    oracle_settings: Mapping[str, Any]
    seed: int
    reward_range: tuple[float, float] | None
    window_s: float | None
    revision: int | None
    created_at: datetime
    n_arms: int
    n_pulls: int
    n_rewards: int
    n_pending: int
    n_expired: int
    document: Mapping[str, Any] = field(repr=False, compare=False)  # as the service wrote it
    signals: Mapping[str, Any] | None = None
    objective: Mapping[str, Any] | None = None
    state: State = "tuning"
    rollout: Mapping[str, Any] | None = None

    @property
    def policy(self) -> Policy:
        """The policy; a class that imabo does not have is ``InvalidSetting``."""
        return stored_policy(None, self.policy_settings)

    @property
    def oracle(self) -> Oracle:
        """The oracle; a class that imabo does not have is ``InvalidSetting``."""
        return stored_oracle(None, self.oracle_settings)


@dataclass(frozen=True, slots=True)
class Imported:
    """A study that a service made from a log, and what the log was made of."""

    facts: RemoteFacts
    checked: Checked


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


# What of a document is not what it stands for; everything else is taken as it is.
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "config": dict,
    "data": dict,
    "interval": lambda ends: (ends[0], ends[1]),
    "seed": int,
    "space": Space.from_dict,
    "reward_range": lambda ends: None if ends is None else (float(ends[0]), float(ends[1])),
    **dict.fromkeys(("served_at", "rewarded_at", "admitted_at", "created_at"), _moment),
    **dict.fromkeys(("since", "at"), _moment),
}


def made(kind: type[T], document: Any, /, **others: Any) -> T:
    """A dataclass from the document that has its fields, but for some."""
    wanted = [one for one in fields(kind) if one.name not in others]  # type: ignore[arg-type]
    # A service of before does not say what came since.
    names = [one.name for one in wanted if one.name in document or _is_needed(one)]
    values = {name: document[name] for name in names}
    return kind(**others, **{n: _READ[n](v) if n in _READ else v for n, v in values.items()})


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def one(kind: type[T]) -> Callable[[Any], T]:
    """Reads a document of this kind."""
    return partial(made, kind)


def several(kind: type[T], name: str) -> Callable[[Any], list[T]]:
    """Reads a document that has a list of this kind under a name."""
    return lambda document: [made(kind, found) for found in document[name]]


def facts_of(document: Any) -> RemoteFacts:
    """A study."""
    settings = {f"{name}_settings": document[name] for name in ("policy", "oracle")}
    return made(RemoteFacts, document, document=document, **settings)


def imported_of(document: Any) -> Imported:
    """A study that was imported."""
    return Imported(facts_of(document["study"]), Checked(**document["checked"]))


def best_of(document: Any) -> Best:
    """The recommendation; a service of before says less, and its mean is the plain average."""
    shares = document.get("shares")
    of_before = {"since": None, "observed": document["mean"], "chance": None}
    return made(
        Best, of_before | document, shares=None if shares is None else dict(map(tuple, shares))
    )


def frontier_of(document: Any) -> Frontier:
    """Reward against a signal."""
    arms = [
        made(
            FrontierArm,
            one,
            interval=_ends(one["interval"]),
            use_interval=_ends(one["use_interval"]),
        )
        for one in document["arms"]
    ]
    return made(Frontier, document, arms=arms)


def _ends(ends: Any) -> tuple[float, float]:
    low, high = ends
    return (-math.inf if low is None else low, math.inf if high is None else high)


def pulls_of(count: int) -> Callable[[Any], list[Pull]]:
    """The pulls that an ask for so many got."""

    def decode(document: Any) -> list[Pull]:
        pulls = several(Pull, "pulls")(document)
        if len(pulls) != count:
            raise ValueError(f"{count} pulls were expected")
        return pulls

    return decode


def page_of(document: Any) -> tuple[list[Pull], int | None]:
    """A page of history and where the next one starts."""
    return several(Pull, "pulls")(document), document["next"]


def results_of(addresses: Sequence[str]) -> Callable[[Any], list[ImaboError | None]]:
    """What became of each reward of a batch, for the pulls of that batch."""

    def decode(document: Any) -> list[ImaboError | None]:
        results = document["results"]
        sent = [named(address) for address in addresses]
        pairs = zip(results, sent, strict=True)
        if any(result.get(name) != word for result, one in pairs for name, word in one.items()):
            raise ValueError("the results are not those of the rewards that were sent")
        return [
            None if result["status"] == "recorded" else _refusal_of(result["problem"])
            for result in results
        ]

    return decode


def _refusal_of(problem: Any) -> ImaboError:
    # A service of before may leave the status out; the code says enough.
    error, status = problem_of(problem), problem.get("status", 0)
    if status in _TRY_AGAIN or _is_fault(status, error) or isinstance(error, StoreError):
        return Unavailable(error.what, error.why, error.fix)
    return error


def _is_fault(status: int, error: ImaboError) -> bool:
    """Whether it is the service that failed, so that the same call may do later."""
    return status >= 500 and not isinstance(error, MissingExtra)


def problem_of(problem: Any) -> ImaboError:
    """The error that a problem document stands for, by its code.

    Example:
        >>> problem_of({"code": "unknown_pull", "what": "no pull has the id 'x-1'",
        ...             "why": "it was never handed out", "fix": "check the id"})
        UnknownPull("no pull has the id 'x-1'", 'it was never handed out', 'check the id')
    """
    return ERRORS.get(str(problem["code"]), Refused)(
        str(problem["what"]), str(problem["why"]), str(problem["fix"])
    )


def read(call: Call, answer: HttpAnswer, decode: Callable[[Any], T]) -> T:
    """What an answer says: the value, or the error that the service answered with.

    An answer that does not come from imabo (a proxy's page, say) is ``Unavailable``, and so is a
    fault of the service.
    """
    try:
        is_empty = answer.status == 204 or (call.sink is not None and _is_file(answer))
        document = None if is_empty else json.loads(answer.content)
        if 200 <= answer.status < 300:
            return decode(document)
        error = problem_of(document)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as cause:
        raise Unavailable(
            f"{call} was answered with {answer.status} and {show(answer.content)}",
            "this is not an answer of imabo's API",
            "check that the address is that of imabo's service",
        ) from cause
    if _is_fault(answer.status, error):
        what = f"{call} was answered with {answer.status}: {error.what}"
        raise Unavailable(what, error.why, error.fix)
    raise error


def _is_file(answer: HttpAnswer) -> bool:
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    return answer.status == 200 and media_type in _FILES


def document_of(document: Any) -> dict[str, Any]:
    """An object as the service wrote it."""
    if not isinstance(document, dict):
        raise TypeError("an object was expected")
    return document


def ignored(document: Any) -> None:
    """The answer to a call that says how things are now, where nobody asked."""
    document_of(document)


def nothing_of(document: Any) -> None:
    """The answer to a call that has nothing to say but that it was done."""
    if document is not None:
        raise ValueError("an answer without a body was expected")
