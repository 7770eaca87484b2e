"""Whose reward it is, as one text: the id of a pull, or a study with a key.

What waits is kept and sent by such an address. Ids have no exclamation mark, and nothing that is
quoted has one, so that no two are alike.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote


def address_of(study: str, key: str, part: int | None) -> str:
    """The address of a pull that a key names.

    Example:
        >>> address_of("support-answers", "order 3!", None), address_of("s", "k", 1)
        ('support-answers!order%203%21!', 's!k!1')
    """
    return f"{quote(study, safe='')}!{quote(key, safe='')}!{'' if part is None else part}"


def is_key(address: str) -> bool:
    """Whether an address names a key."""
    return "!" in address


def study_of(address: str) -> str:
    """What the addresses of one study's pulls begin with, by their ids or by their keys.

    Example:
        >>> study_of("k3f9x2-15"), study_of("support-answers!order-3!")
        ('k3f9x2-', 'support-answers!')
    """
    if is_key(address):
        return address[: address.index("!") + 1]
    return address.rpartition("-")[0] + "-"


def named(address: str) -> dict[str, Any]:
    """An address as the API has it: what names the pull of a reward.

    Example:
        >>> named("k3f9x2-15"), named("s!order%203!")
        ({'pull': 'k3f9x2-15'}, {'study': 's', 'key': 'order 3'})
        >>> named("s!k!1")
        {'study': 's', 'key': 'k', 'part': 1}
    """
    if not is_key(address):
        return {"pull": address}
    study, key, part = address.split("!")
    return {"study": unquote(study), "key": unquote(key)} | ({"part": int(part)} if part else {})


def in_words(address: str) -> str:
    """An address for people.

    Example:
        >>> in_words("k3f9x2-15"), in_words("s!order-3!"), in_words("s!k!1")
        ("pull 'k3f9x2-15'", "key 'order-3' of study 's'", "key 'k', part 1, of study 's'")
    """
    what = named(address)
    if "pull" in what:
        return f"pull {what['pull']!r}"
    part = f", part {what['part']}," if "part" in what else ""
    return f"key {what['key']!r}{part} of study {what['study']!r}"
