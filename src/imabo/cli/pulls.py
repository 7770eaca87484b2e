"""``imabo pull``, ``tell`` and ``signal``: one request, by its id or by its key."""

from __future__ import annotations

import argparse
from typing import Any

from imabo.arms import Pull
from imabo.cli.exits import UsageError
from imabo.cli.output import clean, config_text, number, say, value_text, when, write_json
from imabo.cli.places import place_of
from imabo.documents import pull_document


def pull(options: argparse.Namespace) -> None:
    """Show a pull, or all those of a key."""
    with place_of(options) as place:
        study = place.named(options.study)
        if options.by_key and options.part is None:
            found = study.pulls_of(options.pull)
        else:
            found = [study.pull(**_named(options))]
    if options.json:
        write_json({"pulls": [pull_document(one, options.study) for one in found]})
        return
    for one in found:
        _print(one)


def tell(options: argparse.Namespace) -> None:
    """Report a reward."""
    with place_of(options) as place:
        study = place.named(options.study)
        signals = dict(_signal(word, options) for word in options.signal)
        with_it: dict[str, Any] = {"signals": signals} if signals else {}
        study.tell(reward=options.reward, **_named(options), **with_it)
        told = study.pull(**_named(options))
    if options.json:
        write_json(pull_document(told, options.study))
        return
    say(f"the reward of {clean(told.id)} is {number(told.reward)}")
    for name in signals:
        say(f"its signal {clean(name)} is {number(told.signals[name])}")


def signal(options: argparse.Namespace) -> None:
    """Report a signal."""
    name, value = _signal(options.signal, options)
    with place_of(options) as place:
        study = place.named(options.study)
        study.signal(name=name, value=value, **_named(options))
        told = study.pull(**_named(options))
    if options.json:
        write_json(pull_document(told, options.study))
    else:
        say(f"the signal {clean(name)} of {clean(told.id)} is {number(told.signals[name])}")


def _signal(word: str, options: argparse.Namespace) -> tuple[str, float]:
    name, _, text = word.partition("=")
    try:
        return name, float(text)
    except ValueError:
        raise UsageError(f"{word!r} is not name=value with a number", options.command) from None


def _named(options: argparse.Namespace) -> dict[str, Any]:
    """How the study's methods name the pull that a command line means."""
    if not options.by_key:
        return {"pull_id": options.pull} | ({} if options.part is None else {"part": options.part})
    return {"key": options.pull, "part": options.part}


def _print(one: Pull) -> None:
    named = "" if one.key is None else f", key {value_text(one.key)}, part {one.part}"
    say(f"{clean(one.id)}: {one.state}{named}")
    say(f"  served   {when(one.served_at.timestamp())}, arm {one.arm}, {clean(one.reason)}")
    if one.rewarded_at is not None:
        say(f"  reward   {number(one.reward)}, {when(one.rewarded_at.timestamp())}")
    for name, value in one.signals.items():
        say(f"  {clean(name):<8} {number(value)}")
    if one.context is not None:
        say(f"  context  {value_text(one.context)}")
    say(f"  {config_text(one.config)}")
