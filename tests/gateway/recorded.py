"""Forty requests of each kind, as applications send them."""

from __future__ import annotations

import json
from typing import Any

_TOOLS = [
    {"type": "function", "function": {"name": "look", "strict": True, "parameters": {
        "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}},
]  # fmt: skip
_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 40}}
_TEXTS = ("hi", "", "Grüße 你好 🙂", 'quotes " and \\ and \n lines', "\u2028\u0000x", "a" * 3000)
_CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}

_MESSAGES: list[list[dict[str, Any]]] = [
    *([{"role": "user", "content": text}] for text in _TEXTS),
    [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}],
    [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, _IMAGE]}],
    [{"role": "user", "content": "look"}, {"role": "assistant", "content": None,
      "tool_calls": [_CALL]}, {"role": "tool", "tool_call_id": "call_1", "content": "[1, 2]"}],
    [{"role": "developer", "content": "x"}, {"role": "user", "name": "ann", "content": "hi"}],
]  # fmt: skip
_SETTINGS: list[dict[str, Any]] = [
    {},
    {"tools": _TOOLS, "tool_choice": "auto", "parallel_tool_calls": False},
    {"temperature": 0.7, "top_p": 0.123456789012345678, "stop": ["\n", "}"], "n": 2, "seed": 7},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
     "logit_bias": {"50256": -100}, "user": "u-1", "metadata": {"team": "a"},
     "extra": [[], {}, 1e-9]},
]  # fmt: skip
CHATS = [
    {"model": "large", "messages": messages, **settings}
    for messages in _MESSAGES
    for settings in _SETTINGS
]
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
# As their senders write them: some with spaces and escapes, some without.
KINDS = {
    "chat/completions": CHATS,
    "completions": COMPLETIONS,
    "embeddings": EMBEDDINGS,
}


def written(request: dict[str, Any], n: int) -> bytes:
    """A request as bytes, in one of several ways."""
    if n % 3 == 0:
        return json.dumps(request).encode()
    if n % 3 == 1:
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    return json.dumps(request, indent=2).encode()
