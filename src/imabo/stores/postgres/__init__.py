"""The store that several machines share: PostgreSQL, through psycopg.

Nothing imports this package until a ``postgresql://`` store is opened.
"""

from __future__ import annotations

from imabo.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
