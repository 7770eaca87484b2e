"""Reading questions: both layouts of HotpotQA, where they are found, and our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from imabo.errors import MissingData
from imabo_rag.prompts import STYLES, messages
from imabo_rag.questions import Passage, Question, find_questions, load_hotpotqa, own_questions

HUB = {
    "question": "Who brewed it?",
    "answer": "Ada",
    "supporting_facts": {"title": ["Tea", "Ada"], "sent_id": [0, 1]},
    "context": {
        "title": ["Tea", "Ada", "Cup"],
        "sentences": [["Tea is hot.", " It is old."], ["Ada brews."], ["", "A cup."]],
    },
}
AUTHORS = HUB | {
    "_id": "5a8b",
    "supporting_facts": [["Tea", 0], ["Ada", 1]],
    "context": [
        ["Tea", ["Tea is hot.", " It is old."]],
        ["Ada", ["Ada brews."]],
        ["Cup", ["A cup."]],
    ],
}


def written(folder: Path, records: list[dict[str, Any]]) -> Path:
    place = folder / "questions.json"
    place.write_text(json.dumps(records), encoding="utf-8")
    return place


@pytest.mark.parametrize("record", [HUB, AUTHORS], ids=["hub", "authors"])
def test_both_layouts_of_the_file_give_the_same(record: dict[str, Any], tmp_path: Path) -> None:
    read = load_hotpotqa(written(tmp_path, [record, record]), count=2)
    assert read.questions == (Question("Who brewed it?", "Ada", frozenset({"Tea", "Ada"})),) * 2
    assert read.passages == (  # those of both questions, each once
        Passage("Tea", ("Tea is hot.", "It is old.")),
        Passage("Ada", ("Ada brews.",)),
        Passage("Cup", ("A cup.",)),
    )


def test_the_variable_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMABO_HOTPOTQA", str(written(tmp_path, [HUB])))
    assert find_questions().questions[0].answer == "Ada"


def test_our_own_questions_are_asked_where_there_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IMABO_HOTPOTQA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert find_questions() == own_questions()


@pytest.mark.parametrize("text", ["not JSON", '[{"question": "Who?"}]', "7", "[]"])
def test_a_file_that_is_something_else_is_refused(text: str, tmp_path: Path) -> None:
    place = tmp_path / "wrong.json"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(MissingData, match=r"wrong\.json"):
        load_hotpotqa(place)
    with pytest.raises(MissingData, match=r"nowhere\.json"):
        find_questions(tmp_path / "nowhere.json")


def test_our_own_questions_can_be_answered_from_our_own_passages() -> None:
    own = own_questions()
    by_title = {passage.title: passage.text.lower() for passage in own.passages}
    assert len(own.passages) > 20
    for question in own.questions:
        assert question.titles <= by_title.keys()
        if question.answer not in ("yes", "no"):
            text = " ".join(by_title[title] for title in question.titles)
            assert question.answer.lower() in text


def test_the_three_styles_differ_in_what_the_model_is_told_and_not_in_what_it_is_asked() -> None:
    chats = [messages(style, "Is it hot?", own_questions().passages[:2]) for style in STYLES]
    assert len({str(chat[:-1]) for chat in chats}) == 3
    assert len({chat[-1]["content"] for chat in chats}) == 1
    few, zero, naive = (STYLES[style] for style in ("few_shot", "zero_shot", "naive"))
    assert few[:1] == zero
    assert [turn["role"] for turn in few[1:]] == ["user", "assistant"] * 3
    assert "\n" not in naive[0]["content"]
