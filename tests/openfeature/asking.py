"""How tests of the provider ask for flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason

from imabo import Study
from imabo.arms import Pull
from imabo.errors import StoreError
from imabo.openfeature import ImaboProvider

CONFIG = {"model": "small", "temperature": 0.2, "top_k": 3, "cite": False}


def client_of(*studies: Any, **settings: Any) -> OpenFeatureClient:
    api.set_provider_and_wait(ImaboProvider(*studies, **settings))
    return api.get_client()


def request(key: str = "request-1", **attributes: Any) -> EvaluationContext:
    return EvaluationContext(key, attributes)


def all_flags(client: OpenFeatureClient, context: EvaluationContext) -> dict[str, Any]:
    return {
        "model": client.get_string_value("support-answers.model", "?", context),
        "temperature": client.get_float_value("support-answers.temperature", -1.0, context),
        "top_k": client.get_integer_value("support-answers.top_k", -1, context),
        "cite": client.get_boolean_value("support-answers.cite", False, context),
        "thinking_tokens": client.get_integer_value("support-answers.thinking_tokens", -1, context),
    }


def failed(details: FlagEvaluationDetails[Any], default: object, code: ErrorCode) -> str:
    assert (details.value, details.reason, details.error_code) == (default, Reason.ERROR, code)
    assert details.variant is None
    assert details.error_message
    return details.error_message


class Away:
    """A study whose store is away for a while."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, study: Study) -> None:
        self.is_away = True
        real: Callable[..., Pull] = study.ask

        def ask(**asked: Any) -> Pull:
            if self.is_away:
                raise StoreError("the disk is full", "nothing can be written", "make room")
            return real(**asked)

        monkeypatch.setattr(study, "ask", ask)
