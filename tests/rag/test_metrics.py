"""The metrics against cases worked out by hand."""

from __future__ import annotations

import pytest

from imabo_rag.metrics import answer_f1, retrieval_f1, reward, tokens


@pytest.mark.parametrize(
    ("given", "right", "wanted"),
    [
        ("Paris", "Paris", 1.0),
        ("the PARIS!", "paris", 1.0),  # case, punctuation and articles do not count
        ("Paris", "London", 0.0),
        ("", "Paris", 0.0),
        ("the", "a", 1.0),  # nothing is left of either
        ("It is Paris, France", "Paris", 2 / 5),  # 1 shared; precision 1/4, recall 1
        ("New York City", "New York", 4 / 5),  # 2 shared; precision 2/3, recall 1
        ("yes yes", "yes", 2 / 3),  # a word counts as often as both have it
        ("no no maybe", "no no", 4 / 5),
        ("Beyoncé", "beyoncé", 1.0),
        ("3,677 seated", "3,677", 2 / 3),
    ],
)
def test_the_f1_of_an_answer_is_the_one_worked_out_by_hand(
    given: str, right: str, wanted: float
) -> None:
    assert answer_f1(given, right) == pytest.approx(wanted)
    assert answer_f1(right, given) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("found", "right", "wanted"),
    [
        (["A", "B"], ["A", "B"], 1.0),
        (["A", "C"], ["A", "B"], 1 / 2),
        (["A"], ["A", "B"], 2 / 3),  # precision 1, recall 1/2
        (list("ABCDEFGHIJ"), ["A", "B"], 1 / 3),  # precision 1/5, recall 1
        (["A", "A", "B"], ["A"], 2 / 3),  # a title counts once, however often it was found
        (["C"], ["A"], 0.0),
        ([], ["A"], 0.0),
    ],
)
def test_the_f1_of_a_retrieval_is_the_one_worked_out_by_hand(
    found: list[str], right: list[str], wanted: float
) -> None:
    assert retrieval_f1(found, right) == pytest.approx(wanted)


def test_the_reward_weighs_the_answer_four_times_the_retrieval() -> None:
    assert reward(1.0, 0.0) == pytest.approx(0.8)
    assert reward(0.0, 1.0) == pytest.approx(0.2)
    assert reward(2 / 5, 2 / 3) == pytest.approx(0.32 + 0.4 / 3)
    assert reward(1.0, 1.0) == 1.0


def test_articles_inside_words_stay() -> None:
    assert tokens("An anthem of the Andes") == ["anthem", "of", "andes"]
