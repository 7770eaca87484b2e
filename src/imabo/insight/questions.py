"""The four questions that a team has, and what a study says to them today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from imabo.documents import chance_text
from imabo.insight.budgeted import budget_answer, mix_answer
from imabo.insight.compared import Tone, lift_words, measure, percent, signed
from imabo.insight.estimates import Interval

if TYPE_CHECKING:
    from imabo.insight.key_figures import Overview

_FALLEN: Final = 0.5  # of the usual share of feedback: less than that is worth a word
_NOTHING: Final = 5e-4  # of the range: what no one would notice of a request
_LITTLE: Final = 0.01  # of the range: what must be the most that a cost of nothing can be
_DURATIONS: Final = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"))


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, a few words that answer it, and a sentence on what they rest on.

    ``name`` is ``working``, ``best``, ``cost``, ``feedback`` or ``budget``; ``tone`` says whether
    it is good news, something to look after, bad news, or just so (``plain``).
    """

    name: str
    question: str
    answer: str
    detail: str
    tone: Tone


def answers(key: Overview) -> list[Answer]:
    """Is it working, what is best, what does exploring cost, is feedback healthy: in words.

    With an objective also: is it within the budget?

    The page's first strip, the report and ``imabo show`` say the same: ``Overview.answers``.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> for _ in range(20):
        ...     study.tell(study.ask().id, 0.5)
        >>> for one in insight.overview(insight.read(study)).answers:
        ...     print(one.question, one.answer)
        Is it working? Not known yet
        What is the best setting? x = 0.36
        What has exploring cost? At most 0.431 a request
        Is feedback healthy? Yes: 100 % of requests
    """
    found = [_working(key), _best(key), _cost(key), _feedback(key)]
    return [*found, budget_answer(key)] if key.goals else found


def _working(key: Overview) -> Answer:
    """Whether tuned requests do better than the control's; without one, than at random."""
    question = "Is it working?"
    if key.lift is not None:
        return Answer("working", question, *lift_words(key.lift))
    if key.recent_mean is None or key.recent_interval is None:
        return Answer("working", question, "Not known yet", "No feedback has come yet.", "plain")
    now = f"Reward now {measure(key.recent_mean)} ({between(key.recent_interval)})"
    if key.random_mean is None or key.random_interval is None:
        detail = f"{now}. Serving at random: {random_words(key)}."
        return Answer("working", question, "Not known yet", detail, "plain")
    gain = key.recent_mean - key.random_mean
    (low, high), (least, most) = key.recent_interval, key.random_interval
    detail = f"{now}, at random {measure(key.random_mean)} ({between(key.random_interval)})."
    by = f"{signed(gain)} against random"
    if low is not None and most is not None and low > most:
        return Answer("working", question, f"Yes: {by}", detail, "good")
    if high is not None and least is not None and high < least:
        return Answer("working", question, f"No: {by}", detail, "bad")
    return Answer("working", question, f"Not clear yet: {by}", detail, "plain")


def _best(key: Overview) -> Answer:
    """Which configuration to keep if learning stopped now, and how sure that is."""
    question, best = "What is the best setting?", key.best
    if best is None:
        return Answer("best", question, "Not known yet", "The first rewards will tell.", "plain")
    if best.mix is not None:
        return Answer("best", question, *mix_answer(best.mix, key.goals))
    rewards = f"{best.n_rewards:,} reward{'' if best.n_rewards == 1 else 's'}"
    detail = f"Reward {measure(best.mean)} ({between(best.interval)}), from {rewards}"
    if best.since is not None:
        detail += " since a change was noticed"
    if best.chance is not None:
        detail += f". Chance that no other is better: {chance_text(best.chance)}"
    return Answer("best", question, best.label, f"{detail}.", "plain")


def _cost(key: Overview) -> Answer:
    """What was lost against always serving the best configuration, and whether it still is."""
    question = "What has exploring cost?"
    if key.cost is None or key.cost_interval is None or not key.n_pulls:
        return Answer("cost", question, "Not known yet", "The first rewards will tell.", "plain")
    width = 1.0 if key.reward_range is None else np.ptp(key.reward_range)
    most = np.inf if key.cost_interval[1] is None else key.cost_interval[1] / key.n_pulls
    each = key.cost / key.n_pulls
    if each > _NOTHING * width:
        answer = f"{measure(each)} a request"
    elif most <= _LITTLE * width:
        answer = "Almost nothing"
    else:  # nothing was seen of it, but much may be hidden
        answer = "Not known yet" if np.isinf(most) else f"At most {measure(most)} a request"
    ends = between(key.cost_interval)
    is_mix = key.best is not None and key.best.mix is not None and len(key.best.mix.parts) > 1
    what = "the best mix" if is_mix else "the best"
    detail = f"{measure(key.cost)} in all ({ends}) against always serving {what}"
    if key.recent_cost is not None:
        detail += f"; lately {measure(key.recent_cost)} a request"
    if key.gain is not None:
        detail += f"; {signed(key.gain)} in all against random"
    if key.lift is not None:  # they are not exploring, and cost what they must
        detail += "; the control's requests are counted with the rest"
    return Answer("cost", question, answer, f"{detail}.", "plain")


def _feedback(key: Overview) -> Answer:
    """Whether rewards come, and how long they take."""
    question = "Is feedback healthy?"
    if not key.n_pulls or key.feedback_rate is None:
        return Answer("feedback", question, "Not known yet", "No request yet.", "plain")
    told = [f"half within {duration(key.delay_s)}"] if key.delay_s is not None else []
    told.append(f"{key.n_pending:,} waiting")
    told.append(f"{key.n_expired:,} without feedback in time")
    detail = ", ".join(told)
    detail = f"{detail[0].upper()}{detail[1:]}."
    rate, recent = key.feedback_rate, key.recent_feedback_rate
    if key.state == "no feedback":
        return Answer("feedback", question, "No: none comes lately", detail, "bad")
    if not key.n_rewards:
        return Answer("feedback", question, "Not known yet", detail, "plain")
    if recent is not None and recent < _FALLEN * rate:
        words = f"Less than before: {percent(recent)} lately"
        return Answer("feedback", question, words, f"Usually {percent(rate)}. {detail}", "warn")
    return Answer("feedback", question, f"Yes: {percent(rate)} of requests", detail, "good")


def random_words(key: Overview) -> str:
    """What can be said of serving at random while its mean is not known."""
    ends, more = key.random_interval, f"about {key.n_random_more:,} more requests"
    known = "" if ends is None else f", between {between(ends, ' and ')}"
    return f"not known yet{known}: {more} that try something new at random"


def between(ends: Interval, word: str = " to ") -> str:
    """An interval; an end without a bound is said in words."""
    low, high = ends
    if low is None or high is None:
        known = "up to " + measure(high) if high is not None else "from " + measure(low)
        return "not known yet" if low is None and high is None else known
    return f"{measure(low)}{word}{measure(high)}"


def duration(seconds: float) -> str:
    """How long something takes, roughly."""
    for size, unit in _DURATIONS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
