"""What plug-ins of other libraries share: a library that is absent, and what is lost is logged."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys

import pytest

from imabo import AsyncClient, Choice, Signal, Space, Study
from imabo.errors import MissingExtra
from imabo.integration import Source

SPACE = Space(model=Choice("small", "large"))


@pytest.mark.parametrize("library", ["openfeature", "litellm"])
def test_a_library_that_is_absent_is_an_error_that_names_the_extra(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == library or name.startswith(f"imabo.{library}"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"imabo\[{library}\]"):
        importlib.import_module(f"imabo.{library}")


def test_signals_that_are_not_declared_are_left_out_and_refusals_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = Study.create("s", SPACE, seed=0, signals={"cost": Signal(low=0.0)})
    source, pull = Source(study), study.ask()
    source.tell({"pull_id": pull.id}, None, {"cost": 0.5, "steps": 3.0})
    source.tell({"pull_id": pull.id}, None, {"cost": -1.0})
    source.tell({"pull_id": pull.id}, None, {})
    assert study.pull(pull.id).signals == {"cost": 0.5}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "-1.0" in caplog.text


def test_a_report_that_no_event_loop_can_send_is_said_to_be_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = AsyncClient("http://127.0.0.1:1", retries=0, handle_sigterm=False)
    Source(client.study("s")).tell({"key": "request-1"}, 1.0, {})
    assert "there is no event loop" in caplog.text
    asyncio.run(client.close())
