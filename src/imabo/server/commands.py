"""``imabo serve``, ``imabo keys`` and ``imabo webhook``: the service from the shell."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final

from imabo.documents import stamp, to_datetime
from imabo.errors import InvalidSetting, MissingExtra
from imabo.server import webhook_commands
from imabo.server.access import RANKS, make_key
from imabo.server.settings import MEANINGS, Settings, read_settings, values_text
from imabo.space.scalars import show
from imabo.stores import open_store
from imabo.stores.base import KeyRecord, Store

_METAVARS: Final = {"store": "URL", "host": "ADDRESS", "log_format": "FORMAT", "gateway": "FILE"}


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``serve``, ``keys`` and ``webhook`` to the command line."""
    serving = commands.add_parser(
        "serve",
        help="serve studies over HTTP",
        description="Serves the studies of a database over HTTP. Every setting can also be given "
        "in the environment (IMABO_PORT for --port) or in a TOML file; a flag counts before the "
        "environment, and that before the file.",
    )
    _add_sources(serving, list(MEANINGS))
    serving.add_argument("--json", action="store_true", help="say the address as a JSON document")
    serving.set_defaults(run=serve)
    keys = commands.add_parser("keys", help="access keys of the service: create, list, revoke")
    parts = keys.add_subparsers(required=True, metavar="command")
    creating = parts.add_parser("create", help="make a key and show it, this once")
    creating.add_argument("--name", required=True, help="whose key it is")
    creating.add_argument("--role", required=True, choices=list(RANKS), help="what it allows")
    creating.add_argument(
        "--study", action="append", metavar="NAME", help="limit it to this study; may be repeated"
    )
    creating.set_defaults(run=create_key)
    listing = parts.add_parser("list", help="the keys there are, without their secrets")
    listing.set_defaults(run=list_keys)
    revoking = parts.add_parser("revoke", help="refuse a key from now on")
    revoking.add_argument("id", help="see: list")
    revoking.set_defaults(run=revoke_key)
    for parser in (creating, listing, revoking):
        _add_sources(parser, ["store"])
        parser.add_argument("--json", action="store_true", help="one JSON document")
    webhook_commands.add_parser(commands, _add_sources, _settings)


def serve(options: argparse.Namespace) -> int:
    """Run the service until it is told to stop."""
    settings = _settings(options)
    try:
        from imabo.server import serving
    except ImportError as error:
        raise MissingExtra(
            f"the service needs {error.name}",
            "it is not installed with imabo itself",
            'run pip install "imabo[server]"',
        ) from error

    def ready(url: str) -> None:
        _say(json.dumps({"url": url}) if options.json else f"imabo serves {url}")

    return serving.serve(settings, ready)


def create_key(options: argparse.Namespace) -> int:
    """Make a key and print it."""
    studies = None if options.study is None else tuple(dict.fromkeys(options.study))
    text, record = make_key(options.name, options.role, studies, at=time.time())
    with _store(options) as store:
        store.put_key(record)
    _say(json.dumps({"key": text, **_shown(record)}) if options.json else text)
    sys.stderr.write("Keep it now: it is not stored and cannot be shown again.\n")
    return 0


def list_keys(options: argparse.Namespace) -> int:
    """Print the keys, one a line."""
    with _store(options) as store:
        known = store.keys()
    if options.json:
        _say(json.dumps({"keys": [_shown(key) for key in known]}))
    else:
        for key in known:
            studies = "all studies" if key.studies is None else ", ".join(map(repr, key.studies))
            state = f"made {to_datetime(key.created_at):%Y-%m-%d}"
            if key.revoked_at is not None:
                state += f", revoked {to_datetime(key.revoked_at):%Y-%m-%d}"
            _say(f"{key.id}  {key.role:6}  {key.name}  ({studies}; {state})")
    return 0


def revoke_key(options: argparse.Namespace) -> int:
    """Revoke a key."""
    with _store(options) as store:
        if not store.revoke_key(options.id, at=time.time()):
            raise InvalidSetting(
                f"the key is {show(options.id)}", "there is none of that id", "see: imabo keys list"
            )
    done = f"{options.id} is revoked; servers refuse it within a second"
    _say(json.dumps({"revoked": options.id}) if options.json else done)
    return 0


def _shown(key: KeyRecord) -> dict[str, Any]:
    """A key without its secret."""
    times = {"created_at": key.created_at, "revoked_at": key.revoked_at}
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "studies": None if key.studies is None else list(key.studies),
        **{name: None if at is None else stamp(to_datetime(at)) for name, at in times.items()},
    }


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()  # whoever starts the service waits for its address


def _add_sources(parser: argparse.ArgumentParser, names: list[str]) -> None:
    defaults = {field.name: field.default for field in fields(Settings)}
    parser.add_argument("--config", metavar="FILE", help="TOML file of settings (or IMABO_CONFIG)")
    for name in names:
        flag, default = f"--{name.replace('_', '-')}", defaults[name]
        text = f"{MEANINGS[name]} [{values_text(name)}]"
        if isinstance(default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=text)
        else:
            unit = name.rpartition("_")[2].upper()
            metavar = _METAVARS.get(name) or {"S": "SECONDS", "BYTES": "BYTES"}.get(unit, "N")
            parser.add_argument(flag, metavar=metavar, help=text)


def _settings(options: argparse.Namespace) -> Settings:
    return read_settings(vars(options), os.environ, options.config)


@contextmanager
def _store(options: argparse.Namespace) -> Iterator[Store]:
    store = open_store(_settings(options).store)
    try:
        yield store
    finally:
        store.close()
