"""Tune a live system while it serves: an infinitely many-armed bandit with an oracle."""

from typing import TYPE_CHECKING, Any

from imabo import errors, oracles, policies
from imabo.arms import Arm, Pull
from imabo.control import Control
from imabo.decorator import tuned
from imabo.engine.requests import Request, Reward
from imabo.evaluation import Guardrail
from imabo.events import Event
from imabo.lifting import LiftReport
from imabo.objective import Limit, Objective, Signal
from imabo.recommend import Best
from imabo.space import Choice, Float, Int, Space
from imabo.study import Study

if TYPE_CHECKING:
    from imabo.client import AsyncClient, Client

__version__ = "0.1.0"  # the wheel takes it from here

__all__ = [
    "Arm",
    "AsyncClient",
    "Best",
    "Choice",
    "Client",
    "Control",
    "Event",
    "Float",
    "Guardrail",
    "Int",
    "LiftReport",
    "Limit",
    "Objective",
    "Pull",
    "Request",
    "Reward",
    "Signal",
    "Space",
    "Study",
    "errors",
    "oracles",
    "policies",
    "tuned",
]


def __getattr__(name: str) -> Any:
    # On first use: the clients need httpx, which is an extra, and takes its time to load.
    if name in ("AsyncClient", "Client"):
        from imabo import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
