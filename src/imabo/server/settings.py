"""Settings of the service: by flag, environment or TOML file, in this order, else a default."""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from imabo.errors import InvalidSetting
from imabo.space.scalars import show

METRICS_FOLDER: Final = "IMABO_METRICS_FOLDER"
CONFIG: Final = "IMABO_CONFIG"
LOG_FORMATS: Final = ("text", "json")


def _setting(default: Any, meaning: str, low: float = 0, high: float = 0) -> Any:
    """A setting, with its ends where it is a number (whole, or of seconds)."""
    return field(default=default, metadata={"meaning": meaning, "ends": (low, high)})


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

    store: str = _setting(
        "sqlite:///imabo.db",
        "URL of the database: sqlite:///imabo.db or postgresql://user@host/name",
    )
    store_limit_s: float = _setting(
        8.0, "seconds that the database may take for one thing; then the answer is 503", 0.1, 3600.0
    )
    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8766, "port to listen on; 0 takes a free one", 0, 65_535)
    workers: int = _setting(1, "processes that serve, on one socket and one database", 1, 256)
    allow_open: bool = _setting(
        False,
        "serve other machines although there is no key: anyone who reaches the port may do "
        "everything",
    )
    retention_s: float | None = _setting(
        None, "seconds that finished pulls are kept; for ever by default", 1.0, 1e10
    )
    log_format: str = _setting("text", "text, or json: JSON lines with a line a request")
    max_body_bytes: int = _setting(1_048_576, "the longest body of a request", 1024, 1 << 30)
    max_import_bytes: int = _setting(
        1_073_741_824, "the longest log that is imported", 1024, 1 << 40
    )
    drain_s: float = _setting(
        30.0, "seconds that requests under way get when the service is stopped", 0.0, 3600.0
    )
    proposals: bool = _setting(
        True, "prepare proposals in the background, so that no request waits for an oracle"
    )
    poll_s: float = _setting(
        1.0, "seconds after which other processes' changes are looked for at the latest", 0.01, 60.0
    )
    queue_limit: int = _setting(
        10_000, "requests that may wait for a commit; more are refused for the moment", 1, 1_000_000
    )
    study_queue_limit: int = _setting(
        2_000,
        "requests of one study that may wait for a commit; more are refused for the moment",
        1,
        1_000_000,
    )
    commit_threads: int = _setting(
        8, "studies that are worked on at once; one that is stuck keeps one of them", 1, 256
    )
    max_exports: int = _setting(
        4, "exports that run at once; more are refused for the moment", 1, 1000
    )
    stall_s: float = _setting(
        30.0, "seconds after which a caller that does not read its answer is cut off", 0.1, 3600.0
    )
    receive_s: float = _setting(
        20.0,
        "seconds in which the head of a request must come, and then its body; of an import, the "
        "next piece of it",
        0.1,
        3600.0,
    )
    max_head_bytes: int = _setting(
        32_768, "the longest head of a request: its line and all its headers", 1024, 1 << 20
    )
    max_connections: int = _setting(
        2_000, "connections that may be open at once; more are refused for the moment", 1, 1_000_000
    )

    gateway: str | None = _setting(
        None, "TOML file of a gateway (see imabo gateway) to serve beside the studies, at /v1"
    )
    allow_private_webhooks: bool = _setting(
        False, "send webhooks to addresses of private networks and of this machine, too"
    )

    def __post_init__(self) -> None:
        for name in _FIELDS:
            _check(name, getattr(self, name), name)


_FIELDS: Final = {setting.name: setting for setting in fields(Settings)}
# What each setting means; the command line and the documentation say it in these words.
MEANINGS: Final[Mapping[str, str]] = {n: f.metadata["meaning"] for n, f in _FIELDS.items()}


def values_text(name: str) -> str:
    """What a setting is by default and may be, for the help.

    Example:
        >>> values_text("port"), values_text("retention_s")
        ('8766; from 0 to 65535', 'none; from 1 to 1e+10')
    """
    default: object = _FIELDS[name].default
    low, high = _FIELDS[name].metadata["ends"]
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, str):
        return default
    if isinstance(default, int):
        return f"{default}; from {low} to {high}"
    if not high:
        return "none"
    shown = f"{default:g}" if isinstance(default, float) else "none"
    return f"{shown}; from {low:g} to {high:g}"


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


_WORDS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _check(name: str, value: object, source: str) -> object:
    """A value as its setting has it; ``source`` is where it came from."""
    default = _FIELDS[name].default
    low, high = _FIELDS[name].metadata["ends"]
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise _wrong(source, value, "it must be true or false")
    if isinstance(default, int):
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise _wrong(source, value, f"it must be a whole number from {low} to {high}")
    if value is None and default is None:
        return None
    if not isinstance(default, str) and high:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
            return float(value)
        raise _wrong(source, value, f"it must be a number of seconds from {low:g} to {high:g}")
    if name == "log_format" and value not in LOG_FORMATS:
        raise _wrong(source, value, f"it must be one of {', '.join(LOG_FORMATS)}")
    if not isinstance(value, str) or not value or "\0" in value:
        raise _wrong(source, value, "it must be text")
    return value


def _from_text(name: str, value: object, source: str) -> object:
    if isinstance(value, str):
        default = _FIELDS[name].default
        with suppress(ValueError):  # the check says what is wrong with it
            if isinstance(default, bool):
                value = _WORDS.get(value.lower(), value)
            elif isinstance(default, int):
                value = int(value)
            elif not isinstance(default, str) and _FIELDS[name].metadata["ends"] != (0, 0):
                value = float(value)
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
