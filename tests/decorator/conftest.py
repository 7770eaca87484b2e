from __future__ import annotations

import pytest

from imabo import Study
from tests.decorator.told import SPACE


@pytest.fixture
def study() -> Study:
    return Study.create("s", SPACE, seed=0)
