"""What every part of ``Study`` works on."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from imabo.engine import Engine


class StudyBase(ABC):
    """A study's engine, and the lock around it."""

    _lock: threading.RLock
    _engine: Engine

    @abstractmethod
    def _live(self) -> Engine:
        """The engine, while the study is open; ``StoreClosed`` after that."""
