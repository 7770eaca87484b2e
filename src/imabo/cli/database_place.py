"""Studies in a database, opened by this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, TextIO

from imabo import insight
from imabo.arms import Arm, ArmState
from imabo.cli.places import TableQuery
from imabo.documents import Document, event_document, study_document
from imabo.errors import UnknownStudy
from imabo.recommend import Best
from imabo.space import Config, Space
from imabo.stores import Store
from imabo.study import Study

_MAX_AGE_S: Final = 0.05  # of facts that are shown again


class DatabasePlace:
    """A store that this process reads and writes itself.

    Args:
        store: An open one; it stays open.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._studies: dict[str, Study] = {}
        self._facts: dict[str, tuple[float, insight.StudySnapshot]] = {}

    def studies(self) -> list[Document]:
        """Every study."""
        found = []
        for name in self._store.names():
            try:
                found.append(study_document(self._store.load(name)))
            except UnknownStudy:  # deleted a moment ago
                continue
        return found

    def study(self, name: str) -> Document:
        """A study."""
        return study_document(self._store.load(name))

    def overview(self, name: str, trend: int = 0) -> Document:
        """Its key figures."""
        facts = self._read(name)
        found = asdict(insight.overview(facts))
        return found | {"trend": _picked(insight.reward(facts).rolling, trend)} if trend else found

    def table(self, name: str, query: TableQuery) -> Document:
        """Its arms with intervals."""
        options: dict[str, Any] = dict(query)
        if "states" in options:
            options["states"] = options["states"].split(",")
        return asdict(insight.arm_table(self._read(name), **options))

    def report(self, name: str) -> str:
        """Its figures as one HTML file."""
        return insight.report(self._read(name))

    def best(self, name: str, level: float) -> Best:
        """Its recommendation."""
        return self._open(name).best(level)

    def events(self, name: str, limit: int) -> list[Document]:
        """What happened to it."""
        return [event_document(event) for event in self._open(name).events(limit)]

    def arms(self, name: str) -> list[Arm]:
        """Its arms."""
        return self._open(name).arms()

    def put_state(self, name: str, arm: int, state: ArmState) -> Arm:
        """Pause, resume or retire an arm."""
        study = self._open(name)
        verbs = {"active": study.resume, "paused": study.pause, "retired": study.retire}
        return verbs[state](arm)

    def add_arm(self, name: str, config: Config) -> Arm:
        """Admit a configuration."""
        return self._open(name).add_arm(config)

    def add_arms(self, name: str, configs: Sequence[Config]) -> list[Arm]:
        """Admit configurations together."""
        return self._open(name).add_arms(configs)

    def preview_space(self, name: str, space: Space) -> Document:
        """What another space would do to the arms."""
        return asdict(insight.preview_space(self._read(name), space))

    def update_space(self, name: str, space: Space) -> None:
        """Move on to another space."""
        self._open(name).update_space(space)

    def export(self, name: str, file: TextIO, form: str) -> None:
        """Write a study to a file."""
        self._open(name).export(file, form)

    def delete(self, name: str) -> None:
        """Delete a study."""
        self._studies.pop(name, None)
        self._store.delete(name)

    def close(self) -> None:
        """Close the studies; the store belongs to whoever opened it."""
        for study in self._studies.values():
            study.close()

    def _open(self, name: str) -> Study:
        if name not in self._studies:
            self._studies[name] = Study.open(name, store=self._store)
        return self._studies[name]

    def _read(self, name: str) -> insight.StudySnapshot:
        """The facts of a study; what one command shows together is read once."""
        at, facts = self._facts.get(name, (-1.0, None))
        if facts is None or time.monotonic() - at > _MAX_AGE_S:
            facts = insight.read(self._open(name))
            self._facts[name] = time.monotonic(), facts
        return facts


def _picked(values: list[float | None], most: int) -> list[float | None]:
    """At most so many of the values, the newest one always; as the service picks them."""
    n = len(values)
    return values if n <= most else [values[(n - 1) * (i + 1) // most] for i in range(most)]
