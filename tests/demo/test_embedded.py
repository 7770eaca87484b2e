"""The demonstration in one process, and what it does with options and stores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from imabo import Study, cli
from tests.loops import first
from tests.server.shell import environment, run


def test_the_story_is_told_and_the_database_stays(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Seed 3: the end is served far better than as today."""
    path = tmp_path / "d.db"
    arguments = ["--rounds", "1500", "--seed", "3", "--store", f"sqlite:///{path}"]
    assert cli.main(["demo", "--embedded", *arguments]) == 0
    out = capsys.readouterr().out
    for words in (
        "the warm-up is over",
        "best so far",
        "request 751: the medium model gets worse behind its name",
        "request 1,001: a new model ships",
        "the first user meets the large model",
        "1,500 of 1,500",
        "Best configuration",
        "interval",
        "Is it working?",
        "What is the best setting?",
        "What has exploring cost?",
        "Is feedback healthy?",
        f"The database stays: {path}",
        "demo --seed 3",
    ):
        assert words in out
    (last,) = (line.split() for line in out.splitlines() if line.startswith("  last 150 requests"))
    tuned, today, at_random = (float(word.rstrip("%")) for word in last[-3:])
    assert tuned > max(today, at_random) + 10
    with Study.open("assistant", store=f"sqlite:///{path}") as study:
        assert (study.n_pulls, study.space_version) == (1500, 2)
        assert 0 < study.n_rewards < 1500
        assert study.n_expired > 0
        assert 100 < sum(pull.group == "control" for pull in study) < 200


def test_a_second_demo_starts_a_second_study_and_with_the_same_seed_an_equal_one(
    tmp_path: Path,
) -> None:
    store, served = f"sqlite:///{tmp_path}/d.db", []
    arguments = ["--embedded", "--rounds", "100", "--seed", "2", "--store", store]
    for name in ("assistant", "assistant-2"):
        assert cli.main(["demo", *arguments]) == 0
        with Study.open(name, store=store) as study:
            served.append([(pull.config, pull.reward) for pull in study])
    assert len(served[0]) == 100
    assert served[0] == served[1]


def test_the_result_is_one_document_for_programs_and_the_story_goes_elsewhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/d.db"
    arguments = ["--embedded", "--rounds", "120", "--seed", "2", "--store", store, "--json"]
    assert cli.main(["demo", *arguments]) == 0
    out, story = capsys.readouterr()
    document = json.loads(out)
    assert "a new model ships" in story
    with Study.open(document["study"], store=document["store"]) as study:
        assert document["best"]["config"] == study.best().config
        counts = {name: document[name] for name in ("n_pulls", "n_rewards", "n_pending")}
        assert counts == {name: getattr(study, name) for name in counts}
    assert [part["requests"] for part in document["rates"]][-1] == "all 120 requests"
    assert all(0 < part["served"] < 1 for part in document["rates"])
    assert [one["name"] for one in document["answers"]] == ["working", "best", "cost", "feedback"]


@pytest.mark.parametrize("library", first(1, ["starlette", "httpx"]))
def test_without_the_extras_it_says_so_and_runs_in_this_process(
    library: str, tmp_path: Path
) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from imabo import cli\n"
        "sys.exit(cli.main(['demo', '--rounds', '100', '--seed', '1']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"need {library}, which is not installed" in done.stdout
    assert 'pip install "imabo[server,client]"' in done.stdout
    assert "http://" not in done.stdout
    with Study.open("assistant", store=f"sqlite:///{tmp_path}/imabo-demo.db") as study:
        assert study.n_pulls == 100


def test_a_store_that_cannot_be_used_is_explained() -> None:
    done = run("demo", "--store", "mysql://x")
    assert done.returncode == 1
    assert "mysql://x" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["--seconds", "-1"], ["--seconds", "soon"], ["--rounds", "5"], ["--seed", "-1"]]
)
def test_options_that_make_no_sense_are_wrong_usage(arguments: list[str]) -> None:
    assert cli.main(["demo", *arguments]) == 2
