"""The engine of a study: a view in memory, decisions made from it, a store that commits them.

``Study`` is its public face. The engine is not thread-safe; the study holds a lock around it.
"""

from __future__ import annotations

from collections.abc import Callable

from imabo.engine.asks import Asks
from imabo.engine.changes import Changes
from imabo.engine.comparison import Comparison
from imabo.engine.feasibility import Feasibility
from imabo.engine.replica import Replica
from imabo.engine.rewards import Rewards
from imabo.engine.rollouts import Rollouts
from imabo.errors import StoreClosed
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.stores.base import Snapshot, Store


class Engine:
    """The parts of one study at work, each called by its own name.

    Attributes:
        replica: The study as this process knows it, in step with the store.
        asks: Requests: decided, served and committed.
        rewards: Rewards and expiry.
        changes: Changes by hand.
        comparison: What the rewards say of tuned requests and of the control's.
        rollouts: Who gets the control.
        feasibility: Whether anything is within the budgets and limits.
        is_closed: Whether ``close`` was called.
    """

    def __init__(
        self,
        store: Store,
        snapshot: Snapshot,
        policy: Policy,
        oracle: Oracle,
        clock: Callable[[], float],
        *,
        owns_store: bool = False,
    ) -> None:
        self._owns_store = owns_store
        self.is_closed = False
        self.replica = Replica(store, snapshot, clock)
        self.asks = Asks(self.replica, policy, oracle)
        self.changes = Changes(self.replica)
        self.comparison = Comparison(self.replica)
        self.rollouts = Rollouts(self.replica, self.comparison)
        self.feasibility = Feasibility(self.replica)
        parts = self.changes, self.rollouts, self.feasibility
        self.rewards = Rewards(self.replica, self.asks, *parts)

    def close(self) -> None:
        """Release the store's file or connection, when it was opened for this study."""
        if not self.is_closed:
            self.is_closed = True
            if self._owns_store:
                self.replica.store.close()


def closed(name: str) -> StoreClosed:
    """The refusal of a study that was closed."""
    why, fix = "close() was called on it", "open it again with Study.open(name, store=...)"
    return StoreClosed(f"study {name!r} is closed", why, fix)
