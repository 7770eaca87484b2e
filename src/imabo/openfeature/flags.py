"""From a flag's key to a study and a parameter, and from a pull to the flag's details."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagResolutionDetails, Reason

from imabo.arms import Pull
from imabo.checks import checked_text
from imabo.errors import ImaboError, InvalidSetting, KeyConflict, UnknownStudy
from imabo.integration import Source
from imabo.openfeature.values import Kind as Kind
from imabo.openfeature.values import can_fit, fitted
from imabo.space.scalars import show

Details: TypeAlias = FlagResolutionDetails[Any]

TARGETING_KEY: Final = "targeting_key"
# What is no fault of a study or its service: errors of imabo, as the specification has them.
CODES: Final[Mapping[type[ImaboError], ErrorCode]] = {
    InvalidSetting: ErrorCode.INVALID_CONTEXT,
    KeyConflict: ErrorCode.INVALID_CONTEXT,
    UnknownStudy: ErrorCode.FLAG_NOT_FOUND,
}


class NotResolved(Exception):
    """Why a flag has its default."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


@dataclass(frozen=True, slots=True)
class Flag:
    """What a flag stands for: a study's configuration, or one parameter of it."""

    key: str
    source: Source
    parameter: str | None

    @property
    def is_strange(self) -> bool:
        """Whether its parameter is not known, and a look at the study may change that."""
        if self.parameter is None or not self.source.may_look:
            return False
        space = self.source.space
        return space is None or self.parameter not in space.parameters


class Flags:
    """The flags of a provider's studies, and what of a context belongs to a request.

    Args:
        sources: The studies by name.
        key: What names a request: ``targeting_key``, or an attribute of the context.
        names: Other names for flags.
        attributes: Which attributes of the context are stored; None for all.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        key: str,
        names: Mapping[str, str],
        attributes: Collection[str] | None,
    ) -> None:
        self._sources = sources
        self._key = checked_text("key", key)
        if isinstance(attributes, str):
            why, fix = "it must be a list of names", f"pass [{attributes!r}]"
            raise InvalidSetting(f"attributes is {show(attributes)}", why, fix)
        self._attributes = None if attributes is None else frozenset(attributes)
        self._names = dict(names)
        for name, meant in self._names.items():
            try:
                flag = self.find(name)
            except NotResolved as error:
                what = f"flags has {show(name)}: {show(meant)}"
                raise InvalidSetting(what, error.message, "correct it, or leave it out") from None
            space = flag.source.space if flag.source.is_local else None
            if flag.parameter is not None and space and flag.parameter not in space.parameters:
                what, why = f"flags has {show(name)}: {show(meant)}", self._no_parameter(flag)
                raise InvalidSetting(what, why, "correct it, or leave it out")

    def find(self, flag_key: str) -> Flag:
        """The study and the parameter of a flag; a study's name may have dots."""
        place = self._names.get(flag_key, flag_key)
        if place in self._sources:
            return Flag(flag_key, self._sources[place], None)
        study = place
        while "." in study:
            study = study.rpartition(".")[0]
            if study in self._sources:
                return Flag(flag_key, self._sources[study], place[len(study) + 1 :])
        known = ", ".join(map(show, self._sources))
        raise NotResolved(
            ErrorCode.FLAG_NOT_FOUND,
            f"no study is meant by the flag {show(flag_key)}; write STUDY or STUDY.PARAMETER, "
            f"with one of {known}",
        )

    def check(
        self, flag: Flag, kind: Kind, context: EvaluationContext | None
    ) -> tuple[str | None, dict[str, Any] | None]:
        """The key and the context to ask with; what cannot be resolved is refused before that."""
        space, key = flag.source.space, self.key_of(context)
        if flag.parameter is None:
            if kind != "object":
                words = f"the flag {show(flag.key)} is a whole configuration, which is no {kind}"
                raise NotResolved(
                    ErrorCode.TYPE_MISMATCH, f"{words}; name a parameter, or ask for an object"
                )
            return key, self.stored(context)
        if kind == "object":
            words = f"the flag {show(flag.key)} is one parameter, which is no object"
            raise NotResolved(ErrorCode.TYPE_MISMATCH, words)
        if space is not None:
            if flag.parameter not in space.parameters:
                raise NotResolved(ErrorCode.FLAG_NOT_FOUND, self._no_parameter(flag))
            if not can_fit(kind, space.parameters[flag.parameter]):
                words = f"no value of the parameter {flag.parameter!r} is of type {kind}"
                raise NotResolved(ErrorCode.TYPE_MISMATCH, words)
        if key is None:
            # Without one, two flags of a request would come from two configurations.
            what = "a targeting key" if self._key == TARGETING_KEY else f"the text {self._key!r}"
            raise NotResolved(
                ErrorCode.TARGETING_KEY_MISSING,
                f"the context has not {what} to name the request with; add it, or resolve the "
                f"whole configuration as the object flag {flag.source.name!r}",
            )
        return key, self.stored(context)

    def key_of(self, context: EvaluationContext | None) -> str | None:
        """The name of a request; None where the context has none."""
        if context is None:
            return None
        if self._key == TARGETING_KEY:
            return context.targeting_key or None
        value = context.attributes.get(self._key)
        return value if isinstance(value, str) and value else None

    def stored(self, context: EvaluationContext | None) -> dict[str, Any] | None:
        """What is stored with the pull: the targeting key and the attributes."""
        if context is None:
            return None
        found = {} if not context.targeting_key else {TARGETING_KEY: context.targeting_key}
        kept = self._attributes
        for name, value in context.attributes.items():
            if kept is None or name in kept:
                found[name] = _plain(value)
        return found or None

    def _no_parameter(self, flag: Flag) -> str:
        space = flag.source.space
        names = "" if space is None else f"; it has {', '.join(map(show, space.names))}"
        return f"study {flag.source.name!r} has no parameter {show(flag.parameter)}{names}"


def resolved(flag: Flag, kind: Kind, default: object, pull: Pull) -> Details:
    """The details of a flag that a pull gives a value."""
    metadata: dict[str, str | int | float | bool] = {
        "study": flag.source.name,
        "pull": pull.id,
        "arm": pull.arm,
        "decision": pull.reason,
    }
    if pull.group is not None:
        metadata["group"] = pull.group
    details = Details(dict(pull.config), flag_metadata=metadata, variant=f"arm-{pull.arm}")
    details.reason = Reason.SPLIT
    if flag.parameter is None:
        return details
    if flag.parameter not in pull.config:
        # The parameter is there, and not active in this configuration: nothing is wrong.
        return Details(default, reason=Reason.DEFAULT, flag_metadata=metadata)
    try:
        details.value = fitted(kind, pull.config[flag.parameter])
    except TypeError as error:
        return refused(default, NotResolved(ErrorCode.TYPE_MISMATCH, str(error)))
    return details


def refused(default: object, error: NotResolved | ImaboError) -> Details:
    """The details of a flag that has its default, because of an error."""
    if isinstance(error, NotResolved):
        code, message = error.code, error.message
    else:
        code, message = CODES.get(type(error), ErrorCode.GENERAL), str(error)
    return Details(default, error_code=code, error_message=message, reason=Reason.ERROR)


def _plain(value: Any) -> Any:
    """An attribute as JSON has it; what is none is refused with the context."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(one) for one in value]
    return value
