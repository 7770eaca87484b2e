"""The part of the contract about signals, what they use of budgets, and the banks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from imabo.errors import ImaboError, RewardConflict, SignalConflict
from imabo.objective import Limit, Objective, Signal
from imabo.spending import ON_BUDGET, bank_after, lately_after, lately_key
from imabo.stores.base import Change, NewPull, Report, Reported, Rewarded, Settings, Store
from imabo.testing.stores.facts import Cases, Writer, everything, new_arm, study_record

SIGNALS = {"cost": Signal(low=0.0).document(), "slow": Signal(low=0.0).document()}
OBJECTIVE = Objective(budgets={"cost": 2.0}, limits=[Limit("slow", above=1.0, share=0.25)])
COST, SLOW = OBJECTIVE.constraints


def kept(store: Store, name: str = "study") -> tuple[Any, Any]:
    """The arms' sums and the banks."""
    snapshot = store.load(name)
    return {arm.id: arm.signals for arm in snapshot.arms}, dict(snapshot.banks)


def used(*uses: float) -> dict[str, float]:
    """What the budget of the cost comes to after such uses."""
    bank, lately = 0.0, ON_BUDGET
    for use in uses:
        bank, lately = bank_after(bank, use, COST), lately_after(lately, use, COST.budget)
    return {"cost": bank, lately_key("cost"): lately}


class SignalCases(Cases):
    """Each signal once, with or without a reward; sums and banks move with it."""

    @pytest.fixture
    def goal(self, store: Store) -> Writer:
        """A study with two signals, a budget and a limit, and four pulls of two arms."""
        store.create(study_record(signals=SIGNALS, objective=OBJECTIVE.document()))
        writer = Writer(store, create=False)
        writer.serve(1, 2, 1, 2)
        return writer

    def test_what_was_declared_comes_back(self, store: Store, goal: Writer) -> None:
        """The signals and the objective; a study without them has none."""
        record = store.load("study").study
        assert (record.signals, record.objective) == (SIGNALS, OBJECTIVE.document())
        Writer(store, "plain")
        plain = store.load("plain")
        assert (plain.study.signals, plain.study.objective, plain.banks) == (None, None, {})

    def test_a_signal_is_recorded_and_counted(self, store: Store, goal: Writer) -> None:
        """On the pull, on its arm, in the bank and in the log; alone, or with the reward."""
        exact = 0.1 + 0.2
        done = store.report_many("study", [Report(1, None, {"cost": exact})], at=300.0)
        assert done.found == [Reported(1, None, {"cost": exact})]
        assert done.seq == goal.seq + 1
        told = {"cost": 6.0, "slow": 1.5}
        done = store.report_many("study", [Report(3, 0.5, told)], at=301.0)
        assert done.found == [Reported(1, Rewarded(1, True, True, done.seq), told)]
        found = everything(store)
        assert [pull.signals for pull in found.pulls] == [{"cost": exact}, {}, told, {}]
        assert [pull.reward for pull in found.pulls] == [None, None, 0.5, None]
        entries = [(entry.kind, entry.pull, entry.data) for entry in found.log[-2:]]
        assert entries[0] == ("signal", 1, {"signals": {"cost": exact}})
        assert entries[1] == ("tell", 3, {"signals": told})
        sums = {"cost": [2, exact + 6.0, exact * exact + 36.0], "slow": [1, 1.5, 2.25]}
        banks = used(exact, 6.0) | {"slow > 1": bank_after(0.0, 1.0, SLOW)}
        assert kept(store) == ({1: sums | {"slow > 1": [1, 1.0]}, 2: None}, banks)
        assert done.banks == banks
        assert found.snapshot.totals.n_rewards == 1

    def test_the_same_again_changes_nothing(self, store: Store, goal: Writer) -> None:
        """So a report may be retried, and what is new in it still counts."""
        report = Report(1, 0.5, {"cost": 1.0})
        store.report_many("study", [report], at=300.0)
        before = everything(store)
        done = store.report_many("study", [report, report], at=900.0)
        assert [one.fresh for one in done.found if isinstance(one, Reported)] == [{}, {}]
        assert done.seq == before.snapshot.seq
        assert everything(store) == before
        store.report_many("study", [replace(report, signals={"cost": 1.0, "slow": 2.0})], at=301.0)
        assert everything(store).pulls[0].signals == {"cost": 1.0, "slow": 2.0}

    def test_a_conflict_refuses_its_report_alone(self, store: Store, goal: Writer) -> None:
        """Whole: neither its reward nor its other signals are recorded."""
        store.report_many("study", [Report(1, 0.5, {"cost": 1.0})], at=300.0)
        reports = [
            Report(1, 0.5, {"cost": 2.0, "slow": 1.0}),
            Report(2, 0.25, {"cost": 3.0}),
            Report(1, 0.75, {"slow": 1.0}),
            Report(99, 0.5, {"cost": 1.0}),
        ]
        found = store.report_many("study", reports, at=301.0).found
        assert isinstance(found[0], SignalConflict)
        assert isinstance(found[1], Reported)
        assert isinstance(found[2], RewardConflict)
        assert found[3] is None
        assert everything(store).pulls[0].signals == {"cost": 1.0}
        assert everything(store).pulls[1].signals == {"cost": 3.0}

    def test_reports_count_in_order_of_their_pulls(self, store: Store, goal: Writer) -> None:
        """However they are given, so that a replay comes to the same digits."""
        values = {1: 0.1, 2: 7.3, 3: 1e-9, 4: 2.7}
        reports = [Report(number, None, {"cost": values[number]}) for number in (3, 1, 4, 2)]
        store.report_many("study", reports, at=300.0)
        assert kept(store)[1] == used(*(values[number] for number in sorted(values)))
        assert [entry.pull for entry in everything(store).log[-4:]] == [1, 2, 3, 4]

    def test_signals_come_after_the_window_and_the_reward(self, store: Store, goal: Writer) -> None:
        """A pull that expired takes them, and stays expired."""
        store.expire("study", before=10_000.0, at=10_001.0)
        store.report_many("study", [Report(1, None, {"cost": 1.0})], at=10_002.0)
        pull = everything(store).pulls[0]
        assert (pull.state, pull.signals) == ("expired", {"cost": 1.0})

    def test_a_price_list_is_used_when_a_pull_is_served(self, store: Store) -> None:
        """And not again when the signal is reported."""
        known = {"cost": Signal(low=0.0, known={"x": 4.0}).document()}
        goal = Objective(budgets={"cost": 2.0}).document()
        store.create(study_record(signals=known, objective=goal))
        writer = Writer(store, create=False)
        pulls = [NewPull(1, 1, "expand", uses={"cost": 0.5})]
        store.serve("study", seq=writer.seq, at=200.0, pulls=pulls, arms=[new_arm(1)])
        token = store.load("study").study.token
        more = [NewPull(0, 1, "index", uses={"cost": 3.0})]
        store.serve_known("study", token=token, at=201.0, pulls=more)
        assert kept(store)[1] == used(0.5, 3.0)
        store.report_many("study", [Report(1, 1.0, {"cost": 9.0})], at=300.0)
        assert kept(store) == ({1: {"cost": [1, 9.0, 81.0]}}, used(0.5, 3.0))

    def test_a_change_replaces_objective_and_banks(self, store: Store, goal: Writer) -> None:
        """As settings, in its own transaction."""
        store.report_many("study", [Report(1, None, {"cost": 9.0})], at=300.0)
        other = Objective(budgets={"cost": 3.0}).document()
        settings = Settings((0.0, 1.0), None, None, SIGNALS, other)
        change = Change("settings", {}, settings=settings, banks={})
        store.change("study", change, seq=goal.seq + 1, at=301.0)
        record = store.load("study").study
        assert (record.objective, record.signals) == (other, SIGNALS)
        assert kept(store) == ({1: {"cost": [1, 9.0, 81.0]}, 2: None}, {})

    def test_signals_go_with_their_pulls(self, store: Store, goal: Writer) -> None:
        """What they taught stays."""
        store.report_many("study", [Report(1, 0.5, {"cost": 1.0})], at=300.0)
        sums = kept(store)
        assert store.prune("study", before=1e9) == 1
        assert kept(store) == sums
        found: list[Reported | ImaboError | None] = [None]
        done = store.report_many("study", [Report(1, None, {"slow": 1.0})], at=400.0)
        assert list(done.found) == found

    def test_a_milestone_has_what_was_used_by_then(self, store: Store, goal: Writer) -> None:
        """Of each signal and each limit, over all arms; a study without signals says nothing."""
        store.report_many("study", [Report(1, None, {"cost": 1.25, "slow": 0.5})], at=300.0)
        store.report_many("study", [Report(2, 0.5, {"cost": 2.0})], at=301.0)
        goal.seq = store.seqs()["study"]
        goal.serve(*[1, 2] * 2)
        store.report_many("study", [Report(3, None, {"cost": 0.5, "slow": 3.0})], at=302.0)
        goal.seq = store.seqs()["study"]
        goal.serve(*[1, 2] * 4)
        first, second = store.milestones("study")
        assert first.signals == {"cost": [2, 3.25], "slow": [1, 0.5], "slow > 1": [1, 0.0]}
        assert second.signals == {"cost": [3, 3.75], "slow": [2, 3.5], "slow > 1": [2, 1.0]}
        plain = Writer(store, "plain")
        plain.serve(*[1] * 8)
        assert [one.signals for one in store.milestones("plain")] == [None]
