"""Serve one pull, when told to."""

from __future__ import annotations

from contextlib import closing

from imabo.stores.postgres import PostgresStore
from imabo.testing.stores.facts import Writer
from tests.stores.processes import answer, wait_for_start


def main() -> None:
    (url,) = wait_for_start()
    with closing(PostgresStore(url)) as store:
        answer(Writer(store, create=False).serve_patiently(1))


if __name__ == "__main__":
    main()
