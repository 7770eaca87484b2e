"""Rows of a database as records and columns, made when they are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imabo.arms import Tally
from imabo.space import Config
from imabo.stores.base import ArmRecord
from imabo.stores.rows import ArmRows, PullCounts


def row(arm: int, n_pulls: int = 3, config: str = '{"x":0.5,"y":null}') -> tuple[Any, ...]:
    """An arm as a database has it."""
    own = (arm, config, "oracle", "active", None, arm - 1 or None, "x", 9.0 + arm)
    return (*own, n_pulls, 2, 1, 1.5, 1.25, 1, 0.5, None)


RECORD = ArmRecord(
    id=2,
    config={"x": 0.5, "y": None},
    origin="oracle",
    state="active",
    retired_from=None,
    parent=1,
    mutated="x",
    admitted_at=11.0,
    tally=Tally(3, 2, 1, 1.5, 1.25, 1, 0.5),
)


class TestArmRows:
    def test_a_record_has_all_columns(self) -> None:
        arms = ArmRows([row(1), row(2)])
        assert arms[1] == arms[-1] == RECORD
        assert arms[1] is arms[1]
        assert list(arms)[1] is arms[1]
        assert list(arms[1:]) == [RECORD]

    @pytest.mark.parametrize("looked_at", [(), (1,), (0, 1)])
    def test_they_equal_a_list_of_the_same_records(self, looked_at: tuple[int, ...]) -> None:
        arms = ArmRows([row(1), row(2)])
        for place in looked_at:
            assert arms[place].id == place + 1
        assert arms == [arms[0], RECORD]
        assert arms == ArmRows([row(1), row(2)])
        assert arms != [RECORD]
        assert arms != ArmRows([row(1), row(2, n_pulls=4)])
        assert ArmRows([]) == []

    def test_columns_and_configurations_are_those_of_the_records(self) -> None:
        arms = ArmRows([row(1), row(2, 7, '{"x":1}')])
        assert arms.column("n_pulls") == [3, 7]
        assert arms.column("parent") == [None, 1]
        assert arms.configs() == [record.config for record in arms]
        assert ArmRows([]).configs() == []

    def test_known_configurations_are_not_read_again_and_records_have_their_own(self) -> None:
        known: dict[int, Config] = {2: {"x": 0.75}}
        arms = ArmRows([row(1), row(2, config="not JSON")], known)
        assert arms.configs()[1] is known[2]
        assert arms[1].config == list(arms)[1].config == known[2]
        assert arms[1].config is not known[2]

    def test_newer_rows_take_the_place_of_older_ones(self) -> None:
        arms = ArmRows([row(1), row(3)]).updated(ArmRows([row(2), row(3, n_pulls=9)]), {})
        assert arms.column("id") == [1, 2, 3]
        assert arms.column("n_pulls") == [3, 3, 9]
        assert ArmRows([]).updated(arms, {}) == arms


class TestPullCounts:
    @pytest.mark.parametrize("numbers", [(), (0,), (3, 0, 12_345_678_901), tuple(range(2000))])
    def test_they_are_a_tuple_of_the_numbers(self, numbers: tuple[int, ...]) -> None:
        text = "[" + ",".join(map(str, numbers)) + "]"
        counts = PullCounts(text)
        assert counts == numbers
        assert numbers == counts
        assert hash(counts) == hash(numbers)
        assert repr(counts) == repr(numbers)
        assert counts[:2] == numbers[:2]
        assert [type(number) for number in counts] == [int] * len(numbers)
        assert counts != (*numbers, 1)
        assert counts == PullCounts(text)

    def test_an_array_of_them_cannot_change_them(self) -> None:
        counts = PullCounts("[3,1]")
        assert np.asarray(counts).dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(counts)[0] = 5
        assert np.asarray(counts, dtype=np.float64).tolist() == [3.0, 1.0]
        assert type(counts[0]) is int
