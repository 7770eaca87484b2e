"""Counting a study again from its log, and making its decisions again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from imabo.arms import ActiveSet, ArmState, PullState, Restart, Tally, Totals
from imabo.control import Control, Rollout, coin_of
from imabo.drift import Drift, forget, remember
from imabo.engine.settled import spending_of
from imabo.policies.base import Decision, Draws, Expand, Policy
from imabo.space import Space
from imabo.stores.base import ArmRecord, LogEntry, StudyRecord
from imabo.stores.records import SPARE
from imabo.stores.signalling import Banks, Goal, OfArm, kept_banks

_ADMITTING: Final = ("warmup", "expand", "prepared")

Report = Callable[[str, str], None]


@dataclass(slots=True)
class _Book:
    """What is known of one arm."""

    state: ArmState = "active"
    retired_from: ArmState | None = None
    n_pulls: int = 0
    n_rewards: int = 0
    n_pending: int = 0
    reward_sum: float = 0.0
    reward_squares: float = 0.0
    marked_rewards: int = 0
    marked_sum: float = 0.0
    signals: OfArm = field(default_factory=dict)

    @property
    def tally(self) -> Tally:
        return Tally(*(getattr(self, name) for name in Tally.__slots__))


class Recount:
    """A study as its log says it is, entry after entry.

    Args:
        study: What it was created with.
        arms: Its arms by their ids, for their configurations.
        policy: Its policy.
        report: Called with the kind and the words of each violation.
        is_exact: Whether the log has all that decisions rest on; else only the growth is checked.
        is_shared: Whether known arms may have been served from older views than the log's.
    """

    def __init__(
        self,
        study: StudyRecord,
        arms: Mapping[int, ArmRecord],
        policy: Policy,
        report: Report,
        *,
        is_exact: bool,
        is_shared: bool = False,
    ) -> None:
        self._study = study
        self._records = arms
        self._policy = policy
        self._report = report
        self._is_exact = is_exact
        self._is_shared = is_shared
        self._space = Space.from_dict(study.space)
        self._books: dict[int, _Book] = {}
        self._arm_of: dict[int, int] = {}
        self._pending: dict[int, float] = {}  # number -> when it was served, in order
        self._expired: set[int] = set()
        self.rewards: dict[int, float] = {}
        self.signals: dict[int, dict[str, float]] = {}
        self._goal = Goal(study.signals, study.objective, {})
        self.seqs: set[int] = set()
        self.rollout = Rollout()
        self.view = self._new_view()

    @property
    def totals(self) -> Totals:
        """The study's counts."""
        return self.view.totals

    @property
    def restart(self) -> Restart:
        """Where the growth schedule starts."""
        return self.view.restart

    @property
    def marked_at(self) -> int:
        """When the policy last asked to remember the counters."""
        return self.view.marked_at

    def arm(self, arm: int) -> tuple[Tally, ArmState, ArmState | None]:
        """An arm's counters and state; an arm that the log does not have has none."""
        book = self._books.get(arm, _Book())
        return book.tally, book.state, book.retired_from

    def signals_of(self, arm: int) -> OfArm | None:
        """The sums of an arm's signals, as a store keeps them."""
        return self._books.get(arm, _Book()).signals or None

    @property
    def banks(self) -> Banks:
        """What was used beyond the budgets and limits."""
        return self._goal.banks

    def state_of(self, number: int) -> PullState:
        """The state of a pull."""
        if number in self.rewards:
            return "rewarded"
        return "expired" if number in self._expired else "pending"

    def apply(self, entry: LogEntry) -> None:
        """What happened next."""
        self.seqs.add(entry.seq)
        data = entry.data or {}
        if entry.kind == "ask" and entry.pull is not None and entry.arm is not None:
            self._check_group(entry)
            self._ask(entry.pull, entry.arm, entry.reason or "", entry.at)
        elif entry.kind == "tell" and entry.pull is not None and entry.reward is not None:
            self._tell(entry.pull, entry.reward)
            self._signal(entry.pull, data.get("signals", {}))
        elif entry.kind == "signal" and entry.pull is not None and data.get("signals"):
            self._signal(entry.pull, data["signals"])
        elif entry.kind == "expire":
            self._expire(data["before"])
        elif entry.kind == "arm":
            self._admit(data["arm"])
        elif entry.kind == "arms":
            first, last = data["first"], data["last"]
            for arm in () if first is None else range(first, last + 1):
                self._admit(arm)
            for arm in data["resumed"]:
                self._put_state(arm, "active")
        elif entry.kind in ("control", "rolled back", "resumed"):
            self._roll(entry.kind, data)
        elif entry.kind == "state":
            self._put_state(data["arm"], data["state"])
        elif entry.kind in ("space", "settings"):
            self._update_settings(data.get("after", {}))
            if entry.kind == "space":
                self._update_space(Space.from_dict(data["space"]))
            if "rollout" in data:
                self._roll("control", data["rollout"]["after"])
        elif entry.kind == "drift" and self.view.memory is not None:
            self.view.put_memory(forget(self.view, Drift.from_data(data), entry.at))
        elif entry.kind in ("infeasible", "feasible"):
            pass  # it says something, and changes nothing
        else:
            self._report("pulls", f"the log has an entry without its facts: {entry!r}")

    # --- asks -----------------------------------------------------------------------------------

    def _ask(self, number: int, arm: int, reason: str, at: float) -> None:
        if number != self.totals.n_pulls + 1:
            n = self.totals.n_pulls
            self._report("numbers", f"pull {number} came when there were {n} pulls")
        view = self.view
        if self._policy.watches and view.is_moment:
            view.put_memory(remember(view))
        if reason == "control":
            self._serve_control(number, arm)
        else:
            self._decide(number, arm, reason)
        book = self._books.get(arm)
        row = view.row_of(arm)
        if book is None or row is None:
            self._report("arms", f"pull {number} served arm {arm}, which was not there then")
            return
        book.n_pulls += 1
        book.n_pending += 1
        view.count_pull(row)
        if view.spending is not None:
            self._goal.use(view.spending.serve(row) or {})
        self._arm_of[number] = arm
        self._pending[number] = at

    def _decide(self, number: int, arm: int, reason: str) -> None:
        """What the policy decides, and whether it is what was served."""
        view, draws = self.view, Draws(self._study.seed, number)
        decision = self._policy.decide(view, draws)
        self._check_growth(number, arm, reason, decision)
        if decision.mark:
            view.mark()
            for known in self._books.values():
                known.marked_rewards, known.marked_sum = known.n_rewards, known.reward_sum
        if self._is_exact:
            self._check_choice(number, arm, reason, decision, draws)
        if reason in _ADMITTING:
            if self._is_spare(arm):
                self._put_state(arm, "active")
            else:
                self._admit(arm)

    # --- the control ----------------------------------------------------------------------------

    def _roll(self, kind: str, data: Mapping[str, Any]) -> None:
        """A change of the rollout."""
        if kind == "resumed":
            self.rollout = replace(self.rollout, state="tuning")
            if "control" not in data:
                return
        control, arm = data["control"], data["arm"]
        self.rollout = replace(
            self.rollout, control=None if control is None else Control.from_dict(control), arm=arm
        )
        if kind == "rolled back":
            self.rollout = replace(self.rollout, state="rolled back")
        elif kind == "control":
            self.rollout = replace(self.rollout, exposure=data["exposure"])
        if arm is not None and arm not in self._books:
            self._admit(arm)

    def _check_group(self, entry: LogEntry) -> None:
        """A pull has the group of its coin, with the propensity of that time."""
        what = f"pull {entry.pull} ({entry.group}, propensity {entry.propensity})"
        e = self.rollout.chance
        due = {None: None, "tuned": None if e is None else 1.0 - e, "control": e}
        if (e is None) != (entry.group is None) or due[entry.group] != entry.propensity:
            self._report("groups", f"{what} was served when the control had the probability {e}")
        if (entry.group == "control") != (entry.reason == "control"):
            self._report("groups", f"{what} was served for the reason {entry.reason}")
        if self._is_shared or e is None or entry.pull is None:
            return
        if self.rollout.group(coin_of(self._study.seed, entry.pull))[0] != entry.group:
            self._report("groups", f"{what} is not what its coin says")

    def _serve_control(self, number: int, arm: int) -> None:
        """The control's arm, or a draw of a random control."""
        if self.rollout.arm not in (None, arm):
            control = self.rollout.arm
            self._report("groups", f"pull {number} served arm {arm} and not the control, {control}")
        if arm not in self._books:
            self._admit(arm)
            self._put_state(arm, *SPARE)

    def _is_spare(self, arm: int) -> bool:
        row = self.view.row_of(arm)
        return row is not None and self.view.is_spare(row)

    def _check_growth(self, number: int, arm: int, reason: str, decision: Decision) -> None:
        """An arm was admitted exactly when the schedule had one due (or was waited for)."""
        what = f"pull {number} (arm {arm}, {reason}) came with {self.view.n_growing} growing arms"
        if self._is_shared and reason not in _ADMITTING:
            pass
        elif not isinstance(decision, Expand):
            if reason != "index":
                self._report("schedule", f"{what}, when no arm was due")
        elif reason == "index":
            if not self._may_be_exhausted():
                self._report("schedule", f"{what}, when an arm was due from {decision.source}")
        elif (reason == "warmup") != (decision.source == "warmup"):
            self._report("schedule", f"{what}, when an arm was due from {decision.source}")
        is_new = arm not in self._books or self._is_spare(arm)
        if is_new != (reason in _ADMITTING):
            self._report("schedule", f"{what}; that arm was {'not ' * is_new}there before")

    def _may_be_exhausted(self) -> bool:
        n_configs = self._space.n_configs
        if n_configs is None:  # without end, or too many to count
            return all(p.n_values is not None for p in self._space.parameters.values())
        return self.view.exhausted

    def _check_choice(
        self, number: int, arm: int, reason: str, decision: Decision, draws: Draws
    ) -> None:
        """A known arm is the one that the policy serves."""
        if reason in _ADMITTING or not self.view.n_servable:
            return
        if isinstance(decision, Expand):
            decision = self._policy.serve(self.view, draws)
        due = int(self.view.ids[decision.row])
        if arm != due:
            self._report("decision", f"pull {number} ({reason}) served arm {arm} and not arm {due}")

    def _admit(self, arm: int) -> None:
        record = self._records.get(arm)
        if record is None:
            self._report("arms", f"arm {arm} was admitted and is not there")
            return
        if arm != len(self._books) + 1:
            self._report("numbers", f"arm {arm} came when there were {len(self._books)} arms")
        if record.config in self.view:
            self._report("arms", f"arm {arm} was an arm already: {record.config!r}")
        self._books[arm] = _Book()
        self.view.admit(arm, record.config, mutated=record.mutated)

    # --- feedback -------------------------------------------------------------------------------

    def _tell(self, number: int, reward: float) -> None:
        arm = self._arm_of.get(number)
        if arm is None or number in self.rewards:
            self._report("pulls", f"pull {number} got a reward, when it could not")
            return
        was_pending = self._pending.pop(number, None) is not None
        self._expired.discard(number)
        self.rewards[number] = reward
        book = self._books[arm]
        book.n_rewards += 1
        book.n_pending -= was_pending
        book.reward_sum += reward
        book.reward_squares += reward * reward
        self.view.count_reward(self.view.row_of(arm), reward, was_pending=was_pending)

    def _signal(self, number: int, signals: Mapping[str, float]) -> None:
        arm, known = self._arm_of.get(number), self.signals.setdefault(number, {})
        if arm is None or not known.keys().isdisjoint(signals):
            self._report("pulls", f"pull {number} got a signal, when it could not")
            return
        known.update(signals)
        for name, value in signals.items():
            self._goal.learn(self._books[arm].signals, name, value)
        if self.view.spending is not None:
            self.view.spending.count(self.view.row_of(arm), signals)
            self.view.spending.put_banks(self._goal.banks)

    def _expire(self, before: float) -> None:
        due = [number for number, served_at in self._pending.items() if served_at < before]
        if not due:
            self._report("pulls", f"nothing was there to expire before {before!r}")
        for number in due:
            del self._pending[number]
            self._expired.add(number)
            arm = self._arm_of[number]
            self._books[arm].n_pending -= 1
            self.view.count_expired(self.view.row_of(arm), 1)

    # --- changes by hand ------------------------------------------------------------------------

    def _put_state(self, arm: int, state: ArmState, retired_from: ArmState | None = None) -> None:
        book, row = self._books.get(arm), self.view.row_of(arm)
        if book is None:
            self._report("arms", f"arm {arm} became {state} and is not there")
            return
        book.state, book.retired_from = state, retired_from
        if row is not None:
            self.view.put_state(row, state, is_spare=(state, retired_from) == SPARE)

    def _update_settings(self, after: Mapping[str, Any]) -> None:
        ends = after.get("reward_range", self._study.reward_range)
        old = self._study.objective
        objective = after.get("objective", old)
        self._study = replace(
            self._study,
            reward_range=None if ends is None else (ends[0], ends[1]),
            window_s=after.get("window_s", self._study.window_s),
            signals=after.get("signals", self._study.signals),
            objective=objective,
        )
        banks = kept_banks(old, objective, self._goal.banks) if old != objective else self.banks
        self._goal = Goal(self._study.signals, objective, banks)
        self._show_again(self.view.restart)

    def _update_space(self, space: Space) -> None:
        self._space = space
        n_growing = 0
        for arm, book in self._books.items():
            allowed = space.allows(self._records[arm].config)
            if book.state != "retired" and not allowed:
                book.retired_from, book.state = book.state, "retired"
            elif book.retired_from not in (None, "retired") and allowed:
                book.state, book.retired_from = book.retired_from, None
            n_growing += book.state != "retired"
        totals = self.view.totals
        counts = totals.n_pulls, totals.n_rewards, totals.n_pending
        self._show_again(Restart(*counts, n_growing))

    def _show_again(self, restart: Restart) -> None:
        old = self.view
        self.view = self._new_view()
        self.view.totals, self.view.marked_at = old.totals, old.marked_at
        if old.memory is not None:
            self.view.load_memory(old.memory.document(old.ids.tolist()))
        self.view.restart = restart

    def _new_view(self) -> ActiveSet:
        study = self._study
        view = ActiveSet(
            self._space, reward_range=study.reward_range, has_window=study.window_s is not None
        )
        view.spending = spending_of(study)
        for arm, book in self._books.items():
            record = self._records[arm]
            is_spare = (book.state, book.retired_from) == SPARE
            if (book.retired_from is None or is_spare) and self._space.allows(record.config):
                config = self._space.validate(record.config)
                row = view.admit(
                    arm,
                    config,
                    state=book.state,
                    mutated=record.mutated,
                    tally=book.tally,
                    is_spare=is_spare,
                )
                view.configs[row] = dict(record.config)
                if view.spending is not None:
                    view.spending.put_sums(row, book.signals)
        if view.spending is not None:
            view.spending.put_banks(self._goal.banks)
        return view
