"""Settings of the service: by flag, environment or TOML file, in this order, else a default."""

from __future__ import annotations

import ipaddress
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from imabo.errors import InvalidSetting
from imabo.space.scalars import show

METRICS_FOLDER: Final = "IMABO_METRICS_FOLDER"
CONFIG: Final = "IMABO_CONFIG"
LOG_FORMATS: Final = ("text", "json")

# What each setting means; the command line and the documentation say it in these words.
MEANINGS: Final[Mapping[str, str]] = {
    "store": "URL of the database: sqlite:///imabo.db or postgresql://user@host/name",
    "store_limit_s": "seconds that the database may take for one thing; then the answer is 503",
    "host": "address to listen on",
    "port": "port to listen on; 0 takes a free one",
    "workers": "processes that serve, on one socket and one database",
    "allow_open": "serve other machines although there is no key: anyone who reaches the port "
    "may do everything",
    "retention_s": "seconds that finished pulls are kept; for ever by default",
    "log_format": "text, or json: JSON lines with a line a request",
    "max_body_bytes": "the longest body of a request",
    "max_import_bytes": "the longest log that is imported",
    "drain_s": "seconds that requests under way get when the service is stopped",
    "proposals": "prepare proposals in the background, so that no request waits for an oracle",
    "poll_s": "seconds after which other processes' changes are looked for at the latest",
    "queue_limit": "requests that may wait for a commit; more are refused for the moment",
    "study_queue_limit": "requests of one study that may wait for a commit; more are refused for "
    "the moment",
    "commit_threads": "studies that are worked on at once; one that is stuck keeps one of them",
    "max_exports": "exports that run at once; more are refused for the moment",
    "stall_s": "seconds after which a caller that does not read its answer is cut off",
    "receive_s": "seconds in which the head of a request must come, and then its body; of an "
    "import, the next piece of it",
    "max_head_bytes": "the longest head of a request: its line and all its headers",
    "max_connections": "connections that may be open at once; more are refused for the moment",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the service runs; every value is checked (``MEANINGS`` says what each one is).

    Example:
        >>> Settings(port=80).port
        80
        >>> Settings(workers=0)
        Traceback (most recent call last):
        imabo.errors.InvalidSetting: workers is 0: it must be a whole number from 1 to 256...
    """

    store: str = "sqlite:///imabo.db"
    store_limit_s: float = 8.0
    host: str = "127.0.0.1"
    port: int = 8766
    workers: int = 1
    allow_open: bool = False
    retention_s: float | None = None
    log_format: str = "text"
    max_body_bytes: int = 1_048_576
    max_import_bytes: int = 1_073_741_824
    drain_s: float = 30.0
    proposals: bool = True
    poll_s: float = 1.0
    queue_limit: int = 10_000
    study_queue_limit: int = 2_000
    commit_threads: int = 8
    max_exports: int = 4
    stall_s: float = 30.0
    receive_s: float = 20.0
    max_head_bytes: int = 32_768
    max_connections: int = 2_000

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name), field.name)


def read_settings(
    flags: Mapping[str, object], environ: Mapping[str, str], path: str | None = None
) -> Settings:
    """The settings from all their sources.

    Args:
        flags: What the command line says, as texts or booleans; None where it says nothing.
        environ: The environment: ``IMABO_STORE``, ``IMABO_PORT`` and so on.
        path: A TOML file; ``IMABO_CONFIG`` by default, else none.

    Example:
        >>> read_settings({"port": "1234"}, {"IMABO_PORT": "80", "IMABO_HOST": "::1"}).port
        1234
    """
    path = path or environ.get(CONFIG) or None
    written = {} if path is None else _read_file(path)
    found: dict[str, Any] = {}
    for name in MEANINGS:
        flag, variable = f"--{name.replace('_', '-')}", f"IMABO_{name.upper()}"
        if flags.get(name) is not None:
            found[name] = _from_text(name, flags[name], flag)
        elif environ.get(variable):
            found[name] = _from_text(name, environ[variable], variable)
        elif name in written:
            found[name] = _check(name, written[name], f"{name} in {path}")
    return Settings(**found)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_WHOLE: Final = {
    "port": (0, 65_535),
    "workers": (1, 256),
    "max_body_bytes": (1024, 1 << 30),
    "max_import_bytes": (1024, 1 << 40),
    "queue_limit": (1, 1_000_000),
    "study_queue_limit": (1, 1_000_000),
    "commit_threads": (1, 256),
    "max_exports": (1, 1000),
    "max_head_bytes": (1024, 1 << 20),
    "max_connections": (1, 1_000_000),
}
_SECONDS: Final = {
    "store_limit_s": (0.1, 3600.0),
    "retention_s": (1.0, 1e10),
    "drain_s": (0.0, 3600.0),
    "poll_s": (0.01, 60.0),
    "stall_s": (0.1, 3600.0),
    "receive_s": (0.1, 3600.0),
}
_WORDS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _check(name: str, value: object, source: str) -> object:
    """A value as its setting has it; ``source`` is where it came from."""
    if name in _WHOLE:
        low, high = _WHOLE[name]
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise _wrong(source, value, f"it must be a whole number from {low} to {high}")
    if name in _SECONDS:
        if value is None and name == "retention_s":
            return None
        least, most = _SECONDS[name]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and math.isfinite(value) and least <= value <= most:  # type: ignore[arg-type, operator]
            return float(value)  # type: ignore[arg-type]
        raise _wrong(source, value, f"it must be a number of seconds from {least:g} to {most:g}")
    if name in ("allow_open", "proposals"):
        if isinstance(value, bool):
            return value
        raise _wrong(source, value, "it must be true or false")
    if name == "log_format" and value not in LOG_FORMATS:
        raise _wrong(source, value, f"it must be one of {', '.join(LOG_FORMATS)}")
    if not isinstance(value, str) or not value or "\0" in value:
        raise _wrong(source, value, "it must be text")
    return value


def _from_text(name: str, value: object, source: str) -> object:
    if isinstance(value, str):
        try:
            if name in _WHOLE:
                value = int(value)
            elif name in _SECONDS:
                value = float(value)
            elif name in ("allow_open", "proposals"):
                value = _WORDS.get(value.lower(), value)
        except ValueError:
            pass  # the check says what is wrong with it
    return _check(name, value, source)


def _read_file(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            found = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"the settings file is {show(path)}", f"it cannot be read ({error})", "correct it"
        ) from error
    unknown = sorted(set(found) - set(MEANINGS))
    if unknown:
        raise InvalidSetting(
            f"{path} sets {unknown[0]!r}",
            f"there are the settings {', '.join(MEANINGS)}",
            "remove it or correct its spelling",
        )
    return found


def _wrong(source: str, value: object, why: str) -> InvalidSetting:
    return InvalidSetting(f"{source} is {show(value)}", why, "change it there")
