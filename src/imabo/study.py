"""The study: every verb of it and its documentation; ``engine`` does the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeAlias, TypeVar, cast, overload

from imabo import checks
from imabo.arms import ActiveSet, Arm, Pull
from imabo.compared import Compared
from imabo.control import Control, checked_rollout
from imabo.documents import to_arm, to_datetime
from imabo.engine import Engine, closed
from imabo.engine.asks import Proposer, checked_request
from imabo.engine.declaring import IfChanged, check_declaring
from imabo.engine.naming import named_pull, pulls_of
from imabo.engine.opening import created, opened, replayed
from imabo.engine.requests import Asked, Request, Reward
from imabo.errors import ImaboError, KeyConflict
from imabo.evaluation import Guardrail
from imabo.events import Event, events_of
from imabo.frames import StudyFrames
from imabo.objective import Objective, Signal
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.recommend import Best, recommend
from imabo.settings import check_count
from imabo.space import Space
from imabo.stores import Store
from imabo.study_goals import StudyGoals

T = TypeVar("T")
Signals: TypeAlias = Mapping[str, float] | None


def _fact(read: Callable[[Engine], T], doc: str) -> T:
    """A property of a study: what it reads from the engine."""
    return cast(T, property(lambda study: read(study._engine), doc=doc))


class Study(StudyFrames, Compared, StudyGoals):
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

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()

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
        control: Control | None = None,
        exposure: float = 1.0,
        guardrail: Guardrail | None = None,
        clock: Callable[[], float] = time.time,
        if_changed: IfChanged = "error",
        revision: int | None = None,
        signals: Mapping[str, Signal] | None = None,
        objective: Objective | None = None,
    ) -> Self:
        """Start a study, or go on with the same one when it exists already.

        So the same call may stand at the top of a program that is started again and again. When it
        declares something else than before, ``if_changed`` says what to do (docs/guides/deploys.md
        has what is guaranteed when several versions of a program start at once).

        Args:
            name: At most 200 characters, unique in the store.
            space: What may be served.
            policy: When to serve and when to admit; ``policies.Informed()`` by default.
            oracle: What to admit; ``oracles.GP()`` by default.
            store: None for memory, a URL such as ``sqlite:///imabo.db``, or a ``Store``.
            seed: Makes the decisions reproducible; drawn and stored when None.
            reward_range: Ends of the rewards, mapped to 0 and 1; at least 1e-60 apart. None takes
                them as they are; ``IMOSS`` then assumes noise of the order of 1. At most 1e60.
            window_s: Seconds after which a pull no longer counts as pending, for feedback that can
                get lost. A reward that comes later still counts.
            control: What a share of the requests gets, to compare the rest with (see ``lift``).
                None says nothing of a control: one that the study has stays as it is.
            exposure: Share of the requests that may be tuned; the rest gets the control.
            guardrail: Serves the control to everyone when tuned is worse by more than its margin.
            clock: Seconds as a float; a simulation may count rounds instead.
            if_changed: ``"error"`` is ``StudyExists``, which names the difference and what
                ``"update"`` would do: change what can be changed (see ``update``).
                ``"keep"`` goes on with the study as it is, and says so in the log.
            revision: Of this declaration, a whole number that grows, such as a build number: an
                older one never replaces a newer one.
            signals: Numbers of a request besides its reward, such as its cost, by name.
            objective: The budgets and limits of signals to keep while the reward is maximised.
        """
        check_declaring(if_changed, revision)
        rollout = checked_rollout(control, exposure, guardrail)
        at = checks.checked_clock(clock)()
        parts_of = policy, oracle, seed, reward_range, window_s, at
        record = checks.checked_record(name, space, *parts_of, revision, signals, objective)
        how: dict[str, Any] = {"any_seed": seed is None, "if_changed": if_changed}
        return cls(created(store, record, (policy, oracle), clock, rollout=rollout, **how))

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
        """Go on with a study that exists; see ``create``.

        Pass ``policy`` and ``oracle`` only for classes of your own, as the study was created.
        """
        checks.checked_name(name)
        return cls(opened(store, name, (policy, oracle), checks.checked_clock(clock)))

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

        A decision that comes out differently is ``ReplayMismatch``: the log was changed, or written
        by a version that decides differently. What a service served with proposals made in the
        background is done again as logged. Pull ids start with another token. The store must not
        have a study of that name yet (``StudyExists``), and has none when this fails.
        """
        return cls(replayed(store, lines, (policy, oracle)))

    def close(self) -> None:
        """Release the store's file or connection (when the study opened it)."""
        with self._lock:
            self._engine.close()

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
            key: Your own name for this request, of 1 to 200 characters. Asking again with it gives
                the same pull, so that a request may be retried; another count is ``KeyConflict``.
            context: JSON-safe values to store with the pull, at most 16 KiB as JSON.
        """
        (asked,) = self.ask_many([Request(1 if count is None else count, key, context)])
        if isinstance(asked, ImaboError):
            raise asked
        return asked.pulls if count is not None else asked.pulls[0]

    def ask_many(self, requests: Sequence[Request]) -> list[Asked | KeyConflict]:
        """Serve several requests, decided one after the other and committed together.

        For services: one flush to the disk for all. Each ``Request`` gets its pulls, or the error
        that concerns it alone.
        """
        checked = [checked_request(request) for request in requests]
        if not checked:
            return []
        with self._lock:
            engine = self._live()
            if self._engine.replica.record.window_s is not None:
                engine.rewards.expire_due()
            return engine.asks.serve(checked)

    @overload
    def tell(self, pull_id: str, reward: float, *, signals: Signals = None) -> None: ...
    @overload
    def tell(
        self, *, key: str, reward: float, part: int | None = None, signals: Signals = None
    ) -> None: ...
    def tell(
        self,
        pull_id: str | None = None,
        reward: float | None = None,
        *,
        key: str | None = None,
        part: int | None = None,
        signals: Signals = None,
    ) -> None:
        """Report the reward of a pull; it is in the store before this returns.

        Name the pull by its id, or by the key of its ask: ``tell(key="order-3", reward=0.8)``. If
        that was for several, ``part`` says which, from 0. Telling never asks: a key that no ask
        used is ``UnknownKey``, an id that was never handed out ``UnknownPull``.

        Telling the same value again changes nothing, so a report may be retried. Another value is
        ``RewardConflict``, anything but a finite number in the reward range ``InvalidReward``; True
        is 1.0. A late one counts, too. ``signals={"cost": 0.01}`` go with it; see ``signal``.
        """
        if signals is not None and key is None and part is None:
            self._report(pull_id, reward, signals)
            return
        told: Any = (pull_id, reward)  # which is checked below, as all rewards are
        if key is not None or part is not None or signals is not None:
            told = Reward(told[1], pull_id, key, part, signals)
        (refused,) = self.tell_many([told])
        if refused is not None:
            raise refused

    def tell_many(self, rewards: Sequence[tuple[str, float] | Reward]) -> list[ImaboError | None]:
        """Report the rewards of several pulls, committed together.

        Each is an id with its reward, or a ``Reward``, which may name a key instead. For each, in
        order: None when it is recorded (or was before), else the error that ``tell`` would have
        raised. One that is refused does not hold up the others.

        Example:
            >>> from imabo import Float, Space
            >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
            >>> [error and error.code for error in study.tell_many([(study.ask().id, 1), ("x", 1)])]
            [None, 'unknown_pull']
        """
        with self._lock:
            return self._live().rewards.tell_many(rewards)

    @contextmanager
    def serve(self) -> Iterator[Pull]:
        """Ask, and tell ``pull.reward`` when the block ends well and set it; else it stays pending.

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
            replica = self._live().replica
            replica.refresh()  # another process may have changed the window
            return 0 if self.window_s is None else replica.expire(replica.now() - self.window_s)

    # --- what was learned -----------------------------------------------------------------------

    def best(self, level: float = 0.95) -> Best:
        """The arm to keep if learning stopped now, with an interval for its mean.

        Of the active arms with a reward it is the one with the highest cautious estimate, so that
        a few lucky rewards do not win: the lower end of its interval; or, where the oracle's model
        has expectations (as by default) or a change was noticed, the mean shrunk towards what is
        expected, less one standard error.

        ``mean`` is not flattered by the choice: it is drawn towards what the other arms' rewards
        and the model say. ``observed`` is the plain average, which tends to be too high. ``chance``
        says how likely it is that no other active arm is better.

        With an objective it is the arm with the largest share of the best mix within budgets and
        limits (``shares``), and ``mix_mean`` is what that mix earns on average. Arms are mixed that
        the cautious estimate would serve with some budget, by their means.

        Whichever arm is chosen, the interval covers its true mean at all moments together with
        probability at least ``level``, as long as the loss of rewards does not depend on their
        value; with ``reward_range=None``, only for many rewards. After a change that was noticed
        (``since``) all of it rests on what speaks of now; soon after one that was not, it may miss.
        ``mean`` and ``chance`` are measured rather than proved (docs/evaluation.md).
        """
        with self._lock:
            replica = self._live().replica
            replica.refresh()
            return recommend(replica.view, level)

    def arms(self) -> list[Arm]:
        """Every arm ever admitted, in order of admission."""
        with self._lock:
            return [to_arm(record) for record in self.store.load(self.name).arms]

    def events(self, limit: int = 1000) -> list[Event]:
        """What happened to the study, at most ``limit``, the newest last: by hand, or of the world.

        Example:
            >>> from imabo import Float, Space
            >>> study = Study.create("eventful", Space(x=Float(0, 1)), seed=0)
            >>> _ = study.pause(study.add_arm({"x": 0.5}))
            >>> [str(event) for event in study.events()]
            ['the study was created', 'arm 1 was added by hand', 'arm 1 was paused']
        """
        check_count("limit", limit)
        with self._lock:
            changes = self.store.changes(self.name, limit=limit)
            return events_of(self._engine.replica.record, changes, limit)

    def pull(
        self, pull_id: str | None = None, *, key: str | None = None, part: int | None = None
    ) -> Pull:
        """A pull by its id or by its key (see ``tell``), as it stands now."""
        with self._lock:
            return named_pull(self._live().replica, pull_id, key, part)

    def pulls_of(self, key: str) -> list[Pull]:
        """The pulls of a key, by their parts: one, or as many as its ask was for."""
        with self._lock:
            return pulls_of(self._live().replica, key)

    def pulls(self, after: int = 0, limit: int = 1000) -> list[Pull]:
        """A page of the history: at most ``limit`` pulls (10,000) in the order they were served.

        ``after`` is the number at the end of the last pull's id that you have; 0 at first.
        """
        checks.checked_page(after, limit)
        page = self.store.pulls(self.name, after=after, limit=limit)
        with self._lock:
            return self._engine.replica.shown(page)

    def __iter__(self) -> Iterator[Pull]:
        """All pulls in the order they were served, read from the store page by page."""
        after = 0
        while page := self.pulls(after):
            yield from page
            after = int(page[-1].id.rpartition("-")[2])

    def refresh(self) -> None:
        """Bring the view up to date with what other processes did; reads do this by themselves."""
        with self._lock:
            self._live().replica.refresh()

    def read(self, reader: Callable[[ActiveSet], T]) -> T:
        """What a function makes of the view (``study.read(len)``), while nothing changes it."""
        with self._lock:
            return reader(self._live().replica.view)

    def use_proposer(self, proposer: Proposer | None) -> None:
        """Take proposals from a worker, so that no ``ask`` waits; known arms when none is ready."""
        with self._lock:
            self._engine.asks.proposer = proposer

    # --- what it is, and how far it has come ------------------------------------------------------

    name = _fact(lambda e: e.replica.record.name, "The study's name.")
    token = _fact(lambda e: e.replica.record.token, "What the ids of its pulls start with; unique.")
    seed = _fact(lambda e: e.replica.record.seed, "The seed of every decision.")
    created_at = _fact(lambda e: to_datetime(e.replica.record.created_at), "When it was created.")
    reward_range = _fact(
        lambda e: e.replica.record.reward_range, "Ends of the rewards, or None when they have none."
    )
    window_s = _fact(lambda e: e.replica.record.window_s, "How long a pull may stay pending.")
    revision = _fact(
        lambda e: e.replica.record.revision, "The revision of its declaration, None without one."
    )
    policy = _fact(lambda e: e.asks.policy, "The policy.")
    oracle = _fact(lambda e: e.asks.oracle, "The oracle.")
    space = _fact(lambda e: e.replica.view.space, "The current space.")
    space_version = _fact(lambda e: e.replica.space_version, "Number of the current space, from 1.")
    seq = _fact(lambda e: e.replica.seq, "Number of the last change of the study in its view.")
    n_arms = _fact(lambda e: e.replica.n_arms, "Arms admitted so far, retired ones included.")
    n_pulls = _fact(lambda e: e.replica.view.totals.n_pulls, "Requests served so far.")
    n_rewards = _fact(lambda e: e.replica.view.totals.n_rewards, "Rewards received so far.")
    n_pending = _fact(lambda e: e.replica.view.totals.n_pending, "Pulls that wait for a reward.")
    n_expired = _fact(lambda e: e.replica.view.totals.n_expired, "Pulls whose window passed.")
    n_drifts = _fact(
        lambda e: e.rewards.n_drifts,
        "Changes of the world that this object noticed; ``events`` has them all.",
    )
    view = _fact(
        lambda e: e.replica.view,
        "The arms as policies and oracles see them: the study's own, which moves on; only look.",
    )

    @property
    def store(self) -> Store:
        """The store that the study lives in, for reading; write through the study alone."""
        return self._live().replica.store

    def __len__(self) -> int:
        """Number of pulls."""
        return self.n_pulls

    def __bool__(self) -> bool:
        """A study is a thing, not a collection: true even before its first pull."""
        return True

    def __repr__(self) -> str:
        counts = f"{self.n_arms} arms, {self.n_pulls} pulls, {self.n_rewards} rewards"
        return f"<Study {self.name!r}: {counts}>"

    def _live(self) -> Engine:
        """The engine, while the study is open."""
        if self._engine.is_closed:
            raise closed(self.name)
        return self._engine
