"""What the errors of PostgreSQL, of its driver and of the pool are to those who called."""

from __future__ import annotations

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from imabo.errors import StoreError
from imabo.stores.postgres.limits import NotAnswered, NotConnected, StillSilent


def said(error: BaseException) -> str:
    """What PostgreSQL or its driver says, without the statement and its parameters."""
    cause = cause_of(error)
    primary = cause.diag.message_primary if isinstance(cause, psycopg.Error) else None
    return primary or str(cause).strip() or type(cause).__name__


def cause_of(error: BaseException) -> BaseException:
    """The driver's own error, without SQLAlchemy's around it."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def unusable(error: BaseException, where: str, *, limit_s: float, most: int) -> StoreError:
    """A database that did not say that it did what it was told.

    Nothing here says that something was not done: a statement that is sent again, after its first
    connection was lost, may have been done the first time.
    """
    cause = cause_of(error)
    if isinstance(cause, NotConnected):
        return StoreError(
            f"{where} took no connection in time",
            "it may be frozen or out of reach",
            "send the same again in a second; check that the server runs",
        )
    if isinstance(cause, NotAnswered):
        return StoreError(
            f"{where} did not answer within the limit of {limit_s:g} s",
            "whether what it was told is done is not known",
            "send the same again, which settles it for asks with a key and for rewards; check that "
            "the server runs and is not frozen or out of reach",
        )
    if isinstance(cause, StillSilent):
        return StoreError(
            f"{where} did not answer a moment ago",
            "nothing was sent to it now",
            "send the same again in a second; check that the server runs and is not frozen or out "
            "of reach",
        )
    if isinstance(cause, PoolTimeout):
        return StoreError(
            f"all {most} connections to {where} are in use",
            "none came free in time",
            "try again; use fewer threads at once, or open the store with more connections",
        )
    if isinstance(cause, (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled)):
        return StoreError(
            f"{where} gave up within the limit of {limit_s:g} s",
            f"it said {said(cause)!r} and undid what it was at",
            "try again; if another session holds the study for long, end that one "
            "(pg_stat_activity shows it), or open the store with a longer limit_s",
        )
    return StoreError(
        f"{where} could not be used",
        f"it said {said(cause)!r}",
        "check that the server runs and is reached from here, that the user and the "
        "database of the URL exist, and that the user may make and write tables there",
    )


def lost_commit(error: BaseException, where: str) -> StoreError:
    """A connection that ended while it committed."""
    return StoreError(
        f"{where} went away during a commit",
        f"it said {said(error)!r}, and whether the write was done is not known",
        "read the study again; asks with a key and rewards may be sent again",
    )
