"""A study of a service, with the methods of ``Study``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from os import PathLike
from typing import Any, Final, Self, TextIO, overload

from imabo.arms import Arm, Pull
from imabo.client.answers import RemoteFacts
from imabo.client.asking import Ask
from imabo.client.study_methods import StudyCalls
from imabo.client.threads import Transport
from imabo.client.workers import Workers
from imabo.errors import ImaboError
from imabo.events import Event
from imabo.export import copy_export, export_format
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.recommend import Best
from imabo.space import Space

SPOOLED: Final = 2**20  # bytes of an export kept in memory before they go to a file


class RemoteStudy:
    """One study of a service; ``Client.create``, ``open`` and ``study`` make it.

    It has the methods of ``Study``, with the same results and errors. What differs: the numbers
    that move (``n_pulls``, ``space``, ...) are asked for at each use (``facts()`` gets all of them
    at once), a call that the service does not answer is ``Unavailable``, ``ask`` takes a default,
    and ``tell`` keeps what it cannot deliver.
    """

    def __init__(self, calls: StudyCalls, transport: Transport, workers: Workers) -> None:
        self._calls = calls
        self._run = transport.run
        self._workers = workers

    def close(self) -> None:
        """Refuse every call from now on; the client and its other studies go on."""
        self._calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- the loop -------------------------------------------------------------------------------

    @overload
    def ask(
        self,
        count: None = None,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> Pull: ...
    @overload
    def ask(
        self,
        count: int,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> list[Pull]: ...
    def ask(
        self,
        count: int | None = None,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> Pull | list[Pull]:
        """The configuration to serve the next request with.

        With a default this never fails and never takes longer than its deadline: when the service
        is away, slow or broken, the pull has the default's configuration, the reason ``"default"``
        and the arm 0, which no study has. Its reward may be told like any other; it is dropped.
        After several failures in a row the default comes at once for a while, so that a dead
        service costs nothing.

        Args:
            count: For a list of so many pulls, from 1 to 10,000. More than 1,000 take several
                calls, and are not committed together.
            key: Names this request, in at most 200 characters: asked again with the same key, the
                study gives the same pulls. At most 1,000 pulls then.
            context: JSON-safe values to store with the pull, at most 16,384 bytes.
            default: A configuration to serve when the service gives none.
            deadline_s: How long the answer may take in all, in seconds. With a default it is the
                client's ``timeout_s`` when left out; without one there is then no limit but that
                of each attempt.
        """
        ask = self._calls.ask(
            count, key=key, context=context, default=default, deadline_s=deadline_s
        )
        pulls = self._asked(ask) if ask.default is None else self._asked_or_default(ask)
        return pulls[0] if ask.is_single else pulls

    def _asked(self, ask: Ask) -> list[Pull]:
        remaining_s = ask.remaining_s
        if remaining_s is None:
            return self._run(ask.steps())
        try:
            return self._workers.run(lambda: self._run(ask.steps()), max(remaining_s, 0.0))
        except TimeoutError:
            raise ask.late() from None

    def _asked_or_default(self, ask: Ask) -> list[Pull]:
        try:
            if not ask.is_worth_trying():
                return ask.fallback()
            return ask.succeeded(self._asked(ask))
        except Exception as error:  # whatever it was, the application goes on
            return ask.failed(error)

    def tell(self, pull_id: str, reward: float, *, wait: bool = True) -> None:
        """Report the reward of a pull; it may be repeated, as with ``Study.tell``.

        When the service does not answer within the client's ``timeout_s``, or did not lately, the
        reward is kept and sent in the background. What the service refuses is raised, as by
        ``Study.tell``; what it refuses later, in the background, is logged and counted in
        ``client.n_refused``. The reward of a pull that was a default is dropped.

        Args:
            pull_id: Of a pull of this study.
            reward: A number in the study's range.
            wait: False to return at once and send it in the background.
        """
        self._run(self._calls.tell(pull_id, reward, wait=wait))

    def tell_many(self, rewards: Sequence[tuple[str, float]]) -> list[ImaboError | None]:
        """Report the rewards of several pulls; for each None, or the error ``tell`` would raise.

        None also stands for a reward that is kept because the service does not answer.
        """
        return self._run(self._calls.tell_many(rewards))

    @contextmanager
    def serve(
        self,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> Iterator[Pull]:
        """Ask, and tell ``pull.reward`` at the end of the block when it was set.

        When the block raises, or sets no reward, the pull stays pending. The arguments are those of
        ``ask``.
        """
        pull = self.ask(key=key, context=context, default=default, deadline_s=deadline_s)
        yield pull
        if pull.reward is not None:
            self.tell(pull.id, pull.reward)
            pull.state = "rewarded"

    def expire(self) -> int:
        """Drop from the pending count what is past its window; ``ask`` does this by itself."""
        return self._run(self._calls.expire())

    # --- what was learned -----------------------------------------------------------------------

    def best(self, level: float = 0.95) -> Best:
        """The arm to keep if learning stopped now; ``Study.best`` says what it promises."""
        return self._run(self._calls.best(level))

    def arms(self) -> list[Arm]:
        """Every arm ever admitted, in order of admission."""
        return self._run(self._calls.arms())

    def events(self, limit: int = 1000) -> list[Event]:
        """What happened to the study, the newest last: changes by hand, and of the world.

        Args:
            limit: How many at most, the newest of them; up to 10,000.
        """
        return self._run(self._calls.events(limit))

    def pull(self, pull_id: str) -> Pull:
        """A pull by its id, as it stands now."""
        return self._run(self._calls.pull(pull_id))

    def pulls(self, after: int = 0, limit: int = 1000) -> list[Pull]:
        """A page of the history: pulls in the order they were served.

        Args:
            after: The number at the end of the last pull's id that you have; 0 for the first page.
            limit: At most so many pulls, from 1 to 10,000.
        """
        return self._run(self._calls.pulls(after, limit))

    def __iter__(self) -> Iterator[Pull]:
        """All pulls in the order they were served, read page by page."""
        after: int | None = 0
        while after is not None:
            page, after = self._run(self._calls.page(after))
            yield from page

    def export(self, target: str | PathLike[str] | TextIO, format: str | None = None) -> None:  # noqa: A002
        """Write the study to a file: JSON lines (the whole log) or CSV (a row a pull).

        Args:
            target: A path or an open text file; it is written when all has arrived.
            format: ``"jsonl"`` or ``"csv"``; by default what the path ends with.
        """
        form = export_format(target, format)
        with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as file:
            self._run(self._calls.export(file, form))
            copy_export(file, target)

    # --- what is drawn from it ------------------------------------------------------------------

    def overview(self, trend: int = 0) -> dict[str, Any]:
        """The key figures, as ``imabo.insight.overview`` makes them, in plain values.

        Args:
            trend: For so many points of the rolling mean of the reward as well, up to 200.
        """
        return self._run(self._calls.overview(trend))

    def table(self, **query: str | int | float | bool) -> dict[str, Any]:
        """The arms with their intervals, as ``imabo.insight.arm_table`` makes them.

        Args:
            query: Its arguments: sort, descending, states (with commas), text, offset, limit.
        """
        return self._run(self._calls.table(query))

    def report(self) -> str:
        """The figures as one HTML file that needs nothing else."""
        with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as file:
            self._run(self._calls.report(file))
            file.seek(0)
            return file.read().decode()

    def preview_space(self, space: Space) -> dict[str, Any]:
        """Which arms ``update_space`` would retire and bring back, before it is done."""
        return self._run(self._calls.preview_space(space))

    # --- changes by hand ------------------------------------------------------------------------

    def update_space(self, space: Space) -> None:
        """Change the space while the study runs; everything that was learned stays."""
        self._run(self._calls.update_space(space))

    def add_arm(self, config: Mapping[str, object]) -> Arm:
        """Admit a configuration by hand, or make the arm that has it active again."""
        return self._run(self._calls.add_arm(config))

    def add_arms(self, configs: Sequence[Mapping[str, object]]) -> list[Arm]:
        """Admit many configurations in one transaction, all or none; see ``Study.add_arms``."""
        return self._run(self._calls.add_arms(configs))

    def pause(self, arm: Arm | int) -> Arm:
        """Stop serving an arm until ``resume``."""
        return self._run(self._calls.put_state(arm, "paused"))

    def resume(self, arm: Arm | int) -> Arm:
        """Serve a paused arm again."""
        return self._run(self._calls.put_state(arm, "active"))

    def retire(self, arm: Arm | int) -> Arm:
        """Stop serving an arm for good; its rewards still count in what is known."""
        return self._run(self._calls.put_state(arm, "retired"))

    def prune(self, before: datetime) -> int:
        """Forget finished pulls that were served before a time; returns how many."""
        return self._run(self._calls.prune(before))

    # --- facts ----------------------------------------------------------------------------------

    def facts(self) -> RemoteFacts:
        """Everything about the study in one call: settings, space and counts of one moment."""
        return self._run(self._calls.facts())

    def _settings(self) -> RemoteFacts:
        return self._run(self._calls.settings())

    @property
    def name(self) -> str:
        """The study's name."""
        return self._calls.name

    @property
    def space(self) -> Space:
        """The current space."""
        return self.facts().space

    @property
    def space_version(self) -> int:
        """Number of the current space, from 1."""
        return self.facts().space_version

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._settings().policy

    @property
    def oracle(self) -> Oracle:
        """The oracle."""
        return self._settings().oracle

    @property
    def seed(self) -> int:
        """The seed of every decision."""
        return self._settings().seed

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Ends of the rewards, or None when they have none."""
        return self._settings().reward_range

    @property
    def window_s(self) -> float | None:
        """How long a pull may stay pending."""
        return self._settings().window_s

    @property
    def created_at(self) -> datetime:
        """When the study was created."""
        return self._settings().created_at

    @property
    def n_arms(self) -> int:
        """Arms admitted so far, retired ones included."""
        return self.facts().n_arms

    @property
    def n_pulls(self) -> int:
        """Requests served so far."""
        return self.facts().n_pulls

    @property
    def n_rewards(self) -> int:
        """Rewards received so far."""
        return self.facts().n_rewards

    @property
    def n_pending(self) -> int:
        """Pulls that wait for a reward."""
        return self.facts().n_pending

    @property
    def n_expired(self) -> int:
        """Pulls whose window passed without a reward."""
        return self.facts().n_expired

    def __len__(self) -> int:
        """Number of pulls."""
        return self.n_pulls

    def __bool__(self) -> bool:
        """A study is a thing, not a collection: true even before its first pull."""
        return True

    def __repr__(self) -> str:
        # Without a call: debuggers and logs look at things whether or not the service is there.
        return f"<RemoteStudy {self.name!r} of {self._calls.session.service.url}>"
