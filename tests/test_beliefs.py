"""Beliefs in the active set: columns that follow the arms, a document that keeps every digit."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from imabo import Float, Space
from imabo.arms import ActiveSet, Beliefs
from imabo.errors import InvalidSetting

MEANS, COUNTS = [0.1 + 0.2, -0.0, 5e-324], [0.0, 1 / 3, 1e300]
STATE: dict[str, Any] = {"scales": [0.1 + 0.2, -1e-300], "rounds": 3, "name": None}


def three_arms(*numbers: int) -> ActiveSet:
    arms = ActiveSet(Space(x=Float(0.0, 1.0)))
    for number in numbers or (1, 2, 3):
        arms.admit(number, {"x": number / 64})
    return arms


def test_without_a_model_nothing_is_believed() -> None:
    arms = three_arms()
    assert arms.prior_means.tolist() == arms.prior_counts.tolist() == [0.0, 0.0, 0.0]
    assert arms.model_state is None


def test_beliefs_are_shown_in_read_only_columns_and_as_a_document() -> None:
    arms = three_arms()
    document = arms.put_beliefs(Beliefs(np.array(MEANS), np.array(COUNTS), STATE))
    assert document == {
        "arms": [1, 2, 3],
        "means": MEANS,
        "counts": COUNTS,
        "state": STATE,
        "skill": 1.0,
        "rewards": 0,
    }
    assert (arms.prior_means.tolist(), arms.prior_counts.tolist()) == (MEANS, COUNTS)
    assert arms.model_state == STATE
    for column in (arms.prior_means, arms.prior_counts):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1.0


def test_a_document_survives_json_bit_by_bit() -> None:
    arms, again = three_arms(), three_arms()
    document = arms.put_beliefs(Beliefs(np.array(MEANS), np.array(COUNTS), STATE))
    again.load_beliefs(json.loads(json.dumps(document, allow_nan=False)))
    assert again.prior_means.tobytes() == np.array(MEANS).tobytes()
    assert again.prior_counts.tobytes() == np.array(COUNTS).tobytes()
    assert repr(again.model_state) == repr(arms.model_state)


def test_a_document_goes_by_the_ids_of_arms() -> None:
    document = three_arms(1, 2, 3).put_beliefs(Beliefs(np.array(MEANS), np.array(COUNTS), {}))
    other = three_arms(9, 3, 1)
    other.put_beliefs(Beliefs(np.ones(3), np.ones(3), STATE))
    other.load_beliefs(document)
    assert other.prior_means.tolist() == [0.0, MEANS[2], MEANS[0]]
    assert other.prior_counts.tolist() == [0.0, COUNTS[2], COUNTS[0]]
    assert other.model_state == {}


def test_columns_keep_the_beliefs_when_they_grow() -> None:
    arms = three_arms()
    arms.put_beliefs(Beliefs(np.array(MEANS), np.array(COUNTS), {}))
    for number in range(4, 40):
        arms.admit(number, {"x": number / 64})
    assert arms.prior_means.tolist() == MEANS + [0.0] * 36
    assert arms.prior_counts.tolist() == COUNTS + [0.0] * 36


def test_what_is_done_to_the_state_later_reaches_neither_view_nor_document() -> None:
    state: dict[str, Any] = {"scales": [1.0]}
    arms = three_arms()
    document = arms.put_beliefs(Beliefs(np.zeros(3), np.zeros(3), state))
    state["scales"].append(2.0)
    assert arms.model_state is not None
    arms.model_state["scales"].append(3.0)
    assert document["state"] == {"scales": [1.0]}


def test_the_live_state_is_the_one_that_a_store_gives_back() -> None:
    arms = three_arms()
    document = arms.put_beliefs(Beliefs(np.zeros(3), np.zeros(3), {"ends": (0.0, 1.0)}))
    assert arms.model_state == document["state"] == {"ends": [0.0, 1.0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"means": np.zeros(2)}, r"means has the shape \(2,\).*3 arms"),
        ({"counts": np.zeros(4)}, r"counts has the shape \(4,\)"),
        ({"means": np.zeros((3, 1))}, r"shape \(3, 1\)"),
        ({"means": np.array([0.0, math.nan, 0.0])}, "means has the value nan.*finite"),
        ({"counts": np.array([0.0, 0.0, math.inf])}, "counts has the value inf"),
        ({"counts": np.array([0.0, -0.25, 0.0])}, "value -0.25.*at least 0"),
        ({"means": ["much", "less", "more"]}, "means is .*numbers"),
        ({"means": None}, "means"),
        ({"state": {"scales": np.zeros(2)}}, "state is .*JSON-safe"),
        ({"state": {"noise": math.nan}}, "state is .*JSON-safe"),
        ({"state": None}, "state is None"),
    ],
)
def test_beliefs_that_cannot_be_kept_are_refused_whole(
    change: dict[str, Any], message: str
) -> None:
    arms = three_arms()
    arms.put_beliefs(Beliefs(np.array(MEANS), np.array(COUNTS), STATE))
    wrong: dict[str, Any] = {"means": np.ones(3), "counts": np.ones(3), "state": {}}
    with pytest.raises(InvalidSetting, match=message):
        arms.put_beliefs(Beliefs(**wrong | change))
    assert (arms.prior_means.tolist(), arms.prior_counts.tolist()) == (MEANS, COUNTS)
    assert arms.model_state == STATE


def test_beliefs_are_equal_when_all_their_numbers_are() -> None:
    beliefs = Beliefs(np.array(MEANS), np.array(COUNTS), STATE)
    assert beliefs == Beliefs(np.array(MEANS), np.array(COUNTS), dict(STATE))
    assert beliefs != Beliefs(np.array(MEANS), np.array(MEANS), STATE)
    assert beliefs != Beliefs(np.array(MEANS), np.array(COUNTS), {})
    assert beliefs != "beliefs"
