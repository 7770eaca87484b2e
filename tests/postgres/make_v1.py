"""How ``assets/v1.sql`` was made; run once, before the first release, and never again.

A later schema gets a file of its own beside it: ``python -m tests.postgres.make_v1 > FILE``.
"""

from __future__ import annotations

import textwrap
from contextlib import closing

import psycopg
from psycopg import sql

from imabo import Study
from imabo.stores.base import KeyRecord
from imabo.stores.postgres import PostgresStore
from imabo.stores.postgres.schema import STEPS, VERSION_TABLE
from tests.postgres.server import fresh_database, running
from tests.stores.make_v1 import play

TABLES = ("studies", "spaces", "arms", "pulls", "events", "beliefs", "keys")


def rows_of(db: psycopg.Connection, table: str) -> list[str]:
    """A table as plain INSERTs."""
    cursor = db.execute(sql.SQL("SELECT * FROM {} ORDER BY 1, 2").format(sql.Identifier(table)))
    columns = sql.SQL(", ").join(sql.Identifier(c.name) for c in cursor.description or ())
    insert = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({});")
    return [
        insert.format(
            sql.Identifier(table), columns, sql.SQL(", ").join(map(sql.Literal, row))
        ).as_string(db)
        for row in cursor
    ]


def statement(text: str) -> str:
    """A statement of the schema, without the indentation that it has there."""
    return textwrap.dedent(text).strip() + ";"


def main() -> None:
    with running() as server, fresh_database(server) as url:
        play(url)
        with closing(PostgresStore(url)) as store:
            store.put_key(KeyRecord("k1", "one key", "writer", ("v1 🎉",), "hash", 1_000.0))
            with Study.open("v1 🎉", store=store, clock=lambda: 1_200.0) as study:
                study.ask(count=2, key="a key", context={"user": 7})
        print("-- A study as the first schema of imabo's PostgreSQL store kept it. Never changes.")
        print(*map(statement, (VERSION_TABLE, *STEPS[0])), sep="\n")
        print("INSERT INTO imabo_schema_version (version) VALUES (1);")
        with psycopg.connect(url) as db:
            print(*(row for table in TABLES for row in rows_of(db, f"imabo_{table}")), sep="\n")
        print("SELECT setval(pg_get_serial_sequence('imabo_studies', 'id'), 1);")


if __name__ == "__main__":
    main()
