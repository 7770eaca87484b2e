"""One call of a tuned function: its pull, how long it took, and where its reward goes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

from imabo.arms import Pull
from imabo.decorator.asking import Asking
from imabo.errors import UnknownPull

Told = TypeVar("Told", covariant=True)
Outcome = Literal["waiting", "running", "returned", "raised", "abandoned"]

_tasks: set[asyncio.Task[None]] = set()  # a loop alone would let go of them


class TunedCall(Generic[Told]):
    """One call of a tuned function, as ``answer.last`` shows it.

    Attributes:
        pull: What the study chose; None before that, and for a call that passed a parameter itself.
        key: The caller's name for the request, when there is one.
        context: What was stored with the pull.
        outcome: ``waiting`` for the study or for the first item to be taken, ``running``,
            ``returned``, ``raised``, or ``abandoned`` by whoever took its items or awaited it.
        latency_s: Seconds from the start of the function to its end, of a stream to its last item
            (with what its reader took between two of them); None before. The ask is not in it.
        first_item_s: Seconds to the first item of a stream; None before, and for others.
    """

    def __init__(self, asking: Asking, name: str, key: str | None, context: object) -> None:
        self._asking = asking
        self._name = name
        self._began_at: float | None = None
        self.pull: Pull | None = None
        self.key = key
        self.context = context
        self.is_own = False  # whether the caller passed a parameter itself
        self.outcome: Outcome = "waiting"
        self.latency_s: float | None = None
        self.first_item_s: float | None = None

    @property
    def is_counted(self) -> bool:
        """Whether a reward of this call goes to a study; not for a default, or the caller's own."""
        return self.pull is not None and self.pull.arm != 0 and not self.is_own

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the pull."""
        return {} if self.pull is None else self.pull.config

    def tell(self, reward: float, *, signals: Mapping[str, float] | None = None) -> Told:
        """Tell the reward of this call, as ``study.tell`` does for its pull, and signals with it.

        With a study of an ``AsyncClient`` it is under way when this returns, and the task that is
        returned may be awaited. The reward of a call that is not counted is dropped.
        """
        value = self._asking.checked(reward)
        told_with = {} if signals is None else {"signals": dict(signals)}
        if self.outcome == "waiting":
            raise UnknownPull(
                f"a call of {self._name} has no pull yet",
                "a stream asks for its configuration when its first item is taken",
                "tell the reward after that",
            )
        told: Any = None
        if self._asking.is_awaited:
            told = asyncio.get_running_loop().create_task(self._told(value, told_with))
            _tasks.add(told)
            told.add_done_callback(_tasks.discard)
        elif self.is_counted and self.pull is not None:
            self._asking.study.tell(self.pull.id, value, **told_with)
            self._note(self.pull, value)
        result: Told = told
        return result

    async def _told(self, value: float, told_with: Mapping[str, Any]) -> None:
        if self.is_counted and self.pull is not None:
            await self._asking.study.tell(self.pull.id, value, **told_with)
            self._note(self.pull, value)

    def _note(self, pull: Pull, value: float) -> None:
        pull.reward, pull.state = value, "rewarded"

    def start(self) -> None:
        """Begin to measure."""
        self.outcome, self._began_at = "running", time.perf_counter()

    def mark_item(self) -> None:
        """An item of a stream came."""
        if self.first_item_s is None and self._began_at is not None:
            self.first_item_s = time.perf_counter() - self._began_at

    def end(self, outcome: Outcome) -> None:
        """The function ended so; what comes after its end changes nothing."""
        if self.outcome in ("waiting", "running"):
            self.outcome = outcome
            if self._began_at is not None:
                self.latency_s = time.perf_counter() - self._began_at

    def __repr__(self) -> str:
        served = "no pull" if self.pull is None else f"pull {self.pull.id}: {self.config}"
        return f"<call of {self._name}, {self.outcome}, {served}>"
