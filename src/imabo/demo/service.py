"""The service of the demonstration: a child process that says its address and ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final, Self

from imabo.errors import Unavailable

_PATIENCE_S: Final = 10.0  # until it is killed
_DRAIN_S: Final = 2  # what the service gives requests under way when it is told to end
# Of the extras server and client. To look is enough, and faster than to import them.
_NEEDED: Final = (
    "starlette", "uvicorn", "uvloop", "httptools", "prometheus_client", "plotly", "httpx",
)  # fmt: skip


class Child:
    """A command that serves, until the block ends, however it ends.

    Its first line of output begins with ``said`` and tells the address; errors call it ``name`` and
    advise to do ``fix``. ``variables`` are its environment, that of this process when None.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        said: str,
        name: str,
        fix: str,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._said, self._name, self._fix = said, name, fix
        # Its log would run through the story; it is read only when something goes wrong.
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "imabo.demo.guard", *command],
            stdin=subprocess.PIPE,  # it closes when we are gone
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=variables,
            text=True,
            process_group=0,  # Ctrl-C is for us; we end the child when we have let go of it
        )
        self.url = ""

    def __enter__(self) -> Self:
        try:
            stream = self._process.stdout
            line = "" if stream is None else stream.readline()
            if not line.startswith(self._said):
                self._process.wait(_PATIENCE_S)
                raise self._gone("did not start")
        except BaseException:
            self.stop()
            raise
        self.url = line.removeprefix(self._said).strip()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def process_id(self) -> int:
        """Of the process that guards the command."""
        return self._process.pid

    def check(self) -> None:
        """Raise ``Unavailable`` when it has ended by itself."""
        if self._process.poll() is not None:
            raise self._gone("has ended")

    def stop(self) -> None:
        """End it: politely first, then for sure."""
        try:
            if self._process.poll() is None:
                self._process.terminate()
            self._process.wait(_PATIENCE_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
            os.killpg(self._process.pid, signal.SIGKILL)  # the command is in its guard's group
            self._process.wait()
            if isinstance(error, KeyboardInterrupt):
                raise
        finally:
            for stream in (self._process.stdin, self._process.stdout, self._log):
                if stream is not None:
                    stream.close()

    def _gone(self, what: str) -> Unavailable:
        self._log.seek(0)
        last = [line.strip() for line in self._log if line.strip()][-1:]
        return Unavailable(
            f"{self._name} {what}",
            last[0] if last else f"it ended with code {self._process.returncode}",
            self._fix,
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
    """``imabo serve`` on a free port of this machine, on the database of a URL."""
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
