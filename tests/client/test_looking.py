"""What a client gets to look at: what ``imabo.insight`` makes of the same study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest

from imabo import Choice, Event, Space, Study, insight, oracles, policies
from imabo.errors import InvalidSetting, Refused, UnknownStudy
from imabo.insight import StudySnapshot
from imabo.testing.study.base import change_world, letters
from tests.client.conftest import MakeClient
from tests.server.running import RunningServer

SPACE = Space(model=Choice("a", "b", "c"))


@pytest.fixture
def client(make_client: MakeClient, server: RunningServer) -> Iterator[Any]:
    made = make_client(server.url)
    settings: Any = {"policy": policies.IMOSS(warmup=2), "oracle": oracles.Random(), "seed": 0}
    study = made.create("looked-at", SPACE, **settings)
    for pull in study.ask(40):
        study.tell(pull.id, 0.5)
    yield made
    for name in made.studies():
        made.delete(name)


@pytest.fixture
def facts(client: Any, server: RunningServer) -> StudySnapshot:
    del client  # makes the study
    return insight.read(Study.open("looked-at", store=server.store))


def test_the_facts_of_all_studies_come_in_one_call(client: Any) -> None:
    client.create("another", SPACE, oracle=oracles.Random())
    assert [(one.name, one.n_pulls) for one in client.facts()] == [
        ("another", 0),
        ("looked-at", 40),
    ]
    assert client.facts()[1] == client.study("looked-at").facts()


def test_key_figures_and_arms_are_those_of_insight(client: Any, facts: StudySnapshot) -> None:
    study = client.study("looked-at")
    overview = study.overview()
    wanted = asdict(insight.overview(facts))
    assert {name: overview[name] for name in ("n_pulls", "recent_mean", "best", "state")} == {
        name: plain(wanted[name]) for name in ("n_pulls", "recent_mean", "best", "state")
    }
    assert study.overview(trend=3)["trend"] == insight.reward(facts).rolling[-3:]
    query: Any = {"sort": "id", "descending": False, "text": "model", "limit": 2}
    assert study.table(**query) == plain(asdict(insight.arm_table(facts, **query)))
    assert study.table(states="paused,retired")["n"] == 0


def test_events_are_those_of_the_study(client: Any, server: RunningServer) -> None:
    watched = client.create("watched", letters("a", "b", "c"), oracle=oracles.Random(), seed=1)
    change_world(watched)
    watched.pause(1)
    events = watched.events()
    mine = Study.open("watched", store=server.store)
    assert events == mine.events()
    assert [event.kind for event in events] == ["created", "drift", "state"]
    assert all(isinstance(event, Event) for event in events)
    assert watched.best().since == mine.best().since == events[1].at
    with pytest.raises(InvalidSetting, match="at most 10000 events"):
        watched.events(limit=10_001)


def test_a_preview_changes_nothing(client: Any, facts: StudySnapshot) -> None:
    study, space = client.study("looked-at"), Space(model=Choice("b", "d"))
    preview = study.preview_space(space)
    assert preview == plain(asdict(insight.preview_space(facts, space)))
    assert preview["n_retired"] >= 1
    assert study.facts().space == SPACE


def test_a_report_is_a_page(client: Any) -> None:
    page = client.study("looked-at").report()
    assert page.startswith("<!")
    assert "<h1>looked-at</h1>" in page


def test_what_the_service_refuses_is_raised(client: Any) -> None:
    study = client.study("nothing")
    preview = partial(study.preview_space, SPACE)
    for call in (study.overview, study.table, study.report, study.events, preview):
        with pytest.raises(UnknownStudy):
            call()
    with pytest.raises(Refused):
        client.study("looked-at").table(sort="luck")
    with pytest.raises((InvalidSetting, Refused)):
        client.study("looked-at").overview(trend=-1)


def plain(value: Any) -> Any:
    """What JSON makes of it."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value
