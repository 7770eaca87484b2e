"""Bring databases to a schema with one more step, at the same moment as others do."""

from __future__ import annotations

import psycopg

from imabo.stores.postgres.schema import STEPS, upgrade
from tests.stores.processes import answer, wait_for_start

NEXT_STEP = (
    "CREATE TABLE upgrades (n INTEGER)",
    "INSERT INTO upgrades VALUES (1)",
    "ALTER TABLE imabo_arms ADD COLUMN note TEXT",
)


def main() -> None:
    for url in wait_for_start():
        with psycopg.connect(url) as db:
            upgrade(db, "the database", (*STEPS, NEXT_STEP))
    answer("upgraded")


if __name__ == "__main__":
    main()
