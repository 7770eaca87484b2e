"""Reading a TOML file value by value: what is wrong is said with its place, its value and a fix."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from imabo.errors import InvalidSetting
from imabo.space.scalars import show
from imabo.spelling import closest

# What has such a name in its place may be a key, and errors end up in logs.
_SECRET: Final = re.compile("key|token|secret|password|authorization|bearer", re.IGNORECASE)
_VARIABLE: Final = re.compile("[A-Z][A-Z0-9_]*")
_NAMED: Final = "the name of an environment variable; a key itself does not belong into the file"


class Table:
    """A table of the file; every value is taken once, and what nobody took is an error.

    Args:
        place: Where it stands in the file, as ``routes.answers``; empty for the file itself.
        values: What it says.

    Example:
        >>> table = Table("gateway", {"max_body_byte": 5})
        >>> table.number("max_body_bytes", 100, low=1, high=1000)
        100
        >>> table.end()
        Traceback (most recent call last):
        imabo.errors.InvalidSetting: gateway.max_body_byte is 5: gateway takes max_body_bytes. To...
    """

    def __init__(self, place: str, values: Mapping[str, Any]) -> None:
        self.place = place
        self._values = values
        self._taken: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def at(self, name: str) -> str:
        """The place of one of its values."""
        return f"{self.place}.{name}" if self.place else name

    def take(self, name: str) -> Any:
        """A value as it is; None where the file does not say it."""
        self._taken.append(name)
        return self._values.get(name)

    def wrong(self, name: str, why: str, fix: str) -> InvalidSetting:
        """The error of one of its values."""
        value = self._values.get(name)
        is_plain = value is None or isinstance(value, bool | int | float)
        if name not in self._values:
            said = "missing"
        elif not is_plain and _SECRET.search(self.at(name)):
            said = "set to something that is not shown, since it may be a key"
        elif isinstance(value, Mapping) and value:
            said = "a table"  # what is in it may be a key
        else:
            said = hidden(show(value))
        return InvalidSetting(f"{self.at(name)} is {said}", why, fix)

    def text(self, name: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self.take(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value or not value.isprintable():
            raise self.wrong(name, "it must be a text in one line", f'write {name} = "..."')
        return value

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        """One of some words; the first where the file does not say it."""
        value = self.text(name, choices[0])
        if value not in choices:
            close = closest(value, choices) or choices[0]
            raise self.wrong(name, f"it must be one of {', '.join(choices)}", f"write {close!r}")
        return value

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        """A number from ``low`` to ``high``; a whole one where the default is."""
        value = self.take(name)
        if value is None:
            return default
        kinds = int if isinstance(default, int) else (int, float)
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not low <= value <= high:
            kind = "whole number" if kinds is int else "number"
            why = f"it must be a {kind} from {low:g} to {high:g}"
            raise self.wrong(name, why, f"leave it out for {default:g}, or change it")
        found: float = value
        return found

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.take(name)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(name, "it must be true or false", f"leave it out for {default}")
        return default if value is None else value

    def url(self, name: str, default: str | None = None) -> str:
        """The address of a server, without a slash at its end."""
        value = self.text(name, default)
        try:
            parts = urlsplit(value)
            is_good = parts.scheme in ("http", "https") and bool(parts.hostname)
            is_good = is_good and "@" not in parts.netloc and not parts.query and not parts.fragment
            is_good = is_good and (parts.port is None or parts.port > 0)
        except ValueError:
            is_good = False
        if not is_good:
            why = "it must be an address: http or https, a host, no name or password"
            raise self.wrong(name, why, 'write "http://127.0.0.1:8766", say')
        return value.rstrip("/")

    def secret(self, name: str, environ: Mapping[str, str]) -> str | None:
        """What the environment variable holds that the file names; None where it names none."""
        if self.take(name) is None:
            return None
        variable = self.text(name)
        if not variable.replace("_", "a").isalnum() or not variable.isascii():
            # It may be the key itself, so it is not repeated.
            raise InvalidSetting(
                f"{self.at(name)} is no such name", f"it is {_NAMED}", "correct it"
            )
        value = environ.get(variable, "")
        if not value and not _VARIABLE.fullmatch(variable):
            raise InvalidSetting(
                f"{self.at(name)} names a variable that is not set, and is not shown",
                f"it is {_NAMED}",
                "write the variable's name there, in capital letters, and set it to the key",
            )
        if not value or not value.isascii() or not value.isprintable() or " " in value:
            said = "not set" if not value else "set to something that cannot be a key"
            raise InvalidSetting(
                f"{self.at(name)} is {variable!r}, which is {said}",
                "the key is read from this environment variable",
                f"set {variable} to the key, or leave {name} out",
            )
        return value

    def table(self, name: str) -> Table:
        """A table within it, perhaps empty."""
        value = self.take(name)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.wrong(name, "it must be a table", f"write [{self.at(name)}]")
        return Table(self.at(name), value)

    def tables(self) -> dict[str, Table]:
        """All that it has, each a table, by name."""
        return {name: self.table(name) for name in self._values}

    def items(self) -> dict[str, Any]:
        """All that it has, as it is."""
        self._taken += self._values
        return dict(self._values)

    def end(self) -> None:
        """Refuse what nobody took."""
        for name in self._values:
            if name not in self._taken:
                close = closest(name, self._taken)
                raise self.wrong(
                    name,
                    f"{self.place or 'the file'} takes {', '.join(dict.fromkeys(self._taken))}",
                    f"write {close!r}, or remove it" if close else "remove it",
                )


def hidden(text: str) -> str:
    """A text without the password of a URL in it.

    Example:
        >>> hidden("postgresql://imabo:pw@db/imabo?password=pw")
        'postgresql://...@db/imabo?password=...'
    """
    text = re.sub(r"//.*@", "//...@", text)
    return re.sub(r"(password=)[^&\s'\"]*", r"\1...", text)


def read_toml(path: str | os.PathLike[str]) -> Table:
    """The file as a table."""
    import tomllib

    try:
        with Path(path).open("rb") as file:
            return Table("", tomllib.load(file))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidSetting(
            f"the gateway's file is {show(str(path))}",
            f"it cannot be read ({reason})",
            "correct it",
        ) from error
