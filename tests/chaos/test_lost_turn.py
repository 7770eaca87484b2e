"""A turn whose commit is lost: the view forgets what it thought it had served."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from imabo import Float, Space, Study, oracles, policies
from imabo.errors import StoreError
from imabo.stores import SQLiteStore
from imabo.testing.audit import audit


class LosesTurns(SQLiteStore):
    """A store whose next turn is undone at its end, as when the database dies in the commit."""

    is_dying = False

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        with super().turn(name):
            yield
            if self.is_dying:
                self.is_dying = False
                raise StoreError("the database died", "a test wants it", "go on")


def test_decisions_after_a_lost_turn_rest_on_what_the_store_has(tmp_path: Path) -> None:
    path = str(tmp_path / "imabo.db")
    with ExitStack() as stack:
        store = stack.enter_context(closing(LosesTurns(path)))
        ours = stack.enter_context(
            Study.create(
                "study",
                Space(x=Float(0.0, 1.0)),
                policy=policies.IMOSS(),
                oracle=oracles.Random(),
                store=store,
                seed=0,
            )
        )
        theirs = stack.enter_context(Study.open("study", store=f"sqlite:///{path}"))
        for step in range(60):
            theirs.tell(theirs.ask().id, step % 3 / 2)  # now our view is old, so we take a turn
            store.is_dying = step % 4 == 0
            if store.is_dying:
                with pytest.raises(StoreError, match="the database died"):
                    ours.ask(count=3)
                # As many changes as we thought to have made: the numbers of both are equal again.
                theirs.ask()
            ours.tell(ours.ask().id, 0.5)
        assert audit(store, "study") == []
