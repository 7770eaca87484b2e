"""A roll-back under load: two servers' worth of processes on one database."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, closing

from imabo import Control, Float, Space, Study
from imabo.arms import Pull
from imabo.client import Client
from imabo.oracles import Random
from imabo.policies import IMOSS
from imabo.server.settings import Settings
from imabo.stores.postgres import PostgresStore
from imabo.testing.audit import audit
from tests.server.running import RunningServer
from tests.study.test_shared import Hand

LOAD_S = 1.5


def test_no_ask_after_a_rollback_is_served_by_anything_but_the_control(postgres_url: str) -> None:
    policy = IMOSS(beta=0.3, warmup=5)
    control = Control({"x": 0.5}, share=0.05)
    study = Study.create(
        "study", Space(x=Float(0.0, 1.0)), policy=policy, oracle=Random(), store=postgres_url,
        seed=0, control=control,
    )  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(study)
        for pull in study.ask(30):
            study.tell(pull.id, 0.5)
        stores = [stack.enter_context(closing(PostgresStore(postgres_url))) for _ in range(2)]
        sides = [Study.open("study", store=store) for store in stores]
        asked: list[tuple[float, Pull]] = []  # when it was asked for
        errors: list[Exception] = []
        stop = threading.Event()

        def load(side: Study, hand: Hand) -> None:
            try:
                while not stop.is_set():
                    began = time.monotonic()
                    hand.configs = [{"x": (began * 997.0) % 1.0}]  # a new arm whenever one is due
                    for pull in side.ask(3):
                        asked.append((began, pull))
                        side.tell(pull.id, 0.5)
            except Exception as error:
                errors.append(error)

        threads = []
        for side in sides:
            hand = Hand()
            side.use_proposer(hand)
            threads += [threading.Thread(target=load, args=(side, hand)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(LOAD_S / 2)
        study.roll_back(reason="complaints")
        acknowledged = time.monotonic()
        time.sleep(LOAD_S / 2)
        stop.set()
        for thread in threads:
            thread.join()
        assert not errors
        before = [pull for began, pull in asked if began < acknowledged]
        after = [pull for began, pull in asked if began >= acknowledged]
        assert min(len(before), len(after)) > 20
        assert {pull.group for pull in before} == {"tuned", "control"}
        assert {(pull.group, pull.config["x"]) for pull in after} == {("control", 0.5)}
        # To the very transaction: the log has nothing else behind the change.
        log = list(stores[0].log("study"))
        (place,) = [i for i, entry in enumerate(log) if entry.kind == "rolled back"]
        assert {entry.group for entry in log[place:] if entry.kind == "ask"} == {"control"}
        assert audit(stores[0], "study", is_shared=True) == []


def test_two_servers_obey_the_kill_switch_of_either(postgres_url: str) -> None:
    """Each may hear of the other's writes so late that only the database can be what stops it."""
    settings = Settings(poll_s=2.0, proposals=False)  # to stop takes as long as to hear
    with ExitStack() as stack:
        servers = [
            stack.enter_context(RunningServer(postgres_url, settings=settings)) for _ in range(2)
        ]
        clients = [stack.enter_context(Client(server.url)) for server in servers]
        clients[0].create(
            "study", Space(x=Float(0.0, 1.0)), policy=IMOSS(warmup=5), oracle=Random(),
            control=Control({"x": 0.5}, share=0.2),
        )  # fmt: skip
        sides = [client.open("study") for client in clients]
        for side in sides:
            assert {pull.group for pull in side.ask(60)} == {"tuned", "control"}
        for switched, other in (sides, sides[::-1]):
            switched.roll_back(reason="complaints")
            for side in (other, switched):
                assert {(p.group, p.config["x"]) for p in side.ask(30)} == {("control", 0.5)}
            other.resume()
            assert {pull.group for pull in switched.ask(60)} == {"tuned", "control"}
        assert audit(servers[0].store, "study", is_shared=True) == []
