"""What the tests of the read models share: one study of every kind, made once."""

from __future__ import annotations

from random import Random

import pytest

from imabo import Choice, Float, Space, Study, insight, oracles
from imabo.insight import StudySnapshot
from tests.insight.story import situations

_READ: dict[str, StudySnapshot] = {}


@pytest.fixture(params=list(situations()))
def any_snapshot(request: pytest.FixtureRequest) -> StudySnapshot:
    """The snapshot of a study of each kind; they never change, so they are read once."""
    kind = request.param
    if kind not in _READ:
        _READ[kind] = insight.read(situations()[kind]())
    return _READ[kind]


@pytest.fixture(scope="session")
def fallen() -> Study:
    """Model a was the best by far, and fell below b; few of its arms were served since."""
    space = Space(model=Choice("a", "b", "c"), x=Float(0, 1))
    study = Study.create("fallen", space, oracle=oracles.Random(), seed=5)
    rng = Random(5)
    means = {"a": 0.8, "b": 0.5, "c": 0.3}
    for n in range(1200):
        if n == 700:
            means["a"] = 0.2
        pull = study.ask()
        study.tell(pull.id, float(rng.random() < means[str(pull.config["model"])]))
    assert [event.kind for event in study.events()].count("drift") == 1
    return study
