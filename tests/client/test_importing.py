"""Importing through a client: a path or an open file, once, and as long as it takes."""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo.errors import Refused, ReplayMismatch, StudyExists, Unavailable
from imabo.replay import Checked
from imabo.server.problems import document
from imabo.server.settings import Settings
from tests.client.conftest import MakeClient
from tests.client.tcp import listening
from tests.server.calls import Api
from tests.server.running import RunningServer


@pytest.fixture
def log(server: RunningServer, tmp_path: Path) -> Path:
    """The log of a study that the server no longer has."""
    with httpx.Client(base_url=server.url) as http:
        api = Api(http, "moved")
        for _ in range(30):
            api.tell(api.ask()[0]["id"], 0.5)
        (tmp_path / "moved.jsonl").write_bytes(http.get(f"{api.path}/export").content)
        http.delete(api.path)
    return tmp_path / "moved.jsonl"


@pytest.mark.parametrize("kind", ["path", "text", "bytes"])
def test_what_was_exported_is_imported_again(
    make_client: MakeClient, server: RunningServer, log: Path, kind: str
) -> None:
    client, sent = make_client(server.url), list[int]()
    make: Any = {
        "path": lambda: nullcontext(log),
        "text": log.open,
        "bytes": lambda: log.open("rb"),
    }
    with make[kind]() as source:
        made = client.import_study(source, sent=sent.append)
    assert made.checked == Checked(30, 0, 30, 0, 0)
    assert made.facts == client.study("moved").facts()
    assert sum(sent) == log.stat().st_size
    again = io.StringIO()
    client.study("moved").export(again, "jsonl")
    assert again.getvalue() == log.read_text()
    with pytest.raises(StudyExists):
        client.import_study(log)
    client.import_study(log, name="copy")
    with pytest.raises(ReplayMismatch, match="line 2 of the log"):
        client.import_study(io.StringIO(log.read_text().replace("\n", "\n\n")[:9999]), name="x")
    made_here = ["copy", "moved"]
    assert [name for name in client.studies() if name in (*made_here, "x")] == made_here
    for name in made_here:
        client.delete(name)


def test_a_log_that_is_far_too_large_is_refused_in_words(make_client: MakeClient) -> None:
    """The service answers while most of the log is still to be sent."""
    with RunningServer(settings=Settings(max_import_bytes=1024)) as small:
        client = make_client(small.url)
        with pytest.raises(Refused, match="longer than 1024 bytes"):
            client.import_study(io.BytesIO(b"\n" * 20_000_000))
        assert client.studies() == []


def test_an_import_may_take_longer_than_other_calls_and_is_not_repeated(
    make_client: MakeClient, log: Path
) -> None:
    n_calls = 0

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_calls
        n_calls += 1
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(log.stat().st_size)
        if n_calls > 1:
            return  # the connection is cut
        await asyncio.sleep(1.5)
        body = json.dumps(document(StudyExists("it is there", "it was", "wait"))).encode()
        writer.write(
            b"HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        await writer.drain()

    with listening(slow) as url:
        client = make_client(url, timeout_s=1.0)
        with pytest.raises(StudyExists):
            client.import_study(log)
        with pytest.raises(Unavailable, match="tried once"):
            client.import_study(log)
    assert n_calls == 2
