"""What MkDocs runs while it builds: markers in the reference become what the code says.

A page says ``<!-- generated: NAME -->`` where the text of ``PARTS[NAME]`` belongs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from described_commands import commands, exit_codes
from described_routes import routes

PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "exit-codes": exit_codes,
    "routes": routes,
}
_MARKER = re.compile(r"<!-- generated: ([a-z-]+) -->")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in the markers of a page; a marker that nothing stands for is an error."""
    return _MARKER.sub(lambda found: PARTS[found[1]](), markdown)
