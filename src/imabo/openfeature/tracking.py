"""Tracked events that are rewards or signals."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from openfeature.track import TrackingEventDetails

from imabo.errors import InvalidSetting
from imabo.integration import Source
from imabo.settings import is_number
from imabo.space.scalars import show

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """What an event tells: a reward, or its own name's signal, and the signals beside it."""

    name: str
    is_reward: bool
    value: float | None
    numbers: Mapping[str, float]
    study: object
    pull: str | None

    @classmethod
    def of(
        cls,
        name: str,
        details: TrackingEventDetails | None,
        rewards: Mapping[str, float | None],
    ) -> Event:
        """The event of a call of ``track``."""
        given = None if details is None else details.value
        attributes = {} if details is None else details.attributes
        value = rewards.get(name) if given is None else given
        numbers = {
            one: float(number)
            for one, number in attributes.items()
            if is_number(number) or isinstance(number, bool)
        }
        pull = attributes.get("pull")
        return cls(
            name,
            name in rewards,
            float(value) if is_number(value) or isinstance(value, bool) else None,
            numbers,
            attributes.get("study"),
            pull if isinstance(pull, str) else None,
        )

    def meant(self, sources: Iterable[Source], owners: Mapping[str, str]) -> Iterator[Source]:
        """The studies that it may be about; an id says whose pull it is where that is known."""
        wanted = self.study
        if wanted is None and self.pull is not None:
            wanted = owners.get(self.pull.rpartition("-")[0])
        for source in sources:
            if wanted is None or wanted == source.name:
                yield source

    def tell(self, source: Source, name: Mapping[str, str]) -> None:
        """Tell what of it the study takes."""
        if self.is_reward and self.value is None:
            _log.warning("the event %r carries no number, so it is no reward", self.name)
            return
        wanted = dict(self.numbers)
        if not self.is_reward and self.value is not None:
            wanted[self.name] = self.value
        source.tell(name, self.value if self.is_reward else None, wanted)


def checked_rewards(rewards: Mapping[str, float | None]) -> dict[str, float | None]:
    """The events that are rewards, each with the value of one that carries none.

    Example:
        >>> checked_rewards({"reward": None, "bought": 1.0})
        {'reward': None, 'bought': 1.0}
    """
    for name, value in rewards.items():
        if value is not None and not is_number(value) and not isinstance(value, bool):
            what = f"the value of the event {show(name)} is {show(value)}"
            why = "it must be a finite number, or None for events that carry one"
            raise InvalidSetting(what, why, "correct it")
    return dict(rewards)
