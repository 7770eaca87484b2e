"""The studies that this process has open, and what is done for them beside requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from imabo.errors import ImaboError, StoreError, UnknownStudy
from imabo.server.lanes import MOST_THREADS, Lanes
from imabo.server.problems import unknown_study
from imabo.server.proposals import Proposals
from imabo.stores.base import Store
from imabo.study import Study

_log: Final = logging.getLogger("imabo.server")

_EXPIRE_EVERY_S: Final = 10.0
_PRUNE_EVERY_S: Final = 60.0
_PRUNE_AT_ONCE: Final = 10_000
_PROBE_EVERY_S: Final = 0.5
_CHECKED_AT_ONCE: Final = 20
_STOP_S: Final = 1.0  # for the thread to end; it cannot while a frozen database does not answer
_MAX_WARM: Final = 100  # studies that are opened before anyone asks for them


@dataclass(slots=True)
class _Door:
    lock: threading.Lock = field(default_factory=threading.Lock)
    n_users: int = 0


class Registry:
    """The process's open studies on one store: one ``Study`` a name, kept up to date.

    A thread follows what other processes write; what is to be done about it (reading a study again,
    expiring what is past its window, forgetting what is past its retention) is done in the lane of
    the study, so that one that is locked keeps no other from it. Everything here blocks; the event
    loop calls it in threads.

    Args:
        store: Shared by all studies; the caller closes it.
        clock: The clock of every study.
        poll_s: How long the thread waits for news, at most.
        retention_s: How long finished pulls are kept; None is for ever.
        proposals: Prepares proposals; None lets each ask call the oracle itself.
        threads: How many threads work for studies, at most.
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
        self.proposals = proposals
        self.is_away = False  # whether the database did not answer when it was last tried
        # When a request was last committed, and when one last failed, on the monotonic clock.
        self.wrote_at = self.failed_at = -1e9
        self._poll_s = poll_s
        self._retention_s = retention_s
        self._lock = threading.RLock()  # held for moments only, never while the store is asked
        self._opening: dict[str, _Door] = {}  # of studies that are opened or deleted now
        self._open: dict[str, Study] = {}
        self._tokens: dict[str, str] = {}  # token -> name
        self._making: set[str] = set()  # tokens of studies that are not whole yet
        self._seen: dict[str, float] = {}  # name -> when its view was last known to be true
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
        if self.proposals is not None:
            self.proposals.close()

    # --- studies --------------------------------------------------------------------------------

    def study(self, name: str) -> Study:
        """The study of that name, opened when it is not open yet."""
        found = self._open.get(name)
        if found is not None:
            return found
        with self._only_one(name):
            found = self._open.get(name)
            if found is None:
                try:
                    found = Study.open(name, store=self.store, clock=self.clock)
                except UnknownStudy:
                    raise unknown_study(name) from None
                if self.is_making(found.token):
                    raise unknown_study(name)
                with self._lock:
                    if self.proposals is not None:
                        self.proposals.attach(found)
                    self._open[name] = found
                    self._tokens[found.token] = name
                    self._seen[name] = time.monotonic()
            return found

    @contextmanager
    def _only_one(self, name: str) -> Iterator[None]:
        """Open or delete a study in one thread at a time; other studies do not wait for it."""
        with self._lock:
            door = self._opening.setdefault(name, _Door())
            door.n_users += 1
        try:
            with door.lock:
                yield
        finally:
            with self._lock:
                door.n_users -= 1
                if not door.n_users:
                    del self._opening[name]

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
            found = self._open.pop(name, None)
            self._seen.pop(name, None)
            self._tokens = {token: known for token, known in self._tokens.items() if known != name}
            if found is not None and self.proposals is not None:
                self.proposals.detach(name)

    def delete(self, name: str) -> None:
        """Delete a study for good."""
        with self._only_one(name):
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
        self._seen[study.name] = self.wrote_at = time.monotonic()
        if self.proposals is not None:
            try:
                self.proposals.look(study)
            except Exception as error:  # what was committed must be answered all the same
                _log.error("preparing a proposal failed", exc_info=error)

    def open_studies(self) -> list[Study]:
        """The studies that are open, by name."""
        with self._lock:
            return [self._open[name] for name in sorted(self._open)]

    def n_drifts(self) -> dict[str, int]:
        """How many changes the open studies noticed here, by name; never blocks."""
        return {study.name: study.n_drifts for study in list(self._open.values())}

    def age_s(self, name: str) -> float:
        """How long ago the view of an open study was last known to be true."""
        seen = self._seen.get(name)
        return 0.0 if seen is None else time.monotonic() - seen

    def n_ready(self, name: str) -> int:
        """How many proposals of a study wait to be taken."""
        return 0 if self.proposals is None else self.proposals.ready(name)

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
                _log.warning("the database is away: %s", error)
            self.is_away = True
        elif not self._stopped.is_set():
            _log.error("looking after the studies failed", exc_info=error)

    def _look(self) -> None:
        open_studies = self.open_studies()
        before = {study.name: study.seq for study in open_studies}
        seqs = self.store.seqs()
        now = time.monotonic()
        checked = self._next_checked(list(before))
        for study in open_studies:
            name = study.name
            seq = seqs.get(name, -1)
            is_suspect = seq > study.seq or name in checked
            if seq < before[name] or (is_suspect and self.store.find(study.token) != name):
                self.drop(name)  # deleted, or deleted and made again
                continue
            if seq <= study.seq:
                self._seen[name] = now
            if seq > study.seq or (self.proposals is not None and self.proposals.is_due(name)):
                self._chore(name, "refresh", partial(self._refresh, study, seq))
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

    def _chore(self, name: str, kind: str, work: Callable[[], object]) -> None:
        """Do something for a study when its lane comes to it, unless it waits there already."""
        if (name, kind) not in self._chores:
            self._chores.add((name, kind))
            self.lanes.put(name, partial(self._do, name, kind, work))

    def _do(self, name: str, kind: str, work: Callable[[], object]) -> None:
        try:
            if not self._stopped.is_set():
                work()
        except UnknownStudy:
            self.drop(name)  # deleted by another process
        except StoreError as error:
            # Of this study alone, maybe: whether the database is away, the probe finds out.
            if not self.is_away and not self._stopped.is_set():
                _log.warning("study %r: %s failed: %s", name, kind, error)
        except ImaboError as error:
            # A policy of someone's own, say: it is theirs to serve, not ours.
            _log.debug("study %r: %s failed: %s", name, kind, error)
        finally:
            self._chores.discard((name, kind))

    def _refresh(self, study: Study, seq: int) -> None:
        if seq > study.seq:
            study.refresh()
            self._seen[study.name] = time.monotonic()
        if self.proposals is not None:
            self.proposals.look(study)

    def _prune(self, name: str, before: float) -> None:
        done = self.store.prune(name, before=before, limit=_PRUNE_AT_ONCE)
        if done >= _PRUNE_AT_ONCE and not self._stopped.is_set():
            # At the end of the lane, so that requests come in between.
            again = partial(self._do, name, "prune", partial(self._prune, name, before))
            self.lanes.put(name, again)
