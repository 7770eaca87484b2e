"""The service of the demonstration: a child process that ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from typing import Final, Self

from imabo.errors import Unavailable

_DRAIN_S: Final = 2  # what the service gives requests under way when it is told to end
_PATIENCE_S: Final = 10.0  # until it is killed
# Of the extras server and client. To look is enough, and faster than to import them.
_NEEDED: Final = (
    "fastapi",
    "uvicorn",
    "uvloop",
    "httptools",
    "prometheus_client",
    "plotly",
    "httpx",
)
_SAID: Final = "imabo serves "


def missing_for_service() -> str | None:
    """A library that the service or its client needs and that is not installed; None for none."""
    return next((name for name in _NEEDED if not _is_installed(name)), None)


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # there is a module of that name without an origin
        return False


class Service:
    """``imabo serve`` on a free port of this machine, until the block ends, however it ends.

    Args:
        store: URL of the database.
    """

    def __init__(self, store: str) -> None:
        # Its log would run through the story; it is read only when something goes wrong.
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        # Settings that are meant for another service stay out, and the URL, which may hold a
        # password, is not for the list of processes.
        kept = {name: text for name, text in os.environ.items() if not name.startswith("IMABO_")}
        command = [sys.executable, "-m", "imabo.cli", "serve", "--host=127.0.0.1", "--port=0"]
        self._process = subprocess.Popen(
            [*command, f"--drain-s={_DRAIN_S}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=kept | {"IMABO_STORE": store},
            text=True,
            # Ctrl-C is for us; we end the service when we have let go of it.
            process_group=0 if sys.platform != "win32" else None,
        )
        self.url = ""

    def __enter__(self) -> Self:
        try:
            stream = self._process.stdout
            line = "" if stream is None else stream.readline()
            if not line.startswith(_SAID):
                self._process.wait(_PATIENCE_S)
                raise self._gone("did not start")
        except BaseException:
            self.stop()
            raise
        self.url = line.removeprefix(_SAID).strip()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def check(self) -> None:
        """Raise ``Unavailable`` when the service has ended by itself."""
        if self._process.poll() is not None:
            raise self._gone("has ended")

    def stop(self) -> None:
        """End it: politely first, then for sure."""
        try:
            if self._process.poll() is None:
                self._process.terminate()
            self._process.wait(_PATIENCE_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
            self._process.kill()
            self._process.wait()
            if isinstance(error, KeyboardInterrupt):
                raise
        finally:
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._log.close()

    def _gone(self, what: str) -> Unavailable:
        self._log.seek(0)
        last = [line.strip() for line in self._log if line.strip()][-1:]
        return Unavailable(
            f"the service of the demonstration {what}",
            last[0] if last else f"it ended with code {self._process.returncode}",
            "run imabo demo again, or imabo demo --embedded, which needs no service",
        )
