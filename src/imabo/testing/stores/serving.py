"""The part of the contract about ``serve`` and ``change``: what a decision writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from imabo.arms import Restart, Totals
from imabo.errors import StoreError, UnknownStudy
from imabo.stores.base import Change, NewArm, NewPull, StaleView, Store
from imabo.testing.stores.facts import (
    SPACE,
    Cases,
    Writer,
    check_sums,
    everything,
    new_arm,
    study_record,
)

CONFIG: Final = {
    "none": None,
    "true": True,
    "one": 1,
    "float one": 1.0,
    "text": "1 'quoted' \" 🎉 </script>",
    "sum": 0.1 + 0.2,
    "tiny": 1e-300,
    "negative": -(2**53),
}

# Writes that no true view leads to, on a study with arms 1 and 2 and two pulls.
MISFITS: Final[dict[str, Callable[[Store, int], object]]] = {
    "a taken number": lambda store, seq: serve(store, seq, pulls=[NewPull(2, 1, "index")]),
    "a number twice": lambda store, seq: serve(store, seq, pulls=[NewPull(3, 1, "index")] * 2),
    "an unknown arm": lambda store, seq: serve(
        store, seq, pulls=[NewPull(3, 1, "index"), NewPull(4, 9, "index")]
    ),
    "a taken id": lambda store, seq: serve(store, seq, arms=[new_arm(1, identity="new")]),
    "a taken identity": lambda store, seq: serve(
        store, seq, arms=[new_arm(3), new_arm(4, identity="identity-1")]
    ),
    "an identity twice": lambda store, seq: serve(
        store, seq, arms=[new_arm(3), new_arm(4, identity="identity-3")]
    ),
    "a change of an unknown arm": lambda store, seq: store.change(
        "study",
        Change("state", {}, {1: ("paused", None), 9: ("paused", None)}),
        seq=seq,
        at=300.0,
    ),
    "a change that admits a taken identity": lambda store, seq: store.change(
        "study",
        Change("arm", {}, {2: ("retired", None)}, arms=[new_arm(3, identity="identity-1")]),
        seq=seq,
        at=300.0,
    ),
}


def serve(
    store: Store, seq: int, *, pulls: list[NewPull] | None = None, arms: list[NewArm] | None = None
) -> int:
    """Serve on the study, with a pull of arm 1 when nothing else is said."""
    usual = [NewPull(3, 1, "index")]
    return store.serve("study", seq=seq, at=300.0, pulls=pulls or usual, arms=arms or [], mark_at=2)


class ServingCases(Cases):
    """Serving, marking, changing by hand, and refusing what rests on an old view."""

    def test_a_served_pull_and_its_new_arm_are_there(self, store: Store) -> None:
        """Both are committed together, with every field as it was given."""
        store.create(study_record())
        arm = new_arm(1, origin="oracle", parent=17, mutated="x", admitted_at=0.1 + 0.2)
        seq = store.serve(
            "study", seq=0, at=200.5, pulls=[NewPull(1, 1, "expand")], arms=[arm], mark_at=None
        )
        found = everything(store)
        assert seq == found.snapshot.seq == 1
        (pull,) = found.pulls
        assert (pull.number, pull.arm, pull.reason, pull.state) == (1, 1, "expand", "pending")
        assert (pull.served_at, pull.reward, pull.rewarded_at) == (200.5, None, None)
        (kept,) = found.snapshot.arms
        assert (kept.id, kept.config, kept.origin) == (1, arm.config, "oracle")
        assert (kept.parent, kept.mutated, kept.admitted_at) == (17, "x", 0.1 + 0.2)
        assert (kept.state, kept.retired_from) == ("active", None)
        assert found.snapshot.totals == Totals(n_pulls=1, n_pending=1)
        assert found.snapshot.last_at == found.snapshot.oldest_pending_at == 200.5

    def test_a_configuration_comes_back_with_types_and_digits(self, store: Store) -> None:
        """True is not 1, 1 is not 1.0, and no float loses a digit."""
        store.create(study_record())
        store.serve("study", seq=0, at=200.0, pulls=[], arms=[new_arm(1, config=CONFIG)])
        (arm,) = store.load("study").arms
        assert list(map(repr, arm.config.items())) == list(map(repr, CONFIG.items()))

    def test_a_batch_is_one_transaction(self, store: Store, writer: Writer) -> None:
        """Several pulls move ``seq`` by one."""
        assert writer.serve(1, 2, 1, 3, at=200.0) == [1, 2, 3, 4]
        found = everything(store)
        assert found.snapshot.seq == 1
        assert [pull.arm for pull in found.pulls] == [1, 2, 1, 3]
        assert {arm.id: arm.tally.n_pulls for arm in found.snapshot.arms} == {1: 2, 2: 1, 3: 1}
        check_sums(store)

    def test_a_mark_copies_the_counters_as_they_were_before_the_pulls(self, store: Store) -> None:
        """New arms start with empty marks; later rewards do not move them."""
        writer = Writer(store)
        writer.serve(1, 1, 2)
        writer.reward(1, 0.25)
        writer.reward(2, 0.5)
        writer.serve(2, 3, mark_at=3)
        writer.reward(3, 1.0)  # after the mark
        found = store.load("study")
        marks = {arm.id: (arm.tally.marked_rewards, arm.tally.marked_sum) for arm in found.arms}
        assert marks == {1: (2, 0.75), 2: (0, 0.0), 3: (0, 0.0)}
        assert found.marked_at == 3

    def test_load_since_gives_the_arms_that_changed_after_it(self, store: Store) -> None:
        """Whatever changed them, and no others; the totals are always those of now."""
        writer = Writer(store)

        def changed_by(write: Callable[[], object]) -> list[int]:
            since = writer.seq
            write()
            found = store.load("study", since=since)
            assert found.totals == store.load("study").totals
            assert list(found.arms) == [a for a in store.load("study").arms if a in found.arms]
            return [arm.id for arm in found.arms]

        assert changed_by(lambda: writer.serve(1, 2, 3, 4, at=200.0)) == [1, 2, 3, 4]
        assert changed_by(lambda: None) == []
        assert changed_by(lambda: writer.serve(2, at=201.0)) == [2]
        assert changed_by(lambda: writer.reward(3, 0.5)) == [3]
        assert changed_by(lambda: writer.expire(before=200.5)) == [1, 2, 4]
        assert changed_by(lambda: writer.put_state(4, "paused")) == [4]
        assert changed_by(lambda: writer.serve(5, at=501.0, mark_at=5)) == [1, 2, 3, 4, 5]
        assert [arm.id for arm in store.load("study", since=0).arms] == [1, 2, 3, 4, 5]
        assert list(store.load("study", since=10**9).arms) == []

    def test_a_decision_from_another_view_is_stale_and_writes_nothing(
        self, store: Store, writer: Writer
    ) -> None:
        """Neither an older nor a newer ``seq`` will do."""
        writer.serve(1)
        writer.serve(2)
        before = everything(store)
        change = Change("state", {"arm": 1}, {1: ("paused", None)})
        for ahead in (-1, 1, 100):
            with pytest.raises(StaleView):
                serve(store, writer.seq + ahead, arms=[new_arm(3)])
            with pytest.raises(StaleView):
                store.change("study", change, seq=writer.seq + ahead, at=300.0)
            assert everything(store) == before

    def test_a_reward_makes_a_view_stale_and_a_repeated_one_does_not(self, store: Store) -> None:
        """Only a transaction that changes the study moves its ``seq``."""
        writer = Writer(store)
        writer.serve(1)
        store.reward("study", 1, 0.5, at=300.0)
        with pytest.raises(StaleView):
            writer.serve(1)
        writer.refresh()
        store.reward("study", 1, 0.5, at=300.0)
        assert writer.serve(1) == [2]

    def test_a_write_that_contradicts_the_facts_is_refused_whole(
        self, store: Store, writer: Writer
    ) -> None:
        """Also when the first half of it was right; the next write works."""
        writer.serve(1, 2)
        before = everything(store)
        for what, misfit in MISFITS.items():
            with pytest.raises(StoreError, match="refused whole"):
                misfit(store, writer.seq)
            assert everything(store) == before, what
        assert writer.serve(1, 3) == [3, 4]
        check_sums(store)

    def test_states_change_by_hand(self, store: Store, writer: Writer) -> None:
        """Several arms in one change, with the state they were retired from."""
        writer.serve(1, 2, 3)
        change = Change(
            "state", {"why": "by hand"}, {1: ("paused", None), 3: ("retired", "paused")}
        )
        assert store.change("study", change, seq=1, at=500.0) == 2
        found = store.load("study")
        states = {arm.id: (arm.state, arm.retired_from) for arm in found.arms}
        assert states == {1: ("paused", None), 2: ("active", None), 3: ("retired", "paused")}
        assert (found.seq, found.last_at, found.space_version) == (2, 500.0, 1)

    def test_an_arm_comes_in_by_hand(self, store: Store) -> None:
        """It has no pulls yet."""
        store.create(study_record())
        arm = new_arm(1, origin="manual")
        store.change("study", Change("arm", {"arm": 1}, arms=[arm]), seq=0, at=500.0)
        (kept,) = store.load("study").arms
        assert (kept.id, kept.origin, kept.tally.n_pulls) == (1, "manual", 0)
        assert store.load("study").totals.n_pulls == 0

    def test_an_outline_is_the_study_without_its_arms(self, store: Store, writer: Writer) -> None:
        """And without beliefs and memory; it says how many arms there are, retired ones too."""
        assert store.outline("study") == (replace(store.load("study"), arms=()), 0)
        writer.serve(1, 2, 3, 2, beliefs={"a": 1}, memory={"b": 2})
        writer.reward(2, 0.5)
        writer.put_state(3, "retired")
        change = Change("control", {}, rollout={"state": "tuning"})
        store.change("study", change, seq=writer.seq, at=500.0)
        found, whole = store.outline("study"), store.load("study")
        assert (whole.beliefs, whole.memory) == ({"a": 1}, {"b": 2})
        assert found.n_arms == len(whole.arms) == 3
        assert found.snapshot == replace(whole, arms=(), beliefs=None, memory=None)
        assert found.snapshot.rollout == {"state": "tuning"}
        with pytest.raises(UnknownStudy):
            store.outline("other")

    def test_some_arms_are_read_as_they_are_among_all(self, store: Store, writer: Writer) -> None:
        """In order of their ids; an id that no arm has is left out."""
        writer.serve(1, 2, 3, 4, 2)
        writer.reward(2, 0.5)
        writer.put_state(4, "paused")
        arms = list(store.load("study").arms)
        assert store.arms("study", [4, 2]) == [arms[1], arms[3]]
        assert store.arms("study", [1, 9, 0, -3, 2**62]) == arms[:1]
        assert store.arms("study", []) == []

    def test_several_arms_come_in_by_hand_while_others_come_back(self, store: Store) -> None:
        """One change, one entry of the log."""
        writer = Writer(store)
        writer.serve(1, 2)
        writer.put_state(1, "paused")
        data = {"first": 3, "last": 4, "resumed": [1]}
        change = Change("arms", data, {1: ("active", None)}, arms=[new_arm(3), new_arm(4)])
        seq = store.change("study", change, seq=writer.seq, at=500.0)
        found = store.load("study")
        assert [(arm.id, arm.state) for arm in found.arms] == [(n, "active") for n in range(1, 5)]
        assert found.seq == seq == writer.seq + 1
        (entry,) = store.changes("study", limit=1)
        assert (entry.seq, entry.kind, entry.at, entry.data) == (seq, "arms", 500.0, data)
        assert [kept for kept in store.log("study") if kept.kind == "arms"] == [entry]

    @pytest.mark.parametrize("verb", ["serve", "change", "reward_many", "expire"])
    def test_a_study_that_was_made_again_is_left_alone_at_the_same_seq(
        self, store: Store, verb: str
    ) -> None:
        """Who means the old one is told so, although name and ``seq`` are right."""
        old = Writer(store)
        old.serve(1)
        store.delete("study")
        store.create(study_record(token="another"))
        Writer(store, create=False).serve(1)
        before = everything(store)
        assert before.snapshot.seq == old.seq
        verbs: dict[str, Callable[[str], object]] = {
            "serve": lambda token: store.serve(
                "study", seq=1, at=300.0, pulls=[NewPull(2, 1, "index")], token=token
            ),
            "change": lambda token: store.change(
                "study", Change("state", {}, {1: ("paused", None)}), seq=1, at=300.0, token=token
            ),
            "reward_many": lambda token: store.reward_many(
                "study", [(1, 0.5)], at=300.0, token=token
            ),
            "expire": lambda token: store.expire("study", before=250.0, at=300.0, token=token),
        }
        with pytest.raises(UnknownStudy, match="another study has its name now"):
            verbs[verb](study_record().token)
        assert everything(store) == before
        verbs[verb]("another")
        assert store.load("study").seq == 2

    def test_spaces_are_kept_in_order_with_the_latest_restart(self, store: Store) -> None:
        """The study's own record keeps the first space."""
        store.create(study_record())
        later: list[dict[str, Any]] = [{"parameters": [], "n": n, "low": 0.1 + 0.2} for n in (2, 3)]
        for seq, space in enumerate(later):
            restart = Restart(n_pulls=10 * seq, n_rewards=3, n_pending=2, n_arms=seq)
            change = Change("space", {"space": space}, space=space, restart=restart)
            store.change("study", change, seq=seq, at=500.0 + seq)
        assert store.spaces("study") == [SPACE, *later]
        found = store.load("study")
        assert (found.space_version, found.space, found.study.space) == (3, later[1], SPACE)
        assert found.restart == Restart(10, 3, 2, 1)
