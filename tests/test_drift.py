"""Noticing a change and forgetting: by hand, and in studies of a small space."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from imabo import Choice, Float, Int, Space, Study
from imabo.arms import ActiveSet, Floats
from imabo.drift import Drift, find_drift, forget, remember
from imabo.oracles import Random
from imabo.policies import IMOSS, Informed, Policy
from imabo.policies.base import Draws
from imabo.space import Config
from tests.loops import first

MODELS = Space(model=Choice("a", "b", "c"), x=Float(0.0, 1.0))
NAMES = Space(model=Choice("a", "b", "c"))
PROMPTS = Space(prompt=Choice(*range(40)))
MEANS = {"a": 0.3, "b": 0.5, "c": 0.7}

Truth = Callable[[Config], float]


def give(arms: ActiveSet, row: int, n: int, n_good: float) -> None:
    """n rewards, of which so many are 1."""
    for number in range(n):
        arms.count_pull(row)
        arms.count_reward(row, float(number < n_good), was_pending=True)


def means_now(arms: ActiveSet) -> Floats:
    return np.asarray(arms.sums_now / arms.n_now)


def nine_arms(space: Space = MODELS) -> ActiveSet:
    """Three arms of each model with 40 rewards each, 3 of 4 good, and a memory of them."""
    configs: list[Config] = [{"model": m, "x": x} for m in "abc" for x in (0.25, 0.5, 0.75)]
    rewards = [[1.0, 1.0, 0.0, 1.0] * 10] * len(configs)
    arms = ActiveSet.from_rewards(space, list(zip(configs, rewards, strict=True)))
    arms.put_memory(remember(arms))
    return arms


def created(space: Space, seed: int, policy: Policy | None = None) -> Study:
    return Study.create("s", space, policy=policy or Informed(), oracle=Random(), seed=seed)


def play(study: Study, n: int, truth: Truth, seed: int) -> list[Config]:
    """So many coin flips; returns what was served."""
    rng = np.random.default_rng(seed)
    served = []
    for _ in range(n):
        pull = study.ask()
        study.tell(pull.id, float(rng.random() < truth(pull.config)))
        served.append(pull.config)
    return served


def by_model(means: Mapping[str, float]) -> Truth:
    return lambda config: means[str(config["model"])]


def drifts(study: Study) -> list[Mapping[str, object]]:
    return [event.data for event in study.events() if event.kind == "drift"]


class TestFinding:
    def test_nothing_without_a_memory(self) -> None:
        arms = ActiveSet.from_rewards(MODELS, [({"model": "a", "x": 0.5}, [1.0] * 99)])
        assert find_drift(arms) is None

    def test_nothing_while_rewards_go_on_alike(self) -> None:
        arms = nine_arms()
        for row in range(9):
            give(arms, row, 40, 30)
            assert find_drift(arms) is None

    def test_one_arm(self) -> None:
        arms = nine_arms()
        for row in range(9):
            give(arms, row, 20, 15 if row != 4 else 1)
        found = find_drift(arms)
        assert found is not None
        assert (found.arm, found.parameter, found.value) == (5, None, None)
        assert (found.since, found.n_rewards, found.after) == (360, 20.0, 0.05)
        assert found.before == pytest.approx(0.75)

    @pytest.mark.parametrize("n_good", [2, 10])
    def test_one_value(self, n_good: int) -> None:
        """Down, or up."""
        arms = nine_arms()
        for row in range(9):
            give(arms, row, 12, n_good if row // 3 == 1 else 9)
        found = find_drift(arms)
        if n_good > 9:
            assert found is None  # 30 of 36 after 3 of 4 may be chance
            return
        assert found is not None
        assert (found.arm, found.parameter, found.value) == (None, "model", "b")
        assert found.n_rewards == 36.0
        assert found.after == pytest.approx(2 / 12)

    def test_everything(self) -> None:
        arms = nine_arms()
        for row in range(9):
            give(arms, row, 8, 2)
        found = find_drift(arms)
        assert found is not None
        assert (found.arm, found.parameter, found.value) == (None, None, None)
        assert (found.n_rewards, found.after) == (72.0, 0.25)

    def test_lucky_arms_that_fall_together_are_no_change(self) -> None:
        """Of many arms that are about equal, the twelve that never failed are served on."""
        configs: list[Config] = [{"model": "a", "x": n / 64} for n in range(35)]
        counts = [(14, 14)] * 12 + [(36, 38)] * 22 + [(170, 172)]
        rewards = [[1.0] * good + [0.0] * (n - good) for good, n in counts]
        arms = ActiveSet.from_rewards(MODELS, list(zip(configs, rewards, strict=True)))
        arms.put_memory(remember(arms))
        for row in range(12):
            give(arms, row, 4, 3)  # each until it fails
        give(arms, 34, 34, 33)
        assert find_drift(arms) is None
        for row in range(12):
            give(arms, row, 4, 2)
        assert find_drift(arms) is not None

    @pytest.mark.parametrize(("n_before", "is_change"), [(200, True), (100_000, False)])
    def test_the_longer_a_study_the_more_it_takes(self, n_before: int, is_change: bool) -> None:
        """Two of 21 good, where it was three of five, comes by chance once in so many."""
        arms = ActiveSet.from_rewards(
            NAMES, [({"model": "a"}, [1.0, 0.0, 1.0, 0.0, 1.0] * (n_before // 5))]
        )
        arms.put_memory(remember(arms))
        give(arms, 0, 21, 2)
        assert (find_drift(arms) is not None) == is_change

    def test_rewards_without_a_range(self) -> None:
        configs: list[Config] = [{"model": m, "x": 0.5} for m in "abc"]
        rewards = [[100.0, 110.0, 90.0, 105.0, 95.0] * 8] * 3
        arms = ActiveSet.from_rewards(
            MODELS, list(zip(configs, rewards, strict=True)), reward_range=None
        )
        arms.put_memory(remember(arms))
        for _ in range(20):
            for row in range(3):
                arms.count_pull(row)
                arms.count_reward(row, 70.0 if row == 2 else 100.0, was_pending=True)
        found = find_drift(arms)
        assert found is not None
        assert found.before == pytest.approx(100.0, abs=1.0)
        assert found.after == 70.0
        assert found.arm == 3 or found.value == "c"

    def test_an_arm_of_a_choice_of_many_values(self) -> None:
        """Its values are not looked at one by one: there would be too many."""
        configs: list[Config] = [{"prompt": n} for n in range(40)]
        rewards = [[1.0, 1.0, 0.0, 1.0] * 5] * 40
        arms = ActiveSet.from_rewards(PROMPTS, list(zip(configs, rewards, strict=True)))
        arms.put_memory(remember(arms))
        for row in range(40):
            give(arms, row, 20, 1 if row == 17 else 15)
        found = find_drift(arms)
        assert found is not None
        assert (found.arm, found.parameter, found.value) == (18, None, None)

    def test_arms_that_came_later_are_compared_with_nothing(self) -> None:
        arms = nine_arms()
        row = arms.admit(10, {"model": "a", "x": 0.1})
        give(arms, row, 60, 0)
        assert find_drift(arms) is None

    def test_moments_are_due_now_and_then(self) -> None:
        arms = ActiveSet.from_rewards(NAMES, [({"model": "a"}, [1.0] * 15)])
        seen = [arms.is_moment]
        give(arms, 0, 1, 1)
        seen.append(arms.is_moment)
        arms.put_memory(remember(arms))
        seen.append(arms.is_moment)
        give(arms, 0, 16, 16)
        assert [*seen, arms.is_moment] == [False, True, False, True]

    def test_looking_changes_nothing(self) -> None:
        arms = nine_arms()
        give(arms, 0, 30, 0)
        memory, document = arms.memory, json.dumps(arms.memory and arms.memory.document([1]))
        n_now = arms.n_now.copy()
        found = find_drift(arms)
        assert found is not None
        forget(arms, found, 5.0)
        assert arms.memory is memory
        assert json.dumps(memory and memory.document([1])) == document
        assert_array_equal(arms.n_now, n_now)


class TestData:
    def test_it_comes_back_from_json(self) -> None:
        drift = Drift(300, 0.1 + 0.2, 1 / 3, 20.0, 17.0, parameter="model", value=True)
        assert Drift.from_data(json.loads(json.dumps(drift.data()))) == drift

    @pytest.mark.parametrize("name", ["since", "before", "after", "n_rewards", "evidence"])
    @pytest.mark.parametrize("value", [None, "1", float("nan"), float("inf"), True, [1]])
    def test_what_is_no_number_is_refused(self, name: str, value: object) -> None:
        data = Drift(300, 0.5, 0.2, 20.0, 17.0).data() | {name: value}
        with pytest.raises(TypeError, match=name):
            Drift.from_data(data)

    def test_what_is_missing_is_refused(self) -> None:
        data = Drift(300, 0.5, 0.2, 20.0, 17.0).data()
        del data["arm"]
        with pytest.raises(LookupError):
            Drift.from_data(data)


@pytest.mark.slow
class TestStudies:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", first(1, range(4)))
    @pytest.mark.parametrize("space", [MODELS, NAMES], ids=["many arms", "three arms"])
    def test_coins_that_stay_as_they_are_give_no_alarm(self, space: Space, seed: int) -> None:
        study = created(space, seed)
        play(study, 3000, by_model(MEANS), seed)
        assert drifts(study) == []
        assert study.view.memory is not None
        # Most rewards still count: being served for having been lucky looks like a small fall.
        assert study.view.n_now.sum() > 0.6 * study.view.n_rewards.sum()

    @pytest.mark.parametrize("seed", first(2, range(4)))
    def test_the_fall_of_a_value_is_found_and_named(self, seed: int) -> None:
        study = created(MODELS, seed)
        play(study, 600, by_model({"a": 0.5, "b": 0.6, "c": 0.9}), seed)
        play(study, 60, by_model({"a": 0.5, "b": 0.6, "c": 0.2}), seed + 100)
        (found,) = drifts(study)
        assert (found["arm"], found["parameter"], found["value"]) == (None, "model", "c")
        served = play(study, 100, by_model({"a": 0.5, "b": 0.6, "c": 0.2}), seed + 200)
        assert sum(config["model"] == "c" for config in served) < 40

    @pytest.mark.parametrize("seed", first(1, [0, 6]))
    def test_prompts_that_stay_as_they_are_give_no_alarm(self, seed: int) -> None:
        study = created(PROMPTS, seed)
        play(study, 1500, lambda config: 0.9 if config["prompt"] == 17 else 0.2, seed)
        assert drifts(study) == []

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", first(2, [1, 4, 5, 7]))
    def test_a_prompt_that_falls_is_left_whether_it_is_noticed_or_not(self, seed: int) -> None:
        """Its later rewards contradict the earlier ones, however many these are."""

        def truth(fallen: bool) -> Truth:
            return lambda config: (0.1 if fallen else 0.9) if config["prompt"] == 17 else 0.2

        study = created(PROMPTS, seed)
        served = play(study, 1500, truth(fallen=False), seed)
        assert [config["prompt"] for config in served[-50:]].count(17) > 35
        served = play(study, 60, truth(fallen=True), seed + 100)
        assert [config["prompt"] for config in served].count(17) < 20
        assert [config["prompt"] for config in served[-30:]].count(17) < 5

    @pytest.mark.parametrize(
        "policy", [Informed(changes=False), IMOSS()], ids=["told not", "IMOSS"]
    )
    def test_nothing_is_looked_for_by_policies_that_do_not_use_it(self, policy: Policy) -> None:
        study = created(MODELS, 0, policy)
        play(study, 300, by_model({"a": 0.5, "b": 0.6, "c": 0.9}), 0)
        play(study, 100, by_model({"a": 0.0, "b": 0.0, "c": 0.0}), 1)
        assert drifts(study) == []
        assert study.view.memory is None

    @pytest.mark.slow
    @pytest.mark.parametrize("n_seeds", first(1, [2, 5]))
    def test_a_value_that_rises_is_found_again(self, n_seeds: int) -> None:
        n_found = 0
        for seed in range(n_seeds):
            study = created(NAMES, seed)
            before = {"a": 0.3, "b": 0.6, "c": 0.5}
            play(study, 1500, by_model(before), seed)
            served = play(study, 1500, by_model(before | {"a": 0.8}), seed + 100)
            n_found += Counter(config["model"] for config in served[-100:])["a"] > 50
        assert n_found >= n_seeds - 1


def _rewards(n: int, mean: float) -> list[float]:
    return [1.0] * round(n * mean) + [0.0] * (n - round(n * mean))


class TestTryingAgain:
    def left_out(self, *, n_recent: int = 60, tried: Sequence[float] = ()) -> ActiveSet:
        """Arms of a and b with a memory; since then b alone was served, and a as ``tried``."""
        arms = nine_arms()
        for row in (6, 7, 8):
            arms.put_state(row, "retired")
        give(arms, 4, n_recent, 0.75 * n_recent)
        for reward in tried:
            arms.count_pull(0)
            arms.count_reward(0, reward, was_pending=True)
        return arms

    def rounds_of(
        self, arms: ActiveSet, n: int, served: int = 4, reward: float = 0.0, pays: float = 0.75
    ) -> dict[int, int]:
        """The rounds, by their numbers, in which something is tried again, with the row."""
        found = {}
        give(arms, served, 1, 1)
        for _ in range(n // 4):
            row = Informed().tried_again(arms)
            if row is not None:
                found[arms.totals.n_pulls + 1] = row
                give(arms, row, 1, reward)
            to_next = 4 - (arms.totals.n_pulls + 1) % 4
            give(arms, served, to_next, pays * to_next)
            memory = arms.memory
            if memory is not None and arms.totals.n_rewards >= memory.due_at:
                arms.put_memory(remember(arms))
        return found

    def test_now_and_then_a_value_that_was_left_out_is_tried(self) -> None:
        arms = self.left_out()
        found = self.rounds_of(arms, 4000)
        assert 4 <= len(found) <= 40  # of 4,000 rounds
        assert set(found.values()) <= {0, 1, 2}

    def test_of_many_each_has_its_turn(self) -> None:
        space = Space(model=Choice(*"abcdefghijkl"))
        configs: list[Config] = [{"model": name} for name in "abcdefghijkl"]
        arms = ActiveSet.from_rewards(space, [(config, [1.0, 0.0] * 10) for config in configs])
        arms.put_memory(remember(arms))
        give(arms, 4, 300, 225)
        tried = Counter(self.rounds_of(arms, 4000).values())
        assert set(tried) == set(range(12)) - {4}
        assert max(tried.values()) <= 3 * min(tried.values())

    def test_values_of_a_long_choice_are_tried_more_rarely_in_all(self) -> None:
        def n_tries(names: str) -> int:
            space = Space(prompt=Choice(*names))
            configs: list[Config] = [{"prompt": name} for name in names]
            tried = [(config, [1.0, 0.0] * 10) for config in configs]
            arms = ActiveSet.from_rewards(space, tried)
            arms.put_memory(remember(arms))
            give(arms, 4, 300, 225)
            return len(self.rounds_of(arms, 4000))

        assert n_tries("abcdefghijkl") == pytest.approx(4000 / 60, abs=7)
        assert n_tries("abcdefghijklm") == pytest.approx(4000 / 240, abs=7)

    def test_a_model_does_not_wait_for_a_long_choice_beside_it(self) -> None:
        prompts = "abcdefghijklmnopqrst"
        space = Space(prompt=Choice(*prompts), model=Choice("small", "large"))
        configs: list[Config] = [{"prompt": name, "model": "small"} for name in prompts]
        configs += [{"prompt": name, "model": "large"} for name in "ab"]
        arms = ActiveSet.from_rewards(space, [(config, [1.0, 0.0] * 10) for config in configs])
        arms.put_memory(remember(arms))
        give(arms, 4, 300, 225)
        tried = Counter(self.rounds_of(arms, 4000).values())
        n_large = tried[20] + tried[21]
        n_prompts = sum(n for row, n in tried.items() if row < 20)
        assert n_large >= 4000 / 480  # as one of two alone
        assert n_prompts == pytest.approx(4000 / 240, abs=7)

    def test_what_is_tried_anyway_is_not_tried_again(self) -> None:
        arms = self.left_out()
        found: dict[int, int] = {}
        for _ in range(20):
            found |= self.rounds_of(arms, 200)
            give(arms, 0, 1, 0)
        assert len(found) <= 3

    def test_what_was_unlucky_and_is_not_the_best_either_is_left_alone(self) -> None:
        def n_tries(now: float) -> int:
            configs: list[Config] = [{"model": "a", "x": 0.1}, {"model": "b", "x": 0.1}]
            arms = ActiveSet.from_rewards(MODELS, [(configs[0], [0.0] * 8), (configs[1], [1.0])])
            arms.put_memory(remember(arms))
            give(arms, 1, 999, 800)
            give(arms, 0, 30, 30 * now)
            return len(self.rounds_of(arms, 200, served=1, reward=now))

        assert n_tries(0.5) <= 1
        assert n_tries(0.9) >= 20  # every fourth round

    def test_never_one_that_is_not_served_at_all(self) -> None:
        arms = self.left_out()
        for row in (0, 2):
            arms.put_state(row, "paused")
        assert set(self.rounds_of(arms, 2000).values()) == {1}
        arms.put_state(1, "paused")
        assert self.rounds_of(arms, 2000) == {}

    def test_a_surprise_is_followed_up_sooner(self) -> None:
        def n_tries(tried: Sequence[float]) -> int:
            return len(self.rounds_of(self.left_out(n_recent=200, tried=tried), 200))

        usual = n_tries([1.0, 1.0, 0.0, 1.0])
        assert n_tries([1.0] * 5) > 2 * usual
        assert n_tries([0.0] * 4) <= usual

    def test_while_what_is_served_pays_less_more_is_tried(self) -> None:
        def n_tries(pays: float) -> int:
            arms = self.left_out()
            self.rounds_of(arms, 800)
            self.rounds_of(arms, 200, pays=pays)
            return len(self.rounds_of(arms, 400, pays=pays))

        usual = n_tries(0.75)
        assert n_tries(0.25) >= 2 * usual > 0
        assert n_tries(1.0) == usual

    def test_the_longer_nothing_has_changed_the_more_rarely_something_is_tried(self) -> None:
        space = Space(model=Choice(*"abcdefghijkl"))
        configs: list[Config] = [{"model": name} for name in "abcdefghijkl"]

        def n_tries(n_still: int, changed_at: int | None = None) -> int:
            arms = ActiveSet.from_rewards(space, [(config, [1.0, 0.0] * 10) for config in configs])
            for n in range(0, n_still, 500):
                give(arms, 4, 500, 375)
                arms.put_memory(remember(arms))
                if n == changed_at:
                    found = Drift(arms.totals.n_rewards, 0.7, 0.7, 20.0, 20.0, arm=4)
                    arms.put_memory(forget(arms, found, 0.0))
            return len(self.rounds_of(arms, 4000))

        usual, late = n_tries(500), n_tries(20_000)
        assert usual == pytest.approx(4000 / 60, abs=7)
        assert late == pytest.approx(usual * (5000 / 22_000) ** 0.5, abs=5)
        assert n_tries(20_000, changed_at=18_000) > 1.5 * late

    def test_what_is_served_needs_no_trying(self) -> None:
        arms = nine_arms()
        for row in range(9):
            give(arms, row, 20, 15)
        assert [Informed().tried_again(arms) for _ in range(5)] == [None] * 5

    def test_only_with_a_memory_and_where_the_world_may_change(self) -> None:
        arms = self.left_out()
        (number, *_) = self.rounds_of(self.left_out(), 2000)
        give(arms, 4, number - 1 - arms.totals.n_pulls, 0)
        assert Informed().tried_again(arms) is not None
        assert Informed(changes=False).tried_again(arms) is None
        arms.memory = None
        assert Informed().tried_again(arms) is None

    def test_numbers_have_parts_where_there_are_no_names(self) -> None:
        space = Space(x=Float(0.0, 1.0), k=Int(1, 3))
        configs: list[Config] = [{"x": x, "k": 2} for x in (0.1, 0.5, 0.9)]
        arms = ActiveSet.from_rewards(space, [(config, [1.0, 0.0] * 20) for config in configs])
        arms.put_memory(remember(arms))
        give(arms, 1, 200, 100)
        found = set()
        for _ in range(100):
            give(arms, 1, 10 - (arms.totals.n_pulls + 1) % 10, 5)
            found.add(Informed().tried_again(arms))
        assert found == {None, 0, 2}

    def test_after_all_arms_of_the_memory_are_gone_there_is_nothing_to_try(self) -> None:
        arms = ActiveSet.from_rewards(MODELS, [({"model": "a", "x": 0.1}, [1.0] * 20)])
        document = nine_arms().memory
        assert document is not None
        arms.load_memory(document.document(list(range(101, 110))))
        assert self.rounds_of_one(arms) == {None}

    def rounds_of_one(self, arms: ActiveSet) -> set[int | None]:
        found = set()
        for _ in range(120):
            found.add(Informed().tried_again(arms))
            give(arms, 0, 1, 1)
        return found

    def test_the_study_serves_what_is_tried(self) -> None:
        arms = self.left_out()
        for _ in range(200):
            row = Informed().tried_again(arms)
            decided = Informed(scale=1e-9, warmup=1).serve(arms, Draws(0, 1))
            if row is not None:
                assert decided.row == row
            give(arms, 4, 1, 1)
