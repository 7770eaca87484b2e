"""Checks of what a study is created with."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, Final

from imabo import oracles, policies
from imabo.arms import Pull
from imabo.errors import InvalidConfig, InvalidSetting, UnknownPull
from imabo.magnitude import LARGEST, NARROWEST
from imabo.objective import check_prices, objective_document, signals_document
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.settings import check_count, check_positive, describe, is_number, restore, unfit
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo.stores.base import StudyRecord

MAX_COUNT: Final = 10_000  # pulls of one ask or of one page of the history, arms added together
_LONGEST_NAME: Final = 200
_SEED_BITS: Final = 128
# The years that datetime can express, with a margin; served_at is shown as one.
EARLIEST, LATEST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2, 9999))


def unknown_pull(study: str, pull_id: object) -> UnknownPull:
    """The refusal of what is no id of a pull of a study.

    Example:
        >>> print(unknown_pull("s", "x"))
        no pull has the id 'x': study 's' never handed it out. To fix it, pass the id of a pull...
    """
    if isinstance(pull_id, Pull):
        why = "a pull is named by its id"
        return UnknownPull(f"the id is the pull {show(pull_id.id)} itself", why, "pass pull.id")
    why = f"study {study!r} never handed it out"
    fix = "pass the id of a pull that ask() of this study returned, or its key as key=..."
    return UnknownPull(f"no pull has the id {show(pull_id)}", why, fix)


def checked_record(
    name: object,
    space: object,
    policy: Policy | None,
    oracle: Oracle | None,
    seed: object,
    reward_range: object,
    window_s: object,
    created_at: object,
    revision: int | None = None,
    signals: object = None,
    objective: object = None,
) -> StudyRecord:
    """What a new study is created with, under a new token."""
    told = signals_document(signals)
    check_prices(told, checked_space(space))
    return StudyRecord(
        name=checked_name(name),
        token=secrets.token_hex(4),
        seed=checked_seed(seed),
        space=checked_space(space).to_dict(),
        policy=describe(checked_policy(policy)),
        oracle=describe(checked_oracle(oracle)),
        reward_range=checked_range(reward_range),
        window_s=checked_window(window_s),
        created_at=checked_time(created_at),
        revision=revision,
        signals=told,
        objective=objective_document(objective, told),
    )


def checked_name(name: object) -> str:
    """A study's name: text that any database can hold."""
    return checked_text("the study's name", name)


def checked_text(what: str, text: object) -> str:
    """Text that any database can hold: the name of a study, the key of a request."""
    if isinstance(text, str) and 0 < len(text) <= _LONGEST_NAME and text.strip():
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            if "\0" not in text:
                return text
    raise unfit(what, text, f"it must be text of 1 to {_LONGEST_NAME} characters", "choose another")


def checked_seed(seed: object) -> int:
    """A seed, drawn when there is none."""
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**_SEED_BITS:
        return seed
    why = f"it must be a whole number of at least 0 and below 2**{_SEED_BITS}"
    raise unfit("seed", seed, why, "pass 0, say")


def checked_space(space: object) -> Space:
    """A space."""
    if isinstance(space, Space):
        return space
    raise unfit("space", space, "it must be a Space", "write Space(temperature=Float(0, 1)), say")


def checked_range(ends: object) -> tuple[float, float] | None:
    """The ends of the rewards."""
    if ends is None:
        return None
    if isinstance(ends, (tuple, list)) and len(ends) == 2:
        known = [float(end) for end in ends if is_number(end)]
        if len(known) == 2 and known[0] < known[1]:
            return _checked_ends(known[0], known[1])
    why = "it must be two finite numbers, the lower one first, or None for rewards without ends"
    raise unfit("reward_range", ends, why, "pass (0.0, 1.0), say")


def _checked_ends(low: float, high: float) -> tuple[float, float]:
    """Ends that squares and quotients of rewards can be worked out with."""
    if max(abs(low), abs(high)) > LARGEST:
        why = f"its ends must be at most {LARGEST:g} from zero: sums of squares must be numbers"
        fix = "report the rewards in a larger unit"
        raise InvalidSetting(f"reward_range is {(low, high)!r}", why, fix)
    if high - low < NARROWEST:
        why = f"its ends must be at least {NARROWEST:g} apart, so that rewards can be divided by it"
        fix = "report the rewards in a smaller unit"
        raise InvalidSetting(f"reward_range is {(low, high)!r}", why, fix)
    return low, high


def checked_window(window_s: object) -> float | None:
    """How long a pull may stay pending."""
    if window_s is None:
        return None
    check_positive("window_s", window_s)
    return float(window_s)  # type: ignore[arg-type]  # a number, as was just checked


def checked_page(after: object, limit: object) -> None:
    """Where a page of the history starts and how long it is."""
    check_count("after", after)
    check_count("limit", limit, least=1)
    if isinstance(limit, int) and limit > MAX_COUNT:
        raise unfit("limit", limit, f"one page has at most {MAX_COUNT} pulls", "read page by page")


def checked_configs(configs: object) -> list[Mapping[str, object]]:
    """Configurations to add together; the space judges each of them."""
    if isinstance(configs, Mapping | str | bytes) or not isinstance(configs, Sequence):
        why = "it must be a list of configurations"
        raise unfit("configs", configs, why, "pass [{...}, {...}], or use add_arm for one")
    if len(configs) > MAX_COUNT:
        why = f"one call adds at most {MAX_COUNT}"
        raise InvalidSetting(f"there are {len(configs)} configs", why, "add them in parts")
    return list(configs)


def valid_configs(space: Space, configs: Sequence[Mapping[str, object]]) -> list[Config]:
    """Configurations as the space has them; the first that it does not allow refuses them all."""
    found = []
    for number, config in enumerate(configs, start=1):
        try:
            found.append(space.validate(config))
        except InvalidConfig as error:
            what = f"configuration {number} of {len(configs)} is refused: {error.what}"
            why = f"{error.why}, and they are added together or not at all"
            raise InvalidConfig(what, why, error.fix) from error
    return found


def checked_clock(clock: object) -> Callable[[], float]:
    """Something to ask for the time; what it says is checked each time."""
    if callable(clock):
        return clock
    why = "it must be a function that returns seconds"
    raise unfit("clock", clock, why, "pass time.time, or leave it out")


def checked_time(seconds: object) -> float:
    """What the clock says."""
    if isinstance(seconds, (int, float)) and EARLIEST <= seconds <= LATEST:
        return float(seconds)
    why = "it must return seconds since 1970 as a number, in the years 2 to 9998"
    fix = "pass another clock, or leave it out"
    raise InvalidSetting(f"the clock said {show(seconds)}", why, fix)


def checked_moment(moment: object) -> float:
    """A time with its zone, as seconds since 1970."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return checked_time(moment.timestamp())
    why = "it must be a datetime with a time zone"
    raise unfit("the time", moment, why, "pass datetime.now(UTC) - timedelta(days=30), say")


def checked_policy(policy: Policy | None) -> Policy:
    """A policy, the default one when there is none."""
    _check_part("policy", policy, Policy)
    return policies.Informed() if policy is None else policy


def checked_oracle(oracle: Oracle | None) -> Oracle:
    """An oracle, the default one when there is none."""
    _check_part("oracle", oracle, Oracle)
    return oracles.GP() if oracle is None else oracle


def stored_policy(given: Policy | None, stored: Mapping[str, Any]) -> Policy:
    """The policy that a study was created with: rebuilt, or the caller's if it is the same."""
    part: Policy = _stored_part("policy", given, stored, Policy, policies)
    return part


def stored_oracle(given: Oracle | None, stored: Mapping[str, Any]) -> Oracle:
    """The oracle that a study was created with: rebuilt, or the caller's if it is the same."""
    part: Oracle = _stored_part("oracle", given, stored, Oracle, oracles)
    return part


def _check_part(argument: str, part: object, kind: type) -> None:
    if part is None or isinstance(part, kind):
        return
    why = f"it must be an instance of {kind.__module__}.{kind.__name__}"
    fix = f"leave {argument} out for the default"
    raise InvalidSetting(f"{argument} is {show(part)}", why, fix)


def _stored_part(
    argument: str, given: object, stored: Mapping[str, Any], kind: type, module: ModuleType
) -> Any:
    if given is None:
        return restore(stored, _classes(kind, module), argument)
    _check_part(argument, given, kind)
    if _canonical(describe(given)) != _canonical(_as_today(stored, kind, module)):
        why = f"the study was created with {dict(stored)!r}"
        fix = f"leave {argument} out, or pass one with these settings"
        raise InvalidSetting(f"{argument} is {given!r}", why, fix)
    return given


def _classes(kind: type, module: ModuleType) -> dict[str, type]:
    found = {name: getattr(module, name) for name in module.__all__}
    return {n: c for n, c in found.items() if isinstance(c, type) and issubclass(c, kind)}


def _as_today(stored: Mapping[str, Any], kind: type, module: ModuleType) -> Mapping[str, Any]:
    """What was stored, with settings that came since at their defaults; others' classes as is."""
    try:
        return describe(restore(stored, _classes(kind, module), kind.__name__))
    except InvalidSetting:
        return stored


def fixed_differences(found: StudyRecord, wanted: StudyRecord, *, any_seed: bool) -> list[str]:
    """What another declaration of a study has otherwise that can never change, a line each."""
    lines = []
    stored = _as_today(found.policy, Policy, policies), _as_today(found.oracle, Oracle, oracles)
    for name, was, now in zip(
        ("policy", "oracle"), stored, (wanted.policy, wanted.oracle), strict=True
    ):
        if was != now:
            reason = "what was decided and is known follows from it"
            lines.append(f"{name}: {dict(was)} is stored, {dict(now)} is declared; {reason}")
    if not any_seed and found.seed != wanted.seed:
        reason = "every decision so far follows from it"
        lines.append(f"seed: {found.seed} is stored, {wanted.seed} is declared; {reason}")
    return lines


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
