"""docs/extending.md passes what it preaches: its Python is a test module, run as it is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks
from tests.loops import first

# The longest contract is that of a study; one case of so many, in turn, shows that it runs.
THINNED = """
def pytest_collection_modifyitems(items):
    of_study = [item for item in items if "::TestMyStudy::" in item.nodeid]
    assert len(of_study) > 50
    gone = {item for place, item in enumerate(of_study) if place % STEP}
    items[:] = [item for item in items if item not in gone]
"""


@pytest.mark.parametrize("step", first(1, [4, 1]))
def test_what_the_page_defines_passes_the_contracts_that_the_page_shows(
    tmp_path: Path, step: int
) -> None:
    (tmp_path / "conftest.py").write_text(THINNED.replace("STEP", str(step)), encoding="utf-8")
    page = "\n".join(one.text for one in blocks(DOCS / "extending.md") if one.kind == "python")
    assert page.count("Contract):") >= 6
    (tmp_path / "test_page.py").write_text(page, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            str(tmp_path),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
