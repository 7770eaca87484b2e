"""The contract of a study, as a test suite for anything that has ``Study``'s methods."""

from __future__ import annotations

from imabo.testing.study.changes import ChangeCases
from imabo.testing.study.control import ControlCases
from imabo.testing.study.declaring import DeclaringCases
from imabo.testing.study.goals import GoalCases
from imabo.testing.study.keys import KeyCases
from imabo.testing.study.loop import LoopCases
from imabo.testing.study.reads import ReadCases
from imabo.testing.study.time import TimeCases


class StudyContract(
    LoopCases,
    KeyCases,
    GoalCases,
    ReadCases,
    ChangeCases,
    ControlCases,
    DeclaringCases,
    TimeCases,
):
    """What every study does, wherever it keeps its facts and however it is reached.

    Subclass it in a test file with a fixture ``make_study``; the tests use public methods only.
    ``make_study(name, space, **settings)`` takes the settings of ``Study.create``; within a test,
    the same name is the same study, and what is made may be cleaned up after it.

    Example:
        >>> import pytest
        >>> from imabo import Study
        >>> class TestMyStudy(StudyContract):
        ...     @pytest.fixture
        ...     def make_study(self, tmp_path):
        ...         store = f"sqlite:///{tmp_path}/test.db"
        ...         return lambda name, space, **settings: Study.create(
        ...             name, space, store=store, **settings)
        >>> len([name for name in dir(TestMyStudy) if name.startswith("test_")]) > 40
        True
    """
