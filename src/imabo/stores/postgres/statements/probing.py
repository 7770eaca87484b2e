"""Finding out whether the database takes writes."""

from __future__ import annotations

from typing import Final

from sqlalchemy import func, select, text

# A sort that does not fit in this much memory needs room on the disk, as new rows would.
SMALL: Final = select(func.set_config("work_mem", "64kB", True))
SPILL: Final = text(
    "SELECT count(*) FROM (SELECT md5(n::text) AS x FROM generate_series(1, 4000) AS n "
    "ORDER BY x OFFSET 1) AS sorted"
)
# A row that is about no study; the commit is flushed.
TOUCH: Final = text("UPDATE imabo_schema_version SET version = version")
