"""GP: where it proposes, what it says of the arms, and everything it must not fail on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from imabo import Choice, Float, Int, Space, Study
from imabo.arms import ActiveSet
from imabo.errors import InvalidSetting
from imabo.oracles import GP, Exhausted, Oracle, Proposal, Random
from imabo.policies import Informed
from imabo.space import Config
from imabo.testing.oracles import check_proposal
from imabo.testing.situations import conditional_space, distinct_configs, noisy_set

from .sets import grown, proposals, sampled

SQUARE = Space(x=Float(0, 1), y=Float(0, 1))
CUBE = Space(x=Float(0, 1), y=Float(0, 1), z=Float(0, 1))
SIX = Space({name: Float(0, 1) for name in "abcdef"})
GREEDY = GP(epsilon=0.0)
TOP: Config = {"x": 0.7, "y": 0.7}  # of ``bowl`` on the square


def number(config: Config, name: str) -> float:
    value = config[name]
    assert isinstance(value, float)
    return value


def bowl(config: Config) -> float:
    """Highest, at 1, where every number is 0.7."""
    return 1.0 - sum((number(config, name) - 0.7) ** 2 for name in config) / len(config)


def rewarded(space: Space, n: int, reward: Callable[[Config], float]) -> ActiveSet:
    """n P0 draws with 20 equal rewards each."""
    return grown(space, ((c, reward(c), 20, None) for c in distinct_configs(space, n)))


def point(config: Config) -> list[float]:
    return [number(config, name) for name in config]


def distance(one: Config, other: Config) -> float:
    return float(np.linalg.norm(np.subtract(point(one), point(other))))


class TestNeverFails:
    """Proposals are valid and new, and beliefs can be stored, whatever the arms are."""

    def check(self, arms: ActiveSet, oracle: Oracle = GREEDY, n_seeds: int = 3) -> None:
        for proposal in proposals(oracle, arms, n_seeds):
            check_proposal(proposal, arms)
            assert proposal.beliefs is not None

    def test_one_parameter(self) -> None:
        self.check(rewarded(Space(x=Float(0, 1)), 30, bowl))

    def test_fifty_parameters(self) -> None:
        self.check(rewarded(Space({f"p{i}": Float(0, 1) for i in range(50)}), 40, bowl), n_seeds=1)

    def test_choices_only(self) -> None:
        space = Space({name: Choice("r", "g", "b") for name in "abcdef"})
        self.check(rewarded(space, 40, lambda c: list(c.values()).count("g") / 6))

    @pytest.mark.parametrize("reward", [0.0, 0.5, 1.0])
    @pytest.mark.parametrize("n_rewards", [1, 500])
    def test_rewards_that_never_differ(self, reward: float, n_rewards: int) -> None:
        configs = distinct_configs(conditional_space(), 20)
        self.check(grown(conditional_space(), ((c, reward, n_rewards, None) for c in configs)))

    @pytest.mark.parametrize("ends", [None, (0.0, 1.0)], ids=["open", "with ends"])
    @pytest.mark.parametrize("step", [1e-5, 1e-12])
    def test_arms_so_near_that_the_matrix_is_singular(
        self, step: float, ends: tuple[float, float] | None
    ) -> None:
        configs: list[Config] = [{"x": 0.5 + i * step, "y": 0.5} for i in range(40)]
        arms = [(config, [float(i % 2)] * 400) for i, config in enumerate(configs)]
        self.check(ActiveSet.from_rewards(SQUARE, arms, reward_range=ends))

    def test_one_arm_unlike_all_others(self) -> None:
        arms = rewarded(SQUARE, 30, lambda c: 0.0)
        for _ in range(3000):
            arms.count_pull(7)
            arms.count_reward(7, 1.0, was_pending=True)
        self.check(arms)

    @pytest.mark.slow
    def test_more_than_a_thousand_arms(self) -> None:
        self.check(noisy_set(conditional_space(), 1200, n_rewards=2), n_seeds=1)

    def test_more_than_a_thousand_arms_whose_reward_is_out(self) -> None:
        arms = noisy_set(conditional_space(), 1200, n_rewards=0, pending=[1] * 1200)
        for row in range(12):
            arms.count_reward(row, float(row % 2), was_pending=True)
        self.check(arms, n_seeds=1)

    @pytest.mark.parametrize("oracle", [GP(mutations=0), GP(mutations=1, draws=1), GP(kappa=1e9)])
    def test_settings_at_their_ends(self, oracle: GP) -> None:
        self.check(noisy_set(conditional_space(), 20), oracle)

    def test_forbidden_combinations(self) -> None:
        """Its favourite corner, and nearly everything, is forbidden."""
        clauses: list[dict[str, Any]] = [
            {"a": [4, 5], "b": [3, 4, 5]},
            {"a": [0, 1, 2], "c": ["p", "q"]},
            {"b": 0},
        ]
        space = Space(a=Int(0, 5), b=Int(0, 5), c=Choice("p", "q", "r"), forbid=clauses)
        assert space.n_configs is not None
        arms = sampled(space, 30, lambda c: (int(c["a"] or 0) + int(c["b"] or 0)) / 10)
        while not arms.exhausted:
            (proposal,) = proposals(GREEDY, arms, 1)
            check_proposal(proposal, arms)
            arms.admit(1000 + len(arms), proposal.config)
        assert GREEDY.propose(arms, arms.known_means(), np.random.default_rng(0)) == Exhausted()

    @pytest.mark.parametrize("left", [{"a": 0, "b": 0}, {"a": 69, "b": 69}, {"a": 3, "b": 51}])
    def test_the_last_configuration_of_a_finite_space_is_found(self, left: Config) -> None:
        space = Space(a=Int(0, 69), b=Int(0, 69))
        rng = np.random.default_rng(0)
        arms = ActiveSet(space)
        for number_, config in enumerate(space.configs()):
            if config != left:
                arms.admit(number_ + 1, config)
        for row in rng.choice(len(arms), 15, replace=False).tolist():
            arms.count_pull(row)
            arms.count_reward(row, float(rng.integers(2)), was_pending=True)
        assert [p.config for p in proposals(GREEDY, arms, 1)] == [left]

    def test_a_space_that_changes_under_it(self) -> None:
        study = Study.create("s", SQUARE, policy=Informed(), oracle=GP(), seed=0)
        spaces = [
            Space(x=Float(0, 2), y=Float(0, 1)),
            Space(x=Float(0, 1), y=Float(0, 1), k=Choice("p", "q")),
            Space(y=Float(0, 1)),
            Space(y=Float(0.4, 0.6), z=Int(1, 3, when={"k": "p"}), k=Choice("p", "q")),
        ]
        for space in [None, *spaces]:
            if space is not None:
                study.update_space(space)
            for _ in range(30):
                pull = study.ask()
                assert space is None or space.allows(pull.config)
                study.tell(pull.id, number(pull.config, "y"))


class TestWhereItProposes:
    def test_below_ten_rewarded_arms_it_draws_from_p0_and_believes_nothing(self) -> None:
        made = proposals(GREEDY, rewarded(SQUARE, 9, bowl), 5)
        assert {(p.origin, p.beliefs, p.parent) for p in made} == {("baseline", None, None)}
        arms = rewarded(SQUARE, 10, bowl)
        assert {p.origin for p in proposals(GREEDY, arms, 5)} == {"oracle"}

    def test_arms_without_a_reward_do_not_end_the_startup(self) -> None:
        arms = noisy_set(SQUARE, 40, n_rewards=0, pending=[1] * 40)
        for row in range(9):
            arms.count_reward(row, 0.5, was_pending=True)
        assert {p.origin for p in proposals(GREEDY, arms, 5)} == {"baseline"}

    def test_it_goes_where_the_rewards_are_highest(self) -> None:
        made = proposals(GREEDY, rewarded(SQUARE, 30, bowl), 10)
        assert max(distance(p.config, TOP) for p in made) < 0.2

    def test_it_mutates_several_parameters_at_a_time(self) -> None:
        arms = rewarded(SIX, 30, bowl)
        changed: Counter[int] = Counter()
        for proposal in proposals(GREEDY, arms, 20):
            if proposal.parent is not None:
                parent = arms.config_of(proposal.parent)
                changed[sum(parent[name] != proposal.config[name] for name in parent)] += 1
        assert sum(changed[n] for n in (2, 3, 4, 5)) >= 10

    def test_a_step_past_an_end_stops_at_the_end(self) -> None:
        """Optima are often at an end, which a random draw never hits."""
        arms = rewarded(SQUARE, 30, lambda c: (number(c, "x") + number(c, "y")) / 2)
        made = proposals(GREEDY, arms, 10)
        assert sum(1.0 in p.config.values() for p in made) >= 8

    def test_the_right_choice_is_found_among_many(self) -> None:
        space = Space({name: Choice(*"pqrstu") for name in "abc"})
        arms = rewarded(space, 60, lambda c: 0.1 + 0.3 * list(c.values()).count("t"))
        aims = [list(p.config.values()).count("t") for p in proposals(GREEDY, arms, 10)]
        assert min(aims) >= 2

    def test_a_mutation_names_its_parent_among_the_leaders(self) -> None:
        arms = rewarded(SQUARE, 30, bowl)
        parents = {p.parent for p in proposals(GREEDY, arms, 20)} - {None}
        assert parents <= set(arms.ids[np.argsort(-arms.means)[:4]].tolist())
        assert parents

    def test_a_child_that_wakes_gets_a_value(self) -> None:
        space = Space(on=Choice(False, True), k=Int(1, 100, when={"on": True}), x=Float(0, 1))
        arms = sampled(space, 40, lambda c: 0.2 + 0.6 * (c["on"] is True))
        made = [p for p in proposals(GREEDY, arms, 8) if p.origin == "oracle"]
        assert len(made) >= 4  # the others are draws from the branch without one
        for proposal in made:
            assert proposal.config["on"] is True
            assert space.allows(proposal.config)

    def test_the_same_stream_gives_the_same_proposal_and_another_one_another(self) -> None:
        arms = rewarded(SQUARE, 30, bowl)
        first, again = proposals(GP(), arms, 6), proposals(GP(), arms, 6)
        assert first == again
        assert len({tuple(point(p.config)) for p in first}) == 6


class TestEpsilon:
    def test_one_draws_from_p0_and_still_says_what_it_expects(self) -> None:
        arms = rewarded(SQUARE, 30, bowl)
        made = proposals(GP(epsilon=1.0), arms, 60)
        assert {p.origin for p in made} == {"baseline"}
        for proposal in made:
            assert proposal.beliefs is not None
            assert len(proposal.beliefs.means) == 31
        x = np.array([number(p.config, "x") for p in made])
        counts, _ = np.histogram(x, 4, (0.0, 1.0))
        assert counts.min() >= 5
        # It expects more of the draws that are nearer to the top.
        found = [p.beliefs.means[-1] for p in made if p.beliefs is not None]
        far = [-distance(p.config, TOP) for p in made]
        assert np.corrcoef(found, far)[0, 1] > 0.7

    @pytest.mark.slow
    def test_it_is_the_share_of_p0_draws(self) -> None:
        made = proposals(GP(epsilon=0.3, mutations=15, draws=1), rewarded(SQUARE, 10, bowl), 200)
        assert 35 <= sum(p.origin == "baseline" for p in made) <= 85


def outward(config: Config) -> float:
    return sum((2.0 * value - 1.0) ** 2 for value in point(config)) / len(config)


def test_where_ends_are_poor_most_proposals_stay_inside_but_not_all() -> None:
    """Three of five count on it that ends are poor, and the rest do not know."""
    space = Space({f"x{i}": Float(0.0, 1.0) for i in range(8)})
    rng = np.random.default_rng(3)
    tried = [
        (config, (rng.random(20) < 0.9 - 0.8 * outward(config)).astype(float).tolist())
        for config in distinct_configs(space, 50, 0)
    ]
    arms = ActiveSet.from_rewards(space, tried)
    found = [outward(proposal.config) for proposal in proposals(GP(epsilon=0.0), arms, 40)]
    inside = sum(far < 0.2 for far in found)  # the average draw has 1/3
    assert 18 <= inside <= 34


BRANCHES = Space(
    mode=Choice("safe", "bold"), heat=Float(0, 1), depth=Float(0, 1, when={"mode": "bold"})
)


def modes(arms: ActiveSet, oracle: GP, n: int = 80) -> Counter[object]:
    return Counter(proposal.config["mode"] for proposal in proposals(oracle, arms, n))


def test_a_quarter_of_the_proposals_is_on_the_branch_that_the_best_arm_is_not_in() -> None:
    """However poor all that was tried of it: a small good place in it would never be seen."""
    arms = rewarded(BRANCHES, 40, lambda c: 0.6 if c["mode"] == "safe" else 0.1)
    quick = GP(epsilon=0.0, mutations=30, draws=10)
    assert 10 <= modes(arms, quick)["bold"] <= 32
    found = {p.origin for p in proposals(quick, arms, 40) if p.config["mode"] == "bold"}
    assert found == {"baseline"}
    better = rewarded(BRANCHES, 40, lambda c: 0.1 if c["mode"] == "safe" else 0.6)
    assert 10 <= modes(better, quick)["safe"] <= 32


def test_a_branch_that_has_nothing_new_is_no_reason_to_stop() -> None:
    space = Space(
        mode=Choice("safe", "bold"), depth=Float(0, 1, when={"mode": "bold"})
    )  # safe is one arm
    arms = rewarded(space, 20, lambda c: 0.1 if c["mode"] == "safe" else 0.6)
    assert modes(arms, GP(mutations=30, draws=10), 20) == {"bold": 20}


class TestPending:
    def flipped(self, seed: int) -> ActiveSet:
        """20 arms with 30 coin flips each."""
        rng = np.random.default_rng(seed)
        configs = distinct_configs(SQUARE, 20, seed)
        flips = [(rng.random(30) < 0.9 * bowl(c)).astype(float).tolist() for c in configs]
        return ActiveSet.from_rewards(SQUARE, list(zip(configs, flips, strict=True)))

    @pytest.mark.parametrize("seed", range(4))
    def test_no_second_arm_is_sent_next_to_one_whose_reward_is_out(self, seed: int) -> None:
        def apart(is_pending: bool) -> float:
            arms = self.flipped(seed)
            first, _ = proposals(GREEDY, arms, 2)
            row = arms.admit(99, first.config)
            if is_pending:
                arms.count_pull(row)
            return distance(first.config, proposals(GREEDY, arms, 2)[1].config)

        near, far = apart(is_pending=False), apart(is_pending=True)
        assert near < 0.15 < far
        assert far > 2.0 * near

    @pytest.mark.parametrize("seed", range(4))
    def test_a_burst_of_proposals_spreads(self, seed: int) -> None:
        """Each is admitted and served before the next, and no reward comes."""

        def median_gap(are_pending: bool) -> float:
            arms, sent = self.flipped(seed), list[Config]()
            for arm in range(100, 112):
                (proposal,) = proposals(GREEDY, arms, 1)
                sent.append(proposal.config)
                row = arms.admit(arm, proposal.config)
                if are_pending:
                    arms.count_pull(row)
            return float(np.median([distance(a, b) for i, a in enumerate(sent) for b in sent[:i]]))

        assert median_gap(are_pending=True) > 5 * median_gap(are_pending=False)


def regret(oracle: Oracle, seed: int) -> float:
    """How far below the top the best of 40 arms is, in 10 coin flips each."""
    rng, arms = np.random.default_rng(seed), ActiveSet(CUBE)
    for arm in range(1, 41):
        proposal = oracle.propose(arms, arms.known_means(), rng)
        assert isinstance(proposal, Proposal)
        row = arms.admit(arm, proposal.config)
        if proposal.beliefs is not None:
            arms.put_beliefs(proposal.beliefs)
        for _ in range(10):
            arms.count_pull(row)
            arms.count_reward(row, float(rng.random() < steep(proposal.config)), was_pending=True)
    return 0.95 - float(np.mean([steep(config) for config in arms.configs[-10:]]))


def steep(config: Config) -> float:
    """A chance of 0.95 at (0.7, 0.7, 0.7), falling to 0.05."""
    return 0.05 + 0.9 * float(np.exp(-8.0 * 3 * (1.0 - bowl(config))))


@pytest.mark.slow
def test_on_a_smooth_function_it_ends_far_nearer_to_the_top_than_p0() -> None:
    ours, theirs = ([regret(oracle, seed) for seed in range(6)] for oracle in (GP(), Random()))
    assert np.mean(ours) < 0.35 * np.mean(theirs), (ours, theirs)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kappa": -0.1},
        {"kappa": float("nan")},
        {"epsilon": -0.01},
        {"epsilon": 1.01},
        {"mutations": -1},
        {"mutations": 2.5},
        {"draws": 0},
        {"startup": -1},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting, match=next(iter(wrong))):
        GP(**wrong)
