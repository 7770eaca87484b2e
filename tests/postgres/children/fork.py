"""Fork with a store in use, a log half read and a listener open; both sides go on."""

from __future__ import annotations

import os
import sys
import warnings

from imabo import Study
from imabo.stores.postgres import PostgresStore
from tests.stores.processes import answer, wait_for_start

ROUNDS = 20


def play(study: Study, reward: float) -> None:
    for _ in range(ROUNDS):
        study.tell(study.ask().id, reward)


def main() -> None:
    (url,) = wait_for_start()
    warnings.simplefilter("error")
    store = PostgresStore(url)
    study = Study.open("study", store=store)
    play(study, 0.25)
    store.wait(0.01)
    log = store.log("study")
    entries = [next(log)]
    pid = os.fork()
    if pid == 0:
        try:
            play(study, 0.5)
            store.wait(0.01)
            entries += log
            entries_are_whole = len(entries) >= 4 * ROUNDS
            store.close()
            os._exit(0 if entries_are_whole else 2)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    play(study, 1.0)
    entries += log
    _, status = os.waitpid(pid, 0)
    play(study, 0.75)
    store.close()
    seqs = [(entry.seq, entry.kind, entry.pull) for entry in entries]
    answer({"status": status, "sorted": seqs == sorted(seqs), "entries": len(set(seqs))})


if __name__ == "__main__":
    main()
