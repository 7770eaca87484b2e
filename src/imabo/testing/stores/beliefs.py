"""The part of the contract about beliefs: one document a study, replaced with a serve."""

from __future__ import annotations

import copy

import pytest

from imabo.errors import StoreError
from imabo.stores.base import NewPull, StaleView, Store
from imabo.testing.stores.facts import Writer, beliefs_of, everything, new_arm


class BeliefCases:
    """Writing, replacing and reading what a model expects of the arms."""

    def test_a_study_has_no_beliefs_at_first(self, store: Store) -> None:
        """Nor after a serve that brings none."""
        writer = Writer(store)
        assert store.load("study").beliefs is None
        writer.serve(1)
        assert store.load("study").beliefs is None

    def test_beliefs_come_back_with_types_and_digits(self, store: Store) -> None:
        """Shown as they were given, to the last digit."""
        Writer(store).serve(1, 2, beliefs=beliefs_of(1, 2))
        assert repr(store.load("study").beliefs) == repr(beliefs_of(1, 2))

    def test_beliefs_stay_until_others_replace_them_whole(self, store: Store) -> None:
        """Whatever else happens in between; what was loaded before stays as it was."""
        writer = Writer(store)
        writer.serve(1, 2, beliefs=beliefs_of(1, 2, old=1))
        writer.serve(3)
        writer.reward(1, 0.5)
        writer.expire(before=300.0)
        writer.put_state(2, "paused")
        first = store.load("study").beliefs
        assert first == beliefs_of(1, 2, old=1)
        shown = copy.deepcopy(first)
        writer.serve(1, beliefs=beliefs_of(3))
        assert store.load("study").beliefs == beliefs_of(3)
        assert first == shown

    def test_load_since_gives_beliefs_that_were_written_after_it(self, store: Store) -> None:
        """A process that has them already need not read them again."""
        writer = Writer(store)
        writer.serve(1)
        writer.serve(2, beliefs=beliefs_of(1, 2))  # this is seq 2
        writer.serve(1)
        found = [store.load("study", since=since).beliefs for since in range(5)]
        assert found == [beliefs_of(1, 2), beliefs_of(1, 2), None, None, None]

    def test_a_refused_serve_leaves_the_beliefs(self, store: Store) -> None:
        """Refused as stale, or as a contradiction of the facts."""
        writer = Writer(store)
        writer.serve(1, 2, beliefs=beliefs_of(1, 2))
        before = everything(store)
        pulls, taken = [NewPull(3, 1, "index")], [new_arm(1, identity="new")]
        for ahead in (-1, 1):
            with pytest.raises(StaleView):
                store.serve(
                    "study", seq=writer.seq + ahead, at=300.0, pulls=pulls, beliefs=beliefs_of(1)
                )
        with pytest.raises(StoreError, match="refused whole"):
            store.serve(
                "study", seq=writer.seq, at=300.0, pulls=pulls, arms=taken, beliefs=beliefs_of(1)
            )
        unknown = [NewPull(3, 9, "index")]
        with pytest.raises(StoreError, match="refused whole"):
            store.serve("study", seq=writer.seq, at=300.0, pulls=unknown, beliefs=beliefs_of(1))
        assert everything(store) == before
        assert store.load("study").beliefs == beliefs_of(1, 2)

    def test_beliefs_of_one_study_are_not_those_of_another(self, store: Store) -> None:
        """Neither written nor read across."""
        alone, other = Writer(store, "alone"), Writer(store, "other")
        alone.serve(1, beliefs=beliefs_of(1, of="alone"))
        assert store.load("other").beliefs is None
        other.serve(1, beliefs=beliefs_of(1, of="other"))
        assert store.load("alone").beliefs == beliefs_of(1, of="alone")
        assert store.load("other").beliefs == beliefs_of(1, of="other")
