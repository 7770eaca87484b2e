"""Studies of a service: asked over connections that are kept, told by way of the client."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from imabo.arms import Pull
from imabo.client import AsyncClient
from imabo.client.answers import pulls_of
from imabo.client.http import RequestIds, json_of, path_of
from imabo.client.session import Breaker
from imabo.client.study import AsyncRemoteStudy
from imabo.documents import RETRY_PREFIX
from imabo.engine.asks import checked_request
from imabo.engine.requests import Request, Reward
from imabo.errors import ImaboError, InvalidSetting, Unavailable, UnknownPull, UnknownStudy
from imabo.gateway.asking import Declared, Gatherer, Studies, unknown_pull
from imabo.gateway.connections import Connections, Headers, NoAnswer
from imabo.gateway.mapping import Asked
from imabo.gateway.settings import GatewaySettings, Route
from imabo.gateway.upstream import verify
from imabo.objective import Objective

_START_S: Final = 3.0  # to look at the studies before the first request
_LOOK_EVERY_S: Final = 30.0  # at what a study declares by now
_LOOK_SOON_S: Final = 2.0  # where it could not be looked at
_CLIENT_S: Final = 5.0  # that one attempt to deliver a reward may take
_AT_ONCE: Final = 3  # calls of a route to imabo
_PLAIN: Final = Asked(None, None)
_NOTHING: Final = Declared()  # is known of a study that could not be looked at yet

_log: Final = logging.getLogger(__name__)


class RemoteStudies(Studies):
    """Studies of a service: an ask has a deadline and a breaker, a reward the client's outbox.

    Args:
        settings: What the file says.
        looked: Others that looked at the same studies a moment ago, so that these need not.
    """

    def __init__(self, settings: GatewaySettings, looked: RemoteStudies | None = None) -> None:
        super().__init__(settings)
        self._looked = looked
        self._client = AsyncClient(
            settings.url or "",
            key=settings.key,
            timeout_s=_CLIENT_S,
            outbox=settings.outbox,
            handle_sigterm=False,  # the server has a graceful end of its own
        )
        self._asks = _Asks(settings)
        self._studies: dict[str, AsyncRemoteStudy] = {}
        self._gatherers: dict[str, Gatherer] = {}
        self._tokens: dict[str, str] = {}
        self._declared: dict[str, Declared] = {}
        self._looking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the studies; a service that is away is no reason not to start."""
        for name in self._names:
            self._studies[name] = self._client.study(name)
        if self._looked is None:
            # All at once: one that does not answer must not make the start longer by each study.
            looks = [self._look_first(name) for name in self._names]
            for error in await asyncio.gather(*looks, return_exceptions=True):
                if error is not None:
                    raise error
        else:
            self._declared, self.doubts = dict(self._looked._declared), self._looked.doubts
        for route in self._settings.routes.values():
            self._gatherers[route.name] = Gatherer(self._plain(route), _AT_ONCE)
        self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look_first(self, name: str) -> None:
        try:
            async with asyncio.timeout(_START_S):
                await self._look_at(name)
        except UnknownStudy as error:
            raise self._unknown(name, error) from None
        except (Unavailable, TimeoutError) as error:
            words = f"study {name!r} cannot be looked at, so its routes are not checked yet"
            _log.warning("%s: %s", words, str(error) or f"no answer within {_START_S:g} s")

    async def _look_at(self, name: str) -> None:
        study = await self._client.open(name)
        facts = await study.facts()
        declared = Declared(frozenset(facts.signals or ()), facts.reward_range)
        said = facts.document.get("objective")
        objective = None if said is None else Objective.restore(said)
        self._check(name, facts.space, declared, objective)
        self._studies[name] = study
        self._declared[name] = declared

    async def _look(self) -> None:
        """Follow what studies declare, and check routes that could not be checked at the start."""
        said: set[str] = set()
        while True:
            is_known = all(name in self._declared for name in self._names)
            await asyncio.sleep(_LOOK_EVERY_S if is_known else _LOOK_SOON_S)
            for name in self._names:
                try:
                    async with asyncio.timeout(_CLIENT_S):
                        await self._look_at(name)
                    said.discard(name)
                except InvalidSetting as error:
                    # Its requests get the default where a configuration cannot be served.
                    if name not in said:
                        _log.error("the study no longer fits its routes: %s", error)
                    said.add(name)
                except (ImaboError, TimeoutError):
                    continue  # asks say when imabo is away

    async def ask(self, route: Route, asked: Asked) -> Pull:
        """A pull, or the default."""
        try:
            if asked == _PLAIN:
                wait = self._gatherers[route.name].ask(asked, self._settings.deadline_s)
                pull = await wait or self.default(route, asked, "imabo did not answer in time")
            else:
                async with asyncio.timeout(self._settings.deadline_s):
                    (pull,) = await self._asked(route, 1, asked)
        except TimeoutError:
            return self.default(route, asked, "imabo did not answer in time")
        except Exception as error:  # whatever it was, the application goes on
            return self.default(route, asked, error)
        if pull.arm:
            self._tokens[pull.id.rpartition("-")[0]] = route.study
        return pull

    def _plain(self, route: Route) -> Callable[[Sequence[Asked]], Awaitable[Sequence[Pull]]]:
        async def ask(requests: Sequence[Asked]) -> Sequence[Pull]:
            return await self._asked(route, len(requests), _PLAIN)

        return ask

    async def _asked(self, route: Route, count: int, asked: Asked) -> Sequence[Pull]:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._settings.deadline_s
        request = checked_request(Request(count, asked.key, asked.context))
        pulls = await self._asks.ask(route.study, request, self._settings.deadline_s)
        if pulls is not None:
            return pulls
        left_s = until - loop.time()
        if left_s <= 0.0:
            raise TimeoutError
        # It was refused, or broke off. The client tries again, and knows the words for it.
        study = self._studies[route.study]
        return await study.ask(
            count,
            key=asked.key,
            context=asked.context,
            default=dict(route.default),
            deadline_s=left_s,
        )

    async def study_of(self, pull_id: str) -> str | None:
        """The study of a pull: asked for once, since an id starts with what is its study's own."""
        token = pull_id.rpartition("-")[0]
        for name in () if token in self._tokens else self._names:
            try:
                await self.require(name, pull_id)
            except UnknownPull:
                continue
            except Unavailable:
                return None
            self._tokens[token] = name
            break
        if token not in self._tokens:
            raise unknown_pull(pull_id)
        return self._tokens[token]

    async def require(self, study: str, pull_id: str) -> None:
        """Look for the pull."""
        await self._studies[study].pull(pull_id)

    async def tell(self, study: str | None, told: Reward) -> None:
        """Report a reward and signals; what is kept for later goes by the id alone."""
        one = self._studies[study or self._names[0]]
        await one.tell(told.pull_id, told.reward, signals=told.signals)

    def declared(self, study: str) -> Declared:
        """Its signals and the ends of its rewards, as they were a moment ago."""
        return self._declared.get(study, _NOTHING)

    async def report(self, study: str, reports: list[Reward]) -> Sequence[ImaboError | None]:
        """Report signals in one call."""
        return await self._studies[study].tell_many(reports)

    async def close(self) -> None:
        """Let go."""
        if self._looking is not None:
            self._looking.cancel()
        await self.finish()
        await self._asks.close()
        await self._client.close()


class _Asks:
    """Asks as they nearly always go: one call over a connection that is kept.

    The client's own ask can do more (it tries again, and has words for every refusal) and takes
    four times the processor time.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        self._connections = Connections(settings.url or "", settings.deadline_s, verify)
        self._breaker = Breaker()
        self._ids = RequestIds()
        self._headers: Headers = [
            (b"content-type", b"application/json"),
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"imabo-gateway"),
        ]
        if settings.key is not None:
            self._headers.append((b"authorization", b"Bearer " + settings.key.encode()))

    async def ask(self, study: str, request: Request, deadline_s: float) -> Sequence[Pull] | None:
        """The pulls; None where another way may do better. ``Unavailable`` while it is away."""
        if not self._breaker.admits():
            raise Unavailable(
                "imabo is left alone for a while", "it did not answer several times", "wait"
            )
        key = request.key or RETRY_PREFIX + secrets.token_hex(16)
        body = json_of(count=request.count, key=key, context=request.context)
        path, until = path_of("studies", study, "pulls"), time.monotonic() + deadline_s
        try:
            status, content = await self._exchange(path, body, deadline_s)
        except NoAnswer:
            self._breaker.record(False)
            return None
        except asyncio.CancelledError:
            if time.monotonic() >= until:  # else the caller went, and imabo is not to blame
                self._breaker.record(False)
            raise
        self._breaker.record(status < 500 and status != 429)
        if status not in (200, 201):
            return None
        try:
            return pulls_of(request.count)(json.loads(content))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None

    async def _exchange(self, path: str, body: bytes, deadline_s: float) -> tuple[int, bytes]:
        sent = self._ids.header()
        ((name, own),) = sent.items()
        field = name.lower().encode()
        headers = [*self._headers, (field, own.encode())]
        connection = await self._connections.send(path, headers, body, deadline_s)
        try:
            content = await connection.read()
            while piece := await connection.read():
                content += piece
        finally:
            connection.end()
        seen = next((value for one, value in connection.headers if one == field), b"")
        if self._ids.is_shifted({name: seen.decode("latin-1")}, sent=sent):
            raise NoAnswer("protocol")
        return connection.status, content

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()
