"""Studies of a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any, Final

from imabo.cli.console import Step
from imabo.cli.places import TableQuery
from imabo.client import Client, Imported, RemoteStudy
from imabo.documents import Document
from imabo.space import Space

_TIMEOUT_S: Final = 30.0  # a report of a large study takes its time


class ServicePlace:
    """A service that answers for its studies, with the methods of ``DatabasePlace``."""

    def __init__(self, url: str, key: str | None) -> None:
        self._client = Client(url, key=key, timeout_s=_TIMEOUT_S, retries=1, flush_s=0.0)
        self.delete, self.close = self._client.delete, self._client.close

    def create(self, name: str, settings: dict[str, Any]) -> Document:
        """Make a study, or find that it is there; see ``Client.create``."""
        return dict(self._client.create(name, **settings).facts().document)

    def named(self, name: str) -> RemoteStudy:
        """A study to call."""
        return self._client.study(name)

    def studies(self) -> list[Document]:
        """Every study that the key may see."""
        return [dict(facts.document) for facts in self._client.facts()]

    def study(self, name: str) -> Document:
        """A study."""
        return dict(self.named(name).facts().document)

    def overview(self, name: str, trend: int = 0) -> Document:
        """Its key figures."""
        return self.named(name).overview(trend)

    def table(self, name: str, query: TableQuery) -> Document:
        """Its arms with intervals."""
        return self.named(name).table(**query)

    def report(self, name: str) -> str:
        """Its figures as one HTML file."""
        return self.named(name).report()

    def preview_space(self, name: str, space: Space) -> Document:
        """What another space would do to the arms."""
        return self.named(name).preview_space(space)

    def events(
        self, study: str | None, kinds: Sequence[str], limit: int, after: int | None = None
    ) -> Document:
        """A page of what happened, to a study or anywhere."""
        return self._client.events(study, after=after, kind=",".join(kinds), limit=limit)

    def import_study(self, source: str | IO[bytes], name: str | None, step: Step) -> Imported:
        """Make a study from a log."""
        return self._client.import_study(source, name=name, sent=step)
