"""A study that another process deleted and made again: the old one is told, the new one spared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from imabo import Float, Pull, Space, Study
from imabo.errors import UnknownStudy
from imabo.stores import SQLiteStore
from imabo.testing.stores.facts import everything

CALLS: dict[str, Callable[[Study, Pull], object]] = {
    "ask": lambda study, _: study.ask(),
    "tell": lambda study, pull: study.tell(pull.id, 0.5),
    "add_arm": lambda study, _: study.add_arm({"x": 0.125}),
    "pause": lambda study, pull: study.pause(pull.arm),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_study_that_was_made_again_is_not_written_to_by_the_old_one(path: str, call: str) -> None:
    space = Space(x=Float(0.0, 1.0))
    with closing(SQLiteStore(path)) as ours, closing(SQLiteStore(path)) as theirs:
        old = Study.create("study", space, store=ours, seed=1)
        pull = old.ask()
        theirs.delete("study")
        Study.create("study", space, store=theirs, seed=2).ask()  # at the same seq
        before = everything(theirs)
        with pytest.raises(UnknownStudy, match="another study has its name now"):
            CALLS[call](old, pull)
        assert everything(theirs) == before
