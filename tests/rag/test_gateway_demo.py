"""Two models behind the gateway: the demonstration in short, and what it writes for the gateway."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import imabo_rag
from imabo import Study
from imabo.gateway.mapping import check_route
from imabo.gateway.settings import settings_of
from imabo.gateway.tables import Table
from imabo_rag import Cache
from imabo_rag.gateway_demo import LONG, control_of, gateway_file, space_of, summary
from imabo_rag.local_model import MODEL
from imabo_rag.prompts import STYLES, messages
from imabo_rag.questions import Passage
from imabo_rag.reader import Reader
from imabo_rag.retrieval import Embedder
from imabo_rag.space import EXTRACTIVE
from tests.rag.weights import needs_weights

FOLDER = str(Path(imabo_rag.__file__).parents[1])


@needs_weights
def test_the_demonstration_in_short(tmp_path: Path) -> None:
    env = {name: text for name, text in os.environ.items() if not name.startswith("IMABO_")}
    paths = os.pathsep.join([FOLDER, *env.get("PYTHONPATH", "").split(os.pathsep)])
    command = ["gateway", "--no-model", "--rounds=25", "--count=6", "--seed=1"]
    ran = subprocess.run(
        [sys.executable, "-m", "imabo_rag", *command],
        cwd=tmp_path, env=env | {"PYTHONPATH": paths}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    for words in ("quality", "cost of 1,000", "control", "Lift over the control", "Best config"):
        assert words in ran.stdout
    with Study.open("gateway", store=f"sqlite:///{tmp_path / 'imabo-gateway.db'}") as study:
        pulls = list(study)
        assert (study.n_pulls, study.n_rewards) == (25, 25)
    assert {pull.group for pull in pulls} == {"tuned", "control"}
    assert {pull.config["model"] for pull in pulls} == {EXTRACTIVE, LONG}
    assert all({"cost", "latency_s", "tokens"} <= set(pull.signals) for pull in pulls)


def test_both_pairs_of_models_make_a_file_that_fits_their_study() -> None:
    for models in ([MODEL, EXTRACTIVE], [LONG, EXTRACTIVE]):
        urls = dict.fromkeys(models, "http://127.0.0.1:1/v1")
        file = Table("", tomllib.loads(gateway_file("gateway", urls)))
        settings = settings_of(file, {}, is_mounted=True)
        route = settings.routes["gateway"]
        check_route(route, space_of(models), settings)
        assert dict(route.default) == control_of(models)
        if MODEL in models:
            assert route.examples is not None
            assert list(route.examples.named["few_shot"]) == STYLES["few_shot"][1:]
            assert route.examples.named["naive"] == ()


def test_without_answers_there_is_nothing_to_tell() -> None:
    with Study.create("empty", space_of([LONG, EXTRACTIVE]), seed=0) as study:
        assert summary(study) == ["No question was answered, so there is nothing to tell."]


@needs_weights
def test_the_reader_copies_the_nearest_sentences() -> None:
    tea = Passage("Tea", ("It is made of leaves.", "It is hot.", "Cats sleep a lot."))
    asked = messages("naive", "Is tea hot?", [tea])
    with Cache(":memory:") as cache:
        embedder = Embedder(cache)
        one, two = Reader(embedder).chat(asked), Reader(embedder, 2).chat(asked)
        nothing = Reader(embedder).chat([{"role": "user", "content": "hello"}])
    assert one.text == "It is hot."
    assert two.text == "It is made of leaves. It is hot."
    assert two.n_written > one.n_written
    assert nothing.text == ""
