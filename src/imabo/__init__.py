"""Tune a live system while it serves: an infinitely many-armed bandit with an oracle."""

from imabo import errors, oracles, policies
from imabo.arms import Arm, Pull
from imabo.recommend import Best
from imabo.space import Choice, Float, Int, Space
from imabo.study import Study

__all__ = [
    "Arm",
    "Best",
    "Choice",
    "Float",
    "Int",
    "Pull",
    "Space",
    "Study",
    "errors",
    "oracles",
    "policies",
]
