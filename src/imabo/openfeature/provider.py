"""The provider: from a flag to a configuration, and from a tracked event to a reward."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from openfeature.evaluation_context import EvaluationContext
from openfeature.event import ProviderEventDetails
from openfeature.exception import ErrorCode, GeneralError, ProviderFatalError
from openfeature.flag_evaluation import FlagResolutionDetails
from openfeature.provider import AbstractProvider, Metadata
from openfeature.track import TrackingEventDetails

from imabo.arms import Pull
from imabo.errors import Forbidden, ImaboError, InvalidSetting, Unauthorized
from imabo.integration import Source
from imabo.openfeature.flags import (
    CODES,
    TARGETING_KEY,
    Details,
    Flag,
    Flags,
    Kind,
    NotResolved,
    refused,
    resolved,
)
from imabo.openfeature.requests import Requests
from imabo.openfeature.tracking import Event, checked_rewards
from imabo.study import Study

if TYPE_CHECKING:
    from imabo.integration import AnyStudy

Structure: TypeAlias = Sequence[Any] | Mapping[str, Any]

_log: Final = logging.getLogger(__name__)


class ImaboProvider(AbstractProvider):
    """Resolves the flags of OpenFeature to the configurations of studies. Extra: ``openfeature``.

    An object flag named as a study is a whole configuration; ``study.parameter`` is one parameter
    of it, as a string, an integer, a float or a boolean. All flags of one request come from one
    pull: the evaluation context names the request, by its targeting key or by ``key``. The context
    is stored with the pull, and ``client.track("reward", context, TrackingEventDetails(1.0))``
    tells its reward.

    Args:
        *studies: Each a ``Study``, or a study of a ``Client`` or an ``AsyncClient`` (whose flags
            are then to be awaited).
        key: What of the evaluation context names a request: its targeting key, or an attribute of
            it. With the id of a user as the targeting key, each user is served with one
            configuration, always; then name the attribute that has the request's id.
        flags: Other names for flags: ``{"answer-model": "support-answers.model"}``.
        rewards: The events that are rewards, each with the value of one that carries none (None:
            it must carry one).
        attributes: The attributes of the context that are stored; all of them when left out.
        deadline_s: How long an ask of a client may take; its ``timeout_s`` when left out.

    Example:
        >>> from imabo import Choice, Float, Space, Study
        >>> from openfeature import api
        >>> from openfeature.evaluation_context import EvaluationContext
        >>> from openfeature.track import TrackingEventDetails
        >>> space = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
        >>> study = Study.create("support-answers", space, seed=0)
        >>> api.set_provider_and_wait(ImaboProvider(study))
        >>> client, request = api.get_client(), EvaluationContext("request-1")
        >>> model = client.get_string_value("support-answers.model", "small", request)
        >>> temperature = client.get_float_value("support-answers.temperature", 0.2, request)
        >>> study.pull(key="request-1").config == {"model": model, "temperature": temperature}
        True
        >>> client.track("reward", request, TrackingEventDetails(1.0))
        >>> study.pull(key="request-1").reward
        1.0
        >>> api.shutdown()
    """

    def __init__(
        self,
        *studies: AnyStudy,
        key: str = TARGETING_KEY,
        flags: Mapping[str, str] | None = None,
        rewards: Mapping[str, float | None] | None = None,
        attributes: Collection[str] | None = None,
        deadline_s: float | None = None,
    ) -> None:
        super().__init__()
        sources = [Source(study, deadline_s) for study in studies]
        self._sources = {source.name: source for source in sources}
        if not sources or len(self._sources) < len(sources):
            what = f"the studies are {', '.join(one.name for one in sources) or 'none'}"
            why = "a provider needs at least one, and each name once"
            raise InvalidSetting(what, why, "pass ImaboProvider(study), say")
        self._flags = Flags(self._sources, key, flags or {}, attributes)
        self._rewards = checked_rewards({"reward": None} if rewards is None else rewards)
        self._requests = Requests()
        # Whose pulls have ids that start so: known of studies here, learned of those of a service.
        self._owners = {study.token: study.name for study in studies if isinstance(study, Study)}
        self._is_failing = False
        self._lock = threading.Lock()

    # --- the life of a provider -----------------------------------------------------------------

    def get_metadata(self) -> Metadata:
        """The provider's name: imabo."""
        return Metadata(name="imabo")

    def initialize(self, evaluation_context: EvaluationContext) -> None:
        """Look at the studies; one of a service that is away or refuses is an error."""
        for source in self._sources.values():
            try:
                source.look()
            except (Unauthorized, Forbidden) as error:
                raise ProviderFatalError(str(error)) from error
            except ImaboError as error:
                with self._lock:
                    self._is_failing = True  # the first flag that is resolved makes it ready
                raise GeneralError(str(error)) from error

    def shutdown(self) -> None:
        """Send the rewards that wait, for the client's ``flush_s`` at most; studies stay open."""
        for source in self._sources.values():
            source.flush()
        self._requests.clear()
        with self._lock:
            self._is_failing = False

    def _note(self, error: ImaboError | None) -> None:
        """Say so when the studies begin to fail, and when they do no more."""
        with self._lock:
            changed = self._is_failing != (error is not None)
            self._is_failing = error is not None
        if not changed:
            return
        if error is None:
            self.emit_provider_ready(ProviderEventDetails(message="configurations come again"))
        else:
            code = ErrorCode.GENERAL
            self.emit_provider_error(ProviderEventDetails(message=str(error), error_code=code))

    # --- resolving ------------------------------------------------------------------------------

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """A parameter that is True or False."""
        return self._resolve("boolean", flag_key, default_value, evaluation_context)

    def resolve_string_details(
        self,
        flag_key: str,
        default_value: str,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[str]:
        """A parameter that is text."""
        return self._resolve("string", flag_key, default_value, evaluation_context)

    def resolve_integer_details(
        self,
        flag_key: str,
        default_value: int,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[int]:
        """A parameter that is a whole number."""
        return self._resolve("integer", flag_key, default_value, evaluation_context)

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """A parameter that is a number."""
        return self._resolve("float", flag_key, default_value, evaluation_context)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Structure,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Structure]:
        """A whole configuration."""
        return self._resolve("object", flag_key, default_value, evaluation_context)

    async def resolve_boolean_details_async(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """The same, awaited."""
        return await self._resolve_awaited("boolean", flag_key, default_value, evaluation_context)

    async def resolve_string_details_async(
        self,
        flag_key: str,
        default_value: str,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[str]:
        """The same, awaited."""
        return await self._resolve_awaited("string", flag_key, default_value, evaluation_context)

    async def resolve_integer_details_async(
        self,
        flag_key: str,
        default_value: int,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[int]:
        """The same, awaited."""
        return await self._resolve_awaited("integer", flag_key, default_value, evaluation_context)

    async def resolve_float_details_async(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """The same, awaited."""
        return await self._resolve_awaited("float", flag_key, default_value, evaluation_context)

    async def resolve_object_details_async(
        self,
        flag_key: str,
        default_value: Structure,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Structure]:
        """The same, awaited."""
        return await self._resolve_awaited("object", flag_key, default_value, evaluation_context)

    def _resolve(
        self, kind: Kind, flag_key: str, default: object, context: EvaluationContext | None
    ) -> Details:
        try:
            flag = self._flags.find(flag_key)
            if flag.is_strange:
                with suppress(ImaboError):  # then what is known counts
                    flag.source.look()
            key, stored = self._flags.check(flag, kind, context)
            pull = self._requests.pull(flag.source, key, stored)
        except (NotResolved, ImaboError) as error:
            return self._failed(default, error)
        return self._resolved(flag, kind, default, pull)

    async def _resolve_awaited(
        self, kind: Kind, flag_key: str, default: object, context: EvaluationContext | None
    ) -> Details:
        try:
            flag = self._flags.find(flag_key)
            if flag.is_strange:
                with suppress(ImaboError):
                    await flag.source.look_awaited()
            key, stored = self._flags.check(flag, kind, context)
            pull = await self._requests.pull_awaited(flag.source, key, stored)
        except (NotResolved, ImaboError) as error:
            return self._failed(default, error)
        return self._resolved(flag, kind, default, pull)

    def _resolved(self, flag: Flag, kind: Kind, default: object, pull: Pull) -> Details:
        self._note(None)
        self._owners[pull.id.rpartition("-")[0]] = flag.source.name
        return resolved(flag, kind, default, pull)

    def _failed(self, default: object, error: NotResolved | ImaboError) -> Details:
        """The flag's default, as the specification wants it."""
        if isinstance(error, ImaboError) and type(error) not in CODES:
            self._note(error)
        return refused(default, error)

    # --- tracking -------------------------------------------------------------------------------

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Tell a reward (``"reward"``, or what ``rewards`` names) or a signal of the study.

        The context names the request as it did for its flags. Attributes of the details that are
        signals of the study are told as well; ``pull`` and ``study`` name a pull by its id, and
        which study is meant. Other events are none of ours. This never raises: what cannot be told
        is said in the log.
        """
        event = Event.of(tracking_event_name, tracking_event_details, self._rewards)
        key = self._flags.key_of(evaluation_context)
        for source in event.meant(self._sources.values(), self._owners):
            if event.pull is not None:
                name = {"pull_id": event.pull}
            elif key is not None and self._has_pull(source, key):
                name = {"key": key}
            else:
                continue
            event.tell(source, name)
        if key is None and event.pull is None and event.is_reward:
            _log.warning("the event %r names no request, so its reward is lost", event.name)

    def _has_pull(self, source: Source, key: str) -> bool:
        """Whether a request may have a pull of the study, as far as is remembered here.

        One that had its flags' defaults has none; nor has one of another study, where this
        provider has several and knows which of them it asked.
        """
        entry = self._requests.known(source.name, key)
        if entry is not None:
            return not entry.has_failed
        return all(self._requests.known(name, key) is None for name in self._sources)
