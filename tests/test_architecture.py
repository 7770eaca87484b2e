"""The shape of the code: who may import whom, what is documented, which codes are promised."""

from __future__ import annotations

import ast
import functools
import inspect
import subprocess
import sys
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import imabo
from imabo import Study, errors, oracles, policies
from imabo.engine.replica import Replica

TESTS = Path(__file__).parent
SOURCE = Path(imabo.__file__).parent

# Each row may import from the rows above it and from itself; SEPARATE parts of one row may not
# import each other. ``imabo`` is the package's own face, its public names.
LAYERS: list[set[str]] = [
    {"amounts", "errors", "late_scipy", "markup", "spelling"},
    {"space", "memory", "doubt", "magnitude", "beliefs", "counters", "admitted", "settings"}
    | {"objective", "spending", "facts"},
    {"arms"},
    {"bounds", "pricing", "confidence", "drift", "density", "evaluation", "gaussian"} | {"mixing"},
    {"gaussian"},
    {"policies", "oracles", "stores"},
    {
        "checks",
        "columns",
        "compared",
        "control",
        "defaults",
        "documents",
        "event_kinds",
        "events",
        "engine",
        "recommend",
        "export",
        "frames",
        "frontier",
        "lifting",
        "replay",
        "study",
        "study_base",
        "study_changes",
        "study_goals",
        "insight",
        "webhooks",
    },
    {"client", "decorator", "integration"},
    {"imabo"},
    {"demo", "gateway", "litellm", "openfeature", "server", "testing"},
    {"cli"},
]
SEPARATE = {"policies", "oracles", "stores"}
CORE = {"numpy", "scipy"}
TEST_TOOLS = {"pytest", "hypothesis"}
# Where an optional library is at home: there at the top of modules, nowhere else at all.
HOMES: dict[str, set[str]] = {
    "testing": TEST_TOOLS,
    "server": {
        "anyio",
        "httpx",
        "prometheus_client",
        "pydantic",
        "pydantic_core",
        "starlette",
        "uvicorn",
    },
    "gateway": {"httptools", "httpx", "starlette", "uvicorn"},
    "litellm": {"litellm"},
    "openfeature": {"openfeature"},
    "cli": {"rich", "shtab"},
    "client": {"httpx"},
    "stores/postgres": {"psycopg"},
}

CODES = {
    "ImaboError": "error",
    "InvalidSpace": "invalid_space",
    "InvalidConfig": "invalid_config",
    "InvalidSetting": "invalid_setting",
    "InvalidReward": "invalid_reward",
    "RewardConflict": "reward_conflict",
    "SignalConflict": "signal_conflict",
    "InvalidSignal": "invalid_signal",
    "KeyConflict": "key_conflict",
    "UnknownPull": "unknown_pull",
    "UnknownKey": "unknown_key",
    "UnknownArm": "unknown_arm",
    "UnknownStudy": "unknown_study",
    "StudyExists": "study_exists",
    "NothingToServe": "nothing_to_serve",
    "NoControl": "no_control",
    "NoRewards": "no_rewards",
    "MissingData": "missing_data",
    "MissingExtra": "missing_extra",
    "ReplayMismatch": "replay_mismatch",
    "StoreError": "store_error",
    "SchemaTooNew": "schema_too_new",
    "StoreClosed": "store_closed",
    "OutboxFull": "outbox_full",
    "Unavailable": "unavailable",
    "Unauthorized": "unauthorized",
    "Forbidden": "forbidden",
    "Refused": "refused",
}


class Import(NamedTuple):
    """One imported name: ``from module import name`` (name is empty for ``import module``)."""

    module: str
    name: str
    line: int
    is_lazy: bool  # inside a function or for the type checker only
    known_as: str

    @property
    def root(self) -> str:
        return self.module.partition(".")[0]


def files_of(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@functools.cache
def imports_of(path: Path) -> tuple[Import, ...]:
    def walk(node: ast.AST, is_lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    known_as = alias.asname or alias.name.partition(".")[0]
                    yield Import(alias.name, "", child.lineno, is_lazy, known_as)
            elif isinstance(child, ast.ImportFrom) and not child.level:
                for alias in child.names:
                    known_as = alias.asname or alias.name
                    yield Import(child.module or "", alias.name, child.lineno, is_lazy, known_as)
            else:
                is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                is_typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
                yield from walk(child, is_lazy or is_function or is_typing)

    return tuple(walk(ast.parse(path.read_text(encoding="utf-8")), is_lazy=False))


def part_of(path: Path) -> str:
    """The part of the package that a file belongs to: its first folder or its own name."""
    first = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "imabo" if first == "__init__" else first


def parts_imported(entry: Import) -> set[str]:
    """The parts that an import of ``imabo`` reaches; its public names are the part ``imabo``."""
    _, _, rest = entry.module.partition(".")
    if rest:
        return {rest.partition(".")[0]}
    known = set().union(*LAYERS)
    return {entry.name if entry.name in known else "imabo"}


def layer_of(part: str) -> int:
    return next(place for place, parts in enumerate(LAYERS) if part in parts)


def where(path: Path, entry: Import) -> str:
    return (
        f"{path.name}:{entry.line} imports {entry.module}{'.' + entry.name if entry.name else ''}"
    )


# --- imports ------------------------------------------------------------------------------------


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in files_of(SOURCE)} <= set().union(*LAYERS)


@pytest.mark.parametrize("part", sorted(set().union(*LAYERS)))
def test_imports_point_downwards(part: str) -> None:
    wrong = []
    for path in files_of(SOURCE):
        if part_of(path) != part:
            continue
        for entry in imports_of(path):
            for other in parts_imported(entry) if entry.root == "imabo" else ():
                is_sideways = {part, other} <= SEPARATE and part != other
                if layer_of(other) > layer_of(part) or is_sideways:
                    wrong.append(where(path, entry))
    assert wrong == []


def test_the_import_check_can_fail(tmp_path: Path) -> None:
    source = tmp_path / "example.py"
    source.write_text(
        "import scipy.stats\nfrom imabo import Study, arms\nfrom imabo.oracles.base import Oracle\n"
        "def f():\n    import optuna\n"
    )
    entries = list(imports_of(source))
    assert [entry.is_lazy for entry in entries] == [False, False, False, False, True]
    assert [parts_imported(entry) for entry in entries[1:4]] == [{"imabo"}, {"arms"}, {"oracles"}]
    assert layer_of("study") > layer_of("stores") > layer_of("arms") > layer_of("errors")


def at_home(path: Path) -> set[str]:
    """The optional libraries that are at home in a file's folder."""
    folder = path.relative_to(SOURCE).as_posix()
    return {
        name for home, names in HOMES.items() if folder.startswith(f"{home}/") for name in names
    }


def test_nothing_optional_is_imported_at_the_top_of_a_module_but_at_home() -> None:
    allowed = CORE | {"imabo"} | sys.stdlib_module_names
    wrong = [
        where(path, entry)
        for path in files_of(SOURCE)
        for entry in imports_of(path)
        if not entry.is_lazy and entry.root not in allowed | at_home(path)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "library",
    [
        "httpx",
        "litellm",
        "openfeature",
        "psycopg",
        "rich",
        "shtab",
        "sqlalchemy",
        "starlette",
        "uvicorn",
    ],
)
def test_a_library_with_a_home_is_used_nowhere_else(library: str) -> None:
    wrong = [
        where(path, entry)
        for path in files_of(SOURCE)
        for entry in imports_of(path)
        if entry.root == library and library not in at_home(path)
    ]
    assert wrong == []


def private_uses(paths: Iterable[Path], ours: Set[str]) -> list[str]:
    """Where files use what is private in a package that is not one of ours."""
    wrong = []
    for path in paths:
        names = set()
        for entry in imports_of(path):
            words = [*entry.module.split("."), entry.name]
            if entry.root in ours | sys.stdlib_module_names:
                continue
            names.add(entry.known_as)
            if any(word.startswith("_") for word in words):
                wrong.append(where(path, entry))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute):
                continue
            root: ast.expr = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            is_private = node.attr.startswith("_") and not node.attr.endswith("__")
            if is_private and isinstance(root, ast.Name) and root.id in names:
                wrong.append(f"{path.name}:{node.lineno} uses {ast.unparse(node)}")
    return wrong


@pytest.mark.slow
def test_nothing_private_of_another_library_is_used() -> None:
    assert private_uses(files_of(SOURCE, TESTS), {"imabo", "tests"}) == []


@pytest.mark.service
def test_importing_imabo_loads_only_numpy_and_scipy_not_before_it_is_needed() -> None:
    code = "import sys, imabo; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    bare = "import sys, numpy; " + code.replace("import sys, imabo; ", "")
    loaded, baseline = (
        set(subprocess.run([sys.executable, "-c", source], capture_output=True, text=True,
                           check=True).stdout.split())
        for source in (code, bare)
    )  # fmt: skip
    assert loaded - baseline - sys.stdlib_module_names == {"imabo"}
    assert not {"optuna", "ConfigSpace", "sqlalchemy", "pytest", "hypothesis"} & loaded


# --- who writes what ----------------------------------------------------------------------------

IN_STEP = {"seq", "last_at", "is_torn"}  # how far the view is, when that was, whether it is ahead


def attributes_set(source: str) -> set[str]:
    """The names of the attributes that a source assigns to or deletes, of whatever object."""
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    }


def test_only_the_replica_says_how_far_the_view_is() -> None:
    names = IN_STEP | {f"_{name}" for name in IN_STEP}
    replica = SOURCE / "engine" / "replica.py"
    study = [*files_of(SOURCE / "engine"), SOURCE / "study.py", SOURCE / "replay.py"]
    wrong = [path for path in study if path != replica and names & attributes_set(path.read_text())]
    assert wrong == []
    # The check can fail, and what it looks for is there.
    assert {f"_{name}" for name in IN_STEP} <= attributes_set(replica.read_text())
    assert attributes_set("replica.seq, x = 1, 2") == {"seq"}
    for name in IN_STEP:
        assert getattr(Replica, name).fset is None


# --- names and words ----------------------------------------------------------------------------


EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}


def test_no_module_is_named_for_nothing() -> None:
    named = [
        path for path in files_of(SOURCE, TESTS) if EMPTY_NAMES & {path.stem, path.parent.name}
    ]
    assert named == []


def test_no_file_is_long() -> None:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in files_of(SOURCE)}
    assert {path: n for path, n in lengths.items() if n > 450} == {}


def public_things() -> Iterator[tuple[str, object]]:
    modules: list[ModuleType] = [imabo, policies, oracles, errors]
    for module in modules:
        yield module.__name__, module
        names = getattr(module, "__all__", [name for name in vars(module) if name in CODES])
        for name in names:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
    for name, member in inspect.getmembers(Study):
        if not name.startswith("_"):
            yield f"Study.{name}", member


@pytest.mark.parametrize(
    ("name", "thing"), [pytest.param(*named, id=named[0]) for named in public_things()]
)
def test_every_public_name_has_a_docstring_of_its_own(name: str, thing: object) -> None:
    text = thing.__doc__
    assert text, name
    assert text.strip()[0].isupper() or not text.strip()[0].isalpha(), name
    if inspect.isclass(thing):
        # A dataclass without a docstring gets its signature as one; that says nothing.
        assert not text.startswith(f"{thing.__name__}("), name


def test_public_names_are_those_of_the_design() -> None:
    wanted = {"Study", "Space", "Float", "Int", "Choice", "Arm", "Pull", "Request"}
    assert wanted | {"policies", "oracles", "errors"} <= set(imabo.__all__)
    assert {"IMOSS", "UCBAIR", "QRM2"} <= set(policies.__all__)
    assert {"Random", "TPE", "Mutate", "Mixed"} <= set(oracles.__all__)
    loop = {"create", "open", "ask", "tell", "serve", "expire", "close"}
    reads = {"best", "arms", "pull", "export", "replay"}
    changes = {"update_space", "add_arm", "pause", "resume", "retire"}
    assert loop | reads | changes <= {name for name in dir(Study) if not name.startswith("_")}


# --- errors -------------------------------------------------------------------------------------


def test_every_error_has_the_code_that_was_promised() -> None:
    classes = {
        name: thing
        for name, thing in vars(errors).items()
        if inspect.isclass(thing) and issubclass(thing, errors.ImaboError)
    }
    assert {name: thing.code for name, thing in classes.items()} == CODES
    assert len(set(CODES.values())) == len(CODES)
    assert all("code" in vars(thing) for thing in classes.values())


def test_an_error_says_what_why_and_what_to_do() -> None:
    error = errors.InvalidReward("the reward is 2", "it is above 1", "divide it by 2")
    assert str(error) == "the reward is 2: it is above 1. To fix it, divide it by 2."
    assert (error.what, error.why, error.fix) == error.args
    assert isinstance(error, ValueError)
