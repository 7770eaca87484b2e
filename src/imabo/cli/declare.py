"""``imabo create``: a study from a file that declares it."""

from __future__ import annotations

import argparse
import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from imabo.checks import stored_oracle, stored_policy
from imabo.cli.files import bytes_of, json_of, unreadable
from imabo.cli.output import clean, count, say, write_json
from imabo.cli.places import service_of, service_url, store_of
from imabo.control import Control
from imabo.documents import Document, study_document
from imabo.errors import InvalidSetting, InvalidSpace, StudyExists, UnknownStudy
from imabo.evaluation import Guardrail
from imabo.space import Space
from imabo.space.scalars import show
from imabo.spelling import closest
from imabo.study import Study

_FIELDS: Final = (
    "name", "space", "forbid", "policy", "oracle", "seed", "reward_range", "window_s",
    "signals", "objective", "control", "exposure", "guardrail", "revision",
)  # fmt: skip

# What of a study another declaration may change.
_DECLARED: Final = (
    "space", "space_version", "reward_range", "window_s", "revision", "signals", "objective",
    "rollout",
)  # fmt: skip


def create(options: argparse.Namespace) -> None:
    """Make a study, or find that it is there already."""
    settings = declaration(read(options.file))
    name = options.name or settings.pop("name", None)
    settings.pop("name", None)
    if name is None:
        raise InvalidSetting(
            f"{options.file} has no name", "a study needs one", 'add name = "..." or pass --name'
        )
    if options.revision is not None:
        settings["revision"] = options.revision
    settings["if_changed"] = options.if_changed
    try:
        before, study = _created(options, name, settings)
    except StudyExists as error:
        fix = re.sub(r'if_changed="(\w+)"', r"--if-changed \1", error.fix)
        fix = re.sub(r"; Study\.open\(.*? needs no declaration", "", fix)
        raise StudyExists(error.what, error.why, fix) from None
    if options.json:
        write_json(study)
        return
    n_parameters = count(len(study["space"]["parameters"]), "parameter")
    say(
        f"{clean(study['name'])} {_outcome(before, study)}: {n_parameters}, "
        f"{count(study['n_pulls'], 'request')} so far"
    )


def _outcome(before: Document | None, study: Document) -> str:
    if before is None:
        return "is created"
    is_same = all(before.get(part) == study.get(part) for part in _DECLARED)
    return "is there, unchanged" if is_same else "is updated"


def _created(
    options: argparse.Namespace, name: str, settings: dict[str, Any]
) -> tuple[Document | None, Document]:
    """The study as it was, None where there was none, and as it is now."""
    url, before = service_url(options), None
    if url is not None:
        with service_of(options, url) as place:
            with suppress(UnknownStudy):
                before = place.study(name)
            return before, place.create(name, settings)
    with store_of(options, may_create=True) as store:
        with suppress(UnknownStudy):
            before = study_document(store.outline(name))
        Study.create(name, store=store, **settings).close()
        return before, study_document(store.outline(name))


def read(path: str) -> Any:
    """What a file says: JSON where its name ends in .json (or is -), else TOML."""
    if path == "-" or path.lower().endswith(".json"):
        return json_of(path)
    with bytes_of(path) as file:
        try:
            return tomllib.load(file)
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from error


def declaration(document: Any) -> dict[str, Any]:
    """What ``Study.create`` takes, from a document; what it leaves out keeps its default.

    Example:
        >>> declaration({"space": {"x": {"type": "float", "low": 0, "high": 1}}})["space"]
        Space(x=Float(0.0, 1.0))
    """
    if not isinstance(document, Mapping):
        raise InvalidSetting(f"the file says {show(document)}", "it must be a table", "see --help")
    for field in document:
        if field not in _FIELDS:
            close = closest(field, _FIELDS)
            raise InvalidSetting(
                f"the file sets {show(field)}",
                f"a study has {', '.join(_FIELDS)}",
                f"write {close!r}" if close else "remove it",
            )
    if "space" not in document:
        why = "there is nothing to tune without one"
        raise InvalidSetting("the file has no space", why, "add a table [space.NAME] a parameter")
    found = {name: value for name, value in document.items() if name != "forbid"}
    found["space"] = Space.from_dict(_space(document))
    if found.get("reward_range") == "none":  # TOML has no null
        found["reward_range"] = None
    for part, restored in (("policy", stored_policy), ("oracle", stored_oracle)):
        given = found.get(part)
        if isinstance(given, str):
            given = {"type": given}
        if given is not None:
            if not isinstance(given, Mapping):
                why = "it must be the name of one, or a table with its type"
                raise InvalidSetting(f"{part} is {show(given)}", why, 'write {type = "..."}')
            found[part] = restored(None, given)
    for part, made in (("control", Control), ("guardrail", Guardrail)):
        if part in found:
            found[part] = _made(part, made, found[part])
    return found


def _made(name: str, made: Callable[..., Any], given: object) -> Any:
    """A control or a guardrail from its table; TOML has no null, so that random is a word."""
    known = inspect.signature(made).parameters
    needed = {"config"} & known.keys()
    if not isinstance(given, Mapping) or not needed <= given.keys() <= known.keys():
        raise InvalidSetting(
            f"{name} is {show(given)}",
            f"it must be a table with {' and '.join(known)}",
            f"write [{name}] with these below it",
        )
    values = dict(given)
    if values.get("config") == "random":
        values["config"] = None
    return made(**values)


def _space(document: Mapping[str, Any]) -> dict[str, Any]:
    """The space in the form of the API: from that form, or from a table a parameter."""
    space = document["space"]
    if not isinstance(space, Mapping):
        raise InvalidSpace(f"space is {show(space)}", "it must be a table", "see --help")
    whole = dict(space)
    if not isinstance(space.get("parameters"), list):
        for name, parameter in space.items():
            if not isinstance(parameter, Mapping):
                raise InvalidSpace(
                    f"parameter {show(name)} is {show(parameter)}",
                    "it must be a table with its type and its values",
                    'write {type = "choice", values = ["small", "large"]}, say',
                )
        whole = {"parameters": [{"name": n, **parameter} for n, parameter in space.items()]}
    if "forbid" in document:
        whole["forbid"] = document["forbid"]
    return whole
