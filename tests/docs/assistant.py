"""The server of models in the pages: it echoes, and answers in DSPy's form where that is asked."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from tests.gateway.upstream import Stub, answer_of

FIELD = "[[ ## {} ## ]]"


class Assistant(Stub):
    """A model that follows the form of the fields that it is asked for."""

    async def _by_model(self, said: dict[str, Any], request: Request) -> Any:
        asked = json.dumps(said.get("messages"))
        fields = [one for one in ("reasoning", "answer") if FIELD.format(one) in asked]
        if not fields:
            return await super()._by_model(said, request)
        found = answer_of(request.url.path, said)
        lines = [f"{FIELD.format(one)}\nThe {said['model']} model." for one in fields]
        text = "\n\n".join([*lines, FIELD.format("completed")])
        found["choices"][0]["message"]["content"] = text
        return JSONResponse(found)
