"""One run, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.bench import play as played
from imabo.bench.methods.base import Method, Player
from imabo.bench.play import checkpoints, play
from imabo.bench.problems.base import Problem
from imabo.bench.problems.delays import Delay
from imabo.bench.problems.toy import Toy
from imabo.errors import InvalidSetting
from imabo.space import Config

from .small import Scripted, Three

SCRIPT = ["low", "high", "low", "middle"]


class Fixed(Method):
    name = summary = "fixed"

    def __init__(self, player: Player) -> None:
        self.player = player

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> Player:
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
    assert len(found) <= 45


def test_a_problem_checks_its_own_optimum() -> None:
    class Wrong(Three):
        optimum = 0.6

    Three().check_optimum()
    with pytest.raises(InvalidSetting, match=r"0\.75"):
        Wrong().check_optimum()
    Wrong.is_exact = False
    Wrong().check_optimum()
