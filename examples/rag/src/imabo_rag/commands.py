"""The commands: ``python -m imabo_rag demo`` and ``python -m imabo_rag serve-model``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from imabo.errors import ImaboError

_PORT = 8777  # that of settings/local.toml


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    parser = argparse.ArgumentParser(prog="imabo_rag", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="answer a stream of questions and tune meanwhile")
    demo.add_argument("--questions", type=Path, help="a file of the HotpotQA distractor set")
    demo.add_argument("--count", type=int, help="how many of its questions, from the first (all)")
    demo.add_argument("--rounds", type=int, default=300, help="questions at most (300)")
    demo.add_argument("--minutes", type=float, default=13.5, help="time in all, at most (13.5)")
    demo.add_argument("--seed", type=int, help="of the order and the study")
    demo.add_argument("--settings", default="local", help="local, hosted, or a TOML file")
    demo.add_argument("--no-model", action="store_true", help="only the extractive reader")
    demo.add_argument("--store", default="sqlite:///imabo-rag.db", help="the study's database")
    demo.add_argument("--cache", type=Path, default=Path("imabo-rag-cache.db"))
    serve = commands.add_parser("serve-model", help="serve SmolLM2 on loopback")
    serve.add_argument("--port", type=int, default=_PORT, help=f"0 for a free one ({_PORT})")
    serve.add_argument("--with-parent", action="store_true", help="end when stdin closes")
    chosen = parser.parse_args(arguments)
    if chosen.command == "demo":
        counts = (chosen.rounds, 1 if chosen.count is None else chosen.count)
        if min(counts) < 1 or not chosen.minutes > 0:
            parser.error("--rounds and --count must be at least 1, --minutes above 0")
    # Told to end, we end as after Ctrl-C: every child is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        _run(chosen)
    except KeyboardInterrupt:
        return 130
    except ImaboError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _run(chosen: argparse.Namespace) -> None:
    if chosen.command == "serve-model":
        from imabo_rag.model_server import serve_model

        serve_model(chosen.port, with_parent=chosen.with_parent)
        return
    from imabo_rag.demo import Options, run

    run(
        Options(
            questions=chosen.questions,
            count=chosen.count,
            rounds=chosen.rounds,
            minutes=chosen.minutes,
            seed=chosen.seed,
            settings=None if chosen.no_model else chosen.settings,
            store=chosen.store,
            cache=chosen.cache,
        )
    )
