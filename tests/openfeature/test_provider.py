"""The provider by the requirements of the OpenFeature specification, on a study in process.

The SDK ships no behavioural tests, in its wheel or in its source distribution; the numbers are
those of the specification's requirements.

Here: names, values, variants, reasons and metadata (2.1, 2.2), and settings.
"""

from __future__ import annotations

from typing import Any

import pytest
from openfeature import api
from openfeature.flag_evaluation import Reason

from imabo import Choice, Control, Space, Study
from imabo.errors import InvalidSetting
from imabo.openfeature import ImaboProvider
from tests.openfeature.asking import CONFIG, all_flags, client_of, request


def test_2_1_1_the_provider_has_a_name(study: Study) -> None:
    client_of(study)
    assert api.get_provider_metadata().name == "imabo"


def test_2_2_2_1_every_type_resolves_and_one_request_is_one_pull(study: Study) -> None:
    client = client_of(study)
    for n in range(12):
        context = request(f"request-{n}")
        values = all_flags(client, context)
        whole = client.get_object_value("support-answers", {}, context)
        assert study.n_pulls == n + 1
        assert study.pull(key=f"request-{n}").config == whole
        assert values == {"thinking_tokens": -1} | dict(whole)
        assert [type(values[name]) for name in CONFIG] == [str, float, int, bool]


def test_2_2_3_to_2_2_6_and_2_2_9_details_of_a_flag_that_is_resolved(study: Study) -> None:
    details = client_of(study).get_string_details("support-answers.model", "?", request())
    pull = study.pull(key="request-1")
    assert details.value == pull.config["model"]
    assert (details.variant, details.reason) == (f"arm-{pull.arm}", Reason.SPLIT)
    assert (details.error_code, details.error_message) == (None, None)
    assert details.flag_metadata == {
        "study": "support-answers", "pull": pull.id, "arm": pull.arm, "decision": pull.reason,
    }  # fmt: skip


def test_2_2_10_metadata_says_who_has_the_control() -> None:
    control = Control({"model": "small"}, share=0.5)
    study = Study.create("s", Space(model=Choice("small", "large")), seed=0, control=control)
    client = client_of(study)
    groups = {
        client.get_string_details("s.model", "?", request(str(n))).flag_metadata["group"]
        for n in range(20)
    }
    assert groups == {"tuned", "control"}


def test_a_number_without_a_fraction_is_a_float_too(study: Study) -> None:
    value = client_of(study).get_float_value("support-answers.top_k", -1.0, request())
    assert (value, type(value)) == (study.pull(key="request-1").config["top_k"], float)


def test_2_2_5_a_parameter_that_is_not_active_has_the_default_and_no_error(study: Study) -> None:
    client = client_of(study)
    seen = set()
    for n in range(20):
        context = request(f"request-{n}")
        details = client.get_integer_details("support-answers.thinking_tokens", 7, context)
        model = client.get_string_value("support-answers.model", "?", context)
        seen.add(model)
        assert details.error_code is None
        assert (details.reason, details.value == 7) == (
            (Reason.SPLIT, False) if model == "large" else (Reason.DEFAULT, True)
        )
    assert seen == {"small", "large"}


def test_flags_may_have_names_of_their_own(study: Study) -> None:
    client = client_of(study, flags={"answer-model": "support-answers.model"})
    model = client.get_string_value("answer-model", "?", request())
    assert model == study.pull(key="request-1").config["model"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"flags": {"a": "other.model"}}, "no study is meant"),
        ({"flags": {"a": "support-answers.mdoel"}}, "has no parameter 'mdoel'"),
        ({"rewards": {"reward": "1"}}, "'1'"),
        ({"attributes": "kind"}, "a list of names"),
        ({"key": ""}, "key"),
        ({"deadline_s": 0}, "deadline_s is 0"),
    ],
)
def test_settings_that_make_no_sense(study: Study, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSetting, match=words):
        ImaboProvider(study, **settings)


def test_studies_that_make_no_sense(study: Study) -> None:
    nobody: Any = "support-answers"
    for studies in [(), (study, study), (nobody,)]:
        with pytest.raises(InvalidSetting):
            ImaboProvider(*studies)
