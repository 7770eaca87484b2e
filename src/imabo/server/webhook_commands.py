"""``imabo webhook``: webhooks from the shell, in the database that servers send from."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from imabo.errors import InvalidSetting
from imabo.server.webhooks import (
    check_address,
    check_room,
    delivery_document,
    make_webhook,
    webhook_document,
)
from imabo.space.scalars import show
from imabo.stores import open_store
from imabo.stores.base import DeliveryRecord, Store

_LOOK_EVERY_S: Final = 0.1

Settings = Callable[[argparse.Namespace], Any]
AddSources = Callable[[argparse.ArgumentParser, list[str]], None]


def add_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_sources: AddSources,
    settings: Settings,
) -> None:
    """Add ``webhook`` to the command line, with the sources of settings that servers have."""
    webhook = commands.add_parser(
        "webhook",
        help="tell other services what happens: add, list, remove, deliveries, again, test",
    )
    parts = webhook.add_subparsers(required=True, metavar="command")

    def part(name: str, run: Callable[[argparse.Namespace, Store], None], words: str) -> Any:
        parser = parts.add_parser(name, help=words)
        if name not in ("add", "list"):
            parser.add_argument("id", help="see: list")
        add_sources(parser, ["store", "allow_private_webhooks"] if name == "add" else ["store"])
        parser.add_argument("--json", action="store_true", help="one JSON document")
        parser.set_defaults(run=_on_store(run, settings))
        return parser

    adding = part("add", add, "send events to an address from now on, signed")
    adding.add_argument("url", help="https://...; better a path that nobody guesses")
    adding.add_argument(
        "--secret-file",
        metavar="FILE",
        help="what to sign with, in a file (- for stdin); by default one is made and shown, this "
        "once",
    )
    adding.add_argument(
        "--kind", action="append", metavar="KIND", help="only this kind; may be repeated"
    )
    adding.add_argument(
        "--study", action="append", metavar="NAME", help="only this study; may be repeated"
    )
    part("list", show_all, "the webhooks there are, without their secrets")
    part("remove", remove, "stop sending to one, also what waits for it")
    deliveries = part("deliveries", show_deliveries, "what was sent to one, the newest first")
    deliveries.add_argument("--limit", type=int, default=20, metavar="N", help="(%(default)s)")
    again = part("again", send_again, "send one once more what one of its deliveries carried")
    again.add_argument("delivery", type=int, help="see: deliveries")
    testing = part("test", test, "send one an event that means nothing; a server must be running")
    testing.add_argument(
        "--wait", type=float, default=15.0, metavar="S", help="seconds to wait (%(default)s)"
    )


def add(options: argparse.Namespace, store: Store) -> None:
    """Add a webhook and print its id, and the secret that was made."""
    now = time.time()
    given = None if options.secret_file is None else _read(options.secret_file)
    made = make_webhook(options.url, given, options.kind, options.study, at=now)
    allowed = options.settings.allow_private_webhooks
    asyncio.run(check_address(made.url, allow_private=allowed))
    check_room(store)
    store.put_webhook(made, at=now)
    secret = made.secret if given is None else None
    if options.json:
        _say(json.dumps(webhook_document(made) | {"secret": secret}))
    else:
        _say(made.id if secret is None else f"{made.id} {secret}")
    if secret is not None:
        sys.stderr.write("Keep the secret now: it is not shown again.\n")


def show_all(options: argparse.Namespace, store: Store) -> None:
    """Print the webhooks, one a line."""
    found = [webhook_document(webhook) for webhook in store.webhooks()]
    if options.json:
        _say(json.dumps({"webhooks": found}))
        return
    if not found:
        _say("There is no webhook yet. To add one: imabo webhook add https://ops.example/imabo")
    for one in found:
        limits = [
            ", ".join(map(repr, one[name])) if one[name] is not None else f"all {name}"
            for name in ("kinds", "studies")
        ]
        _say(f"{one['id']}  {one['url']}  ({'; '.join(limits)}; added {one['created_at'][:10]})")


def remove(options: argparse.Namespace, store: Store) -> None:
    """Remove a webhook."""
    if not store.remove_webhook(options.id, at=time.time()):
        raise _unknown(options.id)
    done = f"{options.id} is removed; nothing more is sent there"
    _say(json.dumps({"removed": options.id}) if options.json else done)


def show_deliveries(options: argparse.Namespace, store: Store) -> None:
    """Print the newest deliveries of a webhook, one a line."""
    if all(webhook.id != options.id for webhook in store.webhooks()):
        raise _unknown(options.id)
    found = store.deliveries(options.id, limit=min(max(options.limit, 1), 1000))
    if options.json:
        _say(json.dumps({"deliveries": [delivery_document(one) for one in found]}))
        return
    for one in found:
        _say(_line(one))


def send_again(options: argparse.Namespace, store: Store) -> None:
    """Queue what a delivery carried once more; a server sends it."""
    if all(webhook.id != options.id for webhook in store.webhooks()):
        raise _unknown(options.id)
    made = None if options.delivery < 1 else store.send_again(options.id, options.delivery)
    if made is None:
        raise InvalidSetting(
            f"the delivery is {options.delivery}",
            f"webhook {options.id} has none of that id",
            f"see: imabo webhook deliveries {options.id}",
        )
    (found,) = store.deliveries(options.id, before=made + 1, limit=1)
    _say(json.dumps(delivery_document(found)) if options.json else _line(found))


def test(options: argparse.Namespace, store: Store) -> None:
    """Queue a test, and wait for a server to send it."""
    made = store.test_webhook(options.id, at=time.time())
    if made is None:
        raise _unknown(options.id)
    until = time.monotonic() + options.wait
    while True:
        (found,) = store.deliveries(options.id, before=made + 1, limit=1)
        if found.status is not None or found.problem is not None or time.monotonic() >= until:
            break
        time.sleep(_LOOK_EVERY_S)
    _say(json.dumps(delivery_document(found)) if options.json else _line(found))
    if found.state != "delivered":
        raise InvalidSetting(
            f"the test of {options.id} is not delivered",
            found.problem or f"no server sent it within {options.wait:g} s",
            "check the address, or start a server on this database: imabo serve",
        )


def _line(one: DeliveryRecord) -> str:
    shown = delivery_document(one)
    times = f"{one.tries} {'try' if one.tries == 1 else 'tries'}"
    line = f"{one.id}  event {one.event.id}  {one.event.kind}  {one.state} after {times}"
    if shown["next_at"] is not None:
        line += f", again at {shown['next_at'][:19]}Z"
    told = one.problem or ("" if one.status is None else f"answered {one.status}")
    line += f": {told}" if told else ""
    return "".join(char if char.isprintable() else "?" for char in line)


def _on_store(
    run: Callable[[argparse.Namespace, Store], None], settings: Settings
) -> Callable[[argparse.Namespace], int]:
    def command(options: argparse.Namespace) -> int:
        options.settings = settings(options)
        store = open_store(options.settings.store)
        try:
            run(options, store)
        finally:
            store.close()
        return 0

    return command


def _read(path: str) -> str:
    """A secret in a file: not on the command line, which others on this machine can see."""
    try:
        if path == "-":
            return sys.stdin.read().strip()
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(
            f"the secret's file is {show(path)}",
            f"it cannot be read ({error})",
            "check its name and content",
        ) from error


def _unknown(webhook_id: str) -> InvalidSetting:
    return InvalidSetting(
        f"the webhook is {show(webhook_id)}", "there is none of that id", "see: imabo webhook list"
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
