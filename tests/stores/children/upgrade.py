"""Upgrade files to a schema with one more step, at the same moment as others do."""

from __future__ import annotations

import sqlite3

from imabo.stores.sqlite.schema import STEPS, upgrade
from tests.stores.processes import answer, wait_for_start

NEXT_STEP = (
    "CREATE TABLE upgrades (n INTEGER)",
    "INSERT INTO upgrades VALUES (1)",
    "ALTER TABLE arms ADD COLUMN note TEXT",
)


def main() -> None:
    for path in wait_for_start():
        db = sqlite3.connect(path, isolation_level=None, timeout=60.0)
        upgrade(db, path, (*STEPS, NEXT_STEP))
        db.close()
    answer("upgraded")


if __name__ == "__main__":
    main()
