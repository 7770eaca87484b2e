"""Rows of a study as columns: plain lists, pandas, Arrow (and so Polars), Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from imabo.arms import Arm, Pull
from imabo.errors import InvalidSetting, MissingExtra
from imabo.events import Event
from imabo.space.scalars import show

if TYPE_CHECKING:
    import pandas
    import pyarrow

Table: TypeAlias = Literal["pulls", "arms", "events"]
Columns: TypeAlias = dict[str, list[Any]]

TABLES: Final = ("pulls", "arms", "events")
_CHUNK: Final = 20_000  # rows that are turned into columns together
_TIMES: Final = frozenset({"served_at", "rewarded_at", "admitted_at", "at"})
_FLOATS: Final = frozenset({"reward", "mean", "propensity"})
_SIGNAL: Final = "signal."  # what the column of a signal begins with
_TEXTS: Final = frozenset({"context", "data", "signals"})  # JSON, because they may be anything


def check_table(name: object) -> Table:
    """The name of a table, or the refusal of another one."""
    if name in TABLES:
        return name
    raise InvalidSetting(
        f"table is {show(name)}", f"a study has {', '.join(map(repr, TABLES))}", "pass one of them"
    )


def columns_of(
    rows: Iterable[Pull | Arm | Event],
    name: Table,
    parameters: Sequence[str],
    signals: Iterable[str] = (),
) -> Columns:
    """Rows as columns; a configuration has a column a parameter, ``config.NAME``.

    So have the signals of pulls, ``signal.NAME``. No two columns can have one name: the others have
    no dot in theirs.

    Example:
        >>> columns_of([], "events", [])
        {'kind': [], 'at': [], 'data': [], 'text': []}
    """
    kind = {"pulls": Pull, "arms": Arm, "events": Event}[name]
    plain = [one.name for one in fields(kind) if one.name != "config"]
    found: Columns = {column: [] for column in plain}
    if name == "events":
        found["text"] = []
    has_config = name != "events"
    told = {one: found.setdefault(_SIGNAL + one, []) for one in signals if name == "pulls"}
    configs = {parameter: found.setdefault(f"config.{parameter}", []) for parameter in parameters}
    for row in rows:
        for column in plain:
            value = getattr(row, column)
            if column == "signals":
                value = value or None
            found[column].append(_text(value) if column in _TEXTS else value)
        for one, values in told.items():
            values.append(cast("Pull", row).signals.get(one))
        if has_config:
            config = cast("Pull | Arm", row).config
            for parameter, values in configs.items():
                values.append(config.get(parameter))
        else:
            found["text"].append(str(row))
    return found


def parameters_of(names: Iterable[str], arms: Iterable[Arm]) -> list[str]:
    """The names of all parameters that a configuration of the study ever had, today's first."""
    return list(dict.fromkeys(chain(names, chain.from_iterable(arm.config for arm in arms))))


def kinds_of(arms: Iterable[Arm], parameters: Iterable[str]) -> dict[str, str]:
    """Of each ``config.`` column, what all its values are: bool, int, float, str, or json.

    Values of several kinds are written as JSON, so that 1 and "1" stay apart.
    """
    seen: dict[str, set[type]] = {name: set() for name in parameters}
    for arm in arms:
        for name, value in arm.config.items():
            if value is not None and name in seen:
                seen[name].add(type(value))
    kinds = {}
    for name, types in seen.items():
        if types == {int, float}:
            types = {float}
        kinds[f"config.{name}"] = next(iter(types)).__name__ if len(types) == 1 else "json"
    return kinds


def pandas_of(columns: Columns) -> pandas.DataFrame:
    """Columns as a DataFrame; times are aware, whole numbers and bools may be missing."""
    try:
        import pandas
    except ImportError as error:
        raise _missing("pandas", "pandas") from error
    frame = pandas.DataFrame({name: pandas.Series(v, dtype=object) for name, v in columns.items()})
    for name, values in columns.items():
        kinds = {type(value) for value in values if value is not None}
        dtype: str | None = None
        if name in _TIMES:
            frame[name] = pandas.to_datetime(frame[name], utc=True)
        elif kinds == {bool}:
            dtype = "boolean" if None in values else "bool"
        elif kinds == {int}:
            dtype = "Int64" if None in values else "int64"
        elif _is_float(name) or (kinds and kinds <= {int, float}):
            dtype = "float64"  # also where nothing was told yet
        if dtype is not None:
            frame[name] = frame[name].astype(dtype)
    return frame


def arrow_of(columns: Columns, kinds: Mapping[str, str]) -> pyarrow.Table:
    """Columns as an Arrow table, whose types do not depend on which rows there are."""
    try:
        import pyarrow
    except ImportError as error:
        raise _missing("an Arrow table", "parquet") from error
    types = {
        "bool": pyarrow.bool_(), "int": pyarrow.int64(), "float": pyarrow.float64(),
        "str": pyarrow.string(), "json": pyarrow.string(),
    }  # fmt: skip
    whole = ("arm", "part", "n_pulls", "n_rewards", "n_pending", "parent")
    arrays = {}
    for name, values in columns.items():
        kind = kinds.get(name)
        if name in _TIMES:
            wanted = pyarrow.timestamp("us", tz="UTC")
        elif kind is not None:
            wanted = types[kind]
        elif name in whole or (name == "id" and "origin" in columns):
            wanted = types["int"]
        elif _is_float(name):
            wanted = types["float"]
        else:
            wanted = types["str"]
        if kind == "json":
            values = [_text(value) for value in values]
        arrays[name] = pyarrow.array(values, wanted)
    return pyarrow.table(arrays)


def write_parquet(tables: Iterator[pyarrow.Table], target: Any) -> None:
    """Write tables of one schema to a path or an open binary file, one after the other."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise _missing("Parquet", "parquet") from error
    if not isinstance(target, str) and hasattr(target, "encoding"):
        raise InvalidSetting(
            f"the target is {show(target)}",
            "Parquet is not text",
            "pass a path or open it with 'wb'",
        )
    first = next(tables)
    with parquet.ParquetWriter(target, first.schema) as writer:
        for one in chain([first], tables):
            writer.write_table(one)


def tables_of(
    pulls: Iterable[Pull], names: Iterable[str], arms: Sequence[Arm], signals: Iterable[str]
) -> Iterator[pyarrow.Table]:
    """Pulls as Arrow tables of a bounded number of rows; at least one."""
    parameters = parameters_of(names, arms)
    kinds = kinds_of(arms, parameters)
    told, is_first = list(signals), True
    for rows in _batches(pulls):
        if rows or is_first:
            yield arrow_of(columns_of(rows, "pulls", parameters, told), kinds)
        is_first = False


def _batches(pulls: Iterable[Pull]) -> Iterator[list[Pull]]:
    rows: list[Pull] = []
    for pull in pulls:
        rows.append(pull)
        if len(rows) == _CHUNK:
            yield rows
            rows = []
    yield rows


def _is_float(name: str) -> bool:
    """Whether a column has floats, also before there are any."""
    return name in _FLOATS or name.startswith(_SIGNAL)


def _text(value: object) -> str | None:
    return (
        None if value is None else json.dumps(dict(value) if isinstance(value, Mapping) else value)
    )


def _missing(what: str, extra: str) -> MissingExtra:
    return MissingExtra(
        f"{what} needs a package that is not installed",
        "imabo itself needs only NumPy and SciPy",
        f'run: pip install "imabo[{extra}]"',
    )
