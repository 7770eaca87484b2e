"""The callback: what a call took is told as signals of its pull."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from litellm.integrations.custom_logger import CustomLogger

from imabo.errors import InvalidSetting
from imabo.integration import Source
from imabo.settings import is_number
from imabo.space.scalars import show

if TYPE_CHECKING:
    from imabo.integration import AnyStudy

PULL: Final = "imabo_pull"
STUDY: Final = "imabo_study"
_MOST: Final = 100_000  # completions that are remembered
_log: Final = logging.getLogger(__name__)


class Mark(NamedTuple):
    """Whose call it is: a pull of a study."""

    study: str
    pull: str


class ImaboLogger(CustomLogger):  # type: ignore[misc]  # its types are not looked at
    """Tells what a call of LiteLLM took: latency, tokens and cost. Extra: ``litellm``.

    ``litellm.callbacks.append(routing.logger)`` where an ``ImaboRouting`` chooses. Where the
    program asks a study itself, make one of the study and name the pull in the call's metadata.
    Told are those of ``latency_s``, ``first_token_s``, ``input_tokens``, ``output_tokens``,
    ``tokens`` and ``cost`` that the study declares as signals, once for a pull; the cost is what
    LiteLLM worked out. An answer that came from LiteLLM's cache took nothing, and tells nothing.

    Args:
        *studies: Each a ``Study``, or a study of a ``Client`` or an ``AsyncClient``.

    Example:
        >>> from imabo import Choice, Signal, Space, Study
        >>> import litellm
        >>> litellm.suppress_debug_info = True  # it says which providers there are
        >>> study = Study.create("support-answers", Space(model=Choice("small", "large")), seed=0,
        ...     signals={"tokens": Signal(low=0.0)})
        >>> litellm.callbacks.append(ImaboLogger(study))
        >>> pull = study.ask()
        >>> answer = litellm.completion(
        ...     model=f"openai/{pull.config['model']}", api_key="none", mock_response="Yes.",
        ...     messages=[{"role": "user", "content": "Open?"}], metadata={"imabo_pull": pull.id})
        >>> study.tell(pull.id, 1.0)
    """

    def __init__(self, *studies: AnyStudy) -> None:
        super().__init__()
        sources = [Source(study) for study in studies]
        self.sources = {source.name: source for source in sources}
        if not sources or len(self.sources) < len(sources):
            what = f"the studies are {', '.join(one.name for one in sources) or 'none'}"
            why = "a logger needs at least one, and each name once"
            raise InvalidSetting(what, why, "pass ImaboLogger(study), say")
        self.on_error: float | None = None
        self._calls = Calls()

    def tell(
        self, completion: str, reward: float, signals: Mapping[str, float] | None = None
    ) -> None:
        """Tell the reward of a completion by its id; see ``ImaboRouting.tell``."""
        mark = self._calls.whose(completion, reward, signals or {})
        if mark is not None:
            self.sources[mark.study].tell({"pull_id": mark.pull}, reward, signals or {})

    # --- what LiteLLM calls ----------------------------------------------------------------------

    def log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Tell what a call took."""
        for mark, reward, signals in self._ended(kwargs, response_obj, start_time, end_time):
            self.sources[mark.study].tell({"pull_id": mark.pull}, reward, signals)

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """The same, awaited."""
        for mark, reward, signals in self._ended(kwargs, response_obj, start_time, end_time):
            told = {"pull_id": mark.pull}, reward, signals
            await self.sources[mark.study].tell_awaited(*told)

    def log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Tell what a call counts as that failed, where that was said."""
        mark = self._mark_of(kwargs)
        if mark is not None and self.on_error is not None:
            self.sources[mark.study].tell({"pull_id": mark.pull}, self.on_error, {})

    async def async_log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """The same, awaited."""
        mark = self._mark_of(kwargs)
        if mark is not None and self.on_error is not None:
            told: Any = {"pull_id": mark.pull}, self.on_error, {}
            await self.sources[mark.study].tell_awaited(*told)

    def _ended(
        self, kwargs: Any, response: Any, start: Any, end: Any
    ) -> list[tuple[Mark, float | None, Mapping[str, float]]]:
        """What to tell of a call: its signals, and a reward that came before it was known."""
        if kwargs.get("cache_hit"):
            return []  # it was another call's answer
        mark = self._mark_of(kwargs)
        completion = _field(response, "id")
        waiting = None
        if isinstance(completion, str):
            waiting = self._calls.ended(completion, mark)
        if mark is None:
            return []
        told: list[tuple[Mark, float | None, Mapping[str, float]]] = []
        signals = signals_of(kwargs, response, start, end)
        if signals and self._calls.is_first(mark):
            told.append((mark, None, signals))
        if waiting is not None:
            told.append((mark, *waiting))
        return told

    def _mark_of(self, kwargs: Any) -> Mark | None:
        """Whose call it is; None where no study of ours chose it."""
        params = kwargs.get("litellm_params") or {}
        for place in ("litellm_metadata", "metadata"):
            said = params.get(place)
            said = said if isinstance(said, Mapping) else {}
            info = said.get("model_info")
            for one in (info if isinstance(info, Mapping) else {}, said):
                pull, study = one.get(PULL), one.get(STUDY, next(iter(self.sources)))
                if not isinstance(pull, str):
                    continue
                if study in self.sources:
                    return Mark(study, pull)
                _log.warning("a call names study %s, which is none of ours", show(study))
                return None
        return None


class Calls:
    """Which completion was whose, for rewards by its id; a reward may be here before the call is.

    LiteLLM calls back from the background, so that an answer may be graded before that.

    Example:
        >>> calls = Calls()
        >>> calls.whose("chatcmpl-1", 1.0, {}), calls.ended("chatcmpl-1", Mark("s", "k3f9x2-1"))
        (None, (1.0, {}))
        >>> calls.whose("chatcmpl-1", 1.0, {})
        Mark(study='s', pull='k3f9x2-1')
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._marks: OrderedDict[str, Mark | None] = OrderedDict()
        self._waiting: OrderedDict[str, tuple[float, Mapping[str, float]]] = OrderedDict()
        self._told: OrderedDict[Mark, None] = OrderedDict()
        self._lock = threading.Lock()

    def whose(self, completion: str, reward: float, signals: Mapping[str, float]) -> Mark | None:
        """Whose completion it is; where that is not known yet, the reward waits for it."""
        with self._lock:
            if completion in self._marks:
                if self._marks[completion] is None:
                    _log.info(
                        "completion %r was no study's choice: its reward is dropped", completion
                    )
                return self._marks[completion]
            _put(self._waiting, completion, (reward, dict(signals)), self._most)
            return None

    def ended(self, completion: str, mark: Mark | None) -> tuple[float, Mapping[str, float]] | None:
        """Remember whose it was; the reward that waited for it."""
        with self._lock:
            _put(self._marks, completion, mark, self._most)
            return self._waiting.pop(completion, None)

    def is_first(self, mark: Mark) -> bool:
        """Whether the pull's signals were not told yet; LiteLLM may call back twice."""
        with self._lock:
            is_new = mark not in self._told
            _put(self._told, mark, None, self._most)
            return is_new


def _put(entries: OrderedDict[Any, Any], key: object, value: object, most: int) -> None:
    entries[key] = value
    entries.move_to_end(key)
    while len(entries) > most:
        entries.popitem(last=False)


def signals_of(kwargs: Any, response: Any, start: Any, end: Any) -> dict[str, float]:
    """What a call took, by the names of signals; what is not known is left out.

    Example:
        >>> at = datetime(2026, 1, 1)
        >>> signals_of({"response_cost": 0.5}, {"usage": {"prompt_tokens": 3}}, at,
        ...            at + timedelta(seconds=2))
        {'latency_s': 2.0, 'input_tokens': 3.0, 'cost': 0.5}
    """
    usage = _field(response, "usage") or {}
    first = kwargs.get("completion_start_time") if kwargs.get("stream") else None
    found = {
        "latency_s": _seconds(start, end),
        "first_token_s": _seconds(start, first),
        "input_tokens": _field(usage, "prompt_tokens"),
        "output_tokens": _field(usage, "completion_tokens"),
        "tokens": _field(usage, "total_tokens"),
        "cost": kwargs.get("response_cost"),
    }
    return {name: float(value) for name, value in found.items() if is_number(value)}


def _seconds(start: object, end: object) -> float | None:
    if isinstance(start, datetime) and isinstance(end, datetime):
        return max((end - start) / timedelta(seconds=1), 0.0)
    if is_number(start) and is_number(end):
        return max(float(end - start), 0.0)
    return None


def _field(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
