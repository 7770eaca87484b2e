"""``@tuned`` with the studies of both clients, on a real service and without one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from imabo import AsyncClient, Choice, Client, Float, Space, tuned
from imabo.errors import InvalidConfig, InvalidReward, InvalidSetting
from tests.server.running import RunningServer

pytestmark = pytest.mark.service

SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
DEFAULT = {"model": "small", "temperature": 0.2}
NOBODY = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with RunningServer() as running:
        yield running


def test_a_blocking_client(server: RunningServer) -> None:
    with Client(server.url) as client:
        study = client.create("blocking", SPACE)

        @tuned(study, default=DEFAULT, key=lambda question: question, on_error=0.0)
        def answer(question: str, *, model: str, temperature: float) -> str:
            if question == "bad":
                raise ZeroDivisionError
            return model

        @tuned(study, default=DEFAULT)
        async def awaited(*, model: str, temperature: float) -> str:
            return model

        assert answer("r-1") == answer.last.config["model"]
        answer.last.tell(0.8)
        with pytest.raises(ZeroDivisionError):
            answer("bad")
        asyncio.run(awaited())
        assert [pull.reward for pull in study] == [0.8, 0.0, None]
        assert answer.last.pull is not None
        assert study.ask(key="bad").id == answer.last.pull.id


def test_an_asyncio_client(server: RunningServer) -> None:
    async def main() -> list[float | None]:
        async with AsyncClient(server.url) as client:
            study = await client.create("asyncio", SPACE)

            @tuned(study, default=DEFAULT, on_error=0.0)
            async def answer(question: str, *, model: str, temperature: float) -> str:
                if question == "bad":
                    raise ZeroDivisionError
                return model

            @tuned(study)
            async def stream(*, model: str, temperature: float) -> AsyncIterator[str]:
                yield model

            result = await answer("why?")
            assert result == answer.last.config["model"]
            told = answer.last.tell(0.8)  # under way; awaiting it says whether it arrived
            with pytest.raises(ZeroDivisionError):
                await answer("bad")
            assert [item async for item in stream()] == [stream.last.config["model"]]
            await stream.last.tell(1.0)
            await told
            with pytest.raises(InvalidReward):
                await stream.last.tell(2.0)
            with pytest.raises(InvalidSetting, match="write 'async def'"):

                @tuned(study)
                def blocking(*, model: str, temperature: float) -> None: ...

            return [pull.reward async for pull in study]

    assert asyncio.run(main()) == [0.8, 0.0, 1.0]


def test_a_service_that_is_away_gives_the_default_as_the_clients_do() -> None:
    with Client(NOBODY, retries=0) as client:

        @tuned(client.study("s"), default=DEFAULT, deadline_s=1.0)
        def answer(*, model: str, temperature: float) -> str:
            return model

        assert answer() == "small"
        assert (answer.last.is_counted, answer.last.outcome) == (False, "returned")
        answer.last.tell(1.0)
        assert client.n_waiting == 0

    async def main() -> None:
        async with AsyncClient(NOBODY, retries=0) as client:

            @tuned(client.study("s"), default=DEFAULT)
            async def answer(*, model: str, temperature: float) -> str:
                return model

            assert await answer() == "small"
            await answer.last.tell(1.0)

    asyncio.run(main())


def test_a_space_that_is_not_known_yet_is_learned_from_the_first_pull(
    server: RunningServer,
) -> None:
    with Client(server.url) as client:
        client.create("unseen", SPACE)
        study = client.study("unseen")

        @tuned(study)
        def answer(*, model: str = "own", temperature: float = 0.0) -> str:
            return model

        assert answer(model="mine") == "mine"  # asked, because nobody knew; not credited
        assert not answer.last.is_counted
        answer.last.tell(1.0)
        answer(model="mine")
        assert (study.n_pulls, study.n_rewards) == (1, 0)


def test_a_default_is_checked_when_it_is_given(server: RunningServer) -> None:
    wrong = {"model": "huge", "temperature": 0.2}
    with Client(server.url) as client:
        study = client.create("defaults", SPACE)
        for refused in (study, client.open("defaults")):
            with pytest.raises(InvalidConfig, match=r"'huge'.*'small', 'large'"):
                refused.ask(default=wrong)
            with pytest.raises(InvalidConfig), refused.serve(default=wrong):
                pass
            with pytest.raises(InvalidConfig):
                tuned(refused, default=wrong)
        assert study.n_pulls == 0
        # What an operator changes does not refuse what the program was written with.
        study.update_space(Space(model=Choice("large"), temperature=Float(0.0, 1.0)))
        assert study.ask(default=DEFAULT).config["model"] == "large"
        assert client.create("defaults", SPACE).ask(default=DEFAULT).arm > 0
        with pytest.raises(InvalidConfig, match="'small'"):
            client.open("defaults").ask(default=DEFAULT)
