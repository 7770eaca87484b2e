"""Declare a study as one version of a program, again and again; say how it ended."""

from __future__ import annotations

from typing import Any

from imabo import Int, Space, Study, oracles
from tests.stores.processes import answer, wait_for_start


def declare(url: str, version: int, *, has_revision: bool, **settings: Any) -> Study:
    """What version N of the program declares: N more values, and a longer window."""
    return Study.create(
        "study",
        Space(x=Int(0, version)),
        store=url,
        oracle=oracles.Random(),
        window_s=60.0 * version,
        seed=1,
        if_changed="update",
        revision=version if has_revision else None,
        **settings,
    )


def main() -> None:
    url, version, has_revision, rounds = wait_for_start()
    for _ in range(int(rounds)):
        with declare(url, int(version), has_revision=has_revision == "True") as study:
            study.tell(study.ask().id, 0.5)
    answer(None)


if __name__ == "__main__":
    main()
