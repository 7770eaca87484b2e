"""Rolling deploys on one database: several versions of a program that start at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from imabo import Int, Space, Study
from imabo.stores import open_store
from imabo.testing.audit import audit
from tests.stores.children.declare import declare
from tests.stores.processes import run_together

VERSIONS = (1, 2, 3, 4)


def check_newest(url: str, *, n_changes: int) -> None:
    """The newest declaration is in force, whole; each was applied once at most."""
    with Study.open("study", store=url) as study:
        newest = VERSIONS[-1]
        assert (study.space, study.window_s) == (Space(x=Int(0, newest)), 60.0 * newest)
        changed = [event for event in study.events() if event.kind in ("space", "settings")]
        assert len(changed) <= n_changes
        revisions = [event.data["after"].get("revision") for event in changed]
        assert revisions == sorted(revisions)
    store = open_store(url)
    assert audit(store, "study") == []
    store.close()


def race_in_processes(url: str) -> None:
    """Programs of two versions, each started again and again."""
    declare(url, 1, has_revision=True).close()
    settings = [(url, version, True, 4) for version in VERSIONS[-2:]]
    run_together("tests.stores.children.declare", settings)
    check_newest(url, n_changes=2)


def race_in_threads(url: str) -> None:
    """Programs of all versions, started in any order."""

    def start(version: int) -> None:
        with declare(url, version, has_revision=True) as study:
            study.ask()

    declare(url, 1, has_revision=True).close()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, [*reversed(VERSIONS), *VERSIONS] * 2))
    check_newest(url, n_changes=len(VERSIONS) - 1)
