"""Which tests are in which loop, and in which order they run.

- ``make test-fast`` (``pytest --fast``): no server processes, no browser, no database server. It
  leaves out what is in ``APART`` and what is marked ``service``, ``slow`` or ``long``. A
  test that starts a process or a server all the same fails and says which marker it needs.
- ``make test`` (``pytest``): everything but what is marked ``long``.
- ``make test-long`` (``pytest -m long``): that.

A folder of ``tests`` must be in ``APART`` or ``FAST``: ``tests/test_entrance.py`` checks it.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sys
from collections import Counter
from collections.abc import Generator
from doctest import UnexpectedException
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parent
# To import the first is to call the service; the second takes seconds, and tests/litellm runs it.
collect_ignore = ["examples/thumbs_up.py", "src/imabo/litellm"]
# What needs processes, servers, a browser, a database or heavy libraries, or takes many seconds.
# The longest first, so that nobody is left with a long one at the end.
APART: Final = (
    "tests/page",
    "tests/rag",
    "tests/postgres",
    "tests/chaos",
    "tests/docs",
    "tests/server",
    "tests/client",
    "tests/gateway",
    "tests/litellm",
    "tests/typescript",
    "tests/crash",
    "tests/demo",
    "tests/operations",
    "tests/oracles/test_tabpfn.py",
    "tests/oracles/test_tabpfn_network.py",
    "tests/stores/test_processes.py",
    "tests/bench",
    "tests/cli",
    "tests/study/test_drift.py",
    "tests/study/test_faults.py",
    "tests/study/test_replay.py",
    "tests/study/test_machine.py",
    "tests/oracles/test_properties.py",
    "tests/oracles/test_unseen.py",
    "tests/density/test_parzen_optuna.py",
    "docs",
    "README.md",
    "examples",
    "bench/src",
)
FAST: Final = (
    "tests/policies",
    "tests/oracles",
    "tests/study",
    "tests/stores",
    "tests/insight",
    "tests/density",
    "tests/gaussian",
    "tests/space",
    "tests/evaluation",
    "tests/decorator",
    "tests/openfeature",
)
ORDER: Final = tuple(ROOT.joinpath(name).parts for name in (*APART, *FAST))
LEFT_OUT: Final = ("service", "slow", "long")
# Every third case in the fast loop: a step that meets every oracle, policy, situation and figure.
THINNED: Final = (
    "tests/oracles/test_contract.py",
    "tests/policies/test_contract.py",
    "tests/policies/test_pairs.py",
    "tests/study/test_contract.py",
)
# What starts a process or a server, as the interpreter reports it.
STARTS: Final = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "socket.bind"}
)

# Tests that share something that takes long to make: one worker has them all.
GROUPS: Final = {
    "tests/page/": "page",  # a browser
    "tests/docs/test_reference.py": "site",  # the documentation as it is built
    "tests/docs/test_site.py": "site",
    "tests/rag/": "torch",
    "tests/oracles/test_tabpfn.py": "torch",
    "tests/oracles/test_tabpfn_network.py": "torch",
    "tests/bench/methods/": "torch",
    "tests/litellm/": "litellm",
    "tests/gateway/test_clients.py": "litellm",
    "tests/typescript/": "typescript",
}
# Contracts that run in process with every case: elsewhere, with the first few cases of each check.
SPARSE: Final = {
    "tests/client/test_contract.py::TestRemoteStudy": 2,
    "tests/client/test_contract.py::TestAsyncRemoteStudy": 1,
    "tests/postgres/test_contract.py::TestPostgresStudy": 2,
    "tests/oracles/test_tabpfn.py::TestContract": 2,
}

# Of one check for many things, every second case or fewer, moved on by one from check to check, so
# that all of them are met: with several parameters, a step that none of their numbers is a multiple
# of. `make test-long` has the others. Of the two clients, which share what is
# not I/O, each has the checks that the other has not: they begin at different places.
STEPS: Final = {
    "tests/bench/methods/test_contract.py": (3, 0),
    "tests/bench/problems/test_contract.py": (3, 0),
    "tests/bench/problems/test_situations.py": (3, 0),
    "tests/insight/test_figures.py": (3, 0),
    "tests/test_extremes.py::test_a_study_goes_on": (3, 0),
    "tests/test_extremes.py::test_a_study_that_holds": (5, 0),
    "tests/study/test_faults.py::test_a_failed_write": (3, 0),
    "tests/oracles/test_unseen.py::test_a_new_value": (3, 0),
    "tests/client/test_contract.py::TestAsyncRemoteStudy": (2, 0),
    "tests/client/test_contract.py::TestRemoteStudy": (2, 1),
    "tests/postgres/test_contract.py::TestPostgresStudy": (3, 0),
}

_running: list[str] = []  # the test that runs now


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("imabo")
    group.addoption("--fast", action="store_true", help="no processes, servers or slow tests")
    group.addoption(
        "--absent-ok",
        action="store_true",
        help="tests whose optional libraries are not installed are skipped, and said so",
    )


def pytest_configure(config: pytest.Config) -> None:
    # In memory, where that is large enough: to wait for a disk's flush proves nothing here.
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**31:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))
    # Every httpx client reads all certificates, 40 ms of work; no test asks another machine.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(ROOT / "tests")  # a folder is looked into when one is needed
    # Libraries that plug-ins and recipes are tested with must not call home.
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", MLFLOW_DISABLE_TELEMETRY="true")
    if config.option.fast:
        sys.addaudithook(_guard)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for no garbage meanwhile (a fifth of the work), nor later among what stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)  # with 700, a tenth of the tests' own time
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The fast loop does not even import what it leaves out."""
    if config.option.fast and _rank(collection_path) < len(APART):
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the fast loop does not run; the longest first."""
    cases: Counter[str] = Counter()
    checks: dict[str, set[str]] = {start: set() for start in STEPS}
    for item in items:
        check = item.nodeid.partition("[")[0]
        cases[check] += 1
        if cases[check] > SPARSE.get(check.rpartition("::")[0], len(items)):
            item.add_marker("long")
        for start, (step, begin) in STEPS.items():
            if check.startswith(start) and ("[" in item.nodeid or "::Test" in start):
                checks[start].add(check)
                if (cases[check] + len(checks[start]) + begin) % step:
                    item.add_marker("long")
    ranks = {path: _rank(path) for path in {item.path for item in items}}
    if config.option.fast:
        thinned = [one for one in items if one.nodeid.startswith(THINNED) and "[" in one.nodeid]
        gone = {one for n, one in enumerate(thinned) if n % 3}
        gone |= {one for one in items if any(map(one.get_closest_marker, LEFT_OUT))}
        config.hook.pytest_deselected(items=list(gone))
        items[:] = [item for item in items if item not in gone]
    items.sort(key=lambda item: ranks[item.path])  # stable: within a folder, as written


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out groups, and files one by one: their tests share fixtures.

    Not by the marker of pytest-xdist: with pytest 9.2 it marks nothing, and says nothing.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return ByGroup(config, log) if config.getvalue("dist") == "loadgroup" else None


def unit_of(nodeid: str) -> str:
    """What one worker runs together with a test: a group, or the class or the file it is in.

    Example:
        >>> unit_of("tests/page/test_live.py::test_it_moves"), unit_of("docs/index.md::index.md")
        ('page', 'docs/index.md')
    """
    for start, group in GROUPS.items():
        if nodeid.startswith(start):
            return group
    return nodeid.partition("[")[0].rpartition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    _running.append(item.nodeid)
    # A command that serves sends the logs to its standard error, which ends with the test.
    ours, loud = logging.getLogger("imabo"), logging.getLogger("imabo.server.requests")
    before = list(ours.handlers), ours.propagate, ours.level, loud.disabled
    try:
        return (yield)
    finally:
        _running.clear()
        ours.handlers, ours.propagate, _, loud.disabled = before
        ours.setLevel(before[2])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    reason = _absence(report.call.excinfo) if report.failed else None
    if reason is not None and collector.config.option.absent_ok:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    report = yield
    reason = _absence(call.excinfo) if report.failed else None
    if reason is not None and item.config.option.absent_ok:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.reportinfo()[1] or 0, f"Skipped: {reason}")
    return report


def _rank(path: Path) -> int:
    """The place of a file in the order; what no folder holds is quick, and comes last."""
    parts = path.parts
    for rank, folder in enumerate(ORDER):
        if parts[: len(folder)] == folder:
            return rank
    return len(ORDER)


def _guard(event: str, arguments: tuple[Any, ...], starts: frozenset[str] = STARTS) -> None:
    if event in starts and _running:
        pytest.fail(
            f"{_running[-1]} is in the fast loop and starts a process or a server ({event}): "
            "mark it with pytest.mark.service, or move it into a folder of APART in conftest.py"
        )


def _absence(caught: pytest.ExceptionInfo[BaseException] | None) -> str | None:
    """Which library that is not installed an error comes from, if it comes from one."""
    error = caught.value if caught is not None else None
    while error is not None:
        if isinstance(error, UnexpectedException):  # of a doctest
            error = error.exc_info[1]
            continue
        name = error.name if isinstance(error, ModuleNotFoundError) else None
        if name is not None and find_spec(name.partition(".")[0]) is None:
            return f"NOT TESTED: {name} is not installed"
        error = error.__cause__ or error.__context__
    return None
