"""The OpenAPI document: made from the table of operations, saved by ``python -m``.

Run ``python -m imabo.server.openapi docs/openapi.json`` after a change that is meant.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from imabo import insight
from imabo.server import problems, wire
from imabo.server.operations import Operation
from imabo.server.routes import OPERATIONS

VERSION: Final = "1"
_REF: Final = "#/components/schemas/{model}"
_DESCRIPTION: Final = """Tune a live system while it serves: ask which configuration to serve the
next request with, and report its reward when it is known, late or never.

Every refusal is an `application/problem+json` document with a stable `code`. A name in a path is
percent-encoded; a `/` within it is `%2F`."""

_MEANINGS: Final = {
    "invalid_request": "the request does not have the form that is asked for",
    "too_large": "the body is too long",
    "unauthorized": "a key is needed",
    "forbidden": "the key does not allow this",
    "unsupported_media_type": "the body is not of the type that is asked for",
    "unavailable": "the database is away, or the service is stopping; try again",
    "internal": "a fault of the service",
    "invalid_space": "the space makes no sense",
    "invalid_config": "the space does not allow the configuration",
    "invalid_setting": "a setting cannot be used",
    "invalid_reward": "the reward is outside the study's range, or too large to work with",
    "unknown_study": "no such study, or none that the key may use",
    "unknown_pull": "no such pull, or none that the key may use",
    "unknown_arm": "no such arm",
    "not_found": "there is nothing of that name",
    "replay_mismatch": "the log is broken, or its decisions come out differently",
    "study_exists": "another study has this name",
    "reward_conflict": "the pull has another reward",
    "key_conflict": "the key was used for another request",
    "nothing_to_serve": "every arm is paused or retired",
    "no_rewards": "no reward came yet",
    "schema_too_new": "the database was written by a newer version",
    "missing_extra": "the server lacks a library",
}
_PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "study": {
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": "The study's name, percent-encoded.",
        "example": "support-answers",
    },
    "pull": {
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": "The pull's id, as an ask returned it.",
        "example": "k3f9x2a7-15",
    },
    "arm": {
        "schema": {"type": "integer", "minimum": 1},
        "description": "The arm's id.",
        "example": 3,
    },
    "figure": {
        "schema": {"type": "string", "enum": list(insight.FIGURES)},
        "description": "The figure's name.",
        "example": "reward",
    },
}


def declaration(operation: Operation) -> dict[str, Any]:
    """What FastAPI is told of an operation."""
    title, _, rest = (inspect.getdoc(operation.handler) or "").partition(";")
    first, *others = operation.answers.items()
    extra: dict[str, Any] = {"parameters": _parameters(operation)}
    if operation.body is not None:
        extra["requestBody"] = {
            "required": operation.needs_body,
            "content": {"application/json": {"schema": _ref(operation.body)}},
        }
    if operation.takes is not None:
        content = {operation.takes: {"schema": {"type": "string"}}}
        extra["requestBody"] = {"required": True, "content": content}
    if operation.role is not None:
        extra["security"] = [{"key": []}]
    responses: dict[int | str, dict[str, Any]] = {
        status: _answer(model, operation.media) for status, model in (first, *others)
    }
    return {
        "methods": [operation.method],
        "operation_id": operation.handler.__name__,
        "summary": title.rstrip("."),
        "description": (f"{title};{rest}" if rest else title)
        + (f"\n\nNeeds the role {operation.role}." if operation.role else "\n\nNeeds no key."),
        "response_model": None,
        "response_class": Response,
        "status_code": first[0],
        "response_description": "OK",
        "responses": responses | _refusals(operation),
        "openapi_extra": extra,
    }


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an app, with the schemas that its operations name."""
    made = get_openapi(title="imabo", version=VERSION, description=_DESCRIPTION, routes=app.routes)
    _, schemas = models_json_schema(
        [(model, "validation") for model in _models()], ref_template=_REF
    )
    made["components"] = {
        "schemas": schemas["$defs"],
        "securitySchemes": {
            "key": {
                "type": "http",
                "scheme": "bearer",
                "description": "A key that `imabo keys create` made. Not needed while there is no "
                "key at all, on the machine of the service itself.",
            }
        },
    }
    return made


def codes_of(operation: Operation) -> list[str]:
    """Every code that an operation may refuse with."""
    codes = [*operation.errors, "internal", "unavailable"]
    if operation.role is not None:
        codes += ["unauthorized", "schema_too_new"]
    if operation.role in ("writer", "admin"):
        codes.append("forbidden")
    if operation.body is not None or operation.takes is not None:
        codes += ["invalid_request", "too_large", "unsupported_media_type"]
    elif operation.query is not None:
        codes.append("invalid_request")
    return codes


def _refusals(operation: Operation) -> dict[int | str, dict[str, Any]]:
    by_status: dict[int, list[str]] = {}
    for code in codes_of(operation):
        by_status.setdefault(problems.STATUS[code], []).append(code)
    if operation.body is not None or "{" in operation.path:
        by_status.setdefault(400, []).append("invalid_request")  # not JSON, or a path not UTF-8
    return {
        status: {
            "description": "; ".join(f"`{code}`: {_MEANINGS[code]}" for code in sorted(codes)),
            "content": {problems.MEDIA_TYPE: {"schema": _ref(wire.Problem)}},
            **({"headers": _RETRY} if status == 503 else {}),
        }
        for status, codes in sorted(by_status.items())
    }


_RETRY: Final = {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}}


def _answer(model: type[BaseModel] | None, media: Any) -> dict[str, Any]:
    if model is not None:
        media = {"application/json": {"schema": _ref(model)}}
    description = (model.__doc__ or "").strip() if model is not None else "Done."
    return {"description": description, **({"content": media} if media else {})}


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, **parameter}
        for name, parameter in _PARAMETERS.items()
        if f"{{{name}}}" in operation.path
    ]
    if operation.query is not None:
        for name, schema in operation.query.model_json_schema()["properties"].items():
            found.append({"name": name, "in": "query", "required": False, "schema": schema})
    return found


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


def _models() -> list[type[BaseModel]]:
    found: set[type[BaseModel]] = {wire.Problem}
    for operation in OPERATIONS:
        found |= {model for model in operation.answers.values() if model is not None}
        if operation.body is not None:
            found.add(operation.body)
    return sorted(found, key=lambda model: model.__name__)


def text() -> str:
    """The document as the file has it."""
    from imabo.server.app import make_app
    from imabo.server.settings import Settings
    from imabo.stores import MemoryStore

    made = document(make_app(MemoryStore(), Settings(proposals=False)))
    return json.dumps(made, indent=2, sort_keys=True) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the document to a path."""
    Path(arguments[0]).write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
