"""What is done with a study of a service beside its loop, written once for both clients."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import IO, Any, Final, TextIO

from imabo import checks
from imabo.arms import Arm, ArmState, Pull
from imabo.client import answers
from imabo.client.answers import RemoteFacts
from imabo.client.http import SPOOLED, Call, json_of, path_of
from imabo.client.steps import Steps, T, shared, worked
from imabo.client.study_loop import MOST_PULLS, StudyLoop
from imabo.documents import stamp
from imabo.errors import InvalidSetting, UnknownArm
from imabo.events import Event
from imabo.export import copy_export, export_format
from imabo.recommend import Best
from imabo.settings import check_count, check_fraction
from imabo.space import Space
from imabo.space.scalars import show

_LARGEST_ARM: Final = 10**18


class StudyMethods(StudyLoop):
    """What both sides do with a study beside its loop."""

    @shared
    def facts(self) -> Steps[RemoteFacts]:
        """Everything about the study in one call: settings, space and counts of one moment."""
        return (yield from self._facts())

    @shared
    def expire(self) -> Steps[int]:
        """Drop from the pending count what is past its window; ``ask`` does this by itself."""
        return (yield from self._call("POST", "/expire", lambda answer: int(answer["expired"])))

    # --- what was learned -----------------------------------------------------------------------

    @shared
    def best(self, level: float = 0.95) -> Steps[Best]:
        """The arm to keep if learning stopped now; ``Study.best`` says what it promises."""
        check_fraction("level", level)
        return (yield from self._call("GET", "/best", answers.best_of, params={"level": level}))

    @shared
    def arms(self) -> Steps[list[Arm]]:
        """Every arm ever admitted, in order of admission."""
        return (yield from self._call("GET", "/arms", answers.several(Arm, "arms")))

    @shared
    def events(self, limit: int = 1000) -> Steps[list[Event]]:
        """What happened to the study, the newest last: changes by hand, and of the world.

        Args:
            limit: How many at most, the newest of them; up to 10,000.
        """
        fix = "ask for fewer; the exported log has all of them"
        _check_limit(limit, 0, f"one answer has at most {checks.MAX_COUNT} events", fix)
        return (
            yield from self._call(
                "GET", "/events", answers.several(Event, "events"), params={"limit": limit}
            )
        )

    @shared
    def pull(self, pull_id: str) -> Steps[Pull]:
        """A pull by its id, as it stands now."""
        self._check_open()
        self._check_id(pull_id)
        call = Call("GET", path_of("pulls", pull_id))
        study, pull = yield from self._session.call(
            call, lambda one: (one["study"], answers.made(Pull, one))
        )
        self._learn(pull_id, study)
        if study != self._name:
            raise self._unknown_pull(pull_id)
        return pull

    @shared
    def pulls(self, after: int = 0, limit: int = 1000) -> Steps[list[Pull]]:
        """A page of the history: pulls in the order they were served.

        Args:
            after: The number at the end of the last pull's id that you have; 0 for the first page.
            limit: At most so many pulls, from 1 to 10,000.
        """
        check_count("after", after)
        _check_limit(
            limit, 1, f"one page has at most {checks.MAX_COUNT} pulls", "read page by page"
        )
        pulls: list[Pull] = []
        position: int | None = after
        while position is not None and len(pulls) < limit:
            page, position = yield from self._page(position, min(limit - len(pulls), MOST_PULLS))
            pulls += page
        return pulls

    @shared
    def export(
        self,
        target: str | PathLike[str] | TextIO,
        format: str | None = None,  # noqa: A002
    ) -> Steps[None]:
        """Write the study to a file: JSON lines (the whole log) or CSV (a row a pull).

        Args:
            target: A path or an open text file; it is written when all has arrived.
            format: ``"jsonl"`` or ``"csv"``; by default what the path ends with.
        """
        params = {"format": export_format(target, format)}
        with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as file:
            yield from self._call("GET", "/export", answers.nothing_of, params=params, sink=file)
            yield from worked(lambda: copy_export(file, target))

    # --- what is drawn from it ------------------------------------------------------------------

    @shared
    def overview(self, trend: int = 0) -> Steps[dict[str, Any]]:
        """The key figures, as ``imabo.insight.overview`` makes them, in plain values.

        Args:
            trend: For so many points of the rolling mean of the reward as well, up to 200.
        """
        params = {"trend": trend} if trend else {}
        return (yield from self._call("GET", "/overview", answers.document_of, params=params))

    @shared
    def table(self, /, **query: str | int | float | bool) -> Steps[dict[str, Any]]:
        """The arms with their intervals, as ``imabo.insight.arm_table`` makes them.

        Args:
            query: Its arguments: sort, descending, states (with commas), text, offset, limit.
        """
        params = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in query.items()
        }
        return (yield from self._call("GET", "/table", answers.document_of, params=params))

    @shared
    def report(self) -> Steps[str]:
        """The figures as one HTML file that needs nothing else."""
        with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as file:
            yield from self._call("GET", "/report", answers.nothing_of, sink=file)
            file.seek(0)
            return file.read().decode()

    @shared
    def preview_space(self, space: Space) -> Steps[dict[str, Any]]:
        """Which arms ``update_space`` would retire and bring back, before it is done."""
        body = json_of(space=checks.checked_space(space).to_dict())
        return (yield from self._call("POST", "/space/preview", answers.document_of, body))

    # --- changes by hand ------------------------------------------------------------------------

    @shared
    def update_space(self, space: Space) -> Steps[None]:
        """Change the space while the study runs; everything that was learned stays."""
        body = json_of(space=checks.checked_space(space).to_dict())
        yield from self._call("PATCH", "", lambda document: None, body)

    @shared
    def add_arm(self, config: Mapping[str, object]) -> Steps[Arm]:
        """Admit a configuration by hand, or make the arm that has it active again."""
        # Checked here first, against the space as it is now.
        body = json_of(config=(yield from self._facts()).space.validate(config))
        return (yield from self._call("POST", "/arms", answers.one(Arm), body))

    @shared
    def add_arms(self, configs: Sequence[Mapping[str, object]]) -> Steps[list[Arm]]:
        """Admit many configurations in one transaction, all or none; see ``Study.add_arms``."""
        wanted = checks.checked_configs(configs)
        body = json_of(configs=checks.valid_configs((yield from self._facts()).space, wanted))
        return (yield from self._call("POST", "/arms/batch", answers.several(Arm, "arms"), body))

    @shared
    def pause(self, arm: Arm | int) -> Steps[Arm]:
        """Stop serving an arm until ``resume``."""
        return (yield from self._put_state(arm, "paused"))

    @shared
    def retire(self, arm: Arm | int) -> Steps[Arm]:
        """Stop serving an arm for good; its rewards still count in what is known."""
        return (yield from self._put_state(arm, "retired"))

    @shared
    def prune(self, before: datetime) -> Steps[int]:
        """Forget finished pulls that were served before a time; returns how many."""
        checks.checked_moment(before)
        body = json_of(before=stamp(before.astimezone(UTC)))
        return (yield from self._call("POST", "/prune", lambda one: int(one["pruned"]), body))

    # --- inside ---------------------------------------------------------------------------------

    def _call(
        self,
        method: str,
        path: str,
        decode: Callable[[Any], T],
        body: bytes | None = None,
        params: Mapping[str, str | int | float] | None = None,
        sink: IO[bytes] | None = None,
    ) -> Steps[T]:
        self._check_open()
        call = Call(method, self._path + path, body, params or {}, sink)
        return (yield from self._session.call(call, decode))

    def _facts(self) -> Steps[RemoteFacts]:
        self._known = yield from self._call("GET", "", answers.facts_of)
        return self._known

    def _page(self, after: int, limit: int = MOST_PULLS) -> Steps[tuple[list[Pull], int | None]]:
        """One page as the service has it, and where the next one starts."""
        params = {"after": after, "limit": limit}
        return (yield from self._call("GET", "/pulls", answers.page_of, params=params))

    def _put_state(self, arm: Arm | int, state: ArmState) -> Steps[Arm]:
        arm_id: object = arm.id if isinstance(arm, Arm) else arm
        if type(arm_id) is not int or not 0 < arm_id < _LARGEST_ARM:
            raise UnknownArm(
                f"no arm has the id {show(arm_id)}",
                "arms have whole numbers from 1",
                "take the id from study.arms()",
            )
        return (
            yield from self._call(
                "PATCH", f"/arms/{arm_id}", answers.one(Arm), json_of(state=state)
            )
        )


def _check_limit(limit: int, least: int, why: str, fix: str) -> None:
    check_count("limit", limit, least=least)
    if limit > checks.MAX_COUNT:
        raise InvalidSetting(f"limit is {show(limit)}", why, fix)
