"""What travels about events and webhooks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from imabo.server.wire import Body, Query, Text, Time

MAX_EVENTS = 10_000  # of one request
MAX_DELIVERIES = 1000
_NAMES = Annotated[list[Text], Field(min_length=1, max_length=100)]
_URL = Annotated[str, Field(max_length=2000, examples=["https://ops.example/imabo"])]
_SECRET = Annotated[str, Field(min_length=16, max_length=200)]


class EventsQuery(Query):
    """Which events: the newest, those before an id, or those after one."""

    after: int | None = Field(
        None, ge=0, lt=10**18, description="the first ones after this id; 0 for the very first"
    )
    before: int | None = Field(
        None, ge=0, lt=10**18, description="the newest of those before this id"
    )
    limit: int = Field(100, ge=0, le=MAX_EVENTS)
    kind: str | None = Field(
        None, max_length=1000, description="only these kinds, with commas between them"
    )


class EventAnswer(BaseModel):
    """Something that happened, as values and in words; more kinds may come."""

    id: int = Field(examples=[417], description="larger than that of all events before it")
    study: str | None = Field(
        examples=["support-answers"], description="null when it is about no study"
    )
    kind: str = Field(examples=["state"])
    at: Time
    data: dict[str, Any] = Field(examples=[{"arm": 3, "state": "paused"}])
    text: str = Field(examples=["arm 3 was paused"])


class EventsAnswer(BaseModel):
    """A page of events, the newest last."""

    events: list[EventAnswer]
    next: int | None = Field(
        examples=[417],
        description="the after (or, without one, the before) of the page that follows, if one may",
    )


class WebhookBody(Body):
    """A webhook to add."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"url": "https://ops.example/imabo", "kinds": ["drift", "space"]}]
        }
    )

    url: _URL
    secret: _SECRET | None = Field(None, description="what to sign with; made when it is left out")
    kinds: _NAMES | None = Field(None, description="only events of these kinds; null for all")
    studies: _NAMES | None = Field(None, description="only those of these studies; null for all")


class WebhookChangeBody(Body):
    """What of a webhook to change; what is left out stays."""

    url: _URL | None = None
    secret: _SECRET | None = None
    kinds: _NAMES | None = Field(None, description="null for all")
    studies: _NAMES | None = Field(None, description="null for all")


class WebhookAnswer(BaseModel):
    """A webhook, without its secret."""

    id: str = Field(examples=["9f2c4e01ab37"])
    url: _URL
    kinds: list[str] | None
    studies: list[str] | None
    created_at: Time


class NewWebhookAnswer(WebhookAnswer):
    """A webhook that was just added."""

    secret: str | None = Field(description="the one that was made, this once; null if you sent one")


class WebhooksAnswer(BaseModel):
    """The webhooks there are, in order of creation."""

    webhooks: list[WebhookAnswer]


class DeliveriesQuery(Query):
    """Which deliveries: the newest, or those before an id."""

    before: int | None = Field(None, ge=0, lt=10**18, description="only ids below this one")
    limit: int = Field(100, ge=1, le=MAX_DELIVERIES)


class DeliveryAnswer(BaseModel):
    """An event on its way to a webhook."""

    id: int = Field(examples=[1024])
    event: EventAnswer
    state: Literal["pending", "delivered", "given up"]
    tries: int = Field(description="how many tries began")
    tried_at: Time | None
    next_at: Time | None = Field(description="when it is tried again; null before the first try")
    status: int | None = Field(examples=[200], description="of the last answer, if one came")
    problem: str | None = Field(description="what was wrong the last time")


class DeliveriesAnswer(BaseModel):
    """Deliveries of a webhook, the newest first."""

    deliveries: list[DeliveryAnswer]
    next: int | None = Field(description="the before of the page that follows, if one may")
