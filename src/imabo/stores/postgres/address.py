"""The URL of a PostgreSQL store: read once, and shown without its password."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from imabo.errors import InvalidSetting

# A password may contain anything but an @, also what libpq would have escaped.
_URL: Final = re.compile(
    r"(?P<driver>[\w+]+)://(?:(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@)?"
    r"(?:\[(?P<ipv6>[^/?]+)\]|(?P<host>[^/:?]+))?(?::(?P<port>\d*))?"
    r"(?:/(?P<dbname>[^?]*))?(?:\?(?P<options>.*))?"
)


class Address(NamedTuple):
    """Where a database is: what the driver is told, and what messages call it."""

    options: dict[str, Any]
    shown: str


def parsed(url: str) -> Address:
    """A URL ``postgresql://user:password@host:port/database``, with options of libpq after it.

    It is shown without a password, and without options, where one may be too.

    Example:
        >>> parsed("postgresql://anna:secret@db.example/tuning?password=secret").shown
        'PostgreSQL at anna@db.example/tuning'
    """
    found = _URL.fullmatch(url)
    if found is None:
        # Nothing of it is shown: there is no telling where the password is.
        raise InvalidSetting(
            "the store's URL starts with postgresql:// and cannot be read",
            "it must look like postgresql://user:password@host:5432/database",
            "write special characters in the user and the password as %XX, '@' as %40 for one",
        )
    driver, host, port = found["driver"], found["host"] or found["ipv6"], found["port"]
    if driver not in ("postgresql", "postgresql+psycopg"):
        raise InvalidSetting(
            f"the store's URL names the driver {driver!r}",
            "imabo speaks to PostgreSQL through psycopg 3",
            "start the URL with postgresql://",
        )
    named = {key: unquote(found[key] or "") for key in ("user", "password", "dbname")}
    given = {key: value for key, value in (named | {"host": host, "port": port}).items() if value}
    options: dict[str, list[str]] = {}
    for key, value in parse_qsl(found["options"] or ""):
        options.setdefault(key, []).append(value)
    listed = {key: ",".join(values) for key, values in options.items()}
    hosts = options.get("host", [])
    if len(hosts) > 1 or ":" in "".join(hosts):  # each may have a port of its own
        parts = [one.partition(":") for one in hosts]
        listed |= {"host": ",".join(p[0] for p in parts), "port": ",".join(p[2] for p in parts)}
    user = f"{named['user']}@" if named["user"] else ""
    place = f"{','.join(hosts) or host or 'localhost'}{f':{port}' if port else ''}"
    return Address(given | listed, f"PostgreSQL at {user}{place}/{named['dbname']}")
