"""The control that a study is compared with, and the rollout: who gets it now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, Self

import numpy as np

from imabo.arms import Group
from imabo.errors import InvalidSetting
from imabo.evaluation import Guardrail
from imabo.settings import check_fraction, check_number, unfit
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo.spelling import closest

State = Literal["tuning", "rolled back"]

SHARE: Final = 0.05  # of the requests, unless another one is wanted
_BITS: Final = 53  # of a coin: what a float holds
_DRAW: Final = 7  # the stream of a random control's draws


@dataclass(frozen=True, slots=True)
class Control:
    """What a share of the requests gets, whatever was learned, to compare the rest with.

    Each request flips a coin that depends on nothing else. Pass the configuration that you serve
    today; ``Control.random`` serves a new draw from P0 to each of its requests.

    Args:
        config: What it serves; None for a random control (use ``Control.random``).
        share: Of the requests that may be tuned, how many get the control; in (0, 1).

    Example:
        >>> from imabo import Control, Float, Space, Study
        >>> space = Space(temperature=Float(0, 1))
        >>> today = Control({"temperature": 0.7}, share=0.2)
        >>> study = Study.create("compared", space, control=today, seed=0)
        >>> served = study.ask(count=200)
        >>> {pull.config["temperature"] for pull in served if pull.group == "control"}
        {0.7}
        >>> 20 < sum(pull.group == "control" for pull in served) < 60
        True
    """

    config: Mapping[str, Any] | None
    share: float = SHARE

    def __post_init__(self) -> None:
        check_fraction("share", self.share)
        config: object = self.config
        if config is not None and not isinstance(config, Mapping):
            why = "it must be a configuration, as a dict"
            raise unfit("the control's config", config, why, "pass what you serve today")

    @classmethod
    def random(cls, share: float = SHARE) -> Self:
        """A control that draws each of its requests from P0: what serving at random gives.

        Example:
            >>> Control.random(0.1).is_random
            True
        """
        return cls(None, share)

    @property
    def is_random(self) -> bool:
        """Whether it draws from P0."""
        return self.config is None

    def to_dict(self) -> dict[str, Any]:
        """As a JSON document."""
        config = None if self.config is None else dict(self.config)
        return {"config": config, "share": float(self.share)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """What ``to_dict`` wrote."""
        return cls(document["config"], document["share"])

    def __str__(self) -> str:
        what = "P0" if self.config is None else json.dumps(self.config)
        return f"{what} for {self.share:.3g} of the requests"


@dataclass(frozen=True, slots=True)
class Start:
    """Where a comparison with a control began.

    Attributes:
        seq: That of the change.
        pull: Pulls that there were; those with a higher number count.
        at: When.
        n_tuned: Pulls of the tuned group that a coin had decided until then.
        n_control: Those of the control.
    """

    seq: int
    pull: int
    at: float
    n_tuned: int = 0
    n_control: int = 0


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a roll-back to another configuration put aside, and ``resume`` brings back.

    Attributes:
        control: The control that there was; None where there was none.
    """

    control: Control | None


@dataclass(frozen=True, slots=True)
class Rollout:
    """Who gets what: the control, the share of the requests that is tuned, and its guardrail.

    Attributes:
        control: What to compare with; None where there is no control any more.
        arm: The control's arm; None for a random one.
        exposure: Share of the requests that may be tuned; but for the control's share of it, they
            are: exposure * (1 - share) of all.
        guardrail: When to roll back by itself; None is never.
        state: ``tuning``, or ``rolled back``: the control is served to everyone.
        start: Where the comparison with this control began; None without one.
        changed_at: When the state last changed, or the study got its first rollout.
        reason: Why it was rolled back, None while it is not.
        mark: What the lift was when it was last resumed (a document of ``evaluation.Mark``): the
            guardrail judges what came after.
        replaced: While it is rolled back to a configuration that was not the control: what
            ``resume`` brings back.
    """

    control: Control | None = None
    arm: int | None = None
    exposure: float = 1.0
    guardrail: Guardrail | None = None
    state: State = "tuning"
    start: Start | None = None
    changed_at: float | None = None
    reason: str | None = None
    mark: Mapping[str, Any] | None = None
    replaced: Replaced | None = None

    @property
    def chance(self) -> float | None:
        """The probability e that a request gets the control; None without a control."""
        if self.control is None:
            return None
        if self.state == "rolled back":
            return 1.0
        share = self.control.share
        return share + (1.0 - self.exposure) * (1.0 - share)  # (coin)

    def group(self, coin: float) -> tuple[Group | None, float | None]:
        """The group of a request whose coin fell so, in [0, 1), and how likely that group was."""
        e = self.chance
        if e is None:
            return None, None
        return ("control", e) if coin < e else ("tuned", 1.0 - e)

    def document(self) -> dict[str, Any]:
        """As a store keeps it; ``replaced`` only where it is, as older versions do not know it."""
        document: dict[str, Any] = {
            "control": None if self.control is None else self.control.to_dict(),
            "arm": self.arm,
            "exposure": float(self.exposure),
            "guardrail": guardrail_document(self.guardrail),
            "state": self.state,
            "start": None if self.start is None else asdict(self.start),
            "changed_at": self.changed_at,
            "reason": self.reason,
            "mark": self.mark,
        }
        if self.replaced is not None:
            earlier = self.replaced.control
            document["replaced"] = {"control": None if earlier is None else earlier.to_dict()}
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """What ``document`` wrote."""
        control, start, guardrail = (document[key] for key in ("control", "start", "guardrail"))
        replaced = document.get("replaced")
        return replace(
            cls(**document),
            control=_restored(control),
            replaced=None if replaced is None else Replaced(_restored(replaced["control"])),
            start=None if start is None else Start(**start),
            guardrail=None if guardrail is None else Guardrail(**guardrail),
        )


def _restored(document: Mapping[str, Any] | None) -> Control | None:
    return None if document is None else Control.from_dict(document)


def guardrail_document(guardrail: Guardrail | None) -> dict[str, Any] | None:
    """A guardrail as JSON; the signal only where it watches one."""
    if guardrail is None:
        return None
    document: dict[str, Any] = {"margin": guardrail.margin, "level": guardrail.level}
    if guardrail.signal is not None:
        document |= {"signal": guardrail.signal, "worse": guardrail.worse}
    return document


def declared_part(document: Mapping[str, Any]) -> dict[str, Any]:
    """What of a rollout's document a declaration may say.

    The control is the one that is there when nobody has rolled back to another configuration.
    """
    part = {key: document[key] for key in ("control", "exposure", "guardrail")}
    replaced = document.get("replaced")
    return part if replaced is None else part | {"control": replaced["control"]}


def rollout_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    r"""How a declared part differs from what there is, a line each.

    Example:
        >>> today = {"control": {"config": {"x": 1}, "share": 0.1}, "exposure": 1.0}
        >>> more = {"control": {"config": {"x": 1}, "share": 0.2}, "exposure": 0.5}
        >>> guardrail = {"guardrail": {"margin": 0.02}}
        >>> print(*rollout_difference(today | {"guardrail": None}, more | guardrail), sep="\n")
        control: share 0.1 becomes 0.2
        exposure: 1 becomes 0.5
        guardrail: none becomes margin 0.02
    """
    lines, was, now = list[str](), old["control"], new["control"]
    if was is None or now is None or was["config"] != now["config"]:
        if was != now:
            lines.append(f"control: {_control_words(was)} becomes {_control_words(now)}")
    elif was["share"] != now["share"]:
        lines.append(f"control: share {was['share']:g} becomes {now['share']:g}")
    if old["exposure"] != new["exposure"]:
        lines.append(f"exposure: {old['exposure']:g} becomes {new['exposure']:g}")
    if old["guardrail"] != new["guardrail"]:
        both = _guardrail_words(old["guardrail"]), _guardrail_words(new["guardrail"])
        lines.append(f"guardrail: {both[0]} becomes {both[1]}")
    return lines


def _control_words(control: Mapping[str, Any] | None) -> str:
    if control is None:
        return "none"
    what = "random serving" if control["config"] is None else show(control["config"], 300)
    return f"{what} with share {control['share']:g}"


def _guardrail_words(guardrail: Mapping[str, Any] | None) -> str:
    if guardrail is None:
        return "none"
    words = f"margin {guardrail['margin']:g}"
    if guardrail.get("level", Guardrail().level) != Guardrail().level:
        words += f" at level {guardrail['level']:g}"
    if guardrail.get("signal") is not None:
        words += f" of {guardrail['signal']!r}, {guardrail['worse']} is worse"
    return words


def check_watched(guardrail: Guardrail | None, signals: Iterable[str]) -> None:
    """Refuse a guardrail that watches a signal which the study has not declared."""
    name = None if guardrail is None else guardrail.signal
    known = list(signals)
    if name is not None and name not in known:
        close = closest(name, known)
        fix = f"declare signals={{{name!r}: Signal(low=0.0, high=30.0)}} with the study"
        raise InvalidSetting(
            f"the guardrail watches the signal {name!r}",
            f"the study's signals are: {', '.join(map(repr, known)) or 'none'}",
            fix if close is None else f"write {close!r}, if you meant that one, or {fix}",
        )


def checked_rollout(control: object, exposure: object, guardrail: object) -> Rollout | None:
    """What ``Study.create`` was given; None when it says nothing about a control."""
    if control is None and exposure == 1.0 and guardrail is None:
        return None
    return with_settings(Rollout(), control, exposure, guardrail)


def with_settings(
    rollout: Rollout, control: object, exposure: object, guardrail: object
) -> Rollout:
    """A rollout with other settings, each of which is checked."""
    if control is not None and not isinstance(control, Control):
        raise unfit("control", control, "it must be a Control", "pass Control({...}, share=0.05)")
    if guardrail is not None and not isinstance(guardrail, Guardrail):
        why = "it must be a Guardrail"
        raise unfit("guardrail", guardrail, why, "pass Guardrail(margin=0.02)")
    check_number("exposure", exposure, 0.0, 1.0, closed=True)
    if not isinstance(exposure, (int, float)):  # as was just checked
        raise TypeError(exposure)
    if control is None and (exposure != 1.0 or guardrail is not None):
        what = f"exposure is {show(exposure)} and guardrail is {show(guardrail)}"
        why = "without a control there is nothing else to serve, and nothing to compare with"
        raise InvalidSetting(what, why, "pass control=Control({...}) with what you serve today")
    return replace(rollout, control=control, exposure=float(exposure), guardrail=guardrail)


def coin_of(seed: int, number: int) -> float:
    """The coin of a pull, in [0, 1): it depends on the study's seed and the pull's number alone.

    A stream of its own, so that a control changes nothing in the decisions of the tuned requests.

    Example:
        >>> coins = [coin_of(7, number) for number in range(1, 10_001)]
        >>> abs(sum(coin < 0.1 for coin in coins) / 10_000 - 0.1) < 0.01
        True
    """
    digest = hashlib.blake2b(f"coin {seed} {number}".encode(), digest_size=8).digest()
    return float((int.from_bytes(digest, "big") >> (64 - _BITS)) / 2**_BITS)


def drawn(space: Space, coin: float) -> Config:
    """What a random control serves a request with: a draw from P0, of that request's own."""
    sequence = np.random.SeedSequence(int(coin * 2**_BITS), spawn_key=(_DRAW,))
    return space.sample(np.random.default_rng(sequence))
