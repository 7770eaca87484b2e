"""Rows of a database as the records of the contract, and values as the JSON that rows hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from imabo.arms import Restart, Tally, Totals
from imabo.stores.base import (
    ArmRecord,
    LogEntry,
    Milestone,
    NewPull,
    PullRecord,
    Snapshot,
    StudyRecord,
)


def dump(value: object) -> str:
    """A value as compact JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def dump_or_none(value: object) -> str | None:
    """A value as JSON; None stays None."""
    return None if value is None else dump(value)


def numbered(pulls: Sequence[NewPull], first: int) -> list[NewPull]:
    """Pulls that count on from a number, whatever theirs was."""
    return [
        pull if pull.number == number else replace(pull, number=number)
        for number, pull in enumerate(pulls, start=first)
    ]


def to_snapshot(name: str, facts: Sequence[Any], arms: Sequence[ArmRecord]) -> Snapshot:
    """A study, from its columns.

    Args:
        name: Its name.
        facts: Token, seed, policy, oracle, ends of the rewards, window, time of creation, seq; four
            totals, marked_at, last_at; the first space; version, space and the four counts of its
            restart; the beliefs and the time of the oldest pending pull.
        arms: Its arms.
    """
    token, seed, policy, oracle, low, high, window_s, created_at, seq, *rest = facts
    *totals, marked_at, last_at, first, version, space = rest[:9]
    *restart, beliefs, oldest = rest[9:]
    return Snapshot(
        study=StudyRecord(
            name=name,
            token=token,
            seed=int(seed),
            space=json.loads(first),
            policy=json.loads(policy),
            oracle=json.loads(oracle),
            reward_range=None if low is None else (low, high),
            window_s=window_s,
            created_at=created_at,
        ),
        seq=seq,
        space_version=version,
        space=json.loads(space),
        restart=Restart(*restart),
        totals=Totals(*totals),
        marked_at=marked_at,
        arms=arms,
        last_at=last_at,
        oldest_pending_at=oldest,
        beliefs=None if beliefs is None else json.loads(beliefs),
    )


def to_arm(row: Sequence[Any]) -> ArmRecord:
    """An arm, from its columns and then those of its tally."""
    arm, config, origin, state, retired_from, parent, mutated, admitted_at, *tally = row
    return ArmRecord(
        id=arm,
        config=json.loads(config),
        origin=origin,
        state=state,
        retired_from=retired_from,
        parent=parent,
        mutated=mutated,
        admitted_at=admitted_at,
        tally=Tally(*tally),
    )


def to_pull(row: Sequence[Any]) -> PullRecord:
    """A pull, from its columns."""
    number, arm, reason, state, served_at, reward, rewarded_at, context = row
    facts = None if context is None else json.loads(context)
    return PullRecord(number, arm, reason, state, served_at, reward, rewarded_at, facts)


def to_change(row: Sequence[Any]) -> LogEntry:
    """A change by hand, from its columns in the log."""
    seq, kind, at, data = row
    return LogEntry(seq, kind, at, data=json.loads(data))


def to_milestone(row: Sequence[Any]) -> Milestone:
    """A milestone, from its columns."""
    at, n_pulls, n_rewards, n_pending, reward_sum, reward_squares, n_active, arm_pulls = row
    return Milestone(
        at=at,
        n_pulls=n_pulls,
        n_rewards=n_rewards,
        n_pending=n_pending,
        reward_sum=reward_sum,
        reward_squares=reward_squares,
        n_active=n_active,
        arm_pulls=tuple(json.loads(arm_pulls)),
    )
