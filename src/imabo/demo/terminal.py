"""The person at the terminal: a browser for them, a moment to look, commands to copy."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import sys
import webbrowser
from pathlib import Path


def is_watched() -> bool:
    """Whether somebody sits at a terminal and sees what we write."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_page(url: str) -> bool:
    """Open a page in the browser of the user's desktop; whether there is one."""
    # Without a desktop a browser in the terminal would come, and take the terminal.
    has_desktop = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if not has_desktop:
        return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def wait_for_enter(seconds: float) -> None:
    """Wait until Enter or Ctrl-C is pressed, for so long at most."""
    try:
        select.select([sys.stdin], [], [], seconds)
    except (KeyboardInterrupt, OSError):
        return


def imabo_command() -> str:
    """How to call imabo in this shell."""
    called = Path(sys.argv[0])
    if shutil.which("imabo"):
        return "imabo"
    if called.name == "imabo":
        return shlex.quote(str(called))
    return f"{shlex.quote(sys.executable)} -m imabo.cli"


def store_text(store: str) -> str:
    """A store's URL as it may be shown: without what may be a password."""
    return re.sub(r"//.*@", "//...@", store)


def store_place(store: str) -> str:
    """Where a store is: a file's full path, or the address of a database."""
    if store.startswith("sqlite:///"):
        return str(Path(store.removeprefix("sqlite:///")).absolute())
    return store_text(store)
