"""docs/extending.md passes what it preaches: its Python is a test module, run as it is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.pages import DOCS, blocks


def test_what_the_page_defines_passes_the_contracts_that_the_page_shows(tmp_path: Path) -> None:
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
