"""The tables of the current schema, as statements name them; ``schema`` says how they are made."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Double, Integer, MetaData, Table, Text
from sqlalchemy.types import TypeEngine

metadata = MetaData()


def _table(name: str, /, **columns: TypeEngine[Any]) -> Table:
    return Table(f"imabo_{name}", metadata, *(Column(key, kind) for key, kind in columns.items()))


def _columns(kind: TypeEngine[Any], *names: str) -> dict[str, TypeEngine[Any]]:
    return dict.fromkeys(names, kind)


_NUMBER, _TEXT = BigInteger(), Text()
_FLOAT: Double[float] = Double()

studies = _table(
    "studies",
    **_columns(_NUMBER, "id", "seq", "n_pulls", "n_rewards", "n_pending", "marked_at"),
    **_columns(_TEXT, "name", "token", "seed", "policy", "oracle"),
    **_columns(_FLOAT, "reward_low", "reward_high", "window_s", "created_at", "last_at"),
    reward_sum=_FLOAT,
)
spaces = _table(
    "spaces",
    **_columns(_NUMBER, "study", "n_pulls", "n_rewards", "n_pending", "n_arms"),
    version=Integer(),
    space=_TEXT,
)
arms = _table(
    "arms",
    **_columns(_NUMBER, "study", "id", "parent", "seq"),
    **_columns(_TEXT, "config", "identity", "origin", "state", "retired_from", "mutated"),
    **_columns(_NUMBER, "n_pulls", "n_rewards", "n_pending", "marked_rewards"),
    **_columns(_FLOAT, "admitted_at", "reward_sum", "reward_squares", "marked_sum"),
)
pulls = _table(
    "pulls",
    **_columns(_NUMBER, "study", "number", "arm", "served_seq", "rewarded_seq"),
    **_columns(_TEXT, "reason", "state", "key", "context"),
    **_columns(_FLOAT, "served_at", "reward", "rewarded_at"),
    part=Integer(),
)
events = _table(
    "events",
    **_columns(_NUMBER, "study", "seq"),
    **_columns(_TEXT, "kind", "data"),
    at=_FLOAT,
)
beliefs = _table("beliefs", **_columns(_NUMBER, "study", "seq"), document=_TEXT)
memories = _table("memories", **_columns(_NUMBER, "study", "seq"), document=_TEXT)
milestones = _table(
    "milestones",
    **_columns(_NUMBER, "study", "n_pulls", "n_rewards", "n_pending", "n_active"),
    **_columns(_FLOAT, "at", "reward_sum", "reward_squares"),
    arm_pulls=_TEXT,
)
keys = _table(
    "keys",
    **_columns(_TEXT, "id", "name", "role", "studies", "secret_hash"),
    **_columns(_FLOAT, "created_at", "revoked_at"),
)
