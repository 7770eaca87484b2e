"""The part of the contract about many at once: rewards in batches, keys of requests, turns."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from imabo.errors import RewardConflict, StoreError, UnknownStudy
from imabo.stores.base import NewPull, Rewarded, StaleView, Store
from imabo.testing.stores.facts import Cases, Writer, check_sums, everything, new_arm


def keyed_pulls(first: int, key: str | None, count: int, context: Any = None) -> list[NewPull]:
    """The pulls of one request, all of arm 1."""
    return [NewPull(first + part, 1, "index", key, part, context) for part in range(count)]


class BatchCases(Cases):
    """Rewards of many pulls in one transaction, and requests that may be repeated."""

    def test_rewards_of_a_batch_share_a_transaction(self, store: Store, writer: Writer) -> None:
        """Each says what it did; together they are one step of the study."""
        writer.serve(1, 2, 1)
        done = store.reward_many("study", [(3, 0.5), (1, 0.25), (2, 1.0)], at=300.0)
        assert done == [
            Rewarded(1, True, True, 2),
            Rewarded(1, True, True, 2),
            Rewarded(2, True, True, 2),
        ]
        assert store.load("study").seq == 2
        check_sums(store)

    def test_one_bad_reward_does_not_hold_up_the_others(self, store: Store, writer: Writer) -> None:
        """Unknown pulls are None, another value is a conflict, the same value is a repetition."""
        writer.serve(1, 1, 1)
        writer.reward(1, 0.5)
        batch = [(1, 0.75), (9, 0.5), (2, 0.125), (1, 0.5), (2, 0.125), (2, 0.25), (0, 0.5)]
        conflict, unknown, fresh, again, twice, changed, nought = store.reward_many(
            "study", batch, at=300.0
        )
        assert isinstance(conflict, RewardConflict)
        assert "0.5" in str(conflict)
        assert "0.75" in str(conflict)
        assert unknown is None
        assert nought is None
        assert fresh == Rewarded(1, True, True, 3)
        assert isinstance(again, Rewarded)
        assert not again.fresh
        assert twice == Rewarded(1, False, False, 3)
        assert isinstance(changed, RewardConflict)
        assert store.load("study").seq == 3
        check_sums(store)

    def test_a_batch_that_changes_nothing_is_no_step(self, store: Store, writer: Writer) -> None:
        """Also an empty one."""
        writer.serve(1)
        writer.reward(1, 0.5)
        before = everything(store)
        assert store.reward_many("study", [], at=300.0) == []
        (again,) = store.reward_many("study", [(1, 0.5)], at=301.0)
        assert again == Rewarded(1, False, False, 2)
        assert everything(store) == before

    def test_sums_are_those_of_adding_one_by_one_in_order_of_the_pulls(self, store: Store) -> None:
        """To the last digit, because a replay adds them so."""
        rewards = [0.1, 0.7, 1e-17, 0.3, 1 / 3, 0.9]
        writer = Writer(store)
        writer.serve(*[1] * len(rewards))
        batch = list(enumerate(rewards, start=1))
        store.reward_many("study", batch[::-1], at=300.0)
        total = squares = 0.0
        for reward in rewards:
            total, squares = total + reward, squares + reward * reward
        snapshot = store.load("study")
        assert snapshot.totals.reward_sum == total
        assert snapshot.arms[0].tally.reward_sum == total
        assert snapshot.arms[0].tally.reward_squares == squares
        told = [entry.pull for entry in store.log("study") if entry.kind == "tell"]
        assert told == list(range(1, len(rewards) + 1))

    def test_late_rewards_in_a_batch_count_but_were_not_pending(self, store: Store) -> None:
        """Expired pulls and pending ones side by side."""
        writer = Writer(store)
        writer.serve(1, at=200.0)
        writer.serve(1, at=250.0)
        writer.expire(before=210.0)
        late, on_time = store.reward_many("study", [(1, 0.5), (2, 0.5)], at=500.0)
        assert isinstance(late, Rewarded)
        assert not late.was_pending
        assert isinstance(on_time, Rewarded)
        assert on_time.was_pending
        check_sums(store)

    def test_a_context_comes_back_as_it_was(self, store: Store, writer: Writer) -> None:
        """With the pull, and in the log."""
        writer.serve(1)
        contexts: list[Any] = [None, 7, 0, "🎉", [1.5, None], {"user": {"id": "x"}, "n": 0.1}]
        for number, context in enumerate(contexts, start=2):
            pulls = keyed_pulls(number, None, 1, context)
            store.serve("study", seq=number - 1, at=201.0, pulls=pulls)
            found = store.pull("study", number)
            assert found == store.pulls("study")[-1]
            assert found is not None
            assert found.context == context
            data = [entry.data for entry in store.log("study")][-1]
            assert data == (None if context is None else {"context": context})

    def test_the_pulls_of_a_key_are_found_in_order(self, store: Store, writer: Writer) -> None:
        """Keys that are not there are left out; a key belongs to its study."""
        writer.serve(1)
        Writer(store, "other").serve(1)
        pulls = keyed_pulls(2, "a", 2) + keyed_pulls(4, "b'%\"", 1) + keyed_pulls(5, None, 1)
        store.serve("study", seq=1, at=201.0, pulls=pulls)
        found = store.keyed("study", ["b'%\"", "a", "c"])
        numbers = {key: [pull.number for pull in one] for key, one in found.items()}
        assert numbers == {"a": [2, 3], "b'%\"": [4]}
        assert store.keyed("other", ["a"]) == {}
        assert store.keyed("study", []) == {}

    def test_a_pull_has_its_key_wherever_it_is_read(self, store: Store, writer: Writer) -> None:
        """In the list, by its number, by its key and in the log."""
        writer.serve(1, 1)
        new = [NewPull(3, 1, "index", "job", 0), NewPull(4, 1, "index", "job", 1, {"u": 0})]
        store.serve("study", seq=writer.seq, at=210.0, pulls=new)
        keys = [(pull.key, pull.part) for pull in store.pulls("study")]
        assert keys == [(None, 0), (None, 0), ("job", 0), ("job", 1)]
        assert store.pulls("study", after=2) == store.keyed("study", ["job"])["job"]
        assert store.pull("study", 4) == store.keyed("study", ["job", "x"])["job"][1]
        asked = [entry.data for entry in store.log("study") if entry.kind == "ask"]
        job = {"key": "job"}
        assert asked == [None, None, job, {**job, "part": 1, "context": {"u": 0}}]

    def test_a_key_is_given_once(self, store: Store, writer: Writer) -> None:
        """The whole write is refused."""
        writer.serve(1)
        store.serve("study", seq=1, at=201.0, pulls=keyed_pulls(2, "a", 1))
        before = everything(store)
        with pytest.raises(StoreError, match="refused"):
            store.serve("study", seq=2, at=202.0, pulls=keyed_pulls(3, "a", 1))
        assert everything(store) == before
        # The same key in another study is another key.
        Writer(store, "other").serve(1)
        store.serve("other", seq=1, at=201.0, pulls=keyed_pulls(2, "a", 1))


class TurnCases(Cases):
    """Holding a study while a decision is made."""

    def test_a_turn_keeps_others_from_changing_the_study(self, store: Store) -> None:
        """They wait, and happen after it."""
        writer = Writer(store)
        writer.serve(1)
        entered, told = threading.Event(), threading.Event()

        def tell() -> None:
            entered.wait(10)
            store.reward("study", 1, 0.5, at=300.0)
            told.set()

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(tell)
            with store.turn("study"):
                entered.set()
                assert not told.wait(0.2)
                assert store.load("study").totals.n_rewards == 0
                seq = store.load("study").seq
                store.serve("study", seq=seq, at=201.0, pulls=[NewPull(2, 1, "index")])
            other.result(10)
        log = [(entry.kind, entry.pull) for entry in store.log("study")]
        assert log == [("ask", 1), ("ask", 2), ("tell", 1)]
        check_sums(store)

    def test_a_write_in_a_turn_is_there_when_it_ends(self, store: Store, writer: Writer) -> None:
        """With an arm, as any other serve."""
        with store.turn("study"):
            pulls, arms = [NewPull(1, 1, "warmup")], [new_arm(1)]
            assert store.serve("study", seq=0, at=201.0, pulls=pulls, arms=arms) == 1
        writer.refresh()
        assert writer.serve(1, at=202.0) == [2]
        check_sums(store)

    def test_a_refused_write_in_a_turn_changes_nothing(self, store: Store, writer: Writer) -> None:
        """And the study goes on afterwards."""
        writer.serve(1)
        before = everything(store)
        with pytest.raises(StaleView), store.turn("study"):
            store.serve("study", seq=0, at=201.0, pulls=[NewPull(2, 1, "index")])
        with pytest.raises(StoreError), store.turn("study"):
            store.serve("study", seq=1, at=201.0, pulls=[NewPull(2, 99, "index")])
        assert everything(store) == before
        assert writer.serve(1) == [2]

    def test_a_turn_of_an_unknown_study_is_refused(self, store: Store) -> None:
        """Before anything is held."""
        with pytest.raises(UnknownStudy), store.turn("study"):
            pass
        Writer(store).serve(1)

    def test_threads_that_take_turns_are_never_stale(self, store: Store, writer: Writer) -> None:
        """Each reads and serves in its turn."""
        writer.serve(1)

        def serve(n: int) -> None:
            for _ in range(n):
                with store.turn("study"):
                    found = store.load("study")
                    pull = NewPull(found.totals.n_pulls + 1, 1, "index")
                    store.serve("study", seq=found.seq, at=300.0, pulls=[pull])

        with ThreadPoolExecutor(3) as pool:
            for done in [pool.submit(serve, 15) for _ in range(3)]:
                done.result()
        assert store.load("study").totals.n_pulls == 46
        check_sums(store)
