"""Webhooks: adding, changing and removing them, and what became of their deliveries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from imabo.event_kinds import checked_kinds
from imabo.server import webhooks
from imabo.server.access import require_all
from imabo.server.context import Context, in_thread, respond
from imabo.server.problems import Refusal
from imabo.server.wire_events import DeliveriesQuery, WebhookBody, WebhookChangeBody
from imabo.space.scalars import show
from imabo.stores.base import Store, WebhookRecord

_LONGEST: Final = 18  # digits of a delivery's id


async def list_webhooks(context: Context) -> Response:
    """The webhooks there are, in order of creation."""
    found = await in_thread(_store(context).webhooks)
    return respond({"webhooks": [webhooks.webhook_document(one) for one in found]})


async def add_webhook(context: Context) -> Response:
    """Add a webhook: from now on, events that fit are sent to its address, signed.

    Addresses of private networks are refused, unless the service's settings allow them. A secret
    that is made here is in this answer and in no other.
    """
    store = _store(context)
    body, _ = await context.checked_body(WebhookBody)
    now = context.parts.registry.clock()
    made = webhooks.make_webhook(body.url, body.secret, body.kinds, body.studies, at=now)
    await _check_address(context, made.url)
    await in_thread(webhooks.check_room, store)
    await in_thread(lambda: store.put_webhook(made, at=now))
    secret = made.secret if body.secret is None else None
    return respond(webhooks.webhook_document(made) | {"secret": secret}, 201)


async def read_webhook(context: Context) -> Response:
    """A webhook."""
    return respond(webhooks.webhook_document(await _webhook(context)))


async def change_webhook(context: Context) -> Response:
    """Change a webhook; what already waits goes to the new address, with the new secret."""
    known = await _webhook(context)
    body, _ = await context.checked_body(WebhookChangeBody)
    changes: dict[str, Any] = {}
    if body.url is not None:
        changes["url"] = webhooks.checked_url(body.url)
        await _check_address(context, body.url)
    if body.secret is not None:
        changes["secret"] = webhooks.checked_secret(body.secret)
    for name in {"kinds", "studies"} & body.model_fields_set:
        changes[name] = webhooks.checked_names(name, getattr(body, name))
    checked_kinds(changes.get("kinds") or (), known=known.kinds or ())
    changed = replace(known, **changes)
    now = context.parts.registry.clock()
    if changed != known:
        await in_thread(lambda: _store(context).put_webhook(changed, at=now))
    return respond(webhooks.webhook_document(changed))


async def remove_webhook(context: Context) -> Response:
    """Remove a webhook with its deliveries; those that wait are not sent any more."""
    webhook, store = await _webhook(context), _store(context)
    now = context.parts.registry.clock()
    await in_thread(lambda: store.remove_webhook(webhook.id, at=now))
    return Response(status_code=204)


async def list_deliveries(context: Context) -> Response:
    """What was sent to a webhook, or is to be, the newest first.

    Finished ones are kept for 30 days.
    """
    webhook, query = await _webhook(context), context.checked_query(DeliveriesQuery)
    store = _store(context)
    found = await in_thread(
        lambda: store.deliveries(webhook.id, before=query.before, limit=query.limit)
    )
    more = found[-1].id if len(found) == query.limit else None
    shown = [webhooks.delivery_document(one) for one in found]
    return respond({"deliveries": shown, "next": more})


async def test_webhook(context: Context) -> Response:
    """Send a webhook an event of the kind ``webhook tested``, whatever kinds it wants.

    It is queued like any other: its deliveries say what became of it.
    """
    webhook, store = await _webhook(context), _store(context)
    now = context.parts.registry.clock()
    made = await in_thread(lambda: store.test_webhook(webhook.id, at=now))
    found = await in_thread(lambda: store.deliveries(webhook.id, before=(made or 0) + 1, limit=1))
    if made is None or not found:
        raise _unknown()
    return respond(webhooks.delivery_document(found[0]), 202)


async def send_again(context: Context) -> Response:
    """Send a webhook once more what one of its deliveries carried, as a delivery of its own.

    For one that was given up, or that the other side lost. The event keeps its id.
    """
    webhook, store = await _webhook(context), _store(context)
    number = context.params["delivery"]
    is_number = number.isascii() and number.isdigit() and len(number) <= _LONGEST
    made = None
    if is_number:
        made = await in_thread(lambda: store.send_again(webhook.id, int(number)))
    if made is None:
        why = "the webhook has no such delivery"
        fix = "list its deliveries; finished ones are kept for 30 days"
        raise Refusal("not_found", f"no delivery has the id {show(number)}", why, fix)
    found = await in_thread(lambda: store.deliveries(webhook.id, before=made + 1, limit=1))
    if not found:
        raise _unknown()
    return respond(webhooks.delivery_document(found[0]), 202)


def _store(context: Context) -> Store:
    """The store, for a caller that may know of all studies."""
    require_all(context.caller)
    return context.parts.registry.store


async def _webhook(context: Context) -> WebhookRecord:
    found = await in_thread(_store(context).webhooks)
    for webhook in found:
        if webhook.id == context.params["webhook"]:
            return webhook
    raise _unknown()


async def _check_address(context: Context, url: str) -> None:
    allow_private = context.parts.settings.allow_private_webhooks
    await webhooks.check_address(url, allow_private=allow_private)


def _unknown() -> Refusal:
    return Refusal("not_found", "no webhook has this id", "there is none", "list the webhooks")
