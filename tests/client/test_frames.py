"""A service's study as a DataFrame and as an Arrow table, on both sides."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pyarrow.parquet

from imabo import AsyncClient, Client
from imabo.testing.study.base import mixed_space
from tests.server.running import RunningServer


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
