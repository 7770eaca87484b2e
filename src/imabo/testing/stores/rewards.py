"""The part of the contract about rewards, expiry, pulls and the log."""

from __future__ import annotations

import math

import pytest

from imabo.arms import Restart, Totals
from imabo.errors import RewardConflict
from imabo.stores.base import Change, Expired, LogEntry, NewPull, Rewarded, Store
from imabo.testing.stores.facts import Cases, Writer, check_sums, everything, new_arm

EXACT = [0.1 + 0.2, 1e-300, 5e-324, 1 / 3, -1.7976931348623157e308, 2.0**53 + 2, 0.0, 1.0]


class RewardCases(Cases):
    """Rewards once, expiry, paging and the log."""

    def test_a_reward_is_recorded_and_counted(self, store: Store, writer: Writer) -> None:
        """On the pull, its arm and the study."""
        writer.serve(1, 2, at=200.0)
        assert store.reward("study", 2, 0.75, at=300.25) == Rewarded(2, True, True, seq=2)
        found = everything(store)
        pull = found.pulls[1]
        assert (pull.state, pull.reward, pull.rewarded_at) == ("rewarded", 0.75, 300.25)
        assert found.pulls[0].state == "pending"
        assert found.snapshot.totals == Totals(2, 1, 1, 0.75)
        assert found.snapshot.last_at == 300.25
        check_sums(store)

    def test_the_same_reward_again_changes_nothing(self, store: Store, writer: Writer) -> None:
        """So a report may be retried."""
        writer.serve(1)
        writer.reward(1, 0.1 + 0.2)
        before = everything(store)
        assert store.reward("study", 1, 0.1 + 0.2, at=900.0) == Rewarded(1, False, False, seq=2)
        assert everything(store) == before

    def test_another_reward_is_a_conflict_and_changes_nothing(self, store: Store) -> None:
        """Even when it differs in the last digit only."""
        writer = Writer(store)
        writer.serve(1)
        writer.reward(1, 0.5)
        before = everything(store)
        with pytest.raises(RewardConflict, match=r"0\.5"):
            store.reward("study", 1, math.nextafter(0.5, 1), at=900.0)
        assert everything(store) == before

    def test_a_reward_for_no_pull_is_none_and_changes_nothing(self, store: Store) -> None:
        """Numbers that were not given out, small and large."""
        Writer(store).serve(1, 1)
        before = everything(store)
        for number in (0, -1, 3, 10**17):
            assert store.reward("study", number, 0.5, at=300.0) is None
        assert everything(store) == before

    def test_rewards_come_in_any_order(self, store: Store, writer: Writer) -> None:
        """The log has them in the order they came."""
        writer.serve(1, 2, 1)
        for number in (3, 1, 2):
            writer.reward(number, number / 8)
        assert [pull.reward for pull in everything(store).pulls] == [0.125, 0.25, 0.375]
        assert [entry.pull for entry in everything(store).log] == [1, 2, 3, 3, 1, 2]
        check_sums(store)

    def test_a_reward_survives_to_the_last_digit(self, store: Store) -> None:
        """On the pull, in the log and in the sum."""
        for reward in EXACT:
            Writer(store, f"{reward}").serve(1)
            store.reward(f"{reward}", 1, reward, at=300.0)
            found = everything(store, f"{reward}")
            assert found.pulls[0].reward == found.log[-1].reward == reward
            assert found.snapshot.totals.reward_sum == reward

    def test_an_early_time_of_a_reward_does_not_turn_the_clock_back(self, store: Store) -> None:
        """Its teller may not know of the latest pull yet."""
        writer = Writer(store)
        writer.serve(1, at=200.0)
        writer.reward(1, 0.5, at=150.0)
        assert store.load("study").last_at == 200.0
        assert everything(store).pulls[0].rewarded_at == 150.0

    def test_expiry_takes_what_was_served_before_a_time(self, store: Store, writer: Writer) -> None:
        """Not at it, and not what has its reward."""
        writer.serve(1, 2, 2, at=200.0)
        writer.serve(1, at=201.0)
        writer.serve(3, at=202.0)
        writer.reward(2, 0.5)
        done = store.expire("study", before=201.0, at=400.0)
        assert done == Expired({1: 1, 2: 1}, oldest_pending_at=201.0, seq=5)
        found = everything(store)
        states = ["expired", "rewarded", "expired", "pending", "pending"]
        assert [pull.state for pull in found.pulls] == states
        assert found.snapshot.totals == Totals(5, 1, 2, 0.5)
        assert found.snapshot.totals.n_expired == 2
        assert found.snapshot.oldest_pending_at == 201.0
        check_sums(store)

    def test_expiry_of_nothing_changes_nothing(self, store: Store, writer: Writer) -> None:
        """No ``seq`` and no entry in the log."""
        writer.serve(1, at=200.0)
        before = everything(store)
        assert store.expire("study", before=200.0, at=400.0) == Expired({}, 200.0, seq=1)
        assert everything(store) == before
        writer.reward(1, 0.5)
        assert store.expire("study", before=1e9, at=400.0) == Expired({}, None, seq=2)

    def test_a_reward_after_expiry_counts_once(self, store: Store, writer: Writer) -> None:
        """Late, but like any other."""
        writer.serve(1, 1, at=200.0)
        assert writer.expire(before=300.0) == {1: 2}
        assert store.reward("study", 1, 0.5, at=900.0) == Rewarded(1, True, False, seq=3)
        assert store.reward("study", 1, 0.5, at=901.0) == Rewarded(1, False, False, seq=3)
        with pytest.raises(RewardConflict):
            store.reward("study", 1, 0.25, at=902.0)
        assert [pull.state for pull in everything(store).pulls] == ["rewarded", "expired"]
        assert store.load("study").totals == Totals(2, 1, 0, 0.5)
        assert store.load("study").oldest_pending_at is None
        check_sums(store)

    def test_pulls_are_read_in_pages(self, store: Store, writer: Writer) -> None:
        """In order of their numbers, from any number on."""
        writer.serve(*[1, 2] * 5)
        pages = [
            [pull.number for pull in store.pulls("study", after=a, limit=4)] for a in (0, 4, 8)
        ]
        assert pages == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
        assert store.pulls("study", after=10) == []
        assert store.pulls("study", after=10**9) == []
        assert len(store.pulls("study")) == 10

    def test_one_pull_is_read_by_its_number(self, store: Store, writer: Writer) -> None:
        """None for a number that was not given out."""
        writer.serve(1, 2)
        writer.reward(2, 0.5)
        assert store.pull("study", 2) == store.pulls("study")[1]
        assert [store.pull("study", number) for number in (0, -1, 3, 10**17)] == [None] * 4

    def test_the_log_has_everything_that_happened_in_order(self, store: Store) -> None:
        """One of each kind, with all its fields."""
        writer = Writer(store)
        writer.serve(1, 2, at=200.0)
        writer.reward(2, 0.1 + 0.2, at=300.0)
        writer.expire(before=250.0, at=400.0)
        writer.put_state(2, "paused", at=500.0)
        arm = Change("arm", {"arm": 3, "config": {"x": 0.375}}, arms=[new_arm(3)])
        seq = store.change("study", arm, seq=writer.seq, at=600.0)
        space = Change("space", {"space": {"n": 1}}, space={"n": 1}, restart=Restart(2, 1, 0, 3))
        seq = store.change("study", space, seq=seq, at=700.0)
        store.serve("study", seq=seq, at=800.0, pulls=[NewPull(3, 3, "expand")])
        store.reward("study", 1, 1.0, at=900.0)  # late
        assert list(store.log("study")) == [
            LogEntry(1, "ask", 200.0, pull=1, arm=1, reason="index"),
            LogEntry(1, "ask", 200.0, pull=2, arm=2, reason="index"),
            LogEntry(2, "tell", 300.0, pull=2, reward=0.1 + 0.2),
            LogEntry(3, "expire", 400.0, data={"before": 250.0}),
            LogEntry(4, "state", 500.0, data={"arm": 2, "state": "paused"}),
            LogEntry(5, "arm", 600.0, data={"arm": 3, "config": {"x": 0.375}}),
            LogEntry(6, "space", 700.0, data={"space": {"n": 1}}),
            LogEntry(7, "ask", 800.0, pull=3, arm=3, reason="expand"),
            LogEntry(8, "tell", 900.0, pull=1, reward=1.0),
        ]

    def test_a_log_that_is_being_read_holds_nobody_up(self, store: Store, writer: Writer) -> None:
        """Writers go on, and what was read stays true."""
        for _ in range(3):
            writer.serve(1)
        log = store.log("study")
        first = next(log)
        writer.serve(2)
        writer.reward(1, 0.5)
        assert [first, *log][:3] == everything(store).log[:3]

    def test_counters_are_sums_over_pulls_after_any_traffic(self, store: Store) -> None:
        """And every ``seq`` is one transaction of the log."""
        for seed in range(2):
            Writer(store, f"{seed}").traffic(seed, n_steps=150)
            check_sums(store, f"{seed}")
            found = everything(store, f"{seed}")
            assert {pull.state for pull in found.pulls} == {"pending", "rewarded", "expired"}
            transactions = dict.fromkeys(entry.seq for entry in found.log)
            assert list(transactions) == list(range(1, found.snapshot.seq + 1))
