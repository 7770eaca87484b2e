from __future__ import annotations

import os
from pathlib import Path

import pytest

from imabo_bench.report import write_report
from imabo_bench.report.browser import find_browser
from tests.bench.report import synthetic


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small sweep, as a benchmark run leaves it."""
    return synthetic.write(tmp_path, synthetic.rows(n_seeds=3))


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a whole sweep."""
    return write_report(synthetic.write(tmp_path_factory.mktemp("sweep"), synthetic.rows()))


@pytest.fixture
def browser() -> str:
    """Chromium or Chrome; continuous integration must have one."""
    found = find_browser()
    if found is None:
        words = "no Chromium or Chrome on this machine (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    return found
