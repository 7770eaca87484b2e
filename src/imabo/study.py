"""The study: ask, tell and everything around them; where policy, oracle and store meet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Final, Self, TextIO, TypeVar, overload

from imabo.arms import ActiveSet, Arm, ArmState, Pull, number_of
from imabo.checks import (
    MAX_COUNT,
    checked_clock,
    checked_configs,
    checked_moment,
    checked_name,
    checked_record,
    checked_request,
    checked_reward,
    checked_space,
    require_same,
    stored_oracle,
    stored_policy,
)
from imabo.documents import to_arm, to_pull
from imabo.engine import Engine
from imabo.engine.decisions import Proposer
from imabo.engine.requests import Request, Served
from imabo.errors import (
    ImaboError,
    InvalidSetting,
    KeyConflict,
    StoreClosed,
    StudyExists,
    UnknownArm,
    UnknownPull,
)
from imabo.events import Event, events_of
from imabo.export import export
from imabo.facts import Facts
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.recommend import Best, recommend
from imabo.replay import make_again, read_log
from imabo.settings import check_count
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo.stores import Store, open_store

if TYPE_CHECKING:
    from imabo.insight.plots import Plots

T = TypeVar("T")

_PAGE: Final = 1000  # pulls read from the store at a time
_LARGEST: Final = 2**63  # beyond the ids of arms


@dataclass(frozen=True, slots=True)
class Asked:
    """The pulls of a request; they are not new when its key was known already."""

    pulls: list[Pull]
    is_new: bool = True


class Study(Facts):
    """One thing being tuned: ask which configuration to serve, tell how it went.

    Make one with ``Study.create`` or ``Study.open``. All methods may be called from any thread.

    Example:
        >>> from imabo import Choice, Float, Space, Study
        >>> space = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
        >>> study = Study.create("support-answers", space, seed=0)
        >>> for question in range(200):
        ...     pull = study.ask()
        ...     good = pull.config["model"] == "large"
        ...     study.tell(pull.id, 0.9 if good else 0.2)
        >>> study.best().config["model"]
        'large'
    """

    def __init__(self, engine: Engine, *, owns_store: bool) -> None:
        self._engine = engine
        self._owns_store = owns_store
        self._lock = threading.RLock()
        self._closed = False

    # --- making one -----------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        name: str,
        space: Space,
        *,
        policy: Policy | None = None,
        oracle: Oracle | None = None,
        store: str | Store | None = None,
        seed: int | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        window_s: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Start a study, or go on with the same one when it exists already.

        A study of that name with other settings is ``StudyExists``. The same call may therefore
        stand at the top of a script that is run again and again.

        Args:
            name: At most 200 characters, unique in the store.
            space: What may be served.
            policy: When to serve and when to admit; ``policies.Informed()`` by default.
            oracle: What to admit; ``oracles.GP()`` by default.
            store: None for memory, a URL such as ``sqlite:///imabo.db``, or a ``Store``.
            seed: Makes the decisions reproducible; drawn and stored when None.
            reward_range: Ends of the rewards, mapped to 0 and 1; within 1e60 of zero and at least
                1e-60 apart. None takes rewards as they are, up to 1e60 from zero; ``IMOSS`` then
                assumes that their noise is of the order of 1.
            window_s: Seconds a pull may stay pending before it no longer counts as pending. Set it
                when feedback can get lost. A reward that comes later still counts.
            clock: Seconds as a float; a simulation may count rounds instead.
        """
        record = checked_record(
            name,
            space,
            policy,
            oracle,
            seed=seed,
            reward_range=reward_range,
            window_s=window_s,
            created_at=checked_clock(clock)(),
        )
        with _opened(store) as (opened, owns_store):
            try:
                opened.create(record)
            except StudyExists:
                require_same(opened, record, any_seed=seed is None)
            return cls._load(opened, name, policy, oracle, clock, owns_store)

    @classmethod
    def open(
        cls,
        name: str,
        *,
        store: str | Store,
        policy: Policy | None = None,
        oracle: Oracle | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Go on with a study that exists.

        ``policy`` and ``oracle`` are read from the store; pass them only for classes of your own,
        with the settings that the study was created with.
        """
        checked_name(name)
        checked_clock(clock)
        with _opened(store) as (opened, owns_store):
            return cls._load(opened, name, policy, oracle, clock, owns_store)

    @classmethod
    def _load(
        cls,
        store: Store,
        name: str,
        policy: Policy | None,
        oracle: Oracle | None,
        clock: Callable[[], float],
        owns_store: bool,
    ) -> Self:
        snapshot = store.load(name)
        engine = Engine(
            store,
            snapshot,
            stored_policy(policy, snapshot.study.policy),
            stored_oracle(oracle, snapshot.study.oracle),
            clock,
        )
        return cls(engine, owns_store=owns_store)

    def close(self) -> None:
        """Release the store's file or connection (when the study opened it)."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._owns_store:
                    self._engine.replica.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- the loop -------------------------------------------------------------------------------

    @overload
    def ask(self, *, key: str | None = None, context: object = None) -> Pull: ...
    @overload
    def ask(self, count: int, *, key: str | None = None, context: object = None) -> list[Pull]: ...
    def ask(
        self, count: int | None = None, *, key: str | None = None, context: object = None
    ) -> Pull | list[Pull]:
        """The configuration to serve the next request with.

        The pull is in the store before this returns. ``ask(count=n)`` returns a list of n pulls,
        decided one after the other and committed together.

        Args:
            count: At most 10,000.
            key: Your own name for this request, of 1 to 200 characters. Asking again with the same
                key gives the same pull, so that a request may be retried; with another count it is
                ``KeyConflict``.
            context: JSON-safe values to store with the pull, at most 16 KiB as JSON.
        """
        (asked,) = self.ask_many([Request(1 if count is None else count, key, context)])
        if isinstance(asked, ImaboError):
            raise asked
        return asked.pulls if count is not None else asked.pulls[0]

    def ask_many(self, requests: Sequence[Request]) -> list[Asked | KeyConflict]:
        """Serve several requests, decided one after the other and committed together.

        For services: one flush to the disk for all. Each request gets its pulls, or the error that
        concerns it alone.

        Example:
            >>> from imabo import Float, Space
            >>> from imabo.engine.requests import Request
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> [len(asked.pulls) for asked in study.ask_many([Request(), Request(count=3)])]
            [1, 3]
        """
        checked = [checked_request(request) for request in requests]
        if not checked:
            return []
        with self._lock:
            self._check_open()
            self._engine.rewards.expire_due()
            served = self._engine.asks.serve(checked)
            known = self._configs_of(
                record.arm for one in served if isinstance(one, Served) for record in one.pulls
            )
        token = self._engine.replica.record.token
        return [
            one
            if isinstance(one, KeyConflict)
            else Asked([to_pull(record, token, known) for record in one.pulls], one.is_new)
            for one in served
        ]

    def tell(self, pull_id: str, reward: float) -> None:
        """Report the reward of a pull; it is in the store before this returns.

        Telling the same value again changes nothing, so a report may be retried. Another value is
        ``RewardConflict``, an id that was never handed out ``UnknownPull``, and anything but a
        finite number in the reward range ``InvalidReward``; none of them changes anything. A reward
        that comes after the window counts like any other.
        """
        (refused,) = self.tell_many([(pull_id, reward)])
        if refused is not None:
            raise refused

    def tell_many(self, rewards: Sequence[tuple[str, float]]) -> list[ImaboError | None]:
        """Report the rewards of several pulls, committed together.

        For each, in order: None when it is recorded (or was before), else the error that ``tell``
        would have raised. One that is refused does not hold up the others.

        Example:
            >>> from imabo import Float, Space
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> pull = study.ask()
            >>> [error and error.code for error in study.tell_many([(pull.id, 1), ("x-1", 1)])]
            [None, 'unknown_pull']
        """
        answers: list[ImaboError | None] = [None] * len(rewards)
        good: list[tuple[int, tuple[int, float]]] = []
        for i, (pull_id, reward) in enumerate(rewards):
            try:
                value = checked_reward(reward, self.reward_range)
                good.append((i, (self._number(pull_id), value)))
            except ImaboError as error:
                answers[i] = error
        if good:
            with self._lock:
                self._check_open()
                done = self._engine.rewards.reward_many([item for _, item in good])
            for (i, _), did in zip(good, done, strict=True):
                if did is None:
                    answers[i] = self._unknown_pull(rewards[i][0])
                elif isinstance(did, ImaboError):
                    answers[i] = did
        else:
            self._check_open()
        return answers

    @contextmanager
    def serve(self) -> Iterator[Pull]:
        """Ask, and tell ``pull.reward`` at the end of the block when it was set.

        When the block raises, or sets no reward, the pull stays pending.

        Example:
            >>> from imabo import Float, Space
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> with study.serve() as pull:
            ...     pull.reward = 1.0 - pull.config["x"]
            >>> study.n_rewards
            1
        """
        pull = self.ask()
        yield pull
        if pull.reward is not None:
            self.tell(pull.id, pull.reward)
            pull.state = "rewarded"

    def expire(self) -> int:
        """Drop from the pending count what is past its window; ``ask`` does this by itself."""
        with self._lock:
            self._check_open()
            if self.window_s is None:
                return 0
            return self._engine.rewards.expire_before(self._engine.replica.now() - self.window_s)

    # --- what was learned -----------------------------------------------------------------------

    def best(self, level: float = 0.95) -> Best:
        """The arm to keep if learning stopped now, with an interval for its mean.

        It is the active arm whose mean is surely highest: the one with the highest lower end of
        its interval, so that an arm with a single lucky reward is not recommended.

        What the interval promises: for any one arm, it covers the arm's true mean at all moments
        together with probability at least ``level``, so you may look as often as you like. It rests
        on rewards whose loss does not depend on their value. What it does not promise: the
        recommended arm was picked because it looked good, so over many studies the intervals of
        recommended arms miss more often than 1 - level, and on the high side. With
        ``reward_range=None`` the promise holds only for many rewards. And it speaks of an arm
        whose mean stays as it is. When the study notices a change (``since``), mean and interval
        rest on the rewards after it; of one that it has not noticed yet they cannot tell.
        """
        with self._lock:
            self._check_open()
            replica = self._engine.replica
            replica.refresh()
            return recommend(replica.view, level)

    def arms(self) -> list[Arm]:
        """Every arm ever admitted, in order of admission."""
        with self._lock:
            self._check_open()
            return [to_arm(record) for record in self._store.load(self.name).arms]

    def events(self, limit: int = 1000) -> list[Event]:
        """What happened to the study, the newest last: changes by hand, and of the world.

        Args:
            limit: How many at most, the newest of them.

        Example:
            >>> from imabo import Choice
            >>> study = Study.create("eventful", Space(x=Choice("a", "b")), seed=0)
            >>> _ = study.pause(study.add_arm({"x": "a"}))
            >>> [str(event) for event in study.events()]
            ['the study was created', 'arm 1 was added by hand', 'arm 1 was paused']
        """
        check_count("limit", limit)
        with self._lock:
            self._check_open()
            changes = self._store.changes(self.name, limit=limit)
            return events_of(self._engine.replica.record, changes, limit)

    def pull(self, pull_id: str) -> Pull:
        """A pull by its id, as it stands now."""
        number = self._number(pull_id)
        with self._lock:
            self._check_open()
            record = self._store.pull(self.name, number)
            if record is None:
                raise self._unknown_pull(pull_id)
            return to_pull(record, self.token, self._configs_of([record.arm]))

    def pulls(self, after: int = 0, limit: int = 1000) -> list[Pull]:
        """A page of the history: pulls in the order they were served.

        Args:
            after: The number at the end of the last pull's id that you have; 0 for the first page.
            limit: At most so many pulls, from 1 to 10,000.
        """
        check_count("after", after)
        check_count("limit", limit, least=1)
        if limit > MAX_COUNT:
            raise InvalidSetting(
                f"limit is {show(limit)}",
                f"one page has at most {MAX_COUNT} pulls",
                "read page by page",
            )
        self._check_open()
        page = self._store.pulls(self.name, after=after, limit=limit)
        token, configs = self.token, self._configs_of(record.arm for record in page)
        return [to_pull(record, token, configs) for record in page]

    def __iter__(self) -> Iterator[Pull]:
        """All pulls in the order they were served, read from the store page by page."""
        after = 0
        while page := self.pulls(after, _PAGE):
            yield from page
            after = self._number(page[-1].id)

    def export(self, target: str | PathLike[str] | TextIO, format: str | None = None) -> None:  # noqa: A002
        """Write the study to a file: JSON lines (the whole log) or CSV (a row a pull).

        The JSON lines hold everything that happened, in order; ``Study.replay`` reads them.

        Args:
            target: A path or an open text file.
            format: ``"jsonl"`` or ``"csv"``; by default what the path ends with.
        """
        self._check_open()
        export(self, self._store, target, format)

    @classmethod
    def replay(
        cls,
        lines: Iterable[str],
        *,
        store: str | Store | None = None,
        policy: Policy | None = None,
        oracle: Oracle | None = None,
    ) -> Self:
        """Make a study again from its exported JSON lines, by making every decision again.

        A decision that comes out differently is ``ReplayMismatch``: the log was changed, or was
        written by a version that decides differently. What a service served with proposals made in
        the background is done again as it was logged. Pull ids start with another token. The store
        must not have a study of that name yet (``StudyExists``), and has none when this fails.
        """
        record, entries = read_log(lines, policy, oracle)
        with _opened(store) as (opened, owns_store):
            make_again(opened, record, entries, policy, oracle)
            return cls._load(opened, record.name, policy, oracle, time.time, owns_store)

    def refresh(self) -> None:
        """Bring the view up to date with what other processes did; reads do this by themselves."""
        with self._lock:
            self._check_open()
            self._engine.replica.refresh()

    def prune(self, before: datetime) -> int:
        """Forget finished pulls that were served before a time; returns how many.

        What they taught stays: arms, counts, means and ``best`` do not change. The history and the
        export no longer have them, a reward that comes even later is ``UnknownPull``, and their
        keys may be used again.
        """
        moment = checked_moment(before)
        n = 0
        while True:
            self._check_open()
            pruned = self._store.prune(self.name, before=moment)
            if not pruned:
                return n
            n += pruned

    def read(self, reader: Callable[[ActiveSet], T]) -> T:
        """What a function makes of the view, called while nothing changes it.

        Example:
            >>> from imabo import Float, Space
            >>> Study.create("s", Space(x=Float(0, 1)), seed=0).read(len)
            0
        """
        with self._lock:
            self._check_open()
            return reader(self._engine.replica.view)

    @property
    def store(self) -> Store:
        """The store that the study lives in, for reading; write through the study alone.

        Example:
            >>> from imabo import Float, Space
            >>> Study.create("s", Space(x=Float(0, 1)), seed=0).store.names()
            ['s']
        """
        self._check_open()
        return self._engine.replica.store

    @property
    def n_drifts(self) -> int:
        """Changes of the world that this object noticed, to be counted; ``events`` has them all.

        Example:
            >>> from imabo import Float, Space
            >>> Study.create("s", Space(x=Float(0, 1)), seed=0).n_drifts
            0
        """
        return self._engine.rewards.n_drifts

    @property
    def plot(self) -> Plots:
        """The study's figures, for notebooks: ``study.plot.reward()`` and its like.

        Needs ``pip install "imabo[plot]"``.

        Example:
            >>> from imabo import Float, Space
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> study.plot.reward().layout.title.text
            'Reward over time'
        """
        from imabo.insight.plots import Plots

        return Plots(self)

    def use_proposer(self, proposer: Proposer | None) -> None:
        """Take proposals from a worker in the background, so that no ``ask`` waits for an oracle.

        While the worker has none ready, requests are served with known arms (``waiting``).
        """
        with self._lock:
            self._engine.decisions.proposer = proposer

    # --- changes by hand ------------------------------------------------------------------------

    def update_space(self, space: Space) -> None:
        """Change the space while the study runs; everything that was learned stays.

        Arms that the new space does not allow are retired (and come back when a later space allows
        them again). The growth schedule restarts, so the new space is explored at once.
        """
        checked_space(space)
        with self._lock:
            self._check_open()
            self._engine.changes.update_space(space)

    def add_arm(self, config: Mapping[str, object]) -> Arm:
        """Admit a configuration by hand; it is served soon, because nothing is known of it.

        A configuration that is an arm already becomes active again.
        """
        with self._lock:
            self._check_open()
            return self._arm(self._engine.changes.add_arm(config))

    def add_arms(self, configs: Sequence[Mapping[str, object]]) -> list[Arm]:
        """``add_arm`` for each of many configurations, in one transaction; the arms in their order.

        All or none: one that the space does not allow refuses them all. A configuration that comes
        twice is one arm. Doing it again changes nothing, so it may be retried.

        Args:
            configs: At most 10,000.

        Example:
            >>> from imabo import Float, Space
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> [arm.id for arm in study.add_arms([{"x": 0.1}, {"x": 0.2}, {"x": 0.1}])]
            [1, 2, 1]
        """
        wanted = checked_configs(configs)
        with self._lock:
            self._check_open()
            ids = self._engine.changes.add_arms(wanted)
            records = self._store.arms(self.name, sorted(set(ids)))
            known = {record.id: record for record in records}
            return [to_arm(known[arm]) for arm in ids]

    def pause(self, arm: Arm | int) -> Arm:
        """Stop serving an arm until ``resume``."""
        return self._change_state(arm, "paused")

    def resume(self, arm: Arm | int) -> Arm:
        """Serve a paused arm again."""
        return self._change_state(arm, "active")

    def retire(self, arm: Arm | int) -> Arm:
        """Stop serving an arm for good; its rewards still count in what is known."""
        return self._change_state(arm, "retired")

    # --- inside ---------------------------------------------------------------------------------

    @property
    def _store(self) -> Store:
        return self._engine.replica.store

    def _change_state(self, arm: Arm | int, state: ArmState) -> Arm:
        arm_id = arm.id if isinstance(arm, Arm) else arm
        with self._lock:
            self._check_open()
            current = self._arm(arm_id)
            if current.state == "retired" and state != "retired":
                raise InvalidSetting(
                    f"arm {arm_id} is retired",
                    "retiring is for good, or the space no longer allows the arm",
                    "use add_arm(config) to serve this configuration again",
                )
            self._engine.changes.put_state(arm_id, state)
            return self._arm(arm_id)

    def _configs_of(self, arms: Iterable[int]) -> dict[int, Config]:
        """Their configurations; from the store when the view does not have them all."""
        with self._lock:
            view = self._engine.replica.view
            rows = {arm: view.row_of(arm) for arm in arms}
            if None not in rows.values():
                return {arm: view.config_of(arm) for arm in rows}
        return {arm.id: arm.config for arm in self._store.arms(self.name, list(rows))}

    def _arm(self, arm_id: int) -> Arm:
        # What no arm can have is not looked for: a database may not have such numbers.
        if type(arm_id) is int and 0 < arm_id < _LARGEST:
            for record in self._store.arms(self.name, [arm_id]):
                return to_arm(record)
        self._engine.replica.refresh()
        n_arms = self._engine.replica.n_arms
        raise UnknownArm(
            f"no arm has the id {arm_id!r}",
            f"study {self.name!r} has arms 1 to {n_arms}" if n_arms else "there is no arm yet",
            "take the id from study.arms()",
        )

    def _number(self, pull_id: object) -> int:
        number = number_of(self._engine.replica.record.token, pull_id)
        if number is None:
            raise self._unknown_pull(pull_id)
        return number

    def _unknown_pull(self, pull_id: object) -> UnknownPull:
        return UnknownPull(
            f"no pull has the id {show(pull_id)}",
            f"study {self.name!r} never handed it out",
            "pass the id of a pull that ask() of this study returned",
        )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(
                f"study {self.name!r} is closed",
                "close() was called on it",
                "open it again with Study.open(name, store=...)",
            )


@contextmanager
def _opened(store: str | Store | None) -> Iterator[tuple[Store, bool]]:
    """A store and whether it is ours to close, as is done when the block raises."""
    owns_store = not isinstance(store, Store)
    opened = open_store(store)
    try:
        yield opened, owns_store
    except BaseException:
        if owns_store:
            opened.close()
        raise
