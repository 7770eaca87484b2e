"""Which models there are and where: a TOML file."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from imabo.errors import InvalidSetting

READY: Final = ("local", "hosted")  # settings files that come with the package


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """An OpenAI-compatible endpoint and how patient to be with it.

    Args:
        url: Its address up to and with the version, such as ``http://127.0.0.1:8777/v1``.
        models: Names of its models, at least one.
        key: The access key, None for none; it is never shown.
        key_variable: The environment variable that holds the key instead.
        timeout_s: How long to wait for a part of an answer; above 0.
        retries: Attempts after the first when it is overloaded; at least 0.
        base_s: The longest wait before the first of them, in seconds; it doubles each time.
        longest_s: What it grows to at most.
        max_tokens: The longest answer; the endpoint's own limit when None.
        seed: Of its random draws, for endpoints that take one.

    Example:
        >>> EndpointSettings("http://127.0.0.1:8777/v1", ("small",)).retries
        20
    """

    url: str
    models: tuple[str, ...]
    key: str | None = None
    key_variable: str | None = None
    timeout_s: float = 60.0
    retries: int = 20
    base_s: float = 2.0
    longest_s: float = 300.0
    max_tokens: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        address = urlsplit(self.url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise _refused("url", self.url, "it is no address of http or https")
        if not self.models or len(set(self.models)) < len(self.models):
            raise _refused("models", self.models, "each model must be named, and once")
        if not 0 < self.timeout_s < math.inf:
            raise _refused("timeout_s", self.timeout_s, "it must be above 0")
        for name in ("retries", "base_s", "longest_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise _refused(name, getattr(self, name), "it must be at least 0")

    def __repr__(self) -> str:
        """Without the key."""
        return f"EndpointSettings({self.url!r}, {self.models!r})"

    @property
    def access_key(self) -> str | None:
        """The key to send: the one given, else that of the variable."""
        if self.key is not None or self.key_variable is None:
            return self.key
        found = os.environ.get(self.key_variable)
        if not found:
            raise InvalidSetting(
                f"the variable {self.key_variable} is not set",
                "the settings say that the endpoint's key is there",
                f"set {self.key_variable}, or take key_variable out of the settings",
            )
        return found


def read_settings(name: str | os.PathLike[str]) -> EndpointSettings:
    """Read a settings file.

    Args:
        name: A path, or ``local`` or ``hosted`` for the ones that come with the package.

    Example:
        >>> len(read_settings("hosted").models)
        6
    """
    own = files("imabo_rag").joinpath(f"settings/{name}.toml")
    try:
        text = (own if name in READY else Path(name)).read_text(encoding="utf-8")
        table = tomllib.loads(text)["endpoint"]
    except (OSError, ValueError, KeyError) as error:
        raise InvalidSetting(
            f"cannot read the settings {str(name)!r}",
            f"{type(error).__name__}: {error}",
            "name a TOML file with a table [endpoint]",
        ) from error
    return endpoint_from(table)


def endpoint_from(table: Mapping[str, Any]) -> EndpointSettings:
    """The settings of a TOML table.

    Example:
        >>> endpoint_from({"url": "http://127.0.0.1:1/v1", "models": ["one"]}).models
        ('one',)
    """
    known = {field.name for field in fields(EndpointSettings)}
    unknown = sorted(table.keys() - known)
    if unknown:
        raise _refused(unknown[0], table[unknown[0]], f"there are only {', '.join(sorted(known))}")
    try:
        return EndpointSettings(**dict(table) | {"models": tuple(table["models"])})
    except (KeyError, TypeError, AttributeError) as error:
        raise _refused("endpoint", sorted(table), str(error)) from error


def _refused(name: str, value: object, why: str) -> InvalidSetting:
    return InvalidSetting(f"{name} is {value!r}", why, "correct it in the settings file")
