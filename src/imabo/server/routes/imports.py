"""Importing: a study made from the log that an export wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

from starlette.requests import Request
from starlette.responses import Response

from imabo.checks import checked_name
from imabo.documents import Document, study_document
from imabo.replay import make_again, read_log
from imabo.server.bodies import check_media_type
from imabo.server.context import caller_of, json_answer, parts_of, query_of, require_name
from imabo.server.incoming import Incoming
from imabo.server.operations import Operation
from imabo.server.wire import ImportAnswer, ImportQuery

_LINES = "application/x-ndjson"


async def import_study(request: Request) -> Response:
    """Make a study from the JSON lines of an export; it is there when all of them are, or not.

    Every decision is made again and compared with the log. What a service served with proposals
    made in the background is done as the log says. A body that comes with a `Content-Digest`
    (`sha-256`) is compared with it.
    """
    name = query_of(request, ImportQuery).name
    check_media_type(request, _LINES)
    caller, parts = caller_of(request), parts_of(request)
    registry = parts.registry

    def make(lines: Iterator[bytes]) -> Document:
        record, entries = read_log(lines, None, None)
        if name is not None:
            record = replace(record, name=checked_name(name))
        require_name(caller, record.name)
        with registry.making(record.token):
            checked = make_again(registry.store, record, entries)
        made = study_document(registry.store.load(record.name))
        return {"study": made, "checked": asdict(checked)}

    return json_answer(await Incoming(request, parts).given_to(make), 201)


OPERATIONS = [
    Operation(
        "POST",
        "/v1/imports",
        import_study,
        "admin",
        {201: ImportAnswer},
        ("study_exists", "replay_mismatch", "invalid_setting"),
        query=ImportQuery,
        takes=_LINES,
    ),
]
