"""A server with a control, a guardrail and webhooks is killed: nothing of them is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, Self

import httpx
import pytest

from imabo import Control, Float, Guardrail, Space, Study
from imabo.client import Client
from imabo.engine.comparison import outcome_of
from imabo.evaluation import Lift
from imabo.oracles import Random as AtRandom
from imabo.policies import IMOSS
from imabo.server.sender import Sender
from imabo.stores import open_store
from imabo.testing.audit import audit
from tests.loops import first
from tests.server.receiving import Receiver, eventually
from tests.stores.processes import ROOT

KINDS: Final = ("control", "rolled back", "resumed")
ASK: Final = "/v1/studies/study/pulls"
AHEAD_S: Final = 3600.0  # of a clock for which every lease has ended


class Served:
    """A real server on a database, to be killed."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "imabo.cli", "serve", "--port", "0", "--store", url]
        self.process = subprocess.Popen(
            [*command, "--allow-private-webhooks"], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()


@dataclass
class Traffic:
    """Requests whose tuned ones fail; what was acknowledged is written down."""

    served: dict[str, str] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)
    maybe: dict[str, float] = field(default_factory=dict)

    def run(self, url: str, stop: threading.Event) -> None:
        """Ask and tell until it is stopped, or the server is gone."""
        with httpx.Client(base_url=url, timeout=30.0) as http:
            while not stop.is_set():
                try:
                    self._once(http)
                except httpx.TransportError:
                    return

    def _once(self, http: httpx.Client) -> None:
        pulls: list[dict[str, Any]] = http.post(ASK, json={"count": 4}).json()["pulls"]
        for pull in pulls:
            self.served[pull["id"]] = pull["group"]
        for pull in pulls[:3]:  # one in four brings none
            reward = 1.0 if pull["group"] == "control" else 0.0
            self.maybe[pull["id"]] = reward
            answer = http.put(f"/v1/pulls/{pull['id']}/reward", json={"reward": reward})
            if answer.is_success:
                self.told[pull["id"]] = reward


@pytest.mark.parametrize("seed", first(1, range(500, 506)))
def test_a_killed_server_loses_no_roll_back_no_reward_of_the_lift_and_no_webhook(
    tmp_path: Path, seed: int
) -> None:
    url, rng, traffic = f"sqlite:///{tmp_path}/imabo.db", Random(seed), Traffic()
    with Receiver(wait_s=0.05) as receiver:
        with Served(url) as server, Client(server.url) as client:
            client.create(
                "study", Space(x=Float(0.0, 1.0)), policy=IMOSS(warmup=5), oracle=AtRandom(),
                control=Control({"x": 0.5}, share=0.3), guardrail=Guardrail(margin=0.02),
            )  # fmt: skip
            http = httpx.post(
                f"{server.url}/v1/webhooks", json={"url": receiver.url, "kinds": list(KINDS)}
            )
            assert http.status_code == 201
        until_killed(url, traffic, rng.uniform(0.0, 0.4))
        until_rolled_back(url, traffic)
        with Served(url) as server, Client(server.url) as client:
            study = client.open("study")
            assert study.lift().state == "rolled back", "it survives"
            assert {pull.group for pull in study.ask(20)} == {"control"}
            study.resume()
        # Killed right after that was acknowledged, too.
        check(url, traffic, receiver)


def until_killed(url: str, traffic: Traffic, after_s: float) -> None:
    """Requests, and a kill in the middle of them."""
    with Served(url) as server:
        thread = threading.Thread(target=traffic.run, args=(server.url, threading.Event()))
        thread.start()
        time.sleep(after_s)
        server.kill()
        thread.join()


def until_rolled_back(url: str, traffic: Traffic) -> None:
    """Requests until the guardrail is seen to have fired, and a kill at that moment."""
    stop = threading.Event()
    with Served(url) as server, Client(server.url) as client:
        study = client.open("study")
        thread = threading.Thread(target=traffic.run, args=(server.url, stop))
        thread.start()
        try:
            eventually(lambda: study.lift().state == "rolled back", within_s=60.0)
        finally:
            server.kill()
            stop.set()
            thread.join()


def check(url: str, traffic: Traffic, receiver: Receiver) -> None:
    """What a new process finds is what was acknowledged, and no more than was under way."""
    with closing(open_store(url)) as store:
        with Study.open("study", store=store) as study:
            pulls = {pull.id: pull for pull in study}
            lift = study.lift()
            assert lift.state == "tuning"
        for name, group in traffic.served.items():
            assert pulls[name].group == group
        rewards = {name: pull.reward for name, pull in pulls.items() if pull.reward is not None}
        assert traffic.told.items() <= rewards.items()
        assert rewards.items() <= traffic.maybe.items()
        assert audit(store, "study", is_shared=True) == []
        # The lift is that of the whole log, whatever was kept and picked up on the way.
        outcomes = store.outcomes("study", limit=100_000)
        whole = Lift((0.0, 1.0)).update([outcome_of(one) for one in outcomes]).estimate()
        assert (lift.n_tuned, lift.n_control) == (whole.n_tuned, whole.n_control)
        assert lift.interval == pytest.approx(whole.interval)
        # In the log, nothing but the control is served between a roll-back and its end.
        kinds, is_back = list[str](), False
        for entry in store.log("study"):
            if entry.kind in KINDS:
                kinds.append(entry.kind)
                is_back = entry.kind == "rolled back"
            elif entry.kind == "ask" and is_back:
                assert entry.group == "control"
        assert kinds == list(KINDS)
        # What waited for the webhook, or was under way to it, is sent by whoever comes next.
        wanted = {event.id for event in store.events("study", kinds=KINDS[1:])}
        sender = Sender(store, allow_private=True, poll_s=0.02, clock=lambda: time.time() + AHEAD_S)
        sender.start()
        try:
            eventually(lambda: wanted <= {got.event["id"] for got in list(receiver.got)})
        finally:
            sender.stop()
