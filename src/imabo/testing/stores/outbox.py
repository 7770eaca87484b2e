"""The part of the contract about events, webhooks and their deliveries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from imabo.errors import StoreError, UnknownStudy
from imabo.stores.base import Change, DeliveryRecord, StaleView, Store, WebhookRecord
from imabo.stores.outbox import DeliveryState, quietly
from imabo.testing.stores.facts import Cases, Writer, study_record
from imabo.testing.stores.upkeep import key_record


def webhook(webhook_id: str = "w1", at: float = 10.0, **facts: Any) -> WebhookRecord:
    """A webhook to put; ``facts`` replace the usual ones."""
    usual = {"url": "https://a.example/x", "secret": "s3", "kinds": None, "studies": None}
    return WebhookRecord(id=webhook_id, created_at=at, **usual | facts)


def kinds_of(store: Store, study: str | None = None, **page: Any) -> list[str]:
    """The kinds of a page of events."""
    return [event.kind for event in store.events(study, **page)]


def claim(store: Store, at: float = 1000.0, **more: Any) -> list[DeliveryRecord]:
    """Claim what is due."""
    return store.claim_deliveries(**{"at": at, "lease_s": 60.0, "limit": 100, "each": 100} | more)


def settle(store: Store, one: DeliveryRecord, state: DeliveryState, next_at: float = 0.0) -> bool:
    """Say what became of a delivery."""
    return store.settle_delivery(one, state, next_at=next_at, status=500, problem="no")


class OutboxCases(Cases):
    """One list of what happened, and whom to tell of it."""

    def test_everything_that_happens_is_in_one_list(self, store: Store) -> None:
        """Of studies and of the store itself; requests, rewards and expiry are none of it."""
        store.put_key(key_record("k", name="page", studies=("a",)))
        writer = Writer(store)
        numbers = writer.serve(1, 2)
        writer.reward(numbers[0], 0.5)
        writer.expire(300.0)
        writer.put_state(1, "paused", at=500.5)
        writer.drift(at=600.0, before=0.1)
        store.create(study_record("other", reward_range=(-1.0, 1.0), created_at=700.0))
        store.revoke_key("k", at=800.0)
        store.revoke_key("k", at=801.0)
        assert store.note("imported", {"n": 1}, at=900.0, study="elsewhere") > 0
        found = store.events()
        assert [(event.study, event.kind, event.at) for event in found] == [
            (None, "key made", 100.0),
            ("study", "created", 100.0),
            ("study", "state", 500.5),
            ("study", "drift", 600.0),
            ("other", "created", 700.0),
            (None, "key revoked", 800.0),
            ("elsewhere", "imported", 900.0),
        ]
        ids = [event.id for event in found]
        assert ids == sorted(set(ids))
        assert found[0].data == {"key": "k", "name": "page", "role": "writer", "studies": ["a"]}
        assert found[2].data == {"arm": 1, "state": "paused"}
        assert [event.reward_range for event in found[2:5]] == [(0, 1), (0, 1), (-1, 1)]
        assert "hash of" not in repr(found)
        assert [event.id for event in store.events("study")] == ids[1:4]

    def test_a_kind_that_nobody_knows_is_kept_like_any_other(self, store: Store) -> None:
        """In the list, in a filter, and on its way to webhooks."""
        writer = Writer(store)
        store.put_webhook(webhook(kinds=("rolled back", "never")), at=1.0)
        change = Change("rolled back", {"why": "🎉"})
        store.change("study", change, seq=writer.seq, at=9.0)
        assert kinds_of(store, "study", kinds=["rolled back"]) == ["rolled back"]
        (delivery,) = store.deliveries("w1")
        assert (delivery.event.kind, delivery.event.data) == ("rolled back", {"why": "🎉"})
        assert delivery.event == store.events("study")[-1]

    def test_a_list_is_read_in_pages(self, store: Store) -> None:
        """From the newest back, or from an id on; with some kinds only."""
        writer, _ = Writer(store), Writer(store, "other")
        for arm in range(1, 6):
            writer.serve(arm)
            writer.put_state(arm, "paused")
            writer.drift(arm=arm)
        found = store.events("study")
        assert len(found) == 11
        ids = [event.id for event in found]
        assert store.events("study", limit=3) == found[-3:]
        assert store.events("study", limit=3, before=ids[-3]) == found[-6:-3]
        assert store.events("study", limit=3, before=ids[1]) == found[:1]
        assert store.events("study", limit=3, before=0) == []
        assert store.events("study", limit=4, after=0) == found[:4]
        assert store.events("study", limit=4, after=ids[3]) == found[4:8]
        assert store.events("study", after=ids[-1]) == store.events("study", after=2**70) == []
        assert store.events("study", limit=0) == []
        states = [event for event in found if event.kind == "state"]
        assert store.events("study", kinds=["state"], limit=2) == states[-2:]
        assert store.events("study", kinds=["state", "created"], after=ids[0]) == states
        assert store.events(limit=2, after=ids[0])[0].study == "other"
        with pytest.raises(UnknownStudy):
            store.events("missing")

    def test_whoever_follows_the_list_misses_none(self, store: Store) -> None:
        """However many write at once, an event is never seen before one with a smaller id."""
        writers = [Writer(store, f"study {n}") for n in range(3)]
        seen = [event.id for event in store.events()]

        def write(writer: Writer) -> None:
            for _ in range(10):
                writer.drift()

        with ThreadPoolExecutor(3) as pool:
            done = [pool.submit(write, writer) for writer in writers]
            while not all(one.done() for one in done):
                seen += [event.id for event in store.events(after=seen[-1])]
        seen += [event.id for event in store.events(after=seen[-1])]
        assert seen == [event.id for event in store.events()]
        assert len(seen) == 33

    def test_a_study_that_is_deleted_leaves_only_that_it_was(self, store: Store) -> None:
        """And one that gets its name has none of its past."""
        writer = Writer(store)
        writer.serve(1)
        writer.put_state(1, "paused")
        store.put_webhook(webhook(), at=1.0)
        writer.put_state(1, "active")
        store.delete("study")
        with pytest.raises(UnknownStudy):
            store.events("study")
        gone = [(event.study, event.kind) for event in store.events()]
        assert gone == [(None, "webhook added"), ("study", "deleted")]
        Writer(store)
        assert kinds_of(store, "study") == ["created"]
        # What was queued is still told.
        told = [one.event.kind for one in store.deliveries("w1")]
        assert told == ["created", "deleted", "state", "webhook added"]

    def test_what_is_refused_did_not_happen(self, store: Store) -> None:
        """Neither in the list nor to a webhook."""
        writer = Writer(store)
        store.put_webhook(webhook(), at=1.0)
        before, n = store.events(), store.n_deliveries()
        for change in (Change("state", {}, {7: ("paused", None)}), Change("drift", {})):
            with pytest.raises((StoreError, StaleView)):
                store.change("study", change, seq=writer.seq + (change.kind == "drift"), at=9.0)
        assert (store.events(), store.n_deliveries()) == (before, n)

    def test_webhooks_come_back_as_they_were_put(self, store: Store) -> None:
        """In order of creation; put again, one is replaced; the list never has the secret."""
        one = webhook("b", 2.0, kinds=("drift", "space"), studies=("a 🎉", "b"))
        two = webhook("a", 3.0, url="https://b.example:8443/hook?token=t0p")
        store.put_webhook(two, at=1.0)
        store.put_webhook(one, at=2.0)
        assert store.webhooks() == [one, two]
        changed = replace(two, secret="other", kinds=("state",))
        store.put_webhook(replace(changed, created_at=99.0), at=3.0)
        assert store.webhooks() == [one, changed]
        assert store.remove_webhook("b", at=4.0)
        assert not store.remove_webhook("b", at=5.0)
        assert store.webhooks() == [changed]
        events = store.events()
        assert [event.kind for event in events] == [
            "webhook added",
            "webhook added",
            "webhook changed",
            "webhook removed",
        ]
        assert events[0].data == {
            "webhook": "a",
            "host": "b.example",
            "kinds": None,
            "studies": None,
        }
        assert "s3" not in repr(events) + repr(one)
        assert "t0p" not in repr(events)

    def test_a_webhook_is_told_what_it_wants(self, store: Store) -> None:
        """By kind and by study; what happened before it was there is not told."""
        first, other = Writer(store), Writer(store, "other 'x'")
        wanted = {
            "all": webhook("all"),
            "drifts": webhook("drifts", kinds=("drift",)),
            "other": webhook("other", studies=("other 'x'",)),
            "neither": webhook("neither", kinds=("drift",), studies=("missing",)),
        }
        for one in wanted.values():
            store.put_webhook(one, at=1.0)
        for writer in (first, other):
            writer.serve(1)
            writer.put_state(1, "paused")
            writer.drift()
        told = {
            name: [
                (one.event.study, one.event.kind)
                for one in store.deliveries(name)[::-1]
                if not one.event.kind.startswith("webhook")
            ]
            for name in wanted
        }
        everything = [
            (name, kind) for name in ("study", "other 'x'") for kind in ("state", "drift")
        ]
        assert told["all"] == everything
        assert told["drifts"] == [("study", "drift"), ("other 'x'", "drift")]
        assert told["other"] == everything[2:]
        assert told["neither"] == []

    def test_what_is_done_again_is_told_to_nobody(self, store: Store) -> None:
        """It is listed; a study that is deleted meanwhile leaves nothing."""
        store.put_webhook(webhook(), at=1.0)
        with quietly():
            writer = Writer(store)
            writer.serve(1)
            writer.put_state(1, "paused")
            Writer(store, "failed")
            store.delete("failed")
        assert kinds_of(store) == ["webhook added", "created", "state"]
        assert [one.event.kind for one in store.deliveries("w1")] == ["webhook added"]
        writer.put_state(1, "active")
        assert [one.event.kind for one in store.deliveries("w1")] == ["state", "webhook added"]

    def test_a_delivery_is_claimed_by_one_until_its_lease_ends(self, store: Store) -> None:
        """And what the first one says afterwards does not count any more."""
        store.put_webhook(webhook(), at=1.0)
        assert store.n_deliveries(due_at=1.0) == store.n_deliveries() == {"pending": 1}
        (first,) = claim(store, 1000.0)
        assert (first.tries, first.tried_at, first.state) == (1, 1000.0, "pending")
        assert claim(store, 1059.0) == []
        assert store.n_deliveries(due_at=1059.0) == {}
        (second,) = claim(store, 1061.0)
        assert (second.id, second.tries) == (first.id, 2)
        assert not settle(store, first, "delivered")
        assert settle(store, second, "delivered")
        assert not settle(store, second, "given up")
        (kept,) = store.deliveries("w1")
        assert (kept.state, kept.tries, kept.status, kept.problem) == ("delivered", 2, 500, "no")
        assert store.n_deliveries() == {"delivered": 1}
        assert claim(store, 1e9) == []

    def test_a_delivery_that_failed_waits_for_its_time(self, store: Store) -> None:
        """Then it is due again; one that was given up never is."""
        store.put_webhook(webhook(), at=1.0)
        (one,) = claim(store, 1000.0)
        assert settle(store, one, "pending", 1500.0)
        assert claim(store, 1499.0) == []
        (again,) = claim(store, 1500.0)
        assert (again.tries, again.problem) == (2, "no")
        assert settle(store, again, "given up")
        assert claim(store, 1e9) == []
        assert store.n_deliveries() == {"given up": 1}

    def test_many_who_claim_at_once_share_the_deliveries(self, store: Store) -> None:
        """Each goes to exactly one of them."""
        store.put_webhook(webhook(), at=1.0)
        writer = Writer(store)
        for _ in range(11):
            writer.drift()
        with ThreadPoolExecutor(4) as pool:
            lots = list(pool.map(lambda _: claim(store, limit=2), range(12)))
        taken = [one.id for lot in lots for one in lot]
        taken += [one.id for one in claim(store)]  # those that somebody left to another
        assert len(taken) == len(set(taken)) == 13

    def test_one_webhook_does_not_hold_up_the_others(self, store: Store) -> None:
        """Of each only a few are claimed at a time, and none of those that are busy."""
        for name in ("a", "b"):
            store.put_webhook(webhook(name), at=1.0)
        writer = Writer(store)
        for _ in range(5):
            writer.drift()
        assert [one.webhook for one in claim(store, each=2)] in (
            ["a", "a", "b", "b"],
            ["a", "b"] * 2,
        )
        assert {one.webhook for one in claim(store, each=3, busy=["a"])} == {"b"}
        assert len(claim(store, limit=1)) == 1

    def test_a_webhook_is_tested_whatever_it_wants(self, store: Store) -> None:
        """It alone; and there must be one."""
        store.put_webhook(webhook("w1", kinds=("drift",)), at=1.0)
        store.put_webhook(webhook("w2", kinds=("drift",)), at=1.0)
        made = store.test_webhook("w1", at=5.0)
        (delivery,) = store.deliveries("w1")
        assert (delivery.id, delivery.event.kind) == (made, "webhook tested")
        assert delivery.event == store.events()[-1]
        assert store.deliveries("w2") == []
        assert store.test_webhook("missing", at=5.0) is None

    def test_what_was_sent_is_sent_again(self, store: Store) -> None:
        """The same event in a delivery of its own, even when its study is gone."""
        for name in ("w1", "w2"):
            store.put_webhook(webhook(name, kinds=("drift",)), at=1.0)
        Writer(store).drift()
        (old,) = claim(store, limit=1)
        assert settle(store, old, "given up")
        store.delete("study")
        made = store.send_again(old.webhook, old.id)
        again, known = store.deliveries(old.webhook)
        assert (again.id, again.event, again.state, again.tries) == (made, old.event, "pending", 0)
        assert (known.id, known.state, known.problem) == (old.id, "given up", "no")
        other = "w1" if old.webhook == "w2" else "w2"
        assert store.send_again(other, old.id) is None
        assert store.send_again(old.webhook, 2**70) is None
        assert len(store.deliveries(other)) == 1

    def test_deliveries_are_listed_in_pages_and_forgotten_when_old(self, store: Store) -> None:
        """Those that wait are kept; with a webhook, its own go."""
        store.put_webhook(webhook(), at=1.0)
        writer = Writer(store)
        for _ in range(4):
            writer.drift()
        found = store.deliveries("w1")
        assert [one.id for one in found] == sorted((one.id for one in found), reverse=True)
        assert store.deliveries("w1", limit=2, before=found[1].id) == found[2:4]
        for one in claim(store, 2000.0, limit=3):
            assert settle(store, one, "delivered")
        assert store.prune_deliveries(before=2000.0) == 0
        assert store.prune_deliveries(before=2001.0) == 3
        assert store.n_deliveries() == {"pending": 3}
        store.remove_webhook("w1", at=5.0)
        assert store.deliveries("w1") == []
        assert store.n_deliveries() == {}

    def test_events_and_deliveries_outlive_the_process(self, store: Store) -> None:
        """What was queued is there for whoever comes next."""
        store.put_webhook(webhook(kinds=("drift",), studies=("study",)), at=1.0)
        Writer(store).drift(before=0.1)
        events, queued = store.events(), store.deliveries("w1")
        assert len(queued) == 1
        with closing(self.reopen(store)) as again:
            assert (again.events(), again.deliveries("w1")) == (events, queued)
            (one,) = claim(again)
            assert one.event == events[-1]
