"""What the top-level files say of each other is true: targets, folders, versions, bounds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import imabo
from conftest import APART, FAST, GROUPS, SPARSE, STEPS, THINNED, unit_of

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][\w-]*):", MAKEFILE, re.MULTILINE))
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")


def project(folder: str = ".") -> dict[str, Any]:
    with (ROOT / folder / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def requirements(texts: list[str]) -> dict[str, str]:
    """The lower bound of each requirement, by its plain name."""
    found = (re.match(r"([\w.-]+)(?:\[[\w,-]+\])?\s*(?:>=\s*([\d.]+))?", text) for text in texts)
    return {plain(one[1]): one[2] or "" for one in found if one is not None}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def release(text: str) -> tuple[int, ...]:
    # OpenTelemetry's conventions have had betas alone so far: 0.66b2.
    return tuple(int(part.partition("b")[0]) for part in text.split("."))


@pytest.mark.parametrize("text", [WORKFLOW, CONTRIBUTING, HOOKS], ids=["ci", "guide", "hooks"])
def test_every_make_target_that_is_named_is_there(text: str) -> None:
    lines = re.findall(r"\bmake((?: [a-z][\w-]*)+)", text)
    named = {word for line in lines for word in line.split()}
    assert named
    assert named <= TARGETS


def test_every_target_is_phony() -> None:
    phony = MAKEFILE[MAKEFILE.index(".PHONY:") :].split("\n\n")[0].replace("\\", "").split()
    assert set(phony[1:]) == TARGETS


def test_every_folder_of_tests_is_in_the_fast_loop_or_apart() -> None:
    folders = {f"tests/{path.parent.name}" for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders <= {*APART, *FAST}
    assert [name for name in (*APART, *FAST) if not (ROOT / name).exists()] == []


def test_what_shares_something_that_takes_long_to_make_goes_to_one_worker() -> None:
    named = [name.partition("::")[0] for name in (*GROUPS, *SPARSE, *STEPS, *THINNED)]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert unit_of("tests/page/test_live.py::test_it_moves[a::b]") == "page"
    assert unit_of("tests/rag/test_loop.py::test_it") == unit_of("tests/bench/methods/test_a.py::t")
    assert unit_of("tests/space/test_a.py::test_b[c::d]") == "tests/space/test_a.py"
    assert unit_of("tests/space/test_a.py::TestB::test_c[1]") == "tests/space/test_a.py::TestB"
    assert unit_of("docs/index.md::index.md") == "docs/index.md"


def test_paths_in_the_guide_are_there() -> None:
    named = set(re.findall(r"`((?:src|bench|tests|docs|tools|examples)/[\w./-]*)`", CONTRIBUTING))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    tree = CONTRIBUTING.split("```")[3]
    folder = ""
    for line in tree.strip().splitlines():
        words = re.split(r"\s{2,}", line.strip())[0].split()
        if not line.startswith(" "):
            (folder,) = words
            words = [""]
        assert [word for word in words if not (ROOT / folder / word).exists()] == []


def test_the_version_has_one_source() -> None:
    for folder, attribute in ((".", "imabo.__version__"), ("bench", "imabo_bench.__version__")):
        found = project(folder)
        assert found["project"]["dynamic"] == ["version"]
        assert found["tool"]["setuptools"]["dynamic"]["version"]["attr"] == attribute
    bench = (ROOT / "bench/src/imabo_bench/__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{imabo.__version__}"' in bench
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {imabo.__version__}\n" in cited


@pytest.mark.parametrize("folder", [".", "bench"])
def test_the_pythons_that_are_claimed_are_those_of_ci(folder: str) -> None:
    (versions,) = re.findall(r"^ +python: \[(.+)\]$", WORKFLOW, re.MULTILINE)
    tested = [text.strip('"') for text in versions.split(", ")]
    start = "Programming Language :: Python :: 3."
    claimed = [one for one in project(folder)["project"]["classifiers"] if one.startswith(start)]
    assert [one.removeprefix(start) for one in claimed] == [one.partition(".")[2] for one in tested]
    assert project(folder)["project"]["requires-python"] == f">={tested[0]}"


def test_the_oldest_versions_are_the_bounds() -> None:
    found = project()["project"]
    extras = found["optional-dependencies"]
    shipped = ("optuna", "configspace", "postgres", "server", "client", "plot", "cli", "testing")
    bounds = requirements(
        found["dependencies"] + [one for extra in shipped for one in extras[extra]]
    )
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    oldest = {plain(name): version for name, version in pinned.items()}
    for name, bound in bounds.items():
        assert bound, f"{name} has no lower bound"
        assert oldest[name].startswith(bound), f"{name}: {bound} is allowed, {oldest[name]} tested"


def test_what_ci_installs_is_pinned() -> None:
    extras = project()["project"]["optional-dependencies"]
    asked = [one for texts in extras.values() for one in texts if not one.startswith("imabo[")]
    asked += project()["project"]["dependencies"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    versions = {plain(name): release(version) for name, version in pinned.items()}
    for name, bound in requirements(asked).items():
        assert versions[name] >= release(bound or "0"), name
