"""Whose reward it is, as one text: the id of a pull, or a study with a key.

What waits is kept and sent by such an address. Ids have no exclamation mark and
no question mark, and nothing that is quoted has one, so that no two are alike.
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


def signal_address(address: str, name: str) -> str:
    """The address of a signal of a pull, beside that of its reward.

    Example:
        >>> signal_address("k3f9x2-15", "cost"), signal_address("s!k!1", "cost")
        ('k3f9x2-15?cost', 's!k!1?cost')
    """
    return f"{address}?{name}"


def is_signal(address: str) -> bool:
    """Whether an address is that of a signal."""
    return "?" in address


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
        >>> named("s!k!1"), named("k3f9x2-15?cost")
        ({'study': 's', 'key': 'k', 'part': 1}, {'pull': 'k3f9x2-15'})
    """
    address, _, _ = address.partition("?")
    if not is_key(address):
        return {"pull": address}
    study, key, part = address.split("!")
    return {"study": unquote(study), "key": unquote(key)} | ({"part": int(part)} if part else {})


def told(address: str, value: float) -> dict[str, Any]:
    """What is reported to an address, as the API has it.

    Example:
        >>> told("k3f9x2-15", 0.8), told("k3f9x2-15?cost", 0.0004)
        ({'reward': 0.8}, {'signals': {'cost': 0.0004}})
    """
    _, is_signal, name = address.partition("?")
    return {"signals": {name: value}} if is_signal else {"reward": value}


def in_words(address: str) -> str:
    """An address for people.

    Example:
        >>> in_words("k3f9x2-15"), in_words("s!order-3!"), in_words("s!k!1")
        ("pull 'k3f9x2-15'", "key 'order-3' of study 's'", "key 'k', part 1, of study 's'")
    """
    what, (_, is_signal, name) = named(address), address.partition("?")
    if is_signal:
        return f"the signal {name!r} of {in_words(address.partition('?')[0])}"
    if "pull" in what:
        return f"pull {what['pull']!r}"
    part = f", part {what['part']}," if "part" in what else ""
    return f"key {what['key']!r}{part} of study {what['study']!r}"
