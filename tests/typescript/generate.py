"""Write the types of clients/typescript again: ``python -m tests.typescript.generate``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.typescript.installing import PACKAGE, Node


def generate(node: Node, target: Path) -> None:
    """Make the types of docs/openapi.json, as ``npm run generate`` does."""
    described = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    _, *arguments = described["scripts"]["generate"].split()
    arguments[arguments.index("src/api.ts")] = str(target)
    node.tool("openapi-typescript/bin/cli.js", *arguments)


if __name__ == "__main__":
    found = Node.find()
    found.install()
    generate(found, PACKAGE / "src/api.ts")
