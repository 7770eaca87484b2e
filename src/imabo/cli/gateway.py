"""``imabo gateway``: its words and what it takes."""

from __future__ import annotations

import argparse
from typing import Any, Final

from imabo.cli.parser import Argument, Command
from imabo.errors import MissingExtra


def run(options: argparse.Namespace) -> int:
    """Run the gateway until it is told to stop."""
    try:
        from imabo.gateway import serving
    except ImportError as error:
        raise MissingExtra(
            f"the gateway needs {error.name}",
            "it is not installed with imabo itself",
            'run pip install "imabo[gateway]"',
        ) from error
    return serving.run(options)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"{number} is not from 0 to 65535")
    return number


_port.__name__ = "port"


def _takes(name: str, meaning: str, **settings: Any) -> Argument:
    return Argument(name, settings | {"help": meaning})


GATEWAY: Final = Command(
    "gateway",
    "an OpenAI-compatible endpoint that tunes what passes through it",
    "Serves the OpenAI API (chat, completions, embeddings, models) in front of other servers. "
    "A request for the model imabo/ROUTE gets the configuration that the route's study chooses; "
    "any other passes as it is. Feedback comes by the completion's id. The file is TOML: where "
    "imabo is, the upstreams and their models, and the routes.",
    "imabo gateway gateway.toml --check",
    "imabo.cli.gateway:run",
    (
        _takes("file", "TOML; docs/guides/gateway.md says what is in it", metavar="FILE"),
        _takes("--host", "address to listen on (%(default)s)", default="127.0.0.1"),
        _takes(
            "--port",
            "port to listen on; 0 takes a free one (%(default)s)",
            type=_port,
            default=8767,
            metavar="N",
        ),
        _takes(
            "--check", "only read the file and compare it with the studies", action="store_true"
        ),
        _takes(
            "--allow-open",
            "serve other machines although the gateway asks for no key",
            action="store_true",
        ),
        _takes(
            "--log-format",
            "text, or json with a line a request (%(default)s)",
            choices=("text", "json"),
            default="text",
        ),
        _takes("--json", "say the address as a JSON document", action="store_true"),
    ),
)
