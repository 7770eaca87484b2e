"""The part of the contract about pulls that are decided from a view of any age."""

from __future__ import annotations

import threading

import pytest

from imabo.errors import StoreError, UnknownStudy
from imabo.stores.base import Change, NewPull, Placed, StaleView, Store
from imabo.testing.stores.facts import Cases, Writer, check_sums, everything, study_record

TOKEN = study_record().token


def pulls_of(*arms: int, key: str | None = None) -> list[NewPull]:
    """Pulls of arms; their numbers mean nothing."""
    return [NewPull(7, arm, "index", key, part) for part, arm in enumerate(arms)]


class KnownCases(Cases):
    """Serving known arms, numbered by the store."""

    def test_the_store_numbers_the_pulls(self, store: Store, writer: Writer) -> None:
        """They count on from the last one, and are like any others."""
        writer.serve(1, 2)
        placed = store.serve_known("study", token=TOKEN, at=201.0, pulls=pulls_of(2, 1, 2))
        assert placed == Placed(2, 3, 201.0)
        found = [(p.number, p.arm, p.state, p.served_at) for p in store.pulls("study", after=2)]
        assert found == [(n, arm, "pending", 201.0) for n, arm in [(3, 2), (4, 1), (5, 2)]]
        assert store.load("study").seq == 2
        check_sums(store)

    def test_it_does_not_need_the_newest_view(self, store: Store) -> None:
        """One who decided from an older view is served all the same; ``serve`` is not."""
        writer, other = Writer(store), Writer(store, create=False)
        writer.serve(1)
        store.reward("study", 1, 0.5, at=201.0)
        with pytest.raises(StaleView):
            other.serve(1)
        placed = store.serve_known("study", token=TOKEN, at=202.0, pulls=pulls_of(1))
        assert placed == Placed(3, 2, 202.0)
        check_sums(store)

    def test_pulls_stay_in_order_of_time(self, store: Store, writer: Writer) -> None:
        """A clock that is behind that of others gives the time of the last pull."""
        writer.serve(1, at=500.0)
        assert store.serve_known("study", token=TOKEN, at=400.0, pulls=pulls_of(1)).at == 500.0
        assert [pull.served_at for pull in store.pulls("study")] == [500.0, 500.0]

    def test_keys_and_contexts_are_kept(self, store: Store, writer: Writer) -> None:
        """As with ``serve``."""
        writer.serve(1)
        pulls = [NewPull(0, 1, "index", "k", 0, {"a": [1]}), NewPull(0, 1, "waiting", "k", 1)]
        store.serve_known("study", token=TOKEN, at=201.0, pulls=pulls)
        first, second = store.keyed("study", ["k"])["k"]
        assert (first.number, first.context, second.number) == (2, {"a": [1]}, 3)
        assert second.reason == "waiting"

    def test_arms_that_are_not_active_are_not_served(self, store: Store, writer: Writer) -> None:
        """Nothing is, until the caller has seen what changed: one is paused, or unknown."""
        writer.serve(1, 2)
        change = Change("state", {}, {2: ("paused", None)})
        store.change("study", change, seq=1, at=201.0)
        before = everything(store)
        for arms in [(2, 1), (2,), (1, 9)]:
            with pytest.raises(StaleView):
                store.serve_known("study", token=TOKEN, at=202.0, pulls=pulls_of(*arms))
        assert everything(store) == before

    def test_a_key_that_is_known_is_not_served_again(self, store: Store, writer: Writer) -> None:
        """Nor are those that come with it."""
        writer.serve(1)
        store.serve_known("study", token=TOKEN, at=201.0, pulls=pulls_of(1, key="k"))
        before = everything(store)
        mixed = [*pulls_of(1), *pulls_of(1, key="k")]
        with pytest.raises(StaleView):
            store.serve_known("study", token=TOKEN, at=202.0, pulls=mixed)
        assert everything(store) == before

    def test_a_study_that_was_made_again_is_another(self, store: Store, writer: Writer) -> None:
        """Its arms have the ids of the old ones, and are not served for them."""
        writer.serve(1)
        store.delete("study")
        store.create(study_record(token="another"))
        Writer(store, create=False).serve(1)
        before = everything(store)
        with pytest.raises(StaleView):
            store.serve_known("study", token=TOKEN, at=201.0, pulls=pulls_of(1))
        assert everything(store) == before

    def test_an_unknown_study_is_refused(self, store: Store) -> None:
        """By its name."""
        with pytest.raises(UnknownStudy):
            store.serve_known("nobody", token=TOKEN, at=201.0, pulls=pulls_of(1))

    def test_milestones_are_kept(self, store: Store, writer: Writer) -> None:
        """As with ``serve``."""
        writer.serve(1)
        for at in range(201, 211):
            store.serve_known("study", token=TOKEN, at=float(at), pulls=pulls_of(1, 1, 1))
        assert [stone.n_pulls for stone in store.milestones("study")] == [10, 16, 25]

    def test_threads_that_serve_at_once_share_the_numbers(self, store: Store) -> None:
        """Each number is one pull's, and the counters have them all."""
        Writer(store).serve(1, 2)
        firsts: list[int] = []
        errors: list[StoreError] = []

        def work(arm: int) -> None:
            try:
                for _ in range(20):
                    placed = store.serve_known(
                        "study", token=TOKEN, at=300.0, pulls=pulls_of(arm, 1)
                    )
                    firsts.append(placed.first)
            except StoreError as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(arm,)) for arm in (1, 2, 1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert sorted(firsts) == list(range(3, 163, 2))
        assert store.load("study").totals.n_pulls == 162
        check_sums(store)
