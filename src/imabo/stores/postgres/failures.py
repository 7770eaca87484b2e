"""What PostgreSQL, its driver or our limits say instead of an answer, and what callers hear."""

from __future__ import annotations

import psycopg

from imabo.errors import StoreError


class NotAnswered(psycopg.OperationalError):
    """The server did not answer in time; what it was told may be done or not."""


class NotConnected(NotAnswered):
    """The server did not take a connection in time."""


class StillSilent(psycopg.OperationalError):
    """The server did not answer others a moment ago; it was told nothing."""


class AllInUse(psycopg.OperationalError):
    """No connection came free in time; the server was told nothing."""


def said(error: psycopg.Error) -> str:
    """What PostgreSQL or its driver says, without the statement and its parameters."""
    return error.diag.message_primary or str(error).strip() or type(error).__name__


def unusable(error: psycopg.Error, where: str, *, limit_s: float, most: int) -> StoreError:
    """A database that did not say that it did what it was told.

    Nothing here says that something was not done: a statement that is sent again, after its first
    connection was lost, may have been done the first time.
    """
    if isinstance(error, NotConnected):
        return StoreError(
            f"{where} took no connection in time",
            "it may be frozen or out of reach",
            "send the same again in a second; check that the server runs",
        )
    if isinstance(error, NotAnswered):
        return StoreError(
            f"{where} did not answer within the limit of {limit_s:g} s",
            "whether what it was told is done is not known",
            "send the same again, which settles it for asks with a key and for rewards; check that "
            "the server runs and is not frozen or out of reach",
        )
    if isinstance(error, StillSilent):
        return StoreError(
            f"{where} did not answer a moment ago",
            "nothing was sent to it now",
            "send the same again in a second; check that the server runs and is not frozen or out "
            "of reach",
        )
    if isinstance(error, AllInUse):
        return StoreError(
            f"all {most} connections to {where} are in use",
            "none came free in time",
            "try again; use fewer threads at once, or open the store with more connections",
        )
    if isinstance(error, (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled)):
        return StoreError(
            f"{where} gave up within the limit of {limit_s:g} s",
            f"it said {said(error)!r} and undid what it was at",
            "try again; if another session holds the study for long, end that one "
            "(pg_stat_activity shows it), or open the store with a longer limit_s",
        )
    return StoreError(
        f"{where} could not be used",
        f"it said {said(error)!r}",
        "check that the server runs and is reached from here, that the user and the "
        "database of the URL exist, and that the user may make and write tables there",
    )


def lost_commit(error: psycopg.Error, where: str) -> StoreError:
    """A connection that ended while it committed."""
    return StoreError(
        f"{where} went away during a commit",
        f"it said {said(error)!r}, and whether the write was done is not known",
        "read the study again; asks with a key and rewards may be sent again",
    )
