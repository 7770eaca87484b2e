"""The routing strategy: a study chooses the deployment of a call, and what else it is sent with."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from litellm.router import CustomRoutingStrategyBase, Router

from imabo.arms import Pull
from imabo.client.reports import Trouble
from imabo.engine.rewards import checked_reward
from imabo.errors import InvalidSetting
from imabo.integration import Source
from imabo.litellm.logger import PULL, STUDY, ImaboLogger
from imabo.space import Choice, Space
from imabo.space.scalars import Scalar, show

if TYPE_CHECKING:
    from imabo.integration import AnyStudy

KEY: Final = "imabo_key"
CONTEXT: Final = "imabo_context"
_CHOSEN: Final = "imabo_chosen"  # for which call a study has chosen already
FIELDS: Final = (
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "presence_penalty",
    "frequency_penalty", "reasoning_effort", "verbosity",
)  # fmt: skip
_log: Final = logging.getLogger(__name__)


class ImaboRouting(CustomRoutingStrategyBase):  # type: ignore[misc]  # its types are not looked at
    """Has studies choose the deployments of a LiteLLM ``Router``. Extra: ``litellm``.

    A call for a model group that has a study is sent to the deployment that the study's
    configuration names (the parameter ``model``: the deployment's ``model_info.id``, or its
    ``litellm_params.model``, with or without the provider), with the other parameters as fields of
    the call. What the caller sets explicitly wins. Without a study's choice (the service is away,
    the deployment is cooling down, the call is tried again after a failure) the router chooses as
    it would by itself, and no arm is credited with what comes of it.

    Args:
        router: The router; its own strategy stays for what no study chooses.
        studies: The study of each model group.
        deployment: The parameter that names the deployment.
        fields: Which field of the call each other parameter sets; those that are named as one
            (``temperature``, ``top_p``, ``max_tokens``, ``reasoning_effort``, ...) need no entry.
        deadline_s: How long an ask of a client may take, in seconds.
        on_error: The reward of a pull whose deployment failed; none by default.

    Example:
        >>> from imabo import Choice, Float, Space, Study
        >>> import litellm
        >>> def deployment(name):
        ...     return {"model_name": "support", "model_info": {"id": name}, "litellm_params": {
        ...         "model": f"openai/{name}", "api_key": "none", "mock_response": f"I am {name}."}}
        >>> router = litellm.Router(model_list=[deployment("small"), deployment("large")])
        >>> space = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
        >>> study = Study.create("support-answers", space, seed=0)
        >>> routing = ImaboRouting(router, {"support": study})
        >>> router.set_custom_routing_strategy(routing)
        >>> litellm.callbacks.append(routing.logger)
        >>> answer = router.completion(
        ...     model="support", messages=[{"role": "user", "content": "Who are you?"}],
        ...     metadata={"imabo_key": "request-1"})
        >>> study.pull(key="request-1").config["model"] in answer.choices[0].message.content
        True
        >>> routing.tell(answer.id, 1.0)
    """

    def __init__(
        self,
        router: Router,
        studies: Mapping[str, AnyStudy],
        *,
        deployment: str = "model",
        fields: Mapping[str, str] | None = None,
        deadline_s: float = 0.5,
        on_error: float | None = None,
    ) -> None:
        self._router = router
        # Before they are replaced by those of this object.
        self._own = router.get_available_deployment
        self._own_awaited = router.async_get_available_deployment
        self._sources = {group: Source(study, deadline_s) for group, study in studies.items()}
        self._deployment = deployment
        self._fields = {name: name for name in FIELDS} | dict(fields or {})
        self._trouble = Trouble()
        one_each = {source.name: studies[group] for group, source in self._sources.items()}
        self.logger = ImaboLogger(*one_each.values())
        if on_error is not None:
            self.logger.on_error = checked_reward(on_error, None)
        for group, source in self._sources.items():
            self._check(group, source.space)

    def tell(
        self, completion: str, reward: float, signals: Mapping[str, float] | None = None
    ) -> None:
        """Tell the reward of a completion, by the id that the answer has.

        It needs the callback (``litellm.callbacks.append(routing.logger)``), which knows whose the
        completion was. A completion that no study chose, because the router tried again elsewhere
        say, has no reward to give: it is dropped. Another process tells by the call's own
        ``imabo_key``, with ``study.tell(key=...)``.
        """
        self.logger.tell(completion, reward, signals)

    # --- what the router calls -------------------------------------------------------------------

    def get_available_deployment(
        self,
        model: str,
        messages: list[dict[str, str]] | None = None,
        input: str | list[Any] | None = None,  # noqa: A002  # the router's own names
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """The deployment for a call."""
        asked: dict[str, Any] = {"model": model, "messages": messages, "input": input}
        asked |= {"specific_deployment": specific_deployment, "request_kwargs": request_kwargs}
        wanted = self._wanted(model, specific_deployment, request_kwargs)
        if wanted is None:
            return self._own(**asked)
        source, key, context = wanted
        try:
            pull = source.ask(key, context)
        except Exception as error:  # whatever it was, the call goes on
            self._report(model, error)
            return self._own(**asked)
        if pull.config.get(self._deployment) is None:
            return self._marked(source, pull, self._own(**asked))
        found = self._named(model, pull)
        if found is None or self._router.cooldown_cache.get_active_cooldowns(**_whether(found)):
            return self._own(**asked)
        return self._marked(source, pull, found)

    async def async_get_available_deployment(
        self,
        model: str,
        messages: list[dict[str, str]] | None = None,
        input: str | list[Any] | None = None,  # noqa: A002
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """The same, awaited."""
        asked: dict[str, Any] = {"model": model, "messages": messages, "input": input}
        asked |= {"specific_deployment": specific_deployment, "request_kwargs": request_kwargs}
        wanted = self._wanted(model, specific_deployment, request_kwargs)
        if wanted is None:
            return await self._own_awaited(**asked)
        source, key, context = wanted
        try:
            pull = await source.ask_awaited(key, context)
        except Exception as error:
            self._report(model, error)
            return await self._own_awaited(**asked)
        if pull.config.get(self._deployment) is None:
            return self._marked(source, pull, await self._own_awaited(**asked))
        found, cooling = self._named(model, pull), self._router.cooldown_cache
        if found is None or await cooling.async_get_active_cooldowns(**_whether(found)):
            return await self._own_awaited(**asked)
        return self._marked(source, pull, found)

    def _wanted(
        self, model: str, is_specific: bool | None, request: dict[str, Any] | None
    ) -> tuple[Source, str | None, object] | None:
        """What to ask for; None where the router is to choose by itself."""
        source = self._sources.get(model)
        if source is None or is_specific:
            return None
        request = {} if request is None else request
        said = request.get("litellm_metadata") or request.get("metadata")
        if not isinstance(said, dict):
            return source, None, None
        # A call that is tried again has the same metadata. So may have a caller's next call, but
        # the router gives each a trace id.
        call = request.get("litellm_trace_id") or id(said)
        if said.get(_CHOSEN) == call:
            return None
        said[_CHOSEN] = call
        key = said.get(KEY)
        return source, key if isinstance(key, str) and key else None, _read(said.get(CONTEXT))

    def _named(self, group: str, pull: Pull) -> dict[str, Any] | None:
        """The deployment that a configuration names; None where there is none."""
        wanted = pull.config[self._deployment]
        for one in self._deployments(group):
            if wanted in _names(one):
                return one
        self._report(group, f"no deployment of it is named {show(wanted)}")
        return None

    def _marked(self, source: Source, pull: Pull, found: dict[str, Any]) -> dict[str, Any]:
        """A copy of a deployment that sets the fields, and says whose call it is."""
        fields = {
            self._fields[name]: value
            for name, value in pull.config.items()
            if name != self._deployment and name in self._fields and value is not None
        }
        return {
            **found,
            "litellm_params": {**found["litellm_params"], **fields},
            "model_info": {**found.get("model_info", {}), PULL: pull.id, STUDY: source.name},
        }

    def _deployments(self, group: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._router.get_model_list(model_name=group) or []
        return found

    def _report(self, group: str, why: object) -> None:
        if self._trouble.add(1):
            _log.warning("calls for %r are routed without a study: %s", group, why)

    # --- whether studies and deployments fit -----------------------------------------------------

    def _check(self, group: str, space: Space | None) -> None:
        deployments = self._deployments(group)
        if not deployments:
            why = "the router has no deployment of that model_name"
            raise InvalidSetting(f"studies names {show(group)}", why, "correct it")
        for name, parameter in () if space is None else space.parameters.items():
            if name == self._deployment:
                known = [names for one in deployments for names in _names(one)]
                values = parameter.choices if isinstance(parameter, Choice) else (None,)
                for value in values:
                    if value not in known:
                        what = f"the parameter {name!r} of {group!r} may be {show(value)}"
                        why = f"its deployments are {', '.join(map(show, known))}"
                        raise InvalidSetting(what, why, "name one of these: its model_info.id, say")
            elif name not in self._fields:
                what = f"the parameter {name!r} of {group!r} sets nothing"
                why = "it is neither the deployment nor a field that is known"
                raise InvalidSetting(what, why, f"say which: fields={{{name!r}: 'temperature'}}")


def _whether(deployment: Mapping[str, Any]) -> dict[str, Any]:
    """What to ask the router's cooldowns: whether a deployment has one now."""
    return {"model_ids": [deployment["model_info"]["id"]], "parent_otel_span": None}


def _read(context: object) -> object:
    """A context; metadata that other servers see as well has it as JSON in a text."""
    if isinstance(context, str):
        with suppress(ValueError):
            return json.loads(context)
    return context


def _names(deployment: Mapping[str, Any]) -> list[Scalar]:
    """What a configuration may call a deployment.

    Example:
        >>> _names({"model_info": {"id": "a"}, "litellm_params": {"model": "openai/small"}})
        ['a', 'openai/small', 'small']
    """
    model = deployment["litellm_params"]["model"]
    return [deployment.get("model_info", {}).get("id"), model, model.partition("/")[2] or model]
