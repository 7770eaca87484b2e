"""Fork behind Python's back, and use the store in the child."""

from __future__ import annotations

import ctypes
import os
from contextlib import closing

from imabo.errors import StoreError
from imabo.stores import SQLiteStore
from tests.stores.processes import answer, wait_for_start


def main() -> None:
    (path,) = wait_for_start()
    with closing(SQLiteStore(path)) as store:
        store.names()
        pid = ctypes.CDLL(None).fork()
        if pid == 0:
            try:
                store.names()
            except StoreError as error:
                os._exit(0 if "open the study in each process" in str(error) else 2)
            os._exit(1)
        status = os.waitpid(pid, 0)[1]
        answer({"status": status, "names": store.names()})


if __name__ == "__main__":
    main()
