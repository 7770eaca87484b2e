"""The commands that docs/client.md shows for other languages work as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from imabo.client import Client
from imabo.testing.study.base import letters
from tests.docs.pages import ADDRESS, ROOT
from tests.server.running import RunningServer

SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_commands_ask_and_report_a_reward(tmp_path: Path) -> None:
    commands = "".join(SHELL.findall((ROOT / "docs" / "client.md").read_text()))
    assert commands.count("curl") == 2
    with RunningServer() as server, Client(server.url) as client:
        study = client.create("support-answers", letters("a"), seed=1)
        done = subprocess.run(
            ["bash", "-e", "-c", commands.replace(ADDRESS, server.url)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.endswith("204\n")
        assert [pull.reward for pull in study] == [0.8]
