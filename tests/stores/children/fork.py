"""Fork with a study open, a log half read and a child that outlives its parent's store."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable

from imabo import Study
from imabo.stores import SQLiteStore
from tests.stores.processes import answer, wait_for_start

ROUNDS = 20


def play(study: Study, reward: float) -> None:
    for _ in range(ROUNDS):
        study.tell(study.ask().id, reward)


def in_child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return pid


def main() -> None:
    (path,) = wait_for_start()
    warnings.simplefilter("error")
    store = SQLiteStore(path)
    study = Study.open("study", store=store)
    play(study, 0.25)
    log = store.log("study")
    entries = [next(log)]
    parent_closed, child_began = os.pipe(), os.pipe()

    def work() -> None:
        play(study, 0.5)
        os.write(child_began[1], b"x")
        os.read(parent_closed[0], 1)
        play(study, 0.75)  # the parent's store is closed by now
        study.close()

    pid = in_child(work)
    os.read(child_began[0], 1)
    play(study, 1.0)
    entries += log
    store.close()
    os.write(parent_closed[1], b"x")
    _, status = os.waitpid(pid, 0)
    seqs = [(entry.seq, entry.kind, entry.pull) for entry in entries]
    answer({"status": status, "sorted": seqs == sorted(seqs), "entries": len(set(seqs))})


if __name__ == "__main__":
    main()
