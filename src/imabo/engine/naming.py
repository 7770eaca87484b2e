"""Which pull is meant: by its id, or by the key that its ask was made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from imabo.arms import Pull
from imabo.checks import checked_text
from imabo.engine.replica import Replica
from imabo.engine.requests import Reward
from imabo.errors import ImaboError, InvalidSetting, UnknownKey, UnknownPull
from imabo.settings import check_count
from imabo.space.scalars import show
from imabo.stores.base import PullRecord

_LISTED = 10  # parts of a key that an error names


def check_named(pull_id: object, key: object, part: object) -> None:
    """Refuse anything but an id alone, or a key with or without a part.

    Example:
        >>> check_named("k3f9x2-15", None, None)
        >>> check_named("k3f9x2-15", "order-3", None)
        Traceback (most recent call last):
        imabo.errors.InvalidSetting: pull_id is 'k3f9x2-15' and key is 'order-3': a pull is named...
    """
    check_any(pull_id, key)
    if pull_id is not None and key is not None:
        what = f"pull_id is {show(pull_id)} and key is {show(key)}"
        raise InvalidSetting(what, "a pull is named by one of them", "pass only one")
    if key is not None:
        checked_text("key", key)
    if part is not None:
        if key is None:
            why = "parts are those of a key, and an id names one pull already"
            raise InvalidSetting(f"part is {show(part)}", why, "leave part out, or pass key")
        check_count("part", part)


def check_any(pull_id: object, key: object) -> None:
    """Refuse what names no pull at all: it comes first, whatever else is missing."""
    if pull_id is None and key is None:
        why = "a pull is named by its id or by the key of its ask"
        raise UnknownPull("neither pull_id nor key was given", why, "pass one of them")


def keyed(replica: Replica, rewards: Sequence[Reward]) -> Mapping[str, Sequence[PullRecord]]:
    """The pulls of the keys that rewards name, looked up at once; what cannot be a key is none."""
    keys = []
    for one in rewards:
        try:
            check_named(one.pull_id, one.key, one.part)
        except ImaboError:
            continue  # it is refused in its place
        if one.key is not None:
            keys.append(one.key)
    return replica.store.keyed(replica.record.name, list(dict.fromkeys(keys))) if keys else {}


def number_of_named(
    replica: Replica,
    pull_id: str | None,
    key: str | None,
    part: int | None,
    known: Mapping[str, Sequence[PullRecord]],
) -> int:
    """The number of the pull that is meant; ``known`` are the pulls of the key."""
    check_named(pull_id, key, part)
    if key is None:
        return replica.number(pull_id)
    return the_one(replica.record.name, key, part, known.get(key, ())).number


def named_pull(replica: Replica, pull_id: str | None, key: str | None, part: int | None) -> Pull:
    """A pull as the store has it now."""
    check_named(pull_id, key, part)
    if key is None:
        return replica.pull(pull_id)
    known = replica.store.keyed(replica.record.name, [key]).get(key, ())
    return replica.shown([the_one(replica.record.name, key, part, known)])[0]


def pulls_of(replica: Replica, key: str) -> list[Pull]:
    """All pulls of a key."""
    checked_text("key", key)
    known = replica.store.keyed(replica.record.name, [key]).get(key, ())
    if not known:
        raise unknown_key(replica.record.name, key)
    return replica.shown(known)


def the_one(study: str, key: str, part: int | None, pulls: Sequence[PullRecord]) -> PullRecord:
    """The pull of a key that is meant, of all that it has."""
    if not pulls:
        raise unknown_key(study, key)
    if part is None and len(pulls) == 1:
        return pulls[0]
    check_part(study, key, part, [pull.part for pull in pulls])
    return next(pull for pull in pulls if pull.part == part)


def check_part(study: str, key: str, part: int | None, parts: Sequence[int]) -> None:
    """Refuse a key that stands for several pulls without a part, and a part that it has not."""
    listed = ", ".join(map(str, parts[:_LISTED])) + (", ..." if len(parts) > _LISTED else "")
    has = f"its ask was for {len(parts)} pulls, with the parts {listed}"
    if len(parts) == 1:
        has = f"it has one pull, with the part {parts[0]}"
    if part is None:
        what = f"the key {show(key)} of study {show(study)} does not say which pull is meant"
        raise InvalidSetting(what, has, "pass part as well, or the id of the pull")
    if part not in parts:
        what = f"the key {show(key)} of study {show(study)} has no part {part}"
        raise UnknownKey(what, has, "pass one of these parts, or the id of the pull")


def unknown_key(study: str, key: str) -> UnknownKey:
    """The refusal of a key."""
    return UnknownKey(
        f"no pull of study {show(study)} has the key {show(key)}",
        "no ask was made with it (a client that served its default made none), or its pull was "
        "pruned: a study forgets finished pulls with their keys when they are past the retention",
        "check the key and the study, and ask with the key before you tell its reward",
    )
