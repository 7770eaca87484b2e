"""The lift: by hand, the same however fed, in windows, and right at all moments together."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from imabo.errors import InvalidReward, InvalidSetting
from imabo.evaluation import Lift, Outcome
from imabo.evaluation.lift import DAYS
from imabo.evaluation.tally import CENTRES, TOTAL
from tests.evaluation.measure import LIFTS, NEAR_HALF, ever_wrong, steady, sums
from tests.evaluation.traffic import arrivals


def traffic(
    n: int, tuned: float = 0.6, control: float = 0.5, share: float = 0.2, seed: int = 0
) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    coins = rng.random(n) < share
    rewards = rng.random(n) < np.where(coins, control, tuned)
    return [Outcome(float(r), bool(c), share) for r, c in zip(rewards, coins, strict=True)]


def same(one: Lift, other: Lift) -> bool:
    return one.head() == other.head() and one.past() == other.past()


class TestScores:
    def test_by_hand(self) -> None:
        # Before the first reward both means are 1/2. A control's reward of 1 at share 1/4:
        # phi = 0 - (1 - 1/2) / (1/4) = -2. Then the overall mean is (1/2 + 1) / 2 = 3/4, the
        # tuned side's 3/4 as well, the control's (2 * 3/4 + 1) / 3 = 5/6; a tuned reward of 0 gives
        # phi = 3/4 - 5/6 - (3/4) / (3/4) = -1 - 1/12.
        first = Lift().update([Outcome(1.0, True, 0.25)])
        assert first.total.values[TOTAL] == pytest.approx(-2.0)
        second = first.update([Outcome(0.0, False, 0.25)])
        assert second.total.values[TOTAL] == pytest.approx(-3.0 - 1 / 12)
        assert second.total.values[CENTRES] == pytest.approx(-1 / 12)

    def test_their_mean_is_near_the_lift(self) -> None:
        now = Lift().update(traffic(20_000)).estimate()
        assert now.absolute == pytest.approx(0.1, abs=0.03)
        assert now.tuned_mean == pytest.approx(0.6, abs=0.02)
        assert now.n_tuned + now.n_control == 20_000

    def test_one_by_one_is_all_at_once(self) -> None:
        outcomes = [one._replace(day=i // 90) for i, one in enumerate(traffic(400))]
        one_by_one = Lift()
        for outcome in outcomes:
            one_by_one = one_by_one.update([outcome])
        at_once = Lift().update(outcomes)
        in_parts = Lift().update(outcomes[:130]).update([]).update(outcomes[130:])
        assert same(at_once, one_by_one)
        assert same(at_once, in_parts)

    @pytest.mark.parametrize("seed", range(3))
    def test_any_parts_give_the_same_past(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        outcomes = [one._replace(day=i // 77) for i, one in enumerate(traffic(4000, seed=seed))]
        cuts = [0, *sorted(rng.integers(0, 4000, 30).tolist()), 4000]
        lift = Lift()
        for start, end in pairwise(cuts):
            lift = lift.update(outcomes[start:end])
        assert same(lift, Lift().update(outcomes))

    def test_requests_without_a_choice_say_nothing(self) -> None:
        lift = Lift().update(traffic(100))
        assert lift.update([Outcome(1.0, True, 1.0), Outcome(1.0, False, 0.0)]) is lift


class TestCoverage:
    @pytest.mark.parametrize("name", ["A/A, share 0.1", "learns, share 0.1"])
    def test_it_is_rarely_ever_wrong(self, name: str) -> None:
        runs = [ever_wrong(one, sums(one)) for one in arrivals(60, 3000, **LIFTS[name])]
        assert sum(runs) <= 6  # 5 % and two standard errors

    def test_the_check_can_fail(self) -> None:
        # Were the tuned side's rewards half as likely to arrive when they are 0, it would not hold.
        world = {"arms": (0.5,), "control": 0.5, "share": steady(0.5)}
        one = next(iter(arrivals(1, 6000, **world)))  # type: ignore[arg-type]
        rng = np.random.default_rng(0)
        kept = one.control | (one.reward == 1.0) | (rng.random(len(one.reward)) < 0.5)
        biased = type(one)(one.reward[kept], one.control[kept], one.share[kept], one.lift[kept])
        assert ever_wrong(biased, sums(biased))

    def test_the_interval_agrees_with_the_capital(self) -> None:
        one = next(iter(arrivals(1, 3000, NEAR_HALF, 0.5, steady(0.2))))
        low, high = Lift().update(one.outcomes()).estimate().interval or (0.0, 0.0)
        assert low < float(one.lift.mean()) < high
        assert not ever_wrong(one, sums(one))


class TestWidth:
    def test_after_5_000_rewards_with_a_tenth_of_control(self) -> None:
        now = Lift().update(traffic(5000, 0.5, 0.5, 0.1)).estimate()
        assert now.half_width is not None
        assert now.half_width <= 0.08  # the bar is 0.11

    def test_rare_rewards_have_tighter_ones(self) -> None:
        now = Lift().update(traffic(5000, 0.03, 0.02, 0.1)).estimate()
        assert now.half_width is not None
        assert now.half_width <= 0.04

    def test_it_narrows_when_the_share_changes_too(self) -> None:
        before = Lift().update(traffic(1000, share=0.5))
        after = before.update(traffic(6000, share=0.05, seed=1))
        one, two = before.estimate().half_width, after.estimate().half_width
        assert one is not None
        assert two is not None
        assert two < one

    def test_a_share_of_next_to_nothing_says_nothing(self) -> None:
        now = Lift().update(traffic(500, share=1e-6)).estimate()
        assert now.interval == (-1.0, 1.0)
        assert not now.is_known


class TestWhatIsSaid:
    def test_at_first_nothing(self) -> None:
        now = Lift().estimate()
        assert (now.is_known, now.absolute, now.interval, now.half_width) == (False, *[None] * 3)
        few = Lift().update(traffic(30)).estimate()
        assert not few.is_known
        assert few.absolute is None
        assert few.interval is not None
        assert few.interval[0] >= -1.0

    def test_how_many_more_it_needs(self) -> None:
        lift = Lift().update(traffic(300, share=0.3))
        needed = lift.needed(0.08)
        later = lift.update(traffic(needed, share=0.3, seed=9)).estimate()
        assert later.half_width == pytest.approx(0.08, rel=0.1)
        assert Lift().update(traffic(3000, share=0.3)).needed(0.5) == 0
        assert Lift().needed(0.1) > 1000

    def test_relative_lift(self) -> None:
        now = Lift().update(traffic(20_000, 0.6, 0.5)).estimate()
        assert now.relative == pytest.approx(0.2, abs=0.08)
        assert now.relative_interval is not None
        assert now.relative_interval[0] < 0.2 < now.relative_interval[1]
        worse = Lift().update(traffic(20_000, 0.4, 0.5)).estimate()
        assert worse.relative_interval is not None
        assert worse.relative_interval[0] < -0.2 < worse.relative_interval[1] < 0.0

    def test_rewards_in_other_units(self) -> None:
        outcomes = traffic(2000)
        scaled = [one._replace(reward=-10.0 + 40.0 * one.reward) for one in outcomes]
        plain, other = Lift().update(outcomes), Lift((-10.0, 30.0)).update(scaled)
        assert other.estimate().absolute == pytest.approx(40.0 * (plain.estimate().absolute or 0))
        assert other.needed(4.0) == plain.needed(0.1)
        below = [one._replace(reward=one.reward - 0.9) for one in outcomes]
        assert Lift((-0.9, 0.1)).update(below).estimate().relative is None  # of a mean below 0

    def test_what_is_needed_counts_a_group_that_has_hardly_any(self) -> None:
        few = [one for one in traffic(4000, share=0.01) if one.is_control][:4]
        lift = Lift().update(
            [*[one for one in traffic(400, share=0.01) if not one.is_control], *few]
        )
        assert not lift.estimate().is_known
        assert lift.needed(1.0) == 600  # six more of the control, of which each hundredth is one

    def test_without_a_range_only_the_asymptotic_one(self) -> None:
        rng = np.random.default_rng(3)
        outcomes = [one._replace(reward=rng.normal(100.0, 5.0)) for one in traffic(3000)]
        lift = Lift(None).update(outcomes)
        now = lift.estimate()
        assert now.kind == "asymptotic"
        assert now.interval is not None
        assert now.interval[0] < 0.0 < now.interval[1]
        assert now.half_width is not None
        assert now.half_width < 1.5
        assert Lift(None).update(outcomes[:200]).estimate().interval is None
        assert lift.needed(0.1) > 10_000

    def test_a_control_that_has_seen_only_zeros_is_not_taken_for_sure(self) -> None:
        outcomes = [
            one._replace(reward=0.0 if one.is_control else one.reward)
            for one in traffic(800, tuned=0.02, share=0.1)
        ]
        now = Lift(None).update(outcomes).estimate()
        assert now.interval is not None
        assert now.interval[0] < 0.0 < now.interval[1]


class TestWindows:
    def test_by_day(self) -> None:
        outcomes = [one._replace(day=100) for one in traffic(1500, tuned=0.3)]
        outcomes += [one._replace(day=102) for one in traffic(1500, tuned=0.8, seed=1)]
        days = Lift().update(outcomes).by_day()
        assert list(days) == [100, 102]
        assert days[100].absolute == pytest.approx(-0.2, abs=0.1)
        assert days[102].absolute == pytest.approx(0.3, abs=0.1)
        assert days[102].n_tuned + days[102].n_control == 1500

    def test_a_day_is_as_tight_as_a_study_of_its_own(self) -> None:
        first, second = traffic(2000), [one._replace(day=1) for one in traffic(2000, seed=1)]
        whole = Lift().update(first + second).by_day()[1]
        alone = Lift().update(second).estimate()
        assert whole.half_width == pytest.approx(alone.half_width, rel=0.05)

    def test_the_last_ones(self) -> None:
        lift = Lift().update(traffic(6000, tuned=0.3)).update(traffic(3000, tuned=0.8, seed=1))
        now = lift.last(2000)
        assert 1400 <= now.n_tuned + now.n_control <= 2900
        assert now.absolute == pytest.approx(0.3, abs=0.1)
        everything = lift.last(100_000)
        assert everything.n_tuned + everything.n_control == 9000

    def test_since_a_moment(self) -> None:
        lift = Lift().update(traffic(1000))
        mark = lift.mark()
        later = lift.update(traffic(500, seed=1)).since(mark)
        assert later.n_tuned + later.n_control == 500
        assert Lift().mark() is None

    def test_the_past_stays_small(self) -> None:
        outcomes = [one._replace(day=i // 400) for i, one in enumerate(traffic(30_000))]
        lift = Lift().update(outcomes)
        assert len([mark for mark in lift.marks if mark.ended is not None]) <= DAYS + 1
        assert len(lift.marks) < DAYS + 40
        assert list(lift.by_day()) == list(range(74 - DAYS, 75))  # and the present one
        assert all(day.n_tuned + day.n_control == 400 for day in lift.by_day().values())


class TestDocuments:
    def test_they_bring_it_back(self) -> None:
        outcomes = [one._replace(day=i // 300) for i, one in enumerate(traffic(1000))]
        lift = Lift().update(outcomes)
        head = json.dumps(lift.head(), allow_nan=False)
        past = json.dumps(lift.past(), allow_nan=False)
        assert len(head) < 2000
        again = Lift.restore((0.0, 1.0), json.loads(head), json.loads(past))
        more = traffic(100, seed=5)
        assert same(again.update(more), lift.update(more))
        assert again.by_day() == lift.by_day()

    def test_the_past_is_the_same_object_until_it_changes(self) -> None:
        outcomes = traffic(129)
        lift = Lift().update(outcomes[:100])
        assert lift.update(outcomes[100:127]).marks is lift.marks
        assert lift.update(outcomes[100:128]).marks is not lift.marks


class TestRefusals:
    def test_a_reward_out_of_range(self) -> None:
        with pytest.raises(InvalidReward, match="is 2"):
            Lift().update([Outcome(2.0, True, 0.1)])
        with pytest.raises(InvalidReward, match="nan"):
            Lift(None).update([Outcome(math.nan, True, 0.1)])

    def test_a_share_that_is_none(self) -> None:
        with pytest.raises(InvalidSetting, match="propensity"):
            Lift().update([Outcome(0.5, True, 1.5)])

    def test_a_range_the_wrong_way_round(self) -> None:
        with pytest.raises(InvalidSetting, match="reward_range"):
            Lift((1.0, 0.0))
