"""The OpenAPI document: made from the table of operations, saved by ``python -m``.

Run ``python -m imabo.server.openapi`` in the repository after a change that is meant.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from imabo import insight
from imabo.server import problems, wire
from imabo.server.operations import OPERATIONS, Operation

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
    "invalid_signal": "the study did not declare the signal, or its value is outside of the ends",
    "unknown_study": "no such study, or none that the key may use",
    "unknown_pull": "no such pull, or none that the key may use",
    "unknown_key": "no pull of the study has this key",
    "unknown_arm": "no such arm",
    "not_found": "there is nothing of that name",
    "replay_mismatch": "the log is broken, or its decisions come out differently",
    "study_exists": "another study has this name",
    "reward_conflict": "the pull has another reward",
    "signal_conflict": "the pull has that signal with another value",
    "key_conflict": "the key was used for another request",
    "nothing_to_serve": "every arm is paused or retired",
    "no_rewards": "no reward came yet",
    "no_control": "the study has no control to compare with, or to go back to",
    "schema_too_new": "the database was written by a newer version",
    "missing_extra": "the server lacks a library",
}
_TEXT: Final = {"schema": {"type": "string"}}
_RETRY: Final = {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}}
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
    "key": {
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": "The key that an ask was made with, percent-encoded.",
        "example": "request-17",
    },
    "signal": {
        "schema": {"type": "string", "minLength": 1, "maxLength": 60},
        "description": "The name of a signal that the study declares.",
        "example": "cost",
    },
    "arm": {
        "schema": {"type": "integer", "minimum": 1},
        "description": "The arm's id.",
        "example": 3,
    },
    "webhook": {
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": "The webhook's id.",
        "example": "9f2c4e01ab37",
    },
    "figure": {
        "schema": {"type": "string", "enum": list(insight.FIGURES)},
        "description": "The figure's name.",
        "example": "reward",
    },
}
# Schemas that were published under another name than their class has: callers' code is made of it.
_PUBLISHED: Final = {wire.SpacePart.__name__: "Space"}


class _Schemas(GenerateJsonSchema):
    def normalize_name(self, name: str) -> str:
        return super().normalize_name(_PUBLISHED.get(name, name))


def document() -> dict[str, Any]:
    """The document of the operations, with the schemas that they name."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    models = [(model, "validation") for model in _models()]
    _, schemas = models_json_schema(
        models,  # type: ignore[arg-type]
        ref_template=_REF,
        schema_generator=_Schemas,
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "imabo", "version": VERSION, "description": _DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key that `imabo keys create` made. Not needed while there is "
                    "no key at all, on the machine of the service itself.",
                }
            },
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    text = inspect.getdoc(operation.handler) or ""
    role = f"the role {operation.role}" if operation.role else "no key"
    answers = {status: _answer(operation, model) for status, model in operation.answers.items()}
    described = {
        "operationId": operation.handler.__name__,
        "summary": text.partition(";")[0].rstrip("."),
        "description": f"{text}\n\nNeeds {role}.",
        "parameters": _parameters(operation),
        "responses": {str(status): one for status, one in (answers | _refusals(operation)).items()},
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": operation.needs_body,
            "content": {"application/json": {"schema": _ref(operation.body)}},
        }
    if operation.takes is not None:
        described["requestBody"] = {"required": True, "content": {operation.takes: _TEXT}}
    if operation.role is not None:
        described["security"] = [{"key": []}]
    return described


def codes_of(operation: Operation) -> list[str]:
    """Every code that an operation may refuse with."""
    codes = [*operation.errors.split(), "internal", "unavailable"]
    if operation.role is not None:
        codes += ["unauthorized", "schema_too_new"]
    if operation.role in ("writer", "admin"):
        codes.append("forbidden")
    if operation.body is not None or operation.takes is not None:
        codes += ["invalid_request", "too_large", "unsupported_media_type"]
    elif operation.query is not None:
        codes.append("invalid_request")
    return codes


def _refusals(operation: Operation) -> dict[int, dict[str, Any]]:
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
        for status, codes in by_status.items()
    }


def _answer(operation: Operation, model: type[BaseModel] | None) -> dict[str, Any]:
    if model is not None:
        content = {"application/json": {"schema": _ref(model)}}
        return {"description": (model.__doc__ or "").strip(), "content": content}
    content = dict.fromkeys(operation.media, _TEXT)
    return {"description": "Done.", **({"content": content} if content else {})}


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, **parameter}
        for name, parameter in _PARAMETERS.items()
        if f"{{{name}}}" in operation.path
    ]
    if operation.query is not None:
        for name, schema in operation.query.model_json_schema()["properties"].items():
            # Left out is not the same as null, which no query can say.
            known = {word: value for word, value in schema.items() if value is not None}
            found.append({"name": name, "in": "query", "required": False, "schema": known})
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
    return json.dumps(document(), indent=2, sort_keys=True) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the document to a path, by default where the repository has it."""
    Path(*(arguments or ["docs/openapi.json"])).write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
