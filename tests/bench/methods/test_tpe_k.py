"""TPE-K is a plain Optuna loop, asked every K rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest

from imabo.space import Choice, Config, Float, Int, Space
from imabo_bench.methods import open_method
from imabo_bench.methods.tpe_k import TPEPlayer
from imabo_bench.testing.small import BRANCHES, Small
from tests.bench.methods.playing import played

MIXED = Space(
    x=Float(-1.0, 1.0),
    rate=Float(1e-4, 1.0, log=True),
    share=Float(0.0, 1.0, step=0.25),
    width=Int(8, 512, log=True),
    model=Choice("a", "b", "c"),
    effort=Choice("low", "mid", "high", ordered=True),
)


def value(config: Config) -> float:
    x: Any = config["x"]
    return float(
        -((x - 0.3) ** 2) + 0.2 * (config["model"] == "b") + 0.1 * (config["effort"] == "mid")
    )


def plain_optuna(n_trials: int, seed: int) -> tuple[list[Config], dict[str, Any]]:
    """The same space written for Optuna by hand."""
    configs: list[Config] = []

    def objective(trial: optuna.Trial) -> float:
        config: Config = {
            "x": trial.suggest_float("x", -1.0, 1.0),
            "rate": trial.suggest_float("rate", 1e-4, 1.0, log=True),
            "share": trial.suggest_float("share", 0.0, 1.0, step=0.25),
            "width": trial.suggest_int("width", 8, 512, log=True),
            "model": "abc"[trial.suggest_categorical("model", [0, 1, 2])],
            "effort": ("low", "mid", "high")[trial.suggest_int("effort", 0, 2)],
        }
        configs.append(MIXED.validate(config))
        return value(config)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    return configs, configs[study.best_trial.number]


def test_a_plain_optuna_loop_makes_the_same_suggestions() -> None:
    expected, best = plain_optuna(40, seed=5)
    player = TPEPlayer(MIXED, repeats=3, seed=5)
    for number, config in enumerate(expected):
        for noise in (-0.1, 0.0, 0.1):  # the mean is the value
            served = player.ask()
            assert served is not None
            assert served.config == config, number
            player.tell(served.key, value(served.config) + noise)
    assert player.recommend() == best


@pytest.mark.parametrize("k", [10, 50])
def test_each_suggestion_is_served_k_times_and_told_its_mean(k: int) -> None:
    player = open_method(f"tpe-{k}").start(Small("mixed", MIXED, value), rounds=3 * k, seed=0)
    assert isinstance(player, TPEPlayer)
    rewards = np.random.default_rng(0).random(3 * k).tolist()
    configs = played(player, rewards)
    means = [sum(rewards[i * k : (i + 1) * k]) / k for i in range(3)]
    assert [trial.value for trial in player.study.trials] == pytest.approx(means)
    assert [configs[i * k] for i in range(3) for _ in range(k)] == configs
    assert configs[0] != configs[k] != configs[2 * k]
    assert player.recommend() == configs[int(np.argmax(means)) * k]
    assert player.n_arms == player.n_proposals == 3


def test_before_a_suggestion_is_finished_it_is_the_recommendation() -> None:
    player = TPEPlayer(MIXED, repeats=5, seed=0)
    assert player.recommend() is None
    first = played(player, [0.2])[0]
    assert player.recommend() == first
    rest = played(player, [0.2] * 4 + [0.9])
    assert rest[-1] != first
    assert player.recommend() == first  # the second is not told before its five rewards


def test_conditions_decide_what_is_suggested() -> None:
    player = TPEPlayer(BRANCHES.space, repeats=1, seed=0)
    configs = played(player, [0.5] * 40)
    for trial, config in zip(player.study.trials, configs, strict=True):
        assert set(trial.params) == set(config)
    assert {config["model"] for config in configs} == {"tree", "line", "none"}
    assert {repr(config["exact"]) for config in configs} == {"1", "True", "None"}


def test_what_optuna_hardly_finds_is_drawn_from_p0() -> None:
    """One configuration of a million is allowed: after 100 suggestions it is drawn instead."""
    most = list(range(1, 1000))
    space = Space(
        a=Int(0, 999),
        b=Int(0, 999),
        kind=Choice("u", "v"),
        forbid=[{"a": most}, {"b": most}, {"kind": "u"}],
    )
    player = TPEPlayer(space, repeats=1, seed=0)
    assert played(player, [1.0]) == [{"a": 0, "b": 0, "kind": "v"}]
    assert player.n_proposals == 101
    states = {trial.state for trial in player.study.trials[:-1]}
    assert states == {optuna.trial.TrialState.FAIL}
    assert player.recommend() == {"a": 0, "b": 0, "kind": "v"}


def test_late_rewards_reach_the_trial_they_belong_to() -> None:
    """Two suggestions of two rounds each; the second has its rewards first."""
    player = TPEPlayer(MIXED, repeats=2, seed=0)
    a1, a2, b1, b2 = (player.ask() for _ in range(4))
    assert a1.config == a2.config != b1.config == b2.config
    player.tell(b1.key, 0.2)
    player.tell(a1.key, 0.9)
    assert player.recommend() == a1.config  # nothing is finished: the first with a reward
    player.tell(b2.key, 0.4)
    assert player.recommend() == b1.config
    player.tell(a2.key, 0.7)
    assert player.recommend() == a1.config
    assert [trial.value for trial in player.study.trials] == pytest.approx([0.8, 0.3])


def test_after_the_window_optuna_is_told_what_came() -> None:
    """Three suggestions: with one of two rewards, with none, and still being served."""
    player = TPEPlayer(MIXED, repeats=2, seed=0, window=3.0)
    served = []
    for t in range(5):
        player.advance(float(t))
        served.append(player.ask())
    player.tell(served[0].key, 0.6)
    states = optuna.trial.TrialState
    for clock, expected in [
        (4.0, [states.RUNNING, states.RUNNING, states.RUNNING]),
        (5.0, [states.COMPLETE, states.RUNNING, states.RUNNING]),
        (9.0, [states.COMPLETE, states.FAIL, states.RUNNING]),
    ]:
        player.advance(clock)
        assert [trial.state for trial in player.study.trials] == expected
    player.tell(served[1].key, 0.0)  # too late
    assert player.study.trials[0].value == 0.6
    assert player.ask().config == served[4].config
