"""Settings: each by flag, environment and TOML file, and what is wrong with a wrong one."""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from imabo.errors import InvalidSetting
from imabo.server.commands import add_parsers
from imabo.server.settings import MEANINGS, Settings, is_loopback, read_settings

# For each setting a good value (none is the default) and some that are wrong.
GOOD: dict[str, Any] = {
    "store": "sqlite:///other.db",
    "store_limit_s": 2.0,
    "host": "::1",
    "port": 1234,
    "workers": 3,
    "allow_open": True,
    "allow_private_webhooks": True,
    "gateway": "gateway.toml",
    "retention_s": 3600.5,
    "log_format": "json",
    "max_body_bytes": 2048,
    "max_import_bytes": 4096,
    "drain_s": 5.0,
    "proposals": False,
    "poll_s": 0.5,
    "queue_limit": 7,
    "study_queue_limit": 6,
    "commit_threads": 3,
    "max_exports": 2,
    "stall_s": 1.5,
    "receive_s": 2.5,
    "max_head_bytes": 4096,
    "max_connections": 10,
}
WRONG: dict[str, list[object]] = {
    "store": ["\0", 7],
    "store_limit_s": [0, "nan", 3601],
    "host": ["\0", False],
    "port": [-1, 65536, "x", 1.5, True],
    "workers": [0, 257, "many"],
    "allow_open": ["perhaps", 7],
    "allow_private_webhooks": ["perhaps", 7],
    "gateway": ["\0", 7],
    "retention_s": [0, -1, "nan", "inf", "ever"],
    "log_format": ["xml", 7],
    "max_body_bytes": [0, "1k"],
    "max_import_bytes": [0, "1G"],
    "drain_s": [-1, "nan", True],
    "proposals": ["perhaps", 2],
    "poll_s": [0, 61, "often"],
    "queue_limit": [0, 1.5],
    "study_queue_limit": [0, "few"],
    "commit_threads": [0, 257],
    "max_exports": [0, "all"],
    "stall_s": [0, "nan"],
    "receive_s": [0, "long"],
    "max_head_bytes": [0, "8k"],
    "max_connections": [0, "all"],
}


def flags_of(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_parsers(parser.add_subparsers())
    return vars(parser.parse_args(["serve", *arguments]))


def flag(name: str, value: object) -> list[str]:
    text = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{text}" if value else f"--no-{text}"]
    return [f"--{text}={value}"]


def variable(name: str, value: object) -> dict[str, str]:
    return {f"IMABO_{name.upper()}": str(value)}


def file_with(folder: Path, name: str, value: object) -> str:
    path = folder / "imabo.toml"
    path.write_text(f"{name} = {json.dumps(value)}\n", encoding="utf-8")
    return str(path)


def test_every_setting_is_described_and_tested() -> None:
    names = {field.name for field in fields(Settings)}
    assert set(MEANINGS) == set(GOOD) == set(WRONG) == names
    defaults = Settings()
    assert all(getattr(defaults, name) != value for name, value in GOOD.items())


@pytest.mark.parametrize("name", GOOD)
def test_a_setting_comes_from_a_flag_the_environment_or_a_file(name: str, tmp_path: Path) -> None:
    value = GOOD[name]
    by_flag = read_settings(flags_of(flag(name, value)), {})
    by_variable = read_settings({}, variable(name, value))
    path = file_with(tmp_path, name, value)
    by_file = read_settings({}, {}, path)
    assert by_flag == by_variable == by_file == Settings(**{name: value})
    assert read_settings({}, {"IMABO_CONFIG": path}) == by_file


@pytest.mark.parametrize("name", GOOD)
def test_a_flag_counts_before_the_environment_and_that_before_the_file(
    name: str, tmp_path: Path
) -> None:
    default, good = getattr(Settings(), name), GOOD[name]
    if default is None:
        default = 9.0
    path = file_with(tmp_path, name, default)
    assert getattr(read_settings({}, variable(name, good), path), name) == good
    found = read_settings(flags_of(flag(name, good)), variable(name, default), path)
    assert getattr(found, name) == good


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_refused_with_where_it_came_from(
    name: str, value: object, tmp_path: Path
) -> None:
    path = file_with(tmp_path, name, value)
    with pytest.raises(InvalidSetting, match=f"{name} in .*imabo.toml is"):
        read_settings({}, {}, path)
    with pytest.raises(InvalidSetting, match=f"^{name} is"):
        Settings(**{name: value})  # type: ignore[arg-type]
    if isinstance(value, str):
        with pytest.raises(InvalidSetting, match=f"IMABO_{name.upper()} is"):
            read_settings({}, variable(name, value))
        with pytest.raises(InvalidSetting, match=f"--{name.replace('_', '-')} is"):
            read_settings({name: value}, {})


def test_an_empty_variable_is_none() -> None:
    assert read_settings({}, variable("port", "")) == Settings()


@pytest.mark.parametrize(
    ("text", "wrong"), [("prot = 1\n", "sets 'prot'"), ("port = \n", "cannot be read")]
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    path = tmp_path / "imabo.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSetting, match=wrong):
        read_settings({}, {}, str(path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot be read"):
        read_settings({}, {}, str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("host", "is_so"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("192.168.1.1", False),
        ("example.org", False),
    ],
)
def test_only_this_machines_own_addresses_are_loopback(host: str, is_so: bool) -> None:
    assert is_loopback(host) is is_so
