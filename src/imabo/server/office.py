"""The studies that this process has open, and what is done for them beside requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from imabo.errors import ImaboError, StoreError, UnknownStudy
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
_MAX_WARM: Final = 100  # studies that are opened before anyone asks for them


class Office:
    """The process's open studies on one store: one ``Study`` a name, kept up to date.

    A thread follows what other processes write, expires what is past its window and forgets what
    is past its retention. Everything here blocks; the event loop calls it in threads.

    Args:
        store: Shared by all studies; the caller closes it.
        clock: The clock of every study.
        poll_s: How long the thread waits for news, at most.
        retention_s: How long finished pulls are kept; None is for ever.
        proposals: Prepares proposals; None lets each ask call the oracle itself.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        poll_s: float = 1.0,
        retention_s: float | None = None,
        proposals: Proposals | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.proposals = proposals
        self.is_away = False  # whether the database did not answer when it was last tried
        self._poll_s = poll_s
        self._retention_s = retention_s
        self._lock = threading.RLock()
        self._open: dict[str, Study] = {}
        self._tokens: dict[str, str] = {}  # token -> name
        self._making: set[str] = set()  # tokens of studies that are not whole yet
        self._seen: dict[str, float] = {}  # name -> when its view was last known to be true
        self._next_expiry = self._next_prune = 0.0
        self._probed_at = -1e9
        self._n_checked = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="imabo-office", daemon=True)

    def start(self) -> None:
        """Start following the store."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following; the studies stay usable until the store is closed."""
        self._stopped.set()
        self._thread.join(self._poll_s + 5.0)
        if self.proposals is not None:
            self.proposals.close()

    # --- studies --------------------------------------------------------------------------------

    def study(self, name: str) -> Study:
        """The study of that name, opened when it is not open yet."""
        found = self._open.get(name)
        if found is not None:
            return found
        with self._lock:
            found = self._open.get(name)
            if found is None:
                try:
                    found = Study.open(name, store=self.store, clock=self.clock)
                except UnknownStudy:
                    raise unknown_study(name) from None
                if self.is_making(found.token):
                    raise unknown_study(name)
                if self.proposals is not None:
                    self.proposals.attach(found)
                self._open[name] = found
                self._tokens[found.token] = name
                self._seen[name] = time.monotonic()
            return found

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
        with self._lock:
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
        self._seen[study.name] = time.monotonic()
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

    def probe(self) -> bool:
        """Whether the database answers; asked at most every half second."""
        now = time.monotonic()
        if now - self._probed_at >= _PROBE_EVERY_S:
            self._probed_at = now
            try:
                self.store.seqs()
                self.is_away = False
            except Exception as error:  # whatever a driver raises, the database is away
                self._lost(error)
        return not self.is_away

    def _follow(self) -> None:
        while not self._stopped.is_set():
            try:
                self._look()
                self.is_away = False
                self.store.wait(self._poll_s)
            except Exception as error:  # the thread must live as long as the process
                self._lost(error)
                self._stopped.wait(min(self._poll_s, _PROBE_EVERY_S))

    def _lost(self, error: Exception) -> None:
        if isinstance(error, StoreError):
            if not self.is_away and not self._stopped.is_set():
                _log.warning("the database is away: %s", error)
            self.is_away = True
        elif not self._stopped.is_set():
            _log.error("looking after the studies failed", exc_info=error)

    def _look(self) -> None:
        before = {study.name: study.seq for study in self.open_studies()}
        seqs = self.store.seqs()
        now = time.monotonic()
        checked = self._next_checked(list(before))
        for study in self.open_studies():
            name = study.name
            if name not in before:
                continue
            seq = seqs.get(name, -1)
            is_suspect = seq > study.seq or name in checked
            if seq < before[name] or (is_suspect and self.store.find(study.token) != name):
                self.drop(name)  # deleted, or deleted and made again
            else:
                if seq > study.seq:
                    study.refresh()
                self._seen[name] = now
                if self.proposals is not None:
                    self.proposals.look(study)
        self._warm(seqs)
        if now >= self._next_expiry:
            self._next_expiry = now + _EXPIRE_EVERY_S
            self._expire()
        if self._retention_s is not None and now >= self._next_prune:
            self._next_prune = now + _PRUNE_EVERY_S
            self._prune(list(seqs), self.clock() - self._retention_s)

    def _next_checked(self, names: list[str]) -> set[str]:
        """Some of the studies in turn: one that was made again may have the same ``seq``."""
        start = self._n_checked % max(1, len(names))
        self._n_checked = start + _CHECKED_AT_ONCE
        return set((names + names)[start : start + _CHECKED_AT_ONCE])

    def _warm(self, names: dict[str, int]) -> None:
        unmade = self._unmade()
        for name in names:
            if len(self._open) >= _MAX_WARM or self._stopped.is_set():
                return
            if name not in self._open and name not in unmade:
                try:
                    self.study(name)
                except StoreError:
                    raise
                except ImaboError as error:
                    # A policy of someone's own, say: it is theirs to serve, not ours.
                    _log.debug("study %r cannot be opened here: %s", name, error)

    def _expire(self) -> None:
        for study in self.open_studies():
            if study.window_s is not None:
                study.expire()

    def _prune(self, names: list[str], before: float) -> None:
        unmade = self._unmade()
        for name in names:
            if name in unmade:
                continue
            while not self._stopped.is_set():
                try:
                    done = self.store.prune(name, before=before, limit=_PRUNE_AT_ONCE)
                except UnknownStudy:
                    break
                if done < _PRUNE_AT_ONCE:
                    break
