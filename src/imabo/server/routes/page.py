"""The page: its files and Plotly's script, from the installed packages, for any browser."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from imabo.errors import MissingExtra
from imabo.server.context import in_thread

PLOTLY: Final = "/static/plotly.js"
_MEDIA: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",  # always ask, and mostly get "not modified"
    "Vary": "Accept-Encoding",
}
_WORTH_PACKING: Final = 1000
# Plotly's maps, which no figure of ours has, bring a style sheet that the policy would refuse. They
# leave it out when the page has something with its id already.
_STYLE_ID: Final = re.compile(r'document\.getElementById\("([0-9a-f]{64})"\)')
_STYLES: Final = "<!-- styles that Plotly must not bring -->"


def _paths() -> dict[str, str]:
    names = (file.name for file in resources.files("imabo.server.page").iterdir())
    found = {f"/static/{name}": name for name in names if name.rpartition(".")[2] in _MEDIA}
    del found["/static/index.html"]
    return found | {"/": "index.html", PLOTLY: "plotly.js"}


_FILES: Final = _paths()
PATHS: Final = frozenset(_FILES)


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    packed: bytes
    etag: str
    media: str


async def page(request: Request) -> Response:
    """The page, or a file that it needs; the same for everyone, so no key is asked for."""
    file = await in_thread(_read, request.scope["path"])
    is_packed = "gzip" in request.headers.get("accept-encoding", "") and file.packed != b""
    etag = f'"{file.etag}{"-gz" if is_packed else ""}"'
    headers = {**HEADERS, "ETag": etag}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if is_packed:
        headers["Content-Encoding"] = "gzip"
    return Response(
        file.packed if is_packed else file.content, headers=headers, media_type=file.media
    )


@cache
def _read(path: str) -> _File:
    name = _FILES[path]
    if path == PLOTLY:
        content = _plotly()
    else:
        content = resources.files("imabo.server.page").joinpath(name).read_bytes()
    if path == "/":
        content = content.replace(_STYLES.encode(), _unwanted_styles().encode())
    packed = gzip.compress(content, 6, mtime=0) if len(content) >= _WORTH_PACKING else b""
    etag = hashlib.sha256(content).hexdigest()[:32]
    return _File(content, packed, etag, _MEDIA[name.rpartition(".")[2]])


@cache
def _plotly() -> bytes:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtra(
            "plotly is not installed",
            "the page takes the script that draws its figures from it",
            'pip install "imabo[server]"',
        ) from error
    script: str = get_plotlyjs()
    return script.encode()


def _unwanted_styles() -> str:
    try:
        ids = _STYLE_ID.findall(_plotly().decode())
    except MissingExtra:
        return ""  # the page says so where figures would be
    return "".join(f'<template id="{name}"></template>' for name in sorted(set(ids)))
