"""The operations: one table, from which the routes and the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel
from starlette.responses import Response

from imabo.server import wire, wire_control, wire_events, wire_insight, wire_signals, wire_studies
from imabo.server.access import Role
from imabo.server.context import Context
from imabo.server.routes import (
    arms,
    control,
    events,
    insight,
    pulls,
    studies,
    system,
    transfer,
    webhooks,
)

METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Args:
        method: The HTTP method.
        path: With ``{study}``, ``{pull}``, ``{key}`` or ``{arm}`` in it.
        handler: What answers; its docstring is the operation's description.
        role: What a key must at least be; None needs no key at all.
        answers: A model (None: no body, or the ``media``) for each good status.
        errors: The codes that it refuses with, beside those that every route has.
        body: The model of its body.
        needs_body: Whether the body may not be left out.
        query: The model of its query.
        media: Media types of an answer that is not JSON.
        takes: The media type of a body that is not JSON.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    handler: Callable[[Context], Awaitable[Response]]
    role: Role | None
    answers: Mapping[int, type[BaseModel] | None]
    errors: str = ""
    body: type[BaseModel] | None = None
    needs_body: bool = True
    query: type[BaseModel] | None = None
    media: tuple[str, ...] = ()
    takes: str | None = None


def _made(model: type[BaseModel]) -> dict[int, type[BaseModel] | None]:
    """What is made, or was there already."""
    return {201: model, 200: model}


_STUDY: Final = "/v1/studies/{study}"
_WEBHOOK: Final = "/v1/webhooks/{webhook}"
# A study whose parts this server does not know is refused when it is opened.
_OPENED: Final = "unknown_study invalid_setting"
_TOLD: Final = "reward_conflict invalid_reward signal_conflict invalid_signal"

# fmt: off
OPERATIONS: Final = (
    # --- asks, rewards and history ---
    Operation("POST", f"{_STUDY}/pulls", pulls.ask, "writer", _made(wire.PullsAnswer),
              f"{_OPENED} key_conflict nothing_to_serve missing_extra", wire.AskBody,
              needs_body=False),
    Operation("PUT", "/v1/pulls/{pull}/reward", pulls.reward, "writer", {204: None},
              f"{_TOLD} unknown_pull", wire.RewardBody),
    Operation("PUT", "/v1/pulls/{pull}/signals/{signal}", pulls.signal, "writer", {204: None},
              "unknown_pull signal_conflict invalid_signal", wire_signals.SignalBody),
    Operation("POST", "/v1/rewards", pulls.reward_many, "writer", {200: wire.RewardsAnswer},
              body=wire.RewardsBody),
    Operation("GET", "/v1/pulls/{pull}", pulls.read_pull, "reader", {200: wire.PullAnswer},
              "unknown_pull"),
    Operation("PUT", f"{_STUDY}/keys/{{key}}/reward", pulls.reward_by_key, "writer", {204: None},
              f"{_OPENED} {_TOLD} unknown_key", wire.KeyRewardBody),
    Operation("PUT", f"{_STUDY}/keys/{{key}}/signals/{{signal}}", pulls.signal_by_key, "writer",
              {204: None}, f"{_OPENED} unknown_key signal_conflict invalid_signal",
              wire_signals.KeySignalBody),
    Operation("GET", f"{_STUDY}/keys/{{key}}", pulls.read_key, "reader", {200: wire.PullsAnswer},
              f"{_OPENED} unknown_key"),
    Operation("GET", f"{_STUDY}/pulls", pulls.history, "reader", {200: wire.PageAnswer},
              _OPENED, query=wire.PageQuery),
    # --- studies ---
    Operation("GET", "/v1/studies", studies.list_studies, "reader",
              {200: wire_studies.StudiesAnswer}),
    Operation("POST", "/v1/studies", studies.create_study, "admin",
              _made(wire_studies.DeclaredAnswer),
              "study_exists invalid_space invalid_setting invalid_config missing_extra",
              wire_studies.StudyBody),
    Operation("GET", _STUDY, studies.read_study, "reader", {200: wire_studies.StudyAnswer},
              "unknown_study"),
    Operation("PATCH", _STUDY, studies.change_study, "admin", {200: wire_studies.StudyAnswer},
              f"{_OPENED} invalid_space", wire_studies.ChangeBody),
    Operation("DELETE", _STUDY, studies.delete_study, "admin", {204: None}, "unknown_study"),
    Operation("GET", f"{_STUDY}/best", studies.best, "reader", {200: wire.BestAnswer},
              f"{_OPENED} no_rewards", query=wire.LevelQuery),
    Operation("GET", f"{_STUDY}/frontier", studies.frontier, "reader",
              {200: wire_signals.FrontierAnswer}, f"{_OPENED} no_rewards invalid_signal",
              query=wire_signals.FrontierQuery),
    Operation("GET", f"{_STUDY}/events", events.events, "reader", {200: wire_events.EventsAnswer},
              _OPENED, query=wire_events.EventsQuery),
    Operation("POST", f"{_STUDY}/expire", studies.expire, "writer", {200: wire.ExpiredAnswer},
              _OPENED),
    Operation("POST", f"{_STUDY}/prune", studies.prune, "admin", {200: wire.PrunedAnswer},
              _OPENED, wire.PruneBody),
    # --- the control ---
    Operation("GET", f"{_STUDY}/control", control.read_control, "reader",
              {200: wire_control.RolloutAnswer}, _OPENED),
    Operation("PUT", f"{_STUDY}/control", control.put_control, "admin",
              {200: wire_control.RolloutAnswer}, f"{_OPENED} invalid_config",
              wire_control.ControlBody),
    Operation("GET", f"{_STUDY}/lift", control.lift, "reader", {200: wire_control.LiftAnswer},
              f"{_OPENED} no_control", query=wire_control.LiftQuery),
    Operation("GET", f"{_STUDY}/plan", control.plan, "reader", {200: wire_control.PlanAnswer},
              _OPENED, query=wire_control.PlanQuery),
    Operation("POST", f"{_STUDY}/roll-back", control.roll_back, "admin",
              {200: wire_control.RolloutAnswer}, f"{_OPENED} invalid_config no_control",
              wire_control.RollBackBody, needs_body=False),
    Operation("POST", f"{_STUDY}/resume", control.resume, "admin",
              {200: wire_control.RolloutAnswer}, _OPENED),
    # --- whole logs ---
    Operation("GET", f"{_STUDY}/export", transfer.export, "reader", {200: None}, _OPENED,
              query=wire.FormatQuery, media=("application/x-ndjson", "text/csv")),
    Operation("POST", "/v1/imports", transfer.import_study, "admin",
              {201: wire_studies.ImportAnswer},
              "study_exists replay_mismatch invalid_setting", query=wire.ImportQuery,
              takes="application/x-ndjson"),
    # --- arms ---
    Operation("GET", f"{_STUDY}/arms", arms.list_arms, "reader", {200: wire.ArmsAnswer}, _OPENED),
    Operation("POST", f"{_STUDY}/arms", arms.add_arm, "admin", _made(wire.ArmAnswer),
              f"{_OPENED} invalid_config", wire.ArmBody),
    Operation("POST", f"{_STUDY}/arms/batch", arms.add_arms, "admin", {200: wire.ArmsAnswer},
              f"{_OPENED} invalid_config", wire.ArmsBody),
    Operation("PATCH", f"{_STUDY}/arms/{{arm}}", arms.change_arm, "admin", {200: wire.ArmAnswer},
              f"{_OPENED} unknown_arm", wire.StateBody),
    # --- what people look at ---
    Operation("GET", "/v1/me", insight.me, "reader", {200: wire_insight.MeAnswer}),
    Operation("GET", f"{_STUDY}/overview", insight.overview, "reader",
              {200: wire_insight.OverviewAnswer}, _OPENED, query=wire_insight.OverviewQuery),
    Operation("GET", f"{_STUDY}/figures", insight.list_figures, "reader",
              {200: wire_insight.FiguresAnswer}, _OPENED),
    Operation("GET", f"{_STUDY}/figures/{{figure}}", insight.figure, "reader",
              {200: wire_insight.FigureAnswer}, f"{_OPENED} not_found unknown_arm invalid_setting",
              query=wire_insight.FigureQuery),
    Operation("GET", f"{_STUDY}/table", insight.table, "reader",
              {200: wire_insight.TableAnswer}, _OPENED, query=wire_insight.TableQuery),
    Operation("POST", f"{_STUDY}/space/preview", insight.preview_space, "reader",
              {200: wire_insight.PreviewAnswer}, f"{_OPENED} invalid_space", wire.SpaceBody),
    Operation("GET", f"{_STUDY}/report", insight.report, "reader", {200: None}, _OPENED,
              media=("text/html",)),
    # --- what happened anywhere, and who is told ---
    Operation("GET", "/v1/events", events.all_events, "admin", {200: wire_events.EventsAnswer},
              query=wire_events.EventsQuery),
    Operation("GET", "/v1/webhooks", webhooks.list_webhooks, "admin",
              {200: wire_events.WebhooksAnswer}),
    Operation("POST", "/v1/webhooks", webhooks.add_webhook, "admin",
              {201: wire_events.NewWebhookAnswer}, "invalid_setting", wire_events.WebhookBody),
    Operation("GET", _WEBHOOK, webhooks.read_webhook, "admin", {200: wire_events.WebhookAnswer},
              "not_found"),
    Operation("PATCH", _WEBHOOK, webhooks.change_webhook, "admin",
              {200: wire_events.WebhookAnswer}, "not_found invalid_setting",
              wire_events.WebhookChangeBody),
    Operation("DELETE", _WEBHOOK, webhooks.remove_webhook, "admin", {204: None}, "not_found"),
    Operation("GET", f"{_WEBHOOK}/deliveries", webhooks.list_deliveries, "admin",
              {200: wire_events.DeliveriesAnswer}, "not_found", query=wire_events.DeliveriesQuery),
    Operation("POST", f"{_WEBHOOK}/deliveries/{{delivery}}/again", webhooks.send_again, "admin",
              {202: wire_events.DeliveryAnswer}, "not_found"),
    Operation("POST", f"{_WEBHOOK}/test", webhooks.test_webhook, "admin",
              {202: wire_events.DeliveryAnswer}, "not_found"),
    # --- the service itself ---
    Operation("GET", "/healthz", system.healthz, None, {200: wire.StatusAnswer}),
    Operation("GET", "/readyz", system.readyz, None, {200: wire.StatusAnswer}),
    Operation("GET", "/metrics", system.metrics, "reader", {200: None}, media=("text/plain",)),
)
# fmt: on
