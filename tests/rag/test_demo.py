"""The demonstration: its stream, its summary, and the whole of it without an LLM."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import pytest

import imabo_rag
from imabo import Space, Study
from imabo.recommend import Best
from imabo_bench.methods.base import Served
from imabo_rag import Cache, Pipeline, own_questions, rag_space
from imabo_rag.commands import main
from imabo_rag.pipeline import Answer
from imabo_rag.stream import Chooser, Round, at_random, endless, hier_mab, play
from imabo_rag.telling import summary
from tests.rag.weights import needs_weights

OWN = own_questions()
FOLDER = str(Path(imabo_rag.__file__).parents[1])
BEST = Best(1, {"model": "extractive", "top_k": 2}, 0.5, (0.4, 0.6), 0.95, 30)


def rounds_of(rewards: Sequence[float], error: str | None = None) -> list[Round]:
    answers = [Answer("", (), 0.0, 0.0, reward, error) for reward in rewards]
    return [Round(n, OWN.questions[0], {}, answer) for n, answer in enumerate(answers, 1)]


class Noting:
    """Serves one configuration and writes down the order of what happens."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def ask(self) -> Served | None:
        self.notes.append("ask")
        return Served(str(len(self.notes)), {"model": "extractive", "top_k": 1})

    def tell(self, key: str, reward: float) -> None:
        self.notes.append(f"tell {key}")


def test_every_chooser_meets_the_same_questions_in_the_same_order() -> None:
    first, again = (list(islice(endless(OWN.questions, 5), 30)) for _ in range(2))
    assert first == again
    assert first != list(islice(endless(OWN.questions, 6), 30))
    assert set(first[:12]) == set(first[12:24]) == set(OWN.questions)
    assert first[:12] != first[12:24]


@needs_weights
def test_a_round_is_told_before_the_next_is_asked_and_none_starts_late() -> None:
    with Cache(":memory:") as cache:
        pipeline = Pipeline(OWN.passages, cache)
        chooser = Noting()
        played = play(chooser, pipeline, endless(OWN.questions, 0), rounds=3)
        late = play(
            Noting(), pipeline, endless(OWN.questions, 0), rounds=3, ends_at=time.monotonic()
        )
    assert chooser.notes == ["ask", "tell 1", "ask", "tell 3", "ask", "tell 5"]
    assert [one.n for one in played] == [1, 2, 3]
    assert late == []


@pytest.mark.parametrize("make", [hier_mab, at_random], ids=["hier_mab", "random"])
def test_the_others_choose_from_the_same_conditional_space(
    make: Callable[[Space, int], Chooser],
) -> None:
    space = rag_space(["one"])
    chooser = make(space, 3)
    seen = []
    for n in range(120):
        served = chooser.ask()
        assert served is not None
        space.validate(served.config)
        chooser.tell(served.key, 0.5 + n % 2 / 10)
        seen.append(served.config)
    temperatures = {one["temperature"] for one in seen if "temperature" in one}
    assert {one["model"] for one in seen} == {"extractive", "one"}
    if make is hier_mab:
        assert temperatures <= {n / 10 for n in range(11)}


def test_the_summary_compares_the_ends_and_the_ways_to_choose() -> None:
    live = rounds_of([0.0] * 100 + [0.5] * 50 + [1.0] * 100)
    lines = summary({"imabo": live, "random": rounds_of([0.25] * 200)}, BEST)
    text = "\n".join(lines)
    assert "first 100 questions 0.000, of the last 100 1.000" in text
    assert "mean reward 0.500, 95% interval 0.400 to 0.600, 30 questions" in text
    assert "The same 200 questions" in text  # what both had time for
    assert "time for 200 of the" in text
    assert ["imabo", "0.375", "0.750", "0%"] in [line.split() for line in lines]
    assert "failed" not in text


def test_the_summary_says_when_there_were_few_questions_and_what_failed() -> None:
    lines = summary({"imabo": rounds_of([0.0] * 40, "no luck"), "random": []}, BEST)
    text = "\n".join(lines)
    assert "there were 40 questions, too few for two times 100" in text
    assert "40 answers failed and counted as 0; the last: no luck" in text
    assert "no time to serve the same questions in other ways" in text
    assert summary({"imabo": []}, None) == [
        "No question was answered, so there is nothing to tell."
    ]


@needs_weights
def test_the_demonstration_runs_from_start_to_summary(tmp_path: Path) -> None:
    env = {name: text for name, text in os.environ.items() if not name.startswith("IMABO_")}
    ran = subprocess.run(
        [sys.executable, "-m", "imabo_rag", "demo", "--no-model", "--rounds=15", "--seed=1"],
        cwd=tmp_path,
        env=env | {"PYTHONPATH": FOLDER},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for line in ("our own questions", "/#/studies/rag", "Best configuration", "Hier-MAB"):
        assert line in ran.stdout
    with Study.open("rag", store=f"sqlite:///{tmp_path / 'imabo-rag.db'}") as study:
        assert (study.n_pulls, study.n_rewards) == (15, 15)


def test_arguments_that_make_no_sense_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["demo", "--rounds=0"], ["demo", "--count=0"], ["demo", "--minutes=0"], []):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
    assert "at least 1" in capsys.readouterr().err
