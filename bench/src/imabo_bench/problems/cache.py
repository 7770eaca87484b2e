"""Numbers that take long to compute, kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def folder() -> Path:
    """Where they are kept: ``$XDG_CACHE_HOME/imabo``, or ``~/.cache/imabo``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "imabo"


def remembered(key: str, compute: Callable[[], float]) -> float:
    """A number from the cache, or computed and kept; a cache that cannot be used is no error.

    Args:
        key: The file's name without ending; holds everything that the number depends on.
        compute: Gives the number when it is not there yet.
    """
    path = folder() / f"{key}.txt"
    with contextlib.suppress(OSError, ValueError):
        return float(path.read_text(encoding="ascii"))
    value = compute()
    with contextlib.suppress(OSError):
        _write(path, f"{value!r}\n")
    return value


def _write(path: Path, text: str) -> None:
    """Write atomically: processes that start together may all write the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="ascii", dir=path.parent, suffix=".tmp", delete=False
    ) as file:
        file.write(text)
    try:
        os.replace(file.name, path)
    except OSError:
        os.unlink(file.name)
        raise
