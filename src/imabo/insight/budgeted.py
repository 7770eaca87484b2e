"""Budgets and limits in words: whether they are kept, and what is best within them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from imabo.amounts import amount
from imabo.insight.compared import Tone, measure, percent

if TYPE_CHECKING:
    from imabo.insight.best_arm import BestMix
    from imabo.insight.budgets import Goal
    from imabo.insight.key_figures import Overview
    from imabo.insight.questions import Answer


def budget_answer(key: Overview) -> Answer:
    """Whether budgets and limits are kept, and what a little more reward costs now."""
    from imabo.insight.questions import Answer

    goals = key.goals
    question = _question(goals)
    detail = " ".join(_detail(goal, is_alone=len(goals) == 1) for goal in goals)
    if key.best is not None and key.best.mix is not None and not key.best.mix.is_within:
        least = ", ".join(f"{name} {shown}" for name, shown in _uses(key.best.mix, goals))
        names = " and ".join(goal.name for goal in goals if not goal.can_be_kept)
        if len(goals) > 1 and names:
            words = f"What exceeds it least is served ({least}). {detail}"
            return Answer("budget", question, f"No: nothing keeps {names}", words, "bad")
        words = f"No configuration is: the one that exceeds it least is served ({least}). {detail}"
        return Answer("budget", question, "No: nothing is within it", words, "bad")
    told = [goal for goal in goals if goal.recent is not None]
    if not told:
        words = "No request has said what it used." if not any(goal.n for goal in goals) else detail
        return Answer("budget", question, "Not known yet", words, "plain")
    # Of several, the one that is nearest to what is allowed, or furthest above it.
    said = _used(max(told, key=_fullness), is_alone=len(goals) == 1)
    if any(goal.is_kept is False for goal in told):
        return Answer("budget", question, f"No: {said}", detail, "warn")
    if any(goal.is_kept is None for goal in told):
        return Answer("budget", question, f"Not clear yet: {said}", detail, "plain")
    return Answer("budget", question, f"Yes: {said}", detail, "good")


def mix_answer(mix: BestMix, goals: Sequence[Goal]) -> tuple[str, str, Tone]:
    """What to serve within budgets and limits, and what that gives and uses."""
    uses = ", ".join(f"{shown} a request" for _, shown in _uses(mix, goals))
    detail = f"Reward {measure(mix.mean)}" + (f" at {uses}" if uses else "")
    if len(mix.parts) > 1:
        each = "; ".join(f"{part.label}: reward {measure(part.mean)}" for part in mix.parts)
        detail = f"Together {detail[0].lower()}{detail[1:]}. {each}"
    if not mix.is_within:
        return mix.parts[0].label, f"{detail}. Nothing is within the budget.", "warn"
    return mix_text(mix), f"{detail}.", "plain"


def mix_text(mix: BestMix) -> str:
    """The parts of a mix with their shares; the one part by its name alone."""
    if len(mix.parts) == 1:
        return mix.parts[0].label
    return " + ".join(f"{percent(part.share)} {part.label}" for part in mix.parts)


def _question(goals: Sequence[Goal]) -> str:
    if all(goal.above is None for goal in goals):
        return "Is it within the budget?" if len(goals) == 1 else "Is it within the budgets?"
    if all(goal.above is not None for goal in goals):
        return "Is the limit kept?" if len(goals) == 1 else "Are the limits kept?"
    return "Is it within budgets and limits?"


def _fullness(goal: Goal) -> float:
    return (goal.recent or 0.0) / goal.allowed


def _used(goal: Goal, *, is_alone: bool) -> str:
    """What is used of what is allowed, lately."""
    if goal.above is None:
        of = f"{amount(goal.recent, goal.unit)} of {amount(goal.allowed, goal.unit)} a request"
        return of if is_alone else f"{goal.signal} {of}"
    above = f"{goal.signal} above {amount(goal.above, goal.unit)}"
    return f"{above} in {percent(goal.recent or 0.0)} of at most {percent(goal.allowed)}"


def _detail(goal: Goal, *, is_alone: bool) -> str:
    """What was used lately and since the start, and the price now."""

    def shown(used: float) -> str:
        return percent(used) if goal.above is not None else amount(used, goal.unit)

    said = [] if goal.used is None else [f"{shown(goal.used)} since the start"]
    if not is_alone and goal.recent is not None:
        said.insert(0, f"{shown(goal.recent)} of {shown(goal.allowed)} lately")
    said.append(goal.price_text)
    if is_alone:
        return " ".join(f"{text[:1].upper()}{text[1:]}." for text in said)
    return f"{goal.name}: {', '.join(said)}."


def _uses(mix: BestMix, goals: Sequence[Goal]) -> list[tuple[str, str]]:
    """What a mix uses of each budgeted signal."""
    budgets = {goal.signal: goal.unit for goal in goals if goal.above is None}
    return [
        (name, amount(mix.uses[name], unit)) for name, unit in budgets.items() if name in mix.uses
    ]
