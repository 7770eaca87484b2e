"""Errors over HTTP: every refusal is one ``application/problem+json`` document (RFC 9457)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from imabo.errors import ImaboError, StoreClosed, StoreError, UnknownPull, UnknownStudy
from imabo.space.scalars import show
from imabo.spelling import closest

MEDIA_TYPE: Final = "application/problem+json"

# What the service itself refuses with, beside the codes of imabo.errors.
REFUSALS: Final[Mapping[str, int]] = {
    "invalid_request": 422,
    "too_large": 413,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "unsupported_media_type": 415,
    "unavailable": 503,
    "internal": 500,
}
_OF_THE_ENGINE: Final = {
    404: "unknown_study unknown_pull unknown_key unknown_arm",
    409: "study_exists reward_conflict signal_conflict key_conflict nothing_to_serve no_rewards "
    "no_control",
    422: "invalid_space invalid_config invalid_setting invalid_reward invalid_signal "
    "replay_mismatch",
    501: "missing_extra",
    503: "store_error schema_too_new store_closed",
}
STATUS: Final[Mapping[str, int]] = {
    **REFUSALS,
    **{code: status for status, codes in _OF_THE_ENGINE.items() for code in codes.split()},
}


class Refusal(ImaboError):
    """What only the service refuses: a request rather than a call.

    Its code is one of ``REFUSALS``; the status may be another than the usual one of the code.

    Example:
        >>> error = Refusal("too_large", "the body is large", "at most 1 MiB", "send less")
        >>> error.code, error.status
        ('too_large', 413)
    """

    def __init__(
        self,
        code: str,
        what: str,
        why: str,
        fix: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what, why, fix)
        self.code = code  # type: ignore[misc]  # one class for the codes that HTTP adds
        self.status = REFUSALS[code] if status is None else status
        self.headers = dict(headers or {})


def status_of(error: ImaboError) -> int:
    """The HTTP status of an error; 500 for one that no request should meet."""
    return error.status if isinstance(error, Refusal) else STATUS.get(error.code, 500)


def document(error: ImaboError) -> dict[str, Any]:
    """An error as the JSON object that callers get.

    Example:
        >>> document(unknown_study("a"))["type"]
        'urn:imabo:error:unknown_study'
    """
    return {
        "type": f"urn:imabo:error:{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": status_of(error),
        "code": error.code,
        "detail": str(error),
        "what": error.what,
        "why": error.why,
        "fix": error.fix,
    }


def outward(error: ImaboError) -> ImaboError:
    """An error as a caller may see it: without other studies' names and without the inside."""
    if isinstance(error, StoreError):
        return unavailable() if type(error) in (StoreError, StoreClosed) else _closed_book(error)
    if isinstance(error, Refusal) or error.code in STATUS:
        return error
    return internal()


def unknown_study(name: str) -> UnknownStudy:
    """A study that is not there, or that the key may not see: the same words for both."""
    return UnknownStudy(
        f"no study is named {show(name)}",
        "the service has none of that name that this caller may use",
        "check the name, or create the study first",
    )


def meant(error: UnknownStudy, name: str, names: Iterable[str]) -> UnknownStudy:
    """The same, with the name that was probably meant; ``names`` are those the caller may see."""
    close = closest(name, names)
    if close is None:
        return error
    fix = f"write {close!r}, if you meant that one, or create the study first"
    return UnknownStudy(error.what, error.why, fix)


def unknown_pull(pull_id: str) -> UnknownPull:
    """A pull that is not there, or that the key may not see: the same words for both."""
    return UnknownPull(
        f"no pull has the id {show(pull_id)}",
        "no study that this caller may use ever handed it out, or it was pruned",
        "pass the id of a pull that an ask returned",
    )


def invalid_request(
    what: str, why: str, fix: str = "change the request", *, status: int = 422
) -> Refusal:
    """A request that does not have the form that its route asks for."""
    return Refusal("invalid_request", what, why, fix, status=status)


def unauthorized(what: str, why: str) -> Refusal:
    """A request without a key that counts."""
    return Refusal(
        "unauthorized",
        what,
        why,
        "send 'Authorization: Bearer <key>' (Client(url, key=...), or IMABO_KEY) with a key "
        "that 'imabo keys create' made",
        headers={"WWW-Authenticate": "Bearer"},
    )


def forbidden(what: str, why: str) -> Refusal:
    """A request that the key's role or its list of studies does not allow."""
    return Refusal("forbidden", what, why, "use a key that allows it")


def unavailable(
    what: str = "the database does not answer",
    why: str = "nothing can be read or written for the moment",
    fix: str = "send the request again in a second",
) -> Refusal:
    """The service cannot do this now."""
    fix += "; asks with a key and rewards may be repeated safely"
    return Refusal("unavailable", what, why, fix, headers={"Retry-After": "1"})


def not_known() -> Refusal:
    """The service ends while a request is under way that the database has not answered."""
    return unavailable(
        "the service stops before the database answered",
        "whether the request was done is not known",
        "send the same request again",
    )


def stopping() -> Refusal:
    """The service takes no more requests."""
    return unavailable("the service is stopping")


def internal() -> Refusal:
    """A fault of ours, about which callers learn nothing."""
    return Refusal(
        "internal",
        "the service failed",
        "this is a fault of the service, and its log says more",
        "report it with the X-Request-ID of this answer",
    )


def _closed_book(error: StoreError) -> StoreError:
    # The store's own words name files and hosts; these are the operator's business.
    return type(error)(
        "the database cannot be used by this version of the service",
        "the service's log says more",
        "ask those who run the service",
    )
