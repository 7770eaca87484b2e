"""The summary: what was learned, what it was worth, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from imabo.demo.live_study import Counts
from imabo.demo.traffic import Reply
from imabo.demo.world import IDEAL, NEW_MODEL, WINDOW, World, success_rate
from imabo.documents import best_document
from imabo.recommend import Best

_EDGE_SHARE: Final = 10  # the start and the end of a run are its first and last tenth


def summary(world: World, answers: Sequence[Reply], best: Best | None, counts: Counts) -> list[str]:
    """The lines of the summary, from what the users were served, in order."""
    lines = ["", *_best_lines(best), "", *_rate_lines(world, answers), ""]
    lines += _verdict(world, answers, best)
    n_defaults = sum(answer.is_default for answer in answers)
    lines += [
        f"Of {counts.n_pulls:,} requests {counts.n_rewards:,} were rated, {counts.n_expired:,} "
        f"were given up after about {WINDOW} requests without a rating,",
        f"and {counts.n_pending:,} still wait for one.",
    ]
    if n_defaults:
        lines += [f"{n_defaults:,} were served the default, because the service was too slow."]
    return lines


def outcome(
    world: World, answers: Sequence[Reply], best: Best | None, counts: Counts
) -> dict[str, Any]:
    """The summary for programs; its arguments are those of ``summary``."""
    return {
        "best": None if best is None else best_document(best),
        "true_rate": None if best is None else success_rate(best.config),
        "highest_rate": success_rate(IDEAL),
        "rates": [
            {"requests": label, "served": served, "at_random": at_random}
            for label, part in _parts(world, answers).items()
            for served, at_random in [_rates(part)]
        ],
        "found_new_model": best is not None and best.config["model"] == NEW_MODEL,
        **counts._asdict(),
        "n_defaults": sum(answer.is_default for answer in answers),
    }


def _best_lines(best: Best | None) -> list[str]:
    if best is None:
        return ["No rating came back, so nothing can be recommended."]
    width = max(map(len, best.config))
    low, high = best.interval
    return [
        "Best configuration",
        *(f"  {name:{width}}  {_shown(value)}" for name, value in best.config.items()),
        f"  good {best.mean:.1%} of the time, {best.level:.0%} interval {low:.1%} to {high:.1%}, "
        f"{best.n_rewards} ratings",
        f"  its true rate is {success_rate(best.config):.1%}, the highest possible is "
        f"{success_rate(IDEAL):.1%} (a simulation knows)",
    ]


def _parts(world: World, answers: Sequence[Reply]) -> dict[str, Sequence[Reply]]:
    """What is compared, and what it is called."""
    edge, half = max(1, len(answers) // _EDGE_SHARE), world.ships_after
    return {
        f"first {edge:,} requests": answers[:edge],
        f"last {edge:,} before the new model": answers[max(half - edge, 0) : half],
        f"last {edge:,} requests": answers[-edge:],
        f"all {len(answers):,} requests": answers,
    }


def _rate_lines(world: World, answers: Sequence[Reply]) -> list[str]:
    parts = _parts(world, answers)
    width = max(map(len, parts))
    lines = [f"{'Chance of a good answer':{width + 2}}  {'served':>9}  {'at random':>9}"]
    for label, part in parts.items():
        served, at_random = _rates(part)
        lines.append(f"  {label:{width}}  {served:9.1%}  {at_random:9.1%}")
    return lines


def _verdict(world: World, answers: Sequence[Reply], best: Best | None) -> list[str]:
    good = sum(one.visit.is_good(one.config) for one in answers)
    good_at_random = sum(one.visit.is_good(one.visit.at_random) for one in answers)
    lines = [
        f"The users got {good:,} good answers; served at random, the same users would have got "
        f"{good_at_random:,}."
    ]
    last = answers[-max(1, len(answers) // _EDGE_SHARE) :]
    served, at_random = _rates(last)
    if served <= at_random:
        lines.append("Learning did not pay in this run: the end is no better than at random.")
    after = answers[world.ships_after :]
    if best is not None and best.config["model"] == NEW_MODEL:
        share = _n_new(last) / len(last)
        lines.append(f"The new model was found: it served {share:.0%} of the last requests.")
    else:
        lines += [
            f"The new model was missed: {_n_new(after):,} of {len(after):,} requests tried it, "
            "which is not enough when most ratings are lost.",
            "With more requests (--rounds) or other users (--seed) it is often found.",
        ]
    return lines


def _n_new(answers: Sequence[Reply]) -> int:
    return sum(one.config["model"] == NEW_MODEL for one in answers)


def _rates(answers: Sequence[Reply]) -> tuple[float, float]:
    """The mean true rate of what was served, and of serving the same users at random."""
    served = sum(success_rate(one.config) for one in answers)
    at_random = sum(success_rate(one.visit.at_random) for one in answers)
    return served / len(answers), at_random / len(answers)


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
