"""A service's study as a DataFrame and as an Arrow table, on both sides."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pyarrow.parquet

from imabo import AsyncClient, Client, Study
from imabo.testing.study.base import mixed_space
from tests.server.running import RunningServer


def test_a_notebook_shows_a_services_study_as_it_shows_one_in_process(
    server: RunningServer,
) -> None:
    with Client(server.url) as client:
        study = client.create("shown", mixed_space(), seed=1)
        assert "study &#x27;shown&#x27;" in study._repr_html_()
        for pull in study.ask(count=12):
            study.tell(pull.id, 0.5)
        with closing(Study.open("shown", store=server.store)) as same:
            assert study._repr_html_() == same._repr_html_()
        client.delete("shown")
        gone = study._repr_html_()
        assert "RemoteStudy &#x27;shown&#x27;" in gone
        study.close()
        assert study._repr_html_() == gone


def test_both_sides_read_the_same(server: RunningServer, tmp_path: Path) -> None:
    with Client(server.url) as client:
        study = client.create("frames", mixed_space(), seed=1)
        for pull in study.ask(count=12):
            study.tell(pull.id, 0.5)
        frame, table = study.to_pandas(), study.to_arrow()
        assert frame["id"].tolist() == [pull.id for pull in study]
        assert frame["reward"].tolist() == [0.5] * 12
        assert study.to_pandas("arms")["n_rewards"].sum() == 12
        study.export(tmp_path / "pulls.parquet")
        assert pyarrow.parquet.read_table(tmp_path / "pulls.parquet").equals(table)

    async def main() -> None:
        async with AsyncClient(server.url) as client:
            study = await client.open("frames")
            assert (await study.to_pandas()).equals(frame)
            assert (await study.to_arrow()).equals(table)
            assert (await study.to_pandas("events"))["kind"].tolist() == ["created"]
            await study.export(tmp_path / "again.parquet")
            await client.delete("frames")  # others count the studies of this server

    asyncio.run(main())
    assert pyarrow.parquet.read_table(tmp_path / "again.parquet").equals(table)
