"""From a configuration to a request: fields, a system prompt, few-shot turns, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from imabo.errors import InvalidConfig, InvalidSetting
from imabo.gateway.bodies import Body, array, element
from imabo.gateway.settings import GatewaySettings, Insertion, Route, Target
from imabo.objective import Objective
from imabo.space import Choice, Space
from imabo.space.scalars import show
from imabo.spelling import closest

CHAT: Final = "chat/completions"
EMBEDDINGS: Final = "embeddings"
COUNTED: Final = frozenset(("input_tokens", "output_tokens", "tokens", "cost"))  # from tokens
_SYSTEM: Final = ("system", "developer")
# One word with two spellings: who sets one of them has set both.
_TWINS: Final = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
_OURS: Final = ("imabo_key", "imabo_context")


class Sent(NamedTuple):
    """What goes upstream, and the fields in which the caller's own values stayed.

    ``uncounted`` is the same without asking for the count of tokens, where neither the caller nor
    the file asks for it: the caller is not to see the count, nor to suffer from it.
    """

    target: Target
    body: bytes
    overridden: tuple[str, ...]
    uncounted: bytes | None = None


class Asked(NamedTuple):
    """What a request's metadata says to imabo."""

    key: str | None
    context: Any


def asked_of(document: Mapping[str, Any]) -> Asked:
    """The key and the context of a request, from its metadata.

    Values of metadata are texts, so a context may be JSON in one.

    Example:
        >>> asked_of({"metadata": {"imabo_key": "order-3", "imabo_context": '{"kind": "math"}'}})
        Asked(key='order-3', context={'kind': 'math'})
    """
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return Asked(None, None)
    key, context = metadata.get("imabo_key"), metadata.get("imabo_context")
    if isinstance(context, str):
        with suppress(ValueError, RecursionError):  # a plain text is a context, too
            context = json.loads(context)
    is_key = isinstance(key, str) and 0 < len(key) <= 200
    return Asked(key if is_key else None, context)


def request_of(
    route: Route, config: Mapping[str, Any], path: str, text: str, document: Mapping[str, Any],
    settings: GatewaySettings, *, target: Target | None = None, counts: bool = False,
) -> Sent:  # fmt: skip
    """The request that a configuration makes of the caller's.

    Args:
        route: How parameters become fields.
        config: The configuration to serve.
        path: ``chat/completions``, ``completions`` or ``embeddings``.
        text: The caller's body.
        document: What it says.
        settings: Where models are looked up.
        target: The model to send it to, in place of the configuration's.
        counts: Whether the study wants to know the tokens, of streams too.
    """
    body, overridden = Body(text, document), []
    _forget_ours(body)
    for name, parameter in route.fields.items():
        if name == "model" or parameter not in config or (path == EMBEDDINGS):
            continue
        if document.get(name) is not None or document.get(_TWINS.get(name, "")) is not None:
            if name in route.caller_wins:
                overridden.append(name)
                continue
            if document.get(_TWINS.get(name, "")) is not None:
                body.remove(_TWINS[name])
        body.set(name, config[parameter])
    if path == CHAT and (route.system or route.examples):
        overridden += _write_messages(route, config, body)
    chosen = target or route.model or settings.target(config.get(route.fields.get("model", "")))
    if chosen is None:
        raise InvalidConfig(
            f"the model is {show(config.get(route.fields['model']))}",
            "no upstream has it",
            "list it in [upstreams.NAME.models]",
        )
    body.set("model", chosen.model)
    uncounted = None
    if document.get("stream") is True and (counts if route.ask_usage is None else route.ask_usage):
        options = document.get("stream_options")
        mine = dict(options) if isinstance(options, dict) else {}
        if mine.get("include_usage") is not True:
            uncounted = body.text.encode() if route.ask_usage is None else None
            body.set("stream_options", mine | {"include_usage": True})
    return Sent(chosen, body.text.encode(), tuple(overridden), uncounted)


def _forget_ours(body: Body) -> None:
    """What the metadata says to imabo is not for the upstream."""
    metadata = body.document.get("metadata")
    if isinstance(metadata, dict) and any(name in metadata for name in _OURS):
        rest = {name: value for name, value in metadata.items() if name not in _OURS}
        if rest:
            body.set("metadata", rest)
        else:
            body.remove("metadata")


def _write_messages(route: Route, config: Mapping[str, Any], body: Body) -> list[str]:
    messages = body.document.get("messages")
    if not isinstance(messages, list):
        return []  # the upstream says what is wrong with it
    texts, kept = body.elements("messages"), []
    roles = [one.get("role") if isinstance(one, dict) else None for one in messages]
    n_system = next((n for n, role in enumerate(roles) if role not in _SYSTEM), len(roles))
    head, tail = texts[:n_system], texts[n_system:]
    is_changed = False
    if (prompt := _named(route.system, config)) is not None and route.system is not None:
        if head and route.system.mode == "keep":
            kept.append("system")
        else:
            head = [*prompt, *([] if route.system.mode == "replace" else head)]
            is_changed = True
    if (turns := _named(route.examples, config)) is not None and route.examples is not None:
        if route.examples.mode == "replace":
            asked = [n for n, role in enumerate(roles[n_system:]) if role == "user"]
            tail = tail[asked[-1] :] if asked else tail
        tail = [*turns, *tail]
        is_changed = True
    if is_changed:
        body.write("messages", array([*head, *tail]))
    return kept


def _named(insertion: Insertion | None, config: Mapping[str, Any]) -> list[str] | None:
    """The JSON of the messages that a configuration chooses; None where it chooses none."""
    if insertion is None or insertion.parameter not in config:
        return None
    value = config[insertion.parameter]
    if not isinstance(value, str) or value not in insertion.named:
        raise InvalidConfig(
            f"parameter {insertion.parameter!r} is {show(value)}",
            f"the route has {', '.join(insertion.named)}",
            "add it to the gateway's file",
        )
    return [element(message) for message in insertion.named[value]]


def check_route(route: Route, space: Space, settings: GatewaySettings) -> None:
    """Refuse a route that the study's space does not fit, before a request meets it."""
    place = f"routes.{route.name}"
    try:
        space.validate(dict(route.default))
    except InvalidConfig as error:
        raise InvalidSetting(f"{place}.default: {error.what}", error.why, error.fix) from None
    mapped = {f"{place}.fields.{name}": parameter for name, parameter in route.fields.items()}
    inserted = {"system": route.system, "examples": route.examples}
    mapped |= {f"{place}.{kind}.parameter": one.parameter for kind, one in inserted.items() if one}
    for where, parameter in mapped.items():
        if parameter not in space:
            names = list(space.parameters)
            close = closest(parameter, names)
            raise InvalidSetting(
                f"{where} is {show(parameter)}",
                f"study {route.study!r} has the parameters {', '.join(names)}",
                f"write {close!r}" if close else "name one of them",
            )
    for kind, one in inserted.items():
        for value in _values(space, one.parameter) if one else ():
            if one is not None and value not in one.named:
                raise InvalidSetting(
                    f"{place}.{kind} has no {show(value)}",
                    f"parameter {one.parameter!r} of study {route.study!r} may choose it",
                    "add it there",
                )
    for value in _values(space, route.fields["model"]) if "model" in route.fields else ():
        if settings.target(value) is None:
            raise InvalidSetting(
                f"{place}.fields.model may choose {show(value)}",
                "no upstream has that model",
                "list it in [upstreams.NAME.models]",
            )


def check_on_error(route: Route, ends: tuple[float, float] | None) -> None:
    """Refuse a reward of failures that the study would not take."""
    value = route.on_error
    if value is None or value is False or ends is None or ends[0] <= value <= ends[1]:
        return
    raise InvalidSetting(
        f"routes.{route.name}.on_error is {value:g}",
        f"rewards of study {route.study!r} are from {ends[0]:g} to {ends[1]:g}",
        f"write {ends[0]:g}, or leave it out",
    )


def doubts_of(
    route: Route, space: Space, objective: Objective | None, settings: GatewaySettings
) -> list[str]:
    """Why the study's budgets cannot be kept by what the gateway tells; in words, none if fine."""
    limited = set() if objective is None else {one.signal for one in objective.constraints}
    found, whose = [], f"route {route.name!r}: study {route.study!r} has a budget of"
    if "cost" in limited:
        named = _values(space, route.fields["model"]) if "model" in route.fields else ()
        targets = [route.model] if route.model else [settings.target(value) for value in named]
        priceless = [
            show(one.model)
            for one in targets
            if one is not None and None in (one.prices.input, one.prices.output)
        ]
        if priceless:
            why = f"the file does not say what tokens of {', '.join(priceless)} cost"
            fix = "write input and output for each in [upstreams.NAME.models]"
            found.append(f"{whose} cost, which is not kept: {why}; {fix}")
    counted = sorted(limited & COUNTED)
    if counted and route.ask_usage is False:
        why = "ask_usage is false, so the tokens of streams are not known"
        found.append(f"{whose} {', '.join(counted)}, which is not kept: {why}; leave it out")
    return found


def _values(space: Space, parameter: str) -> tuple[Any, ...]:
    found = space.parameters[parameter]
    return tuple(found.choices) if isinstance(found, Choice) else ()
