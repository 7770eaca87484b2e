"""The errors that every store raises in the same words."""

from __future__ import annotations

from collections.abc import Iterable

from imabo.errors import (
    RewardConflict,
    SignalConflict,
    StoreClosed,
    StoreError,
    StudyExists,
    UnknownStudy,
)
from imabo.spelling import closest


def study_exists(name: str) -> StudyExists:
    """A name that is taken."""
    return StudyExists(
        f"there is already a study named {name!r} in this store",
        "names are unique in a store",
        f"use Study.open({name!r}, store=...), or client.open({name!r}) of a client, to go on with "
        "it, or choose another name",
    )


def unknown_study(name: str, names: Iterable[str]) -> UnknownStudy:
    """A name that is not there."""
    listed = list(names)
    known = ", ".join(map(repr, listed)) or "none"
    close = closest(name, listed)
    return UnknownStudy(
        f"no study is named {name!r}",
        f"this store has {known}",
        "check the name and the store, or create the study first"
        if close is None
        else f"write {close!r}, if you meant that one, or create the study first",
    )


def study_replaced(name: str) -> UnknownStudy:
    """A study that was deleted, and another one that has its name."""
    return UnknownStudy(
        f"study {name!r} was deleted",
        "another study has its name now",
        "open the study again",
    )


def reward_conflict(number: int, recorded: float, offered: float) -> RewardConflict:
    """A second, different reward for one pull."""
    return RewardConflict(
        f"pull number {number} has the reward {recorded!r} and was told {offered!r}",
        "a pull has one reward, and the first one counts",
        "drop the second report; if each report is a request of its own, ask() once for each",
    )


def signal_conflict(number: int, name: str, recorded: float, offered: float) -> SignalConflict:
    """A second, different value of a signal of one pull."""
    return SignalConflict(
        f"pull number {number} has the signal {name!r} {recorded!r} and was told {offered!r}",
        "a pull has each signal once, and the first one counts",
        "drop the second report, or add the parts up before you report them",
    )


def misfit(what: str) -> StoreError:
    """A write that contradicts what the store has; no study makes one from a true view."""
    return StoreError(
        f"the write was refused whole: {what}",
        "ids, identities and numbers are given out once, and a pull names an arm that exists",
        "open the study again; if that does not help, report a bug in imabo",
    )


def store_closed() -> StoreClosed:
    """A store used after close()."""
    return StoreClosed(
        "the store is closed",
        "close() released its connection",
        "open the study again with Study.open(name, store=...)",
    )
