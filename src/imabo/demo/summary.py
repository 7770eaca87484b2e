"""The summary: what was learned, what it was worth, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from imabo.demo.live_study import Counts
from imabo.demo.traffic import Reply
from imabo.demo.world import (
    DEFAULT,
    FALLEN_MODEL,
    IDEAL,
    NEW_MODEL,
    WINDOW,
    World,
    success_rate,
)
from imabo.documents import best_document
from imabo.recommend import Best

_EDGE_SHARE: Final = 10  # the start and the end of a run are its first and last tenth


@dataclass(frozen=True)
class Played:
    """A run: the world, what its users were served, and the changes that the study noticed.

    ``noticed`` has for each the request after which it was told, and the words.
    """

    world: World
    replies: Sequence[Reply]
    noticed: Sequence[tuple[int, str]]

    @property
    def noticed_at(self) -> int | None:
        """The request by which the change of the world was noticed, None when it was not."""
        after = self.world.changes_after
        return next((n for n, _ in self.noticed if n > after), None)

    @property
    def final_rate(self) -> float:
        """The chance of a good answer at the end, of the users that were tuned for."""
        return _rates(self.replies[-_edge(self.replies) :])[0]


def summary(played: Played, best: Best | None, counts: Counts) -> list[str]:
    """The lines of the summary, from what the users were served, in order."""
    world, replies = played.world, played.replies
    lines = ["", *_best_lines(best), "", *_rate_lines(world, replies), ""]
    lines += [*_verdict(world, replies, best), _noticed_line(played)]
    n_defaults = sum(one.is_default for one in replies)
    lines += [
        f"Of {counts.n_pulls:,} requests {counts.n_rewards:,} were rated, {counts.n_expired:,} "
        f"were given up after about {WINDOW} requests without a rating,",
        f"and {counts.n_pending:,} still wait for one.",
    ]
    if n_defaults:
        lines += [f"{n_defaults:,} were served the default, because the service was too slow."]
    return lines


def answer_lines(answers: Sequence[Mapping[str, Any]]) -> list[str]:
    """The four answers of the page's strip, for people."""
    width = max((len(one["question"]) for one in answers), default=0)
    lines = []
    for one in answers:
        lines.append(f"{one['question']:{width}}  {one['answer']}")
        lines.append(f"{'':{width}}  {one['detail']}")
    return lines


def outcome(played: Played, best: Best | None, counts: Counts) -> dict[str, Any]:
    """The summary for programs; its arguments are those of ``summary``."""
    world, replies = played.world, played.replies
    names = ("served", "as_today", "at_random")
    return {
        "best": None if best is None else best_document(best),
        "true_rate": None if best is None else _rate_now(best),
        "highest_rate": success_rate(IDEAL),
        "rates": [
            {"requests": label} | dict(zip(names, _rates(part), strict=True))
            for label, part in _parts(world, replies).items()
        ],
        "found_new_model": best is not None and best.config["model"] == NEW_MODEL,
        "noticed_at": played.noticed_at,
        **counts._asdict(),
        "n_defaults": sum(one.is_default for one in replies),
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
        f"  its true rate is {_rate_now(best):.1%}, the highest possible is "
        f"{success_rate(IDEAL):.1%} (a simulation knows)",
    ]


def _edge(replies: Sequence[Reply]) -> int:
    return max(1, len(replies) // _EDGE_SHARE)


def _parts(world: World, replies: Sequence[Reply]) -> dict[str, Sequence[Reply]]:
    """What is compared, and what it is called."""
    edge, change, ship = _edge(replies), world.changes_after, world.ships_after
    return {
        f"first {edge:,} requests": replies[:edge],
        f"last {edge:,} before the change": replies[max(change - edge, 0) : change],
        f"last {edge:,} before the new model": replies[max(ship - edge, 0) : ship],
        f"last {edge:,} requests": replies[-edge:],
        f"all {len(replies):,} requests": replies,
    }


def _rate_lines(world: World, replies: Sequence[Reply]) -> list[str]:
    parts = _parts(world, replies)
    width = max(map(len, parts))
    heads = "".join(f"  {head:>9}" for head in ("tuned", "as today", "at random"))
    lines = [f"{'Chance of a good answer':{width + 2}}{heads}"]
    for label, part in parts.items():
        lines.append(f"  {label:{width}}" + "".join(f"  {rate:9.1%}" for rate in _rates(part)))
    return lines


def _verdict(world: World, replies: Sequence[Reply], best: Best | None) -> list[str]:
    good = sum(one.visit.is_good(one.config) for one in replies)
    today = sum(one.visit.is_good(DEFAULT) for one in replies)
    at_random = sum(one.visit.is_good(one.visit.at_random) for one in replies)
    lines = [
        f"The users got {good:,} good answers, those of the control among them. All served as "
        f"today, the same users would have got {today:,}; at random, {at_random:,}."
    ]
    last = replies[-_edge(replies) :]
    tuned, as_today, _ = _rates(last)
    if tuned <= as_today:
        lines.append("Learning did not pay in this run: the end is no better than today.")
    after = replies[world.ships_after :]
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


def _noticed_line(played: Played) -> str:
    at, since = played.noticed_at, played.world.changes_after
    what = f"At request {since + 1:,} the {FALLEN_MODEL} model got worse"
    if at is None:
        return f"{what}; the study did not notice by itself, though its traffic may have moved."
    return f"{what}; by request {at:,} the study had noticed."


def _n_new(answers: Sequence[Reply]) -> int:
    return sum(one.config["model"] == NEW_MODEL for one in answers)


def _rates(replies: Sequence[Reply]) -> tuple[float, float, float]:
    """Mean true rates: of what the tuned were served, and of the same users as today, at random."""
    tuned = [one for one in replies if not one.is_control] or replies
    return (
        sum(one.visit.rate(one.config) for one in tuned) / len(tuned),
        sum(one.visit.rate(DEFAULT) for one in tuned) / len(tuned),
        sum(one.visit.rate(one.visit.at_random) for one in tuned) / len(tuned),
    )


def _rate_now(best: Best) -> float:
    return success_rate(best.config, has_changed=True)


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
