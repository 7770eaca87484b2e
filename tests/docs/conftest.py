"""The site as it is built, and a database for the pages that name one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.built import Site
from tests.docs.pages import ROOT
from tests.postgres.server import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url", "site"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The site, built strictly: a dead link or anchor, or a page without a place, is an error."""
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: what is not said does not count as a warning either.
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(folder)
