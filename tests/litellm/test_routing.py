"""LiteLLM's real router with a study that chooses, against servers on loopback.

LiteLLM takes seconds to import, so it is imported where a test runs, in one worker.
"""

from __future__ import annotations

import asyncio
import doctest
import gc
import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from imabo import AsyncClient, Choice, Client, Float, Int, Signal, Space, Study
from imabo.errors import InvalidSetting
from imabo.gateway import make_app, read_settings
from tests.docs.pages import DOCS
from tests.gateway.upstream import Running, Stub
from tests.litellm.endpoint import Endpoint
from tests.server.running import RunningServer

# LiteLLM's warnings are its own. As errors they end its streams, which it then tries again.
pytestmark = pytest.mark.filterwarnings("ignore")

MESSAGES = [{"role": "user", "content": "When are you open?"}]
SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
SIGNALS = {
    name: Signal(low=0.0)
    for name in ("latency_s", "first_token_s", "cost", "tokens", "input_tokens", "output_tokens")
}


@pytest.fixture(scope="module")
def litellm() -> Iterator[Any]:
    found: Any = importlib.import_module("litellm")
    found.suppress_debug_info = True
    yield found
    # It keeps connections of event loops that are gone; let them go here, not in others' tests.
    found.in_memory_llm_clients_cache.flush_cache()
    gc.collect()


@pytest.fixture(scope="module")
def _endpoints() -> Iterator[dict[str, Endpoint]]:
    found = {name: Endpoint(name) for name in ("small", "large")}
    yield found
    for one in found.values():
        one.stop()


@pytest.fixture
def endpoints(_endpoints: dict[str, Endpoint]) -> dict[str, Endpoint]:
    for one in _endpoints.values():
        one.is_down = False
        one.seen.clear()
    return _endpoints


@pytest.fixture
def study() -> Study:
    return Study.create("support-answers", SPACE, seed=0, signals=SIGNALS)


@pytest.fixture
def route(litellm: Any, endpoints: dict[str, Endpoint]) -> Iterator[Callable[..., tuple[Any, Any]]]:
    """Makes a router and the strategy of its studies, and leaves LiteLLM as it was."""
    from imabo.litellm import ImaboRouting

    made = []

    def make(study: Any, *, of_router: Any = None, **settings: Any) -> tuple[Any, Any]:
        deployments = [one.deployment() for one in endpoints.values()]
        router = litellm.Router(model_list=deployments, **(of_router or {}))
        routing = ImaboRouting(router, {"support": study}, **settings)
        router.set_custom_routing_strategy(routing)
        litellm.callbacks = [routing.logger]
        made.append(router)
        return router, routing

    yield make
    litellm.callbacks = []
    for router in made:
        router.reset()


def wait_for(found: Callable[[], object]) -> None:
    """Wait for what LiteLLM does in the background."""
    ends_at = time.monotonic() + 60.0
    while not found():
        assert time.monotonic() < ends_at, "it did not come"
        time.sleep(0.005)


def test_the_study_chooses_and_is_told_what_a_call_took(
    study: Study, route: Any, endpoints: dict[str, Endpoint]
) -> None:
    router, routing = route(study)
    for n in range(8):
        metadata = {"imabo_key": f"r-{n}", "imabo_context": {"kind": "math"}}
        answer = router.completion(model="support", messages=MESSAGES, metadata=metadata)
        pull = study.pull(key=f"r-{n}")
        assert answer.choices[0].message.content == f"from {pull.config['model']}"
        sent = endpoints[str(pull.config["model"])].seen[-1]
        assert sent["temperature"] == pull.config["temperature"]
        assert sent["model"] == f"{pull.config['model']}-model"
        assert pull.context == {"kind": "math"}
        routing.tell(answer.id, n % 2, {"tokens": 15})
        wait_for(lambda: study.n_rewards == n + 1)  # noqa: B023
    wait_for(lambda: all(len(pull.signals) >= 5 for pull in study.pulls()))
    for n, pull in enumerate(study.pulls()):
        assert pull.reward == n % 2
        took = dict(pull.signals)
        assert 0.0 < took.pop("latency_s") < 20.0
        assert took.pop("cost") == pytest.approx(10 * 0.001 + 5 * 0.01)
        assert took == {"tokens": 15.0, "input_tokens": 10.0, "output_tokens": 5.0}
    assert {pull.config["model"] for pull in study.pulls()} == {"small", "large"}


@pytest.mark.parametrize("is_awaited", [False, True])
def test_streams_are_told_with_their_first_token(
    study: Study, route: Any, is_awaited: bool
) -> None:
    router, routing = route(study)
    wanted = {"model": "support", "messages": MESSAGES, "stream": True,
              "stream_options": {"include_usage": True}}  # fmt: skip

    async def awaited() -> list[Any]:
        found = [chunk async for chunk in await router.acompletion(**wanted)]
        ends_at = time.monotonic() + 60.0
        while not study.pulls()[0].signals and time.monotonic() < ends_at:
            await asyncio.sleep(0.005)  # LiteLLM calls back from this loop
        return found

    chunks = asyncio.run(awaited()) if is_awaited else list(router.completion(**wanted))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "a b"
    wait_for(lambda: study.pulls()[0].signals)
    took = study.pulls()[0].signals
    assert 0.0 <= took["first_token_s"] <= took["latency_s"] < 20.0
    assert took["tokens"] == 15.0
    routing.tell(chunks[0].id, 1.0)
    wait_for(lambda: study.n_rewards == 1)


def test_awaited_calls_and_embeddings(study: Study, route: Any) -> None:
    router, routing = route(study)

    async def calls() -> list[Any]:
        wanted = {"model": "support", "messages": MESSAGES}
        found = await asyncio.gather(*(router.acompletion(**wanted) for _ in range(6)))
        for answer in found:
            routing.tell(answer.id, 1.0)
        await router.aembedding(model="support", input=["a text"])
        ends_at = time.monotonic() + 60.0
        while study.n_rewards < 6 and time.monotonic() < ends_at:
            await asyncio.sleep(0.005)
        return found

    assert len({answer.id for answer in asyncio.run(calls())}) == 6
    assert (study.n_pulls, study.n_rewards) == (7, 6)


def test_what_the_caller_sets_wins_and_metadata_may_be_used_again(
    study: Study, route: Any, endpoints: dict[str, Endpoint]
) -> None:
    router, _ = route(study)
    metadata: dict[str, Any] = {}
    for _ in range(3):
        router.completion(model="support", messages=MESSAGES, temperature=0.125, metadata=metadata)
    assert study.n_pulls == 3
    sent = [body for one in endpoints.values() for body in one.seen]
    assert [body["temperature"] for body in sent] == [0.125] * 3


def test_a_deployment_that_fails_is_replaced_and_no_arm_has_the_reward_of_another(
    route: Any, endpoints: dict[str, Endpoint]
) -> None:
    only = Study.create("only", Space(model=Choice("large")), seed=0, signals=SIGNALS)
    router, routing = route(
        only, of_router={"num_retries": 5, "cooldown_time": 60, "allowed_fails": 0}
    )
    endpoints["large"].is_down = True
    answer = router.completion(model="support", messages=MESSAGES, metadata={"imabo_key": "r-1"})
    assert answer.choices[0].message.content == "from small"
    assert endpoints["large"].seen
    routing.tell(answer.id, 1.0)
    wait_for(lambda: router.cooldown_cache.get_active_cooldowns(["large"], None))
    n_tried = len(endpoints["large"].seen)
    # While it cools down, the router does not send anything there, whatever the study says.
    again = router.completion(model="support", messages=MESSAGES)
    assert again.choices[0].message.content == "from small"
    assert len(endpoints["large"].seen) == n_tried
    routing.tell(again.id, 1.0)
    time.sleep(0.1)  # nothing is to come
    assert (only.n_pulls, only.n_rewards) == (2, 0)
    assert [dict(pull.signals) for pull in only.pulls()] == [{}, {}]


@pytest.mark.parametrize("is_awaited", [False, True])
def test_what_is_tried_again_is_the_routers_choice(
    litellm: Any, endpoints: dict[str, Endpoint], is_awaited: bool
) -> None:
    from imabo.litellm import ImaboRouting

    only = Study.create("only", Space(model=Choice("large")), seed=0)
    small, large = (one.deployment() for one in endpoints.values())
    small["litellm_params"]["weight"], large["litellm_params"]["weight"] = 1, 0
    router = litellm.Router(model_list=[small, large], num_retries=2, disable_cooldowns=True)
    router.set_custom_routing_strategy(ImaboRouting(router, {"support": only}))
    endpoints["large"].is_down = True
    wanted = {"model": "support", "messages": MESSAGES}
    found = asyncio.run(router.acompletion(**wanted)) if is_awaited else router.completion(**wanted)
    assert found.choices[0].message.content == "from small"
    assert (len(endpoints["large"].seen), only.n_pulls) == (1, 1)
    router.reset()


def test_a_failure_may_count_as_a_reward(route: Any, endpoints: dict[str, Endpoint]) -> None:
    only = Study.create("only", Space(model=Choice("large")), seed=0)
    router, _ = route(only, on_error=0.0, of_router={"num_retries": 5})
    endpoints["large"].is_down = True
    router.completion(model="support", messages=MESSAGES, metadata={"imabo_key": "r-1"})
    wait_for(lambda: only.n_rewards == 1)
    assert only.pull(key="r-1").reward == 0.0


def test_without_a_service_the_router_chooses_by_itself(
    route: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with Client("http://127.0.0.1:1", retries=0) as client:
        router, routing = route(client.study("support-answers"), deadline_s=1.0)
        for _ in range(3):
            answer = router.completion(model="support", messages=MESSAGES)
            assert answer.choices[0].message.content in ("from small", "from large")
        routing.tell(answer.id, 1.0)
    assert caplog.text.count("routed without a study") == 1


def test_a_service_with_the_asyncio_client(route: Any) -> None:
    async def serve() -> None:
        async with AsyncClient(server.url) as client:
            study = await client.create("remote", SPACE, seed=0, signals=SIGNALS)
            router, routing = route(study, deadline_s=10.0)
            metadata = {"imabo_key": "r-1"}
            answer = await router.acompletion(model="support", messages=MESSAGES, metadata=metadata)
            routing.tell(answer.id, 1.0)
            ends_at = time.monotonic() + 60.0
            pull = await study.pull(key="r-1")
            while (pull.reward is None or not pull.signals) and time.monotonic() < ends_at:
                await asyncio.sleep(0.01)
                pull = await study.pull(key="r-1")
            assert answer.choices[0].message.content == f"from {pull.config['model']}"
            assert (pull.reward, pull.signals["tokens"]) == (1.0, 15.0)

    with RunningServer() as server:
        asyncio.run(serve())


def test_an_answer_from_the_cache_tells_nothing(study: Study, route: Any) -> None:
    router, routing = route(study, of_router={"cache_responses": True})
    wanted = {"model": "support", "messages": MESSAGES, "temperature": 0.0}
    first = router.completion(**wanted)
    wait_for(lambda: study.pulls()[0].signals)
    for _ in range(6):  # until both deployments have answered once, and one answers from memory
        again = router.completion(**wanted)
        if again.id == first.id:
            break
    assert again.id == first.id
    routing.tell(again.id, 1.0)
    wait_for(lambda: study.n_rewards == 1)
    time.sleep(0.1)  # nothing is to come
    assert study.pulls()[0].reward == 1.0
    assert not study.pulls()[-1].signals


def test_without_a_router_the_call_names_its_pull(
    litellm: Any, study: Study, endpoints: dict[str, Endpoint]
) -> None:
    from imabo.litellm import ImaboLogger

    other = Study.create("other", SPACE, seed=0, signals=SIGNALS)
    litellm.callbacks = [ImaboLogger(other, study)]
    pull = study.ask()
    sent = endpoints["small"].deployment()["litellm_params"]
    metadata = {"imabo_pull": pull.id, "imabo_study": "support-answers"}
    litellm.completion(messages=MESSAGES, metadata=metadata, **sent)
    wait_for(lambda: study.pull(pull.id).signals)
    assert study.pull(pull.id).signals["output_tokens"] == 5.0
    litellm.callbacks = []
    with pytest.raises(InvalidSetting, match="at least one"):
        ImaboLogger()


def test_other_fields_and_other_names_of_deployments(
    route: Any, endpoints: dict[str, Endpoint]
) -> None:
    models = Choice("openai/small-model", "large-model")
    space = Space(which=models, length=Int(10, 20), top_p=Float(0.1, 1.0))
    study = Study.create("named", space, seed=0)
    router, _ = route(study, deployment="which", fields={"length": "max_tokens"})
    for n in range(4):
        router.completion(model="support", messages=MESSAGES, metadata={"imabo_key": str(n)})
        config = study.pull(key=str(n)).config
        name = "small" if "small" in str(config["which"]) else "large"
        sent = endpoints[name].seen[-1]
        assert (sent["max_tokens"], sent["top_p"]) == (config["length"], config["top_p"])


def test_a_study_without_a_deployment_leaves_that_to_the_router(
    route: Any, endpoints: dict[str, Endpoint]
) -> None:
    study = Study.create("warmth", Space(temperature=Float(0.0, 1.0)), seed=0)
    router, routing = route(study)
    answer = router.completion(model="support", messages=MESSAGES)
    sent = [body for one in endpoints.values() for body in one.seen]
    assert sent[0]["temperature"] == study.pulls()[0].config["temperature"]
    routing.tell(answer.id, 0.5)
    wait_for(lambda: study.n_rewards == 1)


@pytest.mark.parametrize(
    ("space", "settings", "words"),
    [
        (Space(model=Choice("small", "huge")), {}, "may be 'huge'"),
        (Space(model=Int(1, 3)), {}, "may be None"),
        (Space(model=Choice("small"), chunks=Int(1, 3)), {}, "'chunks' of 'support' sets nothing"),
        (Space(model=Choice("small")), {"deadline_s": -1}, "deadline_s is -1"),
    ],
)
def test_studies_that_do_not_fit(
    route: Any, space: Space, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidSetting, match=words):
        route(Study.create("s", space, seed=0), **settings)


def test_a_group_that_the_router_does_not_have(
    litellm: Any, endpoints: dict[str, Endpoint], study: Study
) -> None:
    from imabo.litellm import ImaboRouting

    router = litellm.Router(model_list=[endpoints["small"].deployment()])
    with pytest.raises(InvalidSetting, match="'answers'"):
        ImaboRouting(router, {"answers": study})


def test_every_public_name_is_in_the_reference(litellm: Any) -> None:
    import imabo.litellm as ours

    page = (DOCS / "reference" / "integrations.md").read_text(encoding="utf-8")
    assert [name for name in ours.__all__ if f"::: imabo.litellm.{name}\n" not in page] == []
    assert ours.__all__


@pytest.mark.parametrize("module", ["logger", "routing"])
def test_the_examples_in_docstrings_run(
    litellm: Any, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm, "callbacks", [])
    done = doctest.testmod(importlib.import_module(f"imabo.litellm.{module}"))
    assert done.failed == 0
    assert done.attempted > 5


def test_the_router_works_through_the_gateway(litellm: Any, tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/imabo.db"
    space = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
    with Study.create("support-answers", space, store=store), Running(Stub().app) as upstream:
        file = tmp_path / "gateway.toml"
        file.write_text(f"""
            [imabo]
            store = "{store}"
            [upstreams.local]
            base_url = "{upstream.url}/v1"
            models.small = {{}}
            models.large = {{}}
            [routes.support]
            study = "support-answers"
            default = {{model = "small", temperature = 0.2}}
            [routes.support.fields]
            model = "model"
            temperature = "temperature"
        """)
        with Running(make_app(read_settings(file, {}))) as gateway:
            params = {"model": "openai/imabo/support", "api_base": f"{gateway.url}/v1"}
            router = litellm.Router(
                model_list=[
                    {"model_name": "support", "litellm_params": params | {"api_key": "none"}}
                ]
            )
            answer = router.completion(model="support", messages=MESSAGES)
            awaited = asyncio.run(router.acompletion(model="support", messages=MESSAGES))
            chunks = list(router.completion(model="support", messages=MESSAGES, stream=True))
            router.reset()
        assert '"temperature"' in answer.choices[0].message.content
        assert answer.id != awaited.id
        assert "t0" in "".join(one.choices[0].delta.content or "" for one in chunks)
    with Study.open("support-answers", store=store) as study:
        assert study.n_pulls == 3
