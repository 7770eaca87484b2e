"""Feedback with scores and comments: all of it is told or nothing, and no comment is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo import Choice, Client, Pull, Signal, Space, Study, oracles
from imabo.engine.requests import Reward
from imabo.gateway.asking import Declared
from imabo.gateway.own import OwnStudies
from imabo.gateway.settings import settings_of
from imabo.gateway.tables import Table
from imabo.server.settings import Settings
from tests.gateway.conftest import UPSTREAM_KEY, file_of, start
from tests.gateway.upstream import Stub
from tests.server.running import RunningServer

SPACE = Space(model=Choice("small"))
# None that the gateway measures by itself: whichever comes first counts.
SIGNALS = {"helpful": Signal(0.0, 1.0), "edits": Signal(low=0.0)}
ROUTE = {"default": {"model": "small"}, "fields": {"model": "model"}}
WEIGHTS = {"first": {"helpful": 9.0, "polite": 1.0}, "second": {"helpful": 1.0, "polite": 9.0}}
TOML = """
[gateway]
feedback_file = "{kept}"
[upstreams.main]
base_url = "{upstream}/v1"
models.small = {{}}
[routes.first]
default = {{model = "small"}}
fields = {{model = "model"}}
scores = {{helpful = 9.0, polite = 1.0}}
[routes.second]
default = {{model = "small"}}
fields = {{model = "model"}}
scores = {{helpful = 1.0, polite = 9.0}}
"""


class Told:
    """A gateway with two studies whose routes weigh the same scores in other ways."""

    def __init__(self, http: httpx.Client, pull: Callable[[str, str], Pull], kept: Path) -> None:
        self.http, self._pull, self._kept = http, pull, kept

    def ask(self, study: str = "second") -> str:
        """The id of a completion."""
        body = {"model": f"imabo/{study}", "messages": []}
        completion: str = self.http.post("/v1/chat/completions", json=body).json()["id"]
        return completion

    def tell(self, completion: str, **said: Any) -> httpx.Response:
        """Send feedback."""
        return self.http.post("/v1/feedback", json={"id": completion, **said})

    def pull(self, completion: str, study: str = "second") -> Pull:
        """As it stands now."""
        return self._pull(study, completion.removeprefix("chatcmpl-"))

    def comments(self) -> list[str]:
        """Those that were kept."""
        lines = self._kept.read_text().splitlines() if self._kept.exists() else []
        return [json.loads(line)["comment"] for line in lines]


@pytest.fixture(params=["remote", "own", "mounted"])
def telling(
    request: pytest.FixtureRequest, stub: tuple[Stub, str], database: str, tmp_path: Path
) -> Any:
    """A gateway on a service, on a database, and within a service."""
    kept, toml = tmp_path / "kept.jsonl", tmp_path / "gateway.toml"
    toml.write_text(TOML.format(kept=kept, upstream=stub[1]))
    for name in WEIGHTS:
        oracle = oracles.Random()
        Study.create(name, SPACE, store=database, seed=0, signals=SIGNALS, oracle=oracle).close()
    own = str(toml) if request.param == "mounted" else None
    settings = Settings(poll_s=0.05, proposals=False, gateway=own)
    with RunningServer(database, settings=settings) as server, Client(server.url) as client:

        def pull(study: str, pull_id: str) -> Pull:
            return client.open(study).pull(pull_id)

        if request.param == "mounted":
            with httpx.Client(base_url=server.url) as http:
                yield Told(http, pull, kept)
            return
        file = file_of(stub[1], server.url, gateway={"feedback_file": str(kept)})
        file["routes"] = {name: {**ROUTE, "scores": one} for name, one in WEIGHTS.items()}
        if request.param == "own":
            file["imabo"] = {"store": database, "deadline_s": 30.0}
        with ExitStack() as stack:
            yield Told(start(stack, stub, server, file).http, pull, kept)


def test_scores_have_the_weights_of_their_own_study(telling: Told) -> None:
    for study, reward in (("second", 0.1), ("first", 0.9)):
        completion = telling.ask(study)
        told = telling.tell(completion, scores={"helpful": 1.0, "polite": 0.0}).json()
        assert (told["study"], told["reward"]) == (study, reward)
        assert told["signals"] == ["helpful"]
        assert telling.pull(completion, study).reward == pytest.approx(reward)
        assert telling.pull(completion, study).signals["helpful"] == 1.0
    more = telling.tell(telling.ask(), scores={"helpful": 1.0, "polite": 0.0, "edits": 2.0}).json()
    assert (more["reward"], sorted(more["signals"])) == (0.1, ["edits", "helpful"])


def test_feedback_is_told_as_a_whole_or_not_at_all(telling: Told) -> None:
    completion = telling.ask()
    refused = telling.tell(completion, reward=0.9, scores={"edits": -1}, comment="one")
    assert refused.status_code == 422
    assert refused.json()["kept"] is True
    assert telling.pull(completion).reward is None
    assert telling.tell(completion, reward=0.9, scores={"edits": 1}).json()["status"] == "told"
    assert telling.pull(completion).reward == 0.9
    assert telling.pull(completion).signals["edits"] == 1.0


def test_a_score_that_is_a_signal_needs_no_reward_and_no_weight(telling: Told) -> None:
    completion = telling.ask()
    told = telling.tell(completion, scores={"edits": 2.0}).json()
    assert (told["status"], told["signals"]) == ("told", ["edits"])
    assert telling.pull(completion).signals["edits"] == 2.0
    assert telling.pull(completion).reward is None
    refused = telling.tell(completion, scores={"polite": 2.0})
    assert refused.status_code == 422
    assert "all scores" in refused.json()["error"]["message"]


def test_no_comment_is_lost_and_none_of_an_unknown_pull_is_kept(telling: Told) -> None:
    completion = telling.ask()
    assert telling.tell(completion, reward=1, comment="told").json()["kept"] is True
    again = telling.tell(completion, reward=0, comment="conflict")
    assert (again.status_code, again.json()["kept"]) == (409, True)
    assert again.json()["error"]["code"] == "reward_conflict"
    dropped = telling.tell("chatcmpl-default-0123456789abcdef", reward=1, comment="dropped")
    assert (dropped.json()["status"], dropped.json()["kept"]) == ("dropped", True)
    assert telling.tell(completion, comment="alone").json()["status"] == "noted"
    assert telling.comments() == ["told", "conflict", "dropped", "alone"]
    number = completion.rpartition("-")[0]
    for unknown in (f"{number}-999999", "chatcmpl-nobody-3"):
        for said in ({"comment": "x"}, {"comment": "x", "reward": 1}):
            answer = telling.tell(unknown, **said)
            assert answer.status_code == 404
            assert "kept" not in answer.json()
    empty: list[dict[str, Any]] = [{"reward": None}, {"scores": {}}, {"comment": ""}]
    for nothing in empty:
        assert telling.tell(completion, **nothing).status_code == 422
    assert len(telling.comments()) == 4


def test_the_first_measurement_of_a_pull_counts() -> None:
    reported: list[Reward] = []

    class Noting(OwnStudies):
        def declared(self, study: str) -> Declared:
            return Declared(frozenset(("cost",)))

        async def report(self, study: str, reports: list[Reward]) -> list[None]:
            reported.extend(reports)
            return [None] * len(reports)

    file = file_of("http://127.0.0.1:1", "")
    file["imabo"] = {"store": "sqlite:///nobody.db"}

    async def run() -> None:
        studies = Noting(settings_of(Table("", file), {"UP_KEY": UPSTREAM_KEY}))
        for cost in (1.0, 2.0):  # a request that was sent again with its key, within a moment
            studies.note("answers", "k3f9x2-1", {"cost": cost})
        await studies.finish()

    asyncio.run(run())
    assert [one.signals for one in reported] == [{"cost": 1.0}]
