"""Studies of a database, decided in the gateway's own process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from imabo.arms import Pull
from imabo.engine.requests import Asked as AskedPulls
from imabo.engine.requests import Request, Reward
from imabo.errors import ImaboError, InvalidSetting, UnknownStudy
from imabo.gateway.asking import Declared, Gatherer, Studies, unknown_pull
from imabo.gateway.mapping import Asked
from imabo.gateway.settings import GatewaySettings, Route
from imabo.stores import open_store
from imabo.study import Study


class OwnStudies(Studies):
    """Studies of a database, in a thread a study."""

    def __init__(self, settings: GatewaySettings) -> None:
        super().__init__(settings)
        self._threads = {name: ThreadPoolExecutor(1, "imabo-study") for name in self._names}
        self._studies: dict[str, Study] = {}
        self._tokens: dict[str, str] = {}  # what the ids of a study's pulls start with
        self._gatherers: dict[str, Gatherer] = {}

    async def start(self) -> None:
        """Open the studies."""
        if not self._names:
            return
        self._require_file()
        self._store = await asyncio.to_thread(open_store, self._settings.store)
        for name in self._names:
            try:
                study = await self._in_thread(name, partial(Study.open, name, store=self._store))
            except UnknownStudy as error:
                raise self._unknown(name, error) from None
            self._studies[name] = study
            self._tokens[study.token] = name
            self._check(name, study.space, self.declared(name), study.objective)
            self._gatherers[name] = Gatherer(self._asking(name))

    def _require_file(self) -> None:
        """Refuse a database that is not there: to open it would make an empty one."""
        store = self._settings.store or ""
        path = store.removeprefix("sqlite:///")
        if path != store and path and not Path(path).exists():
            raise InvalidSetting(
                f"imabo.store is {store!r}",
                "there is no such file, so none of the studies",
                f"correct it, or create them first: imabo create FILE --store {store}",
            )

    async def ask(self, route: Route, asked: Asked) -> Pull:
        """A pull, or the default."""
        try:
            pull = await self._gatherers[route.study].ask(asked, self._settings.deadline_s)
        except Exception as error:  # whatever it was, the application goes on
            return self.default(route, asked, error)
        return pull or self.default(route, asked, "the study did not answer in time")

    def _asking(self, name: str) -> Callable[[Sequence[Asked]], Awaitable[Sequence[Pull]]]:
        def decide(requests: Sequence[Asked]) -> list[Pull | ImaboError]:
            study = self._studies[name]
            wanted = [Request(1, one.key, one.context) for one in requests]
            try:
                answers = study.ask_many(wanted)
            except ImaboError:
                if len(wanted) == 1:
                    raise
                # One of them cannot be asked; it must not harm the others.
                return [_one(study, request) for request in wanted]
            return [one.pulls[0] if isinstance(one, AskedPulls) else one for one in answers]

        async def ask(requests: Sequence[Asked]) -> Sequence[Any]:
            pulls: list[Pull | ImaboError] = await self._in_thread(name, partial(decide, requests))
            return pulls

        return ask

    async def study_of(self, pull_id: str) -> str:
        """The study of a pull, by what its id starts with."""
        name = self._tokens.get(pull_id.rpartition("-")[0])
        if name is None:
            raise unknown_pull(pull_id)
        return name

    async def require(self, study: str, pull_id: str) -> None:
        """Look for the pull."""
        await self._in_thread(study, partial(self._studies[study].pull, pull_id))

    async def tell(self, study: str | None, told: Reward) -> None:
        """Report a reward and signals."""
        (error,) = await self.report(study or await self.study_of(told.pull_id or ""), [told])
        if error is not None:
            raise error

    def declared(self, study: str) -> Declared:
        """Its signals and the ends of its rewards."""
        own = self._studies[study]
        return Declared(frozenset(own.signals), own.reward_range)

    async def report(self, study: str, reports: list[Reward]) -> Sequence[ImaboError | None]:
        """Report signals in one transaction."""
        own = self._studies[study]
        answers: list[ImaboError | None] = await self._in_thread(
            study, partial(own.tell_many, reports)
        )
        return answers

    async def close(self) -> None:
        """Let go."""
        await self.finish()
        for thread in self._threads.values():
            await asyncio.to_thread(thread.shutdown)
        for study in self._studies.values():
            study.close()
        if hasattr(self, "_store"):
            self._store.close()

    async def _in_thread(self, name: str, do: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads[name], do)


def _one(study: Study, request: Request) -> Pull | ImaboError:
    try:
        return study.ask(key=request.key, context=request.context)
    except ImaboError as error:
        return error
