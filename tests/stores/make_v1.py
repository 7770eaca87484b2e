"""How ``assets/sqlite-v1.sql`` was made; run once, before the first release, and never again.

A later schema gets a file of its own beside it: ``python -m tests.stores.make_v1 > FILE``.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from itertools import count

from imabo import Choice, Float, Int, Space, Study
from imabo.stores.sqlite.connections import connect


def play(store: str) -> None:
    """A small study with every kind of pull, arm and event."""
    ticks = count(1_000)
    clock = [1_000.0]
    temperature, top_k = Float(0.0, 1.0), Int(1, 10)
    old = Space(model=Choice("tiny", "small", "large"), temperature=temperature, top_k=top_k)
    new = Space(model=Choice("small", "large"), temperature=temperature, top_k=top_k)
    with Study.create(
        "v1 🎉",
        old,
        store=store,
        seed=2**70 + 1,
        reward_range=(-1.0, 1.0),
        window_s=50.0,
        clock=lambda: clock[0],
    ) as study:
        first = study.ask(count=8)
        study.tell(first[0].id, 0.1 + 0.2)
        for pull in first[1:5]:
            clock[0] = float(next(ticks))
            study.tell(pull.id, -1 / 3)
        clock[0] = 1_100.0
        study.expire()
        study.pause(2)
        study.update_space(new)
        study.add_arm({"model": "large", "temperature": 0.3, "top_k": 3})
        for pull in study.ask(count=8)[:4]:
            study.tell(pull.id, 1e-300)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/imabo.db"
        play(f"sqlite:///{path}")
        with closing(connect(path)) as db:
            print("-- A study as the first schema of imabo's SQLite store kept it. Never changes.")
            for pragma in ("application_id", "user_version"):
                print(f"PRAGMA {pragma} = {db.execute(f'PRAGMA {pragma}').fetchone()[0]};")
        with closing(sqlite3.connect(path)) as db:
            print("\n".join(db.iterdump()))


if __name__ == "__main__":
    main()
