"""How long a study's page takes to open, for a long past against a short one, in a real browser.

Run it with ``python -m tests.page.opening``. Each time is that of a browser without a cache at a
service that has just started, from the address to the key figures, the first figure and the table.
On a machine with other work the least times say most. ``--store`` keeps the studies for later.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from imabo.stores import open_store
from imabo_bench.insight import fill, n_arms_at
from tests.page.browsing import WIDE, running_browser, watched_page
from tests.page.studies import path_of
from tests.server.running import RunningServer

SIGNS: Final = ("#figure-reward .main-svg", ".arms tbody tr")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.page.opening", description=__doc__)
    parser.add_argument("--short", type=int, default=5_000, help="pulls of the short study")
    parser.add_argument("--long", type=int, default=5_000_000, help="pulls of the long study")
    parser.add_argument("--repeats", type=int, default=7, help="samples of each time")
    parser.add_argument("--store", help="a database to fill, or that an earlier run has filled")
    options = parser.parse_args(arguments)
    sizes = (options.short, options.long)
    with tempfile.TemporaryDirectory() as folder:
        url = options.store or f"sqlite:///{Path(folder) / 'study.db'}"
        store = open_store(url)
        for n_pulls in sizes:
            if f"{n_pulls}" not in store.names():
                fill(store, f"{n_pulls}", n_pulls)
        store.close()
        spent: dict[int, list[float]] = {n: [] for n in sizes}
        with running_browser() as browser:
            for _ in range(options.repeats):
                for n_pulls in sizes:
                    spent[n_pulls].append(_seconds(browser, url, f"{n_pulls}"))
    for n_pulls, times in spent.items():
        sys.stdout.write(
            f"{n_pulls:,} pulls, {n_arms_at(n_pulls):,} arms: median "
            f"{statistics.median(times):.2f} s, from {min(times):.2f} to {max(times):.2f}\n"
        )
    for name, of in (("medians", statistics.median), ("least times", min)):
        short, long = (of(spent[n]) for n in sizes)
        sys.stdout.write(f"ratio of the {name} {long / short:.2f}\n")
    return 0


def _seconds(browser: Browser, url: str, name: str) -> float:
    with (
        RunningServer(url) as server,
        watched_page(browser, server.url, viewport=WIDE) as (page, _),
    ):
        began = time.perf_counter()
        page.goto(path_of(name))
        for sign in SIGNS:
            page.wait_for_selector(sign)
        return time.perf_counter() - began


if __name__ == "__main__":
    raise SystemExit(main())
