"""Telling other processes of a change."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Text, bindparam, case, func, select

CHANNEL: Final = "imabo_changes"
NOTIFY: Final = select(func.pg_notify(CHANNEL, bindparam("payload", type_=Text)).cast(Text))
# For statements that write and notify in one; the payload is NULL when it is too early for another
# notification.
NOTIFIED: Final = case(
    (
        bindparam("payload", type_=Text).is_not(None),
        func.pg_notify(CHANNEL, bindparam("payload", type_=Text)).cast(Text),
    ),
)
