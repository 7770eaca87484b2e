"""Open files that do not exist yet, at the same moment as others do."""

from __future__ import annotations

from imabo.stores import SQLiteStore
from tests.stores.processes import answer, wait_for_start


def main() -> None:
    for path in wait_for_start():
        store = SQLiteStore(path)
        store.names()
        store.close()
    answer("opened")


if __name__ == "__main__":
    main()
