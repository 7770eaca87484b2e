"""The part of the contract about clocks: a little behind is waited for, far ahead is got over."""

from __future__ import annotations

from imabo.stores.base import NewPull, Store
from imabo.stores.rules import CLOCK_SLACK_S
from imabo.testing.stores.facts import Cases, Writer, check_sums, study_record

TOKEN = study_record().token
AHEAD = 90_000.0  # a day, and some
PULL = [NewPull(0, 1, "index")]


def serve_at(store: Store, at: float) -> float:
    """Serve arm 1; the time that the pull got."""
    return store.serve_known("study", token=TOKEN, at=at, pulls=PULL).at


def jump(store: Store) -> None:
    """A study whose pull 2 was served when a clock was wrong; the others at 200, 300 and 301."""
    Writer(store).serve(1, at=200.0)
    for at in (AHEAD, 300.0, 301.0):
        assert serve_at(store, at) == at


class ClockCases(Cases):
    """What is written by clocks that differ, or were wrong."""

    def test_a_clock_that_was_ahead_is_not_waited_for(self, store: Store) -> None:
        """Later pulls have their own times; only a clock that is a little behind is held up."""
        jump(store)
        assert serve_at(store, 301.0 - CLOCK_SLACK_S / 2) == 301.0
        assert [p.served_at for p in store.pulls("study")] == [200.0, AHEAD, 300.0, 301.0, 301.0]
        found = store.load("study")
        assert (found.last_at, found.oldest_pending_at) == (301.0, 200.0)
        check_sums(store)

    def test_rewards_and_expiries_do_not_wait_either(self, store: Store, writer: Writer) -> None:
        """Whatever is written next says what time it is."""
        writer.serve(1, 1, at=AHEAD)
        store.reward("study", 1, 0.5, at=300.0)
        assert store.load("study").last_at == 300.0
        store.reward("study", 2, 0.5, at=AHEAD)
        serve_at(store, AHEAD)
        store.expire("study", before=AHEAD + 1.0, at=400.0)
        assert store.load("study").last_at == 400.0

    def test_pulls_expire_by_their_own_time(self, store: Store) -> None:
        """Also those that came after one from the future."""
        jump(store)
        assert store.load("study").oldest_pending_at == 200.0
        assert store.expire("study", before=250.0, at=310.0).oldest_pending_at == 300.0
        done = store.expire("study", before=301.0, at=311.0)
        assert (sum(done.counts.values()), done.oldest_pending_at) == (1, 301.0)
        store.reward("study", 4, 0.5, at=312.0)
        assert store.load("study").oldest_pending_at == AHEAD
        assert serve_at(store, 313.0) == 313.0
        assert store.load("study").oldest_pending_at == 313.0
        assert store.expire("study", before=313.5, at=314.0).oldest_pending_at == AHEAD
        states = [pull.state for pull in store.pulls("study")]
        assert states == ["expired", "pending", "expired", "rewarded", "expired"]
        check_sums(store)

    def test_finished_pulls_are_pruned_by_their_own_time(self, store: Store) -> None:
        """The one from the future stays until then."""
        jump(store)
        store.reward_many("study", [(n, 0.5) for n in (1, 2, 3, 4)], at=310.0)
        assert store.prune("study", before=301.0) == 2
        assert [pull.number for pull in store.pulls("study")] == [2, 4]
        assert store.prune("study", before=AHEAD + 1.0) == 2

    def test_what_is_known_of_the_oldest_hides_nothing(self, store: Store, writer: Writer) -> None:
        """Whoever looked while the clock was ahead finds what was served after it came back."""
        writer.serve(1, at=AHEAD)
        assert store.load("study").oldest_pending_at == AHEAD
        serve_at(store, 300.0)
        assert store.expire("study", before=250.0, at=300.0).oldest_pending_at == 300.0
        assert store.load("study").oldest_pending_at == 300.0
        store.reward("study", 2, 0.5, at=301.0)
        assert store.load("study").oldest_pending_at == AHEAD
        for at in (302.0, AHEAD + 1.0):
            serve_at(store, at)
        assert store.load("study").oldest_pending_at == 302.0
