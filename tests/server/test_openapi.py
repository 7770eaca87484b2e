"""The OpenAPI document: complete, unchanged unless declared, and true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS, load_all_checks

from imabo import errors
from imabo.server import openapi
from imabo.server.operations import OPERATIONS
from imabo.server.problems import STATUS
from tests.loops import first
from tests.server.calls import study_body
from tests.server.running import RunningServer

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
# What is wrong may also be too long, and is then refused before it is looked at.
REFUSED = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]
CONFIG = {"checks": {"negative_data_rejection": {"expected-statuses": REFUSED}}}
SCHEMA = schemathesis.openapi.from_dict(
    json.loads(openapi.text()), config=schemathesis.Config.from_dict(CONFIG)
)
# Valid JSON may still make no sense (a reward outside the range), and is then refused.
UNFIT = ("positive_data_acceptance",)
# An operation on a study that is there, whatever name was made up.
UNFIT_HERE = (*UNFIT, "negative_data_rejection", "ignored_auth")


def test_the_document_is_the_one_that_was_committed() -> None:
    assert openapi.text() == DOCUMENT.read_text(encoding="utf-8"), (
        "the API changed: if that is meant, run python -m imabo.server.openapi"
    )


def test_every_operation_is_described_with_its_answers_and_refusals() -> None:
    document = json.loads(openapi.text())
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    described = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            described += 1
            where = f"{method} {path}"
            assert operation["summary"], where
            assert "500" in operation["responses"], where
            assert ("401" in operation["responses"]) == ("security" in operation), where
            for status, response in operation["responses"].items():
                assert response["description"], where
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"], where
                elif status != "204":
                    assert response["content"], where
    assert described == len(OPERATIONS)


def test_every_schema_has_examples_or_speaks_for_itself() -> None:
    schemas = json.loads(openapi.text())["components"]["schemas"]
    for name in ("StudyBody", "AskBody", "RewardBody", "RewardsBody", "StateBody", "Space"):
        assert schemas[name]["examples"], name
        assert schemas[name]["additionalProperties"] is False, name
    assert schemas["Problem"]["properties"]["code"]["examples"]


def test_every_error_of_the_engine_has_a_status() -> None:
    elsewhere = {"error", "missing_data", "outbox_full", "refused"}  # no request meets these
    codes = {
        thing.code
        for thing in vars(errors).values()
        if isinstance(thing, type) and issubclass(thing, errors.ImaboError)
    }
    assert codes - elsewhere <= set(STATUS)


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """A body that is made up is one line."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def operations() -> list[Any]:
    found: list[Any] = list(SCHEMA.get_all_operations())
    return [one.ok() for one in found]


@pytest.fixture(scope="module")
def locked() -> Iterator[RunningServer]:
    with RunningServer(keys={"admin": ("admin", None)}) as server:
        yield server


@pytest.mark.parametrize(
    ("operation", "is_there"),
    [
        pytest.param(operation, is_there, id=f"{operation.label} {'there' if is_there else ''}")
        for operation in operations()
        for is_there in (False, True)
        if not is_there or "{" in operation.path
    ],
)
@pytest.mark.parametrize("n_cases", first(1, [1, 60]))
def test_no_request_meets_a_5xx_or_an_answer_that_is_not_documented(
    locked: RunningServer, operation: Any, is_there: bool, n_cases: int
) -> None:
    headers = {"Authorization": f"Bearer {locked.keys['admin']}"}
    unfit = UNFIT_HERE if is_there else UNFIT
    load_all_checks()
    checks = [check for check in CHECKS.get_all() if check.__name__ not in unfit]
    assert len(checks) > 5

    bounded = settings(BOUNDED, max_examples=n_cases)
    with httpx.Client(base_url=locked.url, headers=headers) as http:

        def try_one(case: Any) -> None:
            if is_there:
                put_there(http, case.path_parameters)
            case.call_and_validate(base_url=locked.url, headers=headers, checks=checks)

        for mode in schemathesis.GenerationMode:
            cases = given(operation.as_strategy(generation_mode=mode))
            try:
                bounded(cases(try_one))()  # type: ignore[no-untyped-call]
            except Unsatisfiable:
                continue  # nothing about this operation can be wrong


BOUNDED = settings(
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


def put_there(http: httpx.Client, parameters: dict[str, Any]) -> None:
    """Make what a path names, and name it."""
    http.delete("/v1/studies/there")
    http.post("/v1/studies", json=study_body("there"))
    answer = http.post("/v1/studies/there/pulls")
    assert answer.status_code == 201, answer.text
    pull = answer.json()["pulls"][0]
    parameters.update({key: value for key, value in {
        "study": "there", "pull": pull["id"], "arm": pull["arm"],
    }.items() if key in parameters})  # fmt: skip
