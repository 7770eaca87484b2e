"""Where the data sets lie that the shipped tables were trained on."""

import os
from pathlib import Path

import pytest

from imabo_bench.build.arff import Examples, read

PROJECT = Path(__file__).parents[3]


def examples_of(name: str) -> Examples:
    """Read a data set, or skip the test and say what is missing."""
    folders = [PROJECT.parent / "shared" / "data" / "arff"]
    if data := os.environ.get("IMABO_DATA"):
        folders.insert(0, Path(data).parent / "arff")
    for folder in folders:
        if (folder / name).is_file():
            return read(folder / name)
    pytest.skip(f"nothing was trained: {name} is in none of {', '.join(map(str, folders))}")
