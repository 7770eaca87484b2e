"""The service on a SQLite file, until it is killed: ``serve.py FILE PORT``."""

from __future__ import annotations

import sys
import time

from tests.server.running import RunningServer

if __name__ == "__main__":
    server = RunningServer(f"sqlite:///{sys.argv[1]}", port=int(sys.argv[2]))
    print(server.port, flush=True)
    while True:
        time.sleep(60.0)
