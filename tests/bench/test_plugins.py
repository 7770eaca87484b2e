"""Problems and methods of other packages: found, played in worker processes, or refused."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from imabo import cli
from imabo_bench import plugins
from imabo_bench.methods import method_names, open_method
from imabo_bench.problems import open_problem, problem_names
from tests.docs.pages import DOCS, Block, blocks

# --- the package of docs/extending.md, built and installed --------------------------------------


def shown(kind: str, word: str) -> Block:
    """The one block of the page that is of a kind and has a word in it."""
    (block,) = (b for b in blocks(DOCS / "extending.md") if b.kind == kind and word in b.text)
    return block


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed into, as pip does it."""
    project, site = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("site")
    (project / "pyproject.toml").write_text(shown("toml", "imabo-shop").text)
    (project / "imabo_shop.py").write_text(shown("python", "class Shop(").text)
    command = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(site), str(project)]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True, capture_output=True)
    return site


def imabo(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "imabo.cli", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_package_of_the_page_is_listed_and_played(installed: Path, tmp_path: Path) -> None:
    _, listing, running = (shlex.split(c) for c in shown("console", "shop/summer").commands)
    listed = json.loads(imabo(installed, *listing[1:], "--json").stdout)
    assert {"shop/summer", "shop/winter", "toy/sin1"} <= set(listed["problems"])
    assert listed["methods"]["imoss-eager"] == "IMOSS with more arms"
    few = ["--rounds", "12", "--jobs", "2", "--out", str(tmp_path)]
    done = imabo(installed, *running[1:], *few)
    assert done.returncode == 0, done.stderr
    assert "shop/winter" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 8
    assert {row["method"] for row in rows} == {"imoss-eager", "imabo"}
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["versions"]["imabo-shop"] == "1.0"


def test_without_the_package_its_names_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "shop/summer" not in problem_names()
    assert cli.main(["bench", "run", "--problem", "shop/summer", "--method", "random"]) == 1
    assert "the families are toy" in capsys.readouterr().err


# --- packages that are wrong --------------------------------------------------------------------

Offer = Callable[..., None]
CODE = """
from imabo import Choice, Space
from imabo_bench.methods import StudyMethod
from imabo_bench.problems import Family, Problem

class Coin(Problem):
    space = Space(side=Choice("a", "b"))
    optimum = 0.5
    def __init__(self, name):
        self.name = name
    def mean(self, config):
        return 0.5

FAMILY = Family(["one"], lambda name, data: Coin("coin/one"))
VARIED = Family(["one"], lambda name, data: Coin(name.text), ("fair",))
METHOD = StudyMethod("coin", "the default")
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Installs a package that offers one thing, as far as Python can tell."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(package: str, group: str, name: str, value: str, code: str = CODE) -> None:
        (tmp_path / f"{value.partition(':')[0]}.py").write_text(code)
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        plugins.points.cache_clear()

    yield install
    plugins.points.cache_clear()
    for module in ("coins", "others", "broken"):
        sys.modules.pop(module, None)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert cli.main(["bench", *arguments]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        (plugins.PROBLEMS, "toy", "coins:FAMILY"),
        (plugins.METHODS, "random", "coins:METHOD"),
    ],
)
def test_a_name_of_ours_is_taken(
    group: str, name: str, value: str, offer: Offer, capsys: pytest.CaptureFixture[str]
) -> None:
    offer("coin-shop", group, name, value)
    said = refusal(capsys, "list")
    assert f"the packages imabo-bench and coin-shop both have {name!r}" in said
    run = ["--problem", "toy/sin1", "--method", "random"]
    assert "uninstall coin-shop" in refusal(capsys, "run", *run)


def test_two_packages_with_one_name_are_both_named(
    offer: Offer, capsys: pytest.CaptureFixture[str]
) -> None:
    offer("coin-shop", plugins.METHODS, "coin", "coins:METHOD")
    offer("another-shop", plugins.METHODS, "coin", "others:METHOD")
    said = refusal(capsys, "list")
    assert "coin-shop" in said
    assert "another-shop" in said


@pytest.mark.parametrize(
    ("group", "name", "value", "why"),
    [
        (plugins.METHODS, "coin", "broken:METHOD", "raises ZeroDivisionError: division by zero"),
        (plugins.METHODS, "coin", "coins:NONE", "raises AttributeError"),
        (plugins.METHODS, "coin", "coins:FAMILY", "is a Family, not a Method"),
        (plugins.METHODS, "tails", "coins:METHOD", "has the name 'coin'"),
        (plugins.METHODS, "a/b", "coins:METHOD", "a slash"),
        (plugins.PROBLEMS, "coin", "coins:Coin", "is a ABCMeta, not a Family"),
    ],
)
def test_what_cannot_be_used_says_whose_it_is_and_why(
    group: str, name: str, value: str, why: str, offer: Offer, capsys: pytest.CaptureFixture[str]
) -> None:
    offer("coin-shop", group, name, value, "1 / 0" if value.startswith("broken") else CODE)
    said = refusal(capsys, "list")
    assert f"{name!r} of the package coin-shop cannot be used" in said
    assert why in said
    assert "repair coin-shop, or uninstall it" in said


def test_a_package_that_fails_keeps_nobody_from_the_rest(
    offer: Offer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offer("coin-shop", plugins.METHODS, "coin", "broken:METHOD", "1 / 0")
    run = ["--problem", "toy/sin1", "--rounds", "20", "--seeds", "1", "--jobs", "1"]
    run += ["--out", str(tmp_path / "out"), "--method"]
    assert cli.main(["bench", "run", *run, "random"]) == 0
    assert "coin-shop" in refusal(capsys, "run", *run, "coin")


def test_a_family_checks_names_and_its_problems_have_those_they_are_opened_by(
    offer: Offer, capsys: pytest.CaptureFixture[str]
) -> None:
    offer("coin-shop", plugins.PROBLEMS, "coin", "coins:FAMILY")
    offer("another-shop", plugins.PROBLEMS, "other", "others:VARIED")
    offer("third-shop", plugins.PROBLEMS, "heads", "coins:FAMILY")
    offer("fourth-shop", plugins.METHODS, "coin", "coins:METHOD")
    assert open_problem("coin/one:grid3").name == "coin/one:grid3"
    assert open_problem("other/one:fair").name == "other/one:fair"
    assert open_method("coin").name == "coin"
    assert "coin" in method_names()
    assert {"coin/one", "other/one"} <= set(problem_names())
    play = ["--method", "random", "--problem"]
    assert "coin has one" in refusal(capsys, "run", *play, "coin/two")
    assert "coin has the variants grid11" in refusal(capsys, "run", *play, "coin/one:fair")
    said = refusal(capsys, "run", *play, "heads/one")
    assert "what it makes for 'heads/one' has the name 'coin/one'" in said
    assert "third-shop" in said
