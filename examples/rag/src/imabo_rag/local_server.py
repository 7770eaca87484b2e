"""The server of the local model as a child process that ends with its parent."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import Final, Self

from imabo.errors import Unavailable
from imabo_rag.model_server import SAID

_PATIENCE_S: Final = 10.0  # until it is killed


class LocalServer:
    """``imabo_rag serve-model`` on a free port, until the block ends, however it ends."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "imabo_rag", "serve-model", "--port=0", "--with-parent"],
            stdin=subprocess.PIPE,  # it closes when we are gone, and the child ends
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            process_group=0 if sys.platform != "win32" else None,  # Ctrl-C is for us
        )
        self.url = ""

    def __enter__(self) -> Self:
        try:
            stream = self._process.stdout
            line = "" if stream is None else stream.readline()
            if not line.startswith(SAID):
                self._process.wait(_PATIENCE_S)
                raise self._gone()
        except BaseException:
            self.stop()
            raise
        self.url = line.removeprefix(SAID).strip()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def process_id(self) -> int:
        """Of the child."""
        return self._process.pid

    def stop(self) -> None:
        """End it: politely first, then for sure."""
        try:
            self._process.terminate()
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            for stream in (self._process.stdin, self._process.stdout, self._log):
                if stream is not None:
                    stream.close()

    def _gone(self) -> Unavailable:
        self._log.seek(0)
        last = [line.strip() for line in self._log if line.strip()][-1:]
        return Unavailable(
            "the local model did not start",
            last[0] if last else f"it ended with code {self._process.returncode}",
            "run it by hand with python -m imabo_rag serve-model, or pass --no-model",
        )
