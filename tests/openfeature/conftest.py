"""A study behind the SDK, and an SDK that every test leaves as it found it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from imabo import Choice, Float, Int, Signal, Space, Study

SPACE = Space(
    model=Choice("small", "large"),
    temperature=Float(0.0, 1.0),
    top_k=Int(1, 10),
    cite=Choice(True, False),
    thinking_tokens=Int(256, 8192, when={"model": ["large"]}),
)


@pytest.fixture(autouse=True)
def _left_as_found() -> Iterator[None]:
    from openfeature import api  # where the library is absent, only its tests are

    yield
    api.shutdown()


@pytest.fixture
def study() -> Study:
    signals = {"cost": Signal(low=0.0), "thumbs": Signal()}
    return Study.create("support-answers", SPACE, seed=0, signals=signals)
