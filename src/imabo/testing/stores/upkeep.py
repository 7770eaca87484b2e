"""The part of the contract about upkeep: access keys, retention, deleting, seeing what changed."""

from __future__ import annotations

import pytest

from imabo.errors import StoreError, UnknownStudy
from imabo.stores.base import KeyRecord, NewPull, Store
from imabo.testing.stores.facts import Cases, Writer, check_sums, everything, study_record


def key_record(key_id: str, at: float = 100.0, **facts: object) -> KeyRecord:
    """A key to put; ``facts`` replace the usual ones."""
    usual: dict[str, object] = {"name": "app", "role": "writer", "studies": None}
    return KeyRecord(id=key_id, secret_hash=f"hash of {key_id}", created_at=at, **usual | facts)  # type: ignore[arg-type]


class UpkeepCases(Cases):
    """What an operator does to a store."""

    def test_seqs_tell_which_studies_moved(self, store: Store) -> None:
        """Every study is in them, sorted by name."""
        writer = Writer(store, "b")
        store.create(study_record("a"))
        assert list(store.seqs().items()) == [("a", 0), ("b", 0)]
        writer.serve(1)
        writer.reward(1, 0.5)
        assert store.seqs() == {"a": 0, "b": 2}

    def test_a_study_is_found_by_the_token_of_its_pulls(self, store: Store) -> None:
        """And nothing by another."""
        store.create(study_record("a", token="t1"))
        store.create(study_record("b", token="t2"))
        assert (store.find("t2"), store.find("t1"), store.find("t")) == ("b", "a", None)

    def test_a_token_is_given_once(self, store: Store) -> None:
        """Else a pull's id could mean two pulls."""
        store.create(study_record("a", token="t1"))
        with pytest.raises(StoreError):
            store.create(study_record("b", token="t1"))
        assert store.names() == ["a"]

    def test_a_deleted_study_is_gone_and_its_name_free(self, store: Store) -> None:
        """Others stay as they are; a new one of that name starts from nothing."""
        gone, other = Writer(store), Writer(store, "other")
        gone.serve(1, 2)
        gone.reward(1, 0.5)
        other.serve(1, 2)
        before = everything(store, "other")
        store.delete("study")
        assert store.names() == ["other"]
        assert store.find("token-of-study") is None
        with pytest.raises(UnknownStudy):
            store.load("study")
        with pytest.raises(UnknownStudy):
            store.delete("study")
        assert everything(store, "other") == before
        assert Writer(store).serve(1) == [1]
        check_sums(store)

    def test_pruning_forgets_pulls_and_keeps_what_they_taught(self, store: Store) -> None:
        """Only finished ones, only old ones, and their keys."""
        writer = Writer(store)
        writer.serve(1, 2, at=200.0)
        pulls = [NewPull(3, 1, "index", "old", 0, {"a": 1}), NewPull(4, 1, "index")]
        writer.seq = store.serve("study", seq=writer.seq, at=210.0, pulls=pulls)
        writer.n_pulls = 4
        writer.serve(1, at=300.0)
        for number in (1, 3, 5):
            writer.reward(number, 0.5, at=310.0)
        before = store.load("study")
        assert store.prune("study", before=250.0) == 2
        after = store.load("study")
        assert (after.totals, after.arms) == (before.totals, before.arms)
        assert [pull.number for pull in store.pulls("study")] == [2, 4, 5]
        assert [pull.number for pull in store.pulls("study", after=2, limit=1)] == [4]
        assert store.pull("study", 3) is None
        assert store.keyed("study", ["old"]) == {}
        assert {entry.pull for entry in store.log("study")} == {2, 4, 5}
        assert store.reward("study", 1, 0.5, at=400.0) is None
        assert store.prune("study", before=250.0) == 0
        writer.reward(2, 0.25, at=410.0)
        assert store.prune("study", before=250.0) == 1
        assert writer.serve(1, at=420.0) == [6]

    def test_pruning_goes_in_steps(self, store: Store, writer: Writer) -> None:
        """So that it never holds up the traffic for long; the oldest go first."""
        for number in writer.serve(*[1] * 5):
            writer.reward(number, 0.5)
        assert store.prune("study", before=1000.0, limit=2) == 2
        assert [pull.number for pull in store.pulls("study")] == [3, 4, 5]
        assert store.prune("study", before=1000.0, limit=9) == 3

    def test_expired_pulls_are_finished(self, store: Store, writer: Writer) -> None:
        """They are pruned, and expiry goes on with those that are left."""
        writer.serve(1, at=200.0)
        writer.serve(1, at=300.0)
        writer.expire(before=250.0)
        assert store.prune("study", before=1000.0) == 1
        assert store.load("study").oldest_pending_at == 300.0
        assert writer.expire(before=400.0) == {1: 1}

    def test_keys_come_back_as_they_were_put(self, store: Store) -> None:
        """In order of their creation."""
        late = key_record("b", 200.5, studies=("s", "ü/2"), role="reader")
        early, limited = key_record("c", 100.25), key_record("a", 300.0, studies=(), role="admin")
        for key in (late, early, limited):
            store.put_key(key)
        assert store.keys() == [early, late, limited]

    def test_an_id_of_a_key_is_given_once(self, store: Store) -> None:
        """The first one stays."""
        store.put_key(key_record("a"))
        with pytest.raises(StoreError):
            store.put_key(key_record("a", 200.0, role="admin"))
        assert store.keys() == [key_record("a")]

    def test_a_revoked_key_stays_revoked_since_then(self, store: Store) -> None:
        """Revoking again changes nothing, and an unknown key is told apart."""
        store.put_key(key_record("a"))
        store.put_key(key_record("b", 200.0))
        assert store.revoke_key("a", at=500.0)
        assert store.revoke_key("a", at=600.0)
        assert not store.revoke_key("c", at=500.0)
        first, second = store.keys()
        assert (first.revoked_at, second.revoked_at) == (500.0, None)

    def test_keys_are_there_after_reopening(self, store: Store) -> None:
        """With the studies beside them."""
        store.put_key(key_record("a", studies=("s",)))
        Writer(store).serve(1)
        store = self.reopen(store)
        assert store.keys() == [key_record("a", studies=("s",))]
        store.close()

    def test_waiting_ends_by_itself(self, store: Store) -> None:
        """At the latest after the time that was named."""
        store.wait(0.01)
