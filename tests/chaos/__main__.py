"""The long version: ``python -m tests.chaos --store postgres --servers 3 --rewards 50000``."""

from __future__ import annotations

import argparse

from tests.chaos.driver import Chaos, run


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--store", choices=["postgres", "sqlite"], default="postgres")
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--rewards", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--freezes", type=int, default=5)
    parser.add_argument("--crashes", type=int, default=4, help="of the database")
    parser.add_argument("--restarts", type=int, default=4, help="of the database, in good order")
    parser.add_argument("--cuts", type=int, default=2, help="of all connections to the database")
    parser.add_argument("--hangs", type=int, default=3, help="of the database")
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=30.0, help="after which it has failed")
    given = vars(parser.parse_args())
    minutes, store = given.pop("minutes"), given["store"]
    if store == "sqlite":
        given |= {"servers": 1, "crashes": 0, "restarts": 0, "cuts": 0, "hangs": 0}
    report = run(Chaos(**given, limit_s=60.0 * minutes, flush=True), say=_say)
    print(report)
    return 1 if report.violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
