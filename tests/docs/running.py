"""A page that is run from top to bottom: its Python and its console blocks, in one folder.

A Python block that begins with the name of a file (``# app.py``) is saved as that file instead.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from imabo import cli
from imabo.gateway import make_app, read_settings
from imabo.server.settings import Settings
from tests.docs.application import application
from tests.docs.assistant import Assistant
from tests.docs.pages import ADDRESS, APPLICATION, DATABASE, FILE, GATEWAY, MODEL, Block, blocks
from tests.gateway.upstream import Running
from tests.server.running import RunningServer

# Programs that a console block may show and that are not run: they would change the machine.
NOT_RUN = {"python -m venv", ".venv/bin/pip", "pip", "createuser", "createdb"}
SHELL = f'set -euo pipefail\nimabo() {{ "{sys.executable}" -m imabo.cli "$@"; }}\n'


class RunningPage:
    """Runs the blocks of a page in order, with a service and a database where it talks to them.

    Args:
        page: The page.
        module: The namespace of its Python.
        stack: Ends what was started.
        database: URL of a real PostgreSQL, when the page names one.
        folder: Where everything runs.
    """

    def __init__(
        self, page: Path, module: ModuleType, stack: ExitStack, database: str, folder: Path
    ) -> None:
        self._page = page
        self._module = module
        self._stack = stack
        self._folder = folder
        self._places = {DATABASE: database}
        self.blocks = [
            one
            for one in blocks(page)
            if one.kind in ("python", "console") or FILE.match(one.text) is not None
        ]
        if any(MODEL in one.text for one in self.blocks):
            self._places[MODEL] = stack.enter_context(Running(Assistant().app)).url
        if not any("imabo serve" in one.text for one in self.blocks) and any(
            ADDRESS in one.text for one in self.blocks
        ):
            self._serve(None)

    def run(self, block: Block) -> None:
        """Run a block; what fails raises."""
        file = re.match(r"# (\w+\.py)\n", block.text)
        if block.kind == "python" and file is not None:
            (self._folder / file[1]).write_text(self._placed(block.text), encoding="utf-8")
        elif block.kind == "python":
            code = compile(self._placed(block.text), str(self._page), "exec", dont_inherit=True)
            exec(code, self._module.__dict__)
        elif (file := FILE.match(block.text)) is not None:
            (self._folder / file[1]).write_text(self._placed(block.text), encoding="utf-8")
        elif not block.is_excused:
            self._run_commands([one for one in block.commands if not _is_not_run(one)])

    def _run_commands(self, commands: list[str]) -> None:
        if commands and commands[0].startswith("uvicorn "):
            app = shlex.split(commands[0])[1]
            self._places[APPLICATION] = self._stack.enter_context(application(app, self._folder))
            return
        plain = all(one.startswith("imabo ") and not set(one) & set("<>|$`") for one in commands)
        if not plain:
            script = SHELL + "\n".join(map(self._placed, commands))
            subprocess.run(["bash", "-c", script], cwd=self._folder, check=True)
            return
        for command in commands:
            arguments = shlex.split(self._placed(command))[1:]
            if arguments[0] == "serve":
                self._serve(arguments[arguments.index("--store") + 1])
            elif arguments[0] == "gateway" and "--check" not in arguments:
                gateway = make_app(read_settings(self._folder / arguments[1], {}))
                self._places[GATEWAY] = self._stack.enter_context(Running(gateway)).url
            elif cli.main(arguments) != 0:
                pytest.fail(f"{self._page.name}: {command} failed")

    def _serve(self, store: str | None) -> None:
        settings = Settings(poll_s=0.05, proposals=False)
        server = self._stack.enter_context(RunningServer(store, settings=settings))
        self._places[ADDRESS] = server.url

    def _placed(self, text: str) -> str:
        for shown, real in self._places.items():
            text = text.replace(shown, real)
        return text


def _is_not_run(command: str) -> bool:
    return any(command.startswith(f"{program} ") for program in NOT_RUN)
