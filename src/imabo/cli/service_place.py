"""Studies of a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Final, TextIO

from imabo.arms import Arm, ArmState
from imabo.cli.places import TableQuery
from imabo.cli.progress import Step
from imabo.client import Client, Imported, RemoteStudy
from imabo.documents import Document, event_document
from imabo.recommend import Best
from imabo.space import Config, Space

_TIMEOUT_S: Final = 30.0  # a report of a large study takes its time


class ServicePlace:
    """A service that answers for its studies.

    Args:
        url: Its address.
        key: The access key, when it asks for one.
    """

    def __init__(self, url: str, key: str | None) -> None:
        self._client = Client(url, key=key, timeout_s=_TIMEOUT_S, retries=1, flush_s=0.0)

    def studies(self) -> list[Document]:
        """Every study that the key may see."""
        return [dict(facts.document) for facts in self._client.facts()]

    def study(self, name: str) -> Document:
        """A study."""
        return dict(self._named(name).facts().document)

    def overview(self, name: str, trend: int = 0) -> Document:
        """Its key figures."""
        return self._named(name).overview(trend)

    def table(self, name: str, query: TableQuery) -> Document:
        """Its arms with intervals."""
        return self._named(name).table(**query)

    def report(self, name: str) -> str:
        """Its figures as one HTML file."""
        return self._named(name).report()

    def best(self, name: str, level: float) -> Best:
        """Its recommendation."""
        return self._named(name).best(level)

    def events(self, name: str, limit: int) -> list[Document]:
        """What happened to it."""
        return [event_document(event) for event in self._named(name).events(limit)]

    def arms(self, name: str) -> list[Arm]:
        """Its arms."""
        return self._named(name).arms()

    def put_state(self, name: str, arm: int, state: ArmState) -> Arm:
        """Pause, resume or retire an arm."""
        study = self._named(name)
        verbs = {"active": study.resume, "paused": study.pause, "retired": study.retire}
        return verbs[state](arm)

    def add_arm(self, name: str, config: Config) -> Arm:
        """Admit a configuration."""
        return self._named(name).add_arm(config)

    def add_arms(self, name: str, configs: Sequence[Config]) -> list[Arm]:
        """Admit configurations together."""
        return self._named(name).add_arms(configs)

    def preview_space(self, name: str, space: Space) -> Document:
        """What another space would do to the arms."""
        return self._named(name).preview_space(space)

    def update_space(self, name: str, space: Space) -> None:
        """Move on to another space."""
        self._named(name).update_space(space)

    def export(self, name: str, file: TextIO, form: str) -> None:
        """Write a study to a file."""
        self._named(name).export(file, form)

    def import_study(self, source: str | IO[bytes], name: str | None, step: Step) -> Imported:
        """Make a study from a log."""
        return self._client.import_study(source, name=name, sent=step)

    def delete(self, name: str) -> None:
        """Delete a study."""
        self._client.delete(name)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _named(self, name: str) -> RemoteStudy:
        return self._client.study(name)
