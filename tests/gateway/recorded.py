"""Forty requests of each kind, as applications send them."""

from __future__ import annotations

import json
from itertools import islice, product
from typing import Any

Request = dict[str, Any]

_TEXTS = ("hi", "", "Grüße 你好 🙂", 'quotes " and \\ and \n lines', "\u2028\u0000x", "a" * 3000)
_SETTINGS: list[Request] = [
    {},
    {"temperature": 0.7, "top_p": 0.123456789012345678, "stop": ["\n", "}"], "n": 2, "seed": 7},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
     "logit_bias": {"50256": -100}, "user": "u-1", "metadata": {"team": "a"},
     "extra": [[], {}, 1e-9]},
    {"max_completion_tokens": 7, "service_tier": "auto", "logprobs": True, "top_logprobs": 2},
]  # fmt: skip


def _user(content: Any) -> list[Request]:
    return [{"role": "user", "content": content}]


def _forty(messages: list[list[Request]], more: list[Request]) -> list[Request]:
    every = ({"model": "large", "messages": one, **rest} for one, rest in product(messages, more))
    return list(islice(every, 40))


_PLAIN: list[list[Request]] = [
    *(_user(text) for text in _TEXTS),
    [{"role": "system", "content": "Be kind."}, *_user("hi")],
    [{"role": "developer", "content": "x"}, {"role": "user", "name": "ann", "content": "hi"}],
    [*_user("a"), {"role": "assistant", "content": "b", "refusal": None}, *_user("c")],
    _user([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
]

_TOOL = {"name": "look", "strict": True, "parameters": {
    "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}  # fmt: skip
_TOOLS = [{"type": "function", "function": _TOOL}]
_CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
_USING: list[list[Request]] = [
    *(_user(text) for text in _TEXTS[:4]),
    *(
        [*_user("look"), {"role": "assistant", "content": None, "tool_calls": [_CALL] * n},
         *[{"role": "tool", "tool_call_id": "call_1", "content": text}] * n]
        for n, text in ((1, "[1, 2]"), (1, '{"a": null}'), (2, ""), (3, "Grüße"))
    ),
]  # fmt: skip
_CHOICES: list[Request] = [
    {"tools": _TOOLS},
    {"tools": _TOOLS * 3, "tool_choice": "auto", "parallel_tool_calls": False},
    {"tools": _TOOLS, "tool_choice": {"type": "function", "function": {"name": "look"}}},
    {"tools": _TOOLS, "tool_choice": "required", "temperature": 0.0},
    {"functions": [_TOOL], "function_call": "auto"},
]

_IMAGES: list[list[Request]] = [
    _user([{"type": "text", "text": text}, *images])
    for text in ("what is it?", "你好")
    for images in (
        [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * n}}]
        * times
        for n, times in ((40, 1), (4000, 1), (40, 3), (0, 1), (1, 10))
    )
]
_SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
_DETAILS: list[Request] = [{}, {"max_tokens": 5}, {"modalities": ["text"]}, {"store": False}]

PLAIN = _forty(_PLAIN, _SETTINGS)
STREAMED = [request | {"stream": True} for request in PLAIN]
TOOLS = _forty(_USING, _CHOICES)
IMAGES = _forty([*_IMAGES[:9], _user([_SOUND])], _DETAILS)
COMPLETIONS = [
    {"model": "large", "prompt": prompt, **settings}
    for prompt in [*_TEXTS, ["a", "b"], [1, 2, 3], [[1], [2]], None]
    for settings in _SETTINGS
]
EMBEDDINGS = [
    {"model": "large", "input": given, **settings}
    for given in [*_TEXTS, ["a", "b"], [1, 2, 3], [[1], [2]], {"x": None}]
    for settings in ({}, {"dimensions": 64}, {"encoding_format": "float"}, {"user": "u"})
]
KINDS = {
    "plain": ("chat/completions", PLAIN),
    "tools": ("chat/completions", TOOLS),
    "images": ("chat/completions", IMAGES),
    "completions": ("completions", COMPLETIONS),
    "embeddings": ("embeddings", EMBEDDINGS),
}


def written(request: Request, n: int) -> bytes:
    """A request as bytes, as one of several senders writes it: with spaces, escapes, or without."""
    if n % 3 == 0:
        return json.dumps(request).encode()
    if n % 3 == 1:
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    return json.dumps(request, indent=2).encode()
