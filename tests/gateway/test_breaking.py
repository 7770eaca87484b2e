"""Models that fail: the fallback answers without a wait, and the study learns of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from imabo import Choice, Client, Signal, Space, oracles
from imabo.client import RemoteStudy
from imabo.errors import InvalidSetting
from imabo.gateway.mapping import check_on_error
from imabo.gateway.settings import settings_of
from imabo.gateway.tables import Table
from tests.gateway.conftest import UPSTREAM_KEY, Gateway, file_of
from tests.gateway.upstream import Stub
from tests.server.running import RunningServer

Made = Callable[[dict[str, Any]], Gateway]


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def told(study: RemoteStudy, pull_id: str) -> float:
    """The reward of a pull, which is told beside the requests."""
    wait_for(lambda: study.pull(pull_id).reward is not None)
    reward = study.pull(pull_id).reward
    assert reward is not None
    return reward


def test_a_model_that_hangs_is_not_waited_for_again_and_again(
    made: Made, stub: tuple[Stub, str], imabo: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FIRST_S", "_LONGEST_S"):
        monkeypatch.setattr(f"imabo.client.session.{name}", 3600.0)
    file = file_of(stub[1], imabo.url)
    file["upstreams"]["wrong"]["timeout_s"] = 0.05
    file["routes"]["slow-alone"] = file["routes"]["slow"]
    gateway = made(file)
    n_seen = len(gateway.stub.seen)
    for _ in range(9):
        answer = gateway.chat("imabo/slow-saved")
        assert (answer.status_code, answer.headers["x-imabo-served"]) == (200, "fallback")
    sent = [one[2] for one in gateway.stub.seen[n_seen:]]
    assert sum(b'"slow"' in body for body in sent) == 5
    # Another model of the same server is tried, and so is this one where nothing else answers.
    assert gateway.chat("imabo/heads").headers["x-imabo-served"] == "arm"
    assert gateway.chat("imabo/slow-alone").status_code == 504


def test_a_dead_model_does_not_keep_its_share(
    made: Made, stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    space = Space(model=Choice("down", "small", "large"))
    with Client(imabo.url) as client:
        study = client.create("with-dead", space, seed=1, signals={"fallback": Signal(0.0, 1.0)})
        file = file_of(stub[1], imabo.url)
        file["routes"]["with-dead"] = {
            "default": {"model": "small"}, "fields": {"model": "model"}, "fallback": "small",
        }  # fmt: skip
        gateway = made(file)
        for _ in range(150):
            answer = gateway.chat("imabo/with-dead")
            assert answer.status_code == 200
            gateway.feedback(id=answer.json()["id"], reward=1)
        wait_for(lambda: study.facts().n_pending == 0)
        (dead,) = [arm for arm in study.arms() if arm.config["model"] == "down"]
        assert dead.n_pulls < 30
        assert dead.mean == 0.0
        for pull in study.pulls():
            wait_for(lambda pull=pull: "fallback" in study.pull(pull.id).signals)  # type: ignore[misc]
            is_dead = pull.config["model"] == "down"
            assert study.pull(pull.id).signals["fallback"] == float(is_dead)


@pytest.mark.parametrize(
    ("route", "on_error", "ends", "reward"),
    [
        ("error-saved", None, (-1.0, 1.0), -1.0),
        ("error-saved", 0.25, (-1.0, 1.0), 0.25),
        ("error-saved", False, (-1.0, 1.0), None),
        ("error-saved", None, None, None),
        ("error", None, (-1.0, 1.0), None),  # the caller has seen the error, and may tell it
        ("error", 0.25, (-1.0, 1.0), 0.25),
    ],
)
def test_what_a_failure_counts_as(
    route: str, on_error: float | None, ends: tuple[float, float] | None, reward: float | None,
    made: Made, stub: tuple[Stub, str], imabo: RunningServer,
) -> None:  # fmt: skip
    name = f"failing-{route}-{on_error}-{ends is None}".replace(".", "-")
    with Client(imabo.url) as client:
        study = client.create(
            name, Space(x=Choice(1)), oracle=oracles.Random(), seed=0, reward_range=ends,
            signals={"fallback": Signal(0.0, 1.0)},
        )  # fmt: skip
        file = file_of(stub[1], imabo.url)
        one = file["routes"][route] | {"study": name, "default": {"x": 1}}
        file["routes"] = {"it": one if on_error is None else one | {"on_error": on_error}}
        pull_id = made(file).chat("imabo/it").headers["x-imabo-pull"].removeprefix("default-")
        wait_for(lambda: "fallback" in study.pull(pull_id).signals)
        assert study.pull(pull_id).signals["fallback"] == float(route == "error-saved")
        assert study.pull(pull_id).reward == reward


def test_a_reward_of_failures_that_cannot_be_told_is_refused() -> None:
    file = file_of("http://127.0.0.1:1", "http://127.0.0.1:1")
    for value, words in ((True, "on_error is True"), ("x", "on_error is 'x'")):
        file["routes"]["answers"]["on_error"] = value
        with pytest.raises(InvalidSetting, match=words):
            settings_of(Table("", file), {"UP_KEY": UPSTREAM_KEY})
    file["routes"]["answers"]["on_error"] = -1
    route = settings_of(Table("", file), {"UP_KEY": UPSTREAM_KEY}).routes["answers"]
    check_on_error(route, None)
    with pytest.raises(InvalidSetting, match=r"on_error is -1.*from 0 to 1.*write 0"):
        check_on_error(route, (0.0, 1.0))
