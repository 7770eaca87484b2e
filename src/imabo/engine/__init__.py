"""The engine of a study: a view in memory, decisions made from it, a store that commits them.

``Study`` is its public face. The engine is not thread-safe; the study holds a lock around it.
"""

from __future__ import annotations

from collections.abc import Callable

from imabo.engine.asks import Asks
from imabo.engine.changes import Changes
from imabo.engine.decisions import Decisions
from imabo.engine.replica import Replica
from imabo.engine.rewards import Rewards
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.stores.base import Snapshot, Store


class Engine:
    """The parts of one study at work, each called by its own name.

    Attributes:
        replica: The study as this process knows it, in step with the store.
        decisions: What to serve, decided from the view alone.
        asks: Requests, served and committed.
        rewards: Rewards and expiry.
        changes: Changes by hand.
    """

    def __init__(
        self,
        store: Store,
        snapshot: Snapshot,
        policy: Policy,
        oracle: Oracle,
        clock: Callable[[], float],
    ) -> None:
        self.replica = Replica(store, snapshot, clock)
        self.decisions = Decisions(self.replica, policy, oracle)
        self.asks = Asks(self.replica, self.decisions)
        self.changes = Changes(self.replica)
        self.rewards = Rewards(self.replica, self.decisions, self.changes)
