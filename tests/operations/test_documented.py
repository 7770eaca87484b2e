"""The operations page has every setting and every metric, as they are."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from imabo import Float, Space, Study
from imabo.server.app import make_app
from imabo.server.settings import MEANINGS, Settings
from imabo.stores import MemoryStore

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MEANINGS)
def test_a_setting_is_documented_with_its_names_default_and_meaning(name: str) -> None:
    default = {field.name: field.default for field in fields(Settings)}[name]
    shown = "none" if default is None else str(default)
    shown = shown.lower() if isinstance(default, bool) else shown
    flag, variable = f"--{name.replace('_', '-')}", f"IMABO_{name.upper()}"
    assert f"| `{flag}` | `{variable}` | `{name}` | {shown} | {MEANINGS[name]} |" in PAGE


def test_the_metrics_of_the_page_are_those_of_the_service() -> None:
    store = MemoryStore()
    Study.create("s", Space(x=Float(0, 1)), store=store)
    parts = make_app(store, Settings(proposals=False)).parts
    parts.registry.study("s")
    served = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in parts.metrics.families(None)
    }
    assert served == set(re.findall(r"^\| `(imabo_\w+)` \|", PAGE, re.MULTILINE))


def test_the_flags_of_the_examples_exist() -> None:
    others = {
        "config",
        "dbname",
        "file",
        "format",
        "no-owner",
        "reason",
        "url",
    }  # of other commands
    named = set(re.findall(r"--([a-z][a-z-]+)", PAGE)) - others
    assert named == {name.replace("_", "-") for name in MEANINGS}
