"""The gateway within ``imabo serve``: the same process, port and keys, and no call in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from imabo.arms import Pull
from imabo.engine.asks import checked_request
from imabo.engine.requests import Request, Reward
from imabo.errors import ImaboError, InvalidSetting, UnknownStudy
from imabo.gateway.answering import refused, refused_by_imabo
from imabo.gateway.app import Gateway
from imabo.gateway.asking import Declared, Studies, unknown_pull
from imabo.gateway.guarding import Guard
from imabo.gateway.mapping import Asked, check_on_error, check_route, doubts_of
from imabo.gateway.relay import requests
from imabo.gateway.serving import share_log
from imabo.gateway.settings import GatewaySettings, Route, read_settings
from imabo.server.access import may_see, require_role
from imabo.server.context import Parts, in_thread
from imabo.server.dispatch import require_local
from imabo.server.logs import log
from imabo.server.problems import Refusal
from imabo.server.settings import is_loopback
from imabo.stores.base import Store
from imabo.study import Study

_KEY: Final = "imabo.key"  # in a request's scope: what the caller showed
_HEADERS: Final = frozenset((b"authorization", b"host", b"origin"))


def mounted(path: str, parts: Parts) -> Gateway:
    """The gateway of a file, on the studies of a running service."""
    settings = read_settings(path, is_mounted=True)
    share_log()
    requests.disabled = parts.settings.log_format != "json"
    guard = ServiceGuard(parts) if settings.own_key is None else None
    return Gateway(settings, ServiceStudies(settings, parts), guard)


def check(path: str, store: Store) -> None:
    """Refuse a file that cannot be read, or does not fit the studies of a database."""
    settings = read_settings(path, is_mounted=True)
    for route in settings.routes.values():
        try:
            study = Study.open(route.study, store=store)
            check_route(route, study.space, settings)
            check_on_error(route, study.reward_range)
            for doubt in doubts_of(route, study.space, study.objective, settings):
                log.warning("%s", doubt)
        except UnknownStudy as error:
            what = f"routes.{route.name}.study is {route.study!r}"
            raise InvalidSetting(what, error.what, "create it first: imabo create FILE") from None


class ServiceGuard(Guard):
    """Who may use it: who has a writer's key of the service, or everyone where that needs none."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(None)
        self._access = parts.access
        self._is_local = is_loopback(parts.settings.host) and not parts.settings.allow_open

    async def refusal(self, scope: Scope) -> Response | None:
        """What a caller is answered who may not; None for others."""
        seen = {n: value.decode("latin-1") for n, value in scope["headers"] if n in _HEADERS}
        try:
            key = await self._access.caller(seen.get(b"authorization"))
            if key is None and self._is_local:
                require_local(seen.get(b"host"), seen.get(b"origin"))
            require_role(key, "writer")
        except Refusal as error:
            return refused(error.status, error.code, str(error))
        except ImaboError as error:
            return refused_by_imabo(error)
        scope[_KEY] = key
        return None

    def allows(self, scope: Scope, study: str | None = None) -> bool:
        """A key that is limited to studies is for their routes alone."""
        key = scope.get(_KEY)
        return key is None or key.studies is None or (study is not None and may_see(key, study))


class ServiceStudies(Studies):
    """The studies of the service that runs in this process."""

    def __init__(self, settings: GatewaySettings, parts: Parts) -> None:
        super().__init__(settings)
        self._parts = parts

    async def start(self) -> None:
        """Nothing: the service has them open, and ``check`` compared them with the routes."""

    async def ask(self, route: Route, asked: Asked) -> Pull:
        """A pull, or the default."""
        try:
            request = checked_request(Request(1, asked.key, asked.context))
            async with asyncio.timeout(self._settings.deadline_s):
                answer = await self._parts.commits.ask(route.study, request)
        except TimeoutError:
            return self.default(route, asked, "the study did not answer in time")
        except Exception as error:  # whatever it was, the application goes on
            return self.default(route, asked, error)
        self._parts.metrics.n_asks += 1
        return answer.pulls[0]

    async def study_of(self, pull_id: str) -> str:
        """The study of a pull, which is open then."""
        token, registry = pull_id.rpartition("-")[0], self._parts.registry
        name = registry.known(token) or await in_thread(registry.find, token)
        if name is None or name not in self._names:
            raise unknown_pull(pull_id)
        if registry.opened(name) is None:
            await in_thread(registry.study, name)
        return name

    async def require(self, study: str, pull_id: str) -> None:
        """Look for the pull."""
        await in_thread(lambda: self._parts.registry.study(study).pull(pull_id))

    async def tell(self, study: str | None, told: Reward) -> None:
        """Report a reward and signals."""
        (error,) = await self.report(study or await self.study_of(told.pull_id or ""), [told])
        if error is not None:
            raise error
        self._parts.metrics.n_rewards += told.reward is not None

    def declared(self, study: str) -> Declared:
        """Its signals and the ends of its rewards."""
        found = self._parts.registry.opened(study)
        return (
            Declared() if found is None else Declared(frozenset(found.signals), found.reward_range)
        )

    async def report(self, study: str, reports: list[Reward]) -> Sequence[ImaboError | None]:
        """Report signals, in one transaction with what else waits for the study."""
        return await self._parts.commits.tell(study, reports)

    async def close(self) -> None:
        """Tell what is not told yet."""
        await self.finish()
