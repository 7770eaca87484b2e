"""The service of the demonstration."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Final

from imabo.demo.child import Child

_DRAIN_S: Final = 2  # what the service gives requests under way when it is told to end
# Of the extras server and client. To look is enough, and faster than to import them.
_NEEDED: Final = (
    "starlette",
    "uvicorn",
    "uvloop",
    "httptools",
    "prometheus_client",
    "plotly",
    "httpx",
)


def missing_for_service() -> str | None:
    """A library that the service or its client needs and that is not installed; None for none."""
    return next((name for name in _NEEDED if not _is_installed(name)), None)


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # there is a module of that name without an origin
        return False


def service(store: str) -> Child:
    """``imabo serve`` on a free port of this machine.

    Args:
        store: URL of the database.
    """
    # Settings that are meant for another service stay out, and the URL, which may hold a password,
    # is not for the list of processes.
    kept = {name: text for name, text in os.environ.items() if not name.startswith("IMABO_")}
    command = [sys.executable, "-m", "imabo.cli", "serve", "--host=127.0.0.1", "--port=0"]
    return Child(
        [*command, f"--drain-s={_DRAIN_S}"],
        said="imabo serves ",
        name="the service of the demonstration",
        fix="run imabo demo again, or imabo demo --embedded, which needs no service",
        variables=kept | {"IMABO_STORE": store},
    )
