"""Memory: what rewards still say of now, and a document that keeps every digit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from imabo.memory import Memory

ARRAYS = (*("counts", "sums", "base", "base_sums", "left", "left_sums", "doubted_at", "shifts"),)
NUMBERS = ("level", "dispersion", "strength")


def started(n_rows: int, **settings: Any) -> Memory:
    usual: dict[str, Any] = {
        "level": 0.5,
        "dispersion": 1.0,
        "strength": 2.0,
        "is_bounded": True,
    }
    return Memory.start(n_rows, **usual | settings)


def remembering(*moments: Sequence[tuple[float, float]], **settings: Any) -> Memory:
    """Each moment has a pair for every arm: how many rewards it had, and their sum."""
    memory = started(len(moments[0]), **settings)
    for pairs in moments:
        counts, sums = np.array(pairs).T
        memory = memory.with_moment(int(counts.sum()), counts, sums)
    return memory


def same(one: Memory, other: Memory) -> None:
    """To the last bit."""
    for name in ARRAYS:
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    for name in (*NUMBERS, "moments", "is_bounded", "since"):
        assert getattr(one, name) == getattr(other, name), name


class TestOwn:
    def test_without_a_moment_all_rewards_count(self) -> None:
        assert started(2).own(1, 7.0, 3.0) == (7.0, 3.0)

    def test_an_arm_that_came_later_has_nothing_to_forget(self) -> None:
        memory = remembering([(20.0, 20.0)])
        assert memory.own(1, 30.0, 1.0) == (30.0, 1.0)

    def test_rewards_before_the_first_moment_only_leave_nothing_to_compare(self) -> None:
        assert remembering([(20.0, 12.0)]).own(0, 20.0, 12.0) == (20.0, 12.0)

    @pytest.mark.parametrize("is_bounded", [True, False])
    def test_rewards_that_go_on_alike_keep_nearly_all_their_weight(self, is_bounded: bool) -> None:
        memory = remembering(
            [(20.0, 14.0)], [(60.0, 42.0)], level=0.6, dispersion=0.21, is_bounded=is_bounded
        )
        n, total = memory.own(0, 100.0, 70.0)
        assert 0.97 * 100.0 < n <= 100.0
        assert total / n == pytest.approx(0.7, abs=0.01)

    @pytest.mark.parametrize("seed", range(20))
    def test_all_rows_at_once_are_each_row_by_itself(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        counts = np.cumsum(rng.integers(0, 4, (5, 12)) * (rng.random(12) < 0.7), axis=0)
        sums = np.cumsum(rng.random((5, 12)) * np.diff(counts, axis=0, prepend=0), axis=0)
        memory = remembering(
            *(list(zip(*pair, strict=True)) for pair in zip(counts[:4], sums[:4], strict=True))
        )
        if seed % 2:  # after a change that was noticed
            left = np.minimum(counts[0], 0.3)
            rest = {"base": counts[0].astype(float), "base_sums": sums[0]}
            memory = replace(memory, **rest, left=left, left_sums=0.4 * left)
        n, totals = np.append(counts[4], [3.0, 0.0]), np.append(sums[4], [2.0, 0.0])
        each = [
            memory.own(row, n.item(row), totals.item(row)) if n[row] else (0.0, 0.0)
            for row in range(14)
        ]
        assert_array_equal(np.transpose(memory.own_of_all(n, totals)), each)

    def test_old_rewards_that_later_ones_contradict_lose_their_weight(self) -> None:
        memory = remembering([(40.0, 36.0)], [(80.0, 72.0)])
        n, total = memory.own(0, 110.0, 75.0)  # 3 of the last 30, after 9 of every 10
        assert n == pytest.approx(30.0, abs=1.0)
        assert total / n == pytest.approx(0.1, abs=0.02)

    def test_the_more_contradict_the_less_is_left(self) -> None:
        memory = remembering([(40.0, 36.0)])
        kept = [memory.own(0, 40.0 + more, 36.0)[0] - more for more in range(1, 20)]
        assert all(later < earlier for earlier, later in pairwise(kept))
        assert kept[0] > 35.0
        assert kept[-1] < 0.5

    def test_an_arm_that_is_contradicted_says_nothing_of_another(self) -> None:
        memory = remembering([(40.0, 36.0), (40.0, 20.0)])
        assert memory.own(0, 60.0, 36.0)[0] < 21.0
        assert memory.own(1, 60.0, 30.0)[0] > 57.0

    def test_rewards_without_a_range(self) -> None:
        memory = remembering([(40.0, 4000.0)], level=90.0, dispersion=25.0, is_bounded=False)
        n, total = memory.own(0, 60.0, 4000.0 + 20 * 70.0)
        assert n == pytest.approx(20.0, abs=0.1)
        assert total / n == pytest.approx(70.0, abs=0.5)
        n, total = memory.own(0, 60.0, 6000.0)
        assert n > 57.0
        assert total / n == pytest.approx(100.0)

    def test_what_was_forgotten_counts_for_what_is_left(self) -> None:
        memory = remembering([(40.0, 36.0)])
        forgotten = Memory(
            **{name: getattr(memory, name) for name in ("moments", "counts", "sums", *NUMBERS)},
            base=np.array([40.0]),
            base_sums=np.array([36.0]),
            left=np.array([0.25]),
            left_sums=np.array([0.125]),
            doubted_at=np.zeros(1),
            shifts=np.zeros(1),
            is_bounded=True,
        )
        assert forgotten.own(0, 40.0, 36.0) == (0.25, 0.125)
        n, total = forgotten.own(0, 50.0, 41.0)
        assert 10.0 < n <= 10.25
        assert total / n == pytest.approx(0.5)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    """Rewards of one arm in [0, 1], and the moments between them."""
    values = st.sampled_from([0.0, 1.0, 0.5, 1 / 3, 1e-300]) | st.floats(0.0, 1.0)
    rewards = draw(st.lists(values, min_size=1, max_size=60))
    places = draw(st.lists(st.integers(0, len(rewards)), max_size=6, unique=True))
    return rewards, sorted(places)


@given(
    histories(),
    st.floats(0.0, 1.0),
    st.floats(0.1, 1.0),
    st.floats(2.0, 60.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.booleans(),
    st.none() | st.floats(-9.0, 0.0),
)
def test_what_is_kept_is_some_of_the_rewards(
    history: tuple[list[float], list[int]],
    level: float,
    dispersion: float,
    strength: float,
    left: float,
    mean: float,
    forgets: bool,
    shift: float | None,
) -> None:
    rewards, places = history
    memory = started(1, level=level, dispersion=dispersion, strength=strength)
    for place in places:
        counts, sums = np.array([float(place)]), np.array([float(sum(rewards[:place]))])
        memory = memory.with_moment(100 * place, counts, sums)
    n, most = float(len(rewards)), float(len(rewards))
    if forgets and memory.moments:
        base, base_sums = memory.counts[0], memory.sums[0]
        left = min(2.0 * left, float(base[0]))
        document = memory.document([1]) | {
            "base": base.tolist(),
            "base_sums": base_sums.tolist(),
            "left": [left],
            "left_sums": [left * mean],
        }
        memory = Memory.from_document(document, {1: 0}, True)
        most += left - float(base[0])
        if not most:
            return
    if shift is not None and memory.moments:
        doubts = {"doubted_at": [float(memory.moments[-1])], "shifts": [shift]}
        memory = Memory.from_document(memory.document([1]) | doubts, {1: 0}, True)
    kept, total = memory.own(0, n, float(sum(rewards)))
    assert 0.0 < kept <= most
    assert -1e-9 * n <= total <= kept + 1e-9 * n


class TestMoments:
    def test_they_are_due_at_sixteen_rewards_and_then_with_a_thirty_second_more(self) -> None:
        memory = started(1)
        assert [n >= memory.due_at for n in (0, 15, 16, 100)] == [False, False, True, True]
        memory = remembering([(16.0, 8.0)])
        assert [n >= memory.due_at for n in (16, 31, 32)] == [False, False, True]
        memory = remembering([(6400.0, 8.0)])
        assert [n >= memory.due_at for n in (6605, 6606)] == [False, True]

    def test_few_are_kept_and_they_reach_far_back(self) -> None:
        memory, n = started(1), 0
        most = 0
        while n < 1_000_000:
            n = max(n + 16, n * 32 // 31 - 1)
            while n < memory.due_at:
                n += 1
            counts = np.array([float(n)])
            memory = memory.with_moment(n, counts, 0.25 * counts)
            most = max(most, len(memory.moments))
            assert list(memory.moments) == sorted(set(memory.moments))
            assert_array_equal(memory.counts[:, 0], memory.moments)
            assert_array_equal(memory.sums[:, 0], 0.25 * memory.counts[:, 0])
            assert memory.moments[-1] == n
            assert memory.moments[0] == 16
            ages = [n - moment for moment in memory.moments if n - moment > 1000]
            assert all(a < 4 * b for a, b in pairwise(ages))
        assert 5 <= most <= 16

    def test_what_was_counted_for_some_rows_is_not_counted_for_new_ones(self) -> None:
        memory = remembering([(16.0, 8.0)]).with_moment(
            40, np.array([20.0, 20.0]), np.array([9.0, 2.0])
        )
        assert memory.n_rows == 2
        assert memory.counts.tolist() == [[16.0, 0.0], [20.0, 20.0]]
        assert memory.sums.tolist() == [[8.0, 0.0], [9.0, 2.0]]

    def test_widening_adds_rows_of_zeros_and_changes_nothing_else(self) -> None:
        memory = remembering([(40.0, 36.0), (8.0, 4.0)])
        wide = memory.widened(5)
        assert wide.n_rows == 5
        for name in ARRAYS:
            array = getattr(wide, name)
            assert_array_equal(array[..., :2], getattr(memory, name))
            assert not array[..., 2:].any()
        assert wide.own(0, 60.0, 36.0) == memory.own(0, 60.0, 36.0)
        assert wide.own(4, 60.0, 36.0) == (60.0, 36.0)
        same(memory.widened(2), memory)


class TestDocument:
    ROWS: ClassVar[dict[int, int]] = {7: 0, 3: 1, 9: 2}

    def memory(self) -> Memory:
        """With digits that are easily lost."""
        settings = {"level": 0.1 + 0.2, "dispersion": 1 / 3, "strength": 2.0 + 1e-15}
        memory = remembering(
            [(16.0, 0.1), (0.0, 0.0), (3.0, 1 / 3)],
            [(20.0, 0.7), (40.0, 1e-300), (3.0, 1 / 3)],
            **settings,
        )
        since: dict[str, float] = {"n_pulls": 70, "n_rewards": 63, "n_pending": 2, "n_arms": 3}
        since |= {"noticed": 63, "at": 1e9 + 1 / 3}
        document = memory.document([7, 3, 9]) | {
            "base": [16.0, 0.0, 3.0],
            "base_sums": [0.1, 0.0, 1 / 3],
            "left": [0.3, 0.0, 0.3],
            "left_sums": [0.1 / 7, 0.0, 0.1],
            "doubted_at": [0.0, 63.0, 0.0],
            "shifts": [0.0, -1 / 3, 0.0],
            "since": since,
        }
        return Memory.from_document(document, self.ROWS, True)

    def test_it_comes_back_bit_by_bit(self) -> None:
        memory = self.memory()
        document = json.loads(json.dumps(memory.document([7, 3, 9]), allow_nan=False))
        again = Memory.from_document(document, self.ROWS, True)
        same(again, memory)
        for row, (n, total) in enumerate([(30.0, 8.0), (50.0, 9.0), (4.0, 1.0)]):
            assert again.own(row, n, total) == memory.own(row, n, total)

    def test_a_memory_without_a_moment_or_an_arm_comes_back(self) -> None:
        for memory in (started(0), started(3)):
            document = memory.document([7, 3, 9])
            same(Memory.from_document(document, self.ROWS, True), memory)

    def test_it_goes_by_the_ids_of_arms(self) -> None:
        memory = self.memory()
        document = memory.document([7, 3, 9])
        moved = Memory.from_document(document, {9: 0, 7: 1, 3: 2}, True)
        for name in ARRAYS:
            assert_array_equal(getattr(moved, name), getattr(memory, name)[..., [2, 0, 1]])
        assert moved.own(1, 30.0, 8.0) == memory.own(0, 30.0, 8.0)

    def test_arms_that_are_gone_are_left_out_and_new_ones_have_nothing(self) -> None:
        memory = self.memory()
        document = memory.document([7, 3, 9])
        other = Memory.from_document(document, {3: 0, 8: 1, 7: 3}, True)
        assert other.moments == memory.moments
        assert other.n_rows == 4
        assert other.own(3, 30.0, 8.0) == memory.own(0, 30.0, 8.0)
        assert other.own(0, 50.0, 9.0) == memory.own(1, 50.0, 9.0)
        for row in (1, 2):
            assert other.own(row, 5.0, 2.0) == (5.0, 2.0)

    def test_all_arms_may_be_gone(self) -> None:
        other = Memory.from_document(self.memory().document([7, 3, 9]), {}, True)
        assert other.n_rows == 0
        assert other.counts.shape == (2, 0)
        assert other.own(0, 5.0, 2.0) == (5.0, 2.0)
        assert other.with_moment(99, np.ones(2), np.zeros(2)).counts[-1].tolist() == [1.0, 1.0]

    def test_rows_that_came_since_are_not_part_of_it(self) -> None:
        memory = self.memory()
        assert memory.document([7, 3, 9, 11, 12]) == memory.document([7, 3, 9])
        # Read back where there are more arms by now, it is the same memory.
        rows = self.ROWS | {11: 3, 12: 4}
        again = Memory.from_document(memory.document([7, 3, 9]), rows, True)
        assert again.document([7, 3, 9, 11, 12]) == memory.document([7, 3, 9])


def test_what_is_made_of_a_memory_is_made_once_and_anew_of_another() -> None:
    made: list[int] = []

    def make(arms: str, memory: Memory) -> int:
        made.append(memory.n_rows)
        return len(arms)

    memory = started(2)
    assert [memory.once(make, "abc"), memory.once(make, "abc")] == [3, 3]
    assert memory.widened(5).once(make, "abcde") == 5
    assert made == [2, 5]
