"""Several who ask for one request at once, in threads and tasks: one pull."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from openfeature.exception import ErrorCode

from imabo import Study
from imabo.arms import Pull
from tests.openfeature.asking import CONFIG, all_flags, client_of, failed, request


def test_callers_at_once_get_one_pull_and_one_ask(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go = [], threading.Event()
    real: Callable[..., Pull] = study.ask

    def ask(**wanted: Any) -> Pull:
        asked.append(wanted["key"])
        go.wait(60)
        return real(**wanted)

    monkeypatch.setattr(study, "ask", ask)
    client, found = client_of(study), []
    threads = [
        threading.Thread(target=lambda: found.append(all_flags(client, request())))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(60)
    assert asked == ["request-1"]
    assert len(found) == 8
    assert all(one == found[0] for one in found)


def test_awaited_flags_come_from_the_same_pull(study: Study) -> None:
    client = client_of(study)

    async def ask() -> tuple[Any, ...]:
        return await asyncio.gather(
            client.get_string_value_async("support-answers.model", "?", request()),
            client.get_float_value_async("support-answers.temperature", -1.0, request()),
            client.get_integer_value_async("support-answers.top_k", -1, request()),
            client.get_boolean_value_async("support-answers.cite", False, request()),
            client.get_object_value_async("support-answers", {}, request()),
        )

    *values, whole = asyncio.run(ask())
    assert values == [whole[name] for name in CONFIG]
    assert study.n_pulls == 1
    details = asyncio.run(client.get_string_details_async("nothing", "?", request()))
    failed(details, "?", ErrorCode.FLAG_NOT_FOUND)


def test_an_awaited_request_that_is_cancelled_leaves_the_others_their_pull(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, go = client_of(study), threading.Event()
    real: Callable[..., Pull] = study.ask

    def ask(**wanted: Any) -> Pull:
        go.wait(60)
        return real(**wanted)

    monkeypatch.setattr(study, "ask", ask)

    async def three(leaves: int) -> list[str]:
        go.clear()
        context = request(f"request-{leaves}")
        flag = ("support-answers.model", "?", context)
        tasks = []
        for _ in range(3):
            tasks.append(asyncio.create_task(client.get_string_value_async(*flag)))
            await asyncio.sleep(0.01)
        tasks.pop(leaves).cancel()
        await asyncio.sleep(0.01)
        go.set()
        return await asyncio.gather(*tasks)

    for leaves in (0, 1):  # who asks, and one that waits for it
        models = asyncio.run(three(leaves))
        assert models == [study.pull(key=f"request-{leaves}").config["model"]] * 2
