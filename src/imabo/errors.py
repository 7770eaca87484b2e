"""Every error imabo raises on purpose, in one tree.

Each class has a stable ``code`` (the HTTP API sends it as it is) and each message has three parts:
what happened, with the value; why that was refused; what to do about it.
"""

from __future__ import annotations

import re
from typing import ClassVar


class ImaboError(Exception):
    """Root of the tree; catch it to catch everything imabo raises on purpose.

    Args:
        what: What happened, with the value that was seen.
        why: Why it was refused.
        fix: What the caller can do about it.

    Example:
        >>> error = UnknownPull("no pull has the id 'x-1'", "ids come from ask()", "check the id")
        >>> error.code
        'unknown_pull'
        >>> print(error)
        no pull has the id 'x-1': ids come from ask(). To fix it, check the id.
    """

    code: ClassVar[str] = "error"

    def __init_subclass__(cls) -> None:
        """The code of ``UnknownPull`` is ``unknown_pull``; codes are promised, so are the names."""
        if "code" not in vars(cls):
            cls.code = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, what: str, why: str, fix: str) -> None:
        super().__init__(what, why, fix)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        why = self.why if self.why.endswith("?") else f"{self.why}."
        return f"{self.what}: {why} To fix it, {self.fix}."


class InvalidSpace(ImaboError, ValueError):
    """A search space (or one of its parameters) that makes no sense."""


class InvalidConfig(ImaboError, ValueError):
    """A configuration that the space does not allow."""


class InvalidSetting(ImaboError, ValueError):
    """An argument of a study, a policy, an oracle or a store that cannot be used."""


class InvalidReward(ImaboError, ValueError):
    """A reward that is not a finite number inside the study's reward range."""


class RewardConflict(ImaboError):
    """A second reward for a pull that differs from the first."""


class SignalConflict(ImaboError):
    """A second value for a signal of a pull that differs from the first."""


class InvalidSignal(ImaboError, ValueError):
    """A signal that the study did not declare, or a value outside of its ends."""


class KeyConflict(ImaboError):
    """A key of a request that was used for another request before."""


class UnknownPull(ImaboError, LookupError):
    """A pull id that this study never handed out."""


class UnknownKey(UnknownPull):
    """A key that no ask of this study used, or whose pulls were pruned since."""


class UnknownArm(ImaboError, LookupError):
    """An arm id that this study does not have."""


class UnknownStudy(ImaboError, LookupError):
    """A study name that the store does not have."""


class StudyExists(ImaboError):
    """A different study already has this name."""


class NothingToServe(ImaboError):
    """Every arm is paused or retired, and no new one can be admitted."""


class NoControl(ImaboError):
    """A question about the control, or a way back to it, in a study that has none."""


class NoRewards(ImaboError):
    """A question that only rewards can answer, asked before the first one came."""


class MissingExtra(ImaboError, ImportError):
    """An optional library is needed and not installed; the message names the extra."""


class MissingData(ImaboError, LookupError):
    """A data set that imabo does not ship and that was not found."""


class ReplayMismatch(ImaboError):
    """A log whose decisions this version of the code does not reproduce."""


class StoreError(ImaboError):
    """The store could not do what was asked; nothing was half-written."""


class SchemaTooNew(StoreError):
    """A database written by a newer version of imabo."""


class StoreClosed(StoreError):
    """A study or store used after it was closed."""


class OutboxFull(StoreError):
    """A reward that a client could neither deliver nor keep: its file holds as many as it may."""


class Unavailable(ImaboError):
    """The service did not answer, or not in a way that imabo's clients understand."""


class Unauthorized(ImaboError):
    """A call to the service without a key that it knows."""


class Forbidden(ImaboError):
    """A call to the service with a key that does not allow it."""


class Refused(ImaboError):
    """A call that the service refused for a reason that has no class of its own here."""
