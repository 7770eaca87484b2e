"""``imabo budget`` and ``frontier``: what requests may use, what they do, and what that buys."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from imabo.amounts import amount
from imabo.cli.exits import UsageError
from imabo.cli.output import (
    Table,
    clean,
    config_text,
    count,
    labelled_sparkline,
    number,
    print_table,
    say,
    span,
    write_json,
)
from imabo.cli.places import place_of
from imabo.documents import Document
from imabo.errors import InvalidSetting, InvalidSignal
from imabo.frontier import Frontier, mix_document
from imabo.objective import Limit, Objective
from imabo.spelling import closest

_WIDTH: Final = 60  # letters of a line over time
_OTHER: Final = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the budget, to see what those would buy
_NONE: Final = "none"
_MOST_ARMS: Final = 20  # of a frontier that are printed


def budget(options: argparse.Namespace) -> None:
    """Show how budgets and limits are kept, or set others."""
    is_change = bool(options.budget or options.limit or options.end)
    if options.end and (options.budget or options.limit):
        raise UsageError("--end stands alone", options.command)
    with place_of(options) as place:
        if is_change:
            known = place.study(options.study)
            wanted = None if options.end else _changed(known, options)
            place.named(options.study).update(objective=wanted)
        overview = place.overview(options.study)
        objective = place.study(options.study).get("objective")
    if options.json:
        write_json({"objective": objective, "goals": overview.get("goals", [])})
        return
    lines = goal_lines(overview)
    if not lines:
        say("There is no budget; set one with imabo budget STUDY NAME=VALUE")
    for name, text in lines:
        say(f"{name:14} {text}".rstrip())
    for goal in overview.get("goals", []):
        line = labelled_sparkline(goal["trend"], _WIDTH)
        say(f"{clean(goal['name']):14} {line if goal['n'] else 'no request has said it yet'}")


def _changed(study: Document, options: argparse.Namespace) -> Objective | None:
    """The objective with what the command line changes of it; None where nothing is left."""
    now, signals = study.get("objective"), list(study.get("signals") or {})
    known = Objective() if now is None else Objective.restore(now)
    budgets = dict(known.budgets)
    for word in options.budget:
        name, _, text = word.partition("=")
        _check_signal(name, signals)
        if text == _NONE:
            if budgets.pop(name, None) is None:
                raise _not_there(f"a budget of {name}", known)
        else:
            budgets[name] = _number(text, word, options)
    limits = {(one.signal, one.above): one for one in known.limits}
    for signal, above, share in options.limit:
        _check_signal(signal, signals)
        place = signal, _number(above, above, options)
        if share == _NONE:
            if limits.pop(place, None) is None:
                raise _not_there(f"a limit {signal} > {above}", known)
        else:
            limits[place] = Limit(*place, share=_number(share, share, options))
    found = Objective(budgets=budgets, limits=tuple(limits.values()))
    return found if found.constraints else None


def _check_signal(name: str, signals: Sequence[str]) -> None:
    """Refuse a signal that the study has not, with the one that was meant."""
    if name not in signals:
        close = closest(name, signals)
        fix = f"write {close!r}, if you meant that one" if close else "declare it with the study"
        why = f"the study's signals are: {', '.join(map(repr, signals)) or 'none'}"
        raise InvalidSignal(f"no signal is named {name!r}", why, fix)


def _not_there(what: str, known: Objective) -> InvalidSetting:
    kept = ", ".join(one.name for one in known.constraints) or "none"
    why = f"the study has {kept}"
    return InvalidSetting(f"{what} cannot end", why, "look with imabo budget STUDY")


def _number(text: str, word: str, options: argparse.Namespace) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{word!r} has no number; write cost=0.0006", options.command) from None


def goal_lines(overview: Document) -> list[tuple[str, str]]:
    """How budgets and limits are kept, as names and texts; none from an older service."""
    lines = []
    for goal in overview.get("goals", []):
        what = "budget" if goal["above"] is None else "limit"
        lines += [(what, clean(goal["text"])), ("", clean(goal["price_text"]))]
    return lines


def mix_lines(
    shares: Sequence[tuple[int, float]], *, is_within: bool, mean: float | None = None
) -> list[str]:
    """A mix of arms, and what it earns; one alone needs no word, unless it is beyond the budget."""
    if len(shares) == 1 and is_within:
        return []
    said = "within the budget" if is_within else "nothing is within the budget"
    mixed = ", ".join(f"{share:.0%} arm {arm}" for arm, share in shares)
    earns = "" if mean is None else f"; mean reward {number(mean)}"
    return [f"{said}: {mixed}{earns}"]


def frontier(options: argparse.Namespace) -> None:
    """Show reward against a signal."""
    with place_of(options) as place:
        found = place.named(options.study).frontier(options.signal)
    asked = None if options.at is None else found.at(options.at)
    if options.json:
        write_json(found.document() | {"at": None if asked is None else mix_document(asked)})
        return
    for line in str(found).splitlines():
        say(line)
    say()
    print_table(_arms(found))
    if len(found.arms) > _MOST_ARMS:
        say(f"{count(len(found.arms) - _MOST_ARMS, 'more arm')}; all of them with --json")
    say()
    say(f"what other budgets would buy, with {clean(found.signal)} a request up to")
    print_table(_others(found, options.at))
    curve: list[float | None] = [mean for _, mean in found.curve(_WIDTH)]
    if len(set(curve)) > 1:
        uses = [amount(one.use, found.unit) for one in (found.arms[0], found.arms[-1])]
        say(f"{labelled_sparkline(curve, _WIDTH)} for {clean(' to '.join(uses))}")


def _arms(found: Frontier) -> Table:
    """Arms with their intervals; a star marks those on the frontier.

    Of many, those on it, those of the mix, and those with the most rewards.
    """
    best = {} if found.budget is None else found.at(found.budget).shares
    use = clean(found.signal)
    titles = ["", "arm", use, f"{use} between", "reward", "reward between", "rewards", "mix"]
    drawn = Table([*titles, "config"], frozenset(titles) - {""})
    listed = sorted(
        found.arms,
        key=lambda one: (one.arm not in best, not one.is_on_frontier, -one.n_rewards),
    )[:_MOST_ARMS]
    for one in sorted(listed, key=lambda one: (one.use, -one.mean)):
        low, high = one.use_interval
        share = best.get(one.arm)
        drawn.rows.append(
            [
                "*" if one.is_on_frontier else "",
                str(one.arm),
                clean(amount(one.use, found.unit)),
                f"[{amount(low)}, {amount(high)}]",
                number(one.mean),
                span(one.interval),
                count(one.n_rewards),
                "" if share is None else f"{share:.0%}",
                config_text(one.config),
            ]
        )
    return drawn


def _others(found: Frontier, asked: float | None) -> Table:
    """What some other budgets would buy."""
    drawn = Table(["budget", "reward", "uses", "mix"], frozenset({"budget", "reward", "uses"}))
    if found.budget is not None:
        wanted = [part * found.budget for part in _OTHER]
    else:
        wanted = [one.use for one in found.arms if one.is_on_frontier]
    for each in sorted({*wanted, *([] if asked is None else [asked])}):
        mix = found.at(each)
        parts: Any = ", ".join(f"{share:.0%} arm {arm}" for arm, share in mix.shares.items())
        if not mix.is_within:
            parts = f"nothing is within; {parts} exceeds it least"
        row = [amount(each, found.unit), number(mix.mean), amount(mix.use, found.unit), parts]
        drawn.rows.append([clean(cell) for cell in row])
    return drawn
