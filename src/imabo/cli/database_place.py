"""Studies in a database, opened by this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from imabo import insight
from imabo.cli.places import TableQuery
from imabo.documents import Document, study_document
from imabo.engine.rollouts import check_allowed
from imabo.errors import UnknownStudy
from imabo.event_kinds import checked_kinds
from imabo.events import events_page
from imabo.space import Space
from imabo.stores import Store
from imabo.study import Study

_MAX_AGE_S: Final = 0.05  # of a snapshot that is shown again


class DatabasePlace:
    """A store that this process reads and writes itself, and that stays open."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._studies: dict[str, Study] = {}
        self._read_at: dict[str, tuple[float, insight.StudySnapshot]] = {}

    def named(self, name: str) -> Study:
        """A study to call; the verbs of both places' are the same."""
        if name not in self._studies:
            self._studies[name] = Study.open(name, store=self._store)
        return self._studies[name]

    def studies(self) -> list[Document]:
        """Every study."""
        found = []
        for name in self._store.names():
            try:
                found.append(self.study(name))
            except UnknownStudy:  # deleted a moment ago
                continue
        return found

    def study(self, name: str) -> Document:
        """A study; ``UnknownStudy`` when there is none."""
        return study_document(self._store.outline(name))

    def overview(self, name: str, trend: int = 0) -> Document:
        """Its key figures, with so many points of the reward over time."""
        snapshot = self._read(name)
        found = insight.overview_document(insight.overview(snapshot))
        if not trend:
            return found
        return found | {"trend": insight.trend(snapshot, trend)}

    def table(self, name: str, query: TableQuery) -> Document:
        """Its arms with intervals; see ``imabo.insight.arm_table``."""
        options: dict[str, Any] = dict(query)
        if "states" in options:
            options["states"] = options["states"].split(",")
        return asdict(insight.arm_table(self._read(name), **options))

    def report(self, name: str) -> str:
        """Its figures as one HTML file."""
        return insight.report(self._read(name))

    def preview_space(self, name: str, space: Space) -> Document:
        """What another space would do to the arms; one that would be refused is."""
        check_allowed(self.named(name).rollout, space)
        return asdict(insight.preview_space(self._read(name), space))

    def events(
        self, study: str | None, kinds: Sequence[str], limit: int, after: int | None = None
    ) -> Document:
        """A page of what happened, to a study or anywhere."""
        wanted = checked_kinds(kinds)
        return events_page(self._store, study, after=after, kinds=wanted, limit=limit)

    def delete(self, name: str) -> None:
        """Delete a study."""
        self._studies.pop(name, None)
        self._store.delete(name)

    def close(self) -> None:
        """Close the studies; the store belongs to whoever opened it."""
        for study in self._studies.values():
            study.close()

    def _read(self, name: str) -> insight.StudySnapshot:
        """A snapshot of a study; what one command shows together is read once."""
        at, snapshot = self._read_at.get(name, (-1.0, None))
        if snapshot is None or time.monotonic() - at > _MAX_AGE_S:
            snapshot = insight.read(self.named(name))
            self._read_at[name] = time.monotonic(), snapshot
        return snapshot
