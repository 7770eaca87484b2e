"""The part of the contract about a study's past: milestones, and the changes by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, cycle, islice, pairwise

import pytest

from imabo.arms import Restart
from imabo.errors import StoreError, UnknownStudy
from imabo.stores.base import Change, Milestone, NewPull, StaleView, Store
from imabo.stores.rules import milestone_width
from imabo.testing.stores.facts import SPACE, Cases, Writer, new_arm


def numbers(milestones: Sequence[Milestone]) -> list[int]:
    """Where milestones are, in pulls."""
    return [milestone.n_pulls for milestone in milestones]


def expected(sizes: Sequence[int]) -> list[int]:
    """Where the milestones of serves of these sizes stay, straight from the rule's words."""
    served = list(accumulate(sizes))
    reached: list[int] = []
    for before, n in zip([0, *served], served, strict=False):
        width = milestone_width(n)
        if any(number % width == 0 for number in range(before + 1, n + 1)):
            reached.append(n)
    if not reached:
        return []
    width = milestone_width(reached[-1])
    multiples = range(width, reached[-1] + 1, width)
    return sorted({min(n for n in reached if n >= multiple) for multiple in multiples})


def serve_sizes(writer: Writer, sizes: Sequence[int]) -> None:
    """Serve batches of these sizes, each of its own time; every other pull gets a reward."""
    for size in sizes:
        at = 1000.0 + writer.n_pulls
        served = writer.serve(*(1 + (writer.n_pulls + i) % 7 for i in range(size)), at=at)
        told = [(number, number % 9 / 8) for number in served if number % 2]
        writer.store.reward_many(writer.name, told, at=at)
        writer.seq = writer.store.seqs()[writer.name]


class HistoryCases(Cases):
    """What a store keeps of the past, and what it says of changes by hand."""

    def test_a_serve_between_two_multiples_keeps_nothing(self, store: Store) -> None:
        """Only the one that passes a multiple does, whatever its size."""
        writer = Writer(store)
        found = []
        for size in (7, 1, 7, 1, 3, 2, 30, 1):
            serve_sizes(writer, [size])
            found.append(numbers(store.milestones("study")))
        assert found[:4] == [[], [8], [8], [8, 16]]
        assert found[4:] == [[8, 16]] * 2 + [[8, 16, 51]] * 2

    def test_a_milestone_has_the_counters_right_after_its_serve(self, store: Store) -> None:
        """Its own pulls and arms included; paused arms count as active, retired ones do not."""
        writer = Writer(store)
        writer.serve(1, 2, 3, 1, at=200.0)
        for number, reward in ((1, 0.5), (2, -0.25), (3, 0.75)):
            writer.reward(number, reward)
        writer.serve(3, at=300.0)
        writer.expire(before=250.0)
        writer.put_state(1, "paused")
        writer.put_state(2, "retired")
        writer.serve(3, 4, 4, 1, at=601.25)
        milestone = Milestone(
            at=601.25,
            n_pulls=9,
            n_rewards=3,
            n_pending=5,
            reward_sum=1.0,
            reward_squares=0.875,
            n_active=3,
            arm_pulls=(3, 1, 3, 2),
        )
        assert store.milestones("study") == [milestone]
        writer.reward(9, 1.0)
        writer.put_state(3, "retired")
        assert store.milestones("study") == [milestone]

    @pytest.mark.parametrize(
        ("n_pulls", "sizes"),
        [
            (1_100, [*[1] * 200, 800, *[1] * 100]),
            (5_000, [3, 1, 40, 7, 16]),
            (5_000, [150, 2]),
            (5_000, [1, 1_100, 5]),
            (5_000, [31]),
        ],
    )
    def test_one_milestone_stays_for_each_multiple_of_the_width(
        self, store: Store, n_pulls: int, sizes: list[int]
    ) -> None:
        """With batches of any size, also beyond the width, and at any time between."""
        writer = Writer(store)
        done: list[int] = []
        for size in islice(cycle(sizes), -(-n_pulls * len(sizes) // sum(sizes))):
            serve_sizes(writer, [size])
            done.append(size)
            if len(done) % 13 == 0:
                found = numbers(store.milestones("study"))
                assert found == expected(done)
                assert len(found) <= 128
        found = numbers(store.milestones("study"))
        assert found == expected(done)
        if max(sizes) < milestone_width(n_pulls):
            assert len(found) >= 64

    def test_differences_of_milestones_add_up_to_the_tallies(self, store: Store) -> None:
        """Of each arm and of the whole study, from the first day to the last."""
        writer = Writer(store)
        serve_sizes(writer, [5, 11, 64, 3] * 14)
        # Ends at a milestone, with new arms.
        writer.serve(*range(8, 20), *[2] * 988, at=1000.0 + writer.n_pulls)
        snapshot, milestones = store.load("study"), store.milestones("study")
        traffic: Counter[int] = Counter()
        for earlier, later in pairwise(milestones):
            assert earlier.n_pulls < later.n_pulls
            assert earlier.at <= later.at
            for arm, n_pulls in enumerate(later.arm_pulls, start=1):
                before = earlier.arm_pulls[arm - 1] if arm <= len(earlier.arm_pulls) else 0
                assert n_pulls >= before
                traffic[arm] += n_pulls - before
        traffic.update(dict(enumerate(milestones[0].arm_pulls, start=1)))
        assert traffic == {arm.id: arm.tally.n_pulls for arm in snapshot.arms}
        assert all(sum(milestone.arm_pulls) == milestone.n_pulls for milestone in milestones)
        last, totals = milestones[-1], snapshot.totals
        assert (last.n_pulls, last.n_rewards) == (totals.n_pulls, totals.n_rewards)
        assert (last.n_pending, last.reward_sum) == (totals.n_pending, totals.reward_sum)
        assert last.reward_squares == sum(arm.tally.reward_squares for arm in snapshot.arms)
        assert last.n_active == len(snapshot.arms)

    def test_milestones_outlive_the_pulls_and_the_store(self, store: Store, writer: Writer) -> None:
        """Pruning leaves them, and so does reopening; they go on from there."""
        serve_sizes(writer, [16] * 75)
        before = store.milestones("study")
        writer.expire(before=1e9)
        assert store.prune("study", before=1e9) == 1200
        assert store.milestones("study") == before
        store = self.reopen(store)
        assert store.milestones("study") == before
        serve_sizes(Writer(store, create=False), [16])
        assert store.milestones("study")[:-1] == before
        store.close()

    def test_a_deleted_study_takes_its_milestones_along(self, store: Store) -> None:
        """A new one of its name has its own."""
        serve_sizes(Writer(store), [20])
        other = Writer(store, "other")
        serve_sizes(other, [30])
        store.delete("study")
        with pytest.raises(UnknownStudy):
            store.milestones("study")
        again = Writer(store)
        assert store.milestones("study") == []
        serve_sizes(again, [9])
        assert numbers(store.milestones("study")) == [9]
        assert numbers(store.milestones("other")) == [30]

    def test_studies_have_milestones_of_their_own(self, store: Store) -> None:
        """However their serves alternate; one study's thinning leaves the other's."""
        fast, slow = Writer(store, "fast"), Writer(store, "slow")
        for _ in range(110):
            serve_sizes(fast, [20])
            serve_sizes(slow, [8])
        assert numbers(store.milestones("fast")) == expected([20] * 110)
        assert numbers(store.milestones("slow")) == expected([8] * 110)
        assert {len(milestone.arm_pulls) for milestone in store.milestones("slow")} == {7}

    def test_a_refused_serve_keeps_no_milestone(self, store: Store, writer: Writer) -> None:
        """Neither one from an old view nor one that names an arm which is not there."""
        writer.serve(*[1] * 7)
        with pytest.raises(StaleView):
            store.serve("study", seq=writer.seq - 1, at=300.0, pulls=[NewPull(8, 1, "index")])
        with pytest.raises(StoreError):
            store.serve("study", seq=writer.seq, at=300.0, pulls=[NewPull(8, 5, "index")])
        assert store.milestones("study") == []
        writer.serve(1)
        assert numbers(store.milestones("study")) == [8]

    def test_a_turn_keeps_milestones_too(self, store: Store, writer: Writer) -> None:
        """When it ends; with new arms, marks and beliefs as without."""
        with store.turn("study"):
            writer.serve(*[1] * 8)
        with store.turn("study"):
            writer.serve(2, *[1] * 7, mark_at=8, beliefs={"a": 1})
        with store.turn("study"), pytest.raises(StaleView):
            store.serve("study", seq=0, at=300.0, pulls=[NewPull(n, 1, "") for n in range(17, 30)])
        found = [(m.n_pulls, m.arm_pulls) for m in store.milestones("study")]
        assert found == [(8, (8,)), (16, (15, 1))]

    def test_first_rewards_are_those_of_the_pulls_that_admitted_arms(
        self, store: Store, writer: Writer
    ) -> None:
        """Not those of later pulls, nor of arms that came in by hand, nor what has not come."""
        writer.serve(1, 2, reason="warmup")
        writer.serve(3, reason="expand")
        writer.serve(4, reason="prepared")
        writer.serve(5, reason="index")  # as an arm is that was added by hand
        writer.serve(1, 2, 3, reason="waiting")
        arms = list(range(1, 7))
        assert store.first_rewards("study", arms) == {}
        for number, reward in ((1, 0.0), (4, 0.75), (5, 1.0), (6, 0.5), (7, 0.25)):
            writer.reward(number, reward)
        assert store.first_rewards("study", arms) == {1: 0.0, 4: 0.75}
        assert store.first_rewards("study", [4, 2, 4]) == {4: 0.75}
        assert store.first_rewards("study", []) == {}
        writer.expire(before=1e9)
        writer.reward(2, -0.5)  # late, and it counts
        assert store.first_rewards("study", [2, 99]) == {2: -0.5}

    def test_first_rewards_go_with_their_pulls_and_studies(self, store: Store) -> None:
        """Each study has its own; what is pruned is left out, and so is what is deleted."""
        one, two = Writer(store, "one"), Writer(store, "two")
        for writer, reward in ((one, 0.25), (two, 0.5)):
            writer.serve(1, at=200.0, reason="warmup")
            writer.serve(2, at=900.0, reason="expand")
            writer.reward(1, reward)
            writer.reward(2, 1.0)
        assert store.first_rewards("one", [1, 2]) == {1: 0.25, 2: 1.0}
        store.prune("one", before=500.0)
        assert store.first_rewards("one", [1, 2]) == {2: 1.0}
        assert store.first_rewards("two", [1, 2]) == {1: 0.5, 2: 1.0}
        store.delete("two")
        with pytest.raises(UnknownStudy):
            store.first_rewards("two", [1])

    def test_a_study_that_does_not_exist_has_no_past(self, store: Store) -> None:
        """Neither milestones nor changes."""
        with pytest.raises(UnknownStudy):
            store.milestones("nowhere")
        with pytest.raises(UnknownStudy):
            store.changes("nowhere")

    def test_changes_are_those_of_the_log(self, store: Store, writer: Writer) -> None:
        """In its order, without asks, rewards and expiries; with a limit, the newest of them."""
        assert store.changes("study") == []
        writer.serve(1, 2, at=200.0)
        writer.put_state(1, "paused")
        writer.reward(1, 0.5)
        writer.expire(before=300.0)
        added = Change("arm", {"arm": 3}, arms=[new_arm(3)])
        writer.seq = store.change("study", added, seq=writer.seq, at=510.0)
        writer.refresh()
        space = Change("space", {"version": 2}, space=SPACE, restart=Restart(2, 1, 0, 3))
        writer.seq = store.change("study", space, seq=writer.seq, at=520.25)
        writer.serve(3)
        found = store.changes("study")
        assert [(entry.kind, entry.at) for entry in found] == [
            ("state", 500.0),
            ("arm", 510.0),
            ("space", 520.25),
        ]
        kinds = {"state", "arm", "space"}
        assert found == [entry for entry in store.log("study") if entry.kind in kinds]
        assert [store.changes("study", limit=n) for n in (0, 1, 2, 9)] == [
            [],
            found[2:],
            found[1:],
            found,
        ]
