"""An address that an example shows is one where the service really listens."""

from __future__ import annotations

import re

from imabo.server.settings import Settings
from tests.docs.pages import PAGES, ROOT

ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):(\d+)\b")
NOBODY = 1  # a port that nobody listens on: examples of a service that is away
MODEL = 8777  # of the model server in examples/rag
GATEWAY = 8767
APPLICATION = 8000  # a reader's own web application


def test_examples_use_the_port_that_the_server_uses() -> None:
    sources = [path for kind in ("py", "js") for path in (ROOT / "src").rglob(f"*.{kind}")]
    seen = {
        (path.relative_to(ROOT).as_posix(), int(port))
        for path in [*PAGES, *sources]
        for port in ADDRESS.findall(path.read_text(encoding="utf-8"))
    }
    assert ("README.md", Settings().port) in seen
    known = (Settings().port, NOBODY, MODEL, GATEWAY, APPLICATION)
    assert sorted((file, port) for file, port in seen if port not in known) == []
