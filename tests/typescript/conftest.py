"""The package, installed and compiled once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.typescript.installing import PACKAGE, Node


@pytest.fixture(scope="package")
def node() -> Node:
    """Node, with the packages installed."""
    found = Node.find()
    found.install()
    return found


@pytest.fixture(scope="package")
def built(node: Node) -> Path:
    """The folder of the compiled package; with the types of browsers alone, and none of Node."""
    node.tool("typescript/bin/tsc", "--project", "tsconfig.build.json")
    return PACKAGE / "dist"
