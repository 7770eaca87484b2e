"""``imabo webhook`` from the shell."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from imabo import cli
from imabo.server.settings import Settings
from imabo.stores import open_store
from tests.server.receiving import Receiver
from tests.server.running import RunningServer

Call = Callable[..., Any]


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command on a database of its own; its JSON, or its error."""

    def run(name: str, *arguments: str, code: int = 0) -> Any:
        store = f"--store=sqlite:///{tmp_path}/imabo.db"
        assert cli.main(["webhook", name, *arguments, store, "--json"]) == code
        written = capsys.readouterr()
        return json.loads(written.out.splitlines()[0] if code == 0 else written.err)

    return run


def test_one_is_added_listed_tested_and_removed(call: Call, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/imabo.db"
    settings = Settings(poll_s=0.05, proposals=False, allow_private_webhooks=True)
    with Receiver() as receiver:
        limits = ("--kind=drift", "--kind=space", "--study=a b")
        added = call("add", receiver.url, *limits, "--allow-private-webhooks")
        assert (added["kinds"], added["studies"]) == (["drift", "space"], ["a b"])
        with closing(open_store(url)) as store:
            assert [one.secret for one in store.webhooks()] == [added["secret"]]
        shown = call("list")["webhooks"]
        assert shown == [{name: added[name] for name in added if name != "secret"}]
        refused = call("test", added["id"], "--wait=0", code=1)["error"]
        assert refused["why"] == "no server sent it within 0 s"
        with RunningServer(url, settings=settings):
            assert call("test", added["id"])["state"] == "delivered"
        found = call("deliveries", added["id"])["deliveries"]
        assert [one["state"] for one in found] == ["delivered"] * 2
        assert receiver.kinds() == ["webhook tested"] * 2
        again = call("again", added["id"], str(found[0]["id"]))
        assert (again["state"], again["event"]) == ("pending", found[0]["event"])
        assert call("again", added["id"], "999", code=1)["error"]["code"] == "invalid_setting"
    assert call("remove", added["id"]) == {"removed": added["id"]}
    assert call("list") == {"webhooks": []}
    for name in ("remove", "deliveries", "test"):
        assert call(name, added["id"], code=1)["error"]["code"] == "invalid_setting"
    assert call("again", added["id"], "1", code=1)["error"]["fix"] == "see: imabo webhook list"


def test_a_private_address_is_refused_here_too(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    error = call("add", "http://127.0.0.1/x", code=1)["error"]
    assert "private network" in error["why"]
    monkeypatch.setenv("IMABO_ALLOW_PRIVATE_WEBHOOKS", "true")
    assert call("add", "http://127.0.0.1/x")["url"] == "http://127.0.0.1/x"


def test_a_secret_of_ones_own_is_read_and_not_shown(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMABO_ALLOW_PRIVATE_WEBHOOKS", "true")
    path = tmp_path / "secret"
    path.write_text("my own secret, long enough\n")
    added = call("add", "http://127.0.0.1/x", f"--secret-file={path}")
    assert added["secret"] is None
    monkeypatch.setattr("sys.stdin", io.StringIO("short"))
    error = call("add", "http://127.0.0.1/x", "--secret-file=-", code=1)["error"]
    assert "16 to 200" in error["why"]
    with closing(open_store(f"sqlite:///{tmp_path}/imabo.db")) as store:
        assert [one.secret for one in store.webhooks()] == ["my own secret, long enough"]


def test_people_get_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"--store=sqlite:///{tmp_path}/imabo.db"

    def run(*arguments: str) -> tuple[str, str]:
        assert cli.main(["webhook", *arguments, store]) == 0
        written = capsys.readouterr()
        return written.out, written.err

    assert run("list")[0].startswith("There is no webhook yet")
    out, err = run("add", "http://127.0.0.1:9/x", "--allow-private-webhooks")
    webhook, secret = out.split()
    assert "not shown again" in err
    assert run("list")[0].startswith(f"{webhook}  http://127.0.0.1:9/x  (all kinds; all studies;")
    (line,) = run("deliveries", webhook)[0].splitlines()
    assert line.endswith("  webhook added  pending after 0 tries")
    assert secret not in line
