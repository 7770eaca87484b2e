"""``imabo pause``, ``resume`` and ``retire``; ``add``; ``space``; ``update``; ``delete``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from imabo.arms import Arm
from imabo.checks import valid_configs
from imabo.cli.exits import UsageError
from imabo.cli.files import json_of
from imabo.cli.look import arm_rows
from imabo.cli.output import (
    Table,
    clean,
    config_text,
    count,
    print_table,
    say,
    value_text,
    write_json,
)
from imabo.cli.places import place_of
from imabo.documents import Document, arm_document
from imabo.errors import ImaboError, InvalidConfig, InvalidSetting, UnknownArm
from imabo.space import Config, Space
from imabo.space.base import Parameter
from imabo.space.scalars import show


def put_states(options: argparse.Namespace) -> None:
    """Pause, resume or retire arms, as the command is called."""
    with place_of(options) as place:
        study, wanted = place.named(options.study), list(dict.fromkeys(options.arms))
        _check_arms(study.arms(), options, wanted)
        verbs: dict[str, Callable[[int], Arm | None]] = {
            "pause": study.pause,
            "resume": study.resume,
            "retire": study.retire,
        }
        changed = [arm for one in wanted if (arm := verbs[options.name](one)) is not None]
    if options.json:
        write_json({"arms": [arm_document(arm) for arm in changed]})
        return
    for arm in changed:
        say(f"arm {arm.id} is {arm.state}: {config_text(arm.config)}")


def _check_arms(arms: Sequence[Arm], options: argparse.Namespace, wanted: Sequence[int]) -> None:
    """Refuse before anything changes, rather than half-way through the list."""
    known = {arm.id: arm for arm in arms}
    for arm_id in wanted:
        if arm_id not in known:
            raise UnknownArm(
                f"no arm has the id {arm_id}",
                f"study {options.study!r} has arms 1 to {len(known)}"
                if known
                else "there is no arm yet",
                "take the id from imabo arms",
            )
        if known[arm_id].state == "retired" and options.name != "retire":
            raise InvalidSetting(
                f"arm {arm_id} is retired",
                "retiring is for good, or the space no longer allows the arm",
                "use imabo add to serve this configuration again",
            )


# --- adding -------------------------------------------------------------------------------------


def add(options: argparse.Namespace) -> None:
    """Admit a configuration, or those of a list."""
    with place_of(options) as place:
        study = place.study(options.study)
        space = Space.from_dict(study["space"])
        given = _given(options.config, space, options.command)
        if isinstance(given, list):
            arms = place.named(options.study).add_arms(valid_configs(space, given))
        else:
            arms = [place.named(options.study).add_arm(_checked(given, space))]
    if options.json:
        documents = [arm_document(arm) for arm in arms]
        write_json({"arms": documents} if isinstance(given, list) else documents[0])
        return
    for arm in arms:
        is_new = arm.id > study["n_arms"]
        say(f"arm {arm.id} is {'new' if is_new else arm.state}: {config_text(arm.config)}")


def read_config(words: Sequence[str], space: Space, command: str = "imabo add") -> Config:
    """The configuration that a command line gives, checked against the space."""
    return _checked(_given(words, space, command), space)


def _given(words: Sequence[str], space: Space, command: str) -> object:
    """What a command line gives, as it is."""
    first = words[0]
    if len(words) == 1 and first.startswith("@"):
        return json_of(first[1:])
    if len(words) == 1 and first.lstrip().startswith(("{", "[")):
        try:
            return json.loads(first)
        except ValueError as error:
            raise UsageError(f"CONFIG is not JSON: {error}", command) from None
    return _pairs(words, space, command)


def _checked(given: object, space: Space) -> Config:
    if not isinstance(given, Mapping):
        raise InvalidConfig(
            f"the configuration is {show(given)}",
            "it must be a JSON object",
            "write the name of each parameter with its value",
        )
    return space.validate(given)


def _pairs(words: Sequence[str], space: Space, command: str) -> dict[str, object]:
    config: dict[str, object] = {}
    for word in words:
        name, separator, text = word.partition("=")
        if not separator:
            raise UsageError(
                f"{word!r} is not name=value; a configuration is such pairs, or one JSON object",
                command,
            )
        if name in config:
            raise UsageError(f"{name!r} is given twice", command)
        config[name] = _value(text, space.parameters.get(name))
    return config


def _value(text: str, parameter: Parameter | None) -> object:
    """A value as its parameter takes it: a number, true, null where it may be, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # A choice of "1" is text that looks like a number.
    takes_text = parameter is not None and not _takes(parameter, value) and _takes(parameter, text)
    return text if takes_text else value


def _takes(parameter: Parameter, value: object) -> bool:
    try:
        parameter.validate(value)
    except ImaboError:
        return False
    return True


# --- the space ----------------------------------------------------------------------------------


def space(options: argparse.Namespace) -> None:
    """Print the space, or change it."""
    if options.set is None:
        if options.dry_run or options.yes:
            raise UsageError("--dry-run and --yes go with --set FILE", options.command)
        with place_of(options) as place:
            study = place.study(options.study)
        _print_space(study, as_json=options.json)
        return
    if not (options.dry_run or options.yes) and (options.json or options.set == "-"):
        raise UsageError("--json and --set - cannot ask; add --yes or --dry-run", options.command)
    document: Any = json_of(options.set)
    wanted = Space.from_dict(document)
    with place_of(options) as place:
        preview = place.preview_space(options.study, wanted)
        if not options.json:
            _print_preview(preview)
        if options.dry_run:
            if options.json:
                write_json(preview)
            return
        if not options.yes:
            _confirm("Change the space? Type yes: ", "yes")
        place.named(options.study).update_space(wanted)
        study = place.study(options.study)
    if options.json:
        write_json(study)
    else:
        say(f"{clean(options.study)} is at space version {study['space_version']}")


def _print_space(study: Document, *, as_json: bool) -> None:
    if as_json:
        write_json(study["space"])
        return
    say(f"{clean(study['name'])}: space version {study['space_version']}")
    say()
    table = Table(["parameter", "type", "values", "when"], long=frozenset({"values", "when"}))
    for parameter in study["space"]["parameters"]:
        active = parameter.get("when") or {}
        table.rows.append(
            [
                clean(parameter["name"]),
                clean(parameter["type"]),
                _values_text(parameter),
                " and ".join(f"{clean(name)} is {_either(given)}" for name, given in active.items())
                or "always",
            ]
        )
    print_table(table)
    for clause in study["space"].get("forbid", ()):
        parts = (f"{clean(name)} is {_either(values)}" for name, values in clause.items())
        say(f"never: {' and '.join(parts)}")


def _values_text(parameter: Document) -> str:
    if "values" in parameter:
        order = " (ordered)" if parameter.get("ordered") else ""
        return ", ".join(map(value_text, parameter["values"])) + order
    text = f"{value_text(parameter['low'])} to {value_text(parameter['high'])}"
    step = parameter.get("step")
    if step is not None and not (parameter["type"] == "int" and step == 1):
        text += f" in steps of {value_text(step)}"
    return text + (" on a log scale" if parameter.get("log") else "")


def _either(values: object) -> str:
    listed = values if isinstance(values, list) else [values]
    return " or ".join(map(value_text, listed))


def _print_preview(preview: Document) -> None:
    if not preview["changes"]:
        say("This is the space that the study has.")
        return
    for words in ("added", "removed", "changed"):
        if preview[words]:
            say(f"{words}: {', '.join(map(clean, preview[words]))}")
    share = f" ({preview['share_retired']:.1%} of the pulls so far)" if preview["n_retired"] else ""
    say(
        f"arms to retire: {count(preview['n_retired'])}{share}; to bring back: "
        f"{count(preview['n_restored'])}; active afterwards: {count(preview['n_active'])}"
    )
    if preview["retires_best"]:
        say("The best arm is among those to retire.")
    for title in ("retired", "restored"):
        if preview[title]:
            say(f"{title}:")
            print_table(arm_rows({"rows": preview[title]}))


# --- settings -----------------------------------------------------------------------------------


def update(options: argparse.Namespace) -> None:
    """Change settings of a study."""
    names = ("window_s", "reward_range")
    wanted = {name: getattr(options, name) for name in names if hasattr(options, name)}
    if not wanted:
        raise UsageError("say what to change: --window-s or --reward-range", options.command)
    with place_of(options) as place:
        before = place.study(options.study)
        place.named(options.study).update(**wanted)
        after = place.study(options.study)
    if options.json:
        write_json(after)
        return
    for name in wanted:
        was, now = value_text(before[name]), value_text(after[name])
        say(f"{name} is {now}" + ("" if was == now else f", it was {was}"))


# --- deleting -----------------------------------------------------------------------------------


def delete(options: argparse.Namespace) -> None:
    """Delete a study."""
    if options.json and not options.yes:
        raise UsageError("--json cannot ask; add --yes", options.command)
    with place_of(options) as place:
        study = place.study(options.study)
        if not options.yes:
            _confirm(
                f"This deletes {count(study['n_arms'])} arms and {count(study['n_pulls'])} pulls "
                "for good. Type the name of the study: ",
                options.study,
            )
        place.delete(options.study)
    if options.json:
        write_json({"deleted": options.study})
    else:
        say(f"{clean(options.study)} is deleted")


def _confirm(question: str, wanted: str) -> None:
    """Ask; anything but the wanted answer, or no answer at all, is a refusal."""
    sys.stdout.flush()
    sys.stderr.write(question)
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if answer.rstrip("\r\n") != wanted:
        raise InvalidSetting(
            "nothing was changed",
            f"the answer was {show(answer.rstrip())}" if answer else "there was no answer",
            "answer as asked, or add --yes where nobody can",
        )
