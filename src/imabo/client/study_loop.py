"""The loop of a study of a service, asks and rewards, written once for both clients."""

from __future__ import annotations

import logging
import operator
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from imabo.arms import Pull
from imabo.checks import checked_name, unknown_pull
from imabo.client.addresses import address_of, is_key
from imabo.client.answers import RemoteFacts, facts_of, nothing_of, pulls_of, results_of
from imabo.client.ask_types import asking, checked_deadline
from imabo.client.http import Call, json_of, path_of
from imabo.client.outbox import MOST_REWARDS, rewards_call
from imabo.client.session import Session
from imabo.client.steps import Steps, shared, within
from imabo.client.telling import checked_signals, parts_of, told_call
from imabo.defaults import DEFAULT_PREFIX, check_default, default_pull
from imabo.documents import RETRY_PREFIX
from imabo.engine.asks import checked_request
from imabo.engine.naming import check_any, check_named
from imabo.engine.requests import Request, Reward
from imabo.engine.rewards import checked_reward
from imabo.errors import (
    ImaboError,
    InvalidReward,
    InvalidSetting,
    StoreClosed,
    Unavailable,
    UnknownPull,
)
from imabo.settings import is_number
from imabo.space import Space
from imabo.space.scalars import show

_RANGE_S: Final = 1.0  # to ask for the study's range before a reward is refused
MOST_PULLS: Final = 1000  # of one call
_PULL_ID: Final = re.compile(r"[A-Za-z0-9]{1,64}-[1-9][0-9]{0,17}")

_log = logging.getLogger(__name__)


class StudyLoop:
    """What both sides know of a study; its asks and its rewards."""

    def __init__(self, session: Session, name: str, known: RemoteFacts | None = None) -> None:
        self._session = session
        self._name = checked_name(name)
        self._path = path_of("studies", self._name)
        self._known = known
        self._first_space = None if known is None else known.space
        self._good_default: dict[str, Any] | None = None  # the last one that was checked
        self._is_closed = False

    @property
    def name(self) -> str:
        """The study's name."""
        return self._name

    @property
    def known_space(self) -> Space | None:
        """The space as it was when this client last read it, without a call; None before that."""
        return None if self._known is None else self._known.space

    def _begin_with(self, space: Space) -> None:
        """Judge defaults by the space that the program declares, not by the service's of today.

        What an operator changes later must not refuse a default that the program was written with.
        """
        self._first_space = space

    def check_default(self, default: dict[str, Any]) -> None:
        """Refuse a default as ``ask`` would, without a call: at the start, not in an outage.

        It is compared with the space of ``create``, or as ``open`` found it; after ``study`` the
        space is not known, and any dict will do.
        """
        if default != self._good_default:
            check_default(default, self._first_space)
            self._good_default = dict(default)

    def __repr__(self) -> str:
        # Without a call: debuggers and logs look at things whether or not the service is there.
        return f"<{type(self).__name__} {self._name!r} of {self._session.service.url}>"

    @asking
    def ask(
        self,
        count: int | None = None,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> Steps[Pull | list[Pull]]:
        """The configuration to serve the next request with.

        With a default this never fails and never takes longer than its deadline: when the service
        is away, slow or broken, the pull has the default's configuration, the reason ``"default"``
        and the arm 0, which no study has. Its reward may be told like any other, by its id or by
        its key; it is dropped, and for a key the log says so.
        After several failures in a row the default comes at once for a while, so that a dead
        service costs nothing.

        Args:
            count: For a list of so many pulls, from 1 to 10,000. More than 1,000 take several
                calls, and are not committed together.
            key: Names this request, in at most 200 characters: asked again with the same key, the
                study gives the same pulls, and their rewards may name it. At most 1,000 pulls then.
            context: JSON-safe values to store with the pull, at most 16,384 bytes.
            default: A configuration to serve when the service gives none. One that the space as
                ``create`` or ``open`` found it does not allow is ``InvalidConfig``.
            deadline_s: How long the answer may take in all, in seconds. With a default it is the
                client's ``timeout_s`` when left out; without one there is then no limit but that
                of each attempt.
        """
        if default is not None:
            self.check_default(default)
        wanted = Request(1 if count is None else count, key, context)
        if deadline_s is None and default is not None:
            deadline_s = self._session.service.timeout_s
        limit_s = None if deadline_s is None else checked_deadline(deadline_s)
        if default is None:
            pulls = yield from self._asked(checked_request(wanted), limit_s)
        else:
            # Mistakes of the program are refused even then. A key or a context that cannot be used
            # is not: these come with the data.
            checked_request(Request(wanted.count))
            pulls = yield from self._asked_or_default(wanted, limit_s or 0.0, default)
        return pulls[0] if count is None else pulls

    def _asked(self, request: Request, limit_s: float | None) -> Steps[list[Pull]]:
        if limit_s is None:
            return (yield from self._new_pulls(request, None))
        try:
            steps = self._new_pulls(request, time.monotonic() + limit_s)
            return (yield from within(steps, limit_s))
        except TimeoutError:
            raise Unavailable(
                f"an ask of study {self._name!r} was not answered within {limit_s} s",
                "this was its deadline",
                f"check that the service runs at {self._session.service.url}, or allow more time",
            ) from None

    def _new_pulls(self, request: Request, deadline: float | None) -> Steps[list[Pull]]:
        """Ask the service, in as many calls as it takes."""
        self._check_open()
        if request.key is not None and request.count > MOST_PULLS:
            raise InvalidSetting(
                f"count is {show(request.count)}",
                f"with a key, one ask over HTTP gives at most {MOST_PULLS} pulls",
                "ask several times, each with a key of its own",
            )
        pulls: list[Pull] = []
        while len(pulls) < request.count:
            count = min(request.count - len(pulls), MOST_PULLS)
            # An ask that is sent again, because its answer got lost, gets the same pulls.
            key = request.key or RETRY_PREFIX + secrets.token_hex(16)
            body = json_of(count=count, key=key, context=request.context)
            call = Call("POST", f"{self._path}/pulls", body)
            pulls += yield from self._session.call(call, pulls_of(count), deadline=deadline)
        self._learn(pulls[0].id, self._name)
        if request.key is not None:
            self._session.default_keys.discard(self._name, request.key)
        return pulls

    def _asked_or_default(
        self, request: Request, limit_s: float, default: dict[str, Any]
    ) -> Steps[list[Pull]]:
        session = self._session
        is_closed = self._is_closed or session.is_closed
        try:
            if not is_closed and limit_s > 0.0 and session.breaker.admits():
                pulls = yield from self._asked(checked_request(request), limit_s)
                session.breaker.record(True)
                return pulls
        except Exception as error:  # whatever it was, the application goes on
            answered = isinstance(error, ImaboError) and not isinstance(error, Unavailable)
            session.breaker.record(answered)
            if session.defaults.add(1):
                _log.warning("study %r serves the default: %s", self._name, error)
        key = request.key if isinstance(request.key, str) else None
        if key is not None:
            session.default_keys.add(self._name, key)
        return [
            default_pull(default, request.context, key=key, part=part)
            for part in range(request.count)
        ]

    @shared
    def tell(
        self,
        pull_id: str | None = None,
        reward: float | None = None,
        *,
        key: str | None = None,
        part: int | None = None,
        signals: Mapping[str, float] | None = None,
        wait: bool = True,
    ) -> Steps[None]:
        """Report the reward of a pull; it may be repeated, as with ``Study.tell``.

        Name the pull by its id, or by the key of its ask: ``tell(key="order-3", reward=0.8)``.

        When the service does not answer within the client's ``timeout_s``, or did not lately, the
        reward is kept and sent in the background. What the service refuses is raised, as by
        ``Study.tell``; what it refuses later, in the background, is logged and counted in
        ``client.n_refused``. The reward of a pull that was a default is dropped.

        Args:
            pull_id: Of a pull of this study.
            reward: A number in the study's range; True and False are 1.0 and 0.0.
            key: That of the ask, in place of the id.
            part: Which of the pulls of the key, from 0, where it was asked for several.
            signals: Those of the pull, recorded with the reward or refused with it; what had to
                wait is recorded part by part.
            wait: False to return at once and send it in the background.
        """
        self._check_open()
        told: Any = reward  # what is no number is refused
        if signals is not None:
            yield from self._tell_signals(Reward(told, pull_id, key, part, signals), wait)
            return
        address, value = yield from self._to_send(Reward(told, pull_id, key, part))
        if value is None:
            return
        if key is None:
            call = Call("PUT", path_of("pulls", address, "reward"), json_of(reward=value))
        else:
            call = told_call(address, value)
        yield from self._send(key, call, [(address, value)], wait)

    def _send(
        self, key: str | None, call: Call, parts: list[tuple[str, float]], wait: bool
    ) -> Steps[None]:
        """Report it now, or have the outbox do it, part by part, when the service is away."""

        def attempt(deadline: float) -> Steps[None]:
            if key is None:
                yield from self._check_mine(parts[0][0].partition("?")[0], deadline)
            yield from self._session.call(call, nothing_of, deadline=deadline)

        if wait and (yield from self._session.gets_through(attempt)):
            return
        for refusal in (yield from self._session.keep(parts)):
            if refusal is not None:
                raise refusal

    @shared
    def signal(
        self,
        pull_id: str | None = None,
        name: str = "",
        value: float | None = None,
        *,
        key: str | None = None,
        part: int | None = None,
        wait: bool = True,
    ) -> Steps[None]:
        """Report a signal of a pull, such as its cost; see ``Study.signal`` and ``tell``."""
        self._check_open()
        given: Any = {name: value}
        yield from self._tell_signals(Reward(None, pull_id, key, part, given), wait)

    def _tell_signals(self, told: Reward, wait: bool) -> Steps[None]:
        if told.pull_id is None:
            check_any(None, told.key)
        signals, address = checked_signals(told.signals), self._address_of(told)
        reward = None
        if told.reward is not None or not signals:
            reward = yield from self._in_range(told.reward)
        if address is not None:
            call, parts = told_call(address, reward, signals), parts_of(address, reward, signals)
            yield from self._check_waiting(parts)
            yield from self._send(told.key, call, parts, wait)

    def _check_waiting(self, parts: list[tuple[str, float]]) -> Steps[None]:
        """Refuse a report whole where another value of a part of it waits to be sent."""
        if self._session.outbox.may_hold:
            for address, value in parts:
                yield from self._session.holds(address, value)

    @shared
    def tell_many(
        self, rewards: Sequence[tuple[str, float] | Reward]
    ) -> Steps[list[ImaboError | None]]:
        """Report the rewards of several pulls; for each None, or the error ``tell`` would raise.

        Each is an id with its reward, or a ``Reward``, which may name a key instead. None also
        stands for a reward that is kept because the service does not answer.
        """
        self._check_open()
        session = self._session
        answers: list[ImaboError | None] = [None] * len(rewards)
        good: list[tuple[int, str, float]] = []
        for place, one in enumerate(rewards):
            try:
                told = one if isinstance(one, Reward) else Reward(one[1], one[0])
                if told.signals is not None:
                    good += [(place, *part) for part in (yield from self._parts(told))]
                    continue
                address, value = yield from self._to_send(told)
                if value is not None:
                    good.append((place, address, value))
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
                    answers[item[0]] = answers[item[0]] or result
            del good[:MOST_REWARDS]
        if later:
            kept = yield from session.keep([(pull, value) for _, pull, value in later])
            for (place, _, _), result in zip(later, kept, strict=True):
                answers[place] = answers[place] or result
        return answers

    def _tell_batch(self, batch: list[tuple[str, float]]) -> Steps[list[ImaboError | None]]:
        deadline = time.monotonic() + self._session.service.timeout_s
        answers: dict[str, ImaboError | None] = {}
        for pull_id, _ in batch:
            try:
                if not is_key(pull_id):  # which goes to this study alone
                    yield from self._check_mine(pull_id, deadline)
            except Unavailable:
                raise
            except ImaboError as error:
                answers[pull_id] = error
        mine = [(pull_id, value) for pull_id, value in batch if pull_id not in answers]
        told: Iterator[ImaboError | None] = iter(())
        if mine:
            decode = results_of([pull_id for pull_id, _ in mine])
            call = rewards_call(mine)
            told = iter((yield from self._session.call(call, decode, deadline=deadline)))
        return [answers[i] if i in answers else next(told) for i, _ in batch]

    def _to_send(self, told: Reward) -> Steps[tuple[str, float | None]]:
        """The address of a reward and its value; None if it waits already, or is a default's."""
        if told.pull_id is None:
            check_any(None, told.key)
        value = yield from self._in_range(told.reward)
        address = self._address_of(told)
        if address is None:
            return "", None
        outbox = self._session.outbox
        held = outbox.may_hold and (yield from self._session.holds(address, value))
        return address, None if held else value

    def _in_range(self, reward: object) -> Steps[float]:
        """A reward that the study takes, as far as is known here."""
        # Without the study's range at hand the service judges.
        ends = None if self._known is None else self._known.reward_range
        try:
            return checked_reward(reward, ends)
        except InvalidReward:
            if not is_number(reward):
                raise
            # The range may have changed since; when the service is away, what is known counts.
            return checked_reward(reward, (yield from self._newest_range(ends)))

    def _address_of(self, told: Reward) -> str | None:
        """Whose it is; None for a default's, of which nothing is told."""
        address, key = told.pull_id, told.key
        if key is not None or told.part is not None:
            check_named(address, key, told.part)
        if key is not None:
            is_default = self._session.default_keys.drops(self._name, key)
            return None if is_default else address_of(self._name, key, told.part)
        if isinstance(address, str) and address.startswith(DEFAULT_PREFIX):
            return None
        return self._checked_id(address)

    def _parts(self, told: Reward) -> Steps[list[tuple[str, float]]]:
        """A report with signals for a batch, which takes each part by itself."""
        if told.pull_id is None:
            check_any(None, told.key)
        signals, address, reward = checked_signals(told.signals), self._address_of(told), None
        if told.reward is not None or not signals:
            reward = yield from self._in_range(told.reward)
        parts = [] if address is None else parts_of(address, reward, signals)
        yield from self._check_waiting(parts)
        return parts

    def _newest_range(self, known: tuple[float, float] | None) -> Steps[tuple[float, float] | None]:
        breaker = self._session.breaker
        if known is not None and breaker.admits():
            call, deadline = Call("GET", self._path), time.monotonic() + _RANGE_S
            try:
                self._known = yield from self._session.call(call, facts_of, deadline=deadline)
                known = self._known.reward_range
                breaker.record(True)
            except ImaboError as error:
                breaker.record(not isinstance(error, Unavailable))
        return known

    def _check_open(self) -> None:
        self._session.check_open()
        if self._is_closed:
            raise StoreClosed(
                f"study {self._name!r} is closed",
                "close() was called on it",
                "open it again with client.open(name)",
            )

    def _learn(self, pull_id: str, study: str) -> None:
        """Remember whose pulls have ids that start so, for every study of the client."""
        self._session.studies[pull_id.rpartition("-")[0]] = study

    def _checked_id(self, pull_id: object) -> str:
        if not isinstance(pull_id, str) or not _PULL_ID.fullmatch(pull_id):
            raise self._unknown_pull(pull_id)
        return pull_id

    def _unknown_pull(self, pull_id: object) -> UnknownPull:
        return unknown_pull(self._name, pull_id)

    def _check_mine(self, pull_id: str, deadline: float) -> Steps[None]:
        """Refuse the pull of another study; its id alone would do for the service.

        An id starts with the token of its study. A client that knows neither this token nor
        another one of the study sends the reward without a look: most tell what others asked for.
        """
        studies, token = self._session.studies, pull_id.rpartition("-")[0]
        is_strange = token in studies or self._name in tuple(studies.values())
        if studies.get(token) != self._name and is_strange:
            call = Call("GET", path_of("pulls", pull_id))
            name_of: Callable[[Any], str] = operator.itemgetter("study")
            studies[token] = yield from self._session.call(call, name_of, deadline=deadline)
            if studies[token] != self._name:
                raise self._unknown_pull(pull_id)
