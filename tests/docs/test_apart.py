"""The guides that show other libraries run as printed, with these libraries' real packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.assistant import Assistant
from tests.docs.pages import DOCS, ROOT, blocks
from tests.docs.test_pages import RUN_APART
from tests.gateway.upstream import Running


def test_recipes_run_with_the_real_packages(tmp_path: Path) -> None:
    pages = [DOCS / "guides" / name for name in RUN_APART]
    assert all(block.kind in ("python", "console") for page in pages for block in blocks(page))
    assistant = Assistant()
    with Running(assistant.app) as model:
        done = subprocess.run(
            [sys.executable, "-m", "tests.docs.apart", model.url, *map(str, pages)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    # Each library has spoken to the server: LangChain, LangGraph, PydanticAI, DSPy, and LiteLLM.
    assert len(assistant.seen) >= 5
    assert "1 1 4\n" in done.stdout  # scores that were told, told again, and the study's rewards
