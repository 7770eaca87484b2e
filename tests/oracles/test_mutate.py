"""Mutate: which arm, which parameter, which value (subsec. klxtpe), and what it falls back on."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from imabo import Choice, Float, Int, Space
from imabo.arms import ActiveSet
from imabo.oracles import Exhausted, Mutate, Proposal
from imabo.space import Config

from .sets import grown, proposals, sampled

PLAIN = Space(x=Float(0, 1), y=Int(0, 1000), z=Choice(*"abc"), w=Float(1e-3, 1, log=True))
Row = tuple[Config, float, int, str | None]


def mutated(arms: ActiveSet, n_seeds: int = 40, oracle: Mutate | None = None) -> Counter[str]:
    """How often each parameter was mutated."""
    made = proposals(oracle or Mutate(startup=2), arms, n_seeds)
    return Counter(proposal.mutated or "none" for proposal in made)


class TestWhichArm:
    def test_the_parent_has_the_best_empirical_mean_not_the_best_index(self) -> None:
        arms = sampled(PLAIN, 20, lambda config: float(config["x"] or 0.0))
        best = int(arms.ids[arms.means.argmax()])
        for seed in range(20):
            scores = 1.0 - arms.means  # the policy would rather serve the worst
            proposal = Mutate().propose(arms, scores, np.random.default_rng(seed))
            assert isinstance(proposal, Proposal)
            assert proposal.parent == best

    def test_a_retired_arm_is_no_parent_and_a_paused_one_may_be(self) -> None:
        arms = sampled(PLAIN, 20, lambda config: float(config["x"] or 0.0))
        first, second = np.argsort(-arms.means)[:2]
        arms.put_state(int(first), "paused")
        assert {p.parent for p in proposals(Mutate(), arms, 5)} == {int(arms.ids[first])}
        arms.put_state(int(first), "retired")
        assert {p.parent for p in proposals(Mutate(), arms, 5)} == {int(arms.ids[second])}

    def test_equally_good_arms_share_the_parenthood(self) -> None:
        arms = sampled(PLAIN, 12, lambda config: 0.5)
        assert len({p.parent for p in proposals(Mutate(), arms, 60)}) > 8


class TestWhichParameter:
    def test_exactly_one_parameter_changes(self) -> None:
        arms = sampled(PLAIN, 20, lambda config: float(config["x"] or 0.0))
        for proposal in proposals(Mutate(), arms, 60):
            parent = arms.config_of(proposal.parent or 0)
            changed = [name for name in PLAIN.names if proposal.config[name] != parent[name]]
            assert changed == [proposal.mutated]

    def test_parameters_never_mutated_come_first_and_without_bias(self) -> None:
        rows: list[Row] = [
            ({"x": i / 20, "y": i, "z": "a", "w": 0.1}, 0.5, 1, "x") for i in range(12)
        ]
        counts = mutated(grown(PLAIN, rows), 90)
        assert set(counts) == {"y", "z", "w"}
        assert min(counts.values()) > 15

    def credited(self, **credit: list[tuple[float, int]]) -> ActiveSet:
        """Arms that mutations produced: for each parameter, their means and numbers of rewards."""
        rows: list[Row] = [({"x": 0.5, "y": 0, "z": "a", "w": 0.1}, 1.0, 1, None)]
        for name, arms in credit.items():
            for mean, n_rewards in arms:
                config: Config = {"x": 0.5, "y": len(rows), "z": "b", "w": 0.5}
                rows.append((config, mean, n_rewards, name))
        return grown(PLAIN, rows)

    def test_the_parameter_whose_mutations_paid_is_chosen(self) -> None:
        # Four arms each: the same count, so the same width; the means 0.8 and 0.2 decide.
        low, high = [(0.2, 1)] * 4, [(0.8, 1)] * 4
        assert set(mutated(self.credited(x=low, y=low, z=high, w=low))) == {"z"}

    def test_a_parameter_tried_less_is_explored(self) -> None:
        # 24 arms: log 24 = 3.18. kl(0.5, q) <= 3.18 / 20 gives q = 0.76 for the one often tried;
        # for those tried once or twice, 3.18 and 1.59 give q > 0.98, though they paid less.
        arms = self.credited(x=[(0.5, 1)] * 20, y=[(0.3, 1)], z=[(0.3, 1)], w=[(0.3, 1)] * 2)
        assert "x" not in mutated(arms)

    def test_a_refined_arm_updates_its_credit_and_adds_nothing(self) -> None:
        """One arm each, of mean 0.5: 300 rewards weigh as one, so the two tie."""
        low = [(0.05, 1)] * 60
        counts = mutated(self.credited(x=[(0.5, 300)], y=[(0.5, 1)], z=low, w=low), 60)
        assert set(counts) == {"x", "y"}
        assert min(counts.values()) > 15

    def test_a_refined_arm_s_new_mean_is_the_credit(self) -> None:
        low = [(0.05, 1)] * 60
        arms = self.credited(x=[(0.9, 1)] * 8, y=[(0.6, 1)] * 8, z=low, w=low)
        assert set(mutated(arms)) == {"x"}
        for row in np.flatnonzero(arms.mutated == 0):  # later pulls of x's arms go badly
            for _ in range(20):
                arms.count_pull(int(row))
                arms.count_reward(int(row), 0.0, was_pending=True)
        assert set(mutated(arms)) == {"y"}

    def test_arms_whose_reward_is_out_count_as_tried(self) -> None:
        """A burst of proposals goes round the parameters."""
        arms = sampled(PLAIN, 12, lambda config: 0.5)
        counts: Counter[str] = Counter()
        for arm in range(100, 108):
            (proposal,) = proposals(Mutate(), arms, 1)
            counts[proposal.mutated or "none"] += 1
            arms.count_pull(arms.admit(arm, proposal.config, mutated=proposal.mutated))
        assert counts == {"x": 2, "y": 2, "z": 2, "w": 2}

    def test_a_constant_is_never_mutated(self) -> None:
        space = Space(fixed=Choice("only"), x=Float(0, 1))
        arms = sampled(space, 12, lambda config: float(config["x"] or 0.0))
        assert set(mutated(arms)) == {"x"}


class TestWhichValue:
    def test_values_of_good_arms_attract(self) -> None:
        space = Space(x=Float(0, 1), y=Float(0, 1))
        arms = sampled(
            space, 40, lambda config: max(0.0, 1 - 3 * abs(float(config["x"] or 0) - 0.3))
        )
        values = [p.config["x"] for p in proposals(Mutate(), arms, 60) if p.mutated == "x"]
        assert len(values) > 10
        assert np.mean([abs(float(x or 0) - 0.3) < 0.15 for x in values]) > 0.8

    @pytest.mark.parametrize("candidates", [1, 24])  # with one, every value is listed
    def test_the_order_in_which_values_are_declared_does_not_count(self, candidates: int) -> None:
        names = [f"prompt-{i:03}" for i in range(200)]
        rows: list[Row] = [({"prompt": name}, 0.5, 1, None) for name in names[:20]]
        made = proposals(
            Mutate(candidates=candidates), grown(Space(prompt=Choice(*names)), rows), 120
        )
        places = [names.index(str(proposal.config["prompt"])) for proposal in made]
        assert 20 <= min(places) < 40
        assert 95 < np.mean(places) < 125  # of what is left, 20 to 199, the middle is 109.5

    @pytest.mark.parametrize("left", [1, 2, 57, 150, 198, 199, 200])
    def test_the_last_value_of_a_log_scaled_int_is_found(self, left: int) -> None:
        """Its values own unequal cells, so they cannot be listed by equal steps of the unit."""
        space = Space(k=Int(1, 200, log=True))
        rows: list[Row] = [({"k": k}, 0.5, 1, None) for k in range(1, 201) if k != left]
        for proposal in proposals(Mutate(candidates=1), grown(space, rows), 3):
            assert (proposal.config, proposal.mutated) == ({"k": left}, "k")


class TestConditions:
    space = Space(
        model=Choice("small", "large", "huge"),
        x=Float(0, 1),
        thinking=Choice(True, False, when={"model": ["large", "huge"]}),
        tokens=Int(256, 8192, when={"thinking": True}),
    )

    def propose(self, best: Config, others: list[tuple[Config, float]]) -> list[Proposal]:
        """Proposals that mutate ``model`` of the best arm: everything else was tried in vain."""
        rows: list[Row] = [(best, 0.95, 1, None)]
        rows += [(config, mean, 1, None) for config, mean in others]
        in_vain = ["x", "thinking", "tokens"] * 9
        rows += [
            ({"model": "small", "x": 0.001 * i}, 0.0, 1, name) for i, name in enumerate(in_vain)
        ]
        made = proposals(Mutate(startup=2), grown(self.space, rows), 30)
        assert {proposal.mutated for proposal in made} == {"model"}
        assert {proposal.parent for proposal in made} == {1}
        return made

    def test_children_that_wake_take_the_values_of_the_best_arm_of_that_branch(self) -> None:
        made = self.propose(
            {"model": "small", "x": 0.5},
            [
                ({"model": "large", "x": 0.1, "thinking": True, "tokens": 1000}, 0.6),
                ({"model": "large", "x": 0.2, "thinking": True, "tokens": 2000}, 0.3),
                # Taken, so that "large" is out and "huge" is what the model can change to.
                ({"model": "large", "x": 0.5, "thinking": True, "tokens": 1000}, 0.6),
                ({"model": "huge", "x": 0.3, "thinking": True, "tokens": 4000}, 0.5),
                ({"model": "huge", "x": 0.4, "thinking": False}, 0.4),
            ],
        )
        expected = {"model": "huge", "x": 0.5, "thinking": True, "tokens": 4000}
        assert all(proposal.config == expected for proposal in made)

    def test_without_an_arm_in_that_branch_they_take_the_best_known_values(self) -> None:
        made = self.propose(
            {"model": "small", "x": 0.5},
            [
                ({"model": "large", "x": 0.1, "thinking": True, "tokens": 2000}, 0.3),
                ({"model": "large", "x": 0.5, "thinking": True, "tokens": 1000}, 0.6),
            ],
        )
        expected = {"model": "huge", "x": 0.5, "thinking": True, "tokens": 1000}
        assert all(proposal.config == expected for proposal in made)

    def test_without_any_arm_that_has_them_they_are_drawn_from_p0(self) -> None:
        made = self.propose({"model": "small", "x": 0.5}, [])
        assert {p.config["model"] for p in made} == {"large", "huge"}
        assert {p.config["thinking"] for p in made} == {True, False}
        tokens = {p.config["tokens"] for p in made if p.config["thinking"]}
        assert len(tokens) > 5

    def test_children_that_fall_asleep_are_dropped(self) -> None:
        made = self.propose({"model": "large", "x": 0.5, "thinking": True, "tokens": 700}, [])
        small = [p.config for p in made if p.config["model"] == "small"]
        huge = [p.config for p in made if p.config["model"] == "huge"]
        assert small
        assert all(config == {"model": "small", "x": 0.5} for config in small)
        assert all(config["tokens"] == 700 for config in huge)


class TestFallingBack:
    grid = Space(a=Int(0, 9), b=Int(0, 9))

    def arms(self, taken: set[tuple[int, int]], leading: list[tuple[int, int]]) -> ActiveSet:
        """Arms of the grid, the leading ones with the highest means in that order."""
        means = {place: 0.9 - 0.01 * rank for rank, place in enumerate(leading)}
        return grown(
            self.grid,
            [({"a": a, "b": b}, means.get((a, b), 0.1), 1, None) for a, b in sorted(taken)],
        )

    def test_to_another_parameter(self) -> None:
        """Every a is taken beside b = 5, and still nobody mutated a."""
        arms = self.arms({(a, 5) for a in range(10)}, [(4, 5)])
        for proposal in proposals(Mutate(), arms, 20):
            assert (proposal.parent, proposal.mutated) == (5, "b")
            assert proposal.config["a"] == 4

    def test_to_another_parent(self) -> None:
        """The best arm's row and column are full; the second best's are not."""
        cross = {(a, 5) for a in range(10)} | {(4, b) for b in range(10)}
        arms = self.arms(cross | {(0, 0)}, [(4, 5), (0, 0)])
        for proposal in proposals(Mutate(), arms, 20):
            assert arms.config_of(proposal.parent or 0) == {"a": 0, "b": 0}
            assert arms.config_of(proposal.parent or 0) != proposal.config

    def test_to_p0(self) -> None:
        """The rows and columns of the five leading arms are full."""
        taken = {(a, b) for a in range(10) for b in range(10) if a < 5 or b < 5}
        arms = self.arms(taken, [(i, i) for i in range(5)])
        for proposal in proposals(Mutate(), arms, 20):
            assert (proposal.origin, proposal.parent, proposal.mutated) == ("baseline", None, None)

    def test_to_exhausted(self) -> None:
        arms = self.arms({(a, b) for a in range(10) for b in range(10)}, [(1, 1)])
        assert Mutate().propose(arms, arms.means, np.random.default_rng(0)) == Exhausted()

    def test_a_forbidden_mutation_is_passed_over(self) -> None:
        space = Space(a=Int(0, 1), b=Int(0, 9), forbid=[{"a": 1}])
        arms = grown(space, [({"a": 0, "b": b}, b / 10, 1, None) for b in range(8)])
        for proposal in proposals(Mutate(startup=2), arms, 20):
            assert proposal.mutated == "b"

    def test_before_ten_arms_have_a_reward_it_draws_from_p0(self) -> None:
        arms = sampled(PLAIN, 9, lambda config: 0.5)
        assert {p.origin for p in proposals(Mutate(), arms, 5)} == {"baseline"}
