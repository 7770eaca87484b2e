"""What the gateway's file says: imabo, the upstreams with their models, and the routes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from imabo.errors import InvalidSetting
from imabo.gateway.tables import Table, read_toml
from imabo.settings import is_number
from imabo.space.scalars import show
from imabo.spelling import closest

PREFIX: Final = "imabo/"  # of the names of models that are tuned
# The fields of a request that a parameter may set, and nothing else.
FIELDS: Final = (
    "model", "temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort",
)  # fmt: skip
SYSTEM_MODES: Final = ("keep", "insert", "replace")
EXAMPLE_MODES: Final = ("insert", "replace")
ID_MODES: Final = ("pull", "upstream")
ROLES: Final = ("user", "assistant")
_DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Prices:
    """What a token costs, in whatever currency; None where the file does not say."""

    input: float | None = None
    output: float | None = None

    def cost(self, n_input: int, n_output: int) -> float | None:
        """What an answer cost.

        Example:
            >>> Prices(input=0.25, output=0.5).cost(100, 10)
            30.0
        """
        if (n_input and self.input is None) or (n_output and self.output is None):
            return None
        return n_input * (self.input or 0.0) + n_output * (self.output or 0.0)


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server with models; ``key`` never shows itself."""

    name: str
    base_url: str
    models: Mapping[str, Prices]
    key: str | None = field(default=None, repr=False)
    forward_key: bool = False
    any_model: bool = False
    connect_s: float = 5.0
    timeout_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Target:
    """A model at an upstream."""

    upstream: Upstream
    model: str

    @property
    def prices(self) -> Prices:
        """Of its tokens."""
        return self.upstream.models.get(self.model, Prices())


@dataclass(frozen=True, slots=True)
class Insertion:
    """Messages that a parameter chooses by name: a system prompt, or few-shot turns."""

    parameter: str
    mode: str
    named: Mapping[str, tuple[Mapping[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Route:
    """How the configurations of a study become requests."""

    name: str
    study: str
    default: Mapping[str, Any]
    fields: Mapping[str, str]  # of the request -> parameter
    caller_wins: frozenset[str]
    system: Insertion | None = None
    examples: Insertion | None = None
    model: Target | None = None  # where no parameter chooses one
    fallback: Target | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    on_error: float | bool | None = None  # None: the lowest, where the fallback answered
    ask_usage: bool | None = None  # None: where the study declares what is counted from it


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What a gateway's file says, checked; ``read_settings`` makes it.

    Example:
        >>> from imabo.gateway.tables import Table
        >>> file = {
        ...     "imabo": {"store": "sqlite:///imabo.db"},
        ...     "upstreams": {"local": {
        ...         "base_url": "http://127.0.0.1:8777/v1", "models": {"small": {}}}},
        ...     "routes": {"answers": {
        ...         "study": "support-answers", "default": {"model": "small"},
        ...         "fields": {"model": "model"}}},
        ... }
        >>> settings_of(Table("", file), {}).target("local/small").model
        'small'
    """

    url: str | None
    store: str | None
    deadline_s: float
    outbox: str | None
    upstreams: Mapping[str, Upstream]
    routes: Mapping[str, Route]
    ids: str
    max_body_bytes: int
    max_answer_bytes: int
    feedback_file: str | None
    bodies_file: str | None
    key: str | None = field(default=None, repr=False)  # of imabo
    own_key: str | None = field(default=None, repr=False)  # that callers must send

    def route(self, model: object) -> Route | None:
        """The route of a model's name: that of the name, else the one of the study."""
        if not isinstance(model, str) or not model.startswith(PREFIX):
            return None
        name = model.removeprefix(PREFIX)
        if name in self.routes:
            return self.routes[name]
        return next((one for one in self.routes.values() if one.study == name), None)

    def weights(self, study: str) -> Mapping[str, float]:
        """The weights of partial scores that the routes of a study have; empty without any."""
        found = (one.scores for one in self.routes.values() if one.study == study and one.scores)
        return next(found, {})

    def target(self, model: object) -> Target | None:
        """The upstream that has a model: by its name, or by ``upstream/name``."""
        if not isinstance(model, str):
            return None
        for upstream in self.upstreams.values():
            if model in upstream.models:
                return Target(upstream, model)
        first, _, rest = model.partition("/")
        named = self.upstreams.get(first)
        if named is not None and (rest in named.models or (rest and named.any_model)):
            return Target(named, rest)
        catch_all = (one for one in self.upstreams.values() if one.any_model)
        return next((Target(one, model) for one in catch_all), None)


def read_settings(
    path: str | os.PathLike[str],
    environ: Mapping[str, str] | None = None,
    *,
    is_mounted: bool = False,
) -> GatewaySettings:
    """The settings of a gateway from its TOML file; keys come from the environment.

    Args:
        path: The file.
        environ: The environment; that of this process by default.
        is_mounted: Whether it is for ``imabo serve``, whose studies are its own.
    """
    known = os.environ if environ is None else environ
    return settings_of(read_toml(path), known, is_mounted=is_mounted)


def settings_of(
    file: Table, environ: Mapping[str, str], *, is_mounted: bool = False
) -> GatewaySettings:
    """The settings that a file's table stands for."""
    imabo, gateway = file.table("imabo"), file.table("gateway")
    for name in ("url", "store", "key_env", "outbox") if is_mounted else ():
        if name in imabo:
            why = "within a service, the studies are its own"
            raise imabo.wrong(name, why, "leave it out, or run imabo gateway by itself")
    if not is_mounted and ("url" in imabo) == ("store" in imabo):
        raise InvalidSetting(
            "imabo names "
            + ("both a url and a store" if "url" in imabo else "no url and no store"),
            "studies are asked at one place: a service, or a database in this process",
            'write url = "http://127.0.0.1:8766", or store = "sqlite:///imabo.db"',
        )
    upstreams = {
        name: _upstream(name, table, environ)
        for name, table in file.table("upstreams").tables().items()
    }
    if not upstreams:
        why = "requests must go somewhere"
        raise InvalidSetting("the file has no upstream", why, "add a table [upstreams.NAME]")
    _check_unique(upstreams)
    settings = GatewaySettings(
        url=imabo.url("url") if "url" in imabo else None,
        store=imabo.text("store") if "store" in imabo else None,
        key=imabo.secret("key_env", environ),
        deadline_s=imabo.number("deadline_s", 0.5, low=0.001, high=60.0),
        outbox=imabo.text("outbox") if "outbox" in imabo else None,
        upstreams=upstreams,
        routes={},
        own_key=gateway.secret("key_env", environ),
        ids=gateway.one_of("ids", ID_MODES),
        max_body_bytes=int(gateway.number("max_body_bytes", 1 << 25, low=1024, high=1 << 30)),
        max_answer_bytes=int(gateway.number("max_answer_bytes", 1 << 25, low=1024, high=1 << 30)),
        feedback_file=gateway.text("feedback_file") if "feedback_file" in gateway else None,
        bodies_file=gateway.text("bodies_file") if "bodies_file" in gateway else None,
    )
    is_forwarding = any(one.forward_key for one in upstreams.values())
    if is_mounted and is_forwarding:
        raise InvalidSetting(
            "an upstream's forward_key is set",
            "within a service, the key that callers send is the service's",
            "set key_env there, or run imabo gateway by itself",
        )
    if settings.own_key is not None and is_forwarding:
        raise InvalidSetting(
            "gateway.key_env and an upstream's forward_key are both set",
            "callers send one key: the gateway's, or the upstream's",
            "remove one of the two",
        )
    routes = {
        name: _route(name, table, settings) for name, table in file.table("routes").tables().items()
    }
    _check_weights(routes)
    for table in (imabo, gateway, file):
        table.end()
    return replace(settings, routes=routes)


def _upstream(name: str, table: Table, environ: Mapping[str, str]) -> Upstream:
    models = {}
    for model, prices in table.table("models").tables().items():
        models[model] = Prices(
            *(
                prices.number(end, 0.0, low=0.0, high=1e6) if end in prices else None
                for end in ("input", "output")
            )
        )
        prices.take("input"), prices.take("output")
        prices.end()
    upstream = Upstream(
        name=name,
        base_url=table.url("base_url"),
        models=models,
        key=table.secret("key_env", environ),
        forward_key=table.flag("forward_key", False),
        any_model=table.flag("any_model", False),
        connect_s=table.number("connect_s", 5.0, low=0.01, high=600.0),
        timeout_s=table.number("timeout_s", 600.0, low=0.01, high=_DAY_S),
    )
    if upstream.key is not None and upstream.forward_key:
        why = "a request carries one key"
        raise table.wrong("forward_key", why, "remove it, or key_env")
    table.end()
    return upstream


def _check_unique(upstreams: Mapping[str, Upstream]) -> None:
    owners: dict[str, str] = {}
    for upstream in upstreams.values():
        for model in upstream.models:
            if model.startswith(PREFIX):
                raise InvalidSetting(
                    f"upstreams.{upstream.name}.models has {show(model)}",
                    f"names that begin with {PREFIX!r} are those of routes",
                    "give it another name",
                )
            if owners.setdefault(model, upstream.name) != upstream.name:
                raise InvalidSetting(
                    f"upstreams.{upstream.name}.models has {show(model)}",
                    f"upstream {owners[model]!r} has it, too, and callers name the model alone",
                    "list it at one of them; a route may name the other as upstream/model, "
                    "where that has any_model = true",
                )


def _route(name: str, table: Table, settings: GatewaySettings) -> Route:
    default = table.table("default").items()
    fields = {}
    for one, parameter in table.table("fields").items().items():
        place = Table(table.at("fields"), {one: parameter})
        if one not in FIELDS:
            close = closest(one, FIELDS)
            fix = f"write {close!r}" if close else "remove it"
            raise place.wrong(one, f"parameters may set {', '.join(FIELDS)}", fix)
        fields[one] = place.text(one)
    route = Route(
        name=name,
        study=table.text("study", name),
        default=default,
        fields=fields,
        caller_wins=_caller_wins(table),
        system=_insertion(table, "system", SYSTEM_MODES),
        examples=_insertion(table, "examples", EXAMPLE_MODES),
        model=_target(table, "model", settings) if "model" in table else None,
        fallback=_target(table, "fallback", settings) if "fallback" in table else None,
        scores=_scores(table.table("scores")),
        on_error=_on_error(table),
        ask_usage=table.flag("ask_usage", False) if "ask_usage" in table else None,
    )
    for known in ("model", "fallback", "ask_usage"):
        table.take(known)
    if ("model" in fields) == (route.model is not None):
        raise InvalidSetting(
            f"{table.place} has " + ("two models" if route.model else "no model"),
            "the model is chosen by a parameter, or it is always the same",
            f"write one of [{table.at('fields')}] model = PARAMETER and model = NAME",
        )
    table.end()
    _check_default(route, table, settings)
    return route


def _check_default(route: Route, table: Table, settings: GatewaySettings) -> None:
    """The default must be servable: it is for the time when nothing else is."""
    parameter = route.fields.get("model")
    if parameter is not None and settings.target(route.default.get(parameter)) is None:
        raise InvalidSetting(
            f"{table.at('default')} has {parameter} = {show(route.default.get(parameter))}",
            "no upstream has that model, and it chooses the model",
            f"write one of {', '.join(sorted(_models(settings)))}",
        )
    for kind, one in (("system", route.system), ("examples", route.examples)):
        value = None if one is None else route.default.get(one.parameter)
        if one is not None and value is not None and value not in one.named:
            raise InvalidSetting(
                f"{table.at('default')} has {one.parameter} = {show(value)}",
                f"{table.at(kind)} has {', '.join(one.named)}",
                "name one of them, or add it there",
            )


def _models(settings: GatewaySettings) -> set[str]:
    return {model for one in settings.upstreams.values() for model in one.models} or {"a model"}


def _caller_wins(table: Table) -> frozenset[str]:
    value = table.take("caller_wins")
    if value is None or isinstance(value, bool):
        return frozenset(FIELDS) if value is not False else frozenset()
    if not isinstance(value, list) or not all(one in FIELDS for one in value):
        why = f"it must be true, false, or a list of some of {', '.join(FIELDS)}"
        raise table.wrong("caller_wins", why, "correct it")
    return frozenset(value)


def _target(table: Table, name: str, settings: GatewaySettings) -> Target:
    found = settings.target(table.text(name))
    if found is None:
        close = closest(table.take(name), _models(settings))
        fix = f"write {close!r}" if close else "list it in [upstreams.NAME.models]"
        raise table.wrong(name, "no upstream has that model", fix)
    return found


def _scores(table: Table) -> dict[str, float]:
    weights = {name: table.number(name, 1.0, low=0.0, high=1e6) for name in table.items()}
    if weights and not sum(weights.values()) > 0.0:
        why = "they are the weights of a mean"
        raise InvalidSetting(f"{table.place} are all 0", why, "give one of them a weight")
    return weights


def _check_weights(routes: Mapping[str, Route]) -> None:
    """Feedback names a pull, not a route: the routes of a study must weigh scores the same way."""
    first: dict[str, Route] = {}
    for route in routes.values():
        other = first.setdefault(route.study, route) if route.scores else route
        if other.scores != route.scores:
            raise InvalidSetting(
                f"routes.{route.name}.scores are not those of routes.{other.name}",
                f"both are routes of study {route.study!r}, and feedback does not say which it was",
                "give both the same weights, or leave one of them out",
            )


def _on_error(table: Table) -> float | bool | None:
    value = table.take("on_error")
    if value is None or value is False:
        return value
    if isinstance(value, bool) or not is_number(value):
        why = "it must be a reward, or false for none"
        raise table.wrong("on_error", why, "leave it out for the lowest, or write 0.0, say")
    return float(value)


def _insertion(table: Table, kind: str, modes: tuple[str, ...]) -> Insertion | None:
    inner = table.table(kind)
    if kind not in table:
        return None
    parameter, mode, what = inner.text("parameter"), inner.one_of("mode", modes), "texts"
    named: dict[str, tuple[Mapping[str, str], ...]]
    if kind == "system":
        texts = inner.table(what)
        named = {
            name: ({"role": "system", "content": text},) if text != "" else ()
            for name, text in texts.items().items()
            if _is_text(texts, name, text)
        }
    else:
        what = "turns"
        turns = inner.table(what)
        named = {name: _turns(turns, name, listed) for name, listed in turns.items().items()}
    if not named:
        why = "the parameter chooses one of them by its name"
        raise InvalidSetting(f"{inner.at(what)} is empty", why, f"add NAME = ... to {what}")
    inner.end()
    return Insertion(parameter, mode, named)


def _is_text(table: Table, name: str, text: object) -> bool:
    if not isinstance(text, str):
        raise table.wrong(name, "it must be a text", f'write {name} = "..."')
    return True


def _turns(table: Table, name: str, listed: object) -> tuple[Mapping[str, str], ...]:
    why = f"it must be a list of turns, each with a role ({' or '.join(ROLES)}) and a content"
    fix = f'write {name} = [{{role = "user", content = "..."}}]'
    if not isinstance(listed, list):
        raise table.wrong(name, why, fix)
    for turn in listed:
        is_turn = isinstance(turn, Mapping) and set(turn) == {"role", "content"}
        if not is_turn or turn["role"] not in ROLES or not isinstance(turn["content"], str):
            raise table.wrong(name, why, fix)
    return tuple(dict(turn) for turn in listed)
