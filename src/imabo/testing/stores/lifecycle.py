"""The part of the contract about studies as such: made, named, kept apart, shared, reopened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from imabo.arms import Restart, Totals
from imabo.errors import StoreClosed, StoreError, StudyExists, UnknownStudy
from imabo.stores.base import Change, Store
from imabo.testing.stores.facts import (
    Cases,
    Writer,
    check_sums,
    everything,
    new_arm,
    study_record,
)

VERBS: Final[dict[str, Callable[[Store], object]]] = {
    "load": lambda store: store.load("study"),
    "arms": lambda store: store.arms("study", [1]),
    "spaces": lambda store: store.spaces("study"),
    "serve": lambda store: store.serve("study", seq=0, at=200.0, pulls=[]),
    "reward": lambda store: store.reward("study", 1, 0.5, at=200.0),
    "reward_many": lambda store: store.reward_many("study", [], at=200.0),
    "keyed": lambda store: store.keyed("study", ["a"]),
    "prune": lambda store: store.prune("study", before=200.0),
    "delete": lambda store: store.delete("study"),
    "expire": lambda store: store.expire("study", before=200.0, at=200.0),
    "change": lambda store: store.change("study", Change("state", {}), seq=0, at=200.0),
    "pulls": lambda store: store.pulls("study"),
    "pull": lambda store: store.pull("study", 1),
    "log": lambda store: list(store.log("study")),
    "events": lambda store: store.events("study"),
}
ALWAYS: Final[dict[str, Callable[[Store], object]]] = {
    "names": lambda store: store.names(),
    "create": lambda store: store.create(study_record()),
    "seqs": lambda store: store.seqs(),
    "find": lambda store: store.find("token"),
    "keys": lambda store: store.keys(),
    "revoke_key": lambda store: store.revoke_key("key", at=200.0),
    "probe": lambda store: store.probe(),
    "all events": lambda store: store.events(),
    "note": lambda store: store.note("kind", {}, at=1.0),
    "webhooks": lambda store: store.webhooks(),
    "remove_webhook": lambda store: store.remove_webhook("w", at=1.0),
    "test_webhook": lambda store: store.test_webhook("w", at=1.0),
    "send_again": lambda store: store.send_again("w", 1),
    "deliveries": lambda store: store.deliveries("w"),
    "n_deliveries": lambda store: store.n_deliveries(),
    "claim": lambda store: store.claim_deliveries(at=1.0, lease_s=1.0, limit=1, each=1),
    "prune_deliveries": lambda store: store.prune_deliveries(before=1.0),
}
NAMES: Final = [
    "plain",
    "Grüße 🎉 日本語",
    "'; DROP TABLE studies; --",
    "double \" and single ' quotes",
    "<script>alert(1)</script>",
    "per%cent _under* back\\slash",
    "two\nlines\tand a tab",
    "n" * 200,
]


def not_refused(
    store: Store,
    verbs: Mapping[str, Callable[[Store], object]],
    error: type[Exception],
    words: str = "",
) -> list[str]:
    """The verbs that do not raise that error with those words."""
    found = []
    for name, verb in verbs.items():
        try:
            verb(store)
        except error as raised:
            if words in str(raised):
                continue
        found.append(name)
    return found


class LifecycleCases(Cases):
    """Creating, opening, closing and sharing a store."""

    def test_a_fresh_store_has_no_study(self, store: Store) -> None:
        """The fixture must make a new store for each test."""
        assert store.names() == []

    def test_a_created_study_is_loaded_as_it_was_created(self, store: Store) -> None:
        """With nothing counted yet."""
        record = study_record(window_s=60.0, reward_range=(-1.0, 2.5))
        store.create(record)
        found = store.load("study")
        assert found.study == record
        assert (found.seq, found.space_version, found.marked_at) == (0, 1, 0)
        assert (found.totals, found.restart) == (Totals(), Restart())
        assert (found.space, list(found.arms)) == (record.space, [])
        assert (found.last_at, found.oldest_pending_at) == (record.created_at, None)
        assert everything(store).log == []

    def test_a_seed_of_any_size_is_kept(self, store: Store) -> None:
        """Seeds may be wider than a database's integers."""
        for seed in (0, 2**63, 2**200 + 1):
            store.create(study_record(f"{seed}", seed=seed))
            assert store.load(f"{seed}").study.seed == seed

    def test_a_reward_range_is_kept_exactly(self, store: Store) -> None:
        """None stays None."""
        for ends in (None, (0.1 + 0.2, 1e300), (-1e-300, 5e-324)):
            store.create(study_record(f"{ends}", reward_range=ends))
            assert store.load(f"{ends}").study.reward_range == ends

    def test_any_name_is_kept_as_it_is_and_names_are_sorted(self, store: Store) -> None:
        """Quotes, markup and other scripts are just text; sorted by code points, as in Python."""
        for name in NAMES:
            Writer(store, name).serve(1)
            assert store.load(name).study.name == name
        assert store.names() == sorted(NAMES)

    def test_a_taken_name_is_refused_and_the_study_stays(self, store: Store) -> None:
        """Also when the other settings differ."""
        Writer(store).serve(1)
        before = everything(store)
        with pytest.raises(StudyExists):
            store.create(study_record(token="another", seed=8))
        assert everything(store) == before

    def test_a_study_that_does_not_exist_is_unknown_to_every_verb(self, store: Store) -> None:
        """The message names the studies that do exist."""
        store.create(study_record("another"))
        assert not_refused(store, VERBS, UnknownStudy, words="another") == []

    def test_a_closed_store_refuses_every_verb(self, store: Store) -> None:
        """Closing twice is no mistake."""
        store.create(study_record("study"))
        store.close()
        assert not_refused(store, VERBS | ALWAYS, StoreClosed) == []
        store.close()

    def test_a_probe_changes_nothing_and_waits_for_no_study(self, store: Store) -> None:
        """It is asked for again and again, by a service that says whether it can serve."""
        store.create(study_record())
        before = everything(store)
        for _ in range(3):
            store.probe()
        assert everything(store) == before

    def test_studies_in_one_store_do_not_touch_each_other(self, store: Store) -> None:
        """They may have equal arms, identities and pull numbers."""
        alone, other = Writer(store, "alone"), Writer(store, "other")
        alone.serve(1, 2)
        before = everything(store, "alone")
        # The same arms, identities and pull numbers, with another fate.
        other.serve(1, 2, 2, at=150.0)
        other.reward(1, 0.25)
        other.put_state(2, "paused")
        assert other.expire(before=1000.0) == {2: 2}
        assert everything(store, "alone") == before
        assert alone.serve(1) == [3]
        check_sums(store, "alone")
        check_sums(store, "other")

    def test_what_was_loaded_does_not_change_afterwards(self, store: Store, writer: Writer) -> None:
        """A snapshot is a value, not a window on the store."""
        writer.serve(1)
        before = everything(store)
        shown = repr(before)
        writer.traffic(seed=3, n_steps=30)
        assert repr(before) == shown

    def test_two_threads_that_serve_take_turns(self, store: Store) -> None:
        """Every pull has its own number, and none is lost."""
        store.create(study_record())

        def serve(arm: int) -> list[int]:
            writer = Writer(store, create=False)
            return [number for _ in range(25) for number in writer.serve_patiently(arm)]

        with ThreadPoolExecutor(2) as pool:
            numbers = [number for part in pool.map(serve, [1, 2]) for number in part]
        assert sorted(numbers) == list(range(1, 51))
        assert store.load("study").seq == 50
        check_sums(store)

    def test_threads_that_tell_and_serve_at_once_lose_nothing(self, store: Store) -> None:
        """A reward told by two threads is fresh for one of them."""
        writer = Writer(store)
        numbers = writer.serve(*[1, 2, 3] * 20)

        def tell(mine: list[int]) -> int:
            done = [store.reward("study", number, number / 64, at=300.0) for number in mine]
            return sum(one is not None and one.fresh for one in done)

        with ThreadPoolExecutor(3) as pool:
            # Both tell every pull; each reward must be fresh for exactly one of them.
            tellers = [pool.submit(tell, mine) for mine in (numbers, numbers[::-1])]
            for _ in range(20):
                writer.serve_patiently(4)
            fresh = sum(teller.result() for teller in tellers)
        assert fresh == len(numbers)
        assert store.load("study").seq == 1 + 20 + len(numbers)
        check_sums(store)

    def test_everything_is_there_after_reopening(self, store: Store, writer: Writer) -> None:
        """Two studies, every kind of entry, every digit."""
        writer.traffic(seed=1, n_steps=120)
        change = Change(
            "space", {"n": 1e-300}, space={"new": [0.1 + 0.2]}, restart=Restart(1, 2, 3, 4)
        )
        writer.seq = store.change("study", change, seq=writer.seq, at=2000.0)
        Writer(store, "another").serve(1)
        before = everything(store), everything(store, "another"), store.load("study", since=60)
        store = self.reopen(store)
        assert store.names() == ["another", "study"]
        after = everything(store), everything(store, "another"), store.load("study", since=60)
        assert after == before
        store.close()

    def test_a_reopened_store_goes_on(self, store: Store, writer: Writer) -> None:
        """Numbers count on, and what was told counts as told."""
        writer.serve(1, 2, at=200.0)
        writer.reward(1, 0.5)
        store = self.reopen(store)
        with pytest.raises(StudyExists):
            store.create(study_record())
        again = store.reward("study", 1, 0.5, at=900.0)
        assert again is not None
        assert not again.fresh
        writer = Writer(store, create=False)
        assert writer.serve(2, 3, at=901.0) == [3, 4]
        assert writer.expire(before=300.0, at=902.0) == {2: 1}
        check_sums(store)
        store.close()

    def test_an_arm_admitted_before_reopening_keeps_its_identity(self, store: Store) -> None:
        """A second arm of that identity is refused."""
        change = Change("arm", {"arm": 1}, arms=[new_arm(1)])
        store.create(study_record())
        store.change("study", change, seq=0, at=200.0)
        store = self.reopen(store)
        again = Change("arm", {"arm": 2}, arms=[new_arm(2, identity="identity-1")])
        with pytest.raises(StoreError, match="refused"):
            store.change("study", again, seq=1, at=201.0)
        store.close()
