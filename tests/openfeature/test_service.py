"""The provider on studies of a service: with the blocking client, and with the asyncio one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode, OpenFeatureError, ProviderFatalError
from openfeature.flag_evaluation import Reason
from openfeature.provider import ProviderStatus
from openfeature.track import TrackingEventDetails

from imabo import AsyncClient, Choice, Client, Int, Signal, Space, Study
from imabo.openfeature import ImaboProvider
from imabo.stores import MemoryStore
from tests.server.running import RunningServer

pytestmark = pytest.mark.service

SPACE = Space(model=Choice("small", "large"), top_k=Int(1, 10))
SIGNALS = {"cost": Signal(low=0.0)}


@pytest.fixture(scope="module")
def service() -> Iterator[RunningServer]:
    with RunningServer(keys={"app": ("admin", None)}) as server:
        yield server


def request(key: str, **attributes: Any) -> EvaluationContext:
    return EvaluationContext(key, attributes)


def test_a_blocking_client_serves_flags_and_sends_what_was_tracked(
    service: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(service.url, key=service.keys["app"]) as remote:
        monkeypatch.setattr(remote._session, "wake", lambda: None)  # nothing is sent by itself
        study = remote.create("blocking", SPACE, seed=0, signals=SIGNALS)
        # Known by its name alone, as another process would have it.
        api.set_provider_and_wait(ImaboProvider(remote.study("blocking"), deadline_s=10.0))
        client = api.get_client()
        context = request("r-1", kind="math")
        model = client.get_string_value("blocking.model", "?", context)
        top_k = client.get_integer_value("blocking.top_k", -1, context)
        client.track("reward", context, TrackingEventDetails(1.0, {"cost": 0.5, "other": 2}))
        client.track("cost", request("r-1"), TrackingEventDetails(0.5))  # again: nothing changes
        assert remote.n_waiting == 2
        api.shutdown()  # sends what waits
        pull = study.pull(key="r-1")
        assert pull.config == {"model": model, "top_k": top_k}
        assert (pull.reward, pull.signals) == (1.0, {"cost": 0.5})
        assert pull.context == {"targeting_key": "r-1", "kind": "math"}
        assert (study.n_pulls, remote.n_refused) == (1, 0)


def test_a_parameter_that_was_added_since_is_found(
    service: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(service.url, key=service.keys["app"]) as remote:
        study = remote.create("growing", SPACE, seed=0)
        api.set_provider_and_wait(ImaboProvider(study))
        study.update_space(Space(model=Choice("small", "large"), cite=Choice(True, False)))
        client = api.get_client()
        details = client.get_boolean_details("growing.cite", False, request("r-1"))
        assert details.error_code == ErrorCode.FLAG_NOT_FOUND  # it looked a moment ago
        monkeypatch.setattr("imabo.integration.AGAIN_S", 0.0)
        details = client.get_boolean_details("growing.cite", False, request("r-1"))
        assert details.reason == Reason.SPLIT
        missing = client.get_boolean_details("growing.top_k", False, request("r-1"))
        assert missing.error_code == ErrorCode.FLAG_NOT_FOUND


def test_an_asyncio_client_is_awaited_and_tracks_from_its_loop(service: RunningServer) -> None:
    async def serve() -> None:
        async with AsyncClient(service.url, key=service.keys["app"]) as remote:
            study = await remote.create("awaited", SPACE, seed=0, signals=SIGNALS)
            api.set_provider_and_wait(ImaboProvider(study))
            client, context = api.get_client(), request("r-1")
            whole: Any
            model, whole = await asyncio.gather(
                client.get_string_value_async("awaited.model", "?", context),
                client.get_object_value_async("awaited", {}, context),
            )
            assert whole["model"] == model
            client.track("reward", context, TrackingEventDetails(0.5, {"cost": 2.0}))
            later = request("r-2")
            await client.get_object_value_async("awaited", {}, later)
            await asyncio.to_thread(client.track, "reward", later, TrackingEventDetails(1.0))
            details = client.get_string_details("awaited.model", "?", request("r-3"))
            assert details.value == "?"
            assert "AsyncClient" in str(details.error_message)
            ends_at = time.monotonic() + 60.0
            while (await study.facts()).n_rewards < 2 and time.monotonic() < ends_at:
                await asyncio.sleep(0.01)
            pulls = [await study.pull(key=key) for key in ("r-1", "r-2")]
            assert [pull.reward for pull in pulls] == [0.5, 1.0]
            assert pulls[0].signals == {"cost": 2.0}

    asyncio.run(serve())


def test_without_the_service_flags_have_their_defaults_at_once_and_come_back() -> None:
    store = MemoryStore()
    Study.create("s", SPACE, store=store, seed=0)
    server = RunningServer(store)
    with Client(server.url, timeout_s=10.0, retries=0) as remote:
        api.set_provider_and_wait(ImaboProvider(remote.study("s"), deadline_s=10.0))
        client = api.get_client()
        assert client.get_string_value("s.model", "?", request("before")) != "?"
        server.stop()
        began = time.monotonic()
        for n in range(50):
            details = client.get_string_details("s.model", "today", request(f"away-{n}"))
            assert (details.value, details.error_code) == ("today", ErrorCode.GENERAL)
        assert time.monotonic() - began < 60.0  # the breaker spares the rest the deadline
        assert client.get_provider_status() == ProviderStatus.ERROR
        client.track("reward", request("before"), TrackingEventDetails(1.0))
        client.track("reward", request("away-1"), TrackingEventDetails(1.0))
        with RunningServer(store, port=server.port):
            ends_at = time.monotonic() + 60
            n = 0
            while client.get_provider_status() != ProviderStatus.READY:
                assert time.monotonic() < ends_at
                client.get_string_value("s.model", "today", request(f"back-{(n := n + 1)}"))
                time.sleep(0.05)
            assert remote.flush(20.0)
            study = remote.open("s")
            assert study.pull(key="before").reward == 1.0
            assert study.n_rewards == 1  # that of a default is nobody's


def test_2_4_2_1_a_provider_that_cannot_begin_says_so(service: RunningServer) -> None:
    with Client(service.url, key=service.keys["app"]) as remote, Client(service.url) as stranger:
        with pytest.raises(OpenFeatureError) as caught:
            api.set_provider_and_wait(ImaboProvider(remote.study("nobody")))
        assert "'nobody'" in str(caught.value.error_message)
        client = api.get_client()
        assert client.get_provider_status() == ProviderStatus.ERROR
        remote.create("nobody", SPACE)  # it was only early
        assert client.get_string_value("nobody.model", "?", request("r-1")) != "?"
        assert client.get_provider_status() == ProviderStatus.READY
        with pytest.raises(ProviderFatalError):
            api.set_provider_and_wait(ImaboProvider(stranger.study("nobody")))
        details = client.get_string_details("nobody.model", "?", request("r-2"))
        assert (details.value, details.error_code) == ("?", ErrorCode.PROVIDER_FATAL)
