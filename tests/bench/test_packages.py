"""Two packages: what each wheel has, and what imabo says where the second one is not installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from imabo import cli

ROOT = Path(__file__).parents[2]


# Found first, it hides the package as if it was not there.
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, *rest):
        if name == "imabo_bench":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
hidden = Hidden()
sys.meta_path.insert(0, hidden)
from imabo import cli
sys.exit(cli.main(sys.argv[1:]))
"""

Without = Callable[..., tuple[int, str, str]]


@pytest.fixture
def without_bench(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Without]:
    """``imabo`` where imabo_bench cannot be found: its exit status and what it says."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "imabo_bench"]:
        monkeypatch.delitem(sys.modules, name)
    finder: dict[str, Any] = {}
    exec(HIDE.partition("from imabo")[0], finder)  # in this process as well

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = cli.main([*arguments])
        except SystemExit as end:  # of --help
            status = int(end.code or 0)
        return status, *capsys.readouterr()

    yield run
    sys.meta_path.remove(finder["hidden"])


def test_a_process_without_the_package_says_what_to_install() -> None:
    command = [sys.executable, "-c", HIDE, "bench", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (1, "")
    assert "To fix it, run pip install imabo-bench." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["list"], ["run", "--problem", "toy/sin1", "--method", "random"]]
)
def test_without_the_package_bench_says_what_to_install(
    without_bench: Without, arguments: list[str]
) -> None:
    status, out, err = without_bench("bench", *arguments)
    assert (status, out) == (1, "")
    assert "To fix it, run pip install imabo-bench." in err


def test_without_the_package_the_rest_of_the_command_line_is_whole(without_bench: Without) -> None:
    _, _, err = without_bench("bench", "list", "--json")
    assert json.loads(err)["error"]["code"] == "missing_extra"
    assert "  bench " in without_bench("--help")[1]
    assert "pip install imabo-bench" in without_bench("bench", "--help")[1]
    status, out, _ = without_bench("completion", "bash")
    assert status == 0
    assert "bench" in out


def test_a_broken_installation_of_the_package_is_not_called_a_missing_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "imabo_bench.commands", None)
    with pytest.raises(ModuleNotFoundError, match=r"imabo_bench\.commands"):
        cli.main(["bench", "list"])


@pytest.mark.parametrize("library", ["psycopg", "uvicorn"])
def test_without_a_library_the_load_benchmark_names_its_extra(library: str) -> None:
    code = f"import sys; sys.modules['{library}'] = None; import imabo_bench.service"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"{library} is not installed" in done.stderr
    assert 'pip install "imabo-bench[service]"' in done.stderr


def contents(folder: Path, out: Path) -> dict[str, int]:
    """Build the wheel of a project as it is, offline: its files and their sizes."""
    copy = out / "project"
    kept = ("pyproject.toml", "README.md", "LICENSE", "src")
    for name in kept:
        source = folder / name
        if source.is_dir():
            skipped = shutil.ignore_patterns("*.egg-info", "__pycache__")
            shutil.copytree(source, copy / name, ignore=skipped)
        elif source.exists():
            copy.mkdir(exist_ok=True, parents=True)
            shutil.copy(source, copy / name)
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command += ["--disable-pip-version-check", "--wheel-dir", str(out), str(copy)]
    subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.file_size for entry in archive.infolist()}


def test_the_wheel_of_the_library_has_no_benchmark(tmp_path: Path) -> None:
    files = contents(ROOT, tmp_path)
    assert {name.partition("/")[0] for name in files if ".dist-info" not in name} == {"imabo"}
    assert not [name for name in files if "/bench/" in name or name.endswith(".npz")]
    assert {"imabo/py.typed", "imabo/server/page/index.html", "imabo/cli/commands.py"} <= set(files)
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "imabo").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert sources <= set(files)


def test_the_wheel_of_the_benchmark_has_its_data_and_nothing_of_the_library(tmp_path: Path) -> None:
    files = contents(ROOT / "bench", tmp_path)
    assert {name.partition("/")[0] for name in files if ".dist-info" not in name} == {"imabo_bench"}
    sources = {
        path.relative_to(ROOT / "bench" / "src").as_posix(): path.stat().st_size
        for path in (ROOT / "bench" / "src" / "imabo_bench").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert sources.items() <= files.items()
    assert "imabo_bench/py.typed" in files
    tables = [name for name in files if name.endswith(".npz")]
    assert len(tables) == 6
    (metadata,) = (name for name in files if name.endswith("METADATA"))
    assert metadata.startswith("imabo_bench-")
