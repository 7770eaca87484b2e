"""Where studies are: a database that is opened here, or a service; commands do not care which."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from imabo.cli.exits import UsageError
from imabo.errors import StoreError
from imabo.server.settings import read_settings
from imabo.space.scalars import show
from imabo.stores import Store, open_store

if TYPE_CHECKING:
    from imabo.cli.database_place import DatabasePlace
    from imabo.cli.service_place import ServicePlace

TableQuery = dict[str, str | int | bool]


# What commands ask of a place; documents have the shapes of the HTTP API.
Place: TypeAlias = "DatabasePlace | ServicePlace"


@contextmanager
def place_of(options: argparse.Namespace) -> Iterator[Place]:
    """The place that a command line means."""
    url = service_url(options)
    if url is None:
        from imabo.cli.database_place import DatabasePlace

        with store_of(options) as store, closing(DatabasePlace(store)) as database:
            yield database
    else:
        with service_of(options, url) as service:
            yield service


def service_of(options: argparse.Namespace, url: str) -> closing[ServicePlace]:
    """The service at an address, with the key that a command line means."""
    from imabo.cli.service_place import ServicePlace

    return closing(ServicePlace(url, options.key or os.environ.get("IMABO_KEY") or None))


def store_of(options: argparse.Namespace, *, may_create: bool = False) -> closing[Store]:
    """The database that a command line means."""
    url = read_settings({"store": options.store}, os.environ).store
    path = url.removeprefix("sqlite:///")
    # Reading a database must not make one: a typo would look like an empty one.
    if not may_create and path != url and path and not Path(path).exists():
        raise StoreError(
            f"there is no database {path!r}",
            "the file does not exist",
            "pass --store URL for another database, or --url URL for a service",
        )
    return closing(open_store(url))


def service_url(options: argparse.Namespace) -> str | None:
    """The address of the service that a command line means; None when it means a database.

    Flags count before the environment; a database and a service at once are refused.
    """
    if options.store and options.url:
        raise UsageError("--store and --url exclude each other", options.command)
    environ = os.environ
    named = "--url" if options.url else "IMABO_URL"
    url: str | None = options.url or (None if options.store else environ.get("IMABO_URL")) or None
    if url and not options.url and environ.get("IMABO_STORE"):
        raise UsageError(
            "IMABO_STORE and IMABO_URL are both set; say which with --store or --url",
            options.command,
        )
    if url and not url.startswith(("http://", "https://")):
        near = "" if "://" in url else f"; did you mean 'http://{url}'?"
        raise UsageError(
            f"{named} is {show(url)}, which is not the http or https address of a service{near}",
            options.command,
        )
    if options.key and not url:
        raise UsageError("--key is for a service; give its address with --url", options.command)
    return url
