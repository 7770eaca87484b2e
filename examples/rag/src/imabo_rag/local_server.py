"""The server of the local model as a child process."""

from __future__ import annotations

import sys

from imabo.demo.service import Child
from imabo_rag.model_server import SAID


def local_server() -> Child:
    """``imabo_rag serve-model`` on a free port of this machine."""
    return Child(
        [sys.executable, "-m", "imabo_rag", "serve-model", "--port=0"],
        said=SAID,
        name="the local model",
        fix="run it by hand with python -m imabo_rag serve-model, or pass --no-model",
    )
