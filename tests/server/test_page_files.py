"""The page's files over HTTP: for everyone, cached by their content, under a strict policy."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from imabo.server.routes.page import PATHS, PLOTLY
from tests.server.calls import code_of
from tests.server.running import RunningServer


@pytest.fixture(scope="module")
def anyone() -> Iterator[httpx.Client]:
    """A caller without a key, of a server that asks for one."""
    with (
        RunningServer(keys={"admin": ("admin", None)}) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        yield client


@pytest.mark.parametrize("path", sorted(PATHS))
def test_a_file_needs_no_key_and_forbids_what_the_page_does_not_do(
    anyone: httpx.Client, path: str
) -> None:
    answer = anyone.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert {"script-src 'self'", "style-src 'self'", "connect-src 'self'"} <= set(policy)
    assert not re.search(r"unsafe|\*|http", " ".join(policy))
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-request-id"]


def test_a_file_that_is_known_is_not_sent_again(anyone: httpx.Client) -> None:
    for encoding in ("gzip", "identity"):
        headers = {"accept-encoding": encoding}
        first = anyone.get(PLOTLY, headers=headers)
        assert first.headers.get("content-encoding", "identity") == encoding
        assert len(first.content) > 1_000_000
        again = anyone.get(PLOTLY, headers={**headers, "if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = anyone.get(PLOTLY, headers={**headers, "if-none-match": '"other"'})
        assert other.status_code == 200


def test_the_page_names_only_files_that_there_are(anyone: httpx.Client) -> None:
    text = anyone.get("/").text
    named = set(re.findall(r'(?:src|href)="(static/[^"]+)"', text))
    scripts = [path for path in PATHS if path.endswith(".js") and path != PLOTLY]
    for path in scripts:
        source = anyone.get(path).text
        named |= {f"static/{name}" for name in re.findall(r'from "\./([^"]+)"', source)}
        assert "innerHTML" not in source
    assert {f"/{name}" for name in named} <= PATHS
    assert {*scripts} <= {f"/{name}" for name in named}
    assert not re.search(r"https?://|<style|<script>| style=| on[a-z]+=", text)


def test_a_file_is_only_read(anyone: httpx.Client) -> None:
    assert anyone.head("/").status_code == 200
    refused = anyone.post("/")
    assert code_of(refused, 405) == "method_not_allowed"
    assert refused.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path", ["/static/none.js", "/static/../app.py", "/static/", "/static/index.html"]
)
def test_no_other_file_is_served(anyone: httpx.Client, path: str) -> None:
    assert anyone.get(path).status_code == 401
    with RunningServer() as server:
        assert httpx.get(server.url + path).status_code == 404
