"""What a study is to reach: the signals of its requests, and the budgets and limits to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from imabo.amounts import digits
from imabo.errors import InvalidSetting, InvalidSignal
from imabo.magnitude import LARGEST
from imabo.settings import check_fraction, check_number, check_one_of, is_number, real, unfit
from imabo.space import Choice, Space
from imabo.space.scalars import show
from imabo.spelling import closest

_LONGEST: Final = 60  # characters of a signal's name or unit
_MOST: Final = 16  # signals of a study


@dataclass(frozen=True, slots=True)
class Signal:
    """A named number of a request besides its reward: its cost, its latency, its tokens.

    Args:
        low: The lowest value that is accepted; None for any.
        high: The highest.
        unit: How it is shown, such as ``"$"`` or ``"s"``.
        known: What a request uses when that is known before it is served, as a price list: for
            each parameter, either what each of its values adds or, for a number, what one unit of
            it adds. It is then not learned.

    Example:
        >>> prices = {"model": {"small": 0.0001, "large": 0.002}, "passages": 0.00005}
        >>> cost = Signal(low=0.0, unit="$", known=prices)
        >>> round(cost.expected({"model": "large", "passages": 4}), 6)
        0.0022
    """

    low: float | None = None
    high: float | None = None
    unit: str = ""
    known: Mapping[str, Mapping[Any, float] | float] | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), -LARGEST, LARGEST, closed=True)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise unfit("low", self.low, f"it must be below high, {self.high}", "swap them, say")
        if not isinstance(self.unit, str) or len(self.unit) > _LONGEST:
            why = f"it must be text of at most {_LONGEST} characters"
            raise unfit("unit", self.unit, why, 'pass "$", say')
        if self.known is not None:
            _check_prices(self.known)

    def checked(self, name: str, value: object) -> float:
        """A value of this signal as a float; refuses what is no finite number in its range."""
        number = value if type(value) is float else real(value)
        low = -LARGEST if self.low is None else self.low
        high = LARGEST if self.high is None else self.high
        if number is None or not low <= number <= high:
            why = f"it must be a finite number from {low:g} to {high:g}"
            fix = "correct it, or declare the signal with other ends"
            raise InvalidSignal(f"the signal {name!r} is {show(value)}", why, fix)
        return number

    def expected(self, config: Mapping[str, Any]) -> float:
        """What the price list says of a configuration; parameters that are not active add 0."""
        total = 0.0
        for name, price in (self.known or {}).items():
            if name in config:
                value = config[name]
                total += price[value] if isinstance(price, Mapping) else price * value
        return total

    def document(self) -> dict[str, Any]:
        """The signal as JSON-safe values."""
        known = None
        if self.known is not None:
            known = {
                name: [[value, float(each)] for value, each in price.items()]
                if isinstance(price, Mapping)
                else float(price)
                for name, price in self.known.items()
            }
        return {"low": self.low, "high": self.high, "unit": self.unit, "known": known}

    @classmethod
    def restore(cls, document: Mapping[str, Any]) -> Signal:
        """The inverse of ``document``."""
        known = document.get("known")
        if known is not None:
            known = {
                name: dict(price) if isinstance(price, list) else price
                for name, price in known.items()
            }
        return cls(document.get("low"), document.get("high"), document.get("unit", ""), known)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``share`` of the requests may have a signal above a value.

    Example:
        >>> Limit("latency_s", above=2.0, share=0.05).name
        'latency_s > 2'
    """

    signal: str
    above: float
    share: float

    def __post_init__(self) -> None:
        if not isinstance(self.signal, str) or not self.signal.isidentifier():
            why = "it must be the name of a signal"
            raise unfit("signal", self.signal, why, 'pass Limit("latency_s", 2.0, 0.05), say')
        check_number("above", self.above, -LARGEST, LARGEST, closed=True)
        check_fraction("share", self.share)

    @property
    def name(self) -> str:
        """What is limited, in words."""
        return f"{self.signal} > {self.above:g}"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A budget or a limit: the mean of what ``use`` says of a request stays at most ``budget``."""

    name: str
    signal: str
    budget: float
    above: float | None = None

    def use(self, value: float) -> float:
        """What a request with this value of the signal uses."""
        return value if self.above is None else float(value > self.above)


@dataclass(frozen=True, slots=True)
class Objective:
    """The reward is maximised while budgets and limits hold.

    Args:
        maximise: ``"reward"``.
        budgets: For each signal, what its mean over the requests may be at most; above 0.
        limits: Shares of the requests that may have a signal above a value.

    Example:
        >>> objective = Objective(
        ...     budgets={"cost": 0.0006}, limits=[Limit("latency_s", above=2.0, share=0.05)])
        >>> [(one.name, one.budget) for one in objective.constraints]
        [('cost', 0.0006), ('latency_s > 2', 0.05)]
    """

    maximise: str = "reward"
    budgets: Mapping[str, float] = field(default_factory=dict)
    limits: Sequence[Limit] = ()

    def __post_init__(self) -> None:
        check_one_of("maximise", self.maximise, ["reward"])
        if not isinstance(self.budgets, Mapping):
            raise unfit("budgets", self.budgets, "it must be a dict", 'pass {"cost": 0.001}, say')
        for name, budget in self.budgets.items():
            if not is_number(budget) or not 0.0 < budget <= LARGEST:
                why = f"it must be a number above 0 and at most {LARGEST:g}"
                fix = "pass what a request may use on average"
                raise unfit(f"the budget of {name!r}", budget, why, fix)
        is_list = isinstance(self.limits, Sequence)
        if not is_list or not all(isinstance(limit, Limit) for limit in self.limits):
            why = "each must be a Limit" if is_list else "it must be a list of limits"
            raise unfit("limits", self.limits, why, 'pass [Limit("latency_s", 2.0, 0.05)], say')
        names = [one.name for one in self.constraints]
        if len(set(names)) < len(names):
            raise unfit("limits", names, "two of them limit the same", "keep one of them")

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All budgets and limits, in one form."""
        budgets = [Constraint(name, name, float(most)) for name, most in self.budgets.items()]
        limits = [
            Constraint(one.name, one.signal, float(one.share), float(one.above))
            for one in self.limits
        ]
        return (*budgets, *limits)

    def check_signals(self, signals: Mapping[str, Signal]) -> None:
        """Refuse budgets and limits of signals that are not declared."""
        for one in self.constraints:
            if one.signal not in signals:
                known = ", ".join(map(repr, signals)) or "none"
                what = f"the objective has a budget or a limit of {one.signal!r}"
                fix = f"declare signals={{{one.signal!r}: Signal(low=0.0)}} with the study"
                raise InvalidSetting(what, f"the study's signals are: {known}", fix)

    def document(self) -> dict[str, Any]:
        """The objective as JSON-safe values."""
        limits = [
            {"signal": one.signal, "above": one.above, "share": one.share} for one in self.limits
        ]
        return {"maximise": self.maximise, "budgets": dict(self.budgets), "limits": limits}

    @classmethod
    def restore(cls, document: Mapping[str, Any]) -> Objective:
        """The inverse of ``document``."""
        limits = tuple(Limit(**one) for one in document.get("limits", ()))
        return cls(document.get("maximise", "reward"), document.get("budgets", {}), limits)


_CALLED: Final = {Signal: "a signal", Limit: "a limit", Objective: "the objective"}


def checked_signals(signals: object) -> dict[str, Signal]:
    """The signals of a study, by name."""
    if signals is None:
        return {}
    fix = 'pass {"cost": Signal(low=0.0)}, say'
    if not isinstance(signals, Mapping) or len(signals) > _MOST:
        raise unfit("signals", signals, f"it must be a dict of at most {_MOST}", fix)
    for name, signal in signals.items():
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST or not name.isidentifier():
            why = f"it must be an identifier of at most {_LONGEST} characters, such as latency_s"
            raise unfit("the name of a signal", name, why, fix)
        if name == "reward" or not isinstance(signal, Signal):
            why = "'reward' is taken" if name == "reward" else "it must be a Signal"
            raise unfit(f"the signal {name!r}", signal, why, fix)
    return dict(signals)


def signals_document(signals: object) -> dict[str, Any] | None:
    """The signals of a study as JSON-safe values; given as such, or as their document."""
    if isinstance(signals, Mapping):
        signals = {name: _restored(Signal, one) for name, one in signals.items()}
    found = checked_signals({} if signals is None else signals)
    return {name: one.document() for name, one in found.items()} or None


def objective_document(
    objective: object, signals: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """An objective as JSON-safe values, checked against the document of the study's signals."""
    if objective is None:
        return None
    objective = _restored(Objective, objective)
    if not isinstance(objective, Objective):
        fix = 'pass Objective(budgets={"cost": 0.001}), say'
        raise unfit("objective", objective, "it must be an Objective", fix)
    objective.check_signals({name: Signal.restore(one) for name, one in (signals or {}).items()})
    return objective.document() if objective.constraints else None


def in_words(objective: Mapping[str, Any] | None) -> str:
    """The budgets and limits of an objective's document.

    Example:
        >>> in_words(Objective(budgets={"cost": 0.0006}, limits=[Limit("s", 2, 0.05)]).document())
        'cost at most 0.0006 on average, s > 2 at most 5% of the requests'
    """
    if objective is None:
        return "none"
    return ", ".join(
        f"{one.name} at most {digits(one.budget, 6)} on average"
        if one.above is None
        else f"{one.name} at most {100 * one.budget:g}% of the requests"
        for one in Objective.restore(objective).constraints
    )


def changes_in_words(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[str]:
    """What differs between the documents of two objectives, a line each.

    Example:
        >>> changes_in_words({"budgets": {"cost": 0.0006}}, {"budgets": {"cost": 0.00003}})
        ['the budget of cost changed from 0.0006 to 0.00003']
        >>> changes_in_words({"budgets": {"cost": 0.0006}}, None)
        ['no budget or limit is kept any more']
    """
    if now is None:
        return ["no budget or limit is kept any more"]
    if before is None:
        return [f"what is kept: {in_words(now)}"]
    old = {one.name: one for one in Objective.restore(before).constraints}
    new = {one.name: one for one in Objective.restore(now).constraints}
    lines = []
    for name, one in {**old, **new}.items():
        what = f"the budget of {name}" if one.above is None else f"the limit {name}"
        if name not in new:
            lines.append(f"{what} ended")
        elif name not in old:
            lines.append(f"{what} is {_allowed(one)}")
        elif old[name].budget != one.budget:
            lines.append(f"{what} changed from {_allowed(old[name])} to {_allowed(one)}")
    return lines


def _allowed(one: Constraint) -> str:
    return digits(one.budget, 6) if one.above is None else f"{100 * one.budget:g}% of the requests"


def check_prices(signals: Mapping[str, Any] | None, space: Space) -> None:
    """Refuse a price list of another space: every value that may be served has its price."""
    for name, document in (signals or {}).items():
        signal = Signal.restore(document)
        for parameter, price in (signal.known or {}).items():
            what = f"the price list of the signal {name!r}"
            if parameter not in space.parameters:
                why = f"it prices {parameter!r}, and the space has {', '.join(space.names)}"
                raise InvalidSetting(f"{what} does not fit", why, "correct the name")
            kind = space.parameters[parameter]
            values = list(kind.values()) if isinstance(kind, Choice) else []
            missing = [one for one in values if not isinstance(price, Mapping) or one not in price]
            if missing or (not values and isinstance(price, Mapping)):
                why = f"of {parameter!r} it does not say what {show(missing or 'one unit')} adds"
                raise InvalidSetting(f"{what} does not fit", why, "add it")
        _check_ends(name, signal, space)


def _check_ends(name: str, signal: Signal, space: Space) -> None:
    """Refuse a price list by which some configuration is beyond the signal's own ends."""
    if space.forbid or signal.known is None:
        return  # then the sum of the least prices may be of a configuration that is never served
    least = most = spare = 0.0
    for parameter, price in signal.known.items():
        kind: Any = space.parameters[parameter]
        each = (
            [float(price[value]) for value in kind.values()]
            if isinstance(price, Mapping)
            else [float(price) * kind.low, float(price) * kind.high]
        )
        if kind.when:
            spare += max(map(abs, each))
        else:
            least, most = least + min(each), most + max(each)
    for low, high, total in ((signal.low, None, least + spare), (None, signal.high, most - spare)):
        if (low is not None and total < low) or (high is not None and total > high):
            end = f"low, {low:g}" if low is not None else f"high, {high:g}"
            why = f"by it a request may use {digits(total, 6)}, beyond the signal's {end}"
            fix = "correct the prices, or declare the signal with other ends"
            raise InvalidSetting(f"the price list of the signal {name!r} does not fit", why, fix)


def _restored(kind: Any, value: object) -> Any:
    """What a document says, or the value itself if it is none."""
    if not isinstance(value, Mapping):
        return value
    _check_fields(kind, value)
    try:
        return kind.restore(value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, InvalidSetting):
            raise
        why = f"it does not describe one ({error})"
        raise unfit(kind.__name__.lower(), value, why, f"pass what {kind.__name__} takes") from None


def _check_fields(kind: Any, document: Mapping[Any, Any]) -> None:
    """Refuse what would be passed over: a budget under a wrong name would not be kept."""
    names = [one.name for one in fields(kind)]
    for name in document:
        if name not in names:
            close = closest(name, names)
            fix = f"write {close!r}, if you meant that one" if close else "leave it out"
            what = f"{_CALLED[kind]} has {show(name)}"
            raise InvalidSetting(what, f"it takes {', '.join(map(repr, names))}", fix)
    limits = document.get("limits", ()) if kind is Objective else ()
    if isinstance(limits, Sequence):
        for one in limits:
            if isinstance(one, Mapping):
                _check_fields(Limit, one)


def _check_prices(known: object) -> None:
    fix = 'pass {"model": {"small": 0.001, "large": 0.01}}, say'
    if callable(known):
        why = "a function is not stored with the study, so other processes and a replay lack it"
        raise unfit("known", known, why, f"{fix}, or report the signal of each request")
    if not isinstance(known, Mapping) or not known:
        raise unfit("known", known, "it must be a dict of prices by parameter", fix)
    for name, price in known.items():
        each = list(price.values()) if isinstance(price, Mapping) else [price]
        if not each or not all(is_number(one) for one in each):
            why = "it must be a finite number, or a dict of such by value"
            raise unfit(f"known[{name!r}]", price, why, fix)
