"""One ask of a client: what it needs, how long it may take, and what it answers if it fails."""

from __future__ import annotations

import logging
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from imabo.arms import Pull
from imabo.client.calls import Call, Steps, json_of, path_of
from imabo.client.documents import pulls_of
from imabo.client.session import checked_deadline
from imabo.engine.asks import checked_request
from imabo.engine.requests import Request
from imabo.errors import ImaboError, InvalidSetting, Unavailable
from imabo.space import Config
from imabo.space.scalars import show

if TYPE_CHECKING:
    from imabo.client.study_calls import StudyCalls

MOST_PULLS: Final = 1000  # of one call
_DEFAULT_PREFIX: Final = "default-"  # no study's ids start so
_REPORT_EVERY_S: Final = 60.0

_log = logging.getLogger(__name__)


class Ask:
    """One ask, checked. With a default, the drivers answer ``fallback`` when it does not work out.

    Mistakes of the program (a default that is not a dict, a count or a deadline that is not a
    number) are refused even then; a key or a context that cannot be used is not, because these
    come with the data.
    """

    def __init__(
        self,
        study: StudyCalls,
        count: int | None,
        *,
        key: str | None,
        context: object,
        default: dict[str, Any] | None,
        deadline_s: float | None,
    ) -> None:
        self.default = _checked_default(default)
        self.is_single = count is None
        self._request = Request(1 if count is None else count, key, context)
        checked_request(self._request if default is None else Request(self._request.count))
        self._study = study
        self._session = study.session
        if deadline_s is None and default is not None:
            deadline_s = self._session.service.timeout_s
        self.limit_s = None if deadline_s is None else checked_deadline(deadline_s)
        self._deadline = None if self.limit_s is None else time.monotonic() + self.limit_s

    @property
    def remaining_s(self) -> float | None:
        """What is left until the deadline, or None when there is none."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def steps(self) -> Steps[list[Pull]]:
        """Ask the service, in as many calls as it takes."""
        self._study.check_open()
        request = checked_request(self._request)
        if request.key is not None and request.count > MOST_PULLS:
            raise InvalidSetting(
                f"count is {show(request.count)}",
                f"with a key, one ask over HTTP gives at most {MOST_PULLS} pulls",
                "ask several times, each with a key of its own",
            )
        pulls: list[Pull] = []
        while len(pulls) < request.count:
            body = {
                "count": min(request.count - len(pulls), MOST_PULLS),
                # An ask that is sent again, because its answer got lost, gets the same pulls.
                "key": request.key or secrets.token_hex(16),
                "context": request.context,
            }
            call = Call("POST", path_of("studies", self._study.name, "pulls"), json_of(**body))
            decode = pulls_of(body["count"])
            pulls += yield from self._session.call(call, decode, deadline=self._deadline)
        self._study.learn_token(pulls[0].id)
        return pulls

    def late(self) -> Unavailable:
        """The error of an ask that is not answered in time."""
        return Unavailable(
            f"an ask of study {self._study.name!r} was not answered within {self.limit_s} s",
            "this was its deadline",
            f"check that the service runs at {self._session.service.url}, or allow more time",
        )

    # --- with a default -------------------------------------------------------------------------

    def is_worth_trying(self) -> bool:
        """Whether the service should be asked at all, before the default is served."""
        if self._study.is_closed or (self.remaining_s or 0.0) <= 0.0:
            return False
        return self._session.breaker.admits()

    def succeeded(self, pulls: list[Pull]) -> list[Pull]:
        """Note that the service works."""
        self._session.breaker.record(True)
        return pulls

    def failed(self, error: Exception) -> list[Pull]:
        """Note what went wrong, and serve the default."""
        answered = isinstance(error, ImaboError) and not isinstance(error, Unavailable)
        self._session.breaker.record(answered)
        if self._session.is_time_to_report(_REPORT_EVERY_S):
            _log.warning("study %r serves the default: %s", self._study.name, error)
        return self.fallback()

    def fallback(self) -> list[Pull]:
        """Pulls of the default; no study knows them, and their rewards go nowhere."""
        return [
            Pull(
                id=f"{_DEFAULT_PREFIX}{secrets.token_hex(8)}",
                arm=0,
                config=dict(self.default or {}),
                reason="default",
                served_at=datetime.now(UTC),
                context=self._request.context,
            )
            for _ in range(self._request.count)
        ]


def is_default(pull_id: object) -> bool:
    """Whether a pull is one of a default.

    Example:
        >>> is_default("default-0123456789abcdef"), is_default("k3f9x2-15")
        (True, False)
    """
    return isinstance(pull_id, str) and pull_id.startswith(_DEFAULT_PREFIX)


def _checked_default(default: object) -> Config | None:
    if default is None or isinstance(default, dict):
        return default
    raise InvalidSetting(
        f"default is {show(default)}",
        "it must be a configuration, a dict of the parameters' values",
        "pass what your application serves without imabo",
    )
