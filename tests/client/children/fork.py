"""Forks while a client is in use; parent and child go on with it: ``fork.py URL``."""

from __future__ import annotations

import os
import sys
import traceback
import warnings

from imabo.client import Client, RemoteStudy

DEFAULT = {"letter": "a"}


def serve(client: Client, study: RemoteStudy, rounds: int) -> None:
    for number in range(rounds):
        pull = study.ask(default=DEFAULT, deadline_s=60.0)
        assert pull.reason != "default"
        study.tell(pull.id, 1.0, wait=number % 2 == 0)
    assert client.flush(60.0)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads is what this is about
    client = Client(sys.argv[1])
    study = client.open("s")
    serve(client, study, 5)
    left = study.ask(count=3)
    for pull in left:
        study.tell(pull.id, 1.0, wait=False)
    child = os.fork()
    if not child:
        try:
            assert client.n_waiting == 0
            serve(client, study, 20)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    serve(client, study, 20)
    assert os.waitpid(child, 0)[1] == 0
