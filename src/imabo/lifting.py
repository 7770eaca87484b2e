"""What a study answers when it is asked how much better it is than its control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from imabo.control import Control, Rollout, State
from imabo.documents import stamp, to_datetime
from imabo.evaluation import FeedbackBalance, Lift, LiftEstimate
from imabo.evaluation.lift import Kind
from imabo.magnitude import LARGEST

APPROXIMATE: Final = "The interval is approximate (asymptotic), because rewards have no range."
_WIDTH: Final = 0.25  # half-width, as a part of the range, from which on a lift is shown
_EPOCH: Final = date(1970, 1, 1)

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LiftReport:
    """Tuned minus control, in the study's own reward units, with an interval.

    ``str(report)`` says it in a sentence.

    Attributes:
        estimate: The lift: the average over the rewarded requests of the tuned side's mean at the
            time less the control's. None while it is not known yet.
        interval: Its ends, which hold at every moment together; None while there is nothing to say.
        relative: The lift as a part of the control's mean; None where that makes no sense.
        relative_interval: Its ends.
        level: Coverage of each interval.
        method: ``betting`` (proved) or ``asymptotic`` (without a reward range; for many rewards).
        n_tuned: Rewards of tuned requests that a coin decided, since this control was set.
        n_control: Those of the control.
        tuned_mean: Their mean, None without any.
        control_mean: The control's.
        served_tuned: Requests of the tuned side that a coin decided, since then.
        served_control: Those of the control.
        is_uneven: Whether the two groups' feedback surely comes in at different rates: then the
            lift may be wrong.
        n_more: About how many more rewards, of both groups together, it takes until the lift is
            known; 0 when it is.
        by_day: The lift of each of the last 30 days, by the day (UTC), the newest last.
        last: The lift over about the last rewards, as many as were asked for.
        control: What it is compared with.
        since: When the comparison with it began.
        state: ``tuning`` or ``rolled back``.
    """

    estimate: float | None
    interval: Ends | None
    relative: float | None
    relative_interval: Ends | None
    level: float
    method: Kind
    n_tuned: int
    n_control: int
    tuned_mean: float | None
    control_mean: float | None
    served_tuned: int
    served_control: int
    is_uneven: bool
    n_more: int
    by_day: Mapping[date, LiftEstimate]
    last: LiftEstimate
    control: Control
    since: datetime
    state: State

    @property
    def feedback_tuned(self) -> float | None:
        """Share of the tuned requests that brought a reward; None before the first request."""
        return self.n_tuned / self.served_tuned if self.served_tuned else None

    @property
    def feedback_control(self) -> float | None:
        """Share of the control's requests that brought a reward."""
        return self.n_control / self.served_control if self.served_control else None

    def __str__(self) -> str:
        text = self._lift_text()
        if self.is_uneven:
            text += (
                f" Careful: {_percent(self.feedback_tuned)} of the tuned requests and "
                f"{_percent(self.feedback_control)} of the control's bring a reward, so the lift "
                "may be wrong."
            )
        if self.state == "rolled back":
            text += " The study is rolled back: everyone gets the control."
        return text

    def _lift_text(self) -> str:
        n = f"{self.n_tuned:,} tuned and {self.n_control:,} control rewards"
        ends = self.interval
        between = "" if ends is None else f"between {ends[0]:+.3g} and {ends[1]:+.3g}"
        approximate = f" {APPROXIMATE}" if self.is_approximate else ""
        sure = "not surely different from"
        if self.is_different:
            sure = "better than" if ends is not None and ends[0] > 0.0 else "worse than"
        if self.estimate is None or ends is None:
            more = f"it takes {self.more_text} ({n})."
            if self.is_different:
                by = f"Tuned is {sure} the control, {between}"
                return f"{by}; how much is not known well yet: {more}{approximate}"
            known = f", {between}" if between else ""
            return f"The lift is not known yet{known}: {more}{approximate}"
        part = "" if self.relative is None else f" ({100.0 * self.relative:+.2g} %)"
        by = f"{self.estimate:+.3g}{part}, {between}"
        return f"Tuned is {sure} the control: {by} ({n}).{approximate}"

    @property
    def is_different(self) -> bool:
        """Whether the interval says that tuned and control differ, be it known how much or not."""
        return self.interval is not None and not self.interval[0] <= 0.0 <= self.interval[1]

    @property
    def is_approximate(self) -> bool:
        """Whether the interval is the asymptotic one, of which nothing is proved."""
        return self.interval is not None and self.method == "asymptotic"

    @property
    def more_text(self) -> str:
        """What it takes until the lift is known, in words."""
        word = "reward" if self.n_more == 1 else "rewards"
        return f"about {self.n_more:,} more {word}, tuned and control together"


def report_of(
    lift: Lift,
    balance: FeedbackBalance,
    rollout: Rollout,
    served: tuple[int, int],
    *,
    level: float,
    last: int,
) -> LiftReport:
    """Put the answer together; ``served`` are the requests of the study that coins decided."""
    control, start = rollout.control, rollout.start
    if control is None or start is None:
        raise TypeError("a rollout without a control has no lift")  # its caller refuses it
    found = lift.estimate(level)
    ends = lift.reward_range
    # Without a range nothing says what is narrow: it is shown as soon as there is an interval.
    narrow = LARGEST if ends is None else _WIDTH * (ends[1] - ends[0])
    return LiftReport(
        estimate=found.absolute,
        interval=found.interval,
        relative=found.relative,
        relative_interval=found.relative_interval,
        level=level,
        method=found.kind,
        n_tuned=found.n_tuned,
        n_control=found.n_control,
        tuned_mean=found.tuned_mean,
        control_mean=found.control_mean,
        served_tuned=served[0] - start.n_tuned,
        served_control=served[1] - start.n_control,
        is_uneven=balance.differs,
        n_more=0 if found.is_known else lift.needed(narrow, level),
        by_day={_EPOCH + timedelta(days=day): one for day, one in lift.by_day(level).items()},
        last=lift.last(last, level),
        control=control,
        since=to_datetime(start.at),
        state=rollout.state,
    )


def lift_document(report: LiftReport) -> dict[str, Any]:
    """A lift as JSON, with its words."""
    return {
        "estimate": report.estimate,
        "interval": _listed(report.interval),
        "relative": report.relative,
        "relative_interval": _listed(report.relative_interval),
        "level": report.level,
        "method": report.method,
        "n_tuned": report.n_tuned,
        "n_control": report.n_control,
        "tuned_mean": report.tuned_mean,
        "control_mean": report.control_mean,
        "served_tuned": report.served_tuned,
        "served_control": report.served_control,
        "feedback_tuned": report.feedback_tuned,
        "feedback_control": report.feedback_control,
        "is_uneven": report.is_uneven,
        "n_more": report.n_more,
        "by_day": [{"day": day.isoformat(), **_stretch(one)} for day, one in report.by_day.items()],
        "last": _stretch(report.last),
        "control": report.control.to_dict(),
        "since": stamp(report.since),
        "state": report.state,
        "text": str(report),
    }


def report_from(document: Mapping[str, Any]) -> LiftReport:
    """What ``lift_document`` wrote."""
    given = {key: document[key] for key in LiftReport.__dataclass_fields__}
    days = {date.fromisoformat(one["day"]): _estimate(one) for one in document["by_day"]}
    return LiftReport(
        **{
            **given,
            "interval": _ends(document["interval"]),
            "relative_interval": _ends(document["relative_interval"]),
            "by_day": days,
            "last": _estimate(document["last"]),
            "control": Control.from_dict(document["control"]),
            "since": datetime.fromisoformat(document["since"]),
        }
    )


_OTHERS: Final = {"estimate": "absolute", "method": "kind"}  # the words of the API, and of ours
_STRETCH: Final = (
    "estimate", "interval", "relative", "relative_interval", "is_known", "method", "level",
    "n_tuned", "n_control", "tuned_mean", "control_mean",
)  # fmt: skip


def _stretch(one: LiftEstimate) -> dict[str, Any]:
    found = {name: getattr(one, _OTHERS.get(name, name)) for name in _STRETCH}
    ends = {name: _listed(found[name]) for name in ("interval", "relative_interval")}
    return found | ends


def _estimate(document: Mapping[str, Any]) -> LiftEstimate:
    given = {_OTHERS.get(name, name): document[name] for name in _STRETCH}
    ends = {name: _ends(document[name]) for name in ("interval", "relative_interval")}
    return LiftEstimate(**(given | ends))


def _ends(listed: Sequence[float] | None) -> Ends | None:
    return None if listed is None else (listed[0], listed[1])


def _listed(ends: Ends | None) -> list[float] | None:
    return None if ends is None else list(ends)


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100.0 * share:.2g} %"
