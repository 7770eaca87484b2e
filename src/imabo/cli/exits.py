"""Exit codes: what each one means, and which error ends with which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from imabo import errors
from imabo.errors import ImaboError

MEANINGS: Final[Mapping[int, str]] = {
    0: "done",
    1: "an error, explained",
    2: "wrong usage",
    3: "not found: no such study or arm",
    4: "refused: the key is missing, unknown or does not allow it",
    5: "away: the service or the database does not answer",
    130: "interrupted",
}
_CLASSES: Final[Mapping[int, tuple[type[ImaboError], ...]]] = {
    # A database that is too new is there; it is this program that cannot read it.
    1: (errors.SchemaTooNew,),
    3: (errors.UnknownStudy, errors.UnknownArm, errors.UnknownPull),
    4: (errors.Unauthorized, errors.Forbidden),
    5: (errors.Unavailable, errors.StoreError),
}


class UsageError(Exception):
    """A command line that cannot be understood; the help of ``command`` says how it goes."""

    def __init__(self, what: str, command: str = "imabo", usage: str = "") -> None:
        super().__init__(what)
        self.command, self.usage = command, usage


def exit_code(error: ImaboError) -> int:
    """What the command ends with because of an error."""
    found = (code for code, classes in _CLASSES.items() if isinstance(error, classes))
    return next(found, 1)


def error_document(error: ImaboError | UsageError) -> dict[str, dict[str, str]]:
    """An error as ``--json`` writes it to standard error."""
    if isinstance(error, UsageError):
        parts = ("usage", str(error), "the command cannot be understood", f"{error.command} --help")
    else:
        parts = (error.code, error.what, error.why, error.fix)
    return {"error": dict(zip(("code", "what", "why", "fix"), parts, strict=True))}
