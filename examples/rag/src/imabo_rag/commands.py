"""The commands of ``python -m imabo_rag``."""

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
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.command in ("demo", "gateway"):
        counts = (chosen.rounds, 1 if chosen.count is None else chosen.count)
        if min(counts) < 1 or not chosen.minutes > 0:
            parser.error("--rounds and --count must be at least 1, --minutes above 0")
    if chosen.command in ("fill", "table") and not 2 <= chosen.temperatures <= 101:
        parser.error("--temperatures must be from 2 to 101")
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="imabo_rag", description="A tuned assistant.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="answer a stream of questions and tune meanwhile")
    demo.add_argument("--rounds", type=int, default=300, help="questions at most (300)")
    demo.add_argument("--minutes", type=float, default=14.0, help="time in all, at most (14)")
    demo.add_argument("--seed", type=int, help="of the order and the study")
    demo.add_argument("--settings", default="local", help="local, hosted, or a TOML file")
    demo.add_argument("--no-model", action="store_true", help="only the extractive reader")
    demo.add_argument("--store", default="sqlite:///imabo-rag.db", help="the study's database")
    gateway = commands.add_parser(
        "gateway", help="two models behind the gateway, tuned by feedback on their answers"
    )
    gateway.add_argument("--rounds", type=int, default=300, help="questions at most (300)")
    gateway.add_argument("--minutes", type=float, default=9.0, help="time in all, at most (9)")
    gateway.add_argument("--seed", type=int, help="of the order and the study")
    gateway.add_argument("--no-model", action="store_true", help="two extractive readers alone")
    gateway.add_argument("--store", default="sqlite:///imabo-gateway.db", help="its database")
    fill = commands.add_parser(
        "fill", help="make the answers of every configuration ahead, with SmolLM2"
    )
    fill.add_argument("--device", default="cpu", help="cpu, or cuda where there is a GPU (cpu)")
    table = commands.add_parser("table", help="write the grades of what fill made as a table")
    table.add_argument("--out", type=Path, required=True, help="path of the table, no ending")
    commands.add_parser("effects", help="which settings matter, from the table shipped with imabo")
    for command in (fill, table):
        command.add_argument(
            "--temperatures", type=int, default=101, help="values from 0 to 1 (101)"
        )
    for command in (demo, gateway, fill, table):
        command.add_argument("--questions", type=Path, help="a file of the HotpotQA distractor set")
        command.add_argument("--count", type=int, help="how many of them, from the first (all)")
        command.add_argument("--cache", type=Path, default=Path("imabo-rag-cache.db"))
    serve = commands.add_parser("serve-model", help="serve SmolLM2 on loopback")
    serve.add_argument("--port", type=int, default=_PORT, help=f"0 for a free one ({_PORT})")
    return parser


def _run(chosen: argparse.Namespace) -> None:
    if chosen.command == "serve-model":
        from imabo_rag.model_server import serve_model

        serve_model(chosen.port)
    elif chosen.command == "gateway":
        from imabo_rag.gateway_demo import GatewayOptions, run_gateway

        run_gateway(
            GatewayOptions(
                questions=chosen.questions,
                count=chosen.count or 30,
                rounds=chosen.rounds,
                minutes=chosen.minutes,
                seed=chosen.seed,
                has_writer=not chosen.no_model,
                store=chosen.store,
                cache=chosen.cache,
            )
        )
    elif chosen.command == "fill":
        from imabo_rag.filling import run_fill

        run_fill(chosen.questions, chosen.count, chosen.cache, chosen.temperatures, chosen.device)
    elif chosen.command == "table":
        from imabo_rag.tabling import run_table

        run_table(chosen.questions, chosen.count, chosen.cache, chosen.temperatures, chosen.out)
    elif chosen.command == "effects":
        from imabo_rag.effects import effects

        sys.stdout.write("\n".join(effects()) + "\n")
    else:
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
