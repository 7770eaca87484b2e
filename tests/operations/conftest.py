"""A real PostgreSQL."""

from tests.postgres.server import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
