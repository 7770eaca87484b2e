"""What the clients sent and what they were told: the other side of the comparison."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Pulled = dict[str, Any]  # a pull as the API shows it

# What an ask hands out; the rest of a pull changes when its reward comes.
LASTING = ("id", "study", "arm", "config", "reason", "served_at", "context")


@dataclass(eq=False)
class Asked:
    """One ask, however often it was sent. Without a key it is sent once."""

    study: str
    key: str | None
    count: int
    context: Any
    pulls: list[Pulled] | None = None  # once they were acknowledged

    @property
    def body(self) -> dict[str, Any]:
        """The body of the request."""
        body: dict[str, Any] = {"count": self.count}
        if self.key is not None:
            body["key"] = self.key
        if self.context is not None:
            body["context"] = self.context
        return body


def cost_of(pull: str) -> float:
    """The signal of a pull: with all its digits, and anybody can work it out again."""
    return int(hashlib.sha1(pull.encode()).hexdigest()[:13], 16) / 2**52


@dataclass(eq=False)
class Told:
    """All that was sent about the reward of one pull, or about its signal."""

    sent: set[float] = field(default_factory=set)
    acknowledged: set[float] = field(default_factory=set)
    refused: set[float] = field(default_factory=set)


class History:
    """Everything that the clients know, and what contradicted it at once."""

    def __init__(self) -> None:
        self.asks: list[Asked] = []
        self.tolds: dict[str, Told] = {}
        self.costs: dict[str, Told] = {}  # the same of their signal
        self.costed: list[str] = []  # the pulls whose signal was acknowledged
        self.contradictions: list[str] = []
        self.counts: Counter[str] = Counter()

    @property
    def n_acknowledged(self) -> int:
        """Rewards that were acknowledged, each once."""
        return self.counts["rewards acknowledged"]

    def asked(self, study: str, key: str | None, count: int, context: Any) -> Asked:
        """An ask is about to be sent."""
        asked = Asked(study, key, count, context)
        self.asks.append(asked)
        return asked

    def got(self, asked: Asked, pulls: list[Pulled]) -> bool:
        """An ask was answered; whether that was its first answer."""
        handed_out = [{key: pull[key] for key in LASTING} for pull in pulls]
        if asked.pulls is None:
            asked.pulls = handed_out
            self.counts["pulls acknowledged"] += len(pulls)
            if len(pulls) != asked.count:
                self.contradict(f"{asked.count} pulls were asked for and came as {pulls}")
            return True
        self.counts["asks repeated"] += 1
        if handed_out != asked.pulls:
            self.contradict(f"key {asked.key} gave {asked.pulls}, then {handed_out}")
        return False

    def telling(self, pull: str, value: float) -> Told:
        """A reward is about to be sent."""
        told = self.tolds.setdefault(pull, Told())
        told.sent.add(value)
        return told

    def costing(self, pull: str, value: float) -> Told:
        """A signal is about to be sent, alone or with a reward."""
        told = self.costs.setdefault(pull, Told())
        told.sent.add(value)
        return told

    def cost_recorded(self, pull: str, value: float) -> None:
        """A signal was acknowledged."""
        told = self.costs[pull]
        self.counts["signals repeated" if told.acknowledged else "signals acknowledged"] += 1
        if not told.acknowledged:
            self.costed.append(pull)
        told.acknowledged.add(value)
        if len(told.acknowledged) > 1 or value in told.refused:
            self.contradict(f"pull {pull}: the signal {value} was recorded beside {told}")

    def has_cost(self, pull: str) -> bool:
        """Whether a signal of the pull was acknowledged."""
        return pull in self.costs and bool(self.costs[pull].acknowledged)

    def cost_conflicted(self, pull: str, value: float) -> None:
        """A signal was refused because the pull has another value of it."""
        self.counts["signal conflicts"] += 1
        self.costs[pull].refused.add(value)

    def recorded(self, pull: str, value: float) -> None:
        """A reward was acknowledged."""
        told = self.tolds[pull]
        if not told.acknowledged:
            self.counts["rewards acknowledged"] += 1
        elif value in told.acknowledged:
            self.counts["rewards repeated"] += 1
        told.acknowledged.add(value)
        if len(told.acknowledged) > 1 or value in told.refused:
            self.contradict(f"pull {pull}: {value} was recorded beside {told}")

    def conflicted(self, pull: str, value: float) -> None:
        """A reward was refused because the pull has another."""
        self.counts["conflicts"] += 1
        told = self.tolds[pull]
        told.refused.add(value)
        if value in told.acknowledged:
            self.contradict(f"pull {pull}: {value} was recorded and then refused")

    def contradict(self, what: str) -> None:
        """Something was answered that cannot be."""
        self.contradictions.append(f"client: {what}")
