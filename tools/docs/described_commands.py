"""The commands of ``imabo`` as Markdown, each in the words of its own help."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator

from imabo.cli.commands import GROUPS
from imabo.cli.exits import MEANINGS
from imabo.cli.parser import make_parser

_WIDTH = "100"  # of the help, in letters
_BELOW = re.compile(r"^  command\n((?: {4}.*\n)+)", re.MULTILINE)
_NAME = re.compile(r"^ {4}(\w\S*)", re.MULTILINE)


def commands() -> str:
    """A section for each group, with each command's help and that of those below it."""
    lines: list[str] = []
    for title, group in GROUPS:
        lines += [f"## {title.capitalize()}", ""]
        for command in group:
            for words, text in _helps((command.name,)):
                level = "#" * (2 + len(words))
                lines += [f"{level} `imabo {' '.join(words)}`", "", "```text", text, "```", ""]
    return "\n".join(lines)


def exit_codes() -> str:
    """A table of the exit codes."""
    rows = (f"| {code} | {meaning} |" for code, meaning in MEANINGS.items())
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def _helps(words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    text = _help(words)
    yield words, text.rstrip()
    below = _BELOW.search(text)
    for word in _NAME.findall(below[1]) if below else ():
        yield from _helps((*words, word))


def _help(words: tuple[str, ...]) -> str:
    shown = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDTH
    try:
        with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
            make_parser("*").parse_args([*words, "--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return shown.getvalue()
