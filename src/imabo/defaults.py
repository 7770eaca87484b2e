"""The configuration that an application serves when a study gives none: its check, and its pull."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any, Final

from imabo.arms import Pull
from imabo.errors import InvalidConfig, InvalidSetting
from imabo.space import Space
from imabo.space.scalars import show

DEFAULT_PREFIX: Final = "default-"  # no study's ids start so


def check_default(default: object, space: Space | None) -> None:
    """Refuse a default that is no configuration of the space; without a space, one that is no dict.

    Example:
        >>> from imabo import Choice
        >>> check_default({"model": "smal"}, Space(model=Choice("small", "large")))
        Traceback (most recent call last):
        imabo.errors.InvalidConfig: the default is refused: parameter 'model' was given 'smal': ...
    """
    if not isinstance(default, dict):
        raise InvalidSetting(
            f"default is {show(default)}",
            "it must be a configuration, a dict of the parameters' values",
            "pass what your application serves without imabo",
        )
    if space is not None:
        try:
            space.validate(default)
        except InvalidConfig as error:
            what = f"the default is refused: {error.what}"
            raise InvalidConfig(what, error.why, error.fix) from None


def default_pull(
    default: dict[str, Any], context: object = None, *, key: str | None = None, part: int = 0
) -> Pull:
    """A pull that serves the default: no study knows it, and its reward goes nowhere."""
    return Pull(
        id=f"{DEFAULT_PREFIX}{secrets.token_hex(8)}",
        arm=0,
        config=dict(default),
        reason="default",
        served_at=datetime.now(UTC),
        context=context,
        key=key,
        part=part,
    )
