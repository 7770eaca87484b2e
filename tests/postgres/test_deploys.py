"""Rolling deploys on PostgreSQL."""

from __future__ import annotations

from tests.stores.deploys import race_in_processes, race_in_threads


def test_processes_of_two_versions_end_with_the_newest(postgres_url: str) -> None:
    race_in_processes(postgres_url)


def test_threads_of_four_versions_end_with_the_newest(postgres_url: str) -> None:
    race_in_threads(postgres_url)
