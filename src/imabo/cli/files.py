"""Reading and writing the files that a command line names."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

from imabo.errors import InvalidSetting
from imabo.space.scalars import show


@contextmanager
def written(path: str, *, binary: bool = False) -> Iterator[IO[Any]]:
    """A file to write; it takes the name when all of it is there, and is gone on an error.

    Example:
        >>> with written("/tmp/no/such/folder/x"): pass
        Traceback (most recent call last):
        imabo.errors.InvalidSetting: the file is '/tmp/no/such/folder/x': it cannot be written ...
    """
    # Through links, so that a link stays one.
    target = Path(os.path.realpath(path))
    # A pipe or a device is written to; a name of its own would take its place.
    is_direct = target.exists() and not target.is_file()
    place = target if is_direct else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with place.open("wb") if binary else place.open("w", encoding="utf-8", newline="") as file:
            yield file
        if not is_direct:
            place.replace(target)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise InvalidSetting(
            f"the file is {show(path)}",
            f"it cannot be written ({error.strerror or error})",
            "choose another file, or make room for it",
        ) from error
    finally:
        if not is_direct:
            with suppress(OSError):
                place.unlink(missing_ok=True)


def lines_of(path: str) -> AbstractContextManager[TextIO]:
    """A text file to read; ``-`` is standard input."""
    return nullcontext(sys.stdin) if path == "-" else _opened(path, "r", "utf-8")


def bytes_of(path: str) -> AbstractContextManager[BinaryIO]:
    """A file to read as it is; ``-`` is standard input."""
    return nullcontext(sys.stdin.buffer) if path == "-" else _opened(path, "rb", None)


def _opened(path: str, mode: str, encoding: str | None) -> Any:
    try:
        return open(path, mode, encoding=encoding)
    except OSError as error:
        raise unreadable(path, error) from error


def json_of(path: str) -> object:
    """What a JSON file says; ``-`` is standard input."""
    with lines_of(path) as file:
        try:
            return json.load(file)
        except (ValueError, OSError, RecursionError) as error:
            raise unreadable(path, error) from error


def unreadable(path: str, error: Exception) -> InvalidSetting:
    """A file that cannot be read."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InvalidSetting(
        f"the file is {show(path)}", f"it cannot be read ({reason})", "check its name and content"
    )
