"""The rule of milestones: how wide, when, and which ones go."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from imabo.stores import SQLiteStore
from imabo.stores.rules import is_milestone, is_wider, milestone_width, superfluous
from imabo.testing.stores.facts import Writer


def test_the_width_is_the_smallest_power_of_two_for_128_milestones() -> None:
    width = 8
    for n in range(70_000):
        while n > 128 * width:
            width *= 2
        assert milestone_width(n) == width


@pytest.mark.parametrize("n", [128 * 2**40, 128 * 2**40 + 1, 2**62, 10**18])
def test_the_width_is_exact_for_numbers_that_a_float_rounds(n: int) -> None:
    width = milestone_width(n)
    assert width.bit_count() == 1
    assert 64 * width < n <= 128 * width


def test_serving_one_by_one_keeps_between_64_and_128_from_the_width_on() -> None:
    kept: list[int] = []
    for n in range(1, 40_000):
        if is_milestone(n - 1, n):
            kept.append(n)
            if is_wider(n - 1, n):
                gone = set(superfluous(kept))
                assert gone
                kept = [number for number in kept if number not in gone]
        if kept:
            width = milestone_width(kept[-1])
            assert kept == list(range(width, kept[-1] + 1, width))
            assert n - kept[-1] < milestone_width(n)
        assert len(kept) <= 128
        assert len(kept) >= 64 or n < 8 * 64


def test_no_milestone_goes_while_the_width_stays() -> None:
    wider = [n for n in range(1, 40_000) if is_milestone(n - 1, n) and is_wider(n - 1, n)]
    # The first multiple of each width that the width before had no room for.
    assert wider == [65 * width for width in (16, 32, 64, 128, 256, 512)]


def test_a_leap_leaves_the_first_milestone_after_each_multiple() -> None:
    assert superfluous([]) == []
    assert superfluous([8, 16, 1030, 1035, 1040]) == [8, 1035]
    assert superfluous([8, 16, 24, 1_000_000]) == [8, 16, 24]


def test_a_serve_that_reaches_no_milestone_writes_the_same_as_before(path: str) -> None:
    with closing(SQLiteStore(path)) as store:
        writer = Writer(store)
        writer.serve(*[1] * 8)
        with closing(sqlite3.connect(path)) as db:
            # Were the table as much as named, these serves would fail.
            db.execute("ALTER TABLE milestones RENAME TO elsewhere")
        for _ in range(7):
            writer.serve(1)
        with closing(sqlite3.connect(path)) as db:
            db.execute("ALTER TABLE elsewhere RENAME TO milestones")
        writer.serve(1)
        assert [milestone.n_pulls for milestone in store.milestones("study")] == [8, 16]
