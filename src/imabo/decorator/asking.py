"""The study behind a tuned function, whichever of the three kinds it is."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from imabo.arms import Pull
from imabo.defaults import check_default, default_pull
from imabo.engine.rewards import checked_reward
from imabo.errors import ImaboError, InvalidSetting
from imabo.space import Space
from imabo.space.scalars import show
from imabo.study import Study

if TYPE_CHECKING:
    from imabo.client import AsyncRemoteStudy, RemoteStudy

    BlockingStudy: TypeAlias = Study | RemoteStudy
    AnyStudy: TypeAlias = Study | RemoteStudy | AsyncRemoteStudy

_log = logging.getLogger("imabo.tuned")

OnError: TypeAlias = "float | Callable[[Exception], float | None] | None"


class Asking:
    """Asks a study for pulls and tells it rewards, for code that waits and for code that awaits.

    Args:
        study: A study, or a function without arguments that gives one when it is first needed.
        default: What to serve when the study gives nothing.
        on_error: What an exception of the function counts as; None for nothing.
        deadline_s: How long an ask of a client may take.
    """

    def __init__(
        self,
        study: AnyStudy | Callable[[], AnyStudy],
        default: dict[str, Any] | None,
        on_error: OnError,
        deadline_s: float | None,
    ) -> None:
        self._given = study
        self._default = default
        self._on_error = on_error
        self._deadline_s = deadline_s
        self._checked: object = None  # the study that default and on_error were checked with
        if default is not None:
            check_default(default, None)
        self._check_on_error(None)
        if not callable(study):
            self.study  # noqa: B018  # to check it now

    @property
    def study(self) -> Any:
        """The study, checked when it is seen first."""
        study = self._given() if callable(self._given) else self._given
        if study is not self._checked:
            self._check(study)
            self._checked = study
        return study

    @property
    def is_early(self) -> bool:
        """Whether the study was given itself, so that it can be looked at before the first call."""
        return not callable(self._given)

    @property
    def is_awaited(self) -> bool:
        """Whether the study is one of an asyncio client."""
        return inspect.iscoroutinefunction(self.study.ask)

    @property
    def default(self) -> dict[str, Any]:
        """The default; empty where there is none."""
        return self._default or {}

    @property
    def space(self) -> Space | None:
        """The space, where it is known without a call to a service."""
        study = self.study
        space: Space | None = study.space if isinstance(study, Study) else study.known_space
        return space

    def ask(self, key: str | None, context: object) -> Pull:
        """Ask, in this thread."""
        study = self.study
        if not isinstance(study, Study):
            pull: Pull = study.ask(**self._remote(key, context))
            return pull
        try:
            return study.ask(key=key, context=context)
        except Exception as error:
            if self._default is None:
                raise
            _log.warning("study %r serves the default: %s", study.name, error)
            return default_pull(self._default, context)

    async def ask_awaited(self, key: str | None, context: object) -> Pull:
        """Ask, without holding up the event loop."""
        if self.is_awaited:
            pull: Pull = await self.study.ask(**self._remote(key, context))
            return pull
        return await asyncio.to_thread(self.ask, key, context)

    def tell_error(self, pull: Pull | None, error: Exception) -> None:
        """Tell what an exception counts as; whatever comes of it, the exception goes on."""
        try:
            if (reward := self._reward_of(pull, error)) is not None and pull is not None:
                self.study.tell(pull.id, reward)
        except Exception as refused:
            _log.warning("the reward of an exception was not told: %s", _said(refused))

    async def tell_error_awaited(self, pull: Pull | None, error: Exception) -> None:
        """The same, without holding up the event loop."""
        if not self.is_awaited:
            await asyncio.to_thread(self.tell_error, pull, error)
            return
        try:
            if (reward := self._reward_of(pull, error)) is not None and pull is not None:
                await self.study.tell(pull.id, reward)
        except Exception as refused:
            _log.warning("the reward of an exception was not told: %s", _said(refused))

    def checked(self, reward: object) -> float:
        """A reward that the study would take, as far as that is known here."""
        study = self.study
        ends = study.reward_range if isinstance(study, Study) else None
        return checked_reward(reward, ends)

    def _reward_of(self, pull: Pull | None, error: Exception) -> float | None:
        if pull is None or pull.arm == 0:
            return None
        return self._on_error(error) if callable(self._on_error) else self._on_error

    def _remote(self, key: str | None, context: object) -> dict[str, Any]:
        asked = {"key": key, "context": context, "default": self._default}
        return asked | {"deadline_s": self._deadline_s}

    def _check(self, study: Any) -> None:
        is_local = isinstance(study, Study)
        if not is_local and not hasattr(study, "known_space"):
            raise InvalidSetting(
                f"study is {show(study)}",
                "it must be a Study, or a study of a Client or an AsyncClient",
                "write @tuned(study), with what Study.create or client.create returned",
            )
        if is_local and self._deadline_s is not None:
            raise InvalidSetting(
                f"deadline_s is {show(self._deadline_s)}",
                "a study in this process has no deadline; one of a service has",
                "leave deadline_s out",
            )
        if self._default is not None and is_local:
            check_default(self._default, study.space)
        elif self._default is not None:
            study.check_default(self._default)
        if is_local:
            self._check_on_error(study.reward_range)

    def _check_on_error(self, ends: tuple[float, float] | None) -> None:
        if self._on_error is None or callable(self._on_error):
            return
        try:
            checked_reward(self._on_error, ends)
        except ImaboError as error:
            what = f"on_error is {show(self._on_error)}"
            fix = "pass a reward, or a function of the exception that returns one"
            raise InvalidSetting(what, error.why, fix) from None


def _said(error: Exception) -> str:
    """An error of ours says what it is; one of a caller's own ``on_error`` may be a bare text."""
    return str(error) if isinstance(error, ImaboError) else repr(error)
