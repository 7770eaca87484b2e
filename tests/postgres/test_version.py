"""The server of the tests is of the version that was asked for; it says which on a failure."""

from __future__ import annotations

import os

import psycopg

from tests.postgres.server import BIN, SETTING

OLDEST, NEWEST = 15, 18  # docs/guides/postgresql.md says so too


def test_the_version_is_one_that_is_supported_and_the_one_that_was_asked_for(
    postgres_url: str,
) -> None:
    with psycopg.connect(postgres_url) as db:
        version = db.info.server_version // 10_000
    assert version >= OLDEST
    asked = os.environ.get(BIN)
    if asked is None and not os.environ.get(SETTING):
        assert version == NEWEST
    elif asked is not None:
        assert str(version) in asked
