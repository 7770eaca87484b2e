"""The event of a changed space says how it changed, wherever it is read."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

from imabo import Choice, Float, Int, Space, Study, oracles, policies
from imabo.events import Event
from imabo.stores import Store

OLD = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0), top_k=Int(1, 9))
NEW = Space(model=Choice("small", "huge"), temperature=Float(0.0, 2.0), cite=Choice(True, False))
LINES = [
    "parameter 'model': the choice 'huge' is added",
    "parameter 'model': the choice 'large' is removed",
    "parameter 'temperature': its range 0.0 to 1.0 becomes 0.0 to 2.0",
    "parameter 'top_k' is removed",
    "parameter 'cite' is added: choice, True, False",
]


def changed(store: Store | None = None) -> Study:
    settings = {"policy": policies.IMOSS(), "oracle": oracles.Random()}
    study = Study.create("s", OLD, store=store, seed=0, **settings)  # type: ignore[arg-type]
    study.tell(study.ask().id, 1.0)
    study.update_space(NEW)
    return study


def test_it_names_what_was_added_removed_and_changed(store: Store) -> None:
    changed(store)
    event = Study.open("s", store=store).events()[-1]
    assert (event.kind, event.data["difference"]) == ("space", LINES)
    assert str(event) == f"the space changed: {'; '.join(LINES)}"
    (listed,) = store.events("s", kinds=["space"])
    assert listed.data["difference"] == LINES


def test_exports_and_frames_have_it_and_a_replay_the_same() -> None:
    study, text = changed(), io.StringIO()
    study.ask()
    assert study.to_columns("events")["text"][-1] == str(study.events()[-1])
    study.export(text, "jsonl")
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    assert [line["difference"] for line in lines if line["kind"] == "space"] == [LINES]
    again = Study.replay(text.getvalue().splitlines())
    assert [str(event) for event in again.events()] == [str(event) for event in study.events()]
    for line in lines:
        line.pop("difference", None)  # as an older version wrote it
    older = Study.replay([json.dumps(line) for line in lines])
    assert older.events()[-1].data["difference"] == LINES


def test_few_are_named_of_many_and_none_of_an_older_version() -> None:
    at = datetime(2026, 11, 16, tzinfo=UTC)
    many = [f"parameter 'p{n}' is removed" for n in range(9)]
    text = str(Event("space", at, {"space": {}, "difference": many}))
    assert text == f"the space changed: {'; '.join(many[:6])}; and 3 more"
    assert str(Event("space", at, {"space": {}})) == "the space changed"
