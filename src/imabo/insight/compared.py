"""The lift over a study's control, read once and said in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from imabo.errors import NoControl
from imabo.lifting import APPROXIMATE, Ends, LiftReport

if TYPE_CHECKING:
    from imabo.study import Study

Tone = Literal["good", "warn", "bad", "plain"]

LATELY: Final = 1000  # rewards that the lift "lately" is about


def lift_of(study: Study) -> LiftReport | None:
    """The lift of a study over its control; None where there is no control."""
    try:
        return study.lift(last=LATELY)
    except NoControl:
        return None


def lift_words(lift: LiftReport) -> tuple[str, str, Tone]:
    """Whether it is better than the control: a few words, what they rest on, and their tone."""
    control = "random serving" if lift.control.is_random else "control"
    answer, detail, tone = _known(lift, control)
    if lift.is_uneven:
        shares = [percent(one or 0.0) for one in (lift.feedback_tuned, lift.feedback_control)]
        detail += (
            f" Careful: {shares[0]} of the tuned requests and {shares[1]} of the control's bring "
            "feedback, so this may be wrong."
        )
        tone = "warn" if tone == "good" else tone
    if lift.state == "rolled back":
        known = "" if lift.estimate is None else f" The lift was {signed(lift.estimate)}."
        return "Rolled back", f"Everyone gets the control.{known} {detail}", "bad"
    return answer, detail, tone


def _known(lift: LiftReport, control: str) -> tuple[str, str, Tone]:
    n = f"{lift.n_tuned:,} tuned and {lift.n_control:,} control rewards"
    approximate = f" {APPROXIMATE}" if lift.is_approximate else ""
    if lift.estimate is None or lift.interval is None:
        known = "" if lift.interval is None else f", {ends_text(lift.interval)}"
        detail = f"{lift.more_text} ({n}).{approximate}"
        if not lift.is_different or lift.interval is None:
            detail = f"The lift over {_the(control)} is not known yet{known}: {detail}"
            return "Not known yet", detail, "plain"
        detail = f"How much is not known well yet{known}: {detail}"
        if lift.interval[0] > 0.0:
            return f"Yes: better than {control}", detail, "good"
        return f"No: worse than {control}", detail, "bad"
    low, high = lift.interval
    part = "" if lift.relative is None else f" ({signed_percent(lift.relative)})"
    word = "against" if high < 0.0 else "over"
    by = f"{signed(lift.estimate)}{part} {word} {control}"
    means = ""
    if lift.tuned_mean is not None and lift.control_mean is not None:
        means = f", tuned {measure(lift.tuned_mean)}, {control} {measure(lift.control_mean)}"
    detail = f"{_capital(ends_text(lift.interval))}{means}, from {n}.{approximate}"
    last = lift.last
    if last.absolute is not None and last.interval is not None:
        n_last = last.n_tuned + last.n_control
        if n_last < lift.n_tuned + lift.n_control:
            detail += f" Last {n_last:,} rewards: {signed(last.absolute)}."
    if low > 0.0:
        return f"Yes: {by}", detail, "good"
    if high < 0.0:
        return f"No: {by}", detail, "bad"
    return f"Not clear yet: {by}", detail, "plain"


def ends_text(ends: Ends) -> str:
    """The ends of a lift, with their signs."""
    return f"between {signed(ends[0])} and {signed(ends[1])}"


def measure(value: float | None) -> str:
    """A measured number, with three digits that say something."""
    if value is None:
        return "–"
    size = abs(value)
    if size == 0 or (size < 1e6 and size >= 1e-4):
        digits = 0 if size >= 1000 or size == 0 else 1 if size >= 100 else 2 if size >= 10 else 3
        return f"{value:,.{digits}f}"
    return f"{value:.2e}"


def signed(value: float) -> str:
    """A difference, with its sign."""
    return f"{'+' if value >= 0 else '−'}{measure(abs(value))}"


def percent(share: float) -> str:
    """A share of one."""
    value = 100.0 * share
    return f"{value:.{1 if 0 < abs(value) < 10 else 0}f} %"


def signed_percent(share: float) -> str:
    """A relative difference, with its sign."""
    return f"{'+' if share >= 0 else '−'}{percent(abs(share))}"


def _the(control: str) -> str:
    return control if control == "random serving" else f"the {control}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
