"""A reader's own web application, started as a page says: ``uvicorn app:app``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server.shell import environment


@contextmanager
def application(name: str, folder: Path) -> Iterator[str]:
    """Serve the application ``module:name`` of a folder on a free port; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", name, "--port", "0", "--no-access-log"],
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _address(process: subprocess.Popen[str]) -> str:
    said = []
    for line in process.stderr or ():
        said.append(line)
        found = re.search(r"running on (http://[\d.:]+)", line)
        if found:
            return found[1]
    raise RuntimeError(f"the application did not start: {''.join(said)}")
