"""What is done with a study of a service beside its loop, written once for both clients."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import IO, TYPE_CHECKING, Any, Final

from imabo import checks
from imabo.arms import Arm, ArmState, Pull
from imabo.client import answers
from imabo.client.answers import RemoteFacts
from imabo.client.http import SPOOLED, Call, json_of, path_of
from imabo.client.steps import Steps, T, shared, worked
from imabo.client.study_loop import MOST_PULLS, StudyLoop
from imabo.columns import (
    Columns,
    Table,
    arrow_of,
    check_table,
    columns_of,
    kinds_of,
    pandas_of,
    parameters_of,
    tables_of,
    write_parquet,
)
from imabo.documents import stamp
from imabo.engine.declaring import checked_settings
from imabo.engine.naming import check_any, check_named, check_part
from imabo.errors import InvalidSetting, UnknownArm
from imabo.events import Event
from imabo.export import copy_export, export_format
from imabo.frontier import Frontier
from imabo.recommend import Best
from imabo.settings import check_count, check_fraction
from imabo.space import Space
from imabo.space.scalars import show

if TYPE_CHECKING:
    import pandas
    import pyarrow

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
    def frontier(self, signal: str | None = None, level: float = 0.95) -> Steps[Frontier]:
        """Reward against a signal: the arms, the best mix, the price; see ``Study.frontier``."""
        check_fraction("level", level)
        params = {"level": level} | ({} if signal is None else {"signal": signal})
        return (yield from self._call("GET", "/frontier", answers.frontier_of, params=params))

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
    def pull(
        self, pull_id: str | None = None, *, key: str | None = None, part: int | None = None
    ) -> Steps[Pull]:
        """A pull by its id or by its key (see ``tell``), as it stands now."""
        self._check_open()
        if key is not None or part is not None:
            check_named(pull_id, key, part)
        check_any(pull_id, key)
        if key is not None:
            found = yield from self._pulls_of(key)
            if part is not None or len(found) > 1:
                check_part(self._name, key, part, [one.part for one in found])
            return next(one for one in found if part in (None, one.part))
        pull_id = self._checked_id(pull_id)
        call = Call("GET", path_of("pulls", pull_id))
        study, pull = yield from self._session.call(
            call, lambda one: (one["study"], answers.made(Pull, one))
        )
        self._learn(pull_id, study)
        if study != self._name:
            raise self._unknown_pull(pull_id)
        return pull

    @shared
    def pulls_of(self, key: str) -> Steps[list[Pull]]:
        """The pulls of a key, by their parts: one, or as many as its ask was for."""
        return (yield from self._pulls_of(key))

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
        target: str | PathLike[str] | IO[Any],
        format: str | None = None,  # noqa: A002
    ) -> Steps[None]:
        """Write the study to a file: JSON lines (the whole log), CSV or Parquet (a row a pull).

        Args:
            target: A path or an open file (for Parquet, of bytes); written when all has arrived.
            format: ``"jsonl"``, ``"csv"`` or ``"parquet"``; by default what the path ends with.
        """
        params = {"format": export_format(target, format)}
        if params["format"] == "parquet":
            facts, arms, pulls = yield from self._history()
            names, signals = facts.space.names, facts.signals or {}
            yield from worked(lambda: write_parquet(tables_of(pulls, names, arms, signals), target))
            return
        with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as file:
            yield from self._call("GET", "/export", answers.nothing_of, params=params, sink=file)
            yield from worked(lambda: copy_export(file, target))

    @shared
    def to_columns(self, table: Table = "pulls") -> Steps[Columns]:
        """The pulls, the arms or the events as plain lists; see ``Study.to_columns``."""
        return (yield from self._columns(table))

    @shared
    def to_pandas(self, table: Table = "pulls") -> Steps[pandas.DataFrame]:
        """The pulls, the arms or the events as a DataFrame; see ``Study.to_pandas``."""
        return pandas_of((yield from self._columns(table)))

    @shared
    def to_arrow(self, table: Table = "pulls") -> Steps[pyarrow.Table]:
        """The pulls, the arms or the events as an Arrow table; see ``Study.to_arrow``."""
        columns = yield from self._columns(table)
        arms = yield from self._call("GET", "/arms", answers.several(Arm, "arms"))
        return arrow_of(columns, kinds_of(arms, parameters_of((), arms)))

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
    def update(self, /, space: Space | None = None, **settings: object) -> Steps[None]:
        """Change settings while the study runs, in one transaction; see ``Study.update``.

        Args:
            space: As for ``update_space``.
            settings: ``window_s``, ``signals``, ``objective``, and before the first reward
                ``reward_range``.
        """
        wanted = checked_settings(space, settings)
        if space is not None:
            wanted["space"] = space.to_dict()
        self._known = yield from self._call("PATCH", "", answers.facts_of, json_of(**wanted))

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

    def _pulls_of(self, key: str) -> Steps[list[Pull]]:
        self._check_open()
        call = Call("GET", path_of("studies", self._name, "keys", checks.checked_text("key", key)))
        return (yield from self._session.call(call, answers.several(Pull, "pulls")))

    def _facts(self) -> Steps[RemoteFacts]:
        self._known = yield from self._call("GET", "", answers.facts_of)
        return self._known

    def _page(self, after: int, limit: int = MOST_PULLS) -> Steps[tuple[list[Pull], int | None]]:
        """One page as the service has it, and where the next one starts."""
        params = {"after": after, "limit": limit}
        return (yield from self._call("GET", "/pulls", answers.page_of, params=params))

    def _columns(self, table: Table) -> Steps[Columns]:
        name = check_table(table)
        if name == "events":
            params = {"limit": checks.MAX_COUNT}
            decode = answers.several(Event, "events")
            return columns_of(
                (yield from self._call("GET", "/events", decode, params=params)), name, []
            )
        facts, arms, pulls = yield from self._history(is_whole=name == "pulls")
        rows, parameters = (
            pulls if name == "pulls" else arms,
            parameters_of(facts.space.names, arms),
        )
        return columns_of(rows, name, parameters, facts.signals or {})

    def _history(
        self, *, is_whole: bool = True
    ) -> Steps[tuple[RemoteFacts, list[Arm], list[Pull]]]:
        """The facts of the study, the arms, and the pulls page by page."""
        pulls: list[Pull] = []
        position: int | None = 0 if is_whole else None
        while position is not None:
            page, position = yield from self._page(position)
            pulls += page
        # The arms last, so that those of all pulls are there.
        arms = yield from self._call("GET", "/arms", answers.several(Arm, "arms"))
        return (yield from self._facts()), arms, pulls

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
