"""The command line's grammar: its commands in groups, and help that teaches them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from imabo.cli.exits import MEANINGS, UsageError
from imabo.spelling import closest

_CHOICE: Final = re.compile(r"(.*?)invalid choice: '([^']*)' \(choose from (.*)\)")
_OTHER_WORDS: Final = {  # what other programs call a command of ours
    "list": "studies", "ls": "studies", "status": "show", "start": "serve", "run": "serve",
    "up": "serve", "new": "create", "init": "create", "rm": "delete", "remove": "delete",
    "stop": "pause", "proxy": "gateway", "reward": "tell", "feedback": "tell", "log": "events",
}  # fmt: skip

Subparsers = Any  # argparse has no public name for it


class Argument(NamedTuple):
    """What ``add_argument`` gets, and the title of the group of the help that it stands in."""

    name: str
    settings: dict[str, Any]
    group: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    name: str
    help: str  # one line for the list of commands
    about: str  # what it does, for its own help; empty when ``load`` says it
    example: str  # a command that works, for a study of the name support-answers
    run: str = ""  # what does it, as module:function, imported only when it is called for
    arguments: Sequence[Argument] = ()
    load: Callable[[Subparsers], None] | None = None  # adds a parser that is declared elsewhere

    def add_to(self, parsers: Subparsers, *, whole: bool) -> None:
        """Add its parser; without ``whole``, only its name when it is declared elsewhere."""
        if self.load is not None and whole:
            if self.name not in parsers.choices:  # one load may declare several commands
                self.load(parsers)
            parser = parsers.choices[self.name]
        else:
            parser = parsers.add_parser(self.name, help=self.help, description=self.about)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.description = _wrapped(parser.description or self.help)
        parser.epilog = f"example:\n  {self.example}"
        if self.run:
            parser.set_defaults(run=self.run, command=f"imabo {self.name}")
        groups = {"": parser}
        for argument in self.arguments:
            title = argument.group
            if title not in groups:
                groups[title] = parser.add_argument_group(title)
            groups[title].add_argument(argument.name, **argument.settings)


class Parser(argparse.ArgumentParser):
    """Raises what is wrong instead of ending the program, so that it can be told as JSON."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line; a word that looks like another may be that one."""
        if wrong := _CHOICE.search(message):
            known = re.findall(r"[\w-]+", wrong[3])
            is_command = wrong[1] == "argument command: "
            close = _OTHER_WORDS.get(wrong[2]) if is_command else None
            close = close or closest(wrong[2], known)
            if is_command:  # the list of them is long, and the help has it in groups
                message = f"there is no command {wrong[2]!r}"
            message += "" if close is None else f"; did you mean {close!r}?"
        raise UsageError(message, self.prog, self.format_usage())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what a command does not take is refused by that command, not by ``imabo``."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            options = (one.partition("=")[0] for one in rest if one.startswith("-"))
            near = (closest(one, self._option_string_actions) for one in options)
            close = next((one for one in near if one is not None), None)
            meant = "" if close is None else f"; did you mean {close!r}?"
            self.error(f"unrecognized arguments: {' '.join(rest)}{meant}")
        return found, rest


class _TopParser(Parser):
    """The ``imabo`` command itself, whose help lists the commands by groups."""

    def format_help(self) -> str:
        """The help of ``imabo``."""
        from imabo.cli.commands import GROUPS

        lines = [self.format_usage(), self.description or "", ""]
        for title, commands in GROUPS:
            lines += [f"{title}:", *(f"  {one.name:11} {one.help}" for one in commands), ""]
        lines += [
            "Commands about studies take --store URL (a database) or --url URL (a service), or",
            "IMABO_STORE or IMABO_URL in the environment, with the access key in IMABO_KEY; and",
            "--json: one JSON document on standard output, errors as JSON on standard error.",
            "",
            "exit codes:",
            *(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items()),
            "",
            "Each command tells more: imabo COMMAND --help",
            "",
        ]
        return "\n".join(lines)


_ABOUT: Final = "Tune a live system while it serves: see what was learned, and step in."


def make_parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """The parser of ``imabo``.

    Args:
        wanted: The command that is called, so that no other has to be imported; ``"*"`` for all of
            them whole.

    Example:
        >>> make_parser().parse_args(["best", "support-answers"]).study
        'support-answers'
    """
    from imabo import __version__
    from imabo.cli.commands import GROUPS

    parser = _TopParser(prog="imabo", description=_ABOUT)
    parser.add_argument("--version", action="version", version=f"imabo {__version__}")
    parsers = parser.add_subparsers(
        required=True, metavar="command", dest="name", parser_class=Parser
    )
    commands = [command for _, group in GROUPS for command in group]
    loads = {command.load for command in commands if wanted in ("*", command.name)}
    for command in commands:
        command.add_to(parsers, whole=command.load in loads)
    return parser


def _wrapped(text: str) -> str:
    import textwrap

    return "\n\n".join(textwrap.fill(part, 88) for part in text.split("\n\n"))
