"""The methods of a study as calls to the service; who takes the steps is the driver's business."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import IO, Any, Final

from imabo.arms import Arm, ArmState, Pull
from imabo.checks import (
    MAX_COUNT,
    checked_configs,
    checked_moment,
    checked_name,
    checked_reward,
    checked_space,
    valid_configs,
)
from imabo.client.answers import (
    RemoteFacts,
    arm_of,
    arms_of,
    best_of,
    document_of,
    events_of,
    nothing_of,
    page_of,
    pull_of,
    results_of,
)
from imabo.client.asking import MOST_PULLS, Ask, is_default
from imabo.client.operations import Call, Steps, T, json_of, path_of
from imabo.client.outbox import MOST_REWARDS
from imabo.client.outbox_sending import rewards_call
from imabo.client.session import Session
from imabo.documents import stamp
from imabo.errors import (
    ImaboError,
    InvalidSetting,
    StoreClosed,
    Unavailable,
    UnknownArm,
    UnknownPull,
)
from imabo.events import Event
from imabo.recommend import Best
from imabo.settings import check_count, check_fraction
from imabo.space import Space
from imabo.space.scalars import show

_PULL_ID: Final = re.compile(r"([A-Za-z0-9]{1,64})-[1-9][0-9]{0,17}")
_LARGEST_ARM: Final = 10**18


class StudyCalls:
    """One study of a service. What never changes about it is kept once it is known."""

    def __init__(self, session: Session, name: str, known: RemoteFacts | None = None) -> None:
        self.session = session
        self.name = checked_name(name)
        self.known = known
        self._is_closed = False
        # What the ids of this study's pulls start with; a study that was made again has another.
        self._tokens: set[str] = set()

    @property
    def is_closed(self) -> bool:
        """Whether the study or its client was closed."""
        return self._is_closed or self.session.is_closed

    def close(self) -> None:
        """Refuse every call from now on; the client goes on."""
        self._is_closed = True

    def check_open(self) -> None:
        """Refuse to work for a study that was closed."""
        self.session.check_open()
        if self._is_closed:
            raise StoreClosed(
                f"study {self.name!r} is closed",
                "close() was called on it",
                "open it again with client.open(name)",
            )

    def facts(self) -> Steps[RemoteFacts]:
        """How far the study has come."""
        self.check_open()
        self.known = yield from self.session.facts(self.name)
        return self.known

    def settings(self) -> Steps[RemoteFacts]:
        """What the study was created with; asked for once."""
        return self.known or (yield from self.facts())

    # --- the loop -------------------------------------------------------------------------------

    def ask(self, count: int | None, **settings: Any) -> Ask:
        """An ask, for a driver to carry out."""
        return Ask(self, count, **settings)

    def learn_token(self, pull_id: str) -> None:
        """Remember what this study's ids start with."""
        self._tokens.add(pull_id.rpartition("-")[0])

    def tell(self, pull_id: str, reward: float, *, wait: bool) -> Steps[None]:
        """Report a reward; one that does not get through now is sent in the background."""
        self.check_open()
        value = self._checked_reward(reward)
        if is_default(pull_id):
            return
        self._check_id(pull_id)
        if (yield from self.session.holds(pull_id, value)):
            return
        breaker = self.session.breaker
        if wait and breaker.admits():
            try:
                yield from self._tell_now(pull_id, value)
            except Unavailable:
                breaker.record(False)
            except ImaboError:
                breaker.record(True)
                raise
            else:
                breaker.record(True)
                return
        (refusal,) = yield from self.session.keep([(pull_id, value)])
        if refusal is not None:
            raise refusal

    def _tell_now(self, pull_id: str, value: float) -> Steps[None]:
        # The outbox takes over soon, so the caller need not wait for every retry.
        deadline = time.monotonic() + self.session.service.timeout_s
        yield from self._check_mine(pull_id, deadline)
        call = Call("PUT", path_of("pulls", pull_id, "reward"), json_of(reward=value))
        yield from self.session.call(call, nothing_of, deadline=deadline)

    def tell_many(self, rewards: Sequence[tuple[str, float]]) -> Steps[list[ImaboError | None]]:
        """Report several rewards; those that do not get through now are sent in the background."""
        self.check_open()
        answers: list[ImaboError | None] = [None] * len(rewards)
        good: list[tuple[int, str, float]] = []
        for place, (pull_id, reward) in enumerate(rewards):
            try:
                value = self._checked_reward(reward)
                if is_default(pull_id):
                    continue
                self._check_id(pull_id)
                if not (yield from self.session.holds(pull_id, value)):
                    good.append((place, pull_id, value))
            except ImaboError as error:
                answers[place] = error
        later: list[tuple[int, str, float]] = []
        while good:
            batch = good[:MOST_REWARDS]
            try:
                results = yield from self._tell_batch([(pull, value) for _, pull, value in batch])
            except Unavailable:
                later += good
                break
            for item, result in zip(batch, results, strict=True):
                if isinstance(result, Unavailable):
                    later.append(item)
                else:
                    answers[item[0]] = result
            del good[:MOST_REWARDS]
        if later:
            kept = yield from self.session.keep([(pull, value) for _, pull, value in later])
            for (place, _, _), result in zip(later, kept, strict=True):
                answers[place] = result
        return answers

    def _tell_batch(self, batch: list[tuple[str, float]]) -> Steps[list[ImaboError | None]]:
        deadline = time.monotonic() + self.session.service.timeout_s
        answers: dict[str, ImaboError | None] = {}
        for pull_id, _ in batch:
            try:
                yield from self._check_mine(pull_id, deadline)
            except Unavailable:
                raise
            except ImaboError as error:
                answers[pull_id] = error
        mine = [(pull_id, value) for pull_id, value in batch if pull_id not in answers]
        if not mine:
            return [answers[pull_id] for pull_id, _ in batch]
        decode = results_of([pull_id for pull_id, _ in mine])
        results = yield from self.session.call(rewards_call(mine), decode, deadline=deadline)
        told = iter(results)
        return [answers[i] if i in answers else next(told) for i, _ in batch]

    def _checked_reward(self, reward: object) -> float:
        # Without the study's range at hand the service judges.
        return checked_reward(reward, None if self.known is None else self.known.reward_range)

    def _check_id(self, pull_id: object) -> None:
        if not isinstance(pull_id, str) or not _PULL_ID.fullmatch(pull_id):
            raise self._unknown_pull(pull_id)

    def _check_mine(self, pull_id: str, deadline: float) -> Steps[None]:
        """Refuse the pull of another study; its id alone would do for the service."""
        if pull_id.rpartition("-")[0] not in self._tokens:
            call = Call("GET", path_of("pulls", pull_id))
            if (yield from self.session.call(call, _study_of, deadline=deadline)) != self.name:
                raise self._unknown_pull(pull_id)
            self.learn_token(pull_id)

    def expire(self) -> Steps[int]:
        """Drop what is past its window."""
        call = Call("POST", self._path("expire"))
        return (yield from self._call(call, lambda document: int(document["expired"])))

    # --- what was learned -----------------------------------------------------------------------

    def best(self, level: float) -> Steps[Best]:
        """The recommendation."""
        self.check_open()
        check_fraction("level", level)
        return (yield from self._call(Call("GET", self._path("best"), params={"level": level}),
                                      best_of))  # fmt: skip

    def arms(self) -> Steps[list[Arm]]:
        """Every arm."""
        return (yield from self._call(Call("GET", self._path("arms")), arms_of))

    def events(self, limit: int) -> Steps[list[Event]]:
        """The newest events."""
        self.check_open()
        check_count("limit", limit)
        if limit > MAX_COUNT:
            raise InvalidSetting(
                f"limit is {show(limit)}",
                f"one answer has at most {MAX_COUNT} events",
                "ask for fewer; the exported log has all of them",
            )
        call = Call("GET", self._path("events"), params={"limit": limit})
        return (yield from self._call(call, events_of))

    def pull(self, pull_id: str) -> Steps[Pull]:
        """A pull by its id."""
        self.check_open()
        self._check_id(pull_id)
        study, pull = yield from self._call(
            Call("GET", path_of("pulls", pull_id)), lambda found: (found["study"], pull_of(found))
        )
        if study != self.name:
            raise self._unknown_pull(pull_id)
        self.learn_token(pull_id)
        return pull

    def pulls(self, after: int, limit: int) -> Steps[list[Pull]]:
        """A page of history, read in as many calls as it takes."""
        check_count("after", after)
        check_count("limit", limit, least=1)
        if limit > MAX_COUNT:
            raise InvalidSetting(
                f"limit is {show(limit)}",
                f"one page has at most {MAX_COUNT} pulls",
                "read page by page",
            )
        pulls: list[Pull] = []
        position: int | None = after
        while position is not None and len(pulls) < limit:
            page, position = yield from self.page(position, min(limit - len(pulls), MOST_PULLS))
            pulls += page
        return pulls

    def page(self, after: int, limit: int = MOST_PULLS) -> Steps[tuple[list[Pull], int | None]]:
        """One page as the service has it, and where the next one starts."""
        params = {"after": after, "limit": limit}
        return (yield from self._call(Call("GET", self._path("pulls"), params=params), page_of))

    def export(self, sink: IO[bytes], form: str) -> Steps[None]:
        """The study as a file."""
        call = Call("GET", self._path("export"), params={"format": form}, sink=sink)
        yield from self._call(call, nothing_of)

    # --- what is drawn from it ------------------------------------------------------------------

    def overview(self, trend: int) -> Steps[dict[str, Any]]:
        """The key figures."""
        params = {"trend": trend} if trend else {}
        call = Call("GET", self._path("overview"), params=params)
        return (yield from self._call(call, document_of))

    def table(self, query: Mapping[str, str | int | float | bool]) -> Steps[dict[str, Any]]:
        """The arms with their intervals, sorted and filtered."""
        params = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in query.items()
        }
        return (yield from self._call(Call("GET", self._path("table"), params=params), document_of))

    def report(self, sink: IO[bytes]) -> Steps[None]:
        """The figures as one HTML file."""
        yield from self._call(Call("GET", self._path("report"), sink=sink), nothing_of)

    def preview_space(self, space: Space) -> Steps[dict[str, Any]]:
        """What another space would do to the arms."""
        self.check_open()
        body = json_of(space=checked_space(space).to_dict())
        return (
            yield from self._call(Call("POST", self._path("space", "preview"), body), document_of)
        )

    # --- changes by hand ------------------------------------------------------------------------

    def update_space(self, space: Space) -> Steps[None]:
        """Move on to another space."""
        self.check_open()
        body = json_of(space=checked_space(space).to_dict())
        yield from self._call(Call("PATCH", self._path(), body), lambda document: None)

    def add_arm(self, config: Mapping[str, object]) -> Steps[Arm]:
        """Admit a configuration; it is checked here first, against the space as it is now."""
        space = (yield from self.facts()).space
        body = json_of(config=space.validate(config))
        return (yield from self._call(Call("POST", self._path("arms"), body), arm_of))

    def add_arms(self, configs: Sequence[Mapping[str, object]]) -> Steps[list[Arm]]:
        """Admit configurations in one transaction; they are checked here first, like one."""
        wanted = checked_configs(configs)
        valid = valid_configs((yield from self.facts()).space, wanted)
        call = Call("POST", self._path("arms", "batch"), json_of(configs=valid))
        return (yield from self._call(call, arms_of))

    def put_state(self, arm: Arm | int, state: ArmState) -> Steps[Arm]:
        """Pause, resume or retire an arm."""
        self.check_open()
        arm_id: object = arm.id if isinstance(arm, Arm) else arm
        if type(arm_id) is not int or not 0 < arm_id < _LARGEST_ARM:
            raise UnknownArm(
                f"no arm has the id {show(arm_id)}",
                "arms have whole numbers from 1",
                "take the id from study.arms()",
            )
        call = Call("PATCH", self._path("arms", arm_id), json_of(state=state))
        return (yield from self._call(call, arm_of))

    def prune(self, before: datetime) -> Steps[int]:
        """Forget finished pulls."""
        self.check_open()
        checked_moment(before)
        call = Call("POST", self._path("prune"), json_of(before=stamp(before.astimezone(UTC))))
        return (yield from self._call(call, lambda document: int(document["pruned"])))

    # --- inside ---------------------------------------------------------------------------------

    def _path(self, *parts: str | int) -> str:
        return path_of("studies", self.name, *parts)

    def _call(self, call: Call, decode: Callable[[Any], T]) -> Steps[T]:
        self.check_open()
        return (yield from self.session.call(call, decode))

    def _unknown_pull(self, pull_id: object) -> UnknownPull:
        return UnknownPull(
            f"no pull has the id {show(pull_id)}",
            f"study {self.name!r} never handed it out",
            "pass the id of a pull that ask() of this study returned",
        )


def _study_of(document: Any) -> str:
    return str(document["study"])
