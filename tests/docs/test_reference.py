"""Nothing public is missing from the reference: what the code has is compared with the site."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from functools import reduce
from types import ModuleType

import pytest

import imabo
import imabo.client
import imabo.errors
import imabo.gateway
import imabo.insight
import imabo.openfeature
import imabo.stores
import imabo.stores.base
import imabo.testing
import imabo.webhooks
from imabo.cli.commands import GROUPS
from imabo.cli.exits import MEANINGS as EXITS
from imabo.cli.parser import make_parser
from imabo.errors import ImaboError
from imabo.insight.plots import Plots
from imabo.server.problems import STATUS
from imabo.server.settings import MEANINGS as SETTINGS
from tests.docs.built import Site
from tests.docs.pages import DOCS, ROOT

MODULES = [imabo, imabo.policies, imabo.oracles, imabo.insight, imabo.client, imabo.stores,
           imabo.testing, imabo.webhooks, imabo.gateway, imabo.openfeature]  # fmt: skip
# What a server tells its own workers; nobody else sets these.
BETWEEN_PROCESSES = ("IMABO_WORKER_", "IMABO_METRICS_")
ONE_PARAGRAPH = (imabo.stores.MemoryStore, imabo.stores.SQLiteStore)  # their verbs are Store's


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: its ``__all__``, else the classes that it defines."""
    named = getattr(module, "__all__", None)
    found = vars(module).items()
    return named or [
        name for name, one in found if inspect.isclass(one) and one.__module__ == module.__name__
    ]


def documented(site: Site) -> dict[str, object]:
    """Every ``imabo.`` anchor of the reference, with the object that it is about."""
    anchors = {
        anchor
        for name in site.names
        if name.startswith("reference/")
        for anchor in site.page(name).anchors
        # LiteLLM takes seconds to import; tests/litellm looks after its names.
        if anchor.startswith("imabo.") and not anchor.startswith("imabo.litellm.")
    }
    return {anchor: found for anchor in anchors for found in resolved(anchor)}


def resolved(anchor: str) -> Iterator[object]:
    """The object of a dotted name; nothing for an attribute that only instances have."""
    parts = anchor.split(".")
    for n in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:n]))
            yield reduce(getattr, parts[n:], module)
        except (ImportError, AttributeError):
            continue
        return


@pytest.mark.parametrize(
    "module", [*MODULES, imabo.errors, imabo.stores.base], ids=lambda module: module.__name__
)
def test_every_public_name_is_in_the_reference(module: ModuleType, site: Site) -> None:
    found = {id(one) for one in documented(site).values()}
    values = {name: getattr(module, name) for name in public_names(module)}
    missing = [
        name
        for name, one in values.items()
        if not isinstance(one, ModuleType) and id(one) not in found
    ]
    assert values
    assert missing == []


def test_every_public_method_of_a_public_class_is_in_the_reference(site: Site) -> None:
    known = documented(site)
    classes = {
        anchor: one
        for anchor, one in known.items()
        if inspect.isclass(one)
        and not issubclass(one, ImaboError)
        and one not in ONE_PARAGRAPH
        and not one.__name__.endswith("Contract")
    }
    missing = [
        f"{anchor}.{name}"
        for anchor, one in classes.items()
        for name, member in inspect.getmembers(one, _is_member)
        if not name.startswith("_")
        and f"{anchor}.{name}" not in known
        and _is_ours(member)
        and not any(twin is one and f"{other}.{name}" in known for other, twin in classes.items())
    ]
    assert {"imabo.Study", "imabo.Space", "imabo.client.Client"} <= set(classes)
    assert missing == []


def _is_member(one: object) -> bool:
    return inspect.isfunction(one) or inspect.ismethod(one) or isinstance(one, property)


def _is_ours(member: object) -> bool:
    made = member.fget if isinstance(member, property) else member
    return str(getattr(made, "__module__", "")).startswith("imabo")


def test_every_command_and_option_is_in_the_reference(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    page = site.page("reference/commands.html").text
    names = [command.name for _, group in GROUPS for command in group]
    for name in [
        *names,
        "keys create",
        "keys list",
        "keys revoke",
        "webhook add",
        "webhook list",
        "webhook remove",
        "webhook deliveries",
        "webhook test",
        "bench run",
        "bench claims",
    ]:
        with pytest.raises(SystemExit):
            make_parser("*").parse_args([*name.split(), "--help"])
        shown = capsys.readouterr().out
        assert f"usage: imabo {name} " in page
        assert set(re.findall(r"--[a-z][a-z-]+", shown)) <= set(re.findall(r"--[a-z][a-z-]+", page))
    assert "where the study is:" in page
    for code, meaning in EXITS.items():
        assert f"{code} {meaning}" in re.sub(r"\s+", " ", page)


def test_every_setting_has_a_row_in_the_settings(site: Site) -> None:
    page = site.page("operations.html").text
    for name, meaning in SETTINGS.items():
        assert f"IMABO_{name.upper()} {name} " in page
        assert meaning in page
    assert "../operations.html#settings" in site.page("reference/index.html").links
    assert "../operations.html#what-to-watch" in site.page("reference/index.html").links


def test_every_variable_that_the_code_reads_is_in_the_reference() -> None:
    read = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"[\"'](IMABO_[A-Z_]+)[\"']", path.read_text(encoding="utf-8"))
        if not name.startswith(BETWEEN_PROCESSES)
    }
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    settings = {f"IMABO_{name.upper()}" for name in SETTINGS}
    assert "IMABO_KEY" in read
    assert sorted(name for name in read - settings if f"`{name}`" not in page) == []


def test_every_extra_is_in_the_reference() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8").partition("## Extras")[2]
    extras = set(project["optional-dependencies"]) - {"dev", "dev-all"}
    assert [extra for extra in sorted(extras) if f"`{extra}`" not in page] == []


def test_every_route_and_document_is_in_the_reference(site: Site) -> None:
    described = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    page = site.page("reference/routes.html")
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert f"{method.upper()} {path}" in page.text
            assert all(f" {one['name']} {one['in']} " in page.text
                       for one in operation.get("parameters", []))  # fmt: skip
    assert {f"document-{name}" for name in described["components"]["schemas"]} <= page.anchors


def test_every_error_code_has_a_row_with_its_class_and_status() -> None:
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| `(\w+)` \| `(\w+)` \|([^|]*)\| [^|]{10,} \| [^|]{10,} \|$", re.MULTILINE)
    rows = {code: (name, status.strip()) for code, name, status in row.findall(page)}
    classes = {one.code: one.__name__ for one in _errors(ImaboError)}
    expected = {
        code: (classes.get(code, "Refused"), STATUS.get(code)) for code in {*classes, *STATUS}
    }
    assert set(rows) == set(expected)
    for code, (name, status) in expected.items():
        assert rows[code][0] == name
        assert rows[code][1].split(" or ")[0] == ("" if status is None else str(status))


def _errors(root: type[ImaboError]) -> Iterator[type[ImaboError]]:
    if root.__module__ == "imabo.errors":
        yield root
    for below in root.__subclasses__():
        yield from _errors(below)


def test_every_figure_and_every_state_is_explained(site: Site) -> None:
    page = (DOCS / "guides" / "read-the-page.md").read_text(encoding="utf-8")
    for name in imabo.insight.FIGURES:
        assert f"### {imabo.insight.caption(name).title}\n" in page
        assert hasattr(Plots, name)
    states = re.findall(r"``([a-z ]+)`` \(", str(imabo.insight.Overview.__doc__))
    assert len(states) >= 4
    assert [state for state in states if f"| `{state}` |" not in page] == []
    assert site.page("guides/read-the-page.html").text
