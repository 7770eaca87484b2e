"""A disk that is really full for a while: a file system in memory, where one can be mounted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIES = 100  # what is there may grow between the look and the change
_PLENTY = "1g"  # it takes no more memory than there are files


class Disk:
    """A file system of its own at a folder; ``OSError`` where none can be mounted (it takes root).

    Args:
        folder: Made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        done = _run("mount", "-t", "tmpfs", "-o", f"size={_PLENTY},mode=700", "imabo", str(folder))
        if done.returncode:
            raise OSError(done.stderr.partition("\n")[0])

    @contextmanager
    def full(self) -> Iterator[None]:
        """Have no room beyond what is in use now."""
        assert any(self._shrink() for _ in range(_TRIES)), "the disk cannot be made smaller"
        try:
            yield
        finally:
            assert self._resize(_PLENTY)

    def _shrink(self) -> bool:
        seen = os.statvfs(self.folder)
        used = (seen.f_blocks - seen.f_bfree) * seen.f_frsize
        return used > 0 and self._resize(str(used))  # a size of 0 would be no limit

    def _resize(self, size: str) -> bool:
        return not _run("mount", "-o", f"remount,size={size}", str(self.folder)).returncode

    def remove(self) -> None:
        """Unmount it; what is on it is gone."""
        done = _run("umount", str(self.folder))
        assert not done.returncode, done.stderr


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
