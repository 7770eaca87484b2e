"""The routes of the service as Markdown, from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
_GROUPS = {  # by what the path goes on with after /v1/studies/{study}
    "Studies": ("", "expire", "prune", "export"),
    "Pulls and rewards": ("pulls", "pulls/", "rewards"),
    "Arms": ("arms", "best", "table"),
    "Insight": ("overview", "figures", "report", "space"),
}


def routes() -> str:
    """A section for each group of routes, and one for the documents that they take and give."""
    document = json.loads(_DOCUMENT.read_text(encoding="utf-8"))
    grouped: dict[str, list[str]] = {name: [] for name in (*_GROUPS, "The service")}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            grouped[_group(path)] += _route(method.upper(), path, operation)
    lines = [line for name, found in grouped.items() for line in (f"## {name}", "", *found)]
    lines += ["## Documents", "", "What the routes take and give, as JSON.", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += _schema(name, schema)
    return "\n".join(lines)


def _group(path: str) -> str:
    rest = path.removeprefix("/v1/studies/{study}").removeprefix("/v1/").strip("/")
    first = "" if path.startswith("/v1/studies") and rest == "studies" else rest.split("/")[0]
    if not path.startswith("/v1/"):
        return "The service"
    return next((name for name, starts in _GROUPS.items() if first in starts), "The service")


def _route(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from (f"### `{method} {path}`", "", operation["description"], "")
    parameters = operation.get("parameters", [])
    if parameters:
        yield from ("| parameter | in | type | default | meaning |", "|---|---|---|---|---|")
        for one in parameters:
            schema = one["schema"]
            about = one.get("description") or schema.get("description", "")
            default = _value(schema) if not one.get("required") else "needed"
            cells = (f"`{one['name']}`", one["in"], _type(schema), default, _cell(about))
            yield f"| {' | '.join(cells)} |"
        yield ""
    body = operation.get("requestBody")
    if body:
        (content,) = body["content"].values()
        yield from (f"Body: {_type(content['schema'])}.", "")
    yield from ("| answer | gives | meaning |", "|---|---|---|")
    for status, answer in operation["responses"].items():
        given = answer.get("content", {})
        types = {_type(one.get("schema", {})) or kind for kind, one in given.items()}
        yield f"| {status} | {', '.join(sorted(types))} | {_cell(answer['description'])} |"
    yield ""


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"### `{name}` {{#document-{name}}}", "", schema.get("description", ""), "")
    needed = schema.get("required", [])
    if schema.get("properties"):
        yield from ("| field | type | default | meaning |", "|---|---|---|---|")
    for field, one in schema.get("properties", {}).items():
        default = "needed" if field in needed else _value(one)
        yield f"| `{field}` | {_type(one)} | {default} | {_cell(one.get('description', ''))} |"
    yield ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#document-{name})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[several]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {})) or 'anything'}"
    kind = schema.get("type", "")
    return ", ".join(kind) if isinstance(kind, list) else str(kind)


def _value(schema: dict[str, Any]) -> str:
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("``", "`")
