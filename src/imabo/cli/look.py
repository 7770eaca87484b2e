"""``imabo studies``, ``show``, ``arms``, ``best`` and ``events``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from imabo.amounts import amount
from imabo.cli.budget import goal_lines, mix_lines
from imabo.cli.event_files import write_events
from imabo.cli.output import (
    Table,
    clean,
    config_text,
    count,
    number,
    print_table,
    say,
    span,
    tell,
    when,
    write_json,
)
from imabo.cli.places import Place, TableQuery, place_of
from imabo.documents import Document, best_document, chance_text

_COUNTS: Final = ("pulls", "rewards", "pending", "expired", "arms")
_MOST_EVENTS: Final = 10_000  # that a service gives at once
_FEW: Final = 5  # events that are shown beside other things


def studies(options: argparse.Namespace) -> None:
    """List the studies."""
    with place_of(options) as place:
        found = place.studies()
    if options.json:
        write_json({"studies": found})
        return
    if not found:
        say("There is no study yet. To see one, run imabo demo, or make your own:")
        say('  Study.create("support-answers", Space(...), store="sqlite:///imabo.db")')
        return
    table = Table(["study", *_COUNTS, "created"], frozenset(_COUNTS), frozenset({"study"}))
    for study in found:
        counts = [count(study[f"n_{name}"]) for name in _COUNTS]
        created = study["created_at"].replace("T", " ")[:16]
        table.rows.append([clean(study["name"]), *counts, created])
    print_table(table)


def show(options: argparse.Namespace) -> None:
    """Show a study."""
    with place_of(options) as place:
        study, overview = place.study(options.study), place.overview(options.study)
        table = place.table(options.study, {"limit": max(options.top, 1)})
        happened = events_of(place, options.study, _FEW)
    table["rows"] = table["rows"][: options.top]
    if options.json:
        write_json({"study": study, "overview": overview, "table": table, "events": happened})
        return
    say(f"{clean(study['name'])}: {clean(overview['state'])}")
    say()
    for one in overview.get("answers", ()):  # none from an older service
        say(f"  {clean(one['question']):26} {clean(one['answer'])}")
    say()
    for name, text in [*key_figures(overview), *_compared(overview), *goal_lines(overview)]:
        say(f"  {name:14} {text}")
    if table["rows"]:
        say()
        print_table(arm_rows(table, is_short=True))
        _say_more(table)
        if overview["best"] is not None and overview["best"]["since"] is not None:
            say("estimates and intervals leave out what the change made untrue")
    say()
    for event in happened:
        say(f"  {event_text(event)}")


def _compared(overview: Document) -> list[tuple[str, str]]:
    """The lift in a line, where the study has a control."""
    lift = overview.get("lift")  # none from an older service
    return [] if lift is None else [("control", clean(lift["text"]))]


def arms(options: argparse.Namespace) -> None:
    """List arms."""
    query: TableQuery = {
        "sort": options.sort,
        "descending": not options.ascending,
        "text": options.text,
        "offset": options.offset,
        "limit": options.limit,
    }
    if options.state:
        query["states"] = ",".join(dict.fromkeys(options.state))
    with place_of(options) as place:
        table = place.table(options.study, query)
    if options.json:
        write_json(table)
    elif table["rows"]:
        print_table(arm_rows(table))
        _say_more(table, options.offset)
    else:
        say("No arm fits." if options.text or options.state or options.offset else "No arm yet.")


def best(options: argparse.Namespace) -> None:
    """Show the recommendation."""
    with place_of(options) as place:
        found = place.named(options.study).best(options.level)
    document = best_document(found)
    if options.json:
        write_json(document)
        return
    ends = span(document["interval"])
    say(
        f"arm {found.arm}: mean {number(found.mean)}, {found.level:g} interval {ends}, "
        f"{count(found.n_rewards)} rewards, plain mean {number(found.observed)}"
    )
    if found.chance is not None:
        say(f"the best of the active arms: {chance_text(found.chance)}")
    if found.since is not None:
        say(f"since a change noticed at {when(found.since.timestamp())}")
    if found.shares is not None:
        parts = list(found.shares.items())
        for line in mix_lines(parts, is_within=found.is_within, mean=found.mix_mean):
            say(line)
    for name, value in found.config.items():
        say(f"  {config_text({name: value})}")


def events(options: argparse.Namespace) -> None:
    """List what happened."""
    kinds = list(dict.fromkeys(options.kind or ()))
    with place_of(options) as place:
        if options.out is not None:
            _export_events(place, options, kinds)
            return
        # One more than wanted, to know whether there are older ones.
        most = min(options.limit + 1, _MOST_EVENTS)
        found = place.events(options.study, kinds, most, options.after)["events"]
    if options.after is None:
        found, has_more = found[-options.limit :], len(found) > options.limit
    else:
        found, has_more = found[: options.limit], len(found) > options.limit
    if options.json:
        at = 0 if options.after is None else -1
        write_json({"events": found, "next": found[at]["id"] if has_more else None})
        return
    if has_more and options.after is None:
        say("Older ones are left out; see: imabo events --help")
    for event in found:
        of = "" if options.study is not None else f"{clean(event['study'] or 'the service')}: "
        say(event_text(event, of))
    if has_more and options.after is not None:
        say(f"There are more: --after {found[-1]['id']}")


def _export_events(place: Place, options: argparse.Namespace, kinds: list[str]) -> None:
    """Write all events to a file."""

    def pages() -> Iterator[list[Document]]:
        after = options.after or 0
        while page := place.events(options.study, kinds, _MOST_EVENTS, after)["events"]:
            yield page
            after = page[-1]["id"]

    n = write_events(options.out, pages())
    if options.json:
        write_json({"out": options.out, "events": n})
    else:
        tell(f"{count(n, 'event')} in {clean(options.out)}")


def events_of(place: Place, study: str, limit: int) -> list[Document]:
    """What happened to a study, the newest last."""
    found: list[Document] = place.events(study, (), limit)["events"]
    return found


def event_text(event: Document, of: str = "") -> str:
    """An event on a line, with what it is of."""
    at = when(datetime.fromisoformat(event["at"]).timestamp())
    return f"{at}  {clean(event['kind']):7}  {of}{clean(event['text'])}"


def key_figures(overview: Document) -> list[tuple[str, str]]:
    """The key figures of a study, as names and texts."""
    rate, found = overview["feedback_rate"], overview["best"]
    requests = count(overview["n_pulls"])
    if overview["pulls_per_minute"] is not None:
        requests += f", {number(overview['pulls_per_minute'])} a minute lately"
    feedback = f"{count(overview['n_rewards'], 'reward')}, {count(overview['n_pending'])} pending, "
    feedback += f"{count(overview['n_expired'])} expired"
    if rate is not None:
        feedback += f", feedback rate {rate:.0%}"
    arms = f"{count(overview['n_arms'])}, {count(overview['n_servable'])} of them can be served, "
    best = "none before the first reward"
    if found is not None:
        best = f"arm {found['arm']}: {number(found['mean'])} {span(found['interval'])}, "
        best += count(found["n_rewards"], "reward")
        if found["since"] is not None:
            best += f" since a change noticed at {when(found['since'])}"
        best += f", plain mean {number(found['observed'])}"
    figures = [
        ("requests", f"{requests}, last {when(overview.get('last_pull_at', overview['last_at']))}"),
        ("feedback", feedback),
        ("arms", f"{arms}space version {overview['space_version']}"),
        ("reward lately", recent_text(overview)),
        ("at random", random_text(overview)),
        ("best", best),
    ]
    if found is None:
        return figures
    mix = found.get("mix")  # none without an objective, and from an older service
    if mix is not None:
        parts = [(part["arm"], part["share"]) for part in mix["parts"]]
        lines = mix_lines(parts, is_within=mix["is_within"], mean=mix["mean"])
        figures += [("", line) for line in lines]
    if found["chance"] is not None:
        figures.append(("", f"the best of the active arms: {chance_text(found['chance'])}"))
    return [*figures, ("", config_text(found["config"]))]


def recent_text(overview: Document) -> str:
    """The mean of the newest rewards with its interval."""
    return f"{number(overview['recent_mean'])} {span(overview['recent_interval'])}".rstrip()


def random_text(overview: Document) -> str:
    """What serving at random would give; while it is not known, what is, and how many it takes."""
    ends = overview["random_interval"]
    if overview["random_mean"] is not None:
        return f"{number(overview['random_mean'])} {span(ends)}".rstrip()
    known = "" if ends is None else f", between {number(ends[0])} and {number(ends[1])}"
    more = f"{count(overview['n_random_more'])} more requests that try something new at random"
    return f"not known yet{known}: about {more}"


def arm_rows(table: Document, *, is_short: bool = False) -> Table:
    """The ``rows`` of ``insight.arm_table`` to print; a star marks the best.

    ``is_short`` leaves out plain means and where arms came from, and names an arm by what sets it
    apart rather than by its whole configuration.
    """
    titles = ["", "arm", "state", "pulls", "rewards", "share", "estimate"]
    titles += ["interval", "config"] if is_short else ["mean", "interval", "origin", "config"]
    # Signals stand before the configuration, each under its name.
    signals = list(dict.fromkeys(name for row in table["rows"] for name in row.get("signals", ())))
    titles[-1:] = [*(f"signal {clean(name)}" for name in signals), "config"]
    right = {
        "arm",
        "pulls",
        "rewards",
        "share",
        "estimate",
        "mean",
        *titles[-1 - len(signals) : -1],
    }
    drawn = Table(titles, frozenset(right))
    for row in table["rows"]:
        cells = {
            "": "*" if row["is_best"] else "",
            "arm": str(row["id"]),
            "state": "control draw" if row.get("is_draw") else clean(row["state"]),
            "pulls": count(row["n_pulls"]),
            "rewards": count(row["n_rewards"]),
            "share": f"{row['share']:.1%}",
            "estimate": number(row["estimate"]),
            "mean": number(row["mean"]),
            "interval": span((row["low"], row["high"])) if row["n_rewards"] else "",
            "origin": clean(row["origin"]),
            "config": config_text(row["config"]),
        }
        for name in signals:
            cells[f"signal {clean(name)}"] = amount(row["signals"].get(name))
        if is_short and row.get("label"):  # an older service sends none
            cells["config"] = clean(row["label"])
        drawn.rows.append([cells[title] for title in titles])
    return drawn


def _say_more(table: Document, offset: int = 0) -> None:
    left = table["n"] - offset - len(table["rows"])
    if left > 0:
        say(f"and {count(left)} more; see: imabo arms --help")
