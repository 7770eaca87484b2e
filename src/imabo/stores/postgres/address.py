"""The URL of a PostgreSQL store: read once, and shown without its password."""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from imabo.errors import InvalidSetting


def parsed(url: str) -> URL:
    """A URL ``postgresql://user:password@host:port/database``, for the driver psycopg.

    Example:
        >>> parsed("postgresql://anna:secret@db.example/tuning").drivername
        'postgresql+psycopg'
    """
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        # Nothing of it is shown: there is no telling where the password is.
        raise InvalidSetting(
            "the store's URL starts with postgresql:// and cannot be read",
            "it must look like postgresql://user:password@host:5432/database",
            "write special characters in the user and the password as %XX, '@' as %40 for one",
        ) from None
    if found.drivername not in ("postgresql", "postgresql+psycopg"):
        raise InvalidSetting(
            f"the store's URL names the driver {found.drivername!r}",
            "imabo speaks to PostgreSQL through psycopg 3",
            "start the URL with postgresql://",
        )
    return found.set(drivername="postgresql+psycopg")


def shown(url: URL) -> str:
    """The database as messages name it: no password, and no options, where one may be too.

    Example:
        >>> shown(parsed("postgresql://anna:secret@db.example/tuning?password=secret"))
        'PostgreSQL at anna@db.example/tuning'
    """
    hosts = url.query.get("host", ())
    host = ",".join([hosts] if isinstance(hosts, str) else hosts)
    place = f"{host or url.host or 'localhost'}{f':{url.port}' if url.port else ''}"
    user = f"{url.username}@" if url.username else ""
    return f"PostgreSQL at {user}{place}/{url.database or ''}"
