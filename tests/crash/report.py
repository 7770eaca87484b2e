"""A new process after the crash: what the file holds, and whether the study goes on."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

from imabo import Study
from imabo.errors import UnknownStudy
from imabo.stores import SQLiteStore
from imabo.testing.stores.facts import check_sums, everything
from tests.stores.processes import answer


def main() -> None:
    (path,) = sys.argv[1:]
    try:
        study = Study.open("study", store=f"sqlite:///{path}", clock=lambda: 1e6)
    except UnknownStudy:
        answer(None)
        return
    with closing(SQLiteStore(path)) as store:
        check_sums(store)
        seqs = [entry.seq for entry in everything(store).log]
        gapless = sorted(set(seqs)) == list(range(1, len(set(seqs)) + 1))
    found = {
        "pulls": [(pull.id, pull.reward) for pull in study],
        "space_version": study.space_version,
        "states": {arm.id: arm.state for arm in study.arms()},
        "gapless": gapless,
    }
    for pull in study.ask(count=5):
        study.tell(pull.id, 0.5)
    study.tell(study.ask().id, 1.0)
    found["n_rewards_gone_on"] = study.n_rewards
    study.close()
    with closing(SQLiteStore(path)) as store:
        check_sums(store)
    with closing(sqlite3.connect(path)) as db:
        found["integrity"] = db.execute("PRAGMA integrity_check").fetchone()[0]
    answer(found)


if __name__ == "__main__":
    main()
