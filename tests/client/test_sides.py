"""The two sides of the client are one: the same methods, words and types, waited for or awaited."""

from __future__ import annotations

import doctest
import inspect
from typing import Any, assert_type

import pytest

import imabo.client
from imabo.arms import Arm, Pull
from imabo.client import AsyncClient, AsyncRemoteStudy, Client, Imported, RemoteFacts, RemoteStudy
from imabo.errors import ImaboError
from imabo.recommend import Best
from imabo.space import Space

TWINS = [(Client, AsyncClient), (RemoteStudy, AsyncRemoteStudy)]


def public(kind: type) -> dict[str, Any]:
    return {name: one for name, one in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("waiting", "awaited"), TWINS)
def test_both_sides_have_the_same_methods_with_their_words(waiting: type, awaited: type) -> None:
    there = public(awaited)
    methods = {name: one for name, one in public(waiting).items() if inspect.isfunction(one)}
    assert set(methods) == {name for name, one in there.items() if inspect.isfunction(one)}
    for name, method in methods.items():
        twin = there[name]
        assert method.__doc__, name
        assert twin.__doc__, name
        assert ">>> " not in twin.__doc__
        assert inspect.iscoroutinefunction(twin) == (
            name not in ("study", "serve", "check_default")
        )
        assert not inspect.iscoroutinefunction(method)
        mine, others = inspect.signature(method), inspect.signature(twin)
        assert list(mine.parameters.values()) == list(others.parameters.values())
        assert "Steps" not in f"{mine} {others}"


@pytest.mark.parametrize("kind", [kind for twins in TWINS for kind in twins])
def test_the_examples_of_the_methods_run(kind: type) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for name, one in public(kind).items():
        for test in doctest.DocTestFinder().find(one, name, globs=dict(vars(imabo.client))):
            runner.run(test)
    assert runner.summarize().failed == 0
    assert runner.tries > 0 or kind is not Client


def test_a_class_of_one_s_own_may_have_a_method_of_its_own() -> None:
    class Mine(Client):
        def studies(self) -> list[str]:
            """Mine."""
            return ["mine"]

    with Mine("http://127.0.0.1:1", retries=0) as client:
        assert client.studies() == ["mine"]
        assert client.study("s").ask(default={"x": 1}).reason == "default"
    assert Mine.create is Client.create


def check_waiting(client: Client, study: RemoteStudy, space: Space) -> None:
    """What a type checker sees; it is not run."""
    assert_type(client.create("s", space, seed=1), RemoteStudy)
    assert_type(client.open("s"), RemoteStudy)
    assert_type(client.import_study("s.jsonl"), Imported)
    assert_type(client.facts(), list[RemoteFacts])
    assert_type(study.ask(), Pull)
    assert_type(study.ask(2, key="k"), list[Pull])
    assert_type(study.tell("a-1", 0.5), None)
    assert_type(study.tell_many([("a-1", 0.5)]), list[ImaboError | None])
    assert_type(study.best(0.9), Best)
    assert_type(study.pause(1), Arm)
    with study.serve() as pull:
        assert_type(pull, Pull)


async def check_awaited(client: AsyncClient, study: AsyncRemoteStudy, space: Space) -> None:
    """What a type checker sees; it is not run."""
    assert_type(await client.create("s", space, seed=1), AsyncRemoteStudy)
    assert_type(await client.open("s"), AsyncRemoteStudy)
    assert_type(await client.import_study("s.jsonl"), Imported)
    assert_type(await client.facts(), list[RemoteFacts])
    assert_type(await study.ask(), Pull)
    assert_type(await study.ask(2, key="k"), list[Pull])
    assert_type(await study.tell("a-1", 0.5), None)
    assert_type(await study.tell_many([("a-1", 0.5)]), list[ImaboError | None])
    assert_type(await study.best(0.9), Best)
    assert_type(await study.pause(1), Arm)
    async with study.serve() as pull:
        assert_type(pull, Pull)
