"""``imabo control``, ``lift``, ``roll-back``, ``resume`` and ``plan``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal

from imabo.cli.exits import UsageError
from imabo.cli.output import (
    Table,
    clean,
    config_text,
    count,
    number,
    print_table,
    say,
    span,
    write_json,
)
from imabo.cli.places import Place, place_of
from imabo.cli.step_in import put_states, read_config
from imabo.control import SHARE, Control
from imabo.documents import Document
from imabo.engine.rollouts import SAME, Same
from imabo.evaluation import Guardrail, plan
from imabo.lifting import LiftReport, lift_document
from imabo.space import Config, Space


def control(options: argparse.Namespace) -> None:
    """Show the control of a study, set it, change it or end it."""
    is_setting = options.config or options.random
    numbers = options.share, options.exposure, options.margin
    given = [one for one in numbers if one is not None]
    if options.end and (is_setting or given or options.no_guardrail):
        raise UsageError("--end stands alone", options.command)
    if options.config and options.random:
        raise UsageError("CONFIG and --random exclude each other", options.command)
    if options.no_guardrail and options.margin is not None:
        raise UsageError("--margin and --no-guardrail exclude each other", options.command)
    if options.margin is None and (options.watch is not None or options.lower_is_worse):
        raise UsageError("--watch and --lower-is-worse go with --margin", options.command)
    with place_of(options) as place:
        if options.end or is_setting or given or options.no_guardrail:
            _change(place, options)
        document = place.study(options.study)["rollout"]
    if options.json:
        write_json(document)
        return
    for name, text in control_lines(document):
        say(f"{name:12} {text}")


def _change(place: Place, options: argparse.Namespace) -> None:
    study = place.named(options.study)
    if options.end:
        study.update_control(None)
        return
    wanted: Control | Same = SAME
    if options.config or options.random or options.share is not None:
        now = place.study(options.study)["rollout"]["control"]
        share = options.share or (SHARE if now is None else now["share"])
        if options.random:
            wanted = Control.random(share)
        elif options.config:
            wanted = Control(_config(place, options), share)
        elif now is None:
            raise UsageError("there is no control yet; add CONFIG or --random", options.command)
        else:
            wanted = Control(now["config"], share)
    guardrail: Guardrail | Same | None = SAME
    if options.no_guardrail:
        guardrail = None
    elif options.margin is not None:
        worse: Literal["higher", "lower"] = "lower" if options.lower_is_worse else "higher"
        guardrail = Guardrail(options.margin, signal=options.watch, worse=worse)
    exposure: float | Same = SAME if options.exposure is None else options.exposure
    study.update_control(wanted, exposure=exposure, guardrail=guardrail)


def _config(place: Place, options: argparse.Namespace) -> Config:
    space = Space.from_dict(place.study(options.study)["space"])
    return read_config(options.config, space, options.command)


def control_lines(document: Document) -> Iterator[tuple[str, str]]:
    """Who gets the control, as names and texts."""
    yield "state", clean(document["state"])
    if document["reason"]:
        yield "reason", clean(document["reason"])
    part = document["control"]
    if part is None:
        yield "control", "none; set one with imabo control STUDY CONFIG"
        return
    text = "a draw from P0" if part["config"] is None else config_text(part["config"])
    yield "control", text if document["arm"] is None else f"arm {document['arm']}: {text}"
    yield "share", number(part["share"])
    yield "exposure", number(document["exposure"])
    guardrail = document["guardrail"]
    yield "guardrail", "none" if guardrail is None else _guardrail_text(guardrail)
    yield "since", clean(document["since"])


def _guardrail_text(guardrail: Document) -> str:
    text = f"margin {number(guardrail['margin'])}"
    if guardrail.get("signal") is None:
        return text
    return f"{text} of {clean(guardrail['signal'])}, {clean(guardrail['worse'])} is worse"


def lift(options: argparse.Namespace) -> None:
    """Show how much better a study is than its control."""
    with place_of(options) as place:
        found = place.named(options.study).lift(options.level, options.last)
    if options.json:
        write_json(lift_document(found))
        return
    say(clean(found))
    say()
    drawn = Table(
        ["rewards of", "lift", "interval", "tuned", "control", "n tuned", "n control"],
        frozenset({"lift", "tuned", "control", "n tuned", "n control"}),
    )
    for name, one in _stretches(found):
        drawn.rows.append(
            [
                name,
                number(one["estimate"]),
                span(one["interval"]) if one["interval"] else "",
                number(one["tuned_mean"]),
                number(one["control_mean"]),
                count(one["n_tuned"]),
                count(one["n_control"]),
            ]
        )
    print_table(drawn)


def _stretches(found: LiftReport) -> Iterator[tuple[str, dict[str, Any]]]:
    document = lift_document(found)
    yield "all", document
    last = document["last"]
    yield f"the last {count(last['n_tuned'] + last['n_control'])}", last
    for one in document["by_day"]:
        yield one["day"], one


def roll_back(options: argparse.Namespace) -> None:
    """Serve the control to everyone."""
    with place_of(options) as place:
        config = _config(place, options) if options.config else None
        place.named(options.study).roll_back(config, reason=options.reason)
        document = place.study(options.study)["rollout"]
    if options.json:
        write_json(document)
        return
    part = document["control"]["config"]
    what = "draws from P0" if part is None else config_text(part)
    say(f"{clean(options.study)} is rolled back: everyone gets {what}")
    say(f"to go on: imabo resume {clean(options.study)}")


def resume(options: argparse.Namespace) -> None:
    """Go on tuning after a roll-back, or serve paused arms again."""
    if options.arms:
        put_states(options)
        return
    with place_of(options) as place:
        place.named(options.study).resume()
        document = place.study(options.study)["rollout"]
    if options.json:
        write_json(document)
    else:
        say(f"{clean(options.study)} is {document['state']}")


def plan_lift(options: argparse.Namespace) -> None:
    """Say how many requests it takes to tell a lift of some size."""
    found = plan(
        options.share,
        options.reward,
        options.detect,
        options.level,
        feedback_rate=options.feedback,
    )
    if options.json:
        write_json(asdict(found))
        return
    say(
        f"About {count(found.requests)} requests: they bring {count(found.rewards)} rewards, "
        f"{count(found.control_rewards)} of them the control's."
    )
    say(
        f"Then the lift is known to within {number(found.half_width)}, by a {options.level:g} "
        "interval that holds at every moment. Graded rewards need fewer than rewards of 0 and 1."
    )
