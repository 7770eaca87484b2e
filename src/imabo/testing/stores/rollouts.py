"""The part of the contract about the rollout, the groups of pulls, and what their rewards say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from imabo.arms import Group, Restart
from imabo.errors import StoreError, UnknownStudy
from imabo.stores.base import Change, KeptLift, NewPull, OutcomeRecord, Report, StaleView, Store
from imabo.stores.history import SignalledRecord, Taken
from imabo.testing.stores.facts import Cases, Writer, everything, new_arm, study_record

TOKEN = study_record().token
DOCUMENT: dict[str, Any] = {"control": {"x": 0.1 + 0.2}, "digits": [1e-300, -0.0, 2**70, "🎉"]}


def control_change(arm: int | None = None, **document: Any) -> Change:
    """A change that sets a rollout, and admits an arm for it."""
    arms = [] if arm is None else [new_arm(arm, origin="control")]
    return Change("control", {"arm": arm}, arms=arms, rollout={**DOCUMENT, **document})


def coin_pulls(first: int, *groups: Group, arm: int = 1, e: float = 0.25) -> list[NewPull]:
    """Pulls of one arm in these groups."""
    return [
        NewPull(n, arm, "index", group=group, propensity=e if group == "control" else 1.0 - e)
        for n, group in enumerate(groups, start=first)
    ]


class RolloutCases(Cases):
    """Writing and reading who gets the control, and what came of it."""

    def test_a_study_may_begin_with_a_change(self, store: Store) -> None:
        """In the same transaction, at the time of its creation, and with seq 1."""
        store.create(study_record(), control_change(1))
        found = store.load("study")
        assert (found.seq, found.rollout_seq, found.last_at) == (1, 1, 100.0)
        assert repr(found.rollout) == repr(DOCUMENT)
        assert [(arm.id, arm.origin, arm.state) for arm in found.arms] == [(1, "control", "active")]
        (entry,) = store.log("study")
        assert (entry.seq, entry.kind, entry.at, entry.data) == (1, "control", 100.0, {"arm": 1})

    def test_a_study_has_no_rollout_at_first(self, store: Store, writer: Writer) -> None:
        """Nor a version of it, nor groups."""
        writer.serve(1)
        found = store.load("study")
        assert (found.rollout, found.rollout_seq) == (None, 0)
        assert (found.n_tuned, found.n_control) == (0, 0)
        (pull,) = store.pulls("study")
        assert (pull.group, pull.propensity) == (None, None)

    def test_load_since_gives_a_rollout_that_was_written_after_it(
        self, store: Store, writer: Writer
    ) -> None:
        """The version always; other changes leave it."""
        writer.serve(1)
        store.change("study", control_change(), seq=1, at=300.0)
        writer.refresh()
        writer.put_state(1, "paused")
        snapshots = [store.load("study", since=since) for since in range(4)]
        assert [one.rollout for one in snapshots] == [DOCUMENT, DOCUMENT, None, None]
        assert [one.rollout_seq for one in snapshots] == [2, 2, 2, 2]

    def test_a_space_and_a_control_are_one_change(self, store: Store, writer: Writer) -> None:
        """With the control's new arm, and the declaration that brought them."""
        writer.serve(1)
        space = {"n": [0.1 + 0.2]}
        change = replace(
            control_change(2),
            kind="space",
            states={1: ("retired", "active")},
            space=space,
            restart=Restart(1, 0, 1, 0),
            declared={"space": space},
        )
        store.change("study", change, seq=1, at=300.0)
        found = store.load("study")
        assert (found.seq, found.space_version, found.space) == (2, 2, space)
        assert (found.rollout, found.rollout_seq) == (DOCUMENT, 2)
        assert [(arm.id, arm.state) for arm in found.arms] == [(1, "retired"), (2, "active")]
        assert store.declaration("study") == {"space": space}
        assert [entry.kind for entry in store.changes("study", limit=9)] == ["space"]

    def test_what_is_refused_leaves_the_rollout(self, store: Store, writer: Writer) -> None:
        """Refused as stale, or as a contradiction of the facts."""
        writer.serve(1)
        store.change("study", control_change(), seq=1, at=300.0)
        before = everything(store)
        with pytest.raises(StaleView):
            store.change("study", control_change(other=1), seq=1, at=300.0)
        with pytest.raises(StoreError, match="refused whole"):
            store.change("study", control_change(1, other=1), seq=2, at=300.0)
        assert everything(store) == before

    def test_groups_are_kept_and_counted(self, store: Store, writer: Writer) -> None:
        """Those that a coin decided; a pull that everyone got counts for neither."""
        writer.serve(1)
        pulls = coin_pulls(2, "tuned", "control", "tuned")
        store.serve("study", seq=1, at=201.0, pulls=pulls)
        known = [*coin_pulls(0, "control"), NewPull(0, 1, "control", group="control", propensity=1)]
        store.serve_known("study", token=TOKEN, at=202.0, pulls=known)
        found = [(pull.group, pull.propensity) for pull in store.pulls("study", after=1)]
        coins = [("tuned", 0.75), ("control", 0.25), ("tuned", 0.75), ("control", 0.25)]
        assert found == [*coins, ("control", 1.0)]
        assert [(e.group, e.propensity) for e in store.log("study")] == [(None, None), *found]
        snapshot = store.load("study")
        assert (snapshot.n_tuned, snapshot.n_control) == (2, 2)

    def test_serve_known_needs_the_newest_rollout(self, store: Store, writer: Writer) -> None:
        """And nothing is served with an older one, nor with one that is not there yet."""
        writer.serve(1)
        seq = store.change("study", control_change(), seq=1, at=201.0)
        before = everything(store)
        for version in (0, 1, seq + 1):
            with pytest.raises(StaleView):
                store.serve_known(
                    "study", token=TOKEN, at=202.0, pulls=coin_pulls(0, "tuned"), rollout=version
                )
        assert everything(store) == before
        pulls = coin_pulls(0, "tuned")
        placed = store.serve_known("study", token=TOKEN, at=202.0, pulls=pulls, rollout=seq)
        assert placed.first == 2

    def test_the_control_is_served_whatever_its_state(self, store: Store, writer: Writer) -> None:
        """For the control's requests alone, and only when it is there."""
        writer.serve(1, 2)
        writer.put_state(2, "paused")
        control = coin_pulls(0, "control", arm=2)
        store.serve_known("study", token=TOKEN, at=600.0, pulls=control)
        tuned, unknown = coin_pulls(0, "tuned", arm=2), coin_pulls(0, "control", arm=9)
        for pulls in (tuned, [*control, *tuned]):
            with pytest.raises(StaleView):
                store.serve_known("study", token=TOKEN, at=601.0, pulls=pulls)
        with pytest.raises((StaleView, StoreError)):
            store.serve_known("study", token=TOKEN, at=601.0, pulls=unknown)
        assert store.load("study").totals.n_pulls == 3

    def test_states_may_change_with_a_serve(self, store: Store, writer: Writer) -> None:
        """Those of arms that come in with it, too; an unknown arm refuses it all."""
        writer.serve(1)
        pulls = [NewPull(2, 2, "control", group="control", propensity=0.25)]
        seq = store.serve(
            "study", seq=1, at=201.0, pulls=pulls, arms=[new_arm(2)],
            states={2: ("retired", None), 1: ("paused", None)},
        )  # fmt: skip
        assert [arm.state for arm in store.load("study", since=1).arms] == ["paused", "retired"]
        before = everything(store)
        with pytest.raises(StoreError, match="refused whole"):
            store.serve(
                "study", seq=seq, at=202.0, pulls=[NewPull(3, 1, "index")],
                states={9: ("active", None)},
            )  # fmt: skip
        assert everything(store) == before

    def test_outcomes_come_in_the_order_of_their_rewards(
        self, store: Store, writer: Writer
    ) -> None:
        """Of pulls that a coin decided, page after page; rewarded together, by their numbers."""
        writer.serve(1)
        groups: list[Group] = ["tuned", "control", "tuned", "control"]
        pulls = coin_pulls(2, *groups)
        sure = NewPull(6, 1, "control", group="control", propensity=1.0)
        store.serve("study", seq=1, at=201.0, pulls=[*pulls, sure])
        store.reward_many("study", [(4, 0.5)], at=301.0)  # seq 3
        store.reward_many("study", [(1, 0.1), (6, 0.9), (3, 0.25), (2, 1.0)], at=302.0)
        found = store.outcomes("study")
        assert found == [
            OutcomeRecord(3, 4, 301.0, 0.5, "tuned", 0.75),
            OutcomeRecord(4, 2, 302.0, 1.0, "tuned", 0.75),
            OutcomeRecord(4, 3, 302.0, 0.25, "control", 0.25),
        ]
        assert store.outcomes("study", limit=2) == found[:2]
        assert store.outcomes("study", after=(4, 2)) == found[2:]
        assert store.outcomes("study", after=(4, 3)) == []
        store.prune("study", before=300.0)
        assert store.outcomes("study") == []

    def test_outcomes_that_nobody_took_in_are_not_forgotten(
        self, store: Store, writer: Writer
    ) -> None:
        """Only those after the place: what no coin decided, and what expired, goes as ever."""
        writer.serve(1)
        groups: list[Group] = ["tuned", "control", "tuned"]
        sure = NewPull(5, 1, "control", group="control", propensity=1.0)
        store.serve("study", seq=1, at=201.0, pulls=[*coin_pulls(2, *groups), sure])
        store.reward_many("study", [(2, 0.5), (3, 0.5)], at=301.0)  # seq 3
        store.reward_many("study", [(1, 0.5), (4, 0.5), (5, 0.5)], at=302.0)
        assert store.prune("study", before=300.0, taken=Taken(3, 2)) == 3, "pulls 1, 2 and 5"
        assert [(one.seq, one.number) for one in store.outcomes("study")] == [(3, 3), (4, 4)]
        assert store.prune("study", before=300.0, taken=Taken(3, 3)) == 1
        assert store.prune("study", before=300.0, limit=1, taken=Taken(3, 3)) == 0
        assert store.prune("study", before=300.0) == 1

    def test_signals_that_nobody_took_in_are_not_forgotten(
        self, store: Store, writer: Writer
    ) -> None:
        """Only later ones: what no coin decided goes as ever, and what has no signals."""
        writer.serve(1)
        sure = NewPull(6, 1, "control", group="control", propensity=1.0)
        groups: list[Group] = ["tuned", "control", "tuned", "control"]
        store.serve("study", seq=1, at=201.0, pulls=[*coin_pulls(2, *groups), sure])
        store.reward_many("study", [(number, 0.5) for number in (1, 2, 3, 5, 6)], at=301.0)
        store.expire("study", before=300.0, at=302.0)  # seq 4: pull 4
        store.report_many("study", [Report(3, None, {"cost": 1.0})], at=303.0)  # seq 5
        store.report_many("study", [Report(n, None, {"cost": 1.0}) for n in (1, 2, 4, 6)], at=304.0)
        assert store.prune("study", before=300.0, taken=Taken(3, 6, 5)) == 4, "not 2 and 4"
        assert [(one.seq, one.number) for one in store.signalled("study")] == [(6, 2), (6, 4)]
        assert store.prune("study", before=300.0, taken=Taken(3, 6, 6)) == 2

    def test_requests_with_signals_come_in_the_order_of_their_last_ones(
        self, store: Store, writer: Writer
    ) -> None:
        """Of pulls that a coin decided; one that gets another signal moves to the end."""
        writer.serve(1)
        sure = NewPull(4, 1, "control", group="control", propensity=1.0)
        store.serve("study", seq=1, at=201.0, pulls=[*coin_pulls(2, "tuned", "control"), sure])
        exact = 0.1 + 0.2
        first = [Report(number, None, {"cost": exact}) for number in (3, 1, 2, 4)]
        store.report_many("study", first, at=301.0)  # seq 3
        cost = {"cost": [exact, 301.0, 3]}
        found = store.signalled("study")
        assert found == [
            SignalledRecord(3, 2, "tuned", 0.75, cost),
            SignalledRecord(3, 3, "control", 0.25, cost),
        ]
        assert store.signalled("study", limit=1) == found[:1]
        store.report_many("study", [Report(2, 1.0, {"slow": 2.0})], at=302.0)
        both = cost | {"slow": [2.0, 302.0, 4]}
        moved = [found[1], SignalledRecord(4, 2, "tuned", 0.75, both)]
        assert store.signalled("study") == moved
        assert store.signalled("study", after=(3, 3)) == moved[1:]
        assert store.signalled("study", after=(4, 2)) == []
        store.prune("study", before=300.0)
        assert store.signalled("study") == moved[:1]

    def test_what_rewards_add_up_to_is_kept_while_it_is_newer(
        self, store: Store, writer: Writer
    ) -> None:
        """An older one does not replace it; it is handed out to those who have less."""
        assert store.kept_lift("study") is None
        kept = KeptLift(1, 7, 3, DOCUMENT)
        for one in (KeptLift(1, 5, 9, {}), kept, KeptLift(1, 7, 2, {}), KeptLift(1, 6, 9, {})):
            store.keep_lift("study", one)
        assert store.kept_lift("study") == kept
        assert repr(store.kept_lift("study", after=(1, 7, 2))) == repr(kept)
        assert store.kept_lift("study", after=(1, 7, 3)) is None
        other = KeptLift(2, 2, 0, {"another": "comparison"})
        store.keep_lift("study", other)
        assert store.kept_lift("study") == other
        assert store.load("study").seq == writer.seq
        with pytest.raises(UnknownStudy):
            store.keep_lift("study", other, token="another")
        slow = KeptLift(1, 4, 1, {"of": "seconds"}, signal="latency_s")
        store.keep_lift("study", slow)
        assert store.kept_lift("study", signal="latency_s") == slow
        assert store.kept_lift("study") == other
        assert store.kept_lift("study", signal="cost") is None

    def test_a_new_study_of_the_name_starts_without_any_of_it(
        self, store: Store, writer: Writer
    ) -> None:
        """It all goes with its study."""
        writer.serve(1)
        store.change("study", control_change(), seq=1, at=300.0)
        store.keep_lift("study", KeptLift(2, 2, 0, {}))
        store.delete("study")
        store.create(study_record(token="another"))
        assert (store.load("study").rollout, store.load("study").rollout_seq) == (None, 0)
        assert store.kept_lift("study") is None
