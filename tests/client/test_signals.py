"""Signals that a client keeps while the service is away, and sends in their order."""

from __future__ import annotations

from pathlib import Path

from imabo import Choice, Signal, Space
from imabo.client import Client
from tests.server.running import RunningServer


def test_signals_wait_in_the_outbox_and_are_sent(tmp_path: Path) -> None:
    space = Space(model=Choice("a", "b"))
    store = f"sqlite:///{tmp_path}/imabo.db"
    with RunningServer(store=store) as server:
        with Client(server.url) as client:
            study = client.create("s", space, seed=0, signals={"cost": Signal(low=0.0)})
            first, second = study.ask(), study.ask(key="order 3")
        with Client(server.url, outbox=tmp_path / "outbox") as client:
            study = client.study("s")
            study.tell(first.id, 0.5, signals={"cost": 0.25}, wait=False)
            study.signal(key="order 3", name="cost", value=4.0, wait=False)
            assert client.flush(30.0)
            found = [dict(study.pull(one.id).signals) for one in (first, second)]
            assert found == [{"cost": 0.25}, {"cost": 4.0}]
            assert study.pull(first.id).reward == 0.5
            assert client.n_refused == 0
            study.signal(first.id, "price", 1.0, wait=False)
            assert client.flush(30.0)
            assert client.n_refused == 1
