"""``imabo keys`` and ``imabo serve`` from the shell."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo.errors import InvalidSetting, MissingExtra
from imabo.server.commands import add_parsers
from imabo.stores import MemoryStore, open_store
from tests.server.calls import study_body
from tests.server.shell import run, serving


def call(*arguments: str) -> int:
    """Run a command in this process."""
    parser = argparse.ArgumentParser()
    add_parsers(parser.add_subparsers())
    options = parser.parse_args(arguments)
    return int(options.run(options))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/imabo.db"


def test_a_key_is_shown_once_listed_without_its_secret_and_revoked(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--role", "reader", "--study", "a", "--study", "b c"]
    assert call("keys", "create", "--store", url, "--name", "page", *limits) == 0
    made = capsys.readouterr()
    key = made.out.strip()
    assert re.fullmatch(r"imabo_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", key)
    assert "cannot be shown again" in made.err
    _, key_id, secret = key.split("_", 2)

    call("keys", "list", "--store", url)
    listed = capsys.readouterr().out
    assert listed.startswith(f"{key_id}  reader  page  ('a', 'b c'; made ")
    assert secret not in listed
    store = open_store(url)
    (record,) = store.keys()
    assert (record.name, record.role, record.studies) == ("page", "reader", ("a", "b c"))
    assert secret not in repr(record)

    call("keys", "revoke", key_id, "--store", url)
    assert store.keys()[0].revoked_at is not None
    store.close()
    capsys.readouterr()
    call("keys", "list", "--store", url)
    assert ", revoked " in capsys.readouterr().out


def test_keys_as_json(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> dict[str, Any]:
        assert call("keys", *arguments, "--store", url, "--json") == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    made = said("create", "--name", "page", "--role", "writer", "--study", "a")
    text = made.pop("key")
    assert text.startswith(f"imabo_{made['id']}_")
    assert (made["name"], made["role"], made["studies"]) == ("page", "writer", ["a"])
    assert made["created_at"].endswith("Z")
    assert said("list") == {"keys": [made]}
    assert said("revoke", made["id"]) == {"revoked": made["id"]}
    assert said("list")["keys"][0]["revoked_at"] is not None


def test_a_key_that_is_not_there_cannot_be_revoked(url: str) -> None:
    with pytest.raises(InvalidSetting, match="there is none of that id"):
        call("keys", "revoke", "nothing", "--store", url)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb"])
def test_a_key_has_a_name_that_can_be_read(url: str, name: str) -> None:
    with pytest.raises(InvalidSetting, match="key's name"):
        call("keys", "create", "--store", url, "--name", name, "--role", "reader")


def test_the_store_may_come_from_the_environment(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IMABO_STORE", url)
    call("keys", "create", "--name", "n", "--role", "admin")
    capsys.readouterr()
    call("keys", "list")
    assert "(all studies; made " in capsys.readouterr().out


def test_a_key_made_in_the_shell_opens_the_server(url: str) -> None:
    key = run("keys", "create", f"--store={url}", "--name=n", "--role=admin").stdout.strip()
    with serving(url) as server:
        assert httpx.get(f"{server.url}/v1/studies").status_code == 401
        headers = {"Authorization": f"Bearer {key}"}
        body = study_body("s")
        made = httpx.post(f"{server.url}/v1/studies", json=body, headers=headers)
        assert made.status_code == 201


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_a_key_other_machines_are_refused_before_anything_listens(
    url: str, host: str
) -> None:
    refused = run("serve", f"--store={url}", f"--host={host}", "--port=0")
    assert refused.returncode == 1
    assert refused.stdout == ""
    for words in ("no access key", "imabo keys create", "--allow-open"):
        assert words in refused.stderr


def test_a_port_that_is_taken_is_explained(url: str) -> None:
    with serving(url) as server:
        port = server.url.rpartition(":")[2]
        refused = run("serve", f"--store={url}", f"--port={port}")
    assert refused.returncode == 1
    assert "choose another port: --port 0 takes a free one" in refused.stderr


def test_a_wrong_setting_is_explained(url: str) -> None:
    refused = run("serve", f"--store={url}", IMABO_PORT="none")
    assert refused.returncode == 1
    assert "IMABO_PORT is 'none'" in refused.stderr


def test_without_the_extra_the_command_names_it(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    # Not only forgotten but gone: another test may have imported it.
    monkeypatch.delattr("imabo.server.serving", raising=False)
    monkeypatch.setitem(sys.modules, "imabo.server.serving", None)
    with pytest.raises(MissingExtra, match=r"imabo\[server\]"):
        call("serve", "--store", url)


def test_exposure_is_allowed_with_a_key_or_when_told_so() -> None:
    from imabo.server.access import make_key
    from imabo.server.serving import check_exposure
    from imabo.server.settings import Settings

    store = MemoryStore()
    check_exposure(store, Settings(host="127.0.0.1"))
    check_exposure(store, Settings(host="0.0.0.0", allow_open=True))
    with pytest.raises(InvalidSetting, match="no access key"):
        check_exposure(store, Settings(host="0.0.0.0"))
    store.put_key(make_key("n", "admin", None, at=0.0)[1])
    check_exposure(store, Settings(host="0.0.0.0"))


def test_a_service_without_its_database_says_that_it_is_away(tmp_path: Path) -> None:
    ended = run("serve", f"--store=postgresql:///imabo?host={tmp_path}", "--port=0")
    assert ended.returncode == 5
    assert "PostgreSQL" in ended.stderr
    assert "Traceback" not in ended.stderr
