"""What policies and oracles have in common: values without memory, stored as JSON."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, fields, is_dataclass
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import pytest

from imabo.arms import ActiveSet
from imabo.settings import describe, restore
from imabo.testing.situations import fingerprint

T = TypeVar("T")
Check = Callable[..., None]


def for_each(name: str, values: Collection[str]) -> Callable[[Check], Check]:
    """Run a check on every value of an argument, in one test; a failure says on which."""

    def decorate(check: Check) -> Check:
        @wraps(check)
        def run(*args: Any, **kwargs: Any) -> None:
            for value in values:
                try:
                    check(*args, **kwargs, **{name: value})
                except BaseException as error:
                    error.add_note(f"with {name} = {value!r}")
                    raise

        seen = signature(check)
        others = [one for key, one in seen.parameters.items() if key != name]
        run.__signature__ = seen.replace(parameters=others)  # type: ignore[attr-defined]  # for pytest
        return run

    return decorate


def check_is_frozen(part: object) -> None:
    """A frozen dataclass: its fields cannot be set."""
    assert is_dataclass(part), f"{part!r} is not a dataclass, so it cannot be stored"
    for name in [field.name for field in fields(part)]:
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, None)


def check_round_trip(part: object, argument: str) -> None:
    """It is the same after it was written as JSON and read back, as a store does."""
    text = json.dumps(describe(part), allow_nan=False)
    again = restore(json.loads(text), _classes_of(part), argument)
    assert again == part
    assert hash(again) == hash(part)


def _classes_of(part: object) -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {type(part).__name__: type(part)}
    if is_dataclass(part):
        for field in fields(part):
            value = getattr(part, field.name)
            if is_dataclass(value):
                found |= _classes_of(value)
    return found


def repeated(build: Callable[[], ActiveSet], act: Callable[[ActiveSet], T]) -> T:
    """What ``act`` returns, the same twice on one active set and once on another like it."""
    arms = build()
    first = act(arms)
    assert act(arms) == first, "the same active set and draws gave two answers"
    assert act(build()) == first, "two equal active sets gave two answers"
    return first


@contextmanager
def left_alone(part: object, arms: ActiveSet) -> Iterator[None]:
    """The block changes neither the part, nor the active set, nor the global random streams."""
    before = fingerprint(arms), pickle.dumps(part), _global_streams()
    yield
    after = fingerprint(arms), pickle.dumps(part), _global_streams()
    changed = [name for name, value in before[0].items() if after[0][name] != value]
    assert not changed, f"it changed the active set: {changed}"
    assert after[1] == before[1], "it remembers something: all it knows must be in its fields"
    assert after[2] == before[2], "it drew from a global random stream: use the one it is given"


def _global_streams() -> tuple[object, bytes]:
    return random.getstate(), pickle.dumps(np.random.get_state())
