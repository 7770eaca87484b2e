"""The studies that this process has open, the lanes they are worked on in, and their upkeep."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, Final
from weakref import WeakValueDictionary

from imabo.errors import ImaboError, StoreError, UnknownStudy
from imabo.server.logs import log
from imabo.server.problems import unknown_study
from imabo.server.proposals import Proposals, StudyProposals
from imabo.stores.base import Store
from imabo.study import Study

MOST_THREADS: Final = 8
_EXPIRE_EVERY_S: Final = 10.0
_PRUNE_EVERY_S: Final = 60.0
_PRUNE_AT_ONCE: Final = 10_000
_PROBE_EVERY_S: Final = 0.5
_CHECKED_AT_ONCE: Final = 20
_STOP_S: Final = 1.0  # for the thread to end; it cannot while a frozen database does not answer
_MAX_WARM: Final = 100  # studies that are opened before anyone asks for them

Job = Callable[[], object]


class Lanes:
    """Does the jobs of each study in order, one at a time, and those of other studies meanwhile.

    A lane that has jobs waits for a thread; after one job it goes to the end of those that wait.
    There are as many threads as there were ever lanes with jobs at once, up to ``most``. So a study
    whose job takes long, or waits for a lock, keeps one thread; when as many studies as there may
    be threads are stuck, the others wait for the first of them.

    Example:
        >>> lanes = Lanes()
        >>> done = threading.Event()
        >>> lanes.put("a study", done.set)
        >>> done.wait(10.0)
        True
        >>> lanes.close()
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._jobs: dict[str, deque[Job]] = {}  # a study is here while it waits or is worked on
        self._since: dict[str, float] = {}  # when the job under way began
        self._ready: SimpleQueue[str | None] = SimpleQueue()
        self._n_threads = 0
        self._is_closed = False

    def put(self, study: str, job: Job) -> None:
        """Do a job of a study after those that wait already; nothing, once it is closed."""
        with self._lock:
            if self._is_closed:
                return
            jobs = self._jobs.get(study)
            if jobs is not None:
                jobs.append(job)
                return
            self._jobs[study] = deque((job,))
            if len(self._jobs) > self._n_threads and self._n_threads < self._most:
                self._n_threads += 1
                name = f"imabo-lane-{self._n_threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        self._ready.put(study)

    def stuck(self, longer_than_s: float) -> list[str]:
        """The studies whose job has been under way for longer than that."""
        before = time.monotonic() - longer_than_s
        return [study for study, since in list(self._since.items()) if since < before]

    def close(self) -> None:
        """Take no more jobs, and let the threads end when they are done with theirs."""
        with self._lock:
            self._is_closed = True
            n_threads = self._n_threads
        for _ in range(n_threads):
            self._ready.put(None)

    def _work(self) -> None:
        while (study := self._ready.get()) is not None:
            with self._lock:
                job = self._jobs[study].popleft()
                self._since[study] = time.monotonic()
            try:
                job()
            except Exception as error:  # the thread must live as long as the process
                log.error("a job of a study failed", exc_info=error)
            del job  # what it holds need not outlive it
            with self._lock:
                del self._since[study]
                has_more = bool(self._jobs[study])
                if not has_more:
                    del self._jobs[study]
            if has_more:
                self._ready.put(study)


@dataclass(slots=True)
class _Open:
    study: Study
    proposals: StudyProposals | None
    seen_at: float  # when its view was last known to be true


class Registry:
    """The process's open studies on one store: one ``Study`` a name, kept up to date.

    A thread follows what other processes write; what is to be done about it (reading a study again,
    expiring what is past its window, forgetting what is past its retention) is done in the lane of
    the study, so that one that is locked keeps no other from it. Everything here blocks; the event
    loop calls it in threads.

    The caller closes the store. Without ``proposals``, each ask calls the oracle itself.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        poll_s: float = 1.0,
        retention_s: float | None = None,
        proposals: Proposals | None = None,
        threads: int = MOST_THREADS,
    ) -> None:
        self.store = store
        self.clock = clock
        self.lanes = Lanes(threads)
        self.is_away = False  # whether the database did not answer when it was last tried
        # When a request was last committed, and when one last failed, on the monotonic clock.
        self.wrote_at = self.failed_at = -1e9
        self._proposals = proposals
        self._poll_s = poll_s
        self._retention_s = retention_s
        self._lock = threading.RLock()  # held for moments only, never while the store is asked
        self._doors: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._open: dict[str, _Open] = {}
        self._tokens: dict[str, str] = {}  # token -> name
        self._making: set[str] = set()  # tokens of studies that are not whole yet
        self._next_expiry = self._next_prune = 0.0
        self._n_checked = 0
        self._chores: set[tuple[str, str]] = set()  # that wait in a lane, or are done there now
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="imabo-registry", daemon=True)

    def start(self) -> None:
        """Start following the store."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following; the studies stay usable until the store is closed."""
        self._stopped.set()
        self.lanes.close()
        self._thread.join(self._poll_s + _STOP_S)
        if self._proposals is not None:
            self._proposals.close()

    # --- studies --------------------------------------------------------------------------------

    def study(self, name: str) -> Study:
        """The study of that name, opened when it is not open yet."""
        found = self._open.get(name)
        if found is not None:
            return found.study
        with self._door(name):
            found = self._open.get(name)
            if found is not None:
                return found.study
            try:
                study = Study.open(name, store=self.store, clock=self.clock)
            except UnknownStudy:
                raise unknown_study(name) from None
            if self.is_making(study.token):
                raise unknown_study(name)
            with self._lock:
                mine = None if self._proposals is None else self._proposals.attach(study)
                self._open[name] = _Open(study, mine, time.monotonic())
                self._tokens[study.token] = name
            return study

    def _door(self, name: str) -> Any:
        """A lock: a study is opened or deleted in one thread at a time; others do not wait."""
        with self._lock:
            return self._doors.setdefault(name, threading.Lock())

    @contextmanager
    def making(self, token: str) -> Iterator[None]:
        """Keep a study to its maker, here, until it is whole: nobody sees or expires its pulls."""
        self._making.add(token)
        try:
            yield
        finally:
            self._making.discard(token)

    def is_making(self, token: str) -> bool:
        """Whether a study is not whole yet."""
        return token in self._making

    def _unmade(self) -> set[str]:
        """The names of the studies that are not whole yet."""
        return {name for token in list(self._making) if (name := self.store.find(token))}

    def known(self, token: str) -> str | None:
        """The study whose pull ids start with a token, if this process knows; never blocks."""
        return self._tokens.get(token)

    def find(self, token: str) -> str | None:
        """The study whose pull ids start with a token."""
        name = self._tokens.get(token)
        if name is None:
            name = self.store.find(token)
            if name is not None:
                self._tokens[token] = name
        return name

    def drop(self, name: str) -> None:
        """Forget what this process knows of a study."""
        with self._lock:
            self._open.pop(name, None)
            self._tokens = {token: known for token, known in self._tokens.items() if known != name}

    def delete(self, name: str) -> None:
        """Delete a study for good."""
        with self._door(name):
            if name in self._unmade():
                raise unknown_study(name)
            try:
                self.store.delete(name)
            except UnknownStudy:
                raise unknown_study(name) from None
            finally:
                self.drop(name)

    def moved(self, study: Study) -> None:
        """Note that a study was just written to by this process."""
        self.wrote_at = time.monotonic()
        found = self._open.get(study.name)
        if found is None:
            return
        found.seen_at = self.wrote_at
        if found.proposals is not None:
            try:
                found.proposals.refresh()
            except Exception as error:  # what was committed must be answered all the same
                log.error("preparing a proposal failed", exc_info=error)

    def open_studies(self) -> list[Study]:
        """The studies that are open, by name."""
        with self._lock:
            return [self._open[name].study for name in sorted(self._open)]

    def opened(self, name: str) -> Study | None:
        """The study of that name, if it is open; never blocks."""
        found = self._open.get(name)
        return None if found is None else found.study

    def n_drifts(self) -> dict[str, int]:
        """How many changes the open studies noticed here, by name; never blocks."""
        return {name: found.study.n_drifts for name, found in list(self._open.items())}

    def n_rollbacks(self) -> dict[str, int]:
        """How often guardrails rolled the open studies back here, by name."""
        return {name: found.study.n_rollbacks for name, found in list(self._open.items())}

    def age_s(self, name: str) -> float:
        """How long ago the view of an open study was last known to be true."""
        found = self._open.get(name)
        return 0.0 if found is None else time.monotonic() - found.seen_at

    def n_ready(self, name: str) -> int:
        """How many proposals of a study wait to be taken."""
        found = self._open.get(name)
        return 0 if found is None or found.proposals is None else found.proposals.n_ready

    # --- beside requests ------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._stopped.is_set():
            try:
                self._look()
                self.found()
                self.store.wait(self._poll_s)
            except Exception as error:  # the thread must live as long as the process
                self.lost(error)
                self._stopped.wait(min(self._poll_s, _PROBE_EVERY_S))

    def found(self) -> None:
        """Note that the database answers."""
        self.is_away = False

    def lost(self, error: Exception) -> None:
        """Note what came when the database was asked something: it may be away."""
        if isinstance(error, StoreError):
            if not self.is_away and not self._stopped.is_set():
                log.warning("the database is away: %s", error)
            self.is_away = True
        elif not self._stopped.is_set():
            log.error("looking after the studies failed", exc_info=error)

    def _look(self) -> None:
        with self._lock:
            open_now = sorted(self._open.items())
        before = {name: one.study.seq for name, one in open_now}
        seqs = self.store.seqs()
        now = time.monotonic()
        checked = self._next_checked(list(before))
        for name, one in open_now:
            study, seq = one.study, seqs.get(name, -1)
            is_suspect = seq > study.seq or name in checked
            if seq < before[name] or (is_suspect and self.store.find(study.token) != name):
                self.drop(name)  # deleted, or deleted and made again
                continue
            if seq <= study.seq:
                one.seen_at = now
            if seq > study.seq or (one.proposals is not None and one.proposals.is_due):
                self._chore(name, "refresh", partial(self._refresh, one, seq))
        self._warm(seqs)
        if now >= self._next_expiry:
            self._next_expiry = now + _EXPIRE_EVERY_S
            for study in self.open_studies():
                if study.window_s is not None:
                    self._chore(study.name, "expire", study.expire)
        if self._retention_s is not None and now >= self._next_prune:
            self._next_prune = now + _PRUNE_EVERY_S
            unmade, until = self._unmade(), self.clock() - self._retention_s
            for name in seqs:
                if name not in unmade:
                    self._chore(name, "prune", partial(self._prune, name, until))

    def _next_checked(self, names: list[str]) -> set[str]:
        """Some of the studies in turn: one that was made again may have the same ``seq``."""
        start = self._n_checked % max(1, len(names))
        self._n_checked = start + _CHECKED_AT_ONCE
        return set((names + names)[start : start + _CHECKED_AT_ONCE])

    def _warm(self, names: dict[str, int]) -> None:
        unmade = self._unmade()
        room = _MAX_WARM - len(self._open)
        for name in names:
            if room > 0 and name not in self._open and name not in unmade:
                room -= 1
                self._chore(name, "open", partial(self.study, name))

    # --- in a thread of a study's lane ----------------------------------------------------------

    def _chore(self, name: str, kind: str, work: Job) -> None:
        """Do something for a study when its lane comes to it, unless it waits there already."""
        if (name, kind) not in self._chores:
            self._chores.add((name, kind))
            self.lanes.put(name, partial(self._do, name, kind, work))

    def _do(self, name: str, kind: str, work: Job) -> None:
        try:
            if not self._stopped.is_set():
                work()
        except UnknownStudy:
            self.drop(name)  # deleted by another process
        except StoreError as error:
            # Of this study alone, maybe: whether the database is away, the probe finds out.
            if not self.is_away and not self._stopped.is_set():
                log.warning("study %r: %s failed: %s", name, kind, error)
        except ImaboError as error:
            # A policy of someone's own, say: it is theirs to serve, not ours.
            log.debug("study %r: %s failed: %s", name, kind, error)
        finally:
            self._chores.discard((name, kind))

    def _refresh(self, one: _Open, seq: int) -> None:
        if seq > one.study.seq:
            one.study.refresh()
            one.seen_at = time.monotonic()
        if one.proposals is not None:
            one.proposals.refresh()

    def _prune(self, name: str, before: float) -> None:
        if self.store.outline(name).snapshot.rollout_seq:
            done = self.study(name).prune_some(before, _PRUNE_AT_ONCE)  # the lift takes them in
        else:
            done = self.store.prune(name, before=before, limit=_PRUNE_AT_ONCE)
        if done >= _PRUNE_AT_ONCE and not self._stopped.is_set():
            # At the end of the lane, so that requests come in between.
            again = partial(self._do, name, "prune", partial(self._prune, name, before))
            self.lanes.put(name, again)
