"""What statements are made of: values, lists that travel as arrays, and conditions."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Dialect,
    Double,
    FromClause,
    Text,
    TypeDecorator,
    bindparam,
    case,
    cast,
    column,
    func,
    literal_column,
)
from sqlalchemy.types import TypeEngine

from imabo.stores.base import CLOCK_SLACK_S
from imabo.stores.postgres.tables import arms, pulls, studies

# A parameter must not have the name of a column that it is not the value of.
STUDY: Final = bindparam("study_id", type_=BigInteger)
SEQ: Final = bindparam("new_seq", type_=BigInteger)
AT: Final = bindparam("now", type_=Double)
NAME: Final = bindparam("name", type_=Text)
SINCE: Final = bindparam("since", type_=BigInteger)
BEFORE: Final = bindparam("before", type_=Double)
BOUND: Final = bindparam("bound", type_=Double)
# The same as ``steady`` of the contract, in the row of a study.
STEADY_AT: Final = case(
    (studies.c.last_at - AT > literal_column(repr(CLOCK_SLACK_S)), AT),
    else_=func.greatest(studies.c.last_at, AT),
)
# Literals, not parameters: the partial indexes are for these very words.
IS_PENDING: Final = pulls.c.state == literal_column("'pending'")
IS_FINISHED: Final = pulls.c.state != literal_column("'pending'")


class _Listed(TypeDecorator[list[Any]]):
    """A list that travels as an array's text, which takes the driver a fraction of the time."""

    impl = Text
    cache_ok = True

    def __init__(self, *, of_texts: bool) -> None:
        super().__init__()
        self.of_texts = of_texts

    def process_bind_param(self, value: list[Any] | None, dialect: Dialect) -> str | None:
        """See ``TypeDecorator``."""
        del dialect
        if value is None:
            return None
        return texts_array(value) if self.of_texts else numbers_array(value)


def numbers_array(numbers: list[float | None]) -> str:
    """Numbers as PostgreSQL reads an array of them.

    Example:
        >>> numbers_array([1, 0.25, None])
        '{1, 0.25, null}'
    """
    return f"{{{json.dumps(numbers)[1:-1]}}}"


def texts_array(texts: list[str | None]) -> str:
    r"""Texts as PostgreSQL reads an array of them.

    Example:
        >>> print(texts_array(['say "a"', None]))
        {"say \"a\"",null}
    """
    return f"{{{','.join('null' if text is None else _quoted(text) for text in texts)}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def array(parameter: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """A parameter that is a list."""
    listed = _Listed(of_texts=isinstance(kind, Text))
    return cast(bindparam(parameter, type_=listed), ARRAY(kind))


def table_of(name: str, **columns: TypeEngine[Any]) -> FromClause:
    """A table of the parameters ``{name}_{column}``, which are arrays of equal length."""
    given = [array(f"{name}_{key}", kind) for key, kind in columns.items()]
    valued = func.unnest(*given).table_valued(*(column(k, kind) for k, kind in columns.items()))
    return valued.render_derived(name=name)


def among(member: ColumnElement[Any], parameter: str, kind: TypeEngine[Any]) -> ColumnElement[bool]:
    """That a column's value is in an array, which an index can answer."""
    return member == func.any(array(parameter, kind))


def is_arm(parameter: str) -> ColumnElement[bool]:
    """That an arm is among those of a parameter."""
    return among(arms.c.id, parameter, BigInteger())


def columns_of(name: str, rows: list[tuple[Any, ...]], *columns: str) -> dict[str, list[Any]]:
    """The parameters of ``table_of``, from rows."""
    lists = map(list, zip(*rows, strict=True)) if rows else ([] for _ in columns)
    return {f"{name}_{key}": values for key, values in zip(columns, lists, strict=True)}
