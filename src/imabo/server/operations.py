"""How a route is declared: who may call it, what it takes, gives and refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from imabo.server.keys import Role

METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")

_Places = list[tuple[int, str]]

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Args:
        method: The HTTP method.
        path: With ``{study}``, ``{pull}`` or ``{arm}`` in it.
        handler: What answers; its docstring is the operation's description.
        role: What a key must at least be; None needs no key at all.
        answers: A model (None: no body) for each good status.
        errors: The codes that it refuses with, beside those that every route has.
        body: The model of its body.
        needs_body: Whether the body may be left out.
        query: The model of its query.
        media: Media types of an answer that is not JSON.
        takes: The media type of a body that is not JSON.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    handler: Handler
    role: Role | None
    answers: Mapping[int, type[BaseModel] | None]
    errors: tuple[str, ...] = ()
    body: type[BaseModel] | None = None
    needs_body: bool = True
    query: type[BaseModel] | None = None
    media: Mapping[str, Any] | None = None
    takes: str | None = None


class Router:
    """Finds the operation of a path, faster than by trying patterns in turn.

    Args:
        operations: All of them.

    Example:
        >>> async def read(request: Request) -> Response:
        ...     return Response()
        >>> router = Router([Operation("GET", "/v1/pulls/{pull}", read, "reader", {})])
        >>> operation, params = router.find("GET", "/v1/pulls/a-1")
        >>> operation.path, params
        ('/v1/pulls/{pull}', {'pull': 'a-1'})
        >>> router.methods("/v1/pulls/a-1"), router.methods("/v1/pulls")
        (['GET'], [])
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        # By the method and the number of segments, there are only a few to compare.
        self._rows: dict[tuple[str, int], list[tuple[_Places, _Places, Operation]]] = {}
        for operation in operations:
            segments = list(enumerate(operation.path.split("/")))
            names = [(i, part[1:-1]) for i, part in segments if part.startswith("{")]
            words = [(i, part) for i, part in segments if not part.startswith("{")]
            row = (words, names, operation)
            self._rows.setdefault((operation.method, len(segments)), []).append(row)

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
        """The operation and what stands for the names in its path."""
        segments = path.split("/")
        for words, names, operation in self._rows.get((method, len(segments)), ()):
            if all(segments[i] == word for i, word in words):
                params = {name: segments[i] for i, name in names}
                if all(params.values()):
                    return operation, params
        return None

    def methods(self, path: str) -> list[str]:
        """The methods that a path takes."""
        return [method for method in METHODS if self.find(method, path) is not None]
