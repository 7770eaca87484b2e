"""Signals that a client keeps while the service is away, and sends in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from imabo import Choice, Reward, Signal, Space
from imabo.client import Client
from imabo.errors import RewardConflict, SignalConflict
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


@pytest.mark.parametrize("is_durable", [False, True])
def test_another_value_of_a_signal_that_waits_is_a_conflict_of_signals(
    tmp_path: Path, is_durable: bool
) -> None:
    """Nothing listens there: all that is told waits."""
    outbox = tmp_path / "outbox" if is_durable else None
    with Client("http://127.0.0.1:9", outbox=outbox, timeout_s=0.2, flush_s=0.0) as client:
        study = client.study("s")
        study.signal("abc-1", "cost", 1.0, wait=False)
        study.signal("abc-1", "cost", 1.0, wait=False)
        with pytest.raises(SignalConflict, match="the signal 'cost' of pull 'abc-1' is 2"):
            study.signal("abc-1", "cost", 2.0, wait=False)
        told = study.tell_many([Reward(0.5, "abc-1", signals={"cost": 2.0}), ("abc-2", 0.5)])
        assert [None if one is None else one.code for one in told] == ["signal_conflict", None]
        study.tell("abc-1", 0.75, wait=False)  # nothing of the refused report waits
        with pytest.raises(RewardConflict, match="the reward of pull 'abc-1' is 0"):
            study.tell("abc-1", 0.5, wait=False)
