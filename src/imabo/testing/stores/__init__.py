"""The contract of a store as tests, for your own store as well as for ours.

Subclass ``StoreContract`` in a test module and give it a fixture ``store`` that makes a fresh and
empty store; for a store that outlives its process, give it a method ``reopen`` as well::

    import pytest
    from imabo.testing import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            store = MyStore(tmp_path / "studies")
            yield store
            store.close()

        def reopen(self, store):
            store.close()
            return MyStore(store.path)

pytest then checks every sentence of the contract in ``imabo.stores.base``. In ``conftest.py``,
``pytest.register_assert_rewrite("imabo.testing")`` makes failures show their values.
"""

from __future__ import annotations

from imabo.testing.stores.batches import BatchCases, TurnCases
from imabo.testing.stores.clocks import ClockCases
from imabo.testing.stores.documents import DocumentCases
from imabo.testing.stores.history import HistoryCases
from imabo.testing.stores.known import KnownCases
from imabo.testing.stores.lifecycle import LifecycleCases
from imabo.testing.stores.outbox import OutboxCases
from imabo.testing.stores.rewards import RewardCases
from imabo.testing.stores.rollouts import RolloutCases
from imabo.testing.stores.serving import ServingCases
from imabo.testing.stores.signals import SignalCases
from imabo.testing.stores.upkeep import UpkeepCases

__all__ = ["StoreContract"]


class StoreContract(
    LifecycleCases,
    ServingCases,
    RewardCases,
    SignalCases,
    BatchCases,
    TurnCases,
    DocumentCases,
    HistoryCases,
    RolloutCases,
    KnownCases,
    ClockCases,
    UpkeepCases,
    OutboxCases,
):
    """What every store must do; subclass it with a fixture ``store``.

    Example:
        >>> import pytest
        >>> from imabo.stores import MemoryStore
        >>> class TestMemoryStore(StoreContract):
        ...     @pytest.fixture
        ...     def store(self):
        ...         return MemoryStore()
    """
