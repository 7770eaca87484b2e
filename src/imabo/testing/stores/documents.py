"""The part of the contract about beliefs and memory: a document of each, replaced whole."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Literal

import pytest

from imabo.errors import StoreError, UnknownStudy
from imabo.stores.base import Change, NewPull, Settings, StaleView, Store
from imabo.testing.stores.facts import (
    Cases,
    Writer,
    beliefs_of,
    everything,
    memory_of,
    new_arm,
    study_record,
)

Kind = Literal["beliefs", "memory"]
both_kinds = pytest.mark.parametrize("kind", ["beliefs", "memory"])


def document(kind: Kind, *arms: int, **more: Any) -> dict[str, Any]:
    """A document about some arms, as an argument of ``serve``."""
    return {kind: (beliefs_of if kind == "beliefs" else memory_of)(*arms, **more)}


def kept(store: Store, kind: Kind, name: str = "study", since: int = 0) -> dict[str, Any]:
    """What the store has of that kind, in the same form."""
    return {kind: getattr(store.load(name, since=since), kind)}


class DocumentCases(Cases):
    """Writing, replacing and reading what a model expects, and what the counters were."""

    @both_kinds
    def test_a_study_has_no_document_at_first(self, store: Store, kind: Kind) -> None:
        """Nor after what brings none, or one of the other kind."""
        writer = Writer(store)
        assert kept(store, kind) == {kind: None}
        writer.serve(1, **document("memory" if kind == "beliefs" else "beliefs", 1))
        writer.put_state(1, "paused")
        assert kept(store, kind) == {kind: None}

    @both_kinds
    def test_a_document_comes_back_with_types_and_digits(self, store: Store, kind: Kind) -> None:
        """Shown as it was given, to the last digit, with a serve or with a change."""
        writer = Writer(store)
        writer.serve(1, 2, **document(kind, 1, 2))
        assert repr(kept(store, kind)) == repr(document(kind, 1, 2))
        other = memory_of(2, 1, since={"at": 0.1 + 0.2})
        writer.drift(other)
        assert repr(store.load("study").memory) == repr(other)

    @both_kinds
    def test_a_document_stays_until_another_replaces_it_whole(
        self, store: Store, kind: Kind
    ) -> None:
        """Whatever else happens in between; what was loaded before stays as it was."""
        writer = Writer(store)
        writer.serve(1, 2, **document(kind, 1, 2, old=1))
        writer.serve(3, **document("memory" if kind == "beliefs" else "beliefs", 1))
        writer.reward(1, 0.5)
        writer.expire(before=300.0)
        writer.put_state(2, "paused")
        writer.drift(arm=1)
        first = kept(store, kind)
        assert first == document(kind, 1, 2, old=1)
        shown = copy.deepcopy(first)
        writer.serve(1, **document(kind, 3))
        second = kept(store, kind)
        assert second == document(kind, 3)
        writer.drift(memory_of(1, 3))
        assert store.load("study").memory == memory_of(1, 3)
        assert (first, second) == (shown, document(kind, 3))

    def test_a_change_that_was_noticed_is_in_the_log(self, store: Store, writer: Writer) -> None:
        """With its data, and without a document that is not part of it."""
        writer.serve(1, 2)
        data: dict[str, Any] = {"arm": None, "parameter": "x", "value": "🎉", "before": 0.1 + 0.2}
        writer.drift(memory_of(1), **data)
        writer.serve(1)
        (entry,) = store.changes("study")
        assert (entry.seq, entry.kind, entry.at, entry.data) == (2, "drift", 600.0, data)
        assert [e for e in store.log("study") if e.kind == "drift"] == [entry]

    @both_kinds
    def test_load_since_gives_a_document_that_was_written_after_it(
        self, store: Store, kind: Kind
    ) -> None:
        """A process that has it already need not read it again."""
        writer, given = Writer(store), document(kind, 1, 2)
        writer.serve(1)
        writer.serve(2, **given)  # this is seq 2
        writer.serve(1)
        found = [kept(store, kind, since=since)[kind] for since in range(5)]
        assert found == [given[kind], given[kind], None, None, None]
        writer.drift(memory_of(1))  # and this seq 4
        found = [store.load("study", since=since).memory for since in range(6)]
        assert found == [memory_of(1)] * 4 + [None, None]

    @both_kinds
    def test_what_is_refused_leaves_the_document(self, store: Store, kind: Kind) -> None:
        """Refused as stale, or as a contradiction of the facts."""
        writer = Writer(store)
        writer.serve(1, 2, **document(kind, 1, 2))
        before = everything(store)
        pulls, taken = [NewPull(3, 1, "index")], [new_arm(1, identity="new")]
        other, memory = document(kind, 1), memory_of(1)
        for ahead in (-1, 1):
            seq = writer.seq + ahead
            with pytest.raises(StaleView):
                store.serve("study", seq=seq, at=300.0, pulls=pulls, **other)
            with pytest.raises(StaleView):
                store.change("study", Change("drift", {}, memory=memory), seq=seq, at=300.0)
        with pytest.raises(StoreError, match="refused whole"):
            store.serve("study", seq=writer.seq, at=300.0, pulls=pulls, arms=taken, **other)
        unknown = [NewPull(3, 9, "index")]
        with pytest.raises(StoreError, match="refused whole"):
            store.serve("study", seq=writer.seq, at=300.0, pulls=unknown, **other)
        change = Change("drift", {}, {9: ("paused", None)}, memory=memory)
        with pytest.raises(StoreError, match="refused whole"):
            store.change("study", change, seq=writer.seq, at=300.0)
        assert everything(store) == before
        assert kept(store, kind) == document(kind, 1, 2)

    @both_kinds
    def test_a_document_is_its_study_s_alone_and_goes_with_it(
        self, store: Store, kind: Kind
    ) -> None:
        """Neither written nor read across; a new study of the same name starts without one."""
        alone, other = Writer(store), Writer(store, "other")
        alone.serve(1, **document(kind, 1, of="alone"))
        assert kept(store, kind, "other") == {kind: None}
        other.serve(1, **document(kind, 1, of="other"))
        assert kept(store, kind) == document(kind, 1, of="alone")
        assert kept(store, kind, "other") == document(kind, 1, of="other")
        store.delete("study")
        store.create(study_record("study", token="another"))
        assert kept(store, kind) == {kind: None}
        assert kept(store, kind, "other") == document(kind, 1, of="other")

    # --- settings, and what was declared ----------------------------------------------------------

    def test_settings_are_replaced_with_their_declaration(self, store: Store) -> None:
        """In the transaction of the change; all else of the record stays."""
        writer = Writer(store)
        before = store.load("study").study
        assert (before.revision, store.declaration("study")) == (None, None)
        settings = Settings(reward_range=(-1.0, 0.1 + 0.2), window_s=1e-3, revision=2**62)
        data = {"before": {"window_s": None}, "after": {"window_s": 1e-3}}
        change = Change("settings", data, settings=settings, declared={"space": [1.5, None, "ü"]})
        store.change("study", change, seq=writer.seq, at=600.0)
        after = store.load("study").study
        assert after == replace(
            before, reward_range=(-1.0, 0.1 + 0.2), window_s=1e-3, revision=2**62
        )
        assert store.declaration("study") == {"space": [1.5, None, "ü"]}
        entry = store.changes("study")[-1]
        assert (entry.kind, entry.data, entry.at) == ("settings", data, 600.0)
        none = Settings(None, None, None)
        store.change("study", Change("settings", {}, settings=none), seq=writer.seq + 1, at=601.0)
        assert store.load("study").study == replace(
            before, reward_range=None, window_s=None, revision=None
        )
        assert store.declaration("study") == {"space": [1.5, None, "ü"]}

    def test_a_stale_change_leaves_settings_and_declaration(self, store: Store) -> None:
        """So that two who declare at once take turns."""
        writer = Writer(store)
        writer.serve(1)
        change = Change("settings", {}, settings=Settings(None, 5.0, 3), declared={"x": 1})
        with pytest.raises(StaleView):
            store.change("study", change, seq=writer.seq - 1, at=600.0)
        assert (store.load("study").study.revision, store.declaration("study")) == (None, None)

    def test_a_declaration_goes_with_its_study(self, store: Store) -> None:
        """And a study may be created with a revision."""
        writer = Writer(store)
        store.change("study", Change("settings", {}, declared={"x": 1}), seq=writer.seq, at=600.0)
        store.delete("study")
        store.create(replace(study_record("study"), revision=7, token="other"))
        assert (store.load("study").study.revision, store.declaration("study")) == (7, None)
        with pytest.raises(UnknownStudy):
            store.declaration("nowhere")
