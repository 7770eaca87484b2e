"""A study of a service, with the methods of ``Study``: the side that waits, and the awaited one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, Self

from imabo.arms import Pull
from imabo.client.answers import RemoteFacts
from imabo.client.session import Session
from imabo.client.steps import AsyncRunner, Runner
from imabo.client.study_control import StudyControl
from imabo.client.tasks import Asyncio
from imabo.client.threads import Blocking
from imabo.errors import ImaboError
from imabo.frames import study_html
from imabo.markup import table
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.space import Space


class RemoteStudy(StudyControl, Blocking):
    """One study of a service; ``Client.create``, ``open`` and ``study`` make it.

    It has the methods of ``Study``, with the same results and errors. What differs: the numbers
    that move (``n_pulls``, ``space``, ...) are asked for at each use (``facts()`` gets all of them
    at once), a call that the service does not answer is ``Unavailable``, ``ask`` takes a default,
    and ``tell`` keeps what it cannot deliver.
    """

    def __init__(
        self, session: Session, run: Runner, name: str, known: RemoteFacts | None = None
    ) -> None:
        super().__init__(session, name, known)
        self._run = run

    def close(self) -> None:
        """Refuse every call from now on; the client and its other studies go on."""
        self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def serve(
        self,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> Iterator[Pull]:
        """Ask, and tell ``pull.reward`` at the end of the block when it was set.

        When the block raises, or sets no reward, the pull stays pending. The arguments are those of
        ``ask``.
        """
        pull = self.ask(key=key, context=context, default=default, deadline_s=deadline_s)
        yield pull
        if pull.reward is not None:
            self.tell(pull.id, pull.reward)
            pull.state = "rewarded"

    def __iter__(self) -> Iterator[Pull]:
        """All pulls in the order they were served, read page by page."""
        after: int | None = 0
        while after is not None:
            page, after = self._run(self._page(after))
            yield from page

    # --- facts ----------------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """The current space."""
        return self.facts().space

    @property
    def space_version(self) -> int:
        """Number of the current space, from 1."""
        return self.facts().space_version

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._settings.policy

    @property
    def oracle(self) -> Oracle:
        """The oracle."""
        return self._settings.oracle

    @property
    def seed(self) -> int:
        """The seed of every decision."""
        return self._settings.seed

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Ends of the rewards, or None when they have none."""
        return self.facts().reward_range

    @property
    def window_s(self) -> float | None:
        """How long a pull may stay pending."""
        return self.facts().window_s

    @property
    def revision(self) -> int | None:
        """The revision of its declaration, None without one."""
        return self.facts().revision

    @property
    def created_at(self) -> datetime:
        """When the study was created."""
        return self._settings.created_at

    @property
    def n_arms(self) -> int:
        """Arms admitted so far, retired ones included."""
        return self.facts().n_arms

    @property
    def n_pulls(self) -> int:
        """Requests served so far."""
        return self.facts().n_pulls

    @property
    def n_rewards(self) -> int:
        """Rewards received so far."""
        return self.facts().n_rewards

    @property
    def n_pending(self) -> int:
        """Pulls that wait for a reward."""
        return self.facts().n_pending

    @property
    def n_expired(self) -> int:
        """Pulls whose window passed without a reward."""
        return self.facts().n_expired

    def __len__(self) -> int:
        """Number of pulls."""
        return self.n_pulls

    def __bool__(self) -> bool:
        """A study is a thing, not a collection: true even before its first pull."""
        return True

    def _repr_html_(self) -> str:
        """For notebooks: how far the study is, its best arm, and the arms with most rewards."""
        try:
            now = self.facts()
            counts = now.n_pulls, now.n_rewards, now.n_pending, now.n_arms
            return study_html(now.name, counts, self.arms(), self.best)
        except ImaboError:  # the service is away, say: a notebook must still show the cell
            return table(repr(self), [], [])

    @property
    def _settings(self) -> RemoteFacts:
        return self._known or self.facts()


class AsyncRemoteStudy(StudyControl, Asyncio):
    """One study of a service; ``AsyncClient.create``, ``open`` and ``study`` make it.

    The twin of ``RemoteStudy``: the same methods, to be awaited, ``async with study.serve()`` and
    ``async for pull in study``. Settings and counts come together, with ``await study.facts()``.
    """

    def __init__(
        self, session: Session, run: AsyncRunner, name: str, known: RemoteFacts | None = None
    ) -> None:
        super().__init__(session, name, known)
        self._run = run

    async def close(self) -> None:
        """Refuse every call from now on; the client and its other studies go on."""
        self._is_closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @asynccontextmanager
    async def serve(
        self,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> AsyncIterator[Pull]:
        """Ask, and tell ``pull.reward`` at the end of the block; see ``RemoteStudy.serve``."""
        pull = await self.ask(key=key, context=context, default=default, deadline_s=deadline_s)
        yield pull
        if pull.reward is not None:
            await self.tell(pull.id, pull.reward)
            pull.state = "rewarded"

    async def __aiter__(self) -> AsyncIterator[Pull]:
        """All pulls in the order they were served, read page by page."""
        after: int | None = 0
        while after is not None:
            page, after = await self._run(self._page(after))
            for pull in page:
                yield pull


def flush_of(study: RemoteStudy | AsyncRemoteStudy, timeout_s: float | None = None) -> bool:
    """Wait until what was told waits no more, as ``Client.flush``; for the client's ``flush_s``."""
    session = study._session
    return session.is_closed or session.flush(session.flush_s if timeout_s is None else timeout_s)
