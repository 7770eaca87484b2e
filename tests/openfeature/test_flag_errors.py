"""Flags that cannot be resolved (2.2.7 of the specification): the default, and why."""

from __future__ import annotations

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

from imabo import Choice, Space, Study
from tests.openfeature.asking import all_flags, client_of, failed, request


@pytest.mark.parametrize("flag", ["missing-flag", "support-answers.mdoel", "other.model", "", "."])
def test_2_2_7_a_flag_that_is_not_there(study: Study, flag: str) -> None:
    details = client_of(study).get_string_details(flag, "uh-oh", request())
    failed(details, "uh-oh", ErrorCode.FLAG_NOT_FOUND)
    assert study.n_pulls == 0


def test_2_2_7_another_type_is_found_out_before_anything_is_served(study: Study) -> None:
    client, code = client_of(study), ErrorCode.TYPE_MISMATCH
    failed(client.get_integer_details("support-answers.model", 13, request()), 13, code)
    failed(client.get_integer_details("support-answers.temperature", 13, request()), 13, code)
    failed(client.get_integer_details("support-answers.cite", 13, request()), 13, code)
    failed(client.get_boolean_details("support-answers.top_k", True, request()), True, code)
    failed(client.get_string_details("support-answers", "x", request()), "x", code)
    failed(client.get_object_details("support-answers.model", {}, request()), {}, code)
    assert study.n_pulls == 0


def test_2_2_7_a_choice_of_several_types_is_judged_by_its_value() -> None:
    study = Study.create("s", Space(limit=Choice("none", 10, None)), seed=0)
    client = client_of(study)
    found = [client.get_integer_details("s.limit", -1, request(str(n))) for n in range(30)]
    assert {one.error_code for one in found} == {None, ErrorCode.TYPE_MISMATCH}
    assert {one.value for one in found} == {10, -1}


def test_2_2_7_a_parameter_needs_a_request_and_a_whole_configuration_does_not(
    study: Study,
) -> None:
    client = client_of(study)
    details = client.get_string_details("support-answers.model", "?")
    words = failed(details, "?", ErrorCode.TARGETING_KEY_MISSING)
    assert "'support-answers'" in words
    assert study.n_pulls == 0
    whole = client.get_object_details("support-answers", {})
    assert study.pull(str(whole.flag_metadata["pull"])).config == whole.value


@pytest.mark.parametrize("context", [request("k" * 201), request(size="x" * 20_000)])
def test_2_2_7_a_context_that_cannot_be_stored(study: Study, context: EvaluationContext) -> None:
    details = client_of(study).get_string_details("support-answers.model", "?", context)
    failed(details, "?", ErrorCode.INVALID_CONTEXT)
    # Once it can be, the request goes on.
    assert all_flags(api.get_client(), request())["model"] in ("small", "large")
