"""Signals of pulls, told to a service: with their reward, or by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from imabo.client.addresses import is_key, named, signal_address
from imabo.client.http import Call, json_of, path_of
from imabo.errors import InvalidSignal
from imabo.settings import real
from imabo.space.scalars import show


def checked_signals(signals: object) -> dict[str, float]:
    """Signals as numbers by name; which names and ends they have is for the service to say.

    Example:
        >>> checked_signals({"cost": 1, "thumbs": True})
        {'cost': 1.0, 'thumbs': 1.0}
    """
    if not isinstance(signals, Mapping):
        why, fix = "it must be a dict of numbers by name", 'pass signals={"cost": 0.0004}, say'
        raise InvalidSignal(f"signals is {show(signals)}", why, fix)
    found = {}
    for name, value in signals.items():
        if not isinstance(name, str) or not name.isidentifier():
            why = "it must be an identifier, such as latency_s"
            raise InvalidSignal(f"a signal is named {show(name)}", why, "correct the name")
        number = real(value)
        if number is None:
            why = "it must be a finite number"
            raise InvalidSignal(f"the signal {name!r} is {show(value)}", why, "correct it")
        found[name] = number
    return found


def parts_of(
    address: str, reward: float | None, signals: Mapping[str, float]
) -> list[tuple[str, float]]:
    """What is told of a pull, each under an address of its own, for the outbox.

    Example:
        >>> parts_of("k3f9x2-15", 0.8, {"cost": 0.0004})
        [('k3f9x2-15', 0.8), ('k3f9x2-15?cost', 0.0004)]
    """
    told = [] if reward is None else [(address, reward)]
    return told + [(signal_address(address, name), value) for name, value in signals.items()]


def told_call(
    address: str, reward: float | None, signals: Mapping[str, float] | None = None
) -> Call:
    """A reward, one with signals, or one signal alone.

    Example:
        >>> call = told_call("s!order%203!", 0.8)
        >>> print(call, call.body)
        PUT /v1/studies/s/keys/order%203/reward b'{"reward": 0.8}'
    """
    what: dict[str, Any] = named(address)
    path = ("pulls", what.pop("pull")) if not is_key(address) else _of_key(what)
    if reward is None:
        ((name, value),) = (signals or {}).items()
        return Call("PUT", path_of(*path, "signals", name), json_of(value=value, **what))
    if signals:
        what["signals"] = dict(signals)
    return Call("PUT", path_of(*path, "reward"), json_of(reward=reward, **what))


def _of_key(what: dict[str, Any]) -> tuple[str, ...]:
    return ("studies", what.pop("study"), "keys", what.pop("key"))
