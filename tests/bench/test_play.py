"""One run, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.errors import InvalidSetting
from imabo.space import Config
from imabo_bench import play as played
from imabo_bench.methods.base import Estimate, Method, Player
from imabo_bench.play import checkpoints, play
from imabo_bench.problems import open_problem
from imabo_bench.problems.base import Problem
from imabo_bench.problems.delays import Delay
from imabo_bench.problems.toy import Toy

from .small import Scripted, Three

SCRIPT = ["low", "high", "low", "middle"]


class Fixed(Method):
    name = summary = "fixed"

    def __init__(self, player: Player) -> None:
        self.player = player

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> Player:
        self.window = window
        return self.player


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    scripted = Scripted(SCRIPT)
    monkeypatch.setattr(played, "open_method", lambda name: Fixed(scripted))
    return scripted


def test_a_row_by_hand(player: Scripted) -> None:
    row = play(Three(), "fixed", 0, 4)
    assert row["checkpoints"] == [4]
    assert row["regret"] == [0.5 + 0.0 + 0.5 + 0.25]
    assert row["average"] == [1.25 / 4]
    assert row["simple"] == [0.25]  # it recommends "middle"
    assert row["earned"] == [0.25 + 0.75 + 0.25 + 0.5]
    assert row["attainable"] == [4 * 0.75]
    assert row["watched"] == [0]
    assert row["far"] == [3]
    assert row["alarms"] == []
    assert row["arms"] == [3]
    assert row["rewards"] == [4]
    assert row["best_gap"] == 0.0
    # The third and the fourth pull are off the best arm so far, by 0.5 and 0.25.
    assert row["off_best"] == 0.5
    assert row["loss_off_best"] == 0.375
    assert row["arm_means"] == [0.25, 0.75, 0.5]
    assert player.heard == [("1", 0.25), ("2", 0.75), ("3", 0.25), ("4", 0.5)]


def test_rho_regret_counts_only_what_is_below_the_quantile(player: Scripted) -> None:
    """Under P0 the top 5 % of three equally likely means begins at the highest one."""
    assert Three().quantile(0.05) == 0.75
    assert play(Three(), "fixed", 0, 4)["rho_regret"] == [1.25]


def test_the_decomposition_sums_to_the_average_regret() -> None:
    """Eq. (oracle-decomposition), for a real run: gap plus the cost of the other arms."""
    row = play(Toy("gaussian"), "random", 0, 300)
    assert row["average"][-1] >= row["best_gap"]


def test_a_schedule_that_ends_early_ends_the_row(player: Scripted) -> None:
    row = play(Three(), "fixed", 0, 20)
    assert (row["played"], row["rounds"], row["checkpoints"]) == (4, 20, [4])


def test_late_feedback_is_told_when_it_is_due_and_lost_feedback_never(player: Scripted) -> None:
    lateness = iter([2.0, None, 0.5, 9.0])

    class Script(Delay):
        def draw(self, config: Config, rng: np.random.Generator) -> float | None:
            return next(lateness)

    row = play(Three(), "fixed", 0, 4, Script(lambda config: 1.0, 0.0, 1.0, window=3.0))
    # Pull 1 is due at 3, pull 3 at 3.5 (told in round 4), pull 2 never, pull 4 after the end.
    assert player.heard == [("1", 0.25), ("3", 0.25)]
    assert row["rewards"] == [2]


def test_runs_of_a_seed_share_their_noise_and_repeat() -> None:
    toy = Toy("sin1")
    rows = [play(toy, "imoss-random", 3, 200) for _ in range(2)]
    for row in rows:
        del row["us_per_decision"]
    assert rows[0] == rows[1]


def test_looking_at_proposals_does_not_change_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = Toy("gaussian")
    looked = play(toy, "imoss-tpe", 1, 300)
    monkeypatch.setattr(played, "PROBES", 0)
    unlooked = play(toy, "imoss-tpe", 1, 300)
    assert looked["regret"] == unlooked["regret"]
    assert len(looked["proposal_quality"]) == len(looked["checkpoints"])


@pytest.mark.parametrize("rounds", [1, 7, 100, 5000, 20_000])
def test_checkpoints_rise_to_the_last_round(rounds: int) -> None:
    found = checkpoints(rounds)
    assert found == sorted(set(found))
    assert found[-1] == rounds
    assert len(found) <= 50


def test_a_problem_checks_its_own_optimum() -> None:
    class Wrong(Three):
        optimum = 0.6

    Three().check_optimum()
    with pytest.raises(InvalidSetting, match=r"0\.75"):
        Wrong().check_optimum()
    Wrong.is_exact = False
    Wrong().check_optimum()


class Later(Three):
    """Three at another moment, where the means are turned round."""

    optimum = 0.8

    def mean(self, config: Config) -> float:
        return 0.8 - super().mean(config)


class Turning(Three):
    """Three until round 2, Later from round 3 on; every other reward is lost there."""

    is_changing = True
    changes_at = 3
    later = Later()
    share = 1.0

    def moment(self, t: int) -> Problem:
        return self if t < 3 else self.later

    def watched(self, config: Config) -> bool:
        return config["x"] == "low"

    def feedback(self, t: int) -> float:
        return self.share if t >= 3 else 1.0


def test_a_row_of_a_changing_problem_by_hand(player: Scripted) -> None:
    row = play(Turning(), "fixed", 0, 4)
    # The means are 0.25, 0.75 and then 0.55 ("low") and 0.3 ("middle").
    assert row["earned"] == pytest.approx([0.25 + 0.75 + 0.55 + 0.3])
    assert row["attainable"] == pytest.approx([2 * 0.75 + 2 * 0.8])
    assert row["regret"] == pytest.approx([0.5 + 0.0 + 0.25 + 0.5])
    assert row["watched"] == [2]
    assert row["optimum"] == 0.75  # of round 1
    assert row["simple"] == pytest.approx([0.8 - 0.3])  # "middle", now
    # What is left is told as of the last round: "low" has become the best that was served.
    assert row["arm_means"] == pytest.approx([0.55, 0.05, 0.3])
    assert row["best_gap"] == pytest.approx(0.25)
    assert row["off_best"] == 0.25
    assert row["loss_off_best"] == pytest.approx(0.25)
    assert [reward for _, reward in player.heard] == pytest.approx([0.25, 0.75, 0.55, 0.3])


def test_means_are_worked_out_once_a_moment(player: Scripted) -> None:
    asked = list[tuple[str, object]]()

    class Counting(Turning):
        def mean(self, config: Config) -> float:
            asked.append(("before", config["x"]))
            return super().mean(config)

        def draw(self, config: Config, rng: object) -> float:
            return 0.0

    problem = Counting()
    problem.quantile(0.05)
    asked.clear()
    player.script = ["low", "low", "low", "low"]
    play(problem, "fixed", 0, 4)
    assert asked == [("before", "low")]


@pytest.mark.parametrize("is_late", [False, True])
def test_feedback_that_stops_coming_is_lost_in_the_same_rounds_for_all(
    monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    class Thin(Turning):
        share = 0.5

    heard = []
    for served in ("low", "high"):
        player = Scripted([served] * 200)
        monkeypatch.setattr(played, "open_method", lambda name, player=player: Fixed(player))
        delay = Delay(lambda config: 1.0, 1.0, 1.0, window=1e9) if is_late else None
        row = play(Thin(), "fixed", 0, 200, delay)
        assert row["rewards"][-1] == len(player.heard)
        heard.append([key for key, _ in player.heard])
    assert heard[0] == heard[1]
    assert 70 < len(heard[0]) < 130
    assert {"1", "2"} <= set(heard[0])


def test_a_method_hears_of_the_window_of_a_problem_that_loses_feedback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Thin(Turning):
        share, window = 0.5, 1.0

    method = Fixed(Scripted([]))
    monkeypatch.setattr(played, "open_method", lambda name: method)
    windows = []
    for problem, delay in [
        (Turning(), None),
        (Thin(), None),
        (Thin(), Delay(lambda config: 1.0, 1.0, 1.0, window=7.0)),
    ]:
        play(problem, "fixed", 0, 1, delay)
        windows.append(method.window)
    assert windows == [None, 1.0, 7.0]


def test_a_changing_problem_is_reported_on_every_50_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(played, "open_method", lambda name: Fixed(Scripted(["low"] * 620)))
    still, changing = (play(problem, "fixed", 0, 620) for problem in (Three(), Turning()))
    assert still["checkpoints"] == checkpoints(620)
    assert changing["checkpoints"] == sorted({*checkpoints(620), *range(50, 620, 50)})
    for name in ("earned", "attainable", "watched", "simple", "regret"):
        assert len(changing[name]) == len(changing["checkpoints"])
    assert np.all(np.diff(changing["attainable"]) > 0)


def test_alarms_of_the_player_are_in_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    class Alert(Scripted):
        def alarms(self) -> list[int]:
            return [3]

    monkeypatch.setattr(played, "open_method", lambda name: Fixed(Alert(SCRIPT)))
    assert play(Turning(), "fixed", 0, 4)["alarms"] == [3]


def test_an_interval_is_judged_by_the_mean_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sure(Scripted):
        def estimate(self) -> Estimate:
            return Estimate({"x": "low"}, 0.2, 0.3, mean=0.25)

    class Slowly(Turning):
        def moment(self, t: int) -> Problem:
            return super().moment(t // 10)

    monkeypatch.setattr(played, "open_method", lambda name: Fixed(Sure(["low"] * 50)))
    row = play(Slowly(), "fixed", 0, 50)
    means = [Slowly().moment(t).mean({"x": "low"}) for t in row["checkpoints"]]
    assert row["covered"] == [0.2 <= mean <= 0.3 for mean in means]
    assert set(row["covered"]) == {True, False}
    assert row["width"] == [0.1] * len(means)
    assert row["error"] == pytest.approx([0.25 - mean for mean in means])


def test_proposals_are_looked_at_only_at_the_usual_checkpoints() -> None:
    row = play(open_problem("situations/move-0"), "imoss-tpe", 0, 400)
    looked = [
        t
        for t, quality in zip(row["checkpoints"], row["proposal_quality"], strict=True)
        if quality is not None
    ]
    assert set(looked) <= set(checkpoints(400))
    assert len(looked) < len(row["checkpoints"])
