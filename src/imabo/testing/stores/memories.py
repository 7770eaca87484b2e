"""The part of the contract about the memory: one document a study, replaced whole."""

from __future__ import annotations

import copy

import pytest

from imabo.errors import StoreError
from imabo.stores.base import Change, NewPull, StaleView, Store
from imabo.testing.stores.facts import (
    Writer,
    beliefs_of,
    everything,
    memory_of,
    new_arm,
    study_record,
)


class MemoryCases:
    """Writing, replacing and reading what the arms' counters were, and which rewards count."""

    def test_a_study_has_no_memory_at_first(self, store: Store) -> None:
        """Nor after what brings none."""
        writer = Writer(store)
        assert store.load("study").memory is None
        writer.serve(1, beliefs=beliefs_of(1))
        writer.put_state(1, "paused")
        assert store.load("study").memory is None

    def test_a_memory_comes_back_with_types_and_digits(self, store: Store) -> None:
        """Shown as it was given, to the last digit, with a serve or with a change."""
        writer = Writer(store)
        writer.serve(1, 2, memory=memory_of(1, 2))
        assert repr(store.load("study").memory) == repr(memory_of(1, 2))
        writer.drift(memory_of(2, 1, since={"at": 0.1 + 0.2}))
        assert repr(store.load("study").memory) == repr(memory_of(2, 1, since={"at": 0.1 + 0.2}))

    def test_a_memory_stays_until_another_replaces_it_whole(self, store: Store) -> None:
        """Whatever else happens in between; what was loaded before stays as it was."""
        writer = Writer(store)
        writer.serve(1, 2, memory=memory_of(1, 2, old=1))
        writer.serve(3, beliefs=beliefs_of(1))
        writer.reward(1, 0.5)
        writer.expire(before=300.0)
        writer.put_state(2, "paused")
        writer.drift(arm=1)
        first = store.load("study").memory
        assert first == memory_of(1, 2, old=1)
        shown = copy.deepcopy(first)
        writer.serve(1, memory=memory_of(3))
        second = store.load("study").memory
        assert second == memory_of(3)
        writer.drift(memory_of(1, 3))
        assert store.load("study").memory == memory_of(1, 3)
        assert (first, second) == (shown, memory_of(3))
        assert store.load("study").beliefs == beliefs_of(1)

    def test_a_change_that_was_noticed_is_in_the_log(self, store: Store) -> None:
        """With its data, and without a document that is not part of it."""
        writer = Writer(store)
        writer.serve(1, 2)
        writer.drift(memory_of(1), arm=None, parameter="x", value="🎉", before=0.1 + 0.2)
        writer.serve(1)
        (entry,) = store.changes("study")
        assert (entry.seq, entry.kind, entry.at) == (2, "drift", 600.0)
        assert entry.data == {"arm": None, "parameter": "x", "value": "🎉", "before": 0.1 + 0.2}
        assert [e for e in store.log("study") if e.kind == "drift"] == [entry]

    def test_load_since_gives_a_memory_that_was_written_after_it(self, store: Store) -> None:
        """A process that has it already need not read it again."""
        writer = Writer(store)
        writer.serve(1)
        writer.serve(2, memory=memory_of(1, 2))  # this is seq 2
        writer.serve(1)
        found = [store.load("study", since=since).memory for since in range(5)]
        assert found == [memory_of(1, 2), memory_of(1, 2), None, None, None]
        writer.drift(memory_of(1))  # and this seq 4
        found = [store.load("study", since=since).memory for since in range(6)]
        assert found == [memory_of(1)] * 4 + [None, None]

    def test_what_is_refused_leaves_the_memory(self, store: Store) -> None:
        """Refused as stale, or as a contradiction of the facts."""
        writer = Writer(store)
        writer.serve(1, 2, memory=memory_of(1, 2))
        before = everything(store)
        pulls, taken = [NewPull(3, 1, "index")], [new_arm(1, identity="new")]
        other = memory_of(1)
        for ahead in (-1, 1):
            seq = writer.seq + ahead
            with pytest.raises(StaleView):
                store.serve("study", seq=seq, at=300.0, pulls=pulls, memory=other)
            with pytest.raises(StaleView):
                store.change("study", Change("drift", {}, memory=other), seq=seq, at=300.0)
        with pytest.raises(StoreError, match="refused whole"):
            store.serve("study", seq=writer.seq, at=300.0, pulls=pulls, arms=taken, memory=other)
        unknown = [NewPull(3, 9, "index")]
        with pytest.raises(StoreError, match="refused whole"):
            store.serve("study", seq=writer.seq, at=300.0, pulls=unknown, memory=other)
        change = Change("drift", {}, {9: ("paused", None)}, memory=other)
        with pytest.raises(StoreError, match="refused whole"):
            store.change("study", change, seq=writer.seq, at=300.0)
        assert everything(store) == before
        assert store.load("study").memory == memory_of(1, 2)

    def test_the_memory_of_one_study_is_not_that_of_another(self, store: Store) -> None:
        """Neither written nor read across."""
        alone, other = Writer(store, "alone"), Writer(store, "other")
        alone.serve(1, memory=memory_of(1, of="alone"))
        assert store.load("other").memory is None
        other.serve(1)
        other.drift(memory_of(1, of="other"))
        assert store.load("alone").memory == memory_of(1, of="alone")
        assert store.load("other").memory == memory_of(1, of="other")

    def test_a_memory_goes_with_its_study(self, store: Store) -> None:
        """A new study of the same name starts without one."""
        writer, other = Writer(store), Writer(store, "other")
        writer.serve(1, memory=memory_of(1))
        other.serve(1, memory=memory_of(1, of="other"))
        store.delete("study")
        store.create(study_record("study", token="another"))
        assert store.load("study").memory is None
        assert store.load("other").memory == memory_of(1, of="other")
