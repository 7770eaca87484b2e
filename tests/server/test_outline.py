"""Who looks at a study reads how many arms it has, not the arms."""

from __future__ import annotations

import httpx
import pytest

from imabo import Study
from imabo.stores import MemoryStore
from imabo.stores.memory.rows import ArmEntry
from imabo.stores.records import ArmRecord
from tests.server.calls import Api
from tests.server.running import RunningServer


def with_arms(store: MemoryStore, http: httpx.Client, n: int) -> Api:
    api = Api(http, "s")
    with Study.open("s", store=store) as study:
        study.add_arms([{"model": "small", "x": i / n} for i in range(n)])
    return api


def test_a_study_and_the_list_of_them_read_no_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    n_read, record = 0, ArmEntry.record

    def counted(self: ArmEntry) -> ArmRecord:
        nonlocal n_read
        n_read += 1
        return record(self)

    store = MemoryStore()
    with RunningServer(store) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        api = with_arms(store, http, 50)
        http.get(f"{api.path}/arms")  # its view has them by now
        monkeypatch.setattr(ArmEntry, "record", counted)
        assert api.read()["n_arms"] == 50
        assert [one["n_arms"] for one in http.get("/v1/studies").json()["studies"]] == [50]
        assert n_read == 0
        assert len(api.read("/arms")["arms"]) == n_read == 50
