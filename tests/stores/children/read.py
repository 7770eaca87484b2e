"""Read a study in every way, over and over, until a file appears."""

from __future__ import annotations

import io
from pathlib import Path

from imabo import Study
from imabo.stores import SQLiteStore
from tests.stores.processes import answer, wait_for_start


def read_all(path: str) -> int:
    """Open the file anew and read; returns the number of pulls."""
    store = SQLiteStore(path)
    try:
        assert "study" in store.names()
        study = Study.open("study", store=store)
        n_pulls = len(list(study))
        assert n_pulls >= len(study)  # what was written meanwhile is seen, too
        assert sum(arm.n_pulls for arm in study.arms()) >= n_pulls
        asks = sum(entry.kind == "ask" for entry in store.log("study"))
        assert asks >= n_pulls
        study.export(io.StringIO(), "csv")
        return n_pulls
    finally:
        store.close()


def main() -> None:
    path, stop = wait_for_start()
    seen = [read_all(path)]
    while not Path(stop).exists():
        seen.append(read_all(path))
    answer(seen)


if __name__ == "__main__":
    main()
