"""Answers of the gateway itself: documents, and errors in the form that OpenAI's clients read."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.responses import Response

from imabo.errors import ImaboError
from imabo.server.problems import STATUS

_JSON: Final = "application/json"


def document(value: object, status: int = 200) -> Response:
    """A JSON document."""
    return Response(json.dumps(value).encode(), status, media_type=_JSON)


def error_body(message: str, code: str, kind: str, param: str | None = None) -> dict[str, Any]:
    """An error as OpenAI's clients expect it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def refused(
    status: int, code: str, message: str, param: str | None = None, **headers: str
) -> Response:
    """An error of the gateway's own.

    Example:
        >>> refused(404, "model_not_found", "no such model").body
        b'{"error": {"message": "no such model", "type": "invalid_request_error", "param": null, ...
    """
    kind = "invalid_request_error" if status < 500 else "gateway_error"
    response = document(error_body(message, code, kind, param), status)
    for name, value in headers.items():
        response.headers[name.replace("_", "-")] = value
    return response


def refused_by_imabo(error: ImaboError) -> Response:
    """An error of imabo, with its code and its words."""
    status = STATUS.get(error.code, 503)
    if status >= 500:  # its own words may name hosts and files; the log has them
        return refused(503, error.code, "imabo cannot take it now; send it again", retry_after="1")
    return refused(status, error.code, str(error))
