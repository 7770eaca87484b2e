"""The whole loop: a study serves configurations, the pipeline answers with them and is graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from imabo import Study
from imabo.errors import InvalidConfig
from imabo_rag import Cache, Endpoint, EndpointSettings, Pipeline, own_questions, rag_space
from imabo_rag.metrics import answer_f1, retrieval_f1
from tests.rag.misbehaving import Misbehaving, misbehaving
from tests.rag.weights import needs_weights

OWN = own_questions()
WRITING = {"model": "one", "prompt": "naive", "top_k": 2, "temperature": 0.5}


def endpoint_of(server: Misbehaving) -> Endpoint:
    settings = EndpointSettings(server.url, ("one",), timeout_s=2.0, retries=2)
    return Endpoint(settings, sleep=lambda _: None)


@needs_weights
def test_the_loop_runs_with_the_real_weights_and_the_extractive_reader(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache.db") as cache:
        pipeline = Pipeline(OWN.passages, cache)
        with Study.create("rag", rag_space(), seed=1) as study:
            for n in range(36):
                question = OWN.questions[n % 12]
                with study.serve() as pull:
                    answer = pipeline.answer(question, pull.config)
                    pull.reward = answer.reward
                assert answer.answer_f1 == answer_f1(answer.text, question.answer)
                assert answer.retrieval_f1 == retrieval_f1(answer.titles, question.titles)
                assert len(answer.titles) == pull.config["top_k"]
            assert (study.n_pulls, study.n_rewards) == (36, 36)
            assert study.best().mean > 0.2


@needs_weights
def test_the_extractive_reader_copies_the_sentence_nearest_to_the_question() -> None:
    with Cache(":memory:") as cache:
        answer = Pipeline(OWN.passages, cache).answer(
            OWN.questions[9], {"model": "extractive", "top_k": 3}
        )
    assert answer.text == "The bacteria make lactic acid, which gives the sour taste."


@needs_weights
def test_no_round_is_lost_and_none_counted_twice_when_the_endpoint_misbehaves() -> None:
    moods: list[int | str] = [429, "ok", 503, "closed", "ok", "broken", "slow", "ok", 400, "cut"]
    moods += [503, 503, 503, "odd", "inside"]
    with misbehaving(moods) as server, endpoint_of(server) as endpoint, Cache(":memory:") as cache:
        pipeline = Pipeline(OWN.passages, cache, endpoint)
        space = rag_space(["one"], extractive=False)
        with Study.create("rag", space, seed=1) as study:
            answers = []
            for question in OWN.questions:
                with study.serve() as pull:
                    answers.append(pipeline.answer(question, pull.config))
                    pull.reward = answers[-1].reward
            pulls = list(study)
        failed = [answer for answer in answers if answer.error]
        # Four failures: broken, 400, overloaded to the last retry, odd. All other trouble passed.
        assert len(failed) == 4
        assert all(answer.reward == 0.0 for answer in failed)
        assert [pull.reward for pull in pulls] == [answer.reward for answer in answers]
        assert study.n_rewards == len(OWN.questions)
        assert cache.n_answers == len(OWN.questions) - 4
        # Every mood once, "inside" once more, and the last four rounds: nothing was sent twice.
        assert endpoint.n_calls == len(server.bodies) == len(moods) + 1 + 4


@needs_weights
def test_a_resumed_run_repeats_no_call_and_gives_the_same_answers(tmp_path: Path) -> None:
    runs = []
    with misbehaving() as server:
        for _ in range(2):
            with endpoint_of(server) as endpoint, Cache(tmp_path / "cache.db") as cache:
                pipeline = Pipeline(OWN.passages, cache, endpoint)
                runs.append([pipeline.answer(one, WRITING) for one in OWN.questions[:4]])
            assert len(server.bodies) == 4
    assert [one.text for one in runs[0]] == [one.text for one in runs[1]]
    assert [one.reward for one in runs[0]] == [one.reward for one in runs[1]]
    assert [one.is_cached for run in runs for one in run] == [False] * 4 + [True] * 4


@needs_weights
def test_a_failure_is_not_kept_and_another_configuration_is_another_call() -> None:
    with misbehaving([400]) as server, endpoint_of(server) as endpoint, Cache(":memory:") as cache:
        pipeline = Pipeline(OWN.passages, cache, endpoint)
        first, second = (pipeline.answer(OWN.questions[0], WRITING) for _ in range(2))
        assert (first.error is not None, second.error) == (True, None)
        pipeline.answer(OWN.questions[0], WRITING | {"temperature": 0.6})
        pipeline.answer(OWN.questions[1], WRITING)
        assert len(server.bodies) == 4


@needs_weights
def test_other_passages_do_not_find_answers_from_these() -> None:
    with Cache(":memory:") as cache:
        config = {"model": "extractive", "top_k": 1}
        Pipeline(OWN.passages, cache).answer(OWN.questions[0], config)
        fewer = Pipeline(OWN.passages[3:], cache).answer(OWN.questions[0], config)
    assert not fewer.is_cached


def test_prompt_and_temperature_exist_only_for_models_that_write() -> None:
    space = rag_space(["one", "two"])
    space.validate({"model": "extractive", "top_k": 3})
    space.validate(WRITING)
    with pytest.raises(InvalidConfig):
        space.validate({"model": "extractive", "top_k": 3, "temperature": 0.5})
    with pytest.raises(InvalidConfig):
        space.validate({"model": "one", "top_k": 3})
