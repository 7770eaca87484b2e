"""The contract of declaring a study again, and of changing its settings."""

from __future__ import annotations

from typing import Any

import pytest

from imabo.errors import InvalidReward, InvalidSetting, StudyExists
from imabo.oracles import Random
from imabo.policies import UCBAIR
from imabo.space import Choice, Float, Space
from imabo.study import Study
from imabo.testing.study.base import (
    QUICK,
    MakeStudy,
    ManualClock,
    StudyCases,
    letters,
    refused,
)


def _space(*models: str, high: float = 1.0) -> Space:
    return Space(model=Choice(*models), temperature=Float(0.0, high))


class DeclaringCases(StudyCases):
    """``create`` again with something else, ``update``, and revisions."""

    # --- what differs ---------------------------------------------------------------------------

    def test_the_error_names_the_difference_and_what_update_would_do(
        self, make_study: MakeStudy
    ) -> None:
        """Line by line, and which arms would retire."""
        study = make_study("s", _space("a", "b"), window_s=60.0, seed=1, **QUICK)
        for model in "ab":
            study.add_arm({"model": model, "temperature": 0.25})
        with refused(study, StudyExists, "s") as caught:
            make_study("s", _space("b", "c", high=2.0), window_s=120.0, **QUICK)
        text = str(caught.value)
        for line in (
            "\n  - parameter 'model': the choice 'c' is added",
            "\n  - parameter 'model': the choice 'a' is removed",
            "\n  - parameter 'temperature': its range 0.0 to 1.0 becomes 0.0 to 2.0",
            "\n  - window_s: 60.0 becomes 120.0",
            'if_changed="update" applies this',
            "retires 1 of 2 arms (1 {'model': 'a', 'temperature': 0.25})",
            'if_changed="keep"',
        ):
            assert line in text, line
        assert "from what is declared now:\n" in text

    def test_what_cannot_be_changed_is_named_with_the_reason(self, make_study: MakeStudy) -> None:
        """The policy, the oracle, and the seed where one is given."""
        study = make_study("s", letters("a"), seed=1, **QUICK)
        others: dict[str, Any] = {"policy": UCBAIR(), "seed": 2, **QUICK}
        for mode in ("error", "update"):
            with refused(study, StudyExists) as caught:
                make_study("s", letters("a"), if_changed=mode, **others)
            assert "\n  - policy: {" in str(caught.value)
            assert "\n  - seed: 1 is stored, 2 is declared" in str(caught.value)
            assert '"update" is refused' in str(caught.value)
        kept = make_study("s", letters("a"), if_changed="keep", **others)
        assert (kept.seed, type(kept.policy), type(kept.oracle)) == (
            1,
            type(study.policy),
            Random,
        )

    def test_a_wrong_way_to_declare_is_refused(self, make_study: MakeStudy) -> None:
        """Before anything is made."""
        wrong: list[dict[str, Any]] = [
            {"if_changed": "replace"},
            {"if_changed": None},
            *({"revision": value} for value in (-1, 1.0, "7", True, 2**63)),
        ]
        for settings in wrong:
            with pytest.raises(InvalidSetting):
                make_study("s", letters("a"), **settings)

    # --- update and keep ------------------------------------------------------------------------

    def test_update_applies_all_of_it_at_once(self, make_study: MakeStudy) -> None:
        """The space and the window in one event; what was learned stays."""
        study = make_study("s", letters("a", "b"), seed=1, **QUICK)
        for pull in study.ask(count=6):
            study.tell(pull.id, 0.5)
        again = make_study("s", letters("b", "c"), window_s=60.0, if_changed="update", **QUICK)
        assert (again.space, again.window_s, again.n_rewards) == (letters("b", "c"), 60.0, 6)
        event = again.events()[-1]
        assert (event.kind, event.data["declared"]) == ("space", True)
        assert str(event) == (
            "the space changed: parameter 'letter': the choice 'c' is added; parameter 'letter': "
            "the choice 'a' is removed; window_s changed from None to 60.0"
        )
        states = {arm.config["letter"]: arm.state for arm in again.arms()}
        assert (states["a"], states["b"]) == ("retired", "active")
        # Declared once more, nothing happens.
        make_study("s", letters("b", "c"), window_s=60.0, if_changed="update", **QUICK)
        assert len(again.events()) == 2

    def test_keep_goes_on_with_what_is_there(self, make_study: MakeStudy) -> None:
        """Whatever is declared."""
        study = make_study("s", letters("a", "b"), seed=1, window_s=60.0, **QUICK)
        kept = make_study("s", letters("c"), if_changed="keep", **QUICK)
        assert (kept.space, kept.window_s) == (letters("a", "b"), 60.0)
        assert len(study.events()) == 1

    def test_what_was_changed_by_hand_stays_until_the_declaration_changes(
        self, make_study: MakeStudy
    ) -> None:
        """The same program, started again, has nothing new to say."""
        for mode in ("error", "update", "keep"):
            study = make_study(mode, letters("a"), seed=1, **QUICK)
            study.update_space(letters("a", "b"))
            study.update(window_s=60.0)
            again = make_study(mode, letters("a"), if_changed=mode, **QUICK)
            assert (again.space, again.window_s) == (letters("a", "b"), 60.0)
            newer = make_study(mode, letters("c"), if_changed="update", **QUICK)
            assert (newer.space, newer.window_s) == (letters("c"), None)

    def test_a_declaration_that_was_replaced_does_not_come_back_by_itself(
        self, make_study: MakeStudy
    ) -> None:
        """In a rolling deploy, programs of the old version may start after those of the new."""
        old, new = letters("a"), letters("a", "b")
        for space in (old, new, old, new, old):
            study = make_study("s", space, if_changed="update", seed=1, **QUICK)
        assert (study.space, study.space_version) == (new, 2)
        # By hand, or with a revision, there is a way back.
        back = make_study("s", old, if_changed="update", revision=1, **QUICK)
        assert (back.space, back.space_version, back.revision) == (old, 3, 1)

    # --- revisions ------------------------------------------------------------------------------

    def test_the_newest_revision_wins_in_any_order(self, make_study: MakeStudy) -> None:
        """And stays, whoever starts again."""
        spaces = {1: letters("a"), 2: letters("b"), 3: letters("c")}
        for name, order in (("s", (1, 2, 3, 1, 2)), ("t", (3, 1, 2)), ("u", (2, 3, 1, 3))):
            for revision in order:
                settings = {"revision": revision, "if_changed": "update", **QUICK}
                study = make_study(name, spaces[revision], **settings)
            assert (study.space, study.revision) == (letters("c"), 3)
            # One without a revision does not replace one that has one.
            study = make_study(name, letters("z"), if_changed="update", **QUICK)
            assert (study.space, study.revision) == (letters("c"), 3)

    def test_one_revision_stands_for_one_declaration(self, make_study: MakeStudy) -> None:
        """Two that differ are an error that names the difference."""
        study = make_study("s", letters("a"), revision=7, seed=1, **QUICK)
        for mode in ("error", "update"):
            with refused(study, StudyExists, "b") as caught:
                make_study("s", letters("a", "b"), revision=7, if_changed=mode, **QUICK)
            assert "revision 7 was declared otherwise" in str(caught.value)
            assert "needs a revision above 7" in str(caught.value)
        assert make_study("s", letters("a", "b"), revision=7, if_changed="keep", **QUICK)
        assert make_study("s", letters("a"), revision=7, **QUICK).revision == 7

    def test_a_newer_revision_of_the_same_is_kept(self, make_study: MakeStudy) -> None:
        """So that an older one that differs does not come after it."""
        make_study("s", letters("a"), revision=1, seed=1, **QUICK)
        study = make_study("s", letters("a"), revision=5, **QUICK)
        assert (study.revision, str(study.events()[-1])) == (5, "revision 5 was declared")
        late = make_study("s", letters("b"), revision=4, if_changed="update", **QUICK)
        assert (late.space, late.revision) == (letters("a"), 5)
        with refused(study, StudyExists):
            make_study("s", letters("b"), revision=4, **QUICK)

    # --- settings by hand -----------------------------------------------------------------------

    def test_another_window_counts_for_what_waits(self, make_study: MakeStudy) -> None:
        """Longer, shorter, none at all; an event has both values."""
        clock = ManualClock(1e9)
        study = make_study("s", letters("a"), seed=1, window_s=100.0, clock=clock, **QUICK)
        study.ask(count=2)
        study.update(window_s=1000.0)
        clock.now += 500.0
        assert (study.expire(), study.window_s) == (0, 1000.0)
        study.update(window_s=200.0)
        assert (study.expire(), study.n_pending) == (2, 0)
        study.ask()
        study.update(window_s=None)
        clock.now += 1e6
        assert (study.expire(), study.window_s, study.n_pending) == (0, None, 1)
        events = [event for event in study.events() if event.kind == "settings"]
        changes = [(one.data["before"], one.data["after"]) for one in events]
        assert changes == [
            ({"window_s": 100.0}, {"window_s": 1000.0}),
            ({"window_s": 1000.0}, {"window_s": 200.0}),
            ({"window_s": 200.0}, {"window_s": None}),
        ]
        study.update(window_s=None)
        assert len(study.events()) == 4

    def test_the_range_may_change_until_the_first_reward(self, make_study: MakeStudy) -> None:
        """What is learned is on its scale."""
        study = make_study("s", letters("a"), seed=1, **QUICK)
        pull = study.ask()
        with refused(study, InvalidReward):
            study.tell(pull.id, 5.0)
        study.update(reward_range=(0, 10))
        study.tell(pull.id, 5.0)
        assert study.reward_range == (0.0, 10.0)
        with refused(study, InvalidSetting) as caught:
            study.update(reward_range=(0.0, 20.0))
        assert "1 rewards" in str(caught.value)
        with refused(study, StudyExists) as refusal:
            make_study("s", letters("a"), reward_range=(0, 2), if_changed="update", **QUICK)
        assert "reward_range: [0.0, 10.0] becomes [0.0, 2.0]" in str(refusal.value)
        assert '"update" is refused' in str(refusal.value)

    def test_the_rest_is_refused_with_the_reason(self, make_study: MakeStudy) -> None:
        """Nothing, what decisions follow from, and what is no setting."""
        study = make_study("s", letters("a"), seed=1, **QUICK)
        update: Any = study.update
        for name, value in (("policy", UCBAIR()), ("oracle", Random()), ("seed", 3)):
            with refused(study, InvalidSetting) as caught:
                update(**{name: value})
            assert "decisions so far follow from it" in str(caught.value)
        for settings in ({}, {"windows": 3}, {"window_s": 0}, {"window_s": "3"}, {"space": 3}):
            with refused(study, InvalidSetting):
                update(**settings)

    def test_space_and_settings_change_together(self, make_study: MakeStudy) -> None:
        """One event, one transaction."""
        study: Study = make_study("s", letters("a"), seed=1, **QUICK)
        study.update(letters("b"), window_s=5.0)
        assert (study.space, study.window_s) == (letters("b"), 5.0)
        assert [event.kind for event in study.events()] == ["created", "space"]
