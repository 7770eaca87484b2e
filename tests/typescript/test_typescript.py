"""The client for TypeScript: its types are the API's, it compiles strictly, and its own tests pass.

Those are in clients/typescript/test, and run against a real ``imabo serve``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import imabo
from tests.typescript import installing
from tests.typescript.generate import generate
from tests.typescript.installing import MODULES, PACKAGE, ROOT, Node

SOURCES = sorted((PACKAGE / "src").glob("*.ts"))
IMPORT = re.compile(r"""(?:from|import)\s+["']([^"']+)["']""")


def test_the_types_are_those_of_the_api(node: Node, tmp_path: Path) -> None:
    generate(node, tmp_path / "api.ts")
    made = (tmp_path / "api.ts").read_text(encoding="utf-8")
    is_same = made == (PACKAGE / "src/api.ts").read_text(encoding="utf-8")
    assert is_same, "docs/openapi.json has changed: python -m tests.typescript.generate"


def test_it_compiles_with_its_tests(node: Node, built: Path) -> None:
    node.tool("typescript/bin/tsc", "--noEmit")
    for entry in ("index", "openfeature"):
        assert (built / f"{entry}.js").exists()
        assert (built / f"{entry}.d.ts").exists()


def test_its_own_tests_pass(node: Node, built: Path, tmp_path: Path) -> None:
    variables = {"IMABO_PYTHON": sys.executable, "IMABO_TEST_FOLDER": str(tmp_path)}
    printed = node.run(MODULES / "vitest/vitest.mjs", "run", variables=variables)
    assert re.search(r"Tests +\d\d+ passed", printed), printed


def test_it_needs_no_other_package_and_nothing_of_node() -> None:
    described = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in described
    assert len(SOURCES) > 5
    for source in SOURCES:
        named = IMPORT.findall(source.read_text(encoding="utf-8"))
        foreign = {name for name in named if not name.startswith("./")}
        assert foreign <= ({"@openfeature/server-sdk"} if source.stem == "openfeature" else set())


def test_its_packages_are_pinned_and_its_version_is_ours() -> None:
    described = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert described["version"] == imabo.__version__
    for name, version in described["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {"node_modules/", "package-lock.json"} <= set(ignored)


@pytest.mark.parametrize(("ci", "outcome"), [("", "skip"), ("true", "fail")])
def test_a_machine_without_node_says_so(
    ci: str, outcome: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(installing, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(getattr(pytest, outcome).Exception, match="NOT TESTED"):
        Node.find()
