"""The space of these tests, and what a study was told."""

from __future__ import annotations

from imabo import Choice, Float, Space, Study

SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
DEFAULT = {"model": "small", "temperature": 0.2}


class Broken(Exception):
    """What a function of these tests raises."""


def rewards(study: Study) -> list[float | None]:
    return [pull.reward for pull in study]
