"""The walks of an ask and a tell through the files of imabo, traced while they happen.

``python -m tests.walks`` prints them; with ``--write`` it puts them into ARCHITECTURE.md, between
its two marks. What counts as the request's own is said at ``Tracer``.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

import imabo
from imabo import Choice, Client, Float, Int, Space, Study
from imabo.server.settings import Settings
from tests.postgres.server import fresh_database, running
from tests.server.running import RunningServer

PAGE: Final = Path(__file__).parents[1] / "ARCHITECTURE.md"
MARKS: Final = ("<!-- walks: python -m tests.walks --write -->", "<!-- end of walks -->")
# How many files each walk may cross.
LIMITS: Final = {
    "`ask` in process, on SQLite": 14,
    "`tell` in process, on SQLite": 8,
    "`ask` over HTTP, on PostgreSQL": 30,
    "`tell` over HTTP, on PostgreSQL": 24,
}
ASK, TELL, REMOTE_ASK, REMOTE_TELL = LIMITS

SPACE: Final = Space(temperature=Float(0.0, 1.0), passages=Int(1, 10), model=Choice("s", "l"))
N_BEFORE: Final = 60  # requests that the study has behind it
N_TRACED: Final = 15  # of these, the walk that most of them take

_SOURCE: Final = os.path.dirname(imabo.__file__) + os.sep
_COROUTINE: Final = 0x80 | 0x100 | 0x20 | 0x200  # of a code object: it can be gone on with
_Result = TypeVar("_Result")
Walk = tuple[str, ...]


@dataclass
class _Visit:
    """What one thread does from one entry into it to its end."""

    is_callers: bool
    is_in_loop: bool
    began_before: bool
    files: dict[str, int] = field(default_factory=dict)  # when each was first called
    has_decided: bool = False

    @property
    def is_the_requests(self) -> bool:
        return self.is_callers or (not self.began_before and (self.is_in_loop or self.has_decided))


class Tracer:
    """Sees which files of imabo have a function called for one request, in every thread.

    It watches from before the first thread starts. What else runs meanwhile is told apart by
    visits: a visit is what a thread does between two waits, from the first function that it calls
    then until that one returns. These belong to the request:

    - what the calling thread does;
    - visits in the thread of an event loop, unless they go on with a coroutine that was there
      before the request (a heartbeat);
    - visits of other threads in which a study is asked or told (a thread that follows the store,
      or has a proposal made, does neither).
    """

    def __init__(self, settle_s: float = 0.05) -> None:
        self._settle_s = settle_s  # nothing of ours ran for so long: the request is over
        self._depth: dict[int, int] = {}  # of each thread's stack
        self._floor: dict[int, int] = {}  # and how deep it was while the thread waited
        self._visits: list[_Visit] = []
        self._open: dict[int, _Visit] = {}
        self._began: set[FrameType] = set()  # coroutines of this request
        self._caller = 0
        self._count = 0
        self._is_on = False
        self._last = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this thread, and those that start from now on."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def walk(self, action: Callable[[], _Result]) -> tuple[_Result, Walk]:
        """Do something, and say which files it came to, in order."""
        self._visits, self._open, self._began = [], {}, set()
        self._caller = threading.get_ident()
        self._floor = dict(self._depth)
        self._is_on = True
        try:
            result = action()
            self._last = time.monotonic()
            while time.monotonic() - self._last < self._settle_s:  # a server answers, then counts
                time.sleep(self._settle_s / 5)
        finally:
            self._is_on = False
        first: dict[str, int] = {}
        for visit in self._visits:
            if visit.is_the_requests:
                for file, at in visit.files.items():
                    first[file] = min(at, first.get(file, at))
        return result, tuple(sorted(first, key=first.__getitem__))

    def _see(self, frame: FrameType, event: str, _argument: Any) -> None:
        thread = threading.get_ident()
        if event == "call":
            self._depth[thread] = depth = self._depth.get(thread, 0) + 1
            if self._is_on:
                self._called(frame, thread, depth)
        elif event == "return":
            self._depth[thread] = depth = self._depth.get(thread, 1) - 1
            if self._is_on and depth <= self._floor.get(thread, 0):
                self._floor[thread] = depth
                self._open.pop(thread, None)

    def _called(self, frame: FrameType, thread: int, depth: int) -> None:
        code = frame.f_code
        if code.co_flags & _COROUTINE and _is_fresh(frame):
            self._began.add(frame)
        visit = self._open.get(thread)
        if visit is None:
            if depth <= self._floor.setdefault(thread, 0):
                return
            is_old = bool(code.co_flags & _COROUTINE) and frame not in self._began
            visit = _Visit(thread == self._caller, _in_loop(), is_old)
            self._open[thread] = visit
            self._visits.append(visit)
        if code.co_filename.startswith(_SOURCE):
            self._count += 1
            visit.files.setdefault(_name(code), self._count)
            visit.has_decided = visit.has_decided or _decides(code)
            if visit.is_the_requests:
                self._last = time.monotonic()


def _is_fresh(frame: FrameType) -> bool:
    """Whether a coroutine or generator is at its beginning: no line of its body was run."""
    return frame.f_lasti <= 4 or frame.f_lineno == frame.f_code.co_firstlineno


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _name(code: CodeType) -> str:
    return Path(code.co_filename[len(_SOURCE) :]).as_posix()


def _decides(code: CodeType) -> bool:
    """Whether this is ``Study.ask``, ``ask_many``, ``tell`` or ``tell_many``."""
    return _name(code) == "study.py" and code.co_name.startswith(("ask", "tell"))


# --- the four walks -----------------------------------------------------------------------------


def in_process(folder: Path) -> dict[str, Walk]:
    """The walks of a study on a SQLite file."""
    tracer = Tracer(settle_s=0.0)
    with (
        tracer.watching(),
        Study.create("walk", SPACE, store=f"sqlite:///{folder}/walk.db", seed=1) as study,
    ):
        return dict(zip((ASK, TELL), _usual(tracer, study), strict=True))


def over_http(database: str) -> dict[str, Walk]:
    """The walks of a client and a service together, on PostgreSQL."""
    tracer = Tracer()
    with (
        tracer.watching(),
        RunningServer(database, settings=Settings()) as server,
        Client(server.url) as client,
    ):
        study = client.create("walk", SPACE, seed=1)
        return dict(zip((REMOTE_ASK, REMOTE_TELL), _usual(tracer, study), strict=True))


def _usual(tracer: Tracer, study: Any) -> tuple[Walk, Walk]:
    """The walk that most asks of a known arm take, and the one that most tells take.

    Now and then a request also does what is due: a milestone, a look for a change.
    """
    for _ in range(N_BEFORE):
        study.tell(study.ask().id, 0.5)
    asks, tells = Counter[Walk](), Counter[Walk]()
    while asks.total() < N_TRACED:
        pull, walk = tracer.walk(study.ask)
        asks.update([walk] if pull.reason == "index" else [])
        tells[tracer.walk(partial(study.tell, pull.id, 0.5))[1]] += 1
    return asks.most_common(1)[0][0], tells.most_common(1)[0][0]


# --- on the page --------------------------------------------------------------------------------


def shown(walks: dict[str, Walk]) -> str:
    """The walks as the page has them."""
    lines = []
    for name, walk in walks.items():
        files = ", ".join(f"`{file}`" for file in walk)
        text = f"**{name}**, {len(walk)} files: {files}."
        lines += [*textwrap.wrap(text, 100, break_on_hyphens=False, break_long_words=False), ""]
    return "\n".join(lines)


def on_page() -> dict[str, Walk]:
    """The walks as the page says they are."""
    text = PAGE.read_text(encoding="utf-8").partition(MARKS[0])[2].partition(MARKS[1])[0]
    walks = {}
    for part in text.strip().split("\n\n"):
        head, _, files = " ".join(part.split()).partition(" files: ")
        walks[head.split("**")[1]] = tuple(files.rstrip(".").replace("`", "").split(", "))
    return walks


def write(walks: dict[str, Walk]) -> None:
    """Put the walks into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    page = f"{before}{MARKS[0]}\n\n{shown(walks)}\n{MARKS[1]}{after}"
    PAGE.write_text(page, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Trace, print, and write where that is wanted; 1 when a walk is longer than its limit."""
    with tempfile.TemporaryDirectory() as folder:
        walks = in_process(Path(folder))
    with running() as server, fresh_database(server) as database:
        walks |= over_http(database)
    print(shown(walks))
    for name, limit in LIMITS.items():
        print(f"{name}: {len(walks[name])} of at most {limit}")
    if "--write" in arguments:
        write(walks)
    return int(any(len(walks[name]) > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
