"""What the tests of the read models share: one study of every kind, made once."""

from __future__ import annotations

import pytest

from imabo import insight
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
