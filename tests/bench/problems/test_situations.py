"""Situations: their optimum is exact, their rewards have their means, and changes come on time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from imabo.errors import InvalidSetting
from imabo.space import Config, Float, Scalar
from imabo_bench.play import play
from imabo_bench.problems import Problem, open_problem, problem_names
from imabo_bench.problems.delays import open_delay
from imabo_bench.problems.situations import INSTANCES, KINDS
from imabo_bench.problems.situations.changing import CHANGE, STRETCH
from imabo_bench.problems.situations.hill import Hill
from imabo_bench.problems.situations.rewards import BetaAround, Flip, Graded
from imabo_bench.problems.situations.situation import Changing, Situation
from imabo_bench.problems.situations.surfaces import Bumps, Cliff, Decoy
from tests.loops import first

STILL = ("few", "prompts", "rare", "wide", "knobs", "cliff", "flat", "judge", "beta", "decoy")
MOVING = ("move", "fall", "rise", "walk", "rhythm", "rate")
ABRUPT = ("move", "fall", "rise")
NUMBERS = range(4)
MOST_LISTED = 3000  # configurations of the largest finite kind


def situation(kind: str, number: int) -> Problem:
    return open_problem(f"situations/{kind}-{number}")


def climb(problem: Problem, rng: np.random.Generator, n_draws: int = 300) -> float:
    """The best mean of a random search that goes on around the best configuration so far."""
    space = problem.space
    best = max((space.sample(rng) for _ in range(n_draws)), key=problem.mean)
    for width in np.geomspace(0.3, 1e-5, 800).tolist():
        units, _ = space.encode(best)
        moved = np.where(rng.random(len(units)) < 0.5, rng.normal(units, width), units)
        tried = space.decode(np.clip(moved, 0.0, 1.0))
        best = max(best, tried, key=problem.mean)
    return problem.mean(best)


def test_every_kind_is_listed() -> None:
    assert KINDS == STILL + MOVING
    assert {f"situations/{instance}" for instance in INSTANCES} <= set(problem_names())
    assert len(INSTANCES) == 5 * len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_instances_differ_and_opening_one_again_gives_the_same(kind: str) -> None:
    values = []
    for number in (0, 1, 123_456):
        found = []
        for _ in range(2):
            problem, rng = situation(kind, number), np.random.default_rng(0)
            at = [problem.moment(t) for t in (1, 2000, 4000)]
            config = problem.space.sample(rng)
            found.append([(moment.optimum, moment.mean(config)) for moment in at])
        assert found[0] == found[1]
        values.append(found[0])
    assert values[0] != values[1] != values[2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_the_optimum_is_exact_at_every_moment(kind: str, number: int) -> None:
    problem = situation(kind, number)
    rng = np.random.default_rng(number)
    for moment in {problem.moment(t): t for t in (1, 1234, CHANGE, 5000)}:
        assert moment.is_exact
        moment.check_optimum()
        n_configs = moment.space.n_configs
        if n_configs is not None and n_configs <= MOST_LISTED:
            assert moment.optimum == max(map(moment.mean, moment.space.configs()))
        elif kind not in ("cliff", "wide"):  # a climb may miss theirs: see below
            climbed = max(climb(moment, rng) for _ in range(3))
            assert climbed <= moment.optimum
            assert climbed == pytest.approx(moment.optimum, rel=0.01)


@pytest.mark.parametrize("number", first(5, range(20)))
def test_the_highest_point_of_several_bumps_is_found(number: int) -> None:
    problem = situation("knobs", number)
    assert isinstance(problem, Situation)
    surface = problem.surface
    assert isinstance(surface, Bumps)
    rng, space = np.random.default_rng(number), problem.space
    near = max(surface.bumps, key=lambda bump: bump.height).centre
    around = np.clip(rng.normal(near, 0.05, (2000, 2)), 0.0, 1.0)
    means = [problem.mean(space.decode(at)) for at in around]
    assert max(means) <= problem.optimum
    assert max(climb(problem, rng) for _ in range(3)) == pytest.approx(problem.optimum, abs=1e-6)


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_five_of_thirty_parameters_matter(number: int) -> None:
    problem = situation("wide", number)
    rng = np.random.default_rng(number)
    assert len(problem.space) == 30
    matter = set()
    for name, parameter in problem.space.parameters.items():
        for _ in range(20):
            config = problem.space.sample(rng)
            other: Config = {**config, name: parameter.from_unit(float(rng.random()))}
            if problem.mean(config) != problem.mean(other):
                matter.add(name)
    assert len(matter) == 5


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_the_optimum_of_a_wide_space_is_reached(number: int) -> None:
    """Log-odds add up, so that the best value of each number can be found on its own."""
    problem = situation("wide", number)
    assert isinstance(problem, Situation)
    hill = problem.surface
    assert isinstance(hill, Hill)
    space = problem.space
    ((lead, offsets),) = hill.offsets.items()
    found = []
    for value in offsets:
        config: Config = {**space.sample(np.random.default_rng(number)), lead: value}
        for name in hill.slopes:
            units = np.linspace(0.0, 1.0, 2001).tolist()
            tried = [{**config, name: space.parameters[name].from_unit(u)} for u in units]
            config = max(tried, key=problem.mean)
        found.append(problem.mean(config))
    assert max(found) <= problem.optimum
    assert max(found) == pytest.approx(problem.optimum, abs=1e-5)


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_the_box_of_a_cliff_has_its_share_and_holds_the_optimum(number: int) -> None:
    problem = situation("cliff", number)
    assert isinstance(problem, Situation)
    assert isinstance(problem.surface, Cliff)
    rng = np.random.default_rng(number)
    bold, inside = 0, 0
    for _ in range(20_000):
        config = problem.space.sample(rng)
        mean = problem.mean(config)
        if config["mode"] == "safe":
            assert 0.5 <= mean <= 0.6
            assert set(config) == {"mode", "temperature"}
        else:
            bold += 1
            inside += mean >= 0.8
            assert mean >= 0.8 or 0.1 - 1e-12 <= mean <= 0.3
    assert 0.007 < inside / bold < 0.045
    middle: Config = {"mode": "bold", "temperature": 0.7, **problem.surface.centre}
    assert problem.mean(problem.space.validate(middle)) == pytest.approx(problem.optimum, abs=1e-9)
    assert 0.86 <= problem.optimum <= 0.95


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_a_decoy_hides_one_configuration_that_is_clearly_better(number: int) -> None:
    problem = situation("decoy", number)
    assert isinstance(problem, Situation)
    assert isinstance(problem.surface, Decoy)
    means = sorted(map(problem.mean, problem.space.configs()))
    assert 300 <= len(means) <= MOST_LISTED
    assert means[-1] - means[-2] >= 0.2 - 1e-12
    assert problem.surface.hill.mean(problem.surface.exception) < np.median(means)


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_ranges_of_the_kinds(number: int) -> None:
    few, prompts, rare, flat = (situation(k, number) for k in ("few", "prompts", "rare", "flat"))
    assert 2 <= (few.space.n_configs or 0) <= 12
    assert 0.3 <= few.sampled_means[0] <= few.optimum <= 0.7
    assert prompts.space.n_configs == (20, 60, 200)[number % 3]
    assert 0.003 <= rare.sampled_means[0] < rare.optimum <= 0.05
    assert set(flat.sampled_means.tolist()) == {flat.optimum}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [0, 1])
def test_rewards_have_their_mean(kind: str, number: int) -> None:
    problem = situation(kind, number)
    rng = np.random.default_rng(number)
    for t in (1, CHANGE):
        moment = problem.moment(t)
        config = moment.space.sample(rng)
        rewards = np.array([moment.draw(config, rng) for _ in range(4000)])
        error = max(float(rewards.std()), 0.05) / math.sqrt(len(rewards))
        assert abs(rewards.mean() - moment.mean(config)) < 4 * error
        assert rewards.min() >= 0.0
        assert rewards.max() <= 1.0


@pytest.mark.parametrize("number", first(5, range(20)))
def test_a_judge_grades_in_tenths_with_exactly_the_mean(number: int) -> None:
    problem = situation("judge", number)
    assert isinstance(problem, Situation)
    graded = problem.reward
    assert isinstance(graded, Graded)
    assert graded.ends[0] < problem.sampled_means[0] < problem.optimum < graded.ends[1]
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    mean = float(problem.sampled_means[100])
    grades = [graded.at(u, mean) for u in quantiles.tolist()]
    assert set(grades) <= {k / 10 for k in range(11)}
    assert np.mean(grades) == pytest.approx(mean, abs=1e-3)
    # Bad and good answers, little between.
    shares = np.bincount(np.rint(np.array(grades) * 10).astype(int), minlength=11) / len(grades)
    assert shares[4:7].max() < min(shares[1:4].max(), shares[7:].max())


@pytest.mark.parametrize("reward", [Flip(), Graded(0.2, 0.9, 0.1), BetaAround(6.0)])
def test_a_reward_takes_one_uniform_and_rises_with_it_and_with_the_mean(
    reward: Flip | Graded | BetaAround,
) -> None:
    means = np.linspace(0.3, 0.8, 6).tolist()
    uniforms = np.linspace(0.01, 0.99, 50).tolist()
    table = np.array([[reward.at(u, mean) for u in uniforms] for mean in means])
    assert (np.diff(table, axis=0) >= 0).all()
    steps = np.diff(table, axis=1)
    assert (steps <= 0).all() if isinstance(reward, Flip) else (steps >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_draw_takes_the_same_randomness_whatever_is_served(kind: str) -> None:
    problem = situation(kind, 0)
    rng = np.random.default_rng(0)
    states = set()
    for _ in range(5):
        config, noise = problem.space.sample(rng), np.random.default_rng(9)
        for t in range(2998, 3003):
            problem.moment(t).draw(config, noise)
        states.add(noise.random())
    assert len(states) == 1


@pytest.mark.parametrize("kind", ABRUPT)
@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_an_abrupt_change_comes_at_its_round(kind: str, number: int) -> None:
    problem = situation(kind, number)
    assert problem.changes_at == CHANGE == 3000
    before, after = problem.moment(CHANGE - 1), problem.moment(CHANGE)
    assert before is problem.moment(1)
    assert after is problem.moment(50_000)
    assert before is not after
    assert before.space == after.space == problem.space
    assert problem.optimum == before.optimum


def level(moment: Problem, model: Scalar) -> float:
    """The mean of a model at its best temperature, nearly."""
    temperatures = np.linspace(0.0, 1.0, 201).tolist()
    return max(moment.mean({"model": model, "temperature": at}) for at in temperatures)


@pytest.mark.parametrize("number", first(4, range(12)))
def test_the_best_model_falls_and_another_one_rises(number: int) -> None:
    fall, rise = situation("fall", number), situation("rise", number)
    for problem in (fall, rise):
        assert isinstance(problem, Changing)
        models = list(problem.space.parameters["model"].values())
        assert 3 <= len(models) <= 5
        before = {model: level(problem.moment(1), model) for model in models}
        after = {model: level(problem.moment(CHANGE), model) for model in models}
        (moved,) = [model for model in models if before[model] != after[model]]
        watched = [m for m in models if problem.watched({"model": m, "temperature": 0.5})]
        assert watched == [moved]
        if problem is fall:
            assert moved == max(before, key=lambda model: before[model])
            assert 0.3 <= before[moved] - after[moved] <= 0.6
            assert after[moved] < max(after.values()) - 0.09
        else:
            second = max(v for model, v in after.items() if model != moved)
            assert max(before.values()) - before[moved] + 1e-3 >= 0.15
            assert 0.099 <= after[moved] - second <= 0.251


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_the_best_place_moves_far_away(number: int) -> None:
    problem = situation("move", number)
    rng = np.random.default_rng(number)
    draws = [problem.space.sample(rng) for _ in range(3000)]
    for old, new in ((1, CHANGE), (CHANGE, 1)):
        best = max(draws, key=problem.moment(old).mean)
        assert problem.moment(new).mean(best) < problem.moment(new).optimum - 0.3


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_a_walk_goes_far_in_small_steps(number: int) -> None:
    problem = situation("walk", number)
    assert isinstance(problem, Changing)
    assert problem.changes_at is None
    centres = []
    for t in range(1, 5001, STRETCH):
        moment = problem.moment(t)
        assert moment is problem.moment(t + STRETCH - 1)
        assert isinstance(moment.surface, Bumps)
        centres.append(moment.surface.bumps[0].centre)
    path = np.array(centres)
    steps = np.hypot(*np.diff(path, axis=0).T)
    assert steps.min() > 0.0
    assert steps.max() < 0.025
    assert path.min() >= 0.1 - 1e-12
    assert path.max() <= 0.9 + 1e-12
    assert np.hypot(*(path - path[0]).T).max() > 0.25


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_a_rhythm_repeats_and_its_models_take_turns(number: int) -> None:
    problem = situation("rhythm", number)
    again = (t for t in range(1 + STRETCH, 5000) if problem.moment(t) is problem.moment(1))
    day = next(again) - 1
    assert 1000 <= day <= 2000
    models = list(problem.space.parameters["model"].values())
    leaders, optima = set(), []
    for t in range(1, day + 1, STRETCH):
        moment = problem.moment(t)
        assert moment is problem.moment(t + STRETCH - 1) is problem.moment(t + 2 * day)
        optima.append(moment.optimum)
        leaders.add(max(models, key=lambda model: level(moment, model)))
    assert len(leaders) == 2
    assert np.abs(np.diff(optima)).max() < 0.05
    assert np.ptp(optima) > 0.05
    assert min(optima) > 0.0
    assert max(optima) < 1.0


@pytest.mark.parametrize("number", first(2, NUMBERS))
def test_only_the_feedback_of_rate_changes(number: int) -> None:
    problem = situation("rate", number)
    assert problem.changes_at == CHANGE
    assert problem.is_changing
    assert problem.moment(5000) is problem
    assert 0.85 <= problem.feedback(1) == problem.feedback(CHANGE - 1) <= 0.95
    assert 0.2 <= problem.feedback(CHANGE) == problem.feedback(9999) <= 0.4


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_earns_what_it_could_but_for_its_regret(kind: str) -> None:
    row = play(situation(kind, 0), "imoss-random", 0, 60)
    assert row["played"] == 60
    assert row["earned"][-1] + row["regret"][-1] == pytest.approx(row["attainable"][-1], rel=1e-5)


# A delay is made of the runtimes of many draws, whatever the kind.
@pytest.mark.parametrize("kind", first(4, KINDS))
def test_late_and_lost_feedback(kind: str) -> None:
    problem = situation(kind, 0)
    late = play(problem, "imoss-random", 0, 120, open_delay(problem, 0.5, 0.95))
    assert 0 < late["rewards"][-1] < 90


@pytest.mark.parametrize(
    "instance", ["few", "few-", "few--1", "few-01", "few-x", "many-0", "few-0-1", "FEW-0"]
)
def test_an_instance_that_does_not_exist_says_which_do(instance: str) -> None:
    with pytest.raises(InvalidSetting, match=r"kinds few, prompts, .*To fix it, write situations/"):
        open_problem(f"situations/{instance}")


def test_situations_have_no_variants_but_those_of_all() -> None:
    with pytest.raises(InvalidSetting, match="'plain'"):
        open_problem("situations/few-0:plain")


def test_a_wrapped_situation_changes_when_the_situation_does() -> None:
    grid = open_problem("situations/move-0:grid11:flip")
    assert grid.is_changing
    assert grid.changes_at == CHANGE
    before, after = grid.moment(1), grid.moment(CHANGE)
    assert before is grid.moment(CHANGE - 1)
    assert after is grid.moment(CHANGE + 1)
    for moment in (before, after):
        assert moment.optimum == max(map(moment.mean, moment.space.configs()))
        assert all(isinstance(p, Float) is False for p in moment.space.parameters.values())
    assert before.optimum == grid.optimum != after.optimum
    fall = open_problem("situations/fall-0:noise0.1")
    config = fall.space.sample(np.random.default_rng(0))
    assert fall.watched(config) == open_problem("situations/fall-0").watched(config)
    rate = open_problem("situations/rate-0:noise0.1")
    assert rate.feedback(CHANGE) < 0.5
    assert rate.moment(CHANGE) is rate
