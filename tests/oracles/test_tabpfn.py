"""TabPFN: the table, the pool, and what ranks it (subsec. tabfm), on a tiny network."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imabo import Choice, Float, Int, Space, Study
from imabo.arms import ActiveSet, Floats
from imabo.errors import InvalidSetting
from imabo.oracles import Exhausted, Oracle, TabPFN
from imabo.policies import IMOSS
from imabo.space import Config
from imabo.testing.oracles import OracleContract
from imabo.testing.situations import SPACES, noisy_set
from tests.space.strategies import random_spaces

from .sets import grown, proposals, sampled
from .test_properties import grow

CUBE = Space(x=Float(0, 1), y=Float(1e-4, 1.0, log=True), z=Float(-5, 5))
CENTRE: Config = {"x": 0.5, "y": 1e-2, "z": 0.0}


class TestContract(OracleContract):
    @pytest.fixture
    def oracle(self, checkpoint: Path) -> Oracle:
        # One member: the contract asks it hundreds of times, and of more members only the time.
        return TabPFN(estimators=1, model_path=str(checkpoint))


@dataclass
class Calls:
    """What the package was asked, and what it answered."""

    settings: list[dict[str, Any]] = field(default_factory=list)
    tables: list[tuple[Floats, Floats]] = field(default_factory=list)
    pools: list[Floats] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    answers: list[Floats] = field(default_factory=list)


@pytest.fixture
def calls(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Listen to the real regressor."""
    from tabpfn import TabPFNRegressor

    seen, fit, predict = Calls(), TabPFNRegressor.fit, TabPFNRegressor.predict

    def listen_fit(self: Any, table: Floats, labels: Floats) -> Any:
        seen.settings.append(self.get_params(deep=False))
        seen.tables.append((table.copy(), labels.copy()))
        return fit(self, table, labels)

    def listen_predict(self: Any, rows: Floats, **asked: Any) -> Any:
        answer = predict(self, rows, **asked)
        seen.pools.append(rows.copy())
        seen.asked.append(asked)
        seen.answers.append(answer[0])
        return answer

    monkeypatch.setattr(TabPFNRegressor, "fit", listen_fit)
    monkeypatch.setattr(TabPFNRegressor, "predict", listen_predict)
    return seen


@pytest.fixture
def oracle(checkpoint: Path) -> TabPFN:
    """With one member, like the contract's: most of the time is theirs."""
    return TabPFN(estimators=1, model_path=str(checkpoint))


def around_the_centre() -> ActiveSet:
    """Fifteen arms, of which the centre of the cube is the best."""
    rng = np.random.default_rng(2024)
    rows: list[tuple[Config, float, int, str | None]] = [(CENTRE, 0.9, 2, None)]
    rows += [(CUBE.sample(rng), float(rng.uniform(0, 0.8)), 1, None) for _ in range(14)]
    return grown(CUBE, rows)


class TestTheTable:
    def test_it_has_the_arms_that_have_a_reward_and_their_means(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        arms = grown(
            CUBE, [(CUBE.sample(np.random.default_rng(i)), i / 20, i % 4, None) for i in range(20)]
        )
        proposals(oracle, arms, 1)
        ((table, labels),) = calls.tables
        rewarded = np.arange(20) % 4 > 0
        assert table.tolist() == arms.units[rewarded].tolist()
        assert labels.tolist() == arms.means[rewarded].tolist()

    def test_a_number_on_a_log_scale_is_its_place_on_that_scale(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        proposals(oracle, around_the_centre(), 1)
        assert calls.tables[0][0][0].tolist() == [0.5, 0.5, 0.5]

    def test_categories_are_numbers_declared_as_such_and_what_is_inactive_is_missing(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        space = Space(
            size=Choice(1, 2, 3, ordered=True),
            model=Choice("small", "large", "huge"),
            tokens=Float(0, 1, when={"model": ["large", "huge"]}),
        )
        arms = sampled(space, 20, lambda config: 0.3 + 0.3 * (config["model"] == "huge"))
        proposals(oracle, arms, 1)
        table, pool = calls.tables[0][0], calls.pools[0]
        assert calls.settings[0]["categorical_features_indices"] == [1]
        models = ["small", "large", "huge"]
        assert table[:, 1].tolist() == [models.index(str(c["model"])) for c in arms.configs]
        for rows in (table, pool):
            assert (np.isnan(rows[:, 2]) == (rows[:, 1] == 0)).all()
            assert not np.isnan(rows[:, :2]).any()
        assert np.isnan(table[:, 2]).any()

    def test_the_ensemble_has_four_members_and_its_seed_follows_the_stream(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        proposals(TabPFN(model_path=oracle.model_path), around_the_centre(), 2)
        assert [made["n_estimators"] for made in calls.settings] == [4, 4]
        seeds = [made["random_state"] for made in calls.settings]
        assert seeds[0] != seeds[1]


class TestThePool:
    def test_90_candidates_change_one_parameter_of_the_best_arm_and_10_are_drawn_from_p0(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        proposals(oracle, around_the_centre(), 1)
        n_changed = (calls.pools[0] != 0.5).sum(axis=1)
        assert sorted(n_changed.tolist()) == [1] * 90 + [3] * 10

    def test_a_step_is_gaussian_with_a_tenth_of_the_range_as_its_width(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        """Parameters are picked evenly, and a step on a log scale is one of its logarithm."""
        proposals(oracle, around_the_centre(), 10)
        steps = np.concatenate([pool[:90] - 0.5 for pool in calls.pools])
        for column in steps.T:
            made = column[column != 0.0]
            assert 250 < len(made) < 350
            assert 0.09 < made.std() < 0.11
            assert abs(made.mean()) < 0.02
            assert np.mean(np.abs(made) > 0.2) == pytest.approx(0.0455, abs=0.03)

    def test_a_step_stays_in_range_and_what_it_is_clamped_to_is_one_candidate(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        space = Space(x=Float(0, 1))
        arms = grown(space, [({"x": 0.99 - i / 20}, 1 - i / 20, 1, None) for i in range(12)])
        proposals(oracle, arms, 1)
        (pool,) = calls.pools
        assert pool.min() >= 0.0
        assert pool.max() == 1.0
        assert len(np.unique(pool)) == len(pool) < 70

    def test_a_category_becomes_any_other(self, oracle: TabPFN, calls: Calls) -> None:
        space = Space(c=Choice(*"abcde"), x=Float(0, 1))
        arms = sampled(space, 20, lambda config: 0.5 + 0.5 * (config["c"] == "c"))
        proposals(oracle, arms, 6)
        best = arms.units[arms.means == 1.0, 1]  # of several best arms, any
        switched = [pool[np.isin(pool[:, 1], best), 0] for pool in calls.pools]
        assert set(np.concatenate(switched)) == {0.0, 1.0, 3.0, 4.0}

    def test_candidates_are_merged_and_arms_dropped(self, oracle: TabPFN, calls: Calls) -> None:
        space = SPACES["categorical"]()
        arms = noisy_set(space, 40)
        proposals(oracle, arms, 5)
        known = {tuple(row) for row in calls.tables[0][0]}
        assert len(known) == 40
        for pool in calls.pools:
            rows = [tuple(row) for row in pool]
            assert len(set(rows)) == len(rows) <= 18  # 8 changes of the best, 10 from P0
            assert not known & set(rows)

    def test_a_change_that_wakes_a_parameter_takes_its_value_from_the_best_arm_that_has_it(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        space = Space(m=Choice("a", "b"), t=Float(0, 1, when={"m": "b"}), x=Float(0, 1))
        rows: list[tuple[Config, float, int, str | None]] = [
            ({"m": "b", "t": 0.25, "x": 0.125}, 0.6, 1, None),
            ({"m": "a", "x": 0.5}, 0.9, 1, None),
        ]
        rows += [({"m": "b", "t": i / 20, "x": i / 20}, 0.1, 1, None) for i in range(10)]
        proposals(oracle, grown(space, rows), 1)
        assert [1.0, 0.25, 0.5] in calls.pools[0].tolist()

    def test_when_all_that_is_near_is_taken_it_ranks_what_is_left(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        space = Space(a=Int(0, 9), b=Int(0, 9))
        left = {(0, 9), (9, 0)}
        rows = [(a, b) for a in range(10) for b in range(10) if (a, b) not in left]
        arms = grown(space, (({"a": a, "b": b}, 1 - (a + b) / 20, 1, None) for a, b in rows))
        few = TabPFN(candidates=1, mutations=1, model_path=oracle.model_path)
        made = proposals(few, arms, 10)
        assert {(p.config["a"], p.config["b"]) for p in made} <= left
        assert all(len(pool) <= 1 for pool in calls.pools)

    def test_when_every_arm_is_retired_the_pool_is_drawn_from_p0(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        arms = around_the_centre()
        for row in range(len(arms)):
            arms.put_state(row, "retired")
        proposals(oracle, arms, 1)
        assert calls.pools[0].shape == (100, 3)
        assert (calls.pools[0] != 0.5).all()


class TestTheRanking:
    def test_the_candidate_with_the_highest_quantile_0_975_is_proposed(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        arms = around_the_centre()
        made = proposals(oracle, arms, 10)
        for proposal, pool, asked, answer in zip(
            made, calls.pools, calls.asked, calls.answers, strict=True
        ):
            assert asked == {"output_type": "quantiles", "quantiles": [0.975]}
            assert answer.shape == (100,)
            assert answer.std() > 0
            units, _ = CUBE.encode(proposal.config)
            assert pool[answer.argmax()] == pytest.approx(units)

    def test_another_quantile_is_another_choice_among_the_same_candidates(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        arms = around_the_centre()
        high = proposals(oracle, arms, 4)
        median = proposals(replace(oracle, quantile=0.5), arms, 4)
        assert all((a == b).all() for a, b in zip(calls.pools[:4], calls.pools[4:], strict=True))
        assert any(a != b for a, b in zip(high, median, strict=True))

    def test_a_change_names_the_arm_and_the_parameter(self, oracle: TabPFN) -> None:
        local = TabPFN(mutations=100, model_path=oracle.model_path)
        for made in proposals(local, around_the_centre(), 5):
            assert made.parent == 1
            different = [name for name in CUBE.names if made.config[name] != CENTRE[name]]
            assert different == [made.mutated]


class TestWhenTheModelIsNotAsked:
    def test_before_ten_arms_have_a_reward_it_draws_from_p0(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        def line(n: int) -> ActiveSet:
            return grown(
                Space(x=Float(0, 1)), [({"x": i / 20}, 0.5, int(i < n), None) for i in range(12)]
            )

        assert {made.origin for made in proposals(oracle, line(9), 5)} == {"baseline"}
        assert not calls.asked
        assert {made.origin for made in proposals(oracle, line(10), 5)} == {"oracle"}
        assert len(calls.asked) == 5

    def test_half_of_the_proposals_go_to_new_values_after_a_change_of_the_space(
        self, oracle: TabPFN, calls: Calls
    ) -> None:
        space = Space(p=Choice(*range(40)), x=Float(0, 1))
        arms = sampled(space, 15, lambda config: float(config["x"] or 0.0), is_changed=True)
        proposals(oracle, arms, 20)
        assert 4 <= len(calls.asked) <= 16

    def test_a_space_that_is_used_up_is_exhausted(self, oracle: TabPFN, calls: Calls) -> None:
        arms = noisy_set(SPACES["grid"](), 22)
        made = oracle.propose(arms, arms.means, np.random.default_rng(0))
        assert made == Exhausted()
        assert not calls.asked


def test_a_study_with_it_grows_reopens_and_replays(oracle: TabPFN, tmp_path: Path) -> None:
    space, rng = SPACES["conditional"](), np.random.default_rng(0)
    store = f"sqlite:///{tmp_path / 'study.db'}"
    study = Study.create("s", space, policy=IMOSS(beta=0.7), oracle=oracle, store=store, seed=1)
    for _ in range(80):
        pull = study.ask()
        study.tell(pull.id, float(rng.random() < float(pull.config["temperature"] or 0.0)))
    assert sum(arm.origin == "oracle" for arm in study.arms()) >= 5
    log, made = io.StringIO(), [arm.config for arm in study.arms()]
    study.export(log, format="jsonl")
    study.close()
    again = Study.open("s", store=store)
    assert again.oracle == oracle
    again.close()
    replayed = Study.replay(log.getvalue().splitlines())
    assert [arm.config for arm in replayed.arms()] == made


@settings(max_examples=5)  # each takes a second
@given(
    space=st.one_of(random_spaces(), random_spaces(small=True)),
    seed=st.integers(0, 2**32 - 1),
    is_changed=st.booleans(),
)
def test_on_any_space_proposals_are_valid_and_new(
    checkpoint: Path, space: Space, seed: int, is_changed: bool
) -> None:
    oracle = TabPFN(startup=2, estimators=2, model_path=str(checkpoint))
    grow(oracle, space, seed, is_changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("candidates", 0),
        ("mutations", -1),
        ("mutations", 101),
        ("step", 0.0),
        ("step", "0.1"),
        ("quantile", 1.0),
        ("estimators", 0),
        ("estimators", 2.5),
        ("startup", -1),
        ("model_path", ""),
        ("model_path", Path("weights.ckpt")),
        ("device", "gpu"),
        ("device", None),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(name: str, value: object) -> None:
    make: Callable[..., TabPFN] = TabPFN
    with pytest.raises(InvalidSetting, match=name):
        make(**{name: value})


def test_the_defaults_are_the_paper_s() -> None:
    made = TabPFN()
    assert (made.candidates, made.mutations, made.step) == (100, 90, 0.1)
    assert (made.quantile, made.estimators, made.startup) == (0.975, 4, 10)
